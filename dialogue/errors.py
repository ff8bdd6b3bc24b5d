"""The one exception for bad input: its text is a sentence for the person who typed the command.

It says what was found, what is allowed and what to do next; a command prints it alone and exits with code 2.
"""

from __future__ import annotations

import errno
import re
import shlex
from collections.abc import Mapping, Sequence

MAY_NOT = "Name a place that you may use, or change its permissions."
MAKE_ROOM = "Make room and run the same command again to go on."
NEXT_STEP = {
    errno.EACCES: MAY_NOT,
    errno.EPERM: MAY_NOT,
    errno.EROFS: MAY_NOT,
    errno.ENOSPC: MAKE_ROOM,
    errno.EDQUOT: MAKE_ROOM,
}


class InputError(ValueError):
    """What was found, what is legal and the next step, in one clear sentence (exit code 2, no traceback)."""


class Unclear(InputError):
    """A table that can be read in several ways, or lacks one word: each of `ways` is options to add to the command.

    >>> str(Unclear("Two columns may hold the choice.", {"--columns": "choice=q1"}, {"--columns": "choice=q2"}))
    'Two columns may hold the choice. Add one of: --columns choice=q1, or --columns choice=q2'

    `results` says what each way gives. `conditional`: a way holds only under a condition that the sentence states.
    """

    def __init__(
        self, sentence: str, *ways: Mapping[str, str], results: Sequence[str] = (), conditional: bool = False
    ) -> None:
        self.sentence, self.ways, self.results, self.conditional = sentence, ways, results, conditional
        typed = [typed_options(way) for way in ways]
        if results:
            typed = [f"{way} ({result})" if result else way for way, result in zip(typed, results, strict=True)]
        super().__init__(f"{sentence} Add{' one of' * (len(typed) > 1)}: {', or '.join(typed)}" if typed else sentence)


def typed_options(options: Mapping[str, str]) -> str:
    """Options as a shell takes them: in quotes where they hold blanks or signs that mean something to it.

    >>> print(typed_options({"--columns": "choice=q1", "--values": "a=<0.5,b=>0.5"}))
    --columns choice=q1 --values "a=<0.5,b=>0.5"
    """
    return " ".join(f"{option} {_shell_word(text)}" for option, text in options.items())


def _shell_word(text: str) -> str:
    if re.fullmatch(r"[\w@%+=:,./-]+", text):
        return text
    return shlex.quote(text) if set(text) & set('"$`!\\') else f'"{text}"'


def unusable(error: OSError) -> str:
    """What to say of a file that cannot be used.

    >>> unusable(OSError(errno.ENOSPC, "No space left on device", "runs/mine/pairs.jsonl"))
    'runs/mine/pairs.jsonl cannot be used: No space left on device. Make room and run the same command again to go on.'
    """
    step = NEXT_STEP.get(error.errno or 0, "Check the path.")
    return f"{error.filename} cannot be used: {error.strerror}. {step}"


def value_in_short(value: object) -> str:
    """A value in a sentence."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
