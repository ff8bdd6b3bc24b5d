"""Names of splits as the releases spell them, and ids.

What leaves this module is `train`, `valid` or `test`; a spelling that is not known is refused, never guessed.
"""

from __future__ import annotations

import re

from seedvote.dialogue.corpora.sources import File
from seedvote.dialogue.errors import InputError

SPLITS = ("train", "valid", "test")
SPELLINGS = {"train": "train", "valid": "valid", "val": "valid", "dev": "valid", "validation": "valid", "test": "test"}


def split_of(file: File) -> str:
    """The split that a file's name, or the folder it lies in, tells; a file that tells none is one to train on.

    >>> [split_of(File(name, "", bytes)) for name in ("val.json", "dev/dialogues_001.json", "data.json")]
    ['valid', 'valid', 'train']
    """
    parts = reversed(file.name.split("/"))
    words = (word for part in parts for word in re.split(r"[^a-z]+", part.lower()))
    return next((SPELLINGS[word] for word in words if word in SPELLINGS), "train")


def names_a_split(file: File) -> bool:
    """Whether the file's own name is that of a split."""
    return any(word in SPELLINGS for word in re.split(r"[^a-z]+", file.base.lower()))


def split_named(name: object, where: str) -> str:
    """The split that an annotation names."""
    if str(name) not in SPELLINGS:
        raise InputError(f"{where}: split is {name!r}, which is not one of {', '.join(SPELLINGS)}.")
    return SPELLINGS[str(name)]


def plain_id(name: str) -> str:
    """A dialogue's id without the `.json` that some releases put behind it."""
    return name.removesuffix(".json")
