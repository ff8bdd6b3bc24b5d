"""The report's sections on votes: which system is preferred, what the controls say, agreement, and the raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import t

from analysis.preference.answer import Preference, change_over_rounds, position, prefer
from analysis.preference.text import calibrated
from analysis.reading.study import Study
from analysis.reading.systems import Contrast, Matches, contrasts, fixed_sides, match
from analysis.reading.votes import Votes
from analysis.showing.page import Axis, Figure, Mark, Row, Section, round_steps
from analysis.showing.tables import Table
from analysis.showing.words import count, p_equals, p_value, percent, signed
from analysis.stats.agreement import Agreement, Coefficient, agreement, count_table, landis_koch
from analysis.stats.raters import rater_table
from analysis.stats.sign_tests import holm
from dialogue.errors import InputError
from dialogue.seeds import child_seed

SEED, SETS = 0, 2000
QUARTERS = (0, 0.25, 0.5, 0.75, 1)
CONTROLS = {
    "within-seed": "one seed against itself, drawn twice",
    "reference-random": "the corpus's own answer against one from elsewhere",
    "reference-model": "the corpus's own answer against a model's",
}


@dataclass(frozen=True, eq=False)
class Judged:
    """The votes by pair of systems and what they show, the leader first; without `named`, a and b are the systems."""

    matches: Matches
    contrasts: tuple[Contrast, ...]
    preferences: tuple[Preference, ...]
    named: bool


def judged(study: Study, margin: float | None) -> Judged | None:
    """Preferences of every contrast; None where the votes do not say which system stood where."""
    votes = study.votes
    if votes is None or len(votes) < 2:
        return None
    named = bool(study.pairs)
    if not named and set(votes.source) - {"imported"}:
        return None  # from our own pages the sides are drawn by chance: without pairs.jsonl they mean nothing
    try:
        found = match(votes, study.folder / "pairs.jsonl") if named else fixed_sides(votes)
    except InputError:  # no vote compares two different systems: the tie distributions stand alone
        return None
    listed = tuple(one for one in contrasts(found) if len(one.votes) > 1)
    if not listed:
        return None
    return Judged(found, listed, tuple(led(prefer(one, margin=margin)) for one in listed), named)


def led(one: Preference) -> Preference:
    """The same with the leader first."""
    if one.net.value >= 0:
        return one
    net = replace(one.net, value=-one.net.value, low=-one.net.high, high=-one.net.low)
    sign, alike = replace(one.sign, a=one.sign.b, b=one.sign.a), one.equivalence
    turned = None if alike is None else replace(alike, estimate=-alike.estimate, low=-alike.high, high=-alike.low)
    return Preference(one.second, one.first, net, sign, turned)


def preference_section(found: Judged, study: Study) -> Section:
    """Net preference with intervals, equivalence, controls and the checks on sides and rounds."""
    text = [
        "Net preference is votes for the first (the leader) minus votes for the second, in points of all votes; a tie "
        "counts as neither. The intervals let pairs and raters vary."
    ]
    if not found.named:
        text.append("There is no pairs.jsonl: a and b are taken to be the same two systems in every pair.")
    figures = [_net_figure(found.preferences)]
    if controls := control_rows(found, study):
        figures.append(_controls_figure(controls))
    items = [*alike(found.preferences), *_index(found), *_checks(found.matches.votes)]
    return Section("preferred", "Which is preferred", tuple(text), tuple(figures), tuple(items), tables=_tables(found))


def _net_figure(preferences: Sequence[Preference]) -> Figure:
    ends = [100 * end for one in preferences for end in (one.net.low, one.net.high, 0.0)]
    axis = Axis(min(ends) - 2, max(ends) + 2)
    rows = [
        Row(
            f"{one.first} over {one.second}",
            f"{signed(100 * one.net.value)} ({signed(100 * one.net.low)} to {signed(100 * one.net.high)})",
            axis.interval(100 * one.net.low, 100 * one.net.value, 100 * one.net.high),
            described=f"net preference {signed(100 * one.net.value)} points",
        )
        for one in preferences
    ]
    ticks = axis.ticks(round_steps(axis.low, axis.high))
    return Figure("Net preference with its 95 % interval", tuple(rows), ticks, "points, first minus second",
                  ((axis.at(0), "no preference"),), note_head="points (95 % interval)")  # fmt: skip


def alike(preferences: Sequence[Preference]) -> list[str]:
    """What may be said of systems' being alike: a claim of its own, against a margin that was stated."""
    tested = [(one, one.equivalence) for one in preferences if one.equivalence is not None]
    if not tested:
        reach = sorted(100 * (abs(one.net.value) + float(t.ppf(0.95, one.net.df)) * one.net.se) for one in preferences)
        ends = [f"{reach[0]:.0f} points"] if len(reach) == 1 else [f"{reach[0]:.0f}", f"{reach[-1]:.0f} points"]
        return [
            "No margin of equivalence was stated (--margin), so there is no claim that systems are alike. Had it been "
            f"stated beforehand, these votes would bear one for a margin of {' to '.join(ends)} or more"
            f"{', depending on the two systems' if len(reach) > 1 else ''}."
        ]
    return [
        f"{one.first} and {one.second} {'are alike' if test.equivalent else 'cannot be called alike'} within "
        f"{100 * test.margin:g} points (two one-sided tests, {p_equals(test.p)}; 90 % interval "
        f"{signed(100 * test.low)} to {signed(100 * test.high)})."
        for one, test in tested
    ]


