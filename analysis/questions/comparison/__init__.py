"""People, token metrics and probes side by side."""
