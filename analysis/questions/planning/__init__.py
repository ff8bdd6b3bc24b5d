"""How many votes, raters and seeds."""
