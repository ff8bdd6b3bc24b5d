"""The hidden checks of a study, one by one: how often each was failed, and which looks wrong.

A wrong answer key blocks careful raters. It shows in two things together: careful raters would hardly fail the check so
often, and most of those who answered it gave one and the same other answer. Careless raters alone do not look so.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.forms.form import decisive_part
from seedvote.crowd.store.tables import pairs, votes
from seedvote.dialogue.formulas.chances import binomial_tail

SLIPS = 0.03  # of a careful rater, as `crowd plan-checks` assumes them
DOUBTFUL = 0.001


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One check: its answer (or void), and what raters answered."""

    check: str
    answer: str
    answers: int
    failed: int
    likely: float
    """Probability that careful raters fail it so often or more."""
    usual: str
    """The answer that most raters gave."""

    @property
    def looks_wrong(self) -> bool:
        """Whether a person should look at the answer key."""
        return self.answer != "void" and self.likely < DOUBTFUL and self.usual != self.answer

    def says(self) -> str:
        """The sentence for a check that looks wrong."""
        return (
            f"Check {self.check} looks wrong: {self.failed} of {self.answers} failed it, most of them by {self.usual}, "
            f"and its answer is {self.answer}. "
            f"Careful raters would fail so often with probability {self.likely:.1g}."
        )


def check_lines(connection: sa.Connection) -> tuple[CheckLine, ...]:
    """All checks in the order of their names, blocked raters' answers included: a wrong key is what blocks them."""
    answers = defaultdict[str, Counter[str]](Counter)
    query = sa.select(votes.c.pair, votes.c.choice, sa.func.count()).where(votes.c.failed.is_not(None))
    for pair, choice, number in connection.execute(query.group_by(votes.c.pair, votes.c.choice)):
        answers[pair][decisive_part(choice)] += number
    sums = sa.select(votes.c.pair, sa.func.sum(votes.c.failed)).where(votes.c.answers.is_not(None))
    by_sheet = {pair: failed for pair, failed in connection.execute(sums.group_by(votes.c.pair)) if failed is not None}
    rows = connection.execute(sa.select(pairs).where(pairs.c.kind == "check").order_by(pairs.c.pair))
    return tuple(_make_line(r.pair, r.mended, json.loads(r.body), answers[r.pair], by_sheet.get(r.pair)) for r in rows)


def _make_line(
    check: str, mended: str | None, body: Mapping[str, Any], answers: Counter[str], by_sheet: int | None
) -> CheckLine:
    """`by_sheet`: the failures where several questions are asked; `answers` counts the first one alone."""
    key = body.get("answer")  # of a question 0, its first option
    written = (
        str(key) if key is not None else ", ".join(f"{name}: {choice}" for name, choice in body["answers"].items())
    )
    answer = mended if mended not in (None, "void") else written
    total = answers.total()
    failed = total - answers[str(answer)] if by_sheet is None else by_sheet
    usual = answers.most_common(1)[0][0] if answers else ""
    return CheckLine(check, mended or written, total, failed, binomial_tail(failed, total, SLIPS), usual)


def table_of(lines: Sequence[CheckLine]) -> list[str]:
    """The table that a person reads, then one sentence for each check that looks wrong."""
    head = f"{'check':<24}{'answer':>8}{'answers':>9}{'failed':>8}{'careful':>10}"
    rows = [f"{x.check:<24}{x.answer:>8}{x.answers:>9}{x.failed:>8}{x.likely:>10.2g}" for x in lines]
    wrong = [x.says() for x in lines if x.looks_wrong]
    note = f"careful: probability that raters who slip once in {round(1 / SLIPS)} would fail it so often."
    return [head, *rows, note, *wrong] if lines else ["This study has no hidden checks."]
