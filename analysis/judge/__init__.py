"""What a judge's verdicts are like, how far they are people's, and what they are worth in votes."""
