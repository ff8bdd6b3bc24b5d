"""Whole conversations that systems held, in pairs for raters: read from files, matched, with hidden checks."""
