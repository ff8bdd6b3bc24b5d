"""The variance of every table in words: components, the error of studies of other sizes, and rank flips.

`document` has the stable keys of `--json`; `parts` are the tables and sentences of terminal and notebook.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from analysis.showing.tables import Table
from analysis.showing.words import count, number, p_value, percent, plain, plural
from analysis.stats.components import Component
from analysis.stats.reruns import Flip
from analysis.variance.answer import Reversal, VarianceAnswer, VarianceTable
from analysis.variance.cubes import ComparedModels
from analysis.votes.voters import marked_parts, not_people

REVERSED = (
    "Would a re-run reverse the order? Each level's own spread over its seeds counts, as in `analysis compare`; the SE "
    "above is an average over all levels. -: not known, as of new seeds where a level has one seed."
)


def document(answer: VarianceAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    found = {
        "tables": [_table(table) for table in answer.tables],
        "compared": [asdict(row) for row in answer.compared],
        "voters": None if answer.voters is None else asdict(answer.voters),
        "warnings": [*not_people(answer.voters), *answer.warnings],
        "not_used": answer.not_used,
        "signature": answer.signature,
        "reading": answer.reading,
    }
    return dict(plain(found))


def _table(table: VarianceTable) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "observations": table.observations,
        "mean": table.mean,
        "levels": table.levels,
        "components": [_component(part) for part in table.components],
        "target": table.target,
        "design": asdict(table.design),
        "d_study": [asdict(line) for line in table.d_study],
        "flips": [_flip(one) for one in table.reversals],
        "warnings": table.warnings,
    }


def _flip(one: Reversal) -> dict[str, Any]:
    unknown = dict.fromkeys(("se", "freedom", "p", "low", "high"))
    known = unknown if one.flip is None else {name: getattr(one.flip, name) for name in unknown}
    return {"redrawn": one.redrawn, "first": one.first, "second": one.second, "difference": one.difference, **known}


def _component(part: Component) -> dict[str, Any]:
    return {"name": part.name, "levels": part.levels, "value": part.value, "sd": part.sd, "share": part.share,
            "low": part.low, "high": part.high}  # fmt: skip


def parts(answer: VarianceAnswer) -> list[Table | str]:
    """Tables for people, the warnings, and the recipe last."""
    shown: list[Table | str] = [part for table in answer.tables for part in marked_parts(_parts(table), table.voters)]
    if answer.compared:
        shown.append(_compared(answer.compared))
    shown += [*not_people(answer.voters), *answer.warnings]
    return [*shown, *(["\n".join(answer.not_used)] if answer.not_used else []), answer.signature]


def _parts(table: VarianceTable) -> list[Table | str]:
    rows = [
        [part.name, part.levels, number(part.value, 5), f"{number(part.low, 5)} to {number(part.high, 5)}",
         number(part.sd, 4), percent(part.share)]
        for part in table.components
    ]  # fmt: skip
    head = ["component", "levels", "variance", "95 % interval", "SD", "share"]
    title = f"{table.title}: {count(table.observations, 'observation')}, mean {number(table.mean, 4)}"
    reversals = [_reversals(table)] if table.reversals else []
    below = [part.name for part in table.components if part.value < 0]
    chance = [f"Below zero by chance, since no variance is: {', '.join(below)}. Read it as zero."] if below else []
    return [Table(head, rows, title), *chance, _designs(table), *reversals, *table.warnings]


def _designs(table: VarianceTable) -> Table:
    lines = [table.design, *table.d_study]
    names = list(table.design.sizes)
    rows = [
        [*(f"{line.sizes[name]:g}" for name in names), f"{line.observations:g}", number(line.se, 4),
         number(line.generalizability), number(line.dependability)]
        for line in lines
    ]  # fmt: skip
    mean = f"each {table.target}'s mean" if table.target else "the mean"
    head = [*map(plural, names), "observations", f"SE of {mean}", "E rho^2", "Phi"]
    return Table(head, rows, "This study, then studies of other sizes (D-study)")


def _reversals(table: VarianceTable) -> Table:
    rows = [
        [
            f"{one.first} {'<' if one.difference < 0 else '>'} {one.second}",
            number(one.difference, 4),
            " + ".join(one.redrawn),
            *_chance(one.flip),
        ]
        for one in table.reversals
    ]
    head = ["order", "difference", "new in the re-run", "SE", "P(reversed)", "95 % interval"]
    leading = len({name for one in table.reversals for name in (one.first, one.second)})
    levels = next((part.levels for part in table.components if part.name == table.target), leading)
    few = f" Shown are the orders of the {leading} that lead, of {count(levels, table.target or '')}."
    return Table(head, rows, REVERSED + few * (leading < levels))


def _chance(flip: Flip | None) -> tuple[str, ...]:
    if flip is None:
        return "-", "-", "-"
    return number(flip.se, 4), p_value(flip.p), f"{number(flip.low)} to {number(flip.high)}"


def _compared(rows: Sequence[ComparedModels]) -> Table:
    shown = [
        [row.name, row.what, number(row.value, 4), number(row.se, 4), f"{number(row.low, 4)} to {number(row.high, 4)}",
         p_value(row.p), "/".join(map(str, row.seeds)), row.items]
        for row in rows
    ]  # fmt: skip
    head = ["scale", rows[0].metric, "value", "SE", "95 % interval", "p", "seeds", "items"]
    return Table(head, shown, "Seeds and items resampled together (multi-bootstrap)")
