"""Serves the HIT: gate, assignment, store, page, simulated raters."""
