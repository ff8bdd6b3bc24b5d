"""Ratings on a scale: one row a rating, or one column a system; the two of one rater on one item belong together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.showing.words import count
from analysis.stats.intervals import crossed
from analysis.stats.sign_tests import TIE
from analysis.votes.systems import Contrast, key_of, pairs_of, system_names
from analysis.votes.voters import SIMULATED
from analysis.votes.votes import Votes
from dialogue.errors import InputError, Unclear
from dialogue.importing.columns import plain_name
from dialogue.importing.naming import IGNORED, no_votes
from dialogue.importing.questions import of_one_question
from dialogue.importing.reading import Reading, Stated
from dialogue.importing.recognising import SCORES, SYSTEMS
from dialogue.importing.scores_of_sides import SIDES, one_row_a_system, with_systems_of_places
from dialogue.importing.wide import melted
from dialogue.judges import judges_beside, whose
from dialogue.tables.nesting import flat_table
from dialogue.tables.reading import read_table
from dialogue.tables.table import RawTable, Row, cell_text, from_rows

Floats = NDArray[np.float64]
KNOWN: Mapping[str, tuple[str, ...]] = {
    "score": SCORES,
    "system": (*SYSTEMS, "system_id", "systemid", "model_id", "model_name"),
    "item": (
        "item",
        "item_id",
        "id",
        "example",
        "example_id",
        "prompt_id",
        "question_id",
        "context_id",
        "segment_id",
        "segmentid",
        "seg_id",
    ),
    "rater": (
        "rater",
        "worker",
        "worker_id",
        "workerid",
        "annotator",
        "user",
        "user_id",
        "participant",
        "judge",
        "userid",
        "rater_id",
    ),
    "dialogue": ("dialogue", "dialogue_id"),
    "seed": ("seed",),
}
MOST_LONE = 0.1  # share of ratings without a partner that may be left out
IN_KEY = ("column", "item", "system")

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
        return crossed([self.votes.pair] if self.votes.rater is None else [self.votes.pair, self.votes.rater])


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
        contents = f"{count(self.ledger.read, self.noun)} of {', '.join(self.systems)}; {self.compared:,} compared."
        return [self.ledger.line, f"Read: {contents} {self.ledger.lost}", *self.not_of_people]

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
        return {"form": ledger.form, "rows": ledger.read, "columns": dict(ledger.columns), "notes": list(ledger.notes),
                "left_out": dict(ledger.left_out), "compared": self.compared, "simulated": self.simulated,
                "systems": list(self.systems)}  # fmt: skip

    @property
    def people(self) -> int | None:
        """Who gave a rating that is compared; None where nobody is named."""
        parts = (
            [pair_of_systems.contrast.votes for pair_of_systems in self.contrasts] if self.paired else [self.rows.votes]
        )
        return len({name for votes in parts for name in votes.raters}) or None

    @property
    def items(self) -> int:
        """Items whose ratings are compared."""
        parts = (
            [pair_of_systems.contrast.votes for pair_of_systems in self.contrasts] if self.paired else [self.rows.votes]
        )
        return len({name for votes in parts for name in votes.pairs})


class HoldsRanks(InputError):
    """A question was answered by ranks, and ratings are asked for."""


def read_asked(path: Path, stated: Stated, systems: Sequence[str] = ()) -> RatingsTable:
    """Ratings, or ranks where the question was answered by ranks."""
    try:
        return read_ratings(path, stated, systems)
    except HoldsRanks:
        return read_ratings(path, replace(stated, columns={**stated.columns, "score": "rank"}), ranks=True)


def read_ratings(path: Path, stated: Stated, systems: Sequence[str] = (), *, ranks: bool = False) -> RatingsTable:
    """Ratings of a file, of one question; a rating without its partner is left out and counted."""
    table, dropped = scored_sides(read_table(path)), {}
    if unknown := [name for name in stated.columns if name not in (*KNOWN, *SIDES, "question", "rank")]:
        legal = ", ".join((*KNOWN, *SIDES, "question", "rank"))
        raise InputError(f"--columns names {unknown[0]!r}, which is not one of {legal}.")
    form = "ranks" if ranks else "ratings"
    if stated.wide is not None:
        long = melted(table, stated.wide, stated.columns, IN_KEY)
        table, dropped, form = long.table, dict(long.dropped), f"ratings, one row a person, key {stated.wide.name}"
        table = from_rows(path, [{**row, "score": row["choice"]} for _, row in table.rows()], table.notes)
    elif systems:
        table, form = _long_of(table, systems), "ratings, one column a system"
    elif (sides := one_row_a_system(flat_table(table), stated.columns)) is not None:
        table, form, stated = sides, "ratings, one column a response", _without_sides(stated)
    else:
        table = with_systems_of_places(table, stated.columns)
        stated = _without_sides(stated)
    table, question = of_one_question(table, stated, stated.columns, of=("item", "system", "rater"))
    names = _columns(table, stated)
    _refuse_ranking(table, names["score"], f" --question {stated.question}" if stated.question else "")
    if ranks or "" in map(cell_text, table.columns.get(names.get("seed", ""), ())):  # not of every rating
        names.pop("seed", None)
    cells, raw = _told(table, names), table.columns[names["score"]]
    score = np.array([_number(table, row, cell, stated.values) for row, cell in enumerate(raw)])
    if not ranks and stated.columns.get("rank") != IGNORED:
        _ask_whether_ranks(path, names, cells, score)
    contrasts, lone = _contrasts(cells, score)
    if ranks and not contrasts:
        raise InputError("No two systems were ranked twice by the same rater on the same item, so none are compared.")
    every = len(contrasts) == math.comb(len(set(cells["system"])), 2)
    paired = ranks or (every and lone <= MOST_LONE * len(score))
    lone = lone if paired else 0
    if empty := int(np.isnan(score).sum()):
        dropped["no score"] = empty
    if lone:
        dropped["no rating of the other system by the same rater on the same item"] = lone
    rows_read = len(table) + sum(dropped.values()) - empty - lone
    ledger = Reading(f"{form}{question}", rows_read, names, {}, dropped, table.notes)
    names_of_systems = tuple(dict.fromkeys(cells["system"]))
    simulated = sum(cell_text(cell) == SIMULATED for cell in table.columns.get("source", ()))
    scale = float(np.nanmin(score)), float(np.nanmax(score))
    return RatingsTable(
        _rows(cells, score, names_of_systems), contrasts, names_of_systems, scale, ledger, paired, ranks, simulated
    )


def _without_sides(stated: Stated) -> Stated:
    return replace(stated, columns={ours: theirs for ours, theirs in stated.columns.items() if ours not in SIDES})


def _ask_whether_ranks(path: Path, names: Mapping[str, str], cells: Mapping[str, list[str]], score: Floats) -> None:
    """Scores that are 1 to k on every item, each once, may be ranks, of which 1 is the best: then the loser leads."""
    scores: dict[tuple[str, str], list[float]] = {}
    for row, item in enumerate(cells["item"]):
        scores.setdefault((item, cells["rater"][row] if "rater" in cells else ""), []).append(float(score[row]))
    several = [sorted(values) for values in scores.values() if len(values) > 1]
    is_ranks = len(several) > 4 and all(values == [float(k + 1) for k in range(len(values))] for values in several)
    if not (is_ranks or "rank" in plain_name(names["score"]).split("_")):
        return
    raise HoldsRanks(
        f"{path}: the scores of every item in {names['score']} are 1, 2, ..., each once, as ranks are. If they are "
        f"ranks, 1 the best: python -m analysis ranks {path} --columns rank={names['score']}. If they are ratings: "
        "--columns rank=-"
    )


def _long_of(table: RawTable, systems: Sequence[str]) -> RawTable:
    """One row a rating, from a table with a column for each system."""
    if missing := [name for name in systems if name not in table.names]:
        raise InputError(f"{table.path} has no column {missing[0]!r} (found: {', '.join(table.names)}).")
    rows, lines = [], []
    for number, (_, row) in enumerate(table.rows()):
        shared = {name: value for name, value in row.items() if name not in systems}
        shared.setdefault("item", f"row {number + 1}")
        rows += [{**shared, "system": name, "score": row[name]} for name in systems]
        lines += [table.lines[number] if table.lines else number + 1] * len(systems)
    return RawTable(table.path, from_rows(table.path, rows).columns, tuple(lines), table.notes)


def _columns(table: RawTable, stated: Stated) -> dict[str, str]:
    names = {}
    for ours, words in KNOWN.items():
        if (theirs := stated.columns.get(ours)) is not None:
            if theirs not in (*table.names, IGNORED):
                raise InputError(f"{table.path} has no column {theirs!r} (found: {', '.join(table.names)}).")
            names[ours] = theirs
            continue
        fits = [name for name in table.names if plain_name(name) in words and name not in stated.columns.values()]
        if len(fits) > 1 and ours in fits:
            fits = [ours]
        if len(fits) > 1:
            raise Unclear(f"{table.path}: {len(fits)} columns may be {ours}: {', '.join(fits)}.",
                          *({"--columns": f"{ours}={name}"} for name in fits))  # fmt: skip
        names |= dict.fromkeys([ours], fits[0]) if fits else {}
    names = {ours: theirs for ours, theirs in names.items() if theirs != IGNORED}
    if missing := [name for name in ("score", "system", "item") if name not in names]:
        raise InputError(
            f"{table.path} has no column for {missing[0]} (found: {', '.join(table.names)}). Name it: --columns "
            f"{missing[0]}=...; if every system has a column of its own, name these: --systems one,other"
        )
    return names


def _told(table: RawTable, names: Mapping[str, str]) -> dict[str, list[str]]:
    cells_by_field = {ours: [cell_text(cell).strip() for cell in table.columns[name]] for ours, name in names.items()}
    for ours, cells in cells_by_field.items():
        if ours != "score" and "" in cells:
            raise InputError(f"{table.place(cells.index(''))}: {names[ours]} is empty; every rating needs it.")
    return cells_by_field


def _refuse_ranking(table: RawTable, score: str, option: str) -> None:
    """Our own ratings of a question that is a ranking have no score."""
    if score == "score" and "rank" in table.names and not table.values("score"):
        raise HoldsRanks(f"{table.path} holds ranks and no ratings: python -m analysis ranks {table.path}{option}")
    if score == "rank" and not table.values("rank"):
        raise InputError(f"{table.path} holds ratings and no ranks: python -m analysis ratings {table.path}{option}")


def _rows(cells: Mapping[str, list[str]], score: Floats, systems: Sequence[str]) -> Rows:
    scored = np.flatnonzero(~np.isnan(score))
    place = {name: code for code, name in enumerate(systems)}
    system = np.array([place[cells["system"][row]] for row in scored], dtype=np.int64)
    seed = np.unique(np.array(cells["seed"])[scored], return_inverse=True)[1] if "seed" in cells else None
    return Rows(score[scored], system, seed, _votes(cells, scored, np.full(len(scored), TIE)))


def _number(table: RawTable, row: int, cell: object, values: Mapping[str, str]) -> float:
    text = cell_text(cell)
    if text.strip() in no_votes(values):
        return float("nan")
    text = values.get(text, values.get(text.strip(), text)).strip()
    if not text or text.lower() == "nan":
        return float("nan")
    try:
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(text)
        return number
    except ValueError:
        raise InputError(
            f"{table.place(row)}: the score is {text!r}, which is not a number. Say what its words are worth: --values "
            '1="Strongly disagree",2=Disagree,... A cell that holds no rating is left empty.'
        ) from None


def _contrasts(cells: Mapping[str, list[str]], score: Floats) -> tuple[tuple[Rated, ...], int]:
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
            rated.append(_rated(first, second, np.array(rows), cells, score))
    return tuple(rated), int((~np.isnan(score)).sum()) - len(met)


def _rated(first: str, second: str, rows: NDArray[np.int64], cells: Mapping[str, list[str]], score: Floats) -> Rated:
    first_scores, second_scores = score[rows[:, 0]], score[rows[:, 1]]
    choice = np.where(first_scores > second_scores, 0, np.where(first_scores < second_scores, 1, TIE))
    return Rated(Contrast(first, second, _votes(cells, rows[:, 0], choice)), first_scores, second_scores)


def _votes(cells: Mapping[str, list[str]], rows: NDArray[np.int64], choice: NDArray[np.int64]) -> Votes:
    """Who gave these rows, on what."""

    def codes(name: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        names, column_codes = np.unique(np.array(cells[name])[rows], return_inverse=True)
        return column_codes, tuple(names.tolist())

    item, items = codes("item")
    rater, raters = codes("rater") if "rater" in cells else (None, ())
    dialogue, dialogues = codes("dialogue") if "dialogue" in cells else (None, ())
    return Votes(pair=item, pairs=items, choice=choice, item=item, rater=rater, raters=raters, dialogue=dialogue,
                 dialogues=dialogues)  # fmt: skip


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
    judges = judges_beside([table.path])
    for where, row in table.rows():
        if (why := whose(cell_text(row.get("source", "")), cell_text(row["rater"]), judges)) is not None:
            known = f" (its rater {why})" if why else ""
            raise InputError(
                f"{where}: this rating is a judge's{known}. Only people's are read here: leave its rows out."
            )
        yield where, row
