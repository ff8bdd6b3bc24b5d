"""The same wish in fewer words: greetings, politeness, openings and function words go, long forms are contracted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evaluators.perturbing.protecting import Span

OPENINGS = (
    r"(?:hi|hello|hey)(?: there)?[,.!]?",
    r"good (?:morning|afternoon|evening)[,.!]?",
    r"i(?: a|')m (?:also )?(?:looking|searching) for",
    r"i(?: woul|')d (?:also )?like(?: to(?: (?:find|have|get|know)(?! if))?)?",
    r"i (?:also )?(?:need|want)(?: to(?: (?:find|have|get|know)(?! if))?)?",
    r"(?:can|could|would|will) you (?:please )?(?:help me (?:to )?(?:find|with)|find(?: me)?|tell me(?: about)?|"
    r"give me|suggest|recommend|get me)",
    r"(?:can|could|may) i (?:please )?(?:get|have)",
    r"(?:do you|are there|is there)(?: have| any)*",
    r"i was wondering if",
)
DROPPED = (
    r"please",
    r"thank you(?: (?:so|very) much)?(?: for your help)?",
    r"thanks(?: a lot| so much)?(?: for your help)?",
    r"(?:a|an|the|some|any|just|very|really|actually|maybe|perhaps|kind of|sort of|that is|which is|as well|too)",
)
CONTRACTED = (
    (r"i am", "i'm"), (r"i will", "i'll"), (r"i have", "i've"), (r"it is", "it's"), (r"that is", "that's"),
    (r"do not", "don't"), (r"does not", "doesn't"), (r"is not", "isn't"), (r"cannot|can not", "can't"),
    (r"what is", "what's"), (r"would not", "wouldn't"), (r"you are", "you're"),
)  # fmt: skip
_CONTRACTED = [
    (re.compile(rf"\b(?:{long})\b", re.I), short, re.compile(rf"\b(?={long[0].upper()})(?i:{long})\b"))
    for long, short in CONTRACTED
]
_OPENING = re.compile(rf"(?<!\w)(?:{'|'.join(OPENINGS)})(?!\w) ?", re.I)
_DROPPED = re.compile(rf"(?<![\w'])(?:{'|'.join(DROPPED)})(?![\w']) ?", re.I)


def simple(pieces: Sequence[Span]) -> str:
    """The turn in fewer words; as it was where nothing would be left of it."""
    texts = [piece.text if piece.held else _shorter(piece.text) for piece in pieces]
    while texts and not pieces[0].held and not texts[0].strip(" ,.!"):
        texts, pieces = texts[1:], pieces[1:]  # a turn does not begin with what parted it from an opening
    if texts and not pieces[0].held:
        texts[0] = texts[0].lstrip(" ,.!")
    found = "".join(texts).strip()
    return found if re.search(r"\w", found) else ""


def _shorter(text: str) -> str:
    for pattern, change in ((_OPENING, ""), (_DROPPED, "")):
        text = pattern.sub(change, text)
    for long, short, capital in _CONTRACTED:
        text = long.sub(short, capital.sub(short.capitalize(), text))
    text = re.sub(r"\s+([,.!?])", r"\1", text)
    text = re.sub(r"([,.!])(?=[,.!?])", "", text)
    return re.sub(r" {2,}", " ", text)
