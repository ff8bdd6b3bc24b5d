"""Reads what a study folder holds; every part may be missing, and the report then says so."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.reading.scores import read_scores
from analysis.reading.values import Key, Value, by_seed
from analysis.reading.votes import Votes, read_votes
from dialogue.errors import InputError
from dialogue.files import read_header, read_json, read_records
from dialogue.records import Pair, Rater, Response

NOWHERE = Path(os.devnull)
SCORE_FILES = ("metrics.parquet", "scores.parquet")


@dataclass(frozen=True, eq=False)
class Study:
    """The files of one study, read."""

    folder: Path
    votes: Votes | None
    controls: Votes | None
    raters: tuple[Rater, ...]
    pairs: tuple[Pair, ...]
    responses: tuple[Response, ...]
    ties: Mapping[str, Any] | None
    scores: pa.Table | None
    recipes: Mapping[str, str]

    @property
    def simulated(self) -> int:
        """How many of the votes on real pairs came from simulated raters."""
        return 0 if self.votes is None else int(self.votes.source.get("simulated", 0))

    @cached_property
    def by_seed(self) -> Mapping[Key, Mapping[int | None, Value]]:
        """Every group of scores with each seed's value, computed once."""
        return {} if self.scores is None else by_seed(self.scores)


def read_study(folder: Path) -> Study:
    """Read every file of the study that is there; refuse a folder that holds none of them."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Give the study folder, e.g. runs/demo.")
    votes = folder / "votes.jsonl"
    tables = [folder / name for name in SCORE_FILES if (folder / name).exists()]
    if not votes.exists() and not tables:
        raise InputError(
            f"{folder} holds neither votes.jsonl nor a score table. Serve the study (python -m crowd serve {folder}) "
            f"and export its votes, or probe its models (python -m probes run {folder})."
        )
    return Study(
        folder=folder,
        votes=read_votes(votes, also=("submitted",)) if votes.exists() else None,
        controls=_controls(votes),
        raters=_records(folder / "raters.jsonl", Rater),
        pairs=_records(folder / "pairs.jsonl", Pair),
        responses=_records(folder / "responses.jsonl", Response),
        ties=read_json(folder / "ties.json") if (folder / "ties.json").exists() else None,
        scores=read_scores(tables) if tables else None,
        recipes=_recipes(folder),
    )


def study_of(scores: Sequence[Any], votes: Votes | None, pairs: Sequence[Pair]) -> Study:
    """A study of tables in memory: there is no folder, so no logs of training and no recipes."""
    read = read_scores(scores) if scores else None
    return Study(NOWHERE, votes, None, (), tuple(pairs), (), None, read, {})


def _records(path: Path, kind: type[Any]) -> tuple[Any, ...]:
    return tuple(read_records(path, kind)) if path.exists() else ()


def _controls(path: Path) -> Votes | None:
    if not path.exists():
        return None
    try:
        return read_votes(path, kinds=("control",))
    except InputError:  # a study without control pairs
        return None


def _recipes(folder: Path) -> Mapping[str, str]:
    """The signature line of every file that has one."""
    found = {p.name: read_header(p).get("signature", "") for p in sorted(folder.glob("*.jsonl"))}
    found |= {p.name: read_json(p).get("signature", "") for p in sorted(folder.glob("*.json")) if p.name == "ties.json"}
    for path in sorted(folder.glob("*.parquet")):
        metadata = pq.read_schema(path).metadata or {}
        found[path.name] = metadata.get(b"signature", b"").decode()
    for path in sorted((folder / "states").glob("*.json"))[:1]:
        found[f"states/{path.name}"] = read_json(path).get("signature", "")
    return {name: line for name, line in found.items() if line}
