"""Pairs for raters."""
