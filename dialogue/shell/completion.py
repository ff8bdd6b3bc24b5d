"""What may stand where a command line is being typed: the shell asks, the command's own parser answers.

`python -m dialogue completion SHELL` prints the few lines that ask. They run the line as far as it is typed, with the
word under the cursor in the environment; the command then says what fits, one `word<tab>help` a line, and does nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

TYPED = "SEEDVOTE_COMPLETE"


def candidates(parser: argparse.ArgumentParser, before: Sequence[str], typed: str) -> list[str]:
    """The words that begin as typed; none where a file or free text is expected, which the shell completes itself.

    >>> parser = argparse.ArgumentParser(add_help=False)
    >>> _ = parser.add_argument("--preset", choices=["small", "paper"], help="sizes")
    >>> candidates(parser, ["runs/mine"], "--p"), candidates(parser, ["runs/mine", "--preset"], "s")
    (['--preset\\tsizes'], ['small\\t'])
    """
    asking = parser._option_string_actions.get(before[-1]) if before else None
    if asking is not None and asking.nargs != 0:
        words = _list_choices(asking)
    elif typed.startswith("-"):
        words = _list_options(parser, before)
    else:
        words = (word for action in parser._get_positional_actions() for word in _list_choices(action))
    return [word for word in words if word.startswith(typed)]


def _list_choices(action: argparse.Action) -> Iterator[str]:
    return (f"{choice}\t" for choice in action.choices or ())


def _list_options(parser: argparse.ArgumentParser, before: Sequence[str]) -> Iterator[str]:
    """Options with their help, without those that stand there already and those that are not for people."""
    # argparse has no public way to list its options.
    for action in parser._get_optional_actions():
        again = isinstance(action, argparse._AppendAction) or not set(action.option_strings) & set(before)
        if again and action.help is not argparse.SUPPRESS:
            yield f"{action.option_strings[-1]}\t{action.help or ''}"
