"""One page of a whole study."""
