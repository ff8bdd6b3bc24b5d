"""The share of ties as people and programs read it: findings, tables, figures, the keys of `--json`, the report."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.questions.ties.answer import UNITS, Curve, DifferencesShown, TiesAnswer, answer, size_that_fits
from seedvote.analysis.questions.ties.difficulty import trait_findings, trait_parts, trait_tables, traits_figure
from seedvote.analysis.showing.page import HUES, Axis, Mark, Row, RowFigure, Section, draw_curve
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, p_equals, p_value, percent, plural, to_plain
from seedvote.analysis.stats.intervals import Interval
from seedvote.analysis.stats.laws import CHANCE, Law, estimate_density
from seedvote.analysis.votes.cautions import marked_parts, not_people, told_of_reading, with_reading
from seedvote.analysis.votes.inputs import pairs_known, votes_of, with_items
from seedvote.analysis.votes.study import Study
from seedvote.dialogue.files import write_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seedvote.analysis.stats.mixed import CrossedLogit

RESAMPLED = {"vote": "votes one by one", **{name: " and ".join(map(plural, name.split("+"))) for name in UNITS[1:]}}
SET = 200  # votes in a set, as in the papers
ROOM = 55.0  # percent of the width that the names of two lines take up on a phone


def parts(answer: TiesAnswer) -> list[Table | str]:
    """The tables, what to take home, and the recipe."""
    all_tables = (*tables(answer), devices_table(answer), differences_table(answer))
    shown_tables = [table for table in all_tables if table is not None]
    traits = trait_parts(answer.traits)
    return [*marked_parts(shown_tables, answer.voters), *sentences(answer), *traits, answer.signature]


def devices_table(answer: TiesAnswer) -> Table | None:
    """The ties on every kind of device; None where the votes do not name two."""
    if not answer.devices:
        return None
    total = sum(row.votes for row in answer.devices)
    rows = [
        (
            row.device,
            f"{row.votes:,}",
            percent(row.votes / total),
            f"{row.ties.value:.3f}",
            _interval_range(row.ties),
            "-" if row.apart is None else f"{row.apart.value:+z.3f} ({row.apart.low:+z.3f} to {row.apart.high:+z.3f})",
        )
        for row in answer.devices
    ]
    head = ("device", "votes", "of all", "ties", "95 % interval", "minus the others (95 %)")
    return Table(head, rows, "Ties by the device on which the votes were given")


def tables(answer: TiesAnswer) -> tuple[Table, Table]:
    """One line a curve: first the experiments as the paper draws them, then the pooled votes by every unit."""
    size = f"SD of {answer.recipe.size}"
    head = ["experiment", "votes", "a", "b", "ties", "95 % interval", "p(1/3)", size, "95 % of sets", "P(> .5)"]
    rows = [row for curve in [*answer.experiments, answer.pooled] for row in _experiment_rows(curve)]
    experiments = Table(head, rows, "Ties in each experiment and in all votes")
    head = ["drawn by", "units", "95 % interval", "design effect", "worth votes", size, "95 % of sets", "law"]
    rows = [_unit_row(curve) for curve in answer.units]
    if any(curve.bootstrap is not None for curve in answer.units):
        head = [*head, "bootstrap"]
        rows = [[*row, _bootstrap_range(curve.bootstrap)] for row, curve in zip(rows, answer.units, strict=True)]
    return experiments, Table(head, rows, "The same votes, by what is drawn anew")


def _bootstrap_range(shares: NDArray[np.float64] | None) -> str:
    return "-" if shares is None else "{:.3f}-{:.3f}".format(*np.quantile(shares, [0.025, 0.975]))


def _experiment_rows(curve: Curve) -> list[list[str]]:
    """The votes and their sets; below, in a row of its own, the sets with replacement where both laws are given."""
    row = [
        curve.name,
        str(curve.votes),
        *(f"{curve.choices[label] / curve.votes:.3f}" for label in ("a", "b", "tie")),
        _interval_range(curve.interval),
        p_value(curve.chance.p_shown),
        *_format_spread(curve.law),
        majority(curve.law),
    ]
    if curve.replaced is None:
        return [row]
    blank = [""] * (len(row) - 4)
    return [row, ["  with replacement", *blank, *_format_spread(curve.replaced), majority(curve.replaced)]]


def _interval_range(interval: Interval | None) -> str:
    return f"{interval.low:.3f}-{interval.high:.3f}" if interval else "-"


def _format_spread(law: Law) -> list[str]:
    """SD and range of sets; dashes where the votes are all the same, which tells nothing of how sets vary."""
    if not law.sd:
        return ["-", "-"]
    return [f"{law.sd:.4f}", f"{law.quantile(0.025):.3f}-{law.quantile(0.975):.3f}"]


def majority(law: Law) -> str:
    """The probability that more than half of a set are ties; of drawn sets, never less than they can tell."""
    above = law.above(0.5)
    return f"<{1 / law.drawn:.1g}" if law.drawn and not above else f"{above:.2g}"


def _unit_row(curve: Curve) -> list[str]:
    interval = curve.interval
    return [
        curve.name,
        str(curve.clusters),
        _interval_range(interval),
        f"{interval.design_effect:.2f}" if interval else "-",
        f"{interval.worth:.0f}" if interval else "-",
        *_format_spread(curve.law),
        curve.law.method,
    ]


def findings(answer: TiesAnswer) -> list[str]:
    """The share with its interval, and whether raters who click at random would give it."""
    return [*_describe_share(answer.pooled), against_chance(answer.pooled)]


def sentences(answer: TiesAnswer) -> list[str]:
    """The findings, what lies behind them, and the warnings."""
    return [
        *findings(answer),
        *_describe_sets(answer),
        *_describe_raters(answer),
        *_automatic_ties(answer.pooled),
        *_describe_devices(answer),
        *_describe_differences(answer.differences),
        *_mixed_model(answer.mixed),
        *not_people(answer.voters),
        *answer.warnings,
    ]


def _describe_share(pooled: Curve) -> Iterator[str]:
    """The share of ties, and how many independent votes would tell as much."""
    if pooled.votes == 1:
        yield "The only vote is a tie." if pooled.ties else "The only vote is no tie."
        return
    share, interval = f"{percent(pooled.share)} of {count(pooled.votes, 'vote')} are ties", pooled.interval
    if interval is None:
        yield f"{share}."
        return
    yield f"{share} (95 % interval {percent(interval.low)} to {percent(interval.high)})."
    if interval.clusters:
        number = count(max(round(interval.worth), 1), "independent vote")
        yield f"Votes of one {interval.unit.replace('+', ' or ')} are correlated: {number} would be as informative."


def against_chance(curve: Curve) -> str:
    """Whether the share of ties differs from that of random clicking."""
    if not curve.ties:
        return "If raters could not choose a tie, this share says nothing about them."
    share, chance = percent(curve.share), f"(33.3 %; {p_equals(curve.chance.p_shown)})"
    if curve.chance.differs:
        return f"The tie share ({share}) differs from that of random clicking {chance}."
    return (
        f"Random clicking {chance} could give this tie share ({share}), so it cannot show that raters read the "
        "responses."
    )


def _describe_sets(answer: TiesAnswer) -> list[str]:
    """How far sets of votes vary: drawn one by one, and drawn by the unit that spreads them most."""
    votes, widest = answer.units[0], max(answer.units, key=lambda curve: curve.law.sd)
    if not votes.law.sd:
        return ["All votes are the same, so all sets of them are too."] if answer.pooled.votes > 1 else []
    text = f"Sets of {answer.recipe.size} drawn vote by vote have an SD of {votes.law.sd * 100:.1f} points"
    if widest is votes:
        return [f"{text}."]
    return [f"{text}; drawn by {widest.name.replace('+', ' and ')}, {widest.law.sd * 100:.1f}."]


def _describe_raters(answer: TiesAnswer) -> list[str]:
    raters = next((curve.clusters for curve in answer.units if curve.unit == "rater"), None)
    if raters is None or answer.effective_raters is None:
        return []
    effective = count(round(answer.effective_raters), "rater")
    return [f"{raters:,} raters voted, worth {effective} with equal numbers of votes."]


def _automatic_ties(curve: Curve) -> list[str]:
    if not curve.identical:
        return []
    share = curve.share_of_different
    without = "" if share is None else f"; among the other votes {percent(share)} are ties"
    return [f"{count(curve.identical, 'vote')} on two identical responses, {curve.automatic:,} of them ties{without}."]


def _describe_devices(answer: TiesAnswer) -> Iterator[str]:
    """The kind of device whose ties are furthest from the others', if any differs."""
    compared = [(abs(row.apart.value), row, row.apart) for row in answer.devices if row.apart is not None]
    if not compared:
        return
    _, row, apart = max(compared, key=lambda entry: entry[0])
    share, gap = percent(row.ties.value), f"{100 * apart.low:+z.1f} to {100 * apart.high:+z.1f} points"
    if apart.low <= 0 <= apart.high:
        yield f"No difference in ties between devices was shown ({row.device} minus the others: {gap})."
    else:
        yield f"The tie share on {row.device} ({share}) differs from that on the other devices by {gap}."


