"""hit.toml: what a rater is asked, and under which rules."""
