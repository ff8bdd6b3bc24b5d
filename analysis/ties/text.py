"""What `analyze_ties` shows: the keys of ties.json and `--json`, and tables and sentences for people."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analysis.showing.tables import Table
from analysis.showing.words import count, p_equals, p_value, percent, plural
from analysis.stats.laws import Law
from analysis.ties.answer import UNITS, Curve, TiesAnswer
from analysis.votes.voters import marked_parts, not_people

if TYPE_CHECKING:
    from analysis.stats.mixed import CrossedLogit

RESAMPLED = {"vote": "votes one by one", **{name: " and ".join(map(plural, name.split("+"))) for name in UNITS[1:]}}


def document(answer: TiesAnswer) -> dict[str, Any]:
    """The content of ties.json."""
    return {
        "experiments": [_curve(curve) for curve in answer.experiments],
        "pooled": _curve(answer.pooled),
        "units": [_curve(curve) for curve in answer.units],
        "chance": dataclasses.asdict(answer.pooled.chance),
        "effective_raters": answer.effective_raters,
        "mixed": None if answer.mixed is None else dataclasses.asdict(answer.mixed),
        "recipe": dataclasses.asdict(answer.recipe),
        "crowded": answer.crowded,
        "voters": dataclasses.asdict(answer.voters),
        "warnings": [*not_people(answer.voters), *answer.warnings],
        "signature": answer.signature,
    }


def _curve(curve: Curve) -> dict[str, Any]:
    law = curve.law
    return {
        "name": curve.name,
        "votes": curve.votes,
        "ties": curve.ties,
        "choices": dict(curve.choices),
        "chance": dataclasses.asdict(curve.chance),
        "share": curve.share,
        **_law(law),
        "unit": curve.unit,
        "replace": curve.replace,
        "with_replacement": None if curve.replaced is None else _law(curve.replaced),
        "clusters": curve.clusters,
        "set_votes": law.set_votes,
        "set_part": curve.part,
        "automatic_ties": curve.automatic,
        "identical_votes": curve.identical,
        "share_of_different": curve.share_of_different,
        "interval": dataclasses.asdict(curve.interval) if curve.interval else None,
        "bootstrap": None if curve.bootstrap is None else _resampled(curve.bootstrap),
    }


def _law(law: Law) -> dict[str, Any]:
    bins = min(law.set_votes, 200)
    return {
        "mean": law.mean,
        "sd": law.sd,
        "low": law.quantile(0.025),
        "high": law.quantile(0.975),
        "p_majority": law.above(0.5),
        "method": law.method,
        "histogram": {"step": 1 / bins, "mass": law.within((np.arange(bins + 2) - 0.5) / bins).tolist()},
    }


def _resampled(shares: NDArray[np.float64]) -> dict[str, float]:
    low, high = np.quantile(shares, [0.025, 0.975])
    return {"sd": float(shares.std()), "low": float(low), "high": float(high), "sets": len(shares)}


def parts(answer: TiesAnswer) -> list[Table | str]:
    """The tables, what to take home, and the recipe."""
    return [*marked_parts(tables(answer), answer.voters), *sentences(answer), answer.signature]


def tables(answer: TiesAnswer) -> tuple[Table, Table]:
    """One line a curve: first the experiments as the paper draws them, then the pooled votes by every unit."""
    size = f"SD of {answer.recipe.size}"
    head = ["", "votes", "a", "b", "ties", "95 % interval", "p(1/3)", size, "95 % of sets", "P(> .5)"]
    first = Table(head, [row for curve in [*answer.experiments, answer.pooled] for row in _rows(curve)])
    resampled = any(curve.bootstrap is not None for curve in answer.units)
    by = ["drawn by", "units", "95 % interval", "design effect", "worth votes", size, "95 % of sets", "law"]
    second = [_unit_row(curve) for curve in answer.units]
    if resampled:
        by.append("bootstrap")
        second = [[*row, _range(curve.bootstrap)] for row, curve in zip(second, answer.units, strict=True)]
    return first, Table(by, second)


def _range(shares: NDArray[np.float64] | None) -> str:
    return "-" if shares is None else "{:.3f}-{:.3f}".format(*np.quantile(shares, [0.025, 0.975]))


def _rows(curve: Curve) -> list[list[str]]:
    """The votes and their sets; below, in a row of its own, the sets with replacement where they stand beside."""
    interval = curve.interval
    row = [
        curve.name,
        str(curve.votes),
        *(f"{curve.choices[label] / curve.votes:.3f}" for label in ("a", "b", "tie")),
        f"{interval.low:.3f}-{interval.high:.3f}" if interval else "-",
        p_value(curve.chance.p_shown),
        *_spread(curve.law),
        majority(curve.law),
    ]
    if curve.replaced is None:
        return [row]
    beside = ["  with replacement", *[""] * (len(row) - 4), *_spread(curve.replaced), majority(curve.replaced)]
    return [row, beside]


def _spread(law: Law) -> list[str]:
    """SD and range of sets; dashes where the votes are all the same, which tells nothing of how sets vary."""
    if not law.sd:
        return ["-", "-"]
    return [f"{law.sd:.4f}", f"{law.quantile(0.025):.3f}-{law.quantile(0.975):.3f}"]


def majority(law: Law) -> str:
    """The probability that more than half of a set are ties; of drawn sets, never less than they can tell."""
    above = law.above(0.5)
    return f"<{1 / law.drawn:.1g}" if law.drawn and not above else f"{above:.2g}"


def _unit_row(curve: Curve) -> list[str]:
    law, interval = curve.law, curve.interval
    return [
        curve.name,
        str(curve.clusters),
        f"{interval.low:.3f}-{interval.high:.3f}" if interval else "-",
        f"{interval.design_effect:.2f}" if interval else "-",
        f"{interval.worth:.0f}" if interval else "-",
        *_spread(law),
        law.method,
    ]


def sentences(answer: TiesAnswer) -> list[str]:
    """What to take home, in plain words, then the warnings."""
    return [
        _found(answer),
        against_chance(answer.pooled),
        *_raters(answer),
        *_automatic(answer.pooled),
        *_mixed(answer.mixed),
        *not_people(answer.voters),
        *answer.warnings,
    ]


def _found(answer: TiesAnswer) -> str:
    pooled, size = answer.pooled, answer.recipe.size
    if pooled.votes == 1:
        return "The only vote is a tie." if pooled.ties else "The only vote is no tie."
    text = f"{percent(pooled.share)} of {count(pooled.votes, 'vote')} are ties"
    if pooled.interval is None:
        return text + "."
    interval = pooled.interval
    text += f"; the 95 % interval is {percent(interval.low)} to {percent(interval.high)}"
    if interval.clusters:
        text += f", allowing for correlated votes of one {interval.unit.replace('+', ' or ')}"
    text += f" ({count(max(round(interval.worth), 1), 'independent vote')} would be as informative)."
    wide = max(answer.units, key=lambda curve: curve.law.sd)
    if not answer.units[0].law.sd:
        return text + " All votes are the same, so all sets of them are too."
    text += f" Sets of {size} drawn vote by vote have an SD of {answer.units[0].law.sd * 100:.1f} points"
    if wide is answer.units[0]:
        return text + "."
    return text + f"; drawn by {wide.name.replace('+', ' and ')}, {wide.law.sd * 100:.1f}."


def against_chance(curve: Curve) -> str:
    """Whether the share of ties differs from that of random clicking, for the terminal and the report alike."""
    share, chance = percent(curve.share), f"(33.3 %; {p_equals(curve.chance.p_shown)})"
    if curve.chance.told_apart:
        return f"The tie share ({share}) differs from that of random clicking {chance}."
    return (
        f"Random clicking {chance} could give this tie share ({share}), so it cannot show that raters read the "
        "responses."
    )


def _raters(answer: TiesAnswer) -> list[str]:
    found = [curve.clusters for curve in answer.units if curve.unit == "rater"]
    if not found or answer.effective_raters is None:
        return []
    alike = count(round(answer.effective_raters), "rater")
    return [f"{found[0]:,} raters voted, worth {alike} with equal numbers of votes."]


def _mixed(found: CrossedLogit | None) -> list[str]:
    """The share over everybody first, since it is that one which the default estimates."""
    if found is None:
        return []
    average, typical = (
        f"{percent(one.value)} ({percent(one.low)} to {percent(one.high)})" for one in (found.average, found.typical)
    )
    spread = ", ".join(f"{name} {sd:.2f}" for name, sd in found.spreads.items())
    over = " and ".join(", ".join(map(plural, found.spreads)).rsplit(", ", 1))
    doubt = [] if found.converged else ["The search of the mixed logit did not end well, so do not rely on it."]
    return [
        f"Mixed logit: {average} ties over new {over}, which is what the interval above estimates too; a "
        f"typical rater on a typical pair ties in {typical}. SD of the log odds: {spread}.",
        *doubt,
    ]


def _automatic(curve: Curve) -> list[str]:
    if not curve.identical:
        return []
    rest = curve.share_of_different
    without = "" if rest is None else f"; among the other votes {percent(rest)} are ties"
    same = count(curve.identical, "vote")
    return [f"{same} on two identical responses, {curve.automatic:,} of them ties{without}."]