def control_rows(found: Judged, study: Study) -> list[tuple[str, int, float, str]]:
    """Name, votes, tie share and colour of the real pairs and of the control pairs, if there are any."""
    if not found.matches.controls and study.controls is None:
        return []
    rows = [("real pairs", len(found.matches.votes), float(found.matches.votes.tie.mean()), "people")]
    if study.controls is not None:
        names = {pair.pair: pair.contrast for pair in study.pairs}
        contrast = np.array([names.get(name, "") for name in study.controls.pairs])[study.controls.pair]
        for name in np.unique(contrast):
            tie = study.controls.tie[contrast == name]
            rows.append((CONTROLS.get(str(name), str(name) or "controls"), len(tie), float(tie.mean()), "c5"))
    return rows if len(rows) > 1 else []


def _controls_figure(rows: Sequence[tuple[str, int, float, str]]) -> Figure:
    axis = Axis(0, 1)
    made = tuple(
        Row(name, f"{percent(share)} of {count(votes, 'vote')}", (Mark("dot", axis.at(share), 0, 0, colour),),
            described=percent(share))
        for name, votes, share, colour in rows
    )  # fmt: skip
    return Figure("Ties on pairs whose relation is known, beside the real ones", made,
                  axis.ticks(QUARTERS, "{:.0%}"), "share of ties", ((axis.at(1 / 3), "chance 33 %"),))  # fmt: skip


def _index(found: Judged) -> list[str]:
    index = calibrated(found.matches) if found.named else None
    if index is None:
        return []
    reach = "no bound" if not np.isfinite([index.low, index.high]).all() else f"{index.low:.2f} to {index.high:.2f}"
    return [
        f"Tie index {index.value:.2f} ({reach}): 0 is the tie share of clearly different pairs "
        f"({percent(index.different)}), 1 that of one seed against itself ({percent(index.same)})."
    ]


def _checks(votes: Votes) -> list[str]:
    """Left against right, and change over the rounds."""
    said = []
    if (side := position(votes)) is not None and side.test.a + side.test.b:
        chosen = side.test.a + side.test.b
        said.append(
            f"The left response was chosen in {side.test.a:,} of {count(chosen, 'decisive vote')} "
            f"({percent(side.test.a / chosen)}; exact {p_equals(side.test.p)} for no side effect)."
        )
    rounds = change_over_rounds(votes)
    if rounds is not None and rounds.items:
        said.append(
            f"Ties over the {len(rounds.shares)} rounds: {', '.join(map(percent, rounds.shares))}; Cochran's Q finds "
            f"{'a' if rounds.p < 0.05 else 'no'} change ({p_equals(rounds.p)}, {count(rounds.items, 'pair')})."
        )
    return said


def _tables(found: Judged) -> tuple[Table, ...]:
    adjusted = holm(np.array([one.sign.p for one in found.preferences]))
    head = ("comparison", "votes", "first", "second", "ties", "net, points", "95 % interval", "p, sign test", "p, Holm")
    rows = tuple(
        (
            f"{one.first} against {one.second}", *(f"{n:,}" for n in (s.a + s.b + s.ties, s.a, s.b, s.ties)),
            signed(100 * one.net.value), f"{signed(100 * one.net.low)} to {signed(100 * one.net.high)}",
            p_value(s.p), p_value(float(p)),
        )
        for one, p in zip(found.preferences, adjusted, strict=True)
        for s in [one.sign]
    )  # fmt: skip
    return (
        Table(head, rows, "Preference between systems; the sign test leaves ties out and takes votes as independent"),
    )


def agreement_of(votes: Votes | None) -> Agreement | None:
    """Coefficients with intervals from 2,000 bootstrap samples of the pairs; None with one vote a pair."""
    if votes is None or len(votes) == len(np.unique(votes.pair)):
        return None
    generator = np.random.default_rng(child_seed(SEED, "report", "agreement"))
    counts = count_table(votes.pair, votes.choice, len(votes.labels))
    return agreement(counts, votes.labels, values=None, generator=generator, sets=SETS)