def _describe_differences(row: DifferencesShown | None) -> Iterator[str]:
    """Whether underlining what differs changes ties or preferences."""
    if row is None:
        return
    compared = [("the tie share", row.apart), (f"the net preference for {row.system}", row.preference)]
    for name, apart in compared:
        if apart is not None:
            gap = f"{100 * apart.low:+z.1f} to {100 * apart.high:+z.1f} points"
            if apart.low <= 0 <= apart.high:
                yield f"No effect of underlining on {name} was shown ({gap})."
            else:
                yield f"Underlining what differs changes {name} by {gap}."


def differences_table(answer: TiesAnswer) -> Table | None:
    """The ties with and without underlined differences; None where all votes were given in one way."""
    if (row := answer.differences) is None:
        return None
    head = ("differences", "votes", "ties", "95 % interval")
    rows = [
        (name, f"{votes:,}", f"{ties.value:.3f}", _interval_range(ties))
        for name, votes, ties in (("underlined", row.shown, row.ties), ("not", row.hidden, row.ties_hidden))
    ]
    return Table(head, rows, "Ties on near-identical responses, by whether their differences were underlined")


def _mixed_model(model: CrossedLogit | None) -> list[str]:
    """The share over everybody first, since it is that one which the default estimates."""
    if model is None:
        return []
    average, typical = (
        f"{percent(share.value)} ({percent(share.low)} to {percent(share.high)})"
        for share in (model.average, model.typical)
    )
    spread = ", ".join(f"{name} {sd:.2f}" for name, sd in model.spreads.items())
    new = " and ".join(", ".join(map(plural, model.spreads)).rsplit(", ", 1))
    doubt = [] if model.converged else ["The search of the mixed logit did not end well, so do not rely on it."]
    return [
        f"The mixed logit gives {average} ties over new {new}, which is what the interval estimates too.",
        f"A typical rater ties on a typical pair in {typical}. SD of the log odds: {spread}.",
        *doubt,
    ]


