"""What `analyze_ties` shows: the keys of ties.json and `--json`, and tables and sentences for people."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.showing.tables import Table
from analysis.showing.words import count, percent
from analysis.ties.answer import Curve, TiesAnswer

RESAMPLED = {"vote": "votes one by one", "pair": "pairs", "dialogue": "dialogues", "rater": "raters",
             "pair+rater": "pairs and raters", "dialogue+rater": "dialogues and raters"}  # fmt: skip


def document(answer: TiesAnswer) -> dict[str, Any]:
    """The content of ties.json."""
    return {
        "experiments": [_curve(curve) for curve in answer.experiments],
        "pooled": _curve(answer.pooled),
        "units": [_curve(curve) for curve in answer.units],
        "chance": dataclasses.asdict(answer.pooled.chance),
        "effective_raters": answer.effective_raters,
        "recipe": dataclasses.asdict(answer.recipe),
        "warnings": list(answer.warnings),
        "signature": answer.signature,
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


def parts(answer: TiesAnswer) -> list[Table | str]:
    """The tables, what to take home, and the recipe."""
    return [*tables(answer), *sentences(answer), answer.signature]


def tables(answer: TiesAnswer) -> tuple[Table, Table]:
    """One line a curve: first the experiments as the paper draws them, then the pooled votes by every unit."""
    size = f"SD of {answer.recipe.size}"
    head = ["", "votes", "a", "b", "ties", "95 % interval", size, "95 % of sets", "P(> .5)", "p(1/3)"]
    first = Table(head, [_row(curve, answer.recipe.sets) for curve in [*answer.experiments, answer.pooled]])
    resampled = any(curve.bootstrap is not None for curve in answer.units)
    by = ["drawn by", "units", "95 % interval", "design effect", "worth votes", size, "95 % of sets", "law"]
    second = [_unit_row(curve) for curve in answer.units]
    if resampled:
        by.append("bootstrap")
        second = [[*row, _range(curve.bootstrap)] for row, curve in zip(second, answer.units, strict=True)]
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
        f"{curve.chance.p_shown:.2g}",
    ]


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


def sentences(answer: TiesAnswer) -> list[str]:
    """What to take home, in plain words, then the warnings."""
    return [
        _found(answer),
        against_chance(answer.pooled),
        *_raters(answer),
        *_automatic(answer.pooled),
        *answer.warnings,
    ]


def _found(answer: TiesAnswer) -> str:
    pooled, size = answer.pooled, answer.recipe.size
    text = f"{percent(pooled.share)} of {count(pooled.votes, 'vote')} are ties"
    if pooled.interval is None:
        return text + "."
    interval = pooled.interval
    text += f"; the 95 % interval is {percent(interval.low)} to {percent(interval.high)}"
    if interval.clusters:
        text += f", allowing for correlated votes of one {interval.unit.replace('+', ' or ')}"
    text += f" ({count(round(interval.effective_n), 'independent vote')} would be as informative)."
    wide = max(answer.units, key=lambda curve: curve.law.sd)
    text += f" Sets of {size} drawn vote by vote have an SD of {answer.units[0].law.sd * 100:.1f} points"
    if wide is answer.units[0]:
        return text + "."
    return text + f"; drawn by {wide.name.replace('+', ' and ')}, {wide.law.sd * 100:.1f}."


def against_chance(curve: Curve) -> str:
    """Whether the share of ties differs from that of random clicking, for the terminal and the report alike."""
    verb = "differs significantly from" if curve.chance.told_apart else "does not differ significantly from"
    p = f"{curve.chance.p_shown:.2g}"
    return f"Random clicking among three answers gives 33.3 % ties; {percent(curve.share)} {verb} that (p = {p})."


def _raters(answer: TiesAnswer) -> list[str]:
    found = [curve.clusters for curve in answer.units if curve.unit == "rater"]
    return (
        [f"{found[0]:,} raters voted, worth {answer.effective_raters:,.0f} raters with equal numbers of votes."]
        if found
        else []
    )


def _automatic(curve: Curve) -> list[str]:
    if not curve.identical:
        return []
    rest = curve.share_of_different
    without = "" if rest is None else f"; among the other votes {percent(rest)} are ties"
    same = count(curve.identical, "vote")
    return [f"{same} on two identical responses, {curve.automatic:,} of them ties{without}."]
