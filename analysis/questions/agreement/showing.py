"""Agreement as people and programs read it: findings, tables, figures, the keys of `--json`, the report.

In the report raters appear only as a crowd, neither by name nor by pseudonym: a table of payments could lead from a
pseudonym to a person.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seedvote.analysis.questions.agreement.answer import (
    AgreementAnswer,
    GroupAgreement,
    Habit,
    HiddenTruth,
    NamedCoefficient,
    Spamming,
    answer,
    answer_groups,
    hidden_truth,
    spam_model,
)
from seedvote.analysis.showing.page import QUARTERS, Axis, Mark, Row, RowFigure, Section
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import MINUS, chance, count, number, p_value, to_plain
from seedvote.analysis.stats.between_raters.agreement import (
    FEWEST_REPEATED,
    Agreement,
    Category,
    Coefficient,
    landis_koch,
)
from seedvote.analysis.stats.between_raters.raters import RaterHabits, SplitHalf
from seedvote.analysis.stats.disparity import Disparity
from seedvote.analysis.votes.cautions import marked_parts, not_people, told_of_reading, with_reading
from seedvote.analysis.votes.clusters import Strata, strata_of
from seedvote.analysis.votes.inputs import votes_of, with_items
from seedvote.analysis.votes.study import Study
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.files import atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POOR = 0.2  # below it Landis and Koch say "slight"
MOST_RATERS = 10  # in the table; --json has them all
QUARTILES_FROM = 8  # raters; of fewer, the quartiles would be single raters
HABIT_AXES = {
    "tie_rate": "share of ties among a rater's votes",
    "spam": "share of a rater's votes that MACE takes for spam",
}


def parts(answer: AgreementAnswer) -> list[Table | str]:
    """Coefficients, labels, what they say, raters, the two models of a hidden truth, the cautions; the recipe last."""
    blocks: list[Table | str] = [_coefficient_table(answer), _label_table(answer.statistics.categories)]
    blocks += findings(answer)
    if answer.raters:
        blocks += _rater_parts(answer.raters)
    if answer.truth:
        blocks.append("Dawid and Skene's model: " + _hidden_labels(answer.truth, answer.labels))
    if answer.spamming:
        blocks.append(f"{_explain_guessing(answer.spamming)} It gives {_hidden_labels(answer.spamming, answer.labels)}")
    return [*marked_parts(blocks, answer.voters), *not_people(answer.voters), *answer.warnings, answer.signature]


def findings(answer: AgreementAnswer) -> list[str]:
    """Fleiss' kappa and what it is called; nothing where it is not defined."""
    kappa = answer.statistics.fleiss_kappa
    if not isfinite(kappa.value):
        return []
    text = f"Fleiss' kappa between raters of the same pair is {spell_interval(kappa, 2, '95 % interval ')}"
    if not isfinite(kappa.low):
        return [f"{text}.{_lacking(answer.statistics)}"]
    if kappa.value < POOR:
        return [f"{text}: they hardly agree on which response is better, or whether any is."]
    words = dict.fromkeys((landis_koch(kappa.low), landis_koch(kappa.high)))
    return [f"{text}: {' to '.join(words)} agreement."]


def _lacking(statistics: Agreement) -> str:
    """Why kappa has no interval, where nearly all votes are one label."""
    if not statistics.unit or statistics.repeated >= FEWEST_REPEATED:
        return ""
    twice = count(statistics.repeated, "pair")
    have = "has" if statistics.repeated == 1 else "have"
    return f" An interval takes {FEWEST_REPEATED} pairs with two votes for the same rarer label; {twice} {have} them."


def spell_interval(coefficient: Coefficient, digits: int, prefix: str = "") -> str:
    """Value and interval, as print sets them."""
    ends = (coefficient.value, coefficient.low, coefficient.high)
    value, low, high = (number(end, digits).replace("-", MINUS) for end in ends)
    return f"{value} ({prefix}{low} to {high})" if isfinite(coefficient.low) else f"{value} (no interval)"


