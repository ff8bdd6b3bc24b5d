"""One method a file, named as the literature names it."""
