"""Every pair with its votes, to look at what a number is made of."""
