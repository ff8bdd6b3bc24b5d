"""What a judge is like, how far it agrees with people, and what it is worth in votes."""
