"""Whether a machine can tell a model's replies from people's, and by what."""
