"""What `analyze_ties` says: the document for machines, the table and the sentences for people."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.showing.tables import Table
from analysis.showing.words import count, percent
from analysis.ties.answer import Chance, Curve, Ties


def document(ties: Ties) -> dict[str, Any]:
    """The content of ties.json."""
    return {
        "experiments": [_curve(curve) for curve in ties.experiments],
        "pooled": _curve(ties.pooled),
        "units": [_curve(curve) for curve in ties.units],
        "chance": dataclasses.asdict(ties.pooled.chance),
        "effective_raters": ties.effective_raters,
        "recipe": dataclasses.asdict(ties.recipe),
        "warnings": list(ties.warnings),
        "signature": ties.signature,
    }


def _curve(curve: Curve) -> dict[str, Any]:
    law = curve.law
    bins = max(round(law.set_votes), 1) if law.set_votes <= 200 else 200
    return {
        "name": curve.name,
        "votes": curve.votes,
        "ties": curve.ties,
        "choices": dict(curve.choices),
        "chance": dataclasses.asdict(curve.chance),
        "share": curve.share,
        "mean": law.mean,
        "sd": law.sd,
        "low": law.quantile(0.025),
        "high": law.quantile(0.975),
        "p_majority": law.above(0.5),
        "method": law.method,
        "unit": curve.unit,
        "clusters": curve.clusters,
        "set_votes": law.set_votes,
        "automatic_ties": curve.automatic,
        "identical_votes": curve.identical,
        "share_of_different": curve.share_of_different,
        "interval": dataclasses.asdict(curve.interval) if curve.interval else None,
        "bootstrap": None if curve.bootstrap is None else _resampled(curve.bootstrap),
        "histogram": {"step": 1 / bins, "mass": law.within((np.arange(bins + 2) - 0.5) / bins).tolist()},
    }


def _resampled(shares: NDArray[np.float64]) -> dict[str, float]:
    low, high = np.quantile(shares, [0.025, 0.975])
    return {"sd": float(shares.std()), "low": float(low), "high": float(high), "sets": len(shares)}


def parts(ties: Ties) -> list[Table | str]:
    """The tables, what to take home, and the recipe."""
    return [*tables(ties), *sentences(ties), ties.signature]


def tables(ties: Ties) -> tuple[Table, Table]:
    """One line a curve: first the experiments as the paper draws them, then the pooled votes by every unit."""
    size = f"SD of {ties.recipe.size}"
    head = ["", "votes", "a", "b", "ties", "95 % interval", size, "95 % of sets", "P(> .5)", "p(1/3)"]
    first = Table(head, [_row(curve, ties.recipe.sets) for curve in [*ties.experiments, ties.pooled]])
    resampled = any(curve.bootstrap is not None for curve in ties.units)
    by = ["drawn by", "units", "95 % interval", "design effect", "worth votes", size, "95 % of sets", "law"]
    second = [_unit_row(curve) for curve in ties.units]
    if resampled:
        by.append("bootstrap")
        second = [[*row, _range(curve.bootstrap)] for row, curve in zip(second, ties.units, strict=True)]
    return first, Table(by, second)


def _range(shares: NDArray[np.float64] | None) -> str:
    return "-" if shares is None else "{:.3f}-{:.3f}".format(*np.quantile(shares, [0.025, 0.975]))


def _row(curve: Curve, sets: int) -> list[str]:
    law, interval = curve.law, curve.interval
    return [
        curve.name,
        str(curve.votes),
        *(f"{curve.choices[label] / curve.votes:.3f}" for label in ("a", "b", "tie")),
        f"{interval.low:.3f}-{interval.high:.3f}" if interval else "-",
        f"{law.sd:.4f}",
        f"{law.quantile(0.025):.3f}-{law.quantile(0.975):.3f}",
        f"<{1 / sets:.1g}" if law.method == "sampled" and not law.above(0.5) else f"{law.above(0.5):.2g}",
        f"{_p(curve.chance):.2g}",
    ]


def _p(chance: Chance) -> float:
    return chance.p_vote if chance.p is None else chance.p


def _unit_row(curve: Curve) -> list[str]:
    law, interval = curve.law, curve.interval
    return [
        curve.name,
        str(curve.clusters),
        f"{interval.low:.3f}-{interval.high:.3f}" if interval else "-",
        f"{interval.design_effect:.2f}" if interval else "-",
        f"{interval.effective_n:.0f}" if interval else "-",
        f"{law.sd:.4f}",
        f"{law.quantile(0.025):.3f}-{law.quantile(0.975):.3f}",
        law.method,
    ]


def sentences(ties: Ties) -> list[str]:
    """What to take home, in plain words, then the warnings."""
    return [_found(ties), _against_chance(ties.pooled), *_raters(ties), *_automatic(ties.pooled), *ties.warnings]


def _found(ties: Ties) -> str:
    pooled, size = ties.pooled, ties.recipe.size
    text = f"{percent(pooled.share)} of {count(pooled.votes, 'vote')} are ties"
    if pooled.interval is None:
        return text + "."
    interval = pooled.interval
    text += f"; allowing for what votes of one {interval.unit.replace('+', ' or ')} share, the 95 % interval is "
    text += f"{percent(interval.low)} to {percent(interval.high)} "
    text += f"(they are worth {interval.effective_n:,.0f} independent votes)."
    wide = max(ties.units, key=lambda curve: curve.law.sd)
    text += f" Sets of {size} drawn vote by vote have an SD of {ties.units[0].law.sd * 100:.1f} points"
    if wide is ties.units[0]:
        return text + "."
    return text + f"; drawn by {wide.name.replace('+', ' and ')}, {wide.law.sd * 100:.1f}."


def _against_chance(curve: Curve) -> str:
    p = _p(curve.chance)
    verb = "can be told from" if p < 0.05 else "cannot be told from"
    return (
        f"Clicking at random among three answers gives 33.3 % ties; {percent(curve.share)} {verb} that (p = {p:.2g})."
    )


def _raters(ties: Ties) -> list[str]:
    found = [curve.clusters for curve in ties.units if curve.unit == "rater"]
    return (
        [f"{found[0]:,} raters voted; by how the votes are spread they count as {ties.effective_raters:,.0f}."]
        if found
        else []
    )


def _automatic(curve: Curve) -> list[str]:
    if not curve.identical:
        return []
    rest = curve.share_of_different
    without = "" if rest is None else f"; among the other votes {percent(rest)} are ties"
    same = count(curve.identical, "vote")
    return [f"On two responses of the same text: {same}, {curve.automatic:,} of them ties{without}."]