def _coefficient_table(answer: AgreementAnswer) -> Table:
    head = ["coefficient", "value", "low", "high", "Landis and Koch"]
    caption = f"{count(answer.statistics.votes, 'vote')} on {count(answer.statistics.items, 'pair')}"
    if answer.resampled:
        caption += f"; 95 % intervals draw {answer.resampled} anew"
    return Table(head, list(_coefficient_rows(answer)), caption)


def _coefficient_rows(answer: AgreementAnswer) -> Iterator[list[str]]:
    yield _coefficient_row("votes that agree", answer.statistics.observed)
    if answer.cohen_kappa:
        yield _coefficient_row("Cohen's kappa of the two raters", answer.cohen_kappa, graded=True)
    for row in answer.coefficients:
        yield _coefficient_row(row.name, row.coefficient, graded=True)
    yield _coefficient_row("split-half, Spearman-Brown (95 % of splits)", answer.split_half)


def _coefficient_row(name: str, value: Coefficient | SplitHalf | None, *, graded: bool = False) -> list[str]:
    ends = ["-"] * 3 if value is None else [number(value.value), number(value.low), number(value.high)]
    return [name, *ends, landis_koch(value.value) if graded and value and ends[0] != "-" else ""]


def _label_table(categories: Sequence[Category]) -> Table:
    rows = [[c.label, number(c.share), number(c.agreement), number(c.kappa)] for c in categories]
    return Table(["label", "share", "chosen again", "kappa"], rows)


def _rater_parts(raters: Sequence[RaterHabits]) -> list[Table | str]:
    rows = [
        [
            rater.rater,
            rater.votes,
            *map(
                number,
                (rater.tie_rate, rater.left_rate, rater.left_p, rater.with_rest, rater.expected, rater.spam),
            ),
        ]
        for rater in raters[:MOST_RATERS]
    ]
    head = ["rater", "votes", "ties", "left", "left p", "agrees with rest", "by chance", "spam"]
    hidden_number = len(raters) - MOST_RATERS
    return [Table(head, rows), *([f"{count(hidden_number, 'more rater')}: see --json."] if hidden_number > 0 else [])]


def _hidden_labels(model: HiddenTruth | Spamming, labels: Sequence[str]) -> str:
    prior = ", ".join(f"{label} {number(share)}" for label, share in zip(labels, model.prior, strict=True))
    steps = f"{count(model.steps, 'step')}{'' if model.converged else ', not converged'}"
    return (
        f"estimated shares of the true labels {prior}; a label has a posterior above .95 on {chance(model.sure)} of "
        f"the pairs ({steps})."
    )


def _explain_guessing(model: Spamming) -> str:
    """What MACE says, and how not to read it."""
    return (
        f"MACE's model attributes {chance(model.spam)} of the votes to guessing. On close pairs it also counts honest "
        "disagreement as guessing, so it can compare raters and is no ground to block one."
    )


def group_parts(groups: Sequence[GroupAgreement], strata: Strata) -> list[Table | str]:
    """A table of groups, and what they say."""
    head = (strata.by, "people", "votes", "alpha (95 %)", "apart from the others (95 %)", "p (Holm)")
    rows = [
        (
            group.group,
            str(group.people),
            f"{group.votes:,}",
            _format_span(group.alpha),
            _format_span(group.apart),
            p_value(group.p_holm),
        )
        for group in groups
    ]
    caption = f"Krippendorff's alpha within groups, by {strata.by}"
    return [Table(head, rows, caption), *group_findings(groups), *strata.notes]


