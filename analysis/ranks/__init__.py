"""Which system is ranked higher where several are judged at once, and by how much."""
