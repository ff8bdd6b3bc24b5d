"""Systems in order, with what the order is worth."""
