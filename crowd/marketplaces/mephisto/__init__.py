"""Mephisto."""
