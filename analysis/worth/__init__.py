"""What every evaluator that scores both sides of a pair is worth in votes of people."""