def group_findings(groups: Sequence[GroupAgreement]) -> list[str]:
    """Which groups agree otherwise, after the correction; that none is shown to, where some were tested."""
    tested = [(group.group, group.apart, group.p_holm) for group in groups if group.apart and group.p_holm is not None]
    differing = [(name, gap) for name, gap, p in tested if p < 0.05]
    if tested and not differing:
        return ["No group is shown to agree otherwise than the others; small groups show large differences only."]
    return [
        f"Raters of the group {name!r} agree {'more' if gap.value > 0 else 'less'} with each other than the others "
        f"do: alpha {gap.value:+z.3f}."
        for k, (name, gap) in enumerate(differing)
        if not any(gap.mirrors(earlier) for _, earlier in differing[:k])
    ]


def _format_span(value: Coefficient | Disparity | None) -> str:
    return "-" if value is None else f"{number(value.value)} ({number(value.low)} to {number(value.high)})"


def row_figures(answer: AgreementAnswer) -> tuple[RowFigure, ...]:
    """The coefficients with their intervals, and how often each rater ties, agrees and chooses the left."""
    figures = [_coefficient_figure(answer)] if answer.comparable else []
    return *figures, *([_crowd_figure(answer.crowd, len(answer.raters))] if len(answer.raters) > 1 else [])


def _coefficient_figure(answer: AgreementAnswer) -> RowFigure:
    values = [
        (values.name, values.coefficient)
        for values in answer.coefficients
        if values.coefficient is not None and not values.ordered
    ]
    values.append(("share of vote pairs that agree", answer.statistics.observed))
    lowest = [value.low if isfinite(value.low) else value.value for _, value in values if isfinite(value.value)]
    axis = Axis(min([-0.1, *(low - 0.02 for low in lowest)]), 1)
    rows = tuple(
        Row(name, spell_interval(value, 3), _mark_interval(axis, value), described=number(value.value))
        for name, value in values
    )
    return RowFigure(
        "Agreement between raters of the same pair",
        rows,
        axis.ticks(QUARTERS),
        "0: as by chance (kappa, alpha, AC1), 1: always",
        ((axis.at(0), ""),),
        note_head="value (95 % interval)",
        name="agreement",
    )


def _mark_interval(axis: Axis, value: Coefficient) -> tuple[Mark, ...]:
    """The value with its interval, the value alone where it has none, nothing where it is not defined."""
    if isfinite(value.low):
        return axis.interval(value.low, value.value, value.high)
    return (Mark("dot", axis.at(value.value), 0, 0, "people"),) if isfinite(value.value) else ()


def _crowd_figure(crowd: Sequence[Habit], raters: int) -> RowFigure:
    """One dot a rater: ties, agreement with the rest, left side."""
    axis = Axis(0, 1)
    rows = []
    for habit in crowd:
        dots = tuple(Mark("faint", axis.at(rate), 0, k % 3, "people") for k, rate in enumerate(habit.rates))
        several = len(habit.rates) >= QUARTILES_FROM
        note = f"middle half {habit.low:.0%} to {habit.high:.0%}" if several else f"median {habit.median:.0%}"
        marks = (*dots, Mark("tick", axis.at(habit.median), 0, 1, "ink"))
        rows.append(Row(habit.name, note.replace("%", " %"), marks, lines=3, described=f"median {habit.median:.0%}"))
    return RowFigure(
        f"How often each of {count(raters, 'rater')} ...",
        tuple(rows),
        axis.ticks(QUARTERS, "{:.0%}"),
        "share of a rater's votes",
        legend=(("faint", "people", "one rater"), ("tick", "ink", "median")),
        name="raters",
    )


def draw(answer: AgreementAnswer) -> dict[str, Figure]:
    """What the command draws: the coefficients, and every rater's ties and spam against agreement with the rest."""
    from seedvote.analysis.showing.row_pictures import draw_picture

    figures = {"": draw_picture(_coefficient_figure(answer), recipe=answer.signature)} if answer.comparable else {}
    for ending, habit in (("-raters", "tie_rate"), ("-spam", "spam")):
        raters = [rater for rater in answer.raters if isfinite(getattr(rater, habit)) and isfinite(rater.with_rest)]
        if raters:
            figures[ending] = _scatter_raters(raters, habit, answer.signature)
    return figures


