"""The corpus as a judge of predictions: goals, databases, annotated states and reference replies."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.domains.database import DomainTable, domain_tables
from seedvote.dialogue.domains.delexicalizing import delexicalized
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue
from seedvote.evaluators.task.goals import goals
from seedvote.evaluators.task.outcomes import World
from seedvote.evaluators.task.predictions import comparable_id
from seedvote.evaluators.task.states import gold_states

OWN_REFERENCES = "replies of the corpus, delexicalised by its own acts"


def world_of(corpus: Path, database: Path | None, split: str, references: Path | None) -> World:
    """What the dialogues of one split hold; `database` is a folder of *_db.json, else the corpus's own."""
    corpus_read = read_corpus(corpus)
    dialogues = corpus_read.split(split)
    if not dialogues:
        raise InputError(f"{corpus} has no dialogue in its {split} split, so nothing can be held against it.")
    tables = _tables(database) if database else domain_tables(corpus_read.databases)
    texts = _read_references(references) if references else _own_references(dialogues)
    return World(goals(dialogues), tables, gold_states(dialogues), texts)


def _tables(folder: Path) -> dict[str, DomainTable]:
    tables = {}
    for path in sorted(folder.glob("*_db.json")):
        try:
            tables[path.name.removesuffix("_db.json")] = DomainTable(json.loads(path.read_text("utf-8")))
        except (ValueError, AttributeError):
            if path.name != "taxi_db.json":  # the first release's is no JSON, and taxis are not chosen from it
                raise InputError(f"{path} is not a list of rows in JSON. Fetch the database again.") from None
    if not tables:
        raise InputError(f"{folder} holds no *_db.json. Give the folder of the databases, e.g. --db multiwoz/db.")
    return tables


def _own_references(dialogues: Iterable[Dialogue]) -> dict[str, list[str]]:
    """Delexicalised replies of dialogues whose system turns are annotated with acts."""
    references = {}
    for dialogue in dialogues:
        replies = [turn for turn in dialogue.turns if turn.speaker != "user"]
        if replies and all(turn.acts is not None for turn in replies):
            references[comparable_id(dialogue.dialogue)] = [delexicalized(turn) for turn in replies]
    return references


def _read_references(path: Path) -> dict[str, list[str]]:
    try:
        raw = json.loads(path.read_text("utf-8"))
        return {comparable_id(name): [str(text) for text in texts] for name, texts in raw.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise InputError(
            f'{path} cannot be read as references ({error}). Expected {{"dialogue id": ["delexicalised reply", ...]}}.'
        ) from None