def raters_section(study: Study, found: Agreement | None) -> Section | None:
    """Agreement, and the raters as a crowd: never one by name."""
    text, figures, tables = [], [], []
    if found is not None:
        kappa = found.fleiss_kappa
        text.append(
            f"Fleiss' kappa is {signed(kappa.value, 2).lstrip('+')} ({landis_koch(kappa.value)} in the words of Landis "
            "and Koch). 0 is what votes without regard to the pair would give, 1 is complete agreement. Intervals "
            "resample pairs."
        )
        figures.append(_agreement_figure(found))
    votes = study.votes
    if votes is not None and votes.rater is not None and len(votes.raters) > 1:
        figures.append(_crowd_figure(votes))
    if study.raters:
        text.append(gate_sentence(study))
        tables.append(_gate_table(study))
    if not text and not figures:
        return None
    return Section("raters", "Agreement and raters", tuple(text), tuple(figures), tables=tuple(tables))


def _agreement_figure(found: Agreement) -> Figure:
    named: Mapping[str, Coefficient] = {
        "Fleiss' kappa": found.fleiss_kappa,
        "Krippendorff's alpha, nominal": found.alpha_nominal,
        "Gwet's AC1": found.gwet_ac1,
        "share of vote pairs that agree": found.percent,
    }
    axis = Axis(min(-0.1, *(one.low - 0.02 for one in named.values())), 1)
    rows = tuple(
        Row(name, f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})".replace("-", "\N{MINUS SIGN}"),
            axis.interval(one.low, one.value, one.high),
            described=f"{one.value:.3f}")
        for name, one in named.items()
    )  # fmt: skip
    return Figure("Agreement between raters of the same pair", rows, axis.ticks(QUARTERS),
                  "0: as by chance (kappa, alpha, AC1), 1: always", ((axis.at(0), ""),),
                  note_head="value (95 % interval)")  # fmt: skip


def _crowd_figure(votes: Votes) -> Figure:
    """One dot a rater: ties, agreement with the rest, left side."""
    rater = np.asarray(votes.rater)
    table = rater_table(
        votes.pair, rater, votes.choice, len(votes.labels), tie=votes.labels.index("tie"), left=votes.left
    )
    axis, rows = Axis(0, 1), []
    chosen = [("says tie", table.tie_rate), ("agrees with the other votes", table.with_rest),
              ("chooses the left side", table.left_rate)]  # fmt: skip
    for name, rates in chosen:
        seen = rates[np.isfinite(rates)]
        if len(seen):
            low, middle, high = np.quantile(seen, [0.25, 0.5, 0.75])
            dots = tuple(Mark("faint", axis.at(float(rate)), 0, k % 3, "people") for k, rate in enumerate(sorted(seen)))
            note = f"half of them {low:.0%} to {high:.0%}" if len(seen) >= 8 else f"the middle one {middle:.0%}"
            rows.append(Row(name, note.replace("%", " %"),
                            (*dots, Mark("tick", axis.at(float(middle)), 0, 1, "ink")), lines=3,
                            described=f"median {middle:.0%}"))  # fmt: skip
    met = len(np.unique(rater))
    return Figure(f"How often each of {count(met, 'rater')} ...", tuple(rows), axis.ticks(QUARTERS, "{:.0%}"),
                  "share of a rater's votes",
                  legend=(("faint", "people", "one rater"), ("tick", "ink", "the middle one")))  # fmt: skip


def gate_sentence(study: Study) -> str:
    """What the hidden checks did."""
    raters = study.raters
    blocked, seen = sum(r.status == "blocked" for r in raters), sum(r.checks_seen for r in raters)
    text = f"{count(len(raters), 'rater')} came"
    if not seen:
        return text + "; no hidden check was answered, so nothing tells careful raters from careless ones."
    failed = sum(r.checks_failed for r in raters)
    text += f" and answered {count(seen, 'hidden check')}, {failed:,} of them wrongly. "
    if not blocked:
        return text + "Nobody failed so many as to be blocked."
    whose = "rater's" if blocked == 1 else "raters'"
    return (
        text
        + f"{count(blocked, 'rater')} failed too many and got no further work; the blocked {whose} votes are kept, "
        "marked, and not counted."
    )


def _gate_table(study: Study) -> Table:
    rows = []
    for status in ("passed", "incomplete", "blocked"):
        group = [r for r in study.raters if r.status == status]
        seconds = [r.median_seconds for r in group if r.median_seconds is not None]
        if group:
            pace = f"{np.median(seconds):.1f}" if seconds else "-"
            sums = (
                len(group),
                *(sum(getattr(r, key) for r in group) for key in ("votes", "checks_seen", "checks_failed")),
            )
            rows.append((status, *(f"{n:,}" for n in sums), pace))
    head = ("status", "raters", "judgements", "checks seen", "checks failed", "seconds a judgement, median")
    return Table(head, tuple(rows), "Raters by what the gate says of them")