def _scatter_raters(raters: Sequence[RaterHabits], habit: str, recipe: str) -> Figure:
    from seedvote.analysis.showing.plots import scatter_figure

    shares, agree = np.array([(getattr(rater, habit), rater.with_rest) for rater in raters]).T
    votes = np.array([rater.votes for rater in raters])
    by_chance = float(np.average([rater.expected for rater in raters], weights=votes))
    return scatter_figure(
        shares,
        agree,
        title=f"{count(len(raters), 'rater')}; a larger dot has more votes",
        xlabel=HABIT_AXES[habit],
        ylabel="agreement with the other votes",
        recipe=recipe,
        sizes=votes,
        horizontal={by_chance: "by chance"},
        vertical={float(np.average(shares, weights=votes)): "all votes"},
    )


def document(answer: AgreementAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    statistics = answer.statistics
    numbers: dict[str, Any] = to_plain(
        {
            "pairs": statistics.items,
            "votes": statistics.votes,
            "agreement": _list_bounds(statistics.observed),
            **_by_key(answer.coefficients),
            "cohen_kappa": _list_bounds(answer.cohen_kappa),
            "split_half": _list_bounds(answer.split_half),
            "labels": {
                c.label: {"share": c.share, "agreement": c.agreement, "kappa": c.kappa} for c in statistics.categories
            },
            "raters": answer.raters,
            "dawid_skene": _model_keys(answer.truth, answer.labels),
            "mace": _model_keys(answer.spamming, answer.labels),
            "voters": answer.voters,
            "warnings": [*not_people(answer.voters), *answer.warnings],
            "signature": answer.signature,
        }
    )
    return numbers


def nameless_document(answer: AgreementAnswer) -> dict[str, Any]:
    """The same without the raters' pseudonyms, which must not appear in any file of a report."""
    numbers = document(answer)
    raters = [{key: value for key, value in row.items() if key != "rater"} for row in numbers["raters"]]
    return {**numbers, "raters": raters}


def _by_key(coefficients: Sequence[NamedCoefficient]) -> dict[str, Any]:
    """Value and interval of each under its key; `group.part` lies within its group."""
    numbers: dict[str, Any] = {}
    for row in coefficients:
        group, _, part = row.key.partition(".")
        place = numbers.setdefault(group, {}) if part else numbers
        place[part or group] = _list_bounds(row.coefficient)
    return numbers


def _model_keys(model: HiddenTruth | Spamming | None, labels: Sequence[str]) -> dict[str, Any] | None:
    return None if model is None else {**asdict(model), "prior": dict(zip(labels, model.prior, strict=True))}


def _list_bounds(value: Coefficient | SplitHalf | None) -> dict[str, float] | None:
    """Value and interval of a coefficient that has them."""
    return None if value is None else {"value": value.value, "low": value.low, "high": value.high}


def section(answer: AgreementAnswer | None, study: Study) -> Section | None:
    """What the report shows: coefficients with their intervals, the crowd, what the gate did, and every caution."""
    text = [] if answer is None or not answer.comparable else _explain_kappa(answer)
    text += [gate_sentence(study)] if study.raters else []
    figures = () if answer is None else row_figures(answer)
    notes = () if answer is None else answer.warnings
    if not text and not figures and not notes:
        return None
    tables = (_gate_table(study),) if study.raters else ()
    return Section("raters", "Agreement and raters", tuple(text), figures, tables=tables, notes=notes)


def _explain_kappa(answer: AgreementAnswer) -> list[str]:
    sentences = findings(answer)
    if not sentences:
        return ["Fleiss' kappa is not defined: all votes have the same label."]
    resampled = f"The intervals draw {answer.resampled} anew." if answer.resampled else "There are no intervals."
    return [*sentences, f"Kappa is 0 for votes that do not depend on the pair, 1 for complete agreement. {resampled}"]


def gate_sentence(study: Study) -> str:
    """What the hidden checks did, and who was left out by hand or by a rule."""
    excluded = [rater for rater in study.raters if rater.status == "excluded"]
    if not excluded:
        return _checks_sentence(study)
    votes = count(sum(rater.votes for rater in excluded), "vote")
    return (
        f"{_checks_sentence(study)} Excluded by a stated rule or by hand: {count(len(excluded), 'rater')}; {votes} of "
        "theirs are kept and marked but not counted."
    )


def _checks_sentence(study: Study) -> str:
    raters = study.raters
    blocked, checks = sum(rater.status == "blocked" for rater in raters), sum(rater.checks_seen for rater in raters)
    text = f"{count(len(raters), 'rater')} took part"
    if not checks:
        return f"{text}; no hidden check was answered, so careful raters cannot be told from careless ones."
    failed = sum(rater.checks_failed for rater in raters)
    text += f" and answered {count(checks, 'hidden check')}, {failed:,} of them wrongly. "
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
        group = [rater for rater in study.raters if rater.status == status]
        if not group:
            continue
        seconds = [rater.median_seconds for rater in group if rater.median_seconds is not None]
        totals = (
            len(group),
            sum(rater.votes for rater in group),
            sum(rater.checks_seen for rater in group),
            sum(rater.checks_failed for rater in group),
        )
        rows.append((status, *(f"{n:,}" for n in totals), f"{np.median(seconds):.1f}" if seconds else "-"))
    head = ("status", "raters", "votes", "checks seen", "checks failed", "median seconds per vote")
    return Table(head, tuple(rows), "Raters by gate status")


def agreement(
    votes: Any,
    *,
    labels: str = "tie",
    clusters: str = "auto",
    seed: int = 0,
    raters: str | Path | None = None,
    by: str = "",
    posteriors: Path | None = None,
    model: Literal["dawid-skene", "mace"] = "dawid-skene",
    **reading: Any,
) -> Result:
    """How far raters agree, with intervals, and every rater's habits (`python -m analysis agreement`).

    `raters` is a table of people and `by` its column: agreement within each group is then given after that of all.
    `posteriors` is a file for the probability that each label is a pair's true one, by `model`.
    """
    table = with_items(votes_of(votes, labels="tie" if labels == "tie" else "any", **reading), clusters, votes)
    agreed = answer(table, labels=labels, clusters=clusters, seed=seed)
    numbers, blocks = with_reading(document(agreed), table), parts(agreed)
    if raters is not None:
        strata = strata_of(table, Path(raters), by)
        groups = answer_groups(table, strata, clusters)
        blocks[-1:-1] = group_parts(groups, strata)
        numbers["strata"] = to_plain({"by": by, "groups": groups, "warnings": list(strata.notes)})
    if posteriors is not None:
        write_posteriors(posteriors, table.given(), model)
    return Result(numbers, blocks, lambda: draw(agreed), told_of_reading(table))


def write_posteriors(path: Path, votes: Votes, model: str) -> None:
    """One line a pair: the chance of each label being its hidden truth, by Dawid and Skene's model or by MACE's."""
    fitted = spam_model(votes) if model == "mace" else hidden_truth(votes)
    with atomic(path) as handle:
        table = csv.writer(handle, lineterminator="\n")
        table.writerow(["pair", *votes.labels])
        table.writerows([name, *row] for name, row in zip(votes.pairs, fitted.posterior.round(6), strict=True))


def answer_study(study: Study, clusters: str) -> AgreementAnswer | None:
    """The answer of `analysis agreement STUDY`; None where nobody gave a vote."""
    if study.votes is None or not len(study.votes.given()):
        return None
    return answer(with_items(study.votes, clusters, study.folder), clusters=clusters)
