"""Reads any corpus that Seedvote knows, whatever release and packing: `read_corpus(path)`.

Which form it is follows from what the files hold, never from an option: see docs/corpora.md.
To add a form: a module in this folder that recognises and reads it, its name in `_recognise_shape`, its call in
`read_corpus`, and its words in KNOWN_FORMS. The corpus counts as `multiwoz` (user and system) unless `read_corpus`
says otherwise; probe tasks go by that name.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seedvote.dialogue.corpora import multiwoz, personachat, plain_text
from seedvote.dialogue.corpora.sources import SPLITS, File, names_a_split, open_source
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue

KNOWN_FORMS = (
    "MultiWOZ 2.0 to 2.4, dialogues as text (turns, messages, ShareGPT; JSON or a folder of `datasets`), PersonaChat "
    "as ParlAI text or JSON"
)
DATABASE = "_db.json"


@dataclass(frozen=True)
class Corpus:
    """A whole corpus in memory."""

    name: str
    version: str
    dialogues: tuple[Dialogue, ...] = field(repr=False)
    databases: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict, repr=False)

    @property
    def digest(self) -> str:
        """A hash of what was said in every dialogue, and of its name."""
        hasher = hashlib.sha256()
        for dialogue in self.dialogues:
            hasher.update("\x1f".join([dialogue.dialogue, *(turn.text for turn in dialogue.turns), ""]).encode())
        return hasher.hexdigest()[:12]

    def split(self, name: str) -> tuple[Dialogue, ...]:
        """The dialogues of `train`, `valid` or `test`."""
        if name not in SPLITS:
            raise InputError(f"{name!r} is not a split; these are: {', '.join(SPLITS)}.")
        return tuple(dialogue for dialogue in self.dialogues if dialogue.split == name)


def read_corpus(path: str | Path) -> Corpus:
    """Detect the form of the corpus under `path` and read it whole."""
    with _nothing_collected():
        return _read_whole(Path(path), open_source(path))


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """Nothing of a corpus is garbage: to look for some among millions of new objects takes longer than to read them."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _read_whole(path: Path, files: Sequence[File]) -> Corpus:
    shapes = _group_by_shape(files)
    if len(shapes) != 1:
        reason = f"holds {len(shapes)} corpora at once ({', '.join(shapes)}); give one" if shapes else "holds no corpus"
        raise InputError(f"{path} {reason}. Known forms: {KNOWN_FORMS}.")
    ((shape, parts),) = shapes.items()
    if shape == "personachat text":
        version, dialogues = personachat.read_texts([file for file, _ in parts])
    elif shape == "personachat lines":
        version, dialogues = personachat.read_lines(parts)
    elif shape == "personachat":
        version, dialogues = personachat.read_documents(parts)
    elif shape == "text lines":
        version, dialogues = plain_text.read_plain_text(parts)
    elif shape == "multiwoz 2.2":
        version, dialogues = multiwoz.read_multiwoz22(parts, files)
    else:
        version, dialogues = multiwoz.read_multiwoz(path, parts, files)
    _refuse_doubles(path, dialogues)
    name = "personachat" if shape.startswith("personachat") else "multiwoz"
    return Corpus(name, _mark_version(version, files), tuple(dialogues), _read_tables(files))


def _group_by_shape(files: Sequence[File]) -> dict[str, list[tuple[File, Any]]]:
    """Shape -> the files that have it, with their content; files of no known shape are left out."""
    shapes: dict[str, list[tuple[File, Any]]] = {}
    for file in files:
        shape, content = _recognise_shape(file)
        if content in ({}, []) and names_a_split(file):
            raise InputError(f"{file.where} holds no dialogue: an empty split. Fetch it again, or remove it.")
        if shape:
            shapes.setdefault(shape, []).append((file, content))
    return shapes


def _recognise_shape(file: File) -> tuple[str, Any]:
    if file.base.endswith(".jsonl"):
        lines = list(file.json_lines(lists=True))
        first = lines[0][1] if lines else {}
        if personachat.is_personachat(first):
            return "personachat lines", lines
        return ("text lines" if plain_text.is_plain_text(first) else "", lines)
    if file.base.endswith((".arrow", ".parquet")):
        lines = list(file.rows())
        return ("text lines" if lines and plain_text.is_plain_text(lines[0][1]) else "", lines)
    if file.base.endswith(".txt") and "ListFile" not in file.base and personachat.is_text(file):
        return "personachat text", None
    if not file.base.endswith(".json") or "ListFile" in file.base or file.base.endswith(DATABASE):
        return "", None
    value = file.json()
    if multiwoz.is_multiwoz(value):
        return "multiwoz", value
    if isinstance(value, list) and value and plain_text.is_plain_text(value[0]):
        return "text lines", [
            (f"{file.where}, dialogue {number}", dialogue) for number, dialogue in enumerate(value, 1)
        ]
    if multiwoz.is_multiwoz22(value):
        return "multiwoz 2.2", value
    return ("personachat" if personachat.is_personachat(value) else "", value)


def _refuse_doubles(path: Path, dialogues: Sequence[Dialogue]) -> None:
    uses = Counter(dialogue.dialogue for dialogue in dialogues)
    if twice := [name for name in uses if uses[name] > 1]:
        raise InputError(f"{path}: dialogue {twice[0]} occurs {uses[twice[0]]} times. Give a single release.")


def _mark_version(version: str, files: Sequence[File]) -> str:
    """The version, and whether the dialogues were generated."""
    generated = any(file.base == "recipe.json" for file in files)
    return f"{version} (generated)" if generated else version


def read_databases(folder: Path) -> Mapping[str, list[dict[str, Any]]]:
    """Domain -> rows of a folder of databases that lies apart from its corpus."""
    if not (databases := _read_tables(open_source(folder))):
        raise InputError(f"{folder} holds no *{DATABASE}. Give the folder of the databases, e.g. --db multiwoz/db.")
    return databases


def _read_tables(files: Sequence[File]) -> dict[str, list[dict[str, Any]]]:
    """Domain -> rows. The first release's taxi_db.json is not JSON; such a one is left out."""
    databases = {}
    for file in files:
        if file.base.endswith(DATABASE):
            try:
                databases[file.base.removesuffix(DATABASE)] = file.json()
            except InputError:
                if file.base != "taxi_db.json":
                    raise
    return databases
