"""The built-in corpus."""
