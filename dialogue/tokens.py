"""How texts are spelled: cut into lower-case tokens and joined again, the same in every package.

Text is put into lower case and cut into words (with inner apostrophes and hyphens), numbers (with inner colons, points
and commas, so that a time or a price stays whole) and single marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seedvote.dialogue.records import Turn

LONGEST_CONTEXT, LONGEST_RESPONSE = 100, 60  # tokens that a model of ours reads and writes at most
OTHER, SELF, EOU = "<other>", "<self>", "<eou>"  # before what another said, before one's own, and behind either
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


def newest_words(turns: Sequence[Turn], speaker: str, longest: int = LONGEST_CONTEXT) -> list[str]:
    """The newest tokens of a history as `speaker`, who is about to answer, reads them, with marks around each turn."""
    words: list[str] = []
    for turn in reversed(turns):
        if len(words) >= longest:
            break
        words = [SELF if turn.speaker == speaker else OTHER, *tokenize(turn.text), EOU, *words]
    return words[-longest:]


def normalize(text: str) -> str:
    """A text as a model would have written it, so that a reference next to a response does not give itself away."""
    return detokenize(tokenize(text))


def telling_words(text: str) -> set[str]:
    """Words that say what a text is about: five letters or more, or with a digit.

    >>> sorted(telling_words("The train at 9:15 is late."))
    ['9:15', 'train']
    """
    return {word for word in tokenize(text) if len(word) >= 5 or any(sign.isdigit() for sign in word)}


def sort_off_topic(texts: Iterable[str], topic: str, length: int) -> list[str]:
    """The texts that share the fewest telling words with `topic` first, of those the ones nearest to so many words.

    >>> sort_off_topic(["The train is late.", "It is open until ten.", "Yes."], "When does the train leave?", 5)
    ['It is open until ten.', 'Yes.', 'The train is late.']
    """
    topic_words = telling_words(topic)
    return sorted(texts, key=lambda text: (len(telling_words(text) & topic_words), abs(len(text.split()) - length)))
