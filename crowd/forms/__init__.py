"""What a rater is shown at once and how it is answered: one form of HIT a file, `known.py` has the table."""