def row_figures(answer: TiesAnswer) -> tuple[RowFigure, ...]:
    """The law of sets of every experiment, the share by every unit that the votes know, and by traits of pairs."""
    return (
        sets_figure(answer),
        *((units_figure(answer),) if len(answer.units) > 1 else ()),
        *((traits_figure(answer.traits),) if answer.traits else ()),
    )


def sets_figure(answer: TiesAnswer) -> RowFigure:
    """Figure 1 of the paper, from these votes."""
    curves = answer.experiments or (answer.pooled,)
    axis = _law_axis(curves)
    grid = np.linspace(axis.low, axis.high, 240)
    heights = [estimate_density(_shown_law(part), grid) for part in curves]
    papers = [estimate_density(part.law, grid) for part in curves]
    tallest = max(float(np.nanmax(height)) for height in (*heights, *papers))
    rows = [
        Row(
            part.name if answer.experiments else "all votes",
            f"{percent(part.share)} ties",
            (_set_bar(axis, part, f"c{k % HUES}"),),
            draw_curve(axis, grid, height, tallest),
            draw_curve(axis, grid, paper, tallest) if part.replaced else "",
            f"c{k % HUES}",
            described=_describe_curve(part),
        )
        for k, (part, height, paper) in enumerate(zip(curves, heights, papers, strict=True))
    ]
    if (interval := answer.pooled.interval) and interval.clusters:
        rows.append(_share_row(axis, interval))
    chance, half = axis.at(CHANCE), axis.at(0.5)
    key = "Filled: sets drawn with replacement. Dashed: without, as in the papers. " if answer.crowded else ""
    return RowFigure(
        f"Share of ties in sets of {count(answer.recipe.size, 'vote')} from "
        f"{'every HumanExp' if len(curves) > 1 else 'the votes'}",
        tuple(rows),
        axis.round_ticks("{:.0%}"),
        "share of ties",
        ((chance, "chance 33 %"), *([(half, "half")] if half - chance > ROOM else [])),
        name="tie-sets",
        caption=f"{key}Bars under the curves: 95 % of the sets. Last line: the share with its 95 % interval, from "
        "resampling the named units. Chance: random clicking among three answers.",
    )


