"""What is shown of the careful answer: its keys in `--json`, its tables and its sentences, in every door alike."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from analysis.preference.careful import Careful, Credible
from analysis.showing.tables import Table
from analysis.showing.words import chance, number, signed


def careful_document(found: Careful) -> dict[str, Any]:
    """Its keys in `--json`."""
    return {
        "reason": found.reason,
        "systems": {
            one.system: {"strength": asdict(one.strength), "typical": asdict(one.typical), "rank": one.rank,
                         "default_rank": one.default_rank, "p_best": one.best, "p_ranks": one.ranks,
                         "below_next": one.below_next}
            for one in found.systems
        },
        "contrasts": [
            {"first": one.first, "second": one.second, "net": asdict(one.net), "ties": asdict(one.ties),
             "p_first": one.better}
            for one in found.contrasts
        ],
        "spreads": {name: asdict(sd) for name, sd in found.spreads.items()},
        "draws": found.draws,
        "r_hat": found.r_hat,
    }  # fmt: skip


def careful_tables(found: Careful) -> tuple[Table, Table]:
    """Strengths with the chances of their ranks, and what new raters would say of each two systems."""
    ranked = [
        [one.rank, one.system, number(one.strength.value), _reach(one.strength), chance(one.best),
         "" if one.below_next is None else chance(one.below_next),
         "-" if one.default_rank is None else one.default_rank]
        for one in found.systems
    ]  # fmt: skip
    head = ["rank", "system", "log strength", "95 % interval", "P(best)", "P(in truth below the next)", "default rank"]
    met = [
        [one.first, one.second, f"{one.net.value:+z.3f}", _reach(one.net), chance(one.better), number(one.ties.value),
         _reach(one.ties)]
        for one in found.contrasts
    ]  # fmt: skip
    second = ["first", "second", "net", "95 % interval", "P(first is better)", "ties", "95 % interval"]
    return (
        Table(head, ranked, "Careful answer: Bayesian hierarchical Davidson"),
        Table(second, met, "Careful answer: two systems at a time"),
    )


def careful_points(found: Careful) -> str:
    """Net preferences in points, the leader first, as the report gives them."""
    told = []
    for one in found.contrasts:
        sign = 1 if one.net.value >= 0 else -1
        names = (one.first, one.second)[::sign]
        low, high = sorted((sign * one.net.low, sign * one.net.high))
        told.append(
            f"{' over '.join(names)} {signed(100 * abs(one.net.value))} ({signed(100 * low)} to {signed(100 * high)})"
        )
    return f"By the careful answer, in points with 95 % intervals: {'; '.join(told)}."


def careful_sentences(found: Careful) -> list[str]:
    """Why it is shown, what it says of, whether it moves a rank, and how much people and pairs differ."""
    moved = ", ".join(f"{one.system} (from {one.default_rank} to {one.rank})" for one in found.moved)
    ranks = "It leaves every system at its rank."
    if moved:
        ranks = f"It moves {moved}; where the chance of being below the next is near 50 %, neither order is known."
    if all(one.default_rank is None for one in found.systems):
        ranks = "There is no default ranking to compare it with."
    spread = "; ".join(f"{name} {number(sd.value, 2)} ({_reach(sd, 2)})" for name, sd in found.spreads.items())
    return [
        f"The careful answer stands beside the default because {found.reason}. Like the default it speaks of new "
        f"raters and new pairs, but it also learns from the votes how much raters and pairs differ. {ranks}",
        *([f"SD on the log scale (95 % interval), of tastes for a system and of readiness to tie: {spread}."] if spread
          else []),
    ]  # fmt: skip


def _reach(found: Credible, digits: int = 3) -> str:
    return f"{number(found.low, digits)} to {number(found.high, digits)}"
