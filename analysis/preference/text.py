"""What `python -m analysis preference` says: the document for machines, tables and sentences for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from analysis.preference.answer import Position, Preference, change_over_rounds, position
from analysis.reading.systems import DIFFERENT, SAME, UNKNOWN, Matches
from analysis.reading.votes import ways
from analysis.showing.tables import Table
from analysis.showing.words import number, p_equals, p_value
from analysis.stats.davidson import Fit, Model, bootstrap, clustered, fit, games, normal_draws
from analysis.stats.intervals import mean_interval
from analysis.stats.sign_tests import TieIndex, holm, tie_index
from dialogue.errors import InputError


def ranked(
    matches: Matches, model: Model, unit: str, sets: int, generator: np.random.Generator
) -> tuple[Fit | None, str]:
    """The model of strengths with clustered errors and drawn ranks, or why there is none.

    By pair and rater at once the ranks come from the normal law of the estimates, else from refitted bootstrap sets.
    """
    votes = matches.votes
    played = games(matches.systems, matches.a, matches.b, votes.choice, votes.left)
    try:
        found = clustered(played, fit(played, model), ways(votes))
    except InputError as error:
        return None, str(error)
    if unit == "pair+rater":
        return normal_draws(found, sets=sets, generator=generator), ""
    cluster = None if unit == "vote" else votes.need(unit, f"--unit {unit}")
    return bootstrap(played, found, cluster, sets=sets, generator=generator), ""


def calibrated(matches: Matches) -> TieIndex | None:
    """The tie index where the study has both anchors with two pairs or more each."""
    anchors = [matches.controls.get(name) for name in (DIFFERENT, SAME)]
    if any(votes is None or len(np.unique(votes.pair)) < 2 for votes in anchors):
        return None
    shares = [mean_interval(v.tie, by={"pair": v.pair}) for v in (matches.votes, *anchors) if v is not None]
    return tie_index(*((share.value, share.se) for share in shares))


def document(
    matches: Matches,
    found: Sequence[Preference],
    strengths: Fit | None,
    refusal: str,
    index: TieIndex | None,
    recipe: str,
    *,
    known: bool,
) -> dict[str, Any]:
    """The stable keys of `--json`; `net`, `sign_test` and `tost` are those of the first contrast."""
    adjusted = holm(np.array([preference.sign.p for preference in found]))
    listed = [_contrast(preference, p) for preference, p in zip(found, adjusted, strict=True)]
    sides, rounds = position(matches.votes), change_over_rounds(matches.votes)
    return {
        "systems": matches.systems,
        **listed[0],
        "contrasts": listed,
        "position": None if sides is None else _position(sides),
        "rounds": None if rounds is None else asdict(rounds),
        "davidson": None if strengths is None else _strengths(strengths),
        "tie_index": None if index is None else asdict(index),
        "warnings": [*matches.votes.warnings, *_warnings(matches, strengths, refusal, known)],
        "signature": recipe,
    }


def _contrast(preference: Preference, adjusted: float) -> dict[str, Any]:
    net, sign, alike = preference.net, preference.sign, preference.equivalence
    return {
        "first": preference.first,
        "second": preference.second,
        "votes": net.n,
        "net": {key: getattr(net, key) for key in ("value", "se", "low", "high", "design_effect", "effective_n")},
        "sign_test": {"first": sign.a, "second": sign.b, "ties": sign.ties, "p": sign.p, "p_holm": adjusted},
        "tost": None if alike is None else {**asdict(alike), "equivalent": alike.equivalent},
    }


def _position(found: Position) -> dict[str, Any]:
    share = found.share
    ends = (None, None, None) if share is None else (share.value, share.low, share.high)
    return {
        "left": found.test.a,
        "right": found.test.b,
        "p": found.test.p,
        **dict(zip(("share", "low", "high"), ends, strict=True)),
    }


def _strengths(found: Fit) -> dict[str, Any]:
    def parameter(place: int) -> dict[str, float]:
        low, high = found.interval(place)
        return {"value": found.parameters[place], "se": found.errors[place], "low": low, "high": high}

    order = np.argsort(-found.strengths, kind="stable")
    low, high = np.quantile(found.ranks, [0.025, 0.975], axis=0, method="inverted_cdf")
    ranks = {
        found.systems[k]: {"rank": place + 1, "low": int(low[k]), "high": int(high[k])} for place, k in enumerate(order)
    }
    return {
        "model": found.model,
        "strengths": {found.systems[k]: parameter(k) for k in order},
        "tie": None if found.tie is None else parameter(found.tie),
        "position": None if found.position is None else parameter(found.position),
        "ranks": ranks,
        "wrong_order": [
            {"above": found.systems[i], "below": found.systems[j], "p": found.wrong_order[i, j]}
            for i, j in pairwise(order)
        ],
        "sets": len(found.draws),
        "unbounded_sets": found.unbounded,
    }


def _warnings(matches: Matches, strengths: Fit | None, refusal: str, known: bool) -> list[str]:
    said = []
    if not known:
        said.append(UNKNOWN)
    if matches.votes.rater is None:
        said.append("The votes name no rater, so the intervals cannot allow for raters and are too narrow.")
    elif "rater" not in ways(matches.votes):
        said.append("All votes are of one rater: the intervals say nothing of other people.")
    if matches.votes.identical is not None and (same := int(matches.votes.identical.sum())):
        said.append(f"{same} votes are on identical responses; they count as ties.")
    if len(matches.votes.rounds) > 1:
        said.append("The rounds (HumanExp-k) rate the same pairs: they are no replications of each other.")
    if refusal:
        said.append(refusal)
    if strengths and strengths.unbounded:
        said.append(f"In {strengths.unbounded} bootstrap sets a system won or lost everything: no finite strength.")
    return said


def preference_parts(said: Mapping[str, Any]) -> list[Table | str]:
    """Tables and sentences for people."""
    parts: list[Table | str] = [_net_table(said), *_claims(said["contrasts"]), *_checks(said)]
    if said["davidson"]:
        parts += _strengths_shown(said["davidson"])
    if said["tie_index"]:
        index = said["tie_index"]
        parts.append(
            f"Tie index {number(index['value'])} ({_reach(index)}): 0 is the tie share of clearly different pairs "
            f"({number(index['different'])}), 1 that of one system against itself ({number(index['same'])})."
        )
    return [*parts, *said["warnings"], said["signature"]]


def _reach(found: Mapping[str, Any]) -> str:
    if found["low"] is None or found["high"] is None:
        return "no bound"
    return f"{number(found['low'])} to {number(found['high'])}"


def _net_table(said: Mapping[str, Any]) -> Table:
    head = [
        "first",
        "second",
        "votes",
        "first",
        "second",
        "ties",
        "net",
        "SE",
        "95 % interval",
        "sign test p (ties out)",
        "Holm",
    ]
    rows = []
    for row in said["contrasts"]:
        sign, net = row["sign_test"], row["net"]
        shown = [row["first"], row["second"], row["votes"], sign["first"], sign["second"], sign["ties"]]
        tests = [p_value(sign["p"]), p_value(sign["p_holm"])]
        rows.append([*shown, f"{net['value']:+.3f}", number(net["se"]), _reach(net), *tests])
    return Table(head, rows)


def _claims(contrasts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which contrasts are alike within the margin, one line each."""
    if contrasts[0]["tost"] is None:
        return ["No claim that systems are alike; state the smallest difference that matters with --margin."]
    lines = []
    for row in contrasts:
        alike = row["tost"]
        verb = "are alike" if alike["equivalent"] else "cannot be called alike"
        lines.append(
            f"{row['first']} and {row['second']} {verb} within a net preference of {alike['margin']:g} "
            f"(TOST {p_equals(alike['p'])}; 90 % interval {_reach(alike)})."
        )
    return lines


