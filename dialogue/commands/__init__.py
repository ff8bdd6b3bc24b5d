"""One file a command of python -m dialogue."""
