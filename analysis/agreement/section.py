"""The report's section on agreement and raters: the answer's numbers and cautions, and the raters only as a crowd.

No rater appears in it, by name or by pseudonym: a table of payments could lead from a pseudonym to a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from analysis.agreement.answer import AgreementAnswer, Habit
from analysis.showing.page import QUARTERS, Axis, Mark, Row, RowFigure, Section
from analysis.showing.tables import Table
from analysis.showing.words import MINUS, count, number, signed
from analysis.stats.between_raters.agreement import Coefficient, landis_koch
from analysis.votes.study import Study

QUARTILES_FROM = 8  # raters; of fewer, the quartiles would be single raters


def section(answer: AgreementAnswer | None, study: Study) -> Section | None:
    """Coefficients with their intervals, the raters as a crowd, what the gate did, and every caution."""
    text, figures = [], []
    if answer is not None and answer.comparable:
        text.append(_kappa(answer.found.fleiss_kappa, answer.drawn))
        figures.append(_agreement_figure(answer))
    if answer is not None and len(answer.raters) > 1:
        figures.append(_crowd_figure(answer.crowd, len(answer.raters)))
    if study.raters:
        text.append(gate_sentence(study))
    notes = () if answer is None else answer.warnings
    if not text and not figures and not notes:
        return None
    return Section("raters", "Agreement and raters", tuple(text), tuple(figures),
                   tables=(_gate_table(study),) if study.raters else (), notes=notes)  # fmt: skip


def _kappa(kappa: Coefficient, drawn: str) -> str:
    if not isfinite(kappa.value):
        return "Fleiss' kappa is not defined: all votes have the same label."
    anew = f"The intervals draw {drawn} anew." if drawn else "There are no intervals."
    return (
        f"Fleiss' kappa is {signed(kappa.value, 2).lstrip('+')} ({landis_koch(kappa.value)} on Landis and Koch's "
        f"scale). It is 0 for votes that do not depend on the pair and 1 for complete agreement. {anew}"
    )


def reach(found: Coefficient, digits: int) -> str:
    """Value and interval, as print sets them."""
    value, low, high = (number(end, digits).replace("-", MINUS) for end in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})" if isfinite(found.low) else f"{value} (no interval)"


def _agreement_figure(answer: AgreementAnswer) -> RowFigure:
    named = [(one.name, one.found) for one in answer.coefficients if one.found is not None and not one.ordered]
    named.append(("share of vote pairs that agree", answer.found.observed))
    lowest = [one.low if isfinite(one.low) else one.value for _, one in named if isfinite(one.value)]
    axis = Axis(min([-0.1, *(low - 0.02 for low in lowest)]), 1)
    rows = tuple(Row(name, reach(one, 3), _marks(axis, one), described=number(one.value)) for name, one in named)
    return RowFigure("Agreement between raters of the same pair", rows, axis.ticks(QUARTERS),
                  "0: as by chance (kappa, alpha, AC1), 1: always", ((axis.at(0), ""),),
                  note_head="value (95 % interval)", name="agreement")  # fmt: skip


def _marks(axis: Axis, one: Coefficient) -> tuple[Mark, ...]:
    """The value with its interval, the value alone where it has none, nothing where it is not defined."""
    if isfinite(one.low):
        return tuple(axis.interval(one.low, one.value, one.high))
    return (Mark("dot", axis.at(one.value), 0, 0, "people"),) if isfinite(one.value) else ()


def _crowd_figure(crowd: Sequence[Habit], raters: int) -> RowFigure:
    """One dot a rater: ties, agreement with the rest, left side."""
    axis = Axis(0, 1)
    rows = []
    for habit in crowd:
        dots = tuple(Mark("faint", axis.at(rate), 0, k % 3, "people") for k, rate in enumerate(habit.rates))
        several = len(habit.rates) >= QUARTILES_FROM
        note = f"middle half {habit.low:.0%} to {habit.high:.0%}" if several else f"median {habit.median:.0%}"
        rows.append(Row(habit.name, note.replace("%", " %"),
                        (*dots, Mark("tick", axis.at(habit.median), 0, 1, "ink")), lines=3,
                        described=f"median {habit.median:.0%}"))  # fmt: skip
    return RowFigure(f"How often each of {count(raters, 'rater')} ...", tuple(rows), axis.ticks(QUARTERS, "{:.0%}"),
                  "share of a rater's votes",
                  legend=(("faint", "people", "one rater"), ("tick", "ink", "median")), name="raters")  # fmt: skip


def gate_sentence(study: Study) -> str:
    """What the hidden checks did, and who was left out beside them."""
    out = [rater for rater in study.raters if rater.status == "excluded"]
    if not out:
        return _checks_sentence(study)
    votes = count(sum(rater.votes for rater in out), "vote")
    return (
        f"{_checks_sentence(study)} Excluded by a stated rule or by hand: {count(len(out), 'rater')}; {votes} of "
        "theirs are kept and marked but not counted."
    )


def _checks_sentence(study: Study) -> str:
    raters = study.raters
    blocked, seen = sum(r.status == "blocked" for r in raters), sum(r.checks_seen for r in raters)
    text = f"{count(len(raters), 'rater')} took part"
    if not seen:
        return text + "; no hidden check was answered, so careful raters cannot be told from careless ones."
    failed = sum(r.checks_failed for r in raters)
    text += f" and answered {count(seen, 'hidden check')}, {failed:,} of them wrongly. "
    if not blocked:
        return text + "Nobody failed enough of them to be blocked."
    was, whose = ("was", "rater's") if blocked == 1 else ("were", "raters'")
    return (
        text + f"{count(blocked, 'rater')} {was} blocked, by failing too many of them or by hand, and got no further "
        f"work; the blocked {whose} votes are kept and marked but not counted."
    )


def _gate_table(study: Study) -> Table:
    rows = []
    for status in ("passed", "incomplete", "blocked", "excluded"):
        group = [r for r in study.raters if r.status == status]
        seconds = [r.median_seconds for r in group if r.median_seconds is not None]
        if group:
            pace = f"{np.median(seconds):.1f}" if seconds else "-"
            sums = (
                len(group),
                sum(r.votes for r in group),
                sum(r.checks_seen for r in group),
                sum(r.checks_failed for r in group),
            )
            rows.append((status, *(f"{n:,}" for n in sums), pace))
    head = ("status", "raters", "judgements", "checks seen", "checks failed", "median seconds per judgement")
    return Table(head, tuple(rows), "Raters by gate status")
