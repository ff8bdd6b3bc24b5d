"""Numbers as people and programs read them."""
