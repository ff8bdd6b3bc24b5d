"""The one exception for bad input: its text is a sentence for the person who typed the command."""


class InputError(ValueError):
    """What was found, what is legal and the next step, in one clear sentence (exit code 2, no traceback)."""
