"""The tables of a study whose variance is taken apart: its votes, and every score of its trained models.

One function builds them for `analysis variance STUDY` and for the report, so both show the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from analysis.votes.long_tables import LongTable, long_from_choices, long_from_votes
from analysis.votes.scores.files import Unused, by_reason
from analysis.votes.scores.panel import OPTION_DRAWS, PEOPLE, UNSEEN, Floats, Panel
from analysis.votes.study import Study
from analysis.votes.systems import fixed_sides, match
from dialogue.errors import InputError


def study_tables(study: Study, panels: Sequence[Panel]) -> list[LongTable]:
    """Votes as net preference and as ties, people's choices, then one table for each score of several trained models.

    In points. Where false options were drawn several times, a second table has all draws.
    """
    answered = [] if study.choices is None else long_from_choices(study.choices)
    people = [table for table in answered if table.factors and table.score.std() > 0]
    made = [table for panel in panels for table in (_scores(panel), _draws(panel)) if table is not None]
    return [*_votes(study), *people, *made]


def _votes(study: Study) -> list[LongTable]:
    if study.votes is None:
        return []
    known = {pair.pair: pair for pair in study.pairs}
    try:
        matches = match(study.votes, study.folder / "pairs.jsonl", known) if known else fixed_sides(study.votes)
        found = [long_from_votes(matches, scale) for scale in ("net", "tie")]
    except InputError:  # votes that cannot be traced to two systems still have their sections on ties and raters
        return []
    if not known:
        found = found[1:]  # without pairs the sides mean nothing, but a tie is still a tie
    return [table for table in found if table.factors and table.score.std() > 0]


def _scores(panel: Panel) -> LongTable | None:
    """One observation for each model and dialogue, and rater where these are drawn.

    None for people, before training, or where nothing varies.
    """
    # A corpus score such as micro-F1 has no value of a single example: `cells` holds what each dialogue adds to it.
    if panel.cells is None or panel.checkpoint == UNSEEN or min(panel.cells.shape) < 2:
        return None
    cells = panel.cells[None] if panel.by_rater is None else panel.by_rater
    return _table_of_cells(panel, cells, "rater")


def _draws(panel: Panel) -> LongTable | None:
    """One observation for each model, dialogue and draw of false options; None where these were drawn once."""
    if panel.by_draw is None or panel.checkpoint == UNSEEN or min(panel.by_draw.shape[1:]) < 2:
        return None
    return _table_of_cells(panel, panel.by_draw, "draw", f", {len(panel.by_draw)} draws of false options")


def _table_of_cells(panel: Panel, cells: Floats, over: str, more: str = "") -> LongTable | None:
    """The table of cells (levels of `over`, systems, dialogues)."""
    score = cells.ravel()
    if not np.isfinite(score).all() or score.std() == 0:
        return None
    levels, systems, items = cells.shape
    models = np.array([panel.models.index(system.model) for system in panel.systems])
    seeds, seed = np.unique([-1 if system.seed is None else system.seed for system in panel.systems],
                            return_inverse=True)  # fmt: skip
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
    name = f"{panel.kind}: {panel.name}" + ("" if panel.checkpoint == "last" else f", {panel.checkpoint}") + more
    title = panel.shown.label + ("" if panel.checkpoint == "last" else f", {panel.checkpoint}") + more
    kept = {factor: codes for factor, codes in factors.items() if len(names[factor]) > 1}
    return LongTable(name, score, kept, names, title=title, better=panel.shown.better)


def not_used(study: Study, panels: Sequence[Panel], left: Sequence[Unused], tables: Sequence[LongTable]) -> list[str]:
    """What the study holds and no table shows, with the reason."""
    drawn = {panel.shown.group for panel in panels if panel.by_draw is not None}
    used = [
        one for one in left if one.why == OPTION_DRAWS and any(one.what.startswith(f"{name} of ") for name in drawn)
    ]
    shown, found = {table.title for table in tables}, [one for one in left if one not in used]
    for panel in panels:
        if panel.kind == PEOPLE:
            continue
        title = f"{panel.shown.label}" + ("" if panel.checkpoint == "last" else f", {panel.checkpoint}")
        if title not in shown:
            found.append(Unused(title, _why_none(panel)))
    return [*(study.scores.missing if study.scores else ()), *map(str, by_reason(found))]


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
    kept = [table for table in tables if set(only.split()) <= {*table.name.split(), *table.title.split()}]
    if not kept:
        raise InputError(f"No table has all of {only!r} in its name: {', '.join(t.name for t in tables)}.")
    if unknown := {name for one in sizes for name in one} - {name for table in kept for name in table.factors}:
        raise InputError(
            f"--sizes names {sorted(unknown)[0]!r}, which is no factor here: {', '.join(kept[0].factors)}."
        )
    if target != "model" and not any(target in table.factors for table in kept):
        raise InputError(f"--target is {target!r}, which is no factor here: {', '.join(kept[0].factors)}.")
    return kept
