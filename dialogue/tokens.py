"""How texts are spelled: cut into lower-case tokens and joined again, the same in every package.

Text is put into lower case and cut into words (with inner apostrophes and hyphens), numbers (with inner colons, points
and commas, so that a time or a price stays whole) and single marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_TOKEN = re.compile(r"\d+(?:[:.,]\d+)+|\w+(?:['’-]\w+)*|[^\w\s]")
_CLOSING = frozenset(",.?!;:)%]}")
_OPENING = frozenset("([{$£€#")


def tokenize(text: str) -> list[str]:
    """Cut a text into lower-case tokens.

    >>> tokenize("It's at 16:15, isn't it?")
    ["it's", 'at', '16:15', ',', "isn't", 'it', '?']
    """
    return _TOKEN.findall(text.lower())


def detokenize(tokens: Iterable[str]) -> str:
    """Join tokens as people write them: marks close up with the word before (or after an opening bracket).

    >>> detokenize(["yes", ",", "(", "16:15", ")", "."])
    'yes, (16:15).'
    """
    text = ""
    for token in tokens:
        tight = not text or token in _CLOSING or text[-1] in _OPENING
        text += token if tight else f" {token}"
    return text


def normalize(text: str) -> str:
    """A text as a model would have written it, so that a reference next to a response does not give itself away."""
    return detokenize(tokenize(text))
