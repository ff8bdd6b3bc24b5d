"""Votes out, and votes of other tools in."""
