"""Which system is rated higher on a scale, and by how much."""