def units_figure(answer: TiesAnswer) -> RowFigure:
    """Intervals of the share itself, by what is resampled."""
    intervals = [(curve.unit, curve.interval) for curve in answer.units if curve.interval is not None]
    ends = [end for _, interval in intervals for end in (interval.low, interval.high)]
    axis = Axis(max(min(ends) - 0.03, 0.0), min(max(ends) + 0.03, 1.0))
    rows = tuple(
        Row(
            RESAMPLED[unit],
            reach := f"{percent(interval.low)} to {percent(interval.high)}",
            axis.interval(interval.low, interval.value, interval.high),
            described=reach,
        )
        for unit, interval in intervals
    )
    return RowFigure(
        "The share of ties among all votes, by what is resampled",
        rows,
        axis.round_ticks("{:.0%}"),
        "share of ties",
        ((axis.at(CHANCE), "chance 33 %"),) if axis.low < CHANCE < axis.high else (),
        note_head="95 % interval",
        name="ties",
    )


def _shown_law(curve: Curve) -> Law:
    """The law that tells of new votes, where it is not that of the papers."""
    return curve.replaced or curve.law


def _law_axis(curves: Sequence[Curve]) -> Axis:
    laws = [_shown_law(curve) for curve in curves]
    low = min(0.25, *(law.quantile(0.001) for law in laws))
    high = max(0.55, *(law.quantile(0.999) for law in laws))
    return Axis(max(low - 0.02, 0.0), min(high + 0.02, 1.0))


def _set_bar(axis: Axis, curve: Curve, colour: str) -> Mark:
    law = _shown_law(curve)
    return Mark("bar", axis.at(law.quantile(0.025)), axis.at(law.quantile(0.975)), 0, colour)


def _describe_curve(curve: Curve) -> str:
    text = f"{curve.name}: {percent(curve.share)} ties; 95 % of the sets lie within {_set_range(_shown_law(curve))}"
    return f"{text} with replacement, {_set_range(curve.law)} without" if curve.replaced else text


def _set_range(law: Law) -> str:
    return f"{percent(law.quantile(0.025))} to {percent(law.quantile(0.975))}"


def _share_row(axis: Axis, interval: Interval) -> Row:
    note = f"{100 * interval.low:.0f}\N{EN DASH}{100 * interval.high:.0f} %"
    marks = axis.interval(interval.low, interval.value, interval.high)
    return Row(f"all votes, resampling {RESAMPLED[interval.unit]}", note, marks, described=note)


def document(answer: TiesAnswer) -> dict[str, Any]:
    """The content of ties.json and the stable keys of `--json`."""
    keys: dict[str, Any] = to_plain(
        {
            "experiments": [_curve_keys(curve) for curve in answer.experiments],
            "pooled": _curve_keys(answer.pooled),
            "units": [_curve_keys(curve) for curve in answer.units],
            "traits": answer.traits,
            "chance": answer.pooled.chance,
            "effective_raters": answer.effective_raters,
            "devices": answer.devices,
            "differences": answer.differences,
            "mixed": answer.mixed,
            "recipe": answer.recipe,
            "crowded": answer.crowded,
            "voters": answer.voters,
            "warnings": [*not_people(answer.voters), *answer.warnings],
            "signature": answer.signature,
        }
    )
    return keys


