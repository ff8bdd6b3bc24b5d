"""What `analysis variance` takes apart: a long table, or of a study folder its votes and every score of its models.

The tables of a folder are those of its report, so both show the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from seedvote.analysis.arguments import STATED_OF_STUDY
from seedvote.analysis.questions.variance.answer import answer
from seedvote.analysis.questions.variance.cubes import compared_models
from seedvote.analysis.questions.variance.showing import document, parts, row_figures, section
from seedvote.analysis.showing.page import Reported
from seedvote.analysis.showing.result import Result
from seedvote.analysis.votes.inputs import long_tables, ratings_file, sources_of, study_from
from seedvote.analysis.votes.long_tables import LongTable, long_from_choices, long_from_votes
from seedvote.analysis.votes.options import check_ranges
from seedvote.analysis.votes.scores.files import Unused, by_reason
from seedvote.analysis.votes.scores.panel import OPTION_DRAWS, PEOPLE, UNSEEN, Floats, Panel
from seedvote.analysis.votes.scores.study_panels import compared_panels
from seedvote.analysis.votes.study import ReportRequest, Study
from seedvote.analysis.votes.systems import fixed_sides, match
from seedvote.dialogue.errors import InputError


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


def in_report(request: ReportRequest) -> Reported:
    """As of `analysis variance STUDY`; nothing where the study holds nothing that varies, or too little of it."""
    study, panels = request.study, request.panels
    tables = study_tables(study, panels)
    if not tables:
        return Reported()
    try:
        components = answer(tables, not_used=not_used(study, panels, request.left_out, tables))
    except InputError:
        return Reported()
    return Reported(section(components, study), document(components), components)


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
