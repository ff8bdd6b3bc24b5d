"""Whether words of a response that speak to the judge move it: the same pairs again, with these words masked.

Only a person's eye tells an order to the judge from what a conversation is about; so nothing is masked in what is
judged, and the masked pairs' verdicts are compared and thrown away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seedvote.dialogue.records import Candidate, Pair, Verdict
from seedvote.evaluators.judging.prompting import TELLS_THE_JUDGE

MASK = "[...]"
MASKED = " (masked)"  # after the id of a pair


def masked(pair: Pair) -> Pair:
    """The pair under a name of its own, without the words that speak to the judge."""
    return replace(pair, pair=pair.pair + MASKED, a=_without(pair.a), b=_without(pair.b))


def _without(side: Candidate) -> Candidate:
    return replace(side, text=TELLS_THE_JUDGE.sub(MASK, side.text))


def compared_with_masked(verdicts: Sequence[Verdict]) -> tuple[list[Verdict], str]:
    """The verdicts on the pairs as they are, and how many of them are others where the words are masked."""
    plain = [verdict for verdict in verdicts if not verdict.pair.endswith(MASKED)]
    choices = {(verdict.pair, verdict.order, verdict.draw): verdict.choice for verdict in verdicts}
    pairs_of_choices = [
        (verdict.choice, choices[key])
        for verdict in plain
        if (key := (verdict.pair + MASKED, verdict.order, verdict.draw)) in choices
    ]
    changed = sum(verdict != masked_choice for verdict, masked_choice in pairs_of_choices)
    total = len(pairs_of_choices)
    return plain, f"{changed} of {total} verdicts on responses that speak to the judge change when that is masked."
