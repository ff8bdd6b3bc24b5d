"""Pairs for raters: real ones, controls and sanity checks, and a page to read them."""
