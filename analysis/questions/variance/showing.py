"""The variance of every table in words and rows: components, the error of studies of other sizes, and rank flips."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from seedvote.analysis.questions.variance.answer import Reversal, VarianceAnswer, VarianceTable, one_seed_caution
from seedvote.analysis.questions.variance.cubes import ComparedModels
from seedvote.analysis.showing.page import Axis, Mark, Row, RowFigure, Section, round_steps
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, number, p_value, percent, plain, plural
from seedvote.analysis.stats.components import RESIDUAL, Component
from seedvote.analysis.stats.reruns import Flip
from seedvote.analysis.votes.study import Study
from seedvote.analysis.votes.voters import marked_parts, not_people

REVERSED = (
    "Would a re-run reverse the order? Each level's own spread over its seeds counts, as in `analysis compare`; the SE "
    "above is an average over all levels. -: not known, as of new seeds where a level has one seed."
)


COMPONENT_NAMES = {
    "model": "architecture",
    "model:seed": "training seed",
    "item": "dialogue",
    "model:item": "architecture \N{MULTIPLICATION SIGN} dialogue",
    "item:draw": "false options",
    "model:item:draw": "architecture \N{MULTIPLICATION SIGN} false options",
    "question": "question",
    "contrast:rater": "systems \N{MULTIPLICATION SIGN} rater",
    "contrast:pair": "systems \N{MULTIPLICATION SIGN} pair",
    "contrast": "which systems",
    "dialogue": "dialogue",
    "context": "context",
    "pair": "pair",
    "rater": "rater",
    RESIDUAL: "all else",
}
COMPONENT_COLOURS = {
    "model": "c7",
    "model:seed": "c0",
    "contrast": "c7",
    "rater": "c3",
    "item": "c1",
    "dialogue": "c1",
    "context": "c1",
    "pair": "c0",
    "question": "c0",
    "item:draw": "c3",
    "model:item": "c2",
    "contrast:rater": "c2",
    "contrast:pair": "c2",
}
OTHER_COLOUR = "c5"
LEAST = 0.005  # share of variance that a row of the table has
VARYING = (
    "One observation is one vote, or one model's score on one dialogue. The largest components show what a study "
    "needs more of: dialogues if dialogues differ, seeds if seeds differ."
)


def parts(answer: VarianceAnswer) -> list[Table | str]:
    """Tables for people, the warnings, and the recipe last."""
    tables = [part for table in answer.tables for part in marked_parts(_table_parts(table), table.voters)]
    compared = [_compared_table(answer.compared)] if answer.compared else []
    omissions = ["\n".join(answer.not_used)] if answer.not_used else []
    return [*tables, *compared, *not_people(answer.voters), *answer.warnings, *omissions, answer.signature]


def _table_parts(table: VarianceTable) -> list[Table | str]:
    rows = [_component_cells(part) for part in table.components]
    head = ["component", "levels", "variance", "95 % interval", "SD", "share"]
    title = f"{table.title}: {count(table.observations, 'observation')}, mean {number(table.mean, 4)}"
    reversals = [_reversals_table(table)] if table.reversals else []
    below = [part.name for part in table.components if part.value < 0]
    chance = [f"Below zero by chance, since no variance is: {', '.join(below)}. Read it as zero."] if below else []
    return [Table(head, rows, title), *chance, _designs_table(table), *reversals, *table.warnings]


def _component_cells(part: Component) -> list[str]:
    interval = f"{number(part.low, 5)} to {number(part.high, 5)}"
    return [part.name, f"{part.levels}", number(part.value, 5), interval, number(part.sd, 4), percent(part.share)]


def _designs_table(table: VarianceTable) -> Table:
    lines = [table.design, *table.d_study]
    names = list(table.design.sizes)
    rows = [
        [
            *(f"{line.sizes[name]:g}" for name in names),
            f"{line.observations:g}",
            number(line.se, 4),
            number(line.generalizability),
            number(line.dependability),
        ]
        for line in lines
    ]
    mean = f"each {table.target}'s mean" if table.target else "the mean"
    head = [*map(plural, names), "observations", f"SE of {mean}", "E rho^2", "Phi"]
    return Table(head, rows, "This study, then studies of other sizes (D-study)")


def _reversals_table(table: VarianceTable) -> Table:
    rows = [
        [
            f"{order.first} {'<' if order.difference < 0 else '>'} {order.second}",
            number(order.difference, 4),
            " + ".join(order.redrawn),
            *_flip_cells(order.flip),
        ]
        for order in table.reversals
    ]
    head = ["order", "difference", "new in the re-run", "SE", "P(reversed)", "95 % interval"]
    leading = len({name for order in table.reversals for name in (order.first, order.second)})
    levels = next((part.levels for part in table.components if part.name == table.target), leading)
    limit = f" Shown are the orders of the {leading} that lead, of {count(levels, table.target or '')}."
    return Table(head, rows, REVERSED + limit * (leading < levels))


def _flip_cells(flip: Flip | None) -> tuple[str, ...]:
    if flip is None:
        return "-", "-", "-"
    return number(flip.se, 4), p_value(flip.p), f"{number(flip.low)} to {number(flip.high)}"


def _compared_table(rows: Sequence[ComparedModels]) -> Table:
    cells = [
        [
            row.name,
            row.what,
            number(row.value, 4),
            number(row.se, 4),
            f"{number(row.low, 4)} to {number(row.high, 4)}",
            p_value(row.p),
            "/".join(map(str, row.seeds)),
            row.items,
        ]
        for row in rows
    ]
    head = ["scale", rows[0].metric, "value", "SE", "95 % interval", "p", "seeds", "items"]
    return Table(head, cells, "Seeds and items resampled together (multi-bootstrap)")


def components_table(tables: Sequence[VarianceTable]) -> Table:
    """The SD of every component of some size, of all tables."""
    rows = [
        (
            table.title,
            component_name(part.name),
            f"{part.levels:,}",
            f"{part.sd:.2f}",
            "{:.2f} to {:.2f}".format(*_sd_interval(part)),
            percent(part.share),
        )
        for table in tables
        for part in table.components
        if part.share >= LEAST or part.name == RESIDUAL
    ]
    head = ("scale", "component", "levels", "SD", "95 % interval of the SD", "share of variance")
    return Table(
        head,
        rows,
        "Variance components; scores in points, votes as +1, 0, -1 (net) or 0, 1 (tie). Components "
        f"under {percent(LEAST)} are in report.json",
    )


def component_name(part: str) -> str:
    """A component as people call it.

    >>> component_name("model:seed"), component_name("model:judge")
    ('training seed', 'model \N{MULTIPLICATION SIGN} judge')
    """
    return COMPONENT_NAMES.get(part, part.replace(":", " \N{MULTIPLICATION SIGN} "))


def _sd_interval(part: Component) -> tuple[float, float]:
    """The ends of the interval of a variance, as those of its SD: the square root keeps their order."""
    return math.sqrt(max(part.low, 0.0)), math.sqrt(max(part.high, 0.0))


def row_figures(answer: VarianceAnswer) -> tuple[RowFigure, ...]:
    """The shares of variance of all tables; then, table by table, the SD of every component with its interval."""
    return (_shares_figure(answer.tables), *(_sds_figure(table, n) for n, table in enumerate(answer.tables, 1)))


def _shares_figure(tables: Sequence[VarianceTable]) -> RowFigure:
    axis = Axis(0, 100)
    names: dict[str, list[str]] = {}
    for name in dict.fromkeys(part.name for table in tables for part in table.components):
        names.setdefault(COMPONENT_COLOURS.get(name, OTHER_COLOUR), []).append(component_name(name))
    return RowFigure(
        "Shares of variance",
        tuple(_shares_row(table, axis) for table in tables),
        axis.ticks(range(0, 101, 25)),
        "percent of the variance",
        legend=tuple(("block", colour, ", ".join(shared)) for colour, shared in names.items()),
        name="variance",
    )


def _shares_row(table: VarianceTable, axis: Axis) -> Row:
    start, marks = 0.0, []
    for part in table.components:
        end = start + 100 * part.share
        marks.append(Mark("block", axis.at(start), axis.at(end), 0, COMPONENT_COLOURS.get(part.name, OTHER_COLOUR)))
        start = end
    described = ", ".join(f"{component_name(part.name)} {100 * part.share:.0f} %" for part in table.components)
    return Row(table.title, "", tuple(marks), described=described)


def _sds_figure(table: VarianceTable, place: int) -> RowFigure:
    intervals = [_sd_interval(part) for part in table.components]
    ends = [end for interval in intervals for end in interval if math.isfinite(end)]
    axis = Axis(0.0, max([*ends, *(part.sd for part in table.components)]) or 1.0)
    rows = tuple(
        Row(
            component_name(part.name),
            note := f"{part.sd:.3g} ({low:.3g} to {high:.3g})",
            axis.interval(low, part.sd, high, COMPONENT_COLOURS.get(part.name, OTHER_COLOUR)),
            described=note,
        )
        for part, (low, high) in zip(table.components, intervals, strict=True)
    )
    return RowFigure(
        f"{table.title}: what the score varies with",
        rows,
        axis.ticks(round_steps(0.0, axis.high)),
        "SD in the score's unit",
        note_head="SD (95 % interval)",
        name=str(place),
    )


def document(answer: VarianceAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    keys = {
        "tables": [_table_keys(table) for table in answer.tables],
        "compared": [asdict(row) for row in answer.compared],
        "voters": None if answer.voters is None else asdict(answer.voters),
        "warnings": [*not_people(answer.voters), *answer.warnings],
        "not_used": answer.not_used,
        "signature": answer.signature,
        "reading": answer.reading,
    }
    return dict(plain(keys))


def _table_keys(table: VarianceTable) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "observations": table.observations,
        "mean": table.mean,
        "levels": table.levels,
        "components": [_component_keys(part) for part in table.components],
        "target": table.target,
        "design": asdict(table.design),
        "d_study": [asdict(line) for line in table.d_study],
        "flips": [_flip_keys(order) for order in table.reversals],
        "warnings": table.warnings,
    }


def _flip_keys(order: Reversal) -> dict[str, Any]:
    flip = {name: getattr(order.flip, name, None) for name in ("se", "freedom", "p", "low", "high")}
    place = {"redrawn": order.redrawn, "first": order.first, "second": order.second, "difference": order.difference}
    return place | flip


def _component_keys(part: Component) -> dict[str, Any]:
    return {name: getattr(part, name) for name in ("name", "levels", "value", "sd", "share", "low", "high")}


def section(answer: VarianceAnswer, study: Study) -> Section:
    """Shares of variance of every table in one figure; SDs with their intervals in one table."""
    return Section(
        "variance",
        "Where the variance comes from",
        (VARYING,),
        row_figures(answer)[:1],
        tables=(components_table(answer.tables),),
        notes=tuple(_notes(answer, study)),
    )


def _notes(answer: VarianceAnswer, study: Study) -> Iterator[str]:
    """The answer's cautions, but for those on the votes, which the page says once for all its sections."""
    if titles := [table.title for table in answer.tables if table.one_seed]:
        yield one_seed_caution(titles)
    on_votes = () if study.votes is None else study.votes.warnings
    yield from (warning for warning in answer.warnings if warning not in on_votes)
    yield from answer.not_used
