"""Hidden checks made of the answers themselves, and rules that fit them: for a study that has no references.

The right side is a system's answer to its context. The wrong one answers another context and is as long, so that
nobody can tell a check from a real pair without reading it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from seedvote.crowd.exchange.answer_tables import AnsweredContext
from seedvote.dialogue.records import Candidate, Pair, ResponseSet
from seedvote.dialogue.seeds import child_random
from seedvote.dialogue.tokens import sort_off_topic

SHORTEST = 5  # words of either side
CHECKS = 8  # those of one sitting: three at the beginning, five among the pairs
FIRST, LATER, FAILURES, SITTING = 3, 5, 3, 20  # the defaults of hit.toml


def make_checks(rows: Sequence[AnsweredContext], number: int, *, seed: int) -> list[Pair]:
    """At most `number` checks, each on a context of its own; a and b are right equally often."""
    rng = child_random(seed, "checks of answers")
    rows = [row for row in rows if not row.parts]  # nobody knows what an image or a recording holds
    long = [row for row in rows if max(len(text.split()) for text in row.texts.values()) >= SHORTEST]
    chosen = rng.sample(long, min(number, len(long))) if len(long) > 1 else []
    return [_make_check(row, _draw_other(row, long, rng), k) for k, row in enumerate(chosen)]


def _draw_other(row: AnsweredContext, rows: Sequence[AnsweredContext], rng: random.Random) -> str:
    """An answer to another context that shares no telling word with this one, where there is any, and is as long."""
    others = [text for other in rng.sample(list(rows), len(rows)) if other is not row for text in other.texts.values()]
    topic = " ".join([*(turn.text for turn in row.context), *row.texts.values()])
    length = len(_good_text(row).split())
    return sort_off_topic(others, topic, length)[0]


def _good_text(row: AnsweredContext) -> str:
    return max(row.texts.values(), key=len)


def _make_check(row: AnsweredContext, stray: str, k: int) -> Pair:
    good = Candidate(_good_text(row), "reference", None, "reference")
    bad = Candidate(stray, "off-topic", None, "reference")
    first, second = (good, bad) if k % 2 == 0 else (bad, good)
    return Pair(
        pair=f"check {k + 1}",
        item=f"{row.dialogue or row.name}:{len(row.context)}",
        context=row.context,
        a=first,
        b=second,
        kind="check",
        identical=False,
        dialogue=row.dialogue or row.name,
        answer="a" if k % 2 == 0 else "b",
        contrast="off-topic",
    )


def fitted_rules(pairs: Sequence[Pair] | Sequence[ResponseSet], *, form: str = "") -> str:
    """hit.toml with the rules that so few pairs or checks can keep; empty where the defaults do."""
    checks = sum(pair.kind == "check" for pair in pairs)
    sitting = max(min(SITTING, len(pairs) - checks), 1)
    first = min(FIRST, checks)
    later = min(LATER, checks - first, sitting)
    failures = min(FAILURES, first + later) or FAILURES
    rules = {
        "pairs_per_sitting": (sitting, SITTING),
        "first_checks": (first, FIRST),
        "later_checks": (later, LATER),
        "max_failures": (failures, FAILURES),
    }
    words = [f"form = {json.dumps(form)}"] if form else []
    changed = [f"{name} = {value}" for name, (value, default) in rules.items() if value != default]
    return "".join(f"{line}\n" for line in [*words, *changed])
