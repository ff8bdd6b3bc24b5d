"""Formulas that two packages compute: numbers in, numbers out, on the standard library and numpy."""
