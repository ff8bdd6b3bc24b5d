"""How many ties, and how surely."""
