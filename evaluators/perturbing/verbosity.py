"""The same wish in more words: a sentence around it, and fillers between the words. No value is said or taken back."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from seedvote.evaluators.perturbing.protecting import Span

BEFORE = (
    "So, let me try to explain what I have in mind.",
    "Okay, I have been thinking about this for quite a while now.",
    "I am not sure how best to put this, but here goes.",
    "Right, let me see, where was I.",
    "Well, to be honest with you, it is like this.",
    "Before I forget, there is something I wanted to say.",
    "My friends keep telling me to get on with it, so here it is.",
    "Bear with me for a moment, please.",
)
AFTER = (
    "I hope that makes sense to you.",
    "I hope I have said that clearly enough.",
    "Sorry for using so many words.",
    "Take all the time you need, I am in no hurry.",
    "That is really what I meant to say.",
    "You would be doing me a great favour, honestly.",
)
FILLERS = (", you know,", ", so to speak,", ", if I may say so,", ", I mean,", ", as it were,", ", let us say,")
GAP = re.compile(r"(?<=[a-z]{3}) (?=[a-z]{2})")  # between two words, not beside a mark


def verbose(pieces: Sequence[Span], *, rng: random.Random) -> str:
    """The turn with something before it, something after it, or both, and perhaps a filler within."""
    texts = [piece.text for piece in pieces]
    if not "".join(texts).strip():
        return "".join(texts)
    gaps = [
        (n, match.start()) for n, piece in enumerate(pieces) if not piece.held for match in GAP.finditer(piece.text)
    ]
    if gaps and rng.random() < 0.6:
        n, at = rng.choice(gaps)
        texts[n] = texts[n][:at] + rng.choice(FILLERS) + texts[n][at:]
    place = rng.choice(("before", "after", "both"))
    before = f"{rng.choice(BEFORE)} " if place != "after" else ""
    after = f" {rng.choice(AFTER)}" if place != "before" else ""
    return before + "".join(texts) + after