def _curve_keys(curve: Curve) -> dict[str, Any]:
    law = curve.law
    return {
        "name": curve.name,
        "votes": curve.votes,
        "ties": curve.ties,
        "choices": dict(curve.choices),
        "chance": curve.chance,
        "share": curve.share,
        **_law_keys(law),
        "unit": curve.unit,
        "replace": curve.replace,
        "with_replacement": None if curve.replaced is None else _law_keys(curve.replaced),
        "clusters": curve.clusters,
        "set_votes": law.set_votes,
        "set_part": curve.part,
        "automatic_ties": curve.automatic,
        "identical_votes": curve.identical,
        "share_of_different": curve.share_of_different,
        "interval": dataclasses.asdict(curve.interval) if curve.interval else None,
        "bootstrap": None if curve.bootstrap is None else _bootstrap_keys(curve.bootstrap),
    }


def _law_keys(law: Law) -> dict[str, Any]:
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


def _bootstrap_keys(shares: NDArray[np.float64]) -> dict[str, float]:
    low, high = np.quantile(shares, [0.025, 0.975])
    return {"sd": float(shares.std()), "low": float(low), "high": float(high), "sets": len(shares)}


def section(answer: TiesAnswer, study: Study) -> Section:
    """What the report shows: where the votes' spread comes from, every number and every caution."""
    size, rounds = answer.recipe.size, len(answer.experiments)
    text = [
        f"The share of ties in sets of {count(size, 'vote')} drawn vote by vote, as in the papers, follows a "
        "hypergeometric distribution. Its width depends only on the share, the size of the set and that of the "
        "experiment, whatever the raters did. A new study would have new dialogues and new raters, so its share would "
        "vary more."
    ]
    if size < (usual_size := asked_size(study)):
        text.append(f"A set is half of the smallest experiment here, because that has fewer than {usual_size} votes.")
    if rounds > 1:
        text.append(
            f"HumanExp-k holds the k-th vote of every pair. The {rounds} experiments share their pairs, so they are "
            "rounds of one study, not replications."
        )
    answer_tables = (*tables(answer), devices_table(answer), differences_table(answer))
    return Section(
        "ties",
        "How many ties, and with what certainty",
        tuple(text),
        row_figures(answer),
        tuple(trait_findings(answer.traits)) if answer.traits else (),
        tables=(*(table for table in answer_tables if table is not None and table.rows), *trait_tables(answer.traits)),
        notes=answer.warnings,
    )


def asked_size(study: Study) -> int:
    """The set size of the study's ties.json, so that the report and the picture beside the votes agree; else 200."""
    return SET if study.ties is None else int(study.ties["recipe"]["size"])


def ties(
    votes: Any,
    *,
    size: int | None = None,
    unit: str = "vote",
    replace: bool = False,
    method: str = "exact",
    sets: int = 50_000,
    clusters: str = "auto",
    mixed: bool = False,
    seed: int = 0,
    out: Path | None = None,
    **reading: Any,
) -> Result:
    """The share of ties of each HumanExp, in sets of `size` votes, and by every unit (`analyze_ties.py`).

    The size is 200, as in the papers, or half of the smallest HumanExp where that has fewer votes. `out` is the folder
    for ties.json, ties.png and ties.pdf.
    """
    table = with_items(votes_of(votes, **reading), clusters, votes)
    shares = answer(
        table,
        size=size,
        unit=unit,
        replace=replace,
        method=method,
        sets=sets,
        clusters=clusters,
        mixed=mixed,
        seed=seed,
        pairs=pairs_known(votes, None)[1],
    )

    def draw() -> dict[str, Figure]:
        from seedvote.analysis.questions.ties.picture import laws_figure

        return {"": laws_figure(shares)}

    result = Result(with_reading(document(shares), table), parts(shares), draw, told_of_reading(table))
    if out is None:
        return result
    write_json(out / "ties.json", result.document)
    result.plot().save(out / "ties")
    return dataclasses.replace(result, written=f"{out / 'ties'}.json, .png and .pdf")


def answer_study(study: Study, clusters: str) -> TiesAnswer | None:
    """The answer of `analysis ties STUDY`; None where it has not two votes."""
    if study.votes is None or len(study.votes) < 2:
        return None
    votes = with_items(study.votes, clusters, study.folder)
    pairs = {pair.pair: pair for pair in study.pairs}
    return answer(votes, size=size_that_fits(votes, asked_size(study)), clusters=clusters, pairs=pairs)
