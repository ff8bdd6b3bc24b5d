"""Mechanical Turk."""
