"""Which system is preferred."""
