"""The report's section on where the variance of votes and scores comes from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.reading.long_tables import NESTED, LongTable, long_from_votes
from analysis.reading.panel import UNSEEN, Panel
from analysis.reading.study import Study
from analysis.reading.systems import fixed_sides, match
from analysis.showing.page import Axis, Figure, Mark, Row, Section
from analysis.showing.tables import Table
from analysis.stats.components import RESIDUAL, Components, components, terms_of
from dialogue.errors import InputError
from dialogue.seeds import child_seed

NAMES = {
    "model": "architecture", "model:seed": "training seed", "item": "dialogue",
    "model:item": "architecture \N{MULTIPLICATION SIGN} dialogue",
    "contrast:rater": "systems \N{MULTIPLICATION SIGN} rater", "contrast:pair": "systems \N{MULTIPLICATION SIGN} pair",
    "contrast": "which systems", "pair": "pair", "rater": "rater", RESIDUAL: "all else",
}  # fmt: skip
COLOURS = {
    "model": "c1", "model:seed": "c0", "contrast": "c1", "rater": "c4", "item": "c2", "pair": "c2",
    "model:item": "c3", "contrast:rater": "c3", "contrast:pair": "c3",
}  # fmt: skip
SETS = 100  # simulated tables behind the intervals


def variance_section(study: Study, panels: Sequence[Panel]) -> Section | None:
    """Shares of variance of every scale in one figure; the numbers with their intervals in one table."""
    generator = np.random.default_rng(child_seed(0, "report", "variance"))
    found = []
    for table in [*_votes(study), *(table for panel in panels if (table := _scores(panel)) is not None)]:
        try:
            parts = components(
                table.score, table.factors, terms_of(table.factors, NESTED), generator=generator, sets=SETS
            )
        except InputError:  # these observations cannot tell the factors apart
            continue
        found.append((table.name, parts))
    if not found:
        return None
    text = (
        "What one observation varies with: one vote, or one model's score on one dialogue. A study needs many of what "
        "is wide here: many dialogues where the dialogue weighs, many seeds where the seed does.",
    )
    return Section("variance", "Where the variance comes from", text, (_figure(found),), tables=(_table(found),))


def _votes(study: Study) -> list[LongTable]:
    path = study.folder / "pairs.jsonl"
    if study.votes is None:
        return []
    try:
        matches = match(study.votes, path) if path.exists() else fixed_sides(study.votes)
        found = [long_from_votes(matches, scale) for scale in ("net", "tie")]
    except InputError:
        return []
    if not path.exists():
        found = found[1:]  # without pairs the sides mean nothing, a tie is still a tie
    return [table for table in found if table.factors and table.score.std() > 0]


def _scores(panel: Panel) -> LongTable | None:
    """One observation for each model and dialogue; None for one system or one dialogue."""
    if panel.cells is None or panel.checkpoint == UNSEEN or min(panel.cells.shape) < 2:
        return None
    systems, items = panel.cells.shape
    model = np.array([panel.models.index(system.model) for system in panel.systems])
    seed = np.array([-1 if system.seed is None else system.seed for system in panel.systems])
    codes = {"model": model, "seed": np.unique(seed, return_inverse=True)[1]}
    factors = {name: np.repeat(code, items) for name, code in codes.items() if len(np.unique(code)) > 1}
    factors["item"] = np.tile(np.arange(items), systems)
    score = panel.cells.ravel()
    if not np.isfinite(score).all() or score.std() == 0:
        return None
    return LongTable(f"{panel.kind}: {panel.name}", score, factors, {})


def _name(part: str) -> str:
    return NAMES.get(part, part.replace(":", " \N{MULTIPLICATION SIGN} "))


def _figure(found: Sequence[tuple[str, Components]]) -> Figure:
    axis, used = Axis(0, 100), dict.fromkeys(part.name for _, parts in found for part in parts.parts)
    rows = []
    for name, parts in found:
        at, marks = 0.0, []
        for part in parts.parts:
            width = 100 * part.share
            marks.append(Mark("block", axis.at(at), axis.at(at + width), 0, COLOURS.get(part.name, "c5")))
            at += width
        said = ", ".join(f"{_name(part.name)} {100 * part.share:.0f} %" for part in parts.parts)
        rows.append(Row(name, "", tuple(marks), described=said))
    names: dict[str, list[str]] = {}
    for name in used:
        names.setdefault(COLOURS.get(name, "c5"), []).append(_name(name))
    legend = tuple(("block", colour, ", ".join(mine)) for colour, mine in names.items())
    return Figure("Shares of variance", tuple(rows), axis.ticks(range(0, 101, 25)), "percent of the variance",
                  (), legend)  # fmt: skip


def _table(found: Sequence[tuple[str, Components]]) -> Table:
    rows = tuple(
        (name, _name(part.name), f"{part.levels:,}", f"{part.sd:.2f}",
         f"{np.sqrt(max(part.low, 0)):.2f} to {np.sqrt(max(part.high, 0)):.2f}", f"{100 * part.share:.1f} %")
        for name, parts in found
        for part in parts.parts
    )  # fmt: skip
    head = ("scale", "component", "levels", "SD", "95 % interval of the SD", "share of variance")
    return Table(head, rows, "Variance components; scores in points, votes as +1, 0, -1 (net) or 0, 1 (tie)")
