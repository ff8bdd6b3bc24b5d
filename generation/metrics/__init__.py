"""Token metrics."""
