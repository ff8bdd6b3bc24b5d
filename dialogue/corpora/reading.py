"""Reads any corpus that Seedvote knows, whatever release and packing: `read_corpus(path)`.

Which form it is follows from the names and the first keys of the files, never from an option: see docs/corpora.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialogue.corpora import multiwoz
from dialogue.corpora.sources import Source, open_source
from dialogue.errors import InputError
from dialogue.records import Dialogue

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Corpus:
    """A whole corpus in memory."""

    name: str
    version: str
    dialogues: tuple[Dialogue, ...] = field(repr=False)
    databases: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict, repr=False)

    def split(self, name: str) -> tuple[Dialogue, ...]:
        """The dialogues of `train`, `valid` or `test`."""
        if name not in SPLITS:
            raise InputError(f"{name!r} is not a split; these are: {', '.join(SPLITS)}.")
        return tuple(dialogue for dialogue in self.dialogues if dialogue.split == name)


def read_corpus(path: str | Path) -> Corpus:
    """Detect the form of the corpus under `path` and read it whole."""
    source = open_source(path)
    if source.find("data.json") or any(multiwoz.split_of(file.base) for file in source.files):
        version, dialogues = multiwoz.read(source)
        return Corpus("multiwoz", version, tuple(dialogues), _databases(source))
    raise InputError(f"{path} holds nothing that is known.")


def _databases(source: Source) -> dict[str, list[dict[str, Any]]]:
    suffix = "_db.json"
    return {file.base.removesuffix(suffix): file.json() for file in source.files if file.base.endswith(suffix)}
