"""A condition on disk: STUDY/conditions/NAME/corpus, which every command reads, and condition.json with its recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dialogue.conditions import FILE, FOLDER, folder_name
from dialogue.corpora.reading import Corpus
from dialogue.corpora.writing import write_multiwoz
from dialogue.errors import InputError
from dialogue.files import read_json, write_json
from dialogue.signature import signature
from evaluators.perturbing.condition import Condition

GENERATED = "(generated)"


def condition_recipe(one: Condition, corpus: Corpus, split: str, *, protected: bool) -> str:
    """The recipe of one condition."""
    measured = round(one.word_error_rate, 4)
    return signature(
        kind=one.kind, dose=one.dose, seed=one.seed, split=split, corpus=corpus.digest, protected=protected,
        turns=one.turns, changed=len(one.changed), wer=measured,
    )  # fmt: skip


def write_condition(study: Path, one: Condition, corpus: Corpus, split: str, *, protected: bool) -> Path:
    """Write the folder; what stands there already must have the same recipe."""
    folder = study / FOLDER / folder_name(one.kind, one.dose, one.seed)
    recipe = condition_recipe(one, corpus, split, protected=protected)
    _refuse_other(folder, recipe)
    write_multiwoz(folder / "corpus", one.dialogues, one.databases)
    if corpus.version.endswith(GENERATED):
        write_json(folder / "corpus" / "recipe.json", {"signature": recipe, "complete": True})
    write_json(folder / FILE, as_document(one, recipe))  # last: a condition without it is not whole
    return folder


def as_document(one: Condition, recipe: str) -> dict[str, Any]:
    """What condition.json and `--json` hold."""
    return {
        "condition": folder_name(one.kind, one.dose, one.seed), "kind": one.kind, "dose": one.dose, "seed": one.seed,
        "user_turns": one.turns, "changed": len(one.changed), "unchanged": one.unchanged,
        "word_error_rate": one.word_error_rate, "words": one.words, "protected": one.held,
        "protected_intact": one.kept, "notes": list(one.notes), "signature": recipe,
    }  # fmt: skip


def _refuse_other(folder: Path, recipe: str) -> None:
    """Responses may stand beside a condition: another one under its name would make them answers to other words."""
    if (folder / FILE).exists() and (there := read_json(folder / FILE).get("signature")) != recipe:
        raise InputError(f"{folder} holds another condition ({there}). Remove the folder, or use another --seed.")
