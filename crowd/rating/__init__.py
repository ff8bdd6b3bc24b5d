"""What happens between a rater and a pair, from arrival to the saved vote; each call is one transaction."""
