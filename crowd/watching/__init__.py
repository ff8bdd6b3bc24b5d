"""How a study stands."""
