"""Which pairs are judged, what that may cost, and how verdicts come beside those that a study has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from seedvote.dialogue.engines.chat import Budget
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_field, write_records
from seedvote.dialogue.judges import VERDICTS, folded_name, read_verdicts
from seedvote.dialogue.records import Pair, Verdict, Vote
from seedvote.dialogue.signature import signature


def chosen_pairs(study: Path, pairs: Sequence[Pair], *, only: str, limit: int | None) -> list[Pair]:
    """Real pairs, all or those without votes, as many as asked for; and the checks, as raters get them."""
    votes = study / "votes.jsonl"
    voted = set(read_field(votes, Vote, "pair")) if only == "unvoted" and votes.exists() else set()
    real = [pair for pair in pairs if pair.kind != "check" and pair.pair not in voted]
    chosen = [*real[:limit], *(pair for pair in pairs if pair.kind == "check")]
    if not real:
        raise InputError(f"{study}: every pair has votes, so --only unvoted leaves none to be judged.")
    return chosen


def budget_of(price: str | None, most: float | None) -> Budget | None:
    """The cap and the prices; a cap needs prices, prices alone are for the estimate."""
    if price is None:
        if most is not None:
            raise InputError("--budget needs --price IN,OUT, the prices per million tokens.")
        return None
    try:
        prices = [float(part) for part in price.split(",")]
    except ValueError:
        prices = []
    if len(prices) != 2 or not all(0 <= amount < math.inf for amount in prices):
        raise InputError(f"--price is {price!r}; write two numbers, per million tokens in and out, e.g. .15,.6.")
    return Budget(math.inf if most is None else most, *prices)


def keep(study: Path, pairs: Sequence[Pair], verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Write them; a verdict of the same judge, prompt, pair, order and draw takes the place of an earlier one."""
    path = study / VERDICTS
    earlier = read_verdicts(path) if path.exists() else []
    all_verdicts = {_call(verdict): verdict for verdict in (*earlier, *verdicts)}
    recipe = signature(
        verdicts=len(all_verdicts), judges=",".join(sorted({verdict.judge for verdict in all_verdicts.values()}))
    )
    write_records(path, list(all_verdicts.values()), signature=recipe, kind=Verdict)
    unusable = sum(verdict.choice == "unusable" for verdict in verdicts)
    yield f"{path}: {len(verdicts):,} verdicts, {unusable:,} of them unusable; {len(all_verdicts):,} in all"
    answers = {pair.pair: pair.answer for pair in pairs if pair.kind == "check"}
    checks = [verdict for verdict in verdicts if verdict.pair in answers]
    if checks:
        failed = {verdict.pair for verdict in checks if verdict.choice != answers[verdict.pair]}
        total = len({verdict.pair for verdict in checks})
        yield f"This judge failed {len(failed)} of {total} checks, in one order or both."
    yield recipe


def _call(verdict: Verdict) -> tuple[object, ...]:
    return verdict.pair, folded_name(verdict.judge), verdict.prompt, verdict.order, verdict.draw
