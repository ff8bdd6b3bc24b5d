"""The same wish in fewer words: greetings, politeness, openings and function words go, long forms are contracted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from seedvote.evaluators.perturbing.protecting import Span

OPENINGS = (
    r"(?:hi|hello|hey)(?: there)?[,.!]?",
    r"good (?:morning|afternoon|evening)[,.!]?",
    r"i(?: a|')m (?:also )?(?:looking|searching) for",
    r"i(?: woul|')d (?:also )?like(?: to(?: (?:find|have|get|know)(?! (?:if|out|that)))?)?",
    r"i (?:also )?(?:need|want)(?: to(?: (?:find|have|get|know)(?! (?:if|out|that)))?)?",
    r"(?:can|could|would|will) you (?:please )?(?:help me (?:to )?(?:find|with)|find(?: me)?|tell me(?: about)?|"
    r"give me|suggest|recommend|get me)(?! (?:that|this|it|them|one|out|more|again))",
    r"(?:can|could|may) i (?:please )?(?:get|have)(?! (?:that|this|it|them|one|to))",
    r"(?<!what )(?<!where )(?:do you have|are there|is there)(?: any)?(?! (?:that|this|it|them|one))",
    r"i was wondering if",
)
DROPPED = (
    r"please",
    r"(?:again ?, |but )?thank(?:s| you)(?: (?:so|very) much| a lot| a bunch| again)*"
    r"(?: for (?:all )?(?:of )?your (?:help|time|assistance))?(?! for)",
    r"(?:a|an)(?! (?:few|little|lot|couple|bit|while|cab))",
    r"(?:the|just|very|(?<!not )(?<!n't )really|actually|kind of|sort of|which is|as well)",
    r"(?<=\w )(?:some|any)(?= \w)(?! (?:of|more|other|one|where|time|way))",
)
CONTRACTED = (
    (r"i am", "i'm"),
    (r"i will", "i'll"),
    (r"i have", "i've"),
    (r"it is", "it's"),
    (r"that is", "that's"),
    (r"do not", "don't"),
    (r"does not", "doesn't"),
    (r"is not", "isn't"),
    (r"cannot|can not", "can't"),
    (r"what is", "what's"),
    (r"would not", "wouldn't"),
    (r"you are", "you're"),
)
_CONTRACTED = [
    (re.compile(rf"\b(?:{long})\b", re.I), short, re.compile(rf"\b(?={long[0].upper()})(?i:{long})\b"))
    for long, short in CONTRACTED
]
_WORD = re.compile(r"\w+")
_OPENING = re.compile(rf"(?<!\w)(?:{'|'.join(OPENINGS)})(?!\w) ?", re.I)
_DROPPED = re.compile(rf"(?<![\w'])(?:{'|'.join(DROPPED)})(?![\w']) ?", re.I)


def simple(pieces: Sequence[Span]) -> str:
    """The turn in fewer words; "" where nothing would be left of it, or where spaces and signs alone would differ."""
    before = "".join(piece.text for piece in pieces)
    # Where a corpus sets its signs apart, as MultiWOZ 2.1 does, they stay so.
    is_tokenized = re.search(r"\w\s+[,.!?]", before) is not None
    texts = [piece.text if piece.held else _shorter(piece.text, is_tokenized) for piece in pieces]
    while texts and not pieces[0].held and not texts[0].strip(" ,.!"):
        texts, pieces = texts[1:], pieces[1:]  # a turn does not begin with what parted it from an opening
    if texts and not pieces[0].held:
        texts[0] = texts[0].lstrip(" ,.!")
    text = "".join(texts).strip(" ,")
    return text if re.search(r"\w", text) and _WORD.findall(text) != _WORD.findall(before) else ""


def _shorter(text: str, is_tokenized: bool) -> str:
    for pattern, change in ((_OPENING, ""), (_DROPPED, "")):
        text = pattern.sub(change, text)
    for long, short, capital in _CONTRACTED:
        text = long.sub(short, capital.sub(short.capitalize(), text))
    if not is_tokenized:
        text = re.sub(r"\s+([,.!?])", r"\1", text)
    text = re.sub(r"[,.!]\s*(?=[,.!?])", "", text)
    return re.sub(r" {2,}", " ", text)
