"""A condition on disk: STUDY/conditions/NAME/corpus, which every command reads, and condition.json with its recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seedvote.dialogue.conditions import FILE, FOLDER, folder_name
from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.corpora.writing import write_multiwoz
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json, write_json
from seedvote.dialogue.signature import signature
from seedvote.evaluators.perturbing.condition import Condition

GENERATED = "(generated)"


def condition_recipe(condition: Condition, corpus: Corpus, split: str, *, protected: bool) -> str:
    """The recipe of one condition."""
    measured = round(condition.word_error_rate, 4)
    return signature(
        kind=condition.kind,
        dose=condition.dose,
        seed=condition.seed,
        split=split,
        corpus=corpus.digest,
        protected=protected,
        turns=condition.turns,
        changed=len(condition.changed),
        wer=measured,
    )


def write_condition(study: Path, condition: Condition, corpus: Corpus, split: str, *, protected: bool) -> Path:
    """Write the folder; what stands there already must have the same recipe."""
    folder = study / FOLDER / folder_name(condition.kind, condition.dose, condition.seed)
    recipe = condition_recipe(condition, corpus, split, protected=protected)
    _refuse_other(folder, recipe)
    write_multiwoz(folder / "corpus", condition.dialogues, condition.databases)
    if corpus.version.endswith(GENERATED):
        write_json(folder / "corpus" / "recipe.json", {"signature": recipe, "complete": True})
    write_json(folder / FILE, as_document(condition, recipe))  # last: a condition without it is not whole
    return folder


def as_document(condition: Condition, recipe: str) -> dict[str, Any]:
    """What condition.json and `--json` hold."""
    return {
        "condition": folder_name(condition.kind, condition.dose, condition.seed),
        "kind": condition.kind,
        "dose": condition.dose,
        "seed": condition.seed,
        "user_turns": condition.turns,
        "changed": len(condition.changed),
        "unchanged": condition.unchanged,
        "word_error_rate": condition.word_error_rate,
        "words": condition.words,
        "protected": condition.held,
        "protected_intact": condition.kept,
        "notes": list(condition.notes),
        "signature": recipe,
    }


def _refuse_other(folder: Path, recipe: str) -> None:
    """Responses may stand beside a condition: another one under its name would make them answers to other words."""
    if (folder / FILE).exists() and (recipe_there := read_json(folder / FILE).get("signature")) != recipe:
        raise InputError(
            f"{folder} holds another condition ({recipe_there}). Remove the folder, or use another --seed."
        )
