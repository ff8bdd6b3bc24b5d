"""Ratings on a scale: one row a rating, or one column a system; the two of one rater on one item belong together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.showing.words import count
from seedvote.analysis.stats.intervals import cross_codes
from seedvote.analysis.stats.sign_tests import TIE
from seedvote.analysis.votes.cautions import SIMULATED
from seedvote.analysis.votes.systems import Contrast, key_of, pairs_of, system_names
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.cards import is_lower_better
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.ratings import HoldsRanks, read_rating_rows
from seedvote.dialogue.importing.reading import Reading, Stated
from seedvote.dialogue.judges import find_judges, judges_rating, whose
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import RawTable, Row, cell_text, from_rows

Floats = NDArray[np.float64]
MOST_NAMED = 10  # systems in a sentence
MOST_LONE = 0.1  # share of ratings without a partner that may be left out

SCORES_OF_SIDES = ("score_a", "score_b")
OF_SETS = {"set", "rater", "question", "system", "score", "rank", "of"}  # of ratings.jsonl


@dataclass(frozen=True, eq=False)
class Rated:
    """Two systems: the pairs of ratings, and as votes (higher, lower, equal), so that they cluster as votes do."""

    contrast: Contrast
    first: Floats  # the rating of the first system, (pairs,)
    second: Floats


@dataclass(frozen=True, eq=False)
class Rows:
    """Every rating with a score; `votes` has their items, raters and dialogues, so that they cluster as votes do."""

    score: Floats  # (rows,)
    system: NDArray[np.int64]  # place among the systems of the table
    seed: NDArray[np.int64] | None
    votes: Votes

    @property
    def sheet(self) -> NDArray[np.int64]:
        """One code for each rater and item: what was judged at once."""
        return cross_codes([self.votes.pair] if self.votes.rater is None else [self.votes.pair, self.votes.rater])


@dataclass(frozen=True, eq=False)
class RatingsTable:
    """Every rating, every two systems with ratings that belong together, and how the table was read."""

    rows: Rows
    contrasts: tuple[Rated, ...]
    systems: tuple[str, ...]
    scale: tuple[float, float]
    ledger: Reading
    paired: bool = True
    """Whether two ratings of one rater and item are there for every two systems, but for a few ratings."""
    ranks: bool = False
    """Whether they are ranks, 1 the best, rather than points of a scale."""
    simulated: int = 0
    """Those of programs."""

    def __len__(self) -> int:
        return self.ledger.read

    @property
    def noun(self) -> str:
        """What one row is."""
        return "rank" if self.ranks else "rating"

    @property
    def compared(self) -> int:
        """Ratings that have a partner."""
        return self.ledger.read - sum(self.ledger.dropped.values())

    @property
    def told(self) -> list[str]:
        """How the table was read, what it held, what was left out of it."""
        many = len(self.systems) > MOST_NAMED
        systems = count(len(self.systems), "system") if many else ", ".join(self.systems)
        contents = f"{count(self.ledger.read, self.noun)} of {systems}; {self.compared:,} compared."
        return [self.ledger.line, f"Read: {contents} {self.ledger.lost}", *self.direction, *self.not_of_people]

    @property
    def direction(self) -> list[str]:
        """That lower scores are better, where their name says so."""
        name = self.ledger.columns.get("score", "")
        if self.ranks or not is_lower_better(name):
            return []
        return [f"Lower is better by the name of {name}: the system that is rated higher below is the worse one."]

    @property
    def not_of_people(self) -> list[str]:
        """What to know where programs gave them."""
        verb = "is simulated: a program" if self.simulated == 1 else "are simulated: programs"
        sentence = f"{self.simulated:,} of {count(self.ledger.read, self.noun)} {verb} gave them, not people."
        return [sentence] if self.simulated else []

    @property
    def held(self) -> dict[str, Any]:
        """The key `reading` of `--json`."""
        ledger = self.ledger
        return {
            "form": ledger.form,
            "rows": ledger.read,
            "columns": dict(ledger.columns),
            "notes": list(ledger.notes),
            "left_out": dict(ledger.left_out),
            "compared": self.compared,
            "simulated": self.simulated,
            "lower_is_better": bool(self.direction),
            "systems": list(self.systems),
        }

    @property
    def people(self) -> int | None:
        """Who gave a rating that is compared; None where nobody is named."""
        parts = [rated.contrast.votes for rated in self.contrasts] if self.paired else [self.rows.votes]
        return len({name for votes in parts for name in votes.raters}) or None

    @property
    def items(self) -> int:
        """Items whose ratings are compared."""
        parts = [rated.contrast.votes for rated in self.contrasts] if self.paired else [self.rows.votes]
        return len({name for votes in parts for name in votes.pairs})


def read_asked(source: Path | RawTable, stated: Stated, systems: Sequence[str] = ()) -> RatingsTable:
    """Ratings, or ranks where the question was answered by ranks."""
    try:
        return read_ratings(source, stated, systems)
    except HoldsRanks:
        return read_ratings(source, stated, ranks=True)


def read_ratings(
    source: Path | RawTable, stated: Stated, systems: Sequence[str] = (), *, ranks: bool = False
) -> RatingsTable:
    """Ratings of a file or a table in memory, of one question; a rating without its partner is left out and counted."""
    table = source if isinstance(source, RawTable) else read_table(source)
    ratings = read_rating_rows(scored_sides(table), stated, systems, ranks=ranks)
    score, cells, dropped = np.array(ratings.score, dtype=float), ratings.cells, dict(ratings.dropped)
    contrasts, lone = _make_contrasts(cells, score)
    if ranks and not contrasts:
        raise InputError("No two systems were ranked twice by the same rater on the same item, so none are compared.")
    every = len(contrasts) == math.comb(len(set(cells["system"])), 2)
    paired = ranks or (every and lone <= MOST_LONE * len(score))
    rows = len(score) + sum(dropped.values())
    if empty := int(np.isnan(score).sum()):
        dropped["no score"] = empty
    if lone and paired:
        dropped["no rating of the other system by the same rater on the same item"] = lone
    ledger = Reading(ratings.form, rows, ratings.names, {}, dropped, ratings.table.notes)
    systems = tuple(dict.fromkeys(cells["system"]))
    simulated = sum(cell_text(cell) == SIMULATED for cell in ratings.table.columns.get("source", ()))
    scale = float(np.nanmin(score)), float(np.nanmax(score))
    return RatingsTable(_make_rows(cells, score, systems), contrasts, systems, scale, ledger, paired, ranks, simulated)


def _make_rows(cells: Mapping[str, list[str]], score: Floats, systems: Sequence[str]) -> Rows:
    scored = np.flatnonzero(~np.isnan(score))
    place = {name: code for code, name in enumerate(systems)}
    system = np.array([place[cells["system"][row]] for row in scored], dtype=np.int64)
    seed = np.unique(np.array(cells["seed"])[scored], return_inverse=True)[1] if "seed" in cells else None
    return Rows(score[scored], system, seed, _as_votes(cells, scored, np.full(len(scored), TIE)))


def _make_contrasts(cells: Mapping[str, list[str]], score: Floats) -> tuple[tuple[Rated, ...], int]:
    """Every two systems, and how many ratings found no partner in any of them."""
    sheets: dict[tuple[str, str], dict[str, int]] = {}
    raters, seeds = (cells.get(name) or [""] * len(score) for name in ("rater", "seed"))
    several = len({*zip(cells["system"], seeds, strict=True)}) > len(set(cells["system"]))
    for row, (system, item, rater) in enumerate(zip(cells["system"], cells["item"], raters, strict=True)):
        if np.isnan(score[row]):
            continue
        sheet, name = sheets.setdefault((item, rater), {}), f"{system} {seeds[row]}" if several else system
        if name in sheet:
            raise InputError(
                f"{rater or 'Somebody'} rated {name} on item {item} twice. If the ratings are of several questions, "
                "name their column: --columns question=...; if several people rated, name theirs: --columns rater=..."
            )
        sheet[name] = row
    systems = sorted(set(cells["system"]))
    if len(systems) < 2:
        raise InputError(f"All ratings are of {systems[0] if systems else 'nothing'}; a comparison needs two systems.")
    if several:  # two seeds of one system make no pair
        return (), 0
    rated: list[Rated] = []
    met: set[int] = set()
    for first, second in combinations(systems, 2):
        rows = [(sheet[first], sheet[second]) for sheet in sheets.values() if first in sheet and second in sheet]
        met.update(row for two in rows for row in two)
        if len(rows) > 1:
            rated.append(_make_contrast(first, second, np.array(rows), cells, score))
    return tuple(rated), int((~np.isnan(score)).sum()) - len(met)


def _make_contrast(
    first: str, second: str, rows: NDArray[np.int64], cells: Mapping[str, list[str]], score: Floats
) -> Rated:
    first_scores, second_scores = score[rows[:, 0]], score[rows[:, 1]]
    choice = np.where(first_scores > second_scores, 0, np.where(first_scores < second_scores, 1, TIE))
    return Rated(Contrast(first, second, _as_votes(cells, rows[:, 0], choice)), first_scores, second_scores)


def _as_votes(cells: Mapping[str, list[str]], rows: NDArray[np.int64], choice: NDArray[np.int64]) -> Votes:
    """Who gave these rows, on what."""

    def codes(name: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        names, column_codes = np.unique(np.array(cells[name])[rows], return_inverse=True)
        return column_codes, tuple(names.tolist())

    item, items = codes("item")
    rater, raters = codes("rater") if "rater" in cells else (None, ())
    dialogue, dialogues = codes("dialogue") if "dialogue" in cells else (None, ())
    return Votes(
        pair=item,
        pairs=items,
        choice=choice,
        item=item,
        rater=rater,
        raters=raters,
        dialogue=dialogue,
        dialogues=dialogues,
    )


def scored_sides(table: RawTable) -> RawTable:
    """The table as it is, unless its rows rate both responses of pairs, or sets; what does not count is left out."""
    if set(table.names) >= OF_SETS:
        return _of_sets(table)
    if not {"pair", "rater", "choice", *SCORES_OF_SIDES} <= set(table.names):
        if {"pair", "rater", "choice", "rater_status"} <= set(table.names):
            raise InputError(
                f"{table.path} holds votes on pairs, no ratings or ranks: python -m analysis preference {table.path}"
            )
        return table
    path = table.path.parent / "pairs.jsonl"
    if not path.exists():
        raise InputError(
            f"{table.path} rates the responses a and b of pairs; put the pairs.jsonl of the study beside it."
        )
    pairs = pairs_of(path)
    names = system_names(pairs.values())
    rows, lines = [], []
    for number, (where, row) in enumerate(_of_people(table)):
        if cell_text(row["score_a"]) == "" or cell_text(row.get("counted", True)).lower() == "false":
            continue
        pair = pairs.get(cell_text(row["pair"]))
        if pair is None:
            raise InputError(f"{where}: {path} does not hold pair {row['pair']!r}. Give the pairs of these votes.")
        if pair.kind != "real":
            continue
        for side, name in zip((pair.a, pair.b), SCORES_OF_SIDES, strict=True):
            shared = {"item": pair.pair, "dialogue": pair.dialogue or pair.item, "rater": row["rater"]}
            shared["source"] = row.get("source", "")
            rows.append(
                {**shared, "system": names[key_of(side)], "score": row[name], "question": row.get("question", "")}
            )
            lines.append(table.lines[number] if table.lines else number + 1)
    if not rows:
        raise InputError(f"{table.path} holds no rating that counts.")
    return RawTable(table.path, from_rows(table.path, rows).columns, tuple(lines), table.notes)


def _of_sets(table: RawTable) -> RawTable:
    """Ratings and ranks of responses; those of one set belong together, and those of one context that stood alone."""
    rows, lines = [], []
    for number, (_, row) in enumerate(_of_people(table)):
        flags = {name: cell_text(row.get(name, "")) for name in ("counted", "kind", "of", "set", "item", "dialogue")}
        if flags["counted"].lower() == "false" or flags["kind"] not in ("", "real"):
            continue
        item = flags["item"] if flags["of"] == "1" else flags["set"]
        rating = {name: row[name] for name in ("rater", "system", "score", "rank", "question")}
        rating["source"] = row.get("source", "")
        rows.append({"item": item, "dialogue": flags["dialogue"] or flags["item"], **rating})
        lines.append(table.lines[number] if table.lines else number + 1)
    if not rows:
        raise InputError(f"{table.path} holds no rating that counts.")
    return RawTable(table.path, from_rows(table.path, rows).columns, tuple(lines), table.notes)


def _of_people(table: RawTable) -> Iterator[Row]:
    """The rows, up to the first that a judge gave: a program's rating is no person's, whatever it says."""
    judges = find_judges([table.path])
    for where, row in table.rows():
        if (why := whose(cell_text(row.get("source", "")), cell_text(row["rater"]), judges)) is not None:
            raise judges_rating(where, why)
        yield where, row