def _checks(said: Mapping[str, Any]) -> list[str]:
    """Left against right and change over the rounds, over all votes."""
    checks = []
    if side := said["position"]:
        chosen = side["left"] + side["right"]
        reach = f", {side['share']:.3f} ({_reach(side)})" if side["share"] is not None else ""
        checks.append(
            f"Left was chosen in {side['left']} of {chosen} decisive votes{reach}; exact {p_equals(side['p'])}."
        )
    if rounds := said["rounds"]:
        shares = ", ".join(number(share) for share in rounds["shares"])
        checks.append(
            f"Tie share by round {shares}: Cochran's Q = {rounds['statistic']:.2f} on {rounds['freedom']} degrees of "
            f"freedom, {p_equals(rounds['p'])}, over {rounds['items']} pairs with a vote in every round."
        )
    return checks


def _strengths_shown(found: Mapping[str, Any]) -> list[Table | str]:
    wrong = {row["above"]: row for row in found["wrong_order"]}
    rows = []
    for name, strength in found["strengths"].items():
        rank = found["ranks"][name]
        below = p_value(wrong[name]["p"]) if name in wrong else ""
        rows.append([rank["rank"], name, number(strength["value"]), number(strength["se"]), _reach(strength),
                     f"{rank['low']}-{rank['high']}", below])  # fmt: skip
    head = ["rank", "system", "log strength", "SE", "95 % interval", "95 % of ranks", "P(truly below the next)"]
    extra = [
        f"{name} (log) {number(found[key]['value'])} ({_reach(found[key])})"
        for key, name in (("tie", "tie"), ("position", "left"))
        if found[key]
    ]
    title = "Davidson's model" if found["model"] == "davidson" else "Rao and Kupper's model"
    return [Table(head, rows, title), *(["; ".join(extra)] if extra else [])]
