"""What happens between a rater and a pair."""
