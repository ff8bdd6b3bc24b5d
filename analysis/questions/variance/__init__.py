"""Where the variance comes from."""
