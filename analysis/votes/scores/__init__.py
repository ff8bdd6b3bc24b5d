"""Scores of anything, our evaluators' and other people's, become one table."""
