"""What `python -m analysis agreement` shows: the keys of `--json`, and tables and sentences for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from analysis.agreement.answer import AgreementAnswer, HiddenTruth, NamedCoefficient, Spamming
from analysis.showing.tables import Table
from analysis.showing.words import chance, count, number, plain
from analysis.stats.between_raters.agreement import Category, Coefficient, landis_koch
from analysis.stats.between_raters.raters import RaterHabits, SplitHalf
from analysis.votes.voters import marked_parts, not_people

MOST_RATERS = 10  # in the table; --json has them all


def document(answer: AgreementAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    found = answer.found
    numbers: dict[str, Any] = plain(
        {
            "pairs": found.items,
            "votes": found.votes,
            "agreement": _bounds(found.observed),
            **_by_key(answer.coefficients),
            "cohen_kappa": _bounds(answer.cohen_kappa),
            "split_half": _bounds(answer.split_half),
            "labels": {
                c.label: {"share": c.share, "agreement": c.agreement, "kappa": c.kappa} for c in found.categories
            },
            "raters": [asdict(one) for one in answer.raters],
            "dawid_skene": _model(answer.truth, answer.labels),
            "mace": _model(answer.spamming, answer.labels),
            "voters": asdict(answer.voters),
            "warnings": [*not_people(answer.voters), *answer.warnings],
            "signature": answer.signature,
        }
    )
    return numbers


def _by_key(coefficients: Sequence[NamedCoefficient]) -> dict[str, Any]:
    """Value and interval of each under its key; `group.part` lies within its group."""
    numbers: dict[str, Any] = {}
    for one in coefficients:
        group, _, part = one.key.partition(".")
        at = numbers.setdefault(group, {}) if part else numbers
        at[part or group] = _bounds(one.found)
    return numbers


def _model(found: HiddenTruth | Spamming | None, labels: Sequence[str]) -> dict[str, Any] | None:
    return None if found is None else {**asdict(found), "prior": dict(zip(labels, found.prior, strict=True))}


def _bounds(found: Coefficient | SplitHalf | None) -> dict[str, float] | None:
    """Value and interval of a coefficient that has them."""
    return None if found is None else {"value": found.value, "low": found.low, "high": found.high}


def parts(answer: AgreementAnswer) -> list[Table | str]:
    """Coefficients, categories, raters, the two models of a hidden truth, the cautions, and the recipe last."""
    shown: list[Table | str] = [_coefficients(answer), _categories(answer.found.categories)]
    if answer.raters:
        shown += _raters(answer.raters)
    if answer.truth:
        shown.append("Dawid and Skene's model: " + _hidden(answer.truth, answer.labels))
    if answer.spamming:
        shown.append(spam_sentence(answer.spamming) + " It gives " + _hidden(answer.spamming, answer.labels))
    shown = [*marked_parts(shown, answer.voters), *not_people(answer.voters)]
    return [*shown, *answer.warnings, answer.signature]


def _coefficients(answer: AgreementAnswer) -> Table:
    head = ["coefficient", "value", "low", "high", "Landis and Koch"]
    caption = f"{count(answer.found.votes, 'vote')} on {count(answer.found.items, 'pair')}"
    if answer.drawn:
        caption += f"; 95 % intervals draw {answer.drawn} anew"
    return Table(head, list(_coefficient_rows(answer)), caption)


def _coefficient_rows(answer: AgreementAnswer) -> Iterator[list[str]]:
    yield _row("votes that agree", answer.found.observed)
    if answer.cohen_kappa:
        yield _row("Cohen's kappa of the two raters", answer.cohen_kappa, named=True)
    for one in answer.coefficients:
        yield _row(one.name, one.found, named=True)
    yield _row("split-half, Spearman-Brown (95 % of splits)", answer.split_half)


def _row(name: str, found: Coefficient | SplitHalf | None, *, named: bool = False) -> list[str]:
    ends = ["-"] * 3 if found is None else [number(found.value), number(found.low), number(found.high)]
    return [name, *ends, landis_koch(found.value) if named and found and ends[0] != "-" else ""]


def _categories(found: Sequence[Category]) -> Table:
    rows = [[c.label, number(c.share), number(c.agreement), number(c.kappa)] for c in found]
    return Table(["label", "share", "chosen again", "kappa"], rows)


def _raters(raters: Sequence[RaterHabits]) -> list[Table | str]:
    rows = [
        [
            one.rater,
            one.votes,
            *map(number, (one.tie_rate, one.left_rate, one.left_p, one.with_rest, one.expected, one.spam)),
        ]
        for one in raters[:MOST_RATERS]
    ]
    head = ["rater", "votes", "ties", "left", "left p", "agrees with rest", "by chance", "spam"]
    more = len(raters) - MOST_RATERS
    return [Table(head, rows), *([f"{count(more, 'more rater')}: see --json."] if more > 0 else [])]


def _hidden(found: HiddenTruth | Spamming, labels: Sequence[str]) -> str:
    prior = ", ".join(f"{label} {number(share)}" for label, share in zip(labels, found.prior, strict=True))
    steps = f"{count(found.steps, 'step')}{'' if found.converged else ', not converged'}"
    return (
        f"estimated shares of the true labels {prior}; a label has a posterior above .95 on {chance(found.sure)} of "
        f"the pairs ({steps})."
    )


def spam_sentence(found: Spamming) -> str:
    """What MACE says, and how not to read it."""
    return (
        f"MACE's model attributes {chance(found.spam)} of the votes to guessing. On close pairs it also counts honest "
        "disagreement as guessing, so it can compare raters and is no ground to block one."
    )
