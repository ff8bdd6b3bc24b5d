"""Token metrics: scores of a response against its reference, and the table that holds them."""
