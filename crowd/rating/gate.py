"""The gate: whose votes count, who gets no further work, and each kind of rater's chance of passing.

Pure functions of the outcomes of one rater's checks, in the order in which they were shown, and of what a person or
a stated rule decided about that rater. The desk, `crowd regate` and `crowd plan-checks` call these and nothing else,
so a rater is judged alike whatever marketplace they came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from seedvote.dialogue.records import RaterStatus

Counting = Literal["total", "row"]
Ruling = Literal["block", "exclude"]


@dataclass(frozen=True, slots=True)
class GateRule:
    """Blocked at `max_failures` failed checks, counted in total or in a row; the first `first_checks` admit."""

    max_failures: int = 3
    count: Counting = "total"
    first_checks: int = 3


def rule_within(rule: GateRule, checks: int) -> GateRule:
    """The rule in a study of so many checks: nobody can be asked for more first checks than there are."""
    return replace(rule, first_checks=min(rule.first_checks, checks))


def asked_of(answered: int, rule: GateRule, before: int | None) -> int | None:
    """The fewest first checks that were ever asked of a rater who had answered as many; None until then.

    Who was let in stays in when there are more first checks later, because one is added or no longer void.

    >>> asked_of(2, GateRule(first_checks=2), None), asked_of(2, GateRule(first_checks=3), 2)
    (2, 2)
    """
    met = [rule.first_checks] if answered >= rule.first_checks else []
    return min([*met, *([] if before is None else [before])], default=None)


def standing(
    failed: Sequence[bool],
    rule: GateRule,
    *,
    ruling: Ruling | None = None,
    broke: bool = False,
    asked_checks: int | None = None,
) -> RaterStatus:
    """The status from which everything else follows: a rater's votes count while it is `passed`, and only then.

    Blocked comes before excluded, because it also ends the work; a rater who broke a rule of `[exclude]` works on.
    `asked_checks` is what `asked_of` gives.

    >>> standing([False, False, False], GateRule(), ruling="exclude")
    'excluded'
    """
    gate = judge(failed, rule if asked_checks is None else rule_within(rule, asked_checks))
    if gate == "blocked" or ruling == "block":
        return "blocked"
    return "excluded" if ruling == "exclude" or broke else gate


def judge(failed: Sequence[bool], rule: GateRule) -> RaterStatus:
    """What the checks alone say of a rater with these outcomes (True = failed).

    >>> judge([True, False, True, True], GateRule(max_failures=3, count="total"))
    'blocked'
    >>> judge([True, False, True, True], GateRule(max_failures=3, count="row"))
    'passed'
    """
    if _count_failures(failed, rule.count) >= rule.max_failures:
        return "blocked"
    return "passed" if len(failed) >= rule.first_checks else "incomplete"


def that_judge(outcomes: Sequence[tuple[bool, bool]]) -> list[bool]:
    """Of checks (failed, waits), those that judge the rater: once a visit is confirmed, only confirmed ones.

    So whoever comes under another's name cannot have that person's votes un-counted.

    >>> that_judge([(False, False), (True, True), (True, True), (True, True)])
    [False]
    """
    firm = [failed for failed, waits in outcomes if not waits]
    return firm or [failed for failed, _ in outcomes]


def _count_failures(failed: Sequence[bool], count: Counting) -> int:
    """The number of failures, or the longest run of them."""
    if count == "total":
        return sum(failed)
    longest = run = 0
    for outcome in failed:
        run = run + 1 if outcome else 0
        longest = max(longest, run)
    return longest


def pass_probability(fails: Sequence[float], rule: GateRule) -> float:
    """Probability of not being blocked when check i is failed with probability `fails[i]`, independently.

    Exact: the law of the number of failures (in total: Poisson-binomial, which is binomial where all are equal; in a
    row: the length of the current run) is carried from check to check; what reaches `max_failures` is dropped.

    >>> round(pass_probability([2 / 3] * 5, GateRule(max_failures=3)), 4)
    0.2099
    """
    law = [1.0] + [0.0] * (rule.max_failures - 1)
    for p in fails:
        moved = [0.0, *(p * mass for mass in law[:-1])]
        stay = [(1 - p) * mass for mass in law] if rule.count == "total" else [(1 - p) * sum(law)]
        law = [m + (stay[i] if i < len(stay) else 0.0) for i, m in enumerate(moved)]
    return sum(law)
