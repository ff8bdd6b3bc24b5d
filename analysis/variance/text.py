"""What `python -m analysis variance` says of a long table: components, the study's error, other sizes, rank flips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np

from analysis.reading.long_tables import NESTED, LongTable
from analysis.showing.tables import Table
from analysis.showing.words import number, p_value
from analysis.stats.components import Components, components, terms_of
from analysis.stats.reruns import Design, Sizes, design, flip, resized, sizes_of

SHOWN = 6  # systems whose pairs are shown as flips


def analyse(
    table: LongTable, target: str, sizes: Sequence[Mapping[str, float]], *, generator: np.random.Generator, sets: int
) -> dict[str, Any]:
    """Everything about one table, under the keys of `--json`."""
    terms = terms_of(table.factors, NESTED)
    found = components(table.score, table.factors, terms, generator=generator, sets=sets)
    study = sizes_of(table.factors, found, target if target in table.factors else None)
    others = [*sizes, *({name: 2 * size} for name, size in study.sizes.items())]
    return {
        "name": table.name,
        "observations": found.n,
        "mean": found.mean,
        "levels": found.levels,
        "components": [_component(part) for part in found.parts],
        "target": study.target,
        "design": _line(design(found, study)),
        "d_study": [_line(design(found, resized(study, found, other))) for other in others],
        "flips": [] if study.target is None else _flips(table, found, study),
        "warnings": _silent(table),
    }


def _silent(table: LongTable) -> list[str]:
    """What the table cannot say."""
    if "model" in table.factors and "seed" not in table.factors:
        return [f"{table.name}: one seed a model, so nothing here says how far a new training would move it."]
    return []


def _component(part: Any) -> dict[str, Any]:
    keys = ("name", "levels", "value", "sd", "share", "low", "high")
    return {key: getattr(part, key) for key in keys}


def _line(found: Design) -> dict[str, Any]:
    return asdict(found)


def _flips(table: LongTable, found: Components, study: Sizes) -> list[dict[str, Any]]:
    """For the pairs of the leading levels: a re-run with new seeds (items, raters) alone, and with everything new."""
    means = list(table.means(str(study.target)).items())[:SHOWN]
    ways: list[tuple[str, ...]] = [(name,) for name in study.sizes]
    if len(ways) > 1:
        ways.append(tuple(study.sizes))
    return [
        {"redrawn": list(way), **asdict(flip(first, second, found, study, redrawn=way))}
        for first, second in combinations(means, 2)
        for way in ways
    ]


def variance_parts(said: Mapping[str, Any]) -> list[Table | str]:
    """Tables for people."""
    parts: list[Table | str] = [part for table in said["tables"] for part in _table(table)]
    if said["compared"]:
        parts.append(_compared(said["compared"]))
    return [*parts, *said["warnings"], said["signature"]]


def _compared(rows: Sequence[Mapping[str, Any]]) -> Table:
    shown = [
        [r["name"], r["what"], number(r["value"], 4), number(r["se"], 4), f"{number(r['low'], 4)} to "
         f"{number(r['high'], 4)}", p_value(r["p"]), "/".join(map(str, r["seeds"])), r["items"]]
        for r in rows
    ]  # fmt: skip
    head = ["scale", rows[0]["metric"], "value", "SE", "95 % interval", "p", "seeds", "items"]
    return Table(head, shown, "Seeds and items resampled together (multi-bootstrap)")


def _table(table: Mapping[str, Any]) -> list[Table | str]:
    rows = [
        [c["name"], c["levels"], number(c["value"], 5), f"{number(c['low'], 5)} to {number(c['high'], 5)}",
         number(c["sd"], 4), f"{100 * c['share']:.1f} %"]
        for c in table["components"]
    ]  # fmt: skip
    head = ["component", "levels", "variance", "95 % interval", "SD", "share"]
    title = f"{table['name']}: {table['observations']} observations, mean {number(table['mean'], 4)}"
    parts = [Table(head, rows, title), _designs(table)]
    if table["flips"]:
        parts.append(_flip_table(table["flips"]))
    return [*parts, *table["warnings"]]


def _designs(table: Mapping[str, Any]) -> Table:
    lines = [table["design"], *table["d_study"]]
    names = list(lines[0]["sizes"])
    of = f"each {table['target']}'s mean" if table["target"] else "the mean"
    rows = [
        [*(f"{line['sizes'][name]:g}" for name in names), f"{line['observations']:g}", number(line["se"], 4),
         number(line["generalizability"]), number(line["dependability"])]
        for line in lines
    ]  # fmt: skip
    head = [*(f"{name}s" for name in names), "observations", f"SE of {of}", "E rho^2", "Phi"]
    return Table(head, rows, "This study and others (D-study)")


def _flip_table(flips: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        [f"{f['first']} > {f['second']}", number(f["difference"], 4), " + ".join(f["redrawn"]), number(f["se"], 4),
         number(f["p"]), f"{number(f['low'])} to {number(f['high'])}"]
        for f in flips
    ]  # fmt: skip
    head = ["order", "difference", "drawn anew", "SE", "P(flip)", "95 % interval"]
    return Table(head, rows, "Would a re-run reverse the order?")
