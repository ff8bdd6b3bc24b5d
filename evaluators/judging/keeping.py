"""Which pairs are judged, what that may cost, and how verdicts come beside those that a study has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from dialogue.engines.chat import Budget
from dialogue.errors import InputError
from dialogue.files import read_field, write_records
from dialogue.judges import VERDICTS, folded_name, read_verdicts
from dialogue.records import Pair, Verdict, Vote
from dialogue.signature import signature


def chosen_pairs(study: Path, pairs: Sequence[Pair], *, only: str, limit: int | None) -> list[Pair]:
    """Real pairs, all or those without votes, as many as asked for; and the checks, as raters get them."""
    votes = study / "votes.jsonl"
    voted = set(read_field(votes, Vote, "pair")) if only == "unvoted" and votes.exists() else set()
    real = [pair for pair in pairs if pair.kind != "check" and pair.pair not in voted]
    found = [*real[:limit], *(pair for pair in pairs if pair.kind == "check")]
    if not real:
        raise InputError(f"{study}: every pair has votes, so --only unvoted leaves none to be judged.")
    return found


def budget_of(price: str | None, most: float | None) -> Budget | None:
    """The cap and the prices; a cap needs prices, prices alone are for the estimate."""
    if price is None:
        if most is not None:
            raise InputError("--budget needs --price IN,OUT, the prices per million tokens.")
        return None
    try:
        each = [float(part) for part in price.split(",")]
    except ValueError:
        each = []
    if len(each) != 2 or not all(0 <= one < math.inf for one in each):
        raise InputError(f"--price is {price!r}; write two numbers, per million tokens in and out, e.g. .15,.6.")
    return Budget(math.inf if most is None else most, *each)


def keep(study: Path, pairs: Sequence[Pair], found: Sequence[Verdict]) -> Iterator[str]:
    """Write them; a verdict of the same judge, prompt, pair, order and draw takes the place of an earlier one."""
    path = study / VERDICTS
    earlier = read_verdicts(path) if path.exists() else []
    whole = {_call(one): one for one in (*earlier, *found)}
    recipe = signature(verdicts=len(whole), judges=",".join(sorted({one.judge for one in whole.values()})))
    write_records(path, list(whole.values()), signature=recipe, kind=Verdict)
    unusable = sum(one.choice == "unusable" for one in found)
    yield f"{path}: {len(found):,} verdicts, {unusable:,} of them unusable; {len(whole):,} in all"
    answers = {pair.pair: pair.answer for pair in pairs if pair.kind == "check"}
    asked = [one for one in found if one.pair in answers]
    if asked:
        failed = {one.pair for one in asked if one.choice != answers[one.pair]}
        yield f"This judge failed {len(failed)} of {len({one.pair for one in asked})} checks, in one order or both."
    yield recipe


def _call(one: Verdict) -> tuple[object, ...]:
    return one.pair, folded_name(one.judge), one.prompt, one.order, one.draw
