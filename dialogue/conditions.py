"""Conditions of a study: the same dialogues in other words, each in STUDY/conditions/NAME/.

NAME is `typos@0.5-0`, that is kind, dose and seed. The folder holds `corpus/`, `condition.json` (what was done, with
its recipe), and the scores of what models answer there.
"""

from __future__ import annotations

from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json

FOLDER, FILE = "conditions", "condition.json"
OUTSIDE = "general-outside"  # the act of a user turn in which something foreign was said


def folder_name(kind: str, dose: float, seed: int) -> str:
    """The folder of a condition.

    >>> folder_name("typos", 0.5, 0), folder_name("speech", 0.0, 3)
    ('typos@0.5-0', 'speech@0-3')
    """
    return f"{kind}@{dose:g}-{seed}"


def condition_parts(name: str) -> tuple[str, float, int] | None:
    """Kind, dose and seed of a condition's name; None for what is no such name.

    >>> condition_parts("typos@0.5-0"), condition_parts("nucleus:0.9")
    (('typos', 0.5, 0), None)
    """
    kind, _, tail = name.partition("@")
    dose, _, seed = tail.rpartition("-")
    try:
        return (kind, float(dose), int(seed)) if kind else None
    except ValueError:
        return None


def condition_of(corpus: Path) -> str:
    """The condition that a corpus stands for, "" for a corpus as it was published."""
    path = corpus.parent / FILE
    return str(read_json(path).get("condition", "")) if path.is_file() else ""


def condition_folder(study: Path, name: str) -> Path:
    """STUDY/conditions/NAME, which must be there."""
    folder = study / FOLDER / name
    if not (folder / FILE).is_file():
        names = ", ".join(path.name for path in condition_folders(study)) or "none"
        raise InputError(f"{study} has no condition {name!r}; it has {names}. Make some: python -m evaluators perturb")
    return folder


def conditions_named(study: Path, names: str) -> list[Path]:
    """The folders of conditions named with commas between, or of `all` there are."""
    folders = (
        condition_folders(study) if names == "all" else [condition_folder(study, name) for name in names.split(",")]
    )
    return folders or [condition_folder(study, names)]


def condition_folders(study: Path) -> list[Path]:
    """The folders of all conditions that are whole, in order of their names."""
    return sorted(path.parent for path in (study / FOLDER).glob(f"*/{FILE}"))
