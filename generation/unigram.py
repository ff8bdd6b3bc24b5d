"""The unigram baseline: a system that knows how often words occur in replies, and nothing of order or of the context.

A reply is as long as one drawn from the training split, and each of its words is drawn from all words of these replies
(Jurafsky and Martin 2025, chapter 3). Whoever reads it sees at once that it says nothing, so a study that holds it
shows what a clear difference looks like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Response
from seedvote.dialogue.seeds import child_random
from seedvote.dialogue.tokens import detokenize, tokenize

UNIGRAM = "unigram"


def unigram_responses(
    train: Sequence[Example], items: Sequence[str], *, draws: int, checkpoint: str, seed: int
) -> list[Response]:
    """`draws` responses to every item; they stand under the checkpoint whose responses they are compared with."""
    replies = [tokenize(example.target.text) for example in train]
    if not replies:
        raise InputError("The corpus has no training split, whose words the unigram baseline draws.")
    frequencies = Counter(word for reply in replies for word in reply)
    words, weights = list(frequencies), list(frequencies.values())
    responses = []
    for item in items:
        for draw in range(draws):
            generator = child_random(seed, UNIGRAM, item, draw)
            drawn = generator.choices(words, weights, k=len(generator.choice(replies)))
            extra = {"draw": draw}
            text = detokenize(drawn)
            responses.append(Response(item, UNIGRAM, None, checkpoint, text, None, "frequency", extra=extra))
    return responses
