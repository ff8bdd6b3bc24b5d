"""Tie distributions, agreement, preference, planning, variance and the report."""
