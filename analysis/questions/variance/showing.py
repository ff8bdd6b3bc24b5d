"""The variance of every table in words and rows: components, the error of studies of other sizes, and rank flips."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from seedvote.analysis.arguments import STATED_OF_STUDY, check_ranges
from seedvote.analysis.questions.variance.answer import (
    Reversal,
    VarianceAnswer,
    VarianceTable,
    answer,
    one_seed_caution,
)
from seedvote.analysis.questions.variance.cubes import ComparedModels, compared_models
from seedvote.analysis.showing.page import Axis, Mark, Row, RowFigure, Section
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, number, p_value, percent, plural, to_plain
from seedvote.analysis.stats.components import RESIDUAL, Component
from seedvote.analysis.stats.reruns import Flip
from seedvote.analysis.votes.cautions import marked_parts, not_people
from seedvote.analysis.votes.inputs import long_tables, ratings_file, sources_of, study_from
from seedvote.analysis.votes.long_tables import LongTable, long_from_choices, long_from_votes
from seedvote.analysis.votes.scores.files import Unused, by_reason
from seedvote.analysis.votes.scores.panel import OPTION_DRAWS, PEOPLE, UNSEEN, Floats, Panel
from seedvote.analysis.votes.scores.study_panels import compared_panels
from seedvote.analysis.votes.study import ReportRequest, Study
from seedvote.analysis.votes.systems import fixed_sides, match
from seedvote.dialogue.errors import InputError

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
        axis.round_ticks(),
        "SD in the score's unit",
        note_head="SD (95 % interval)",
        name=str(place),
    )


def document(answer: VarianceAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    keys = {
        "tables": [_table_keys(table) for table in answer.tables],
        "compared": answer.compared,
        "voters": answer.voters,
        "warnings": [*not_people(answer.voters), *answer.warnings],
        "not_used": answer.not_used,
        "signature": answer.signature,
        "reading": answer.reading,
    }
    return dict(to_plain(keys))


def _table_keys(table: VarianceTable) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "observations": table.observations,
        "mean": table.mean,
        "levels": table.levels,
        "components": [_component_keys(part) for part in table.components],
        "target": table.target,
        "design": table.design,
        "d_study": table.d_study,
        "flips": [_flip_keys(order) for order in table.reversals],
        "warnings": table.warnings,
    }


def _flip_keys(order: Reversal) -> dict[str, Any]:
    flip = {name: getattr(order.flip, name, None) for name in ("se", "freedom", "p", "low", "high")}
    place = {"redrawn": order.redrawn, "first": order.first, "second": order.second, "difference": order.difference}
    return place | flip


def _component_keys(part: Component) -> dict[str, Any]:
    return {name: getattr(part, name) for name in ("name", "levels", "value", "sd", "share", "low", "high")}


def section(answer: VarianceAnswer) -> Section:
    """Shares of variance of every table in one figure; SDs with their intervals in one table."""
    return Section(
        "variance",
        "Where the variance comes from",
        (VARYING,),
        row_figures(answer)[:1],
        tables=(components_table(answer.tables),),
        notes=tuple(_list_notes(answer)),
    )


def _list_notes(answer: VarianceAnswer) -> Iterator[str]:
    if titles := [table.title for table in answer.tables if table.one_seed]:
        yield one_seed_caution(titles)
    yield from answer.warnings
    yield from answer.not_used


def variance(
    scores: Any,
    *,
    score: str = "score",
    factors: Sequence[str] = (),
    target: str = "model",
    sizes: Sequence[Mapping[str, float]] = (),
    only: str = "",
    pairs: Any = None,
    compare: tuple[str, str] | None = None,
    metric: str = "mean",
    paired: bool = False,
    sets: int = 200,
    seed: int = 0,
    **reading: Any,
) -> Result:
    """Where a score's variance comes from, and what a re-run would do (`python -m analysis variance`).

    `scores` is a long table (DataFrame, mapping, records, file), a list of files, or a study folder, whose votes and
    scores are then taken as the report takes them.
    """
    check_ranges(locals(), sets=(2, math.inf))
    sources = sources_of(scores)
    pieces = [_source_tables(source, score, factors, pairs, **reading) for source in sources]
    tables = [table for source_tables, _ in pieces for table in source_tables]
    omissions = [line for _, lines in pieces for line in lines]
    chosen = chosen_tables(tables, only=only, target=target, sizes=sizes)
    compared, gaps = compared_models(sources, compare, metric, only, paired=paired, seed=seed) if compare else ((), ())
    components = answer(
        tqdm(chosen, desc="tables", unit="table", disable=None, leave=False),
        score=score,
        target=target,
        sizes=sizes,
        compared=compared,
        not_used=[*omissions, *gaps],
        sets=sets,
        seed=seed,
    )
    lines = [line for table in chosen[:1] for line in table.read] if score in ("tie", "net") else []
    return Result(document(components), parts(components), lambda: row_figures(components), lines)


def in_report(request: ReportRequest) -> VarianceAnswer | None:
    """As of `analysis variance STUDY`; None where the study holds nothing that varies."""
    study, panels = request.study, request.panels
    tables = study_tables(study, panels)
    return answer(tables, not_used=not_used(study, panels, request.left_out, tables)) if tables else None


def _source_tables(
    source: Any, score: str, factors: Sequence[str], pairs: Any, **reading: Any
) -> tuple[list[LongTable], list[str]]:
    """The tables of a file or of data in memory; of a study folder those that its report shows, and what it omits."""
    is_folder = isinstance(source, str | Path) and Path(source).is_dir()
    if score in ("tie", "net") or not is_folder or ratings_file(source):
        return long_tables(source, score, factors, pairs, **reading), []
    if score != "score":
        raise InputError(f"--score names a column of a file, and {source} is a folder; name the file itself.")
    if factors:
        raise InputError(f"--factors names the columns of a file, and {source} is a folder; name the file itself.")
    study = study_from(source, None, None, **{name: reading[name] for name in STATED_OF_STUDY if name in reading})
    panels, unused = compared_panels(study)
    tables = study_tables(study, panels)
    omissions = not_used(study, panels, unused, tables)
    if not tables:
        why = "; ".join(omissions)
        raise InputError(f"{source} holds no votes or scores whose variance can be taken apart{why and f'. {why}'}.")
    return tables, omissions


def study_tables(study: Study, panels: Sequence[Panel]) -> list[LongTable]:
    """Votes as net preference and as ties, people's choices, then one table for each score of several trained models.

    In points. Where false options were drawn several times, a second table has all draws.
    """
    choices = [] if study.choices is None else long_from_choices(study.choices)
    people = [table for table in choices if table.factors and table.score.std() > 0]
    scores = [table for panel in panels for table in (_scores_table(panel), _draws_table(panel)) if table is not None]
    return [*_votes_tables(study), *people, *scores]


def _votes_tables(study: Study) -> list[LongTable]:
    if study.votes is None:
        return []
    pairs = {pair.pair: pair for pair in study.pairs}
    try:
        matches = match(study.votes, study.folder / "pairs.jsonl", pairs) if pairs else fixed_sides(study.votes)
        tables = [long_from_votes(matches, scale) for scale in ("net", "tie")]
    except InputError:  # votes that cannot be traced to two systems still have their sections on ties and raters
        return []
    if not pairs:
        tables = tables[1:]  # without pairs the sides mean nothing, but a tie is still a tie
    return [table for table in tables if table.factors and table.score.std() > 0]


def _scores_table(panel: Panel) -> LongTable | None:
    """One observation for each model and dialogue, and rater where these are drawn.

    None for people, before training, or where nothing varies.
    """
    # A corpus score such as micro-F1 has no value of a single example: `cells` holds what each dialogue adds to it.
    if panel.cells is None or panel.checkpoint == UNSEEN or min(panel.cells.shape) < 2:
        return None
    cells = panel.cells[None] if panel.by_rater is None else panel.by_rater
    return _table_of_cells(panel, cells, "rater")


def _draws_table(panel: Panel) -> LongTable | None:
    """One observation for each model, dialogue and draw of false options; None where these were drawn once."""
    if panel.by_draw is None or panel.checkpoint == UNSEEN or min(panel.by_draw.shape[1:]) < 2:
        return None
    return _table_of_cells(panel, panel.by_draw, "draw", f", {len(panel.by_draw)} draws of false options")


def _table_of_cells(panel: Panel, cells: Floats, over: str, suffix: str = "") -> LongTable | None:
    """The table of cells (levels of `over`, systems, dialogues)."""
    score = cells.ravel()
    if not np.isfinite(score).all() or score.std() == 0:
        return None
    levels, systems, items = cells.shape
    models = np.array([panel.models.index(system.model) for system in panel.systems])
    numbers = [-1 if system.seed is None else system.seed for system in panel.systems]
    seeds, seed = np.unique(numbers, return_inverse=True)
    names = {
        "model": panel.models,
        "seed": tuple(map(str, seeds)),
        "item": tuple(map(str, range(items))),
        over: tuple(map(str, range(levels))),
    }
    factors = {
        "model": np.tile(np.repeat(models, items), levels),
        "seed": np.tile(np.repeat(seed, items), levels),
        "item": np.tile(np.arange(items), levels * systems),
        over: np.repeat(np.arange(levels), systems * items),
    }
    name = f"{panel.kind}: {panel.name}" + ("" if panel.checkpoint == "last" else f", {panel.checkpoint}") + suffix
    title = panel.shown.label + ("" if panel.checkpoint == "last" else f", {panel.checkpoint}") + suffix
    varied = {factor: codes for factor, codes in factors.items() if len(names[factor]) > 1}
    return LongTable(name, score, varied, names, title=title, better=panel.shown.better)


def not_used(study: Study, panels: Sequence[Panel], unused: Sequence[Unused], tables: Sequence[LongTable]) -> list[str]:
    """What the study holds and no table shows, with the reason."""
    option_groups = {panel.shown.group for panel in panels if panel.by_draw is not None}
    omissions = [
        omission
        for omission in unused
        if omission.why != OPTION_DRAWS or not any(omission.what.startswith(f"{name} of ") for name in option_groups)
    ]
    titles = {table.title for table in tables}
    for panel in panels:
        if panel.kind == PEOPLE:
            continue
        title = f"{panel.shown.label}" + ("" if panel.checkpoint == "last" else f", {panel.checkpoint}")
        if title not in titles:
            omissions.append(Unused(title, _why_none(panel)))
    return [*(study.scores.missing if study.scores else ()), *map(str, by_reason(omissions))]


def _why_none(panel: Panel) -> str:
    """Why a panel has no table of variance."""
    if panel.checkpoint == UNSEEN:
        return "before training"
    if panel.cells is None or min(panel.cells.shape) < 2:
        return "one model or one dialogue has nothing to vary with"
    return "its scores are all the same" if np.isfinite(panel.cells).all() else "some dialogue gives no number"


def chosen_tables(
    tables: Sequence[LongTable], *, only: str, target: str, sizes: Sequence[Mapping[str, float]]
) -> list[LongTable]:
    """The tables whose name has all words of `only`; refuse a size or a target that is no factor of any of them."""
    chosen = [table for table in tables if set(only.split()) <= {*table.name.split(), *table.title.split()}]
    if not chosen:
        raise InputError(f"No table has all of {only!r} in its name: {', '.join(t.name for t in tables)}.")
    if unknown := {name for size in sizes for name in size} - {name for table in chosen for name in table.factors}:
        raise InputError(
            f"--sizes names {sorted(unknown)[0]!r}, which is no factor here: {', '.join(chosen[0].factors)}."
        )
    if target != "model" and not any(target in table.factors for table in chosen):
        raise InputError(f"--target is {target!r}, which is no factor here: {', '.join(chosen[0].factors)}.")
    return chosen
