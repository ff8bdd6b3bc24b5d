"""A condition on disk, in a table, and as a page of differences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from seedvote.dialogue.conditions import FILE, FOLDER, folder_name
from seedvote.dialogue.corpora.multiwoz import write_multiwoz
from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.corpora.sources import SPLITS
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json, write_json
from seedvote.dialogue.signature import signature
from seedvote.evaluators.perturbing.kinds import ChangedTurn, Condition
from seedvote.evaluators.perturbing.material import UserTurns

# A condition on disk: STUDY/conditions/NAME/corpus, which every command reads, and condition.json with its recipe.

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


# Conditions in words and in one table.


def conditions_table(perturbed: Sequence[Condition]) -> str:
    """One line a condition."""
    head = ["condition", "user turns changed", "could not be", "word error rate", "protected values intact"]
    rows = [
        [
            f"{condition.kind} at {condition.dose:g}",
            f"{len(condition.changed):,} of {condition.turns:,}",
            f"{condition.unchanged:,}",
            f"{condition.word_error_rate:.3f}",
            f"{condition.kept:,} of {condition.held:,}" if condition.held else "-",
        ]
        for condition in perturbed
    ]
    cells = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)


def condition_sentence(condition: Condition) -> str:
    """One condition in a sentence."""
    protection = (
        f"; {condition.kept:,} of {condition.held:,} protected values stand to the letter" if condition.held else ""
    )
    changed = f"{len(condition.changed):,} of {condition.turns:,} user turns are changed"
    remainder = f"{condition.unchanged:,} more could not be; the word error rate is {condition.word_error_rate:.3f}"
    return f"{changed}, {remainder}{protection}. {' '.join(condition.notes)}".rstrip()


def material_sentence(corpus: Corpus, material: UserTurns) -> str:
    """What there is to change: sizes of the splits, and how many values stand verbatim."""
    lines = []
    for split in SPLITS:
        dialogues = corpus.split(split)
        turns = sum(turn.speaker == "user" for dialogue in dialogues for turn in dialogue.turns)
        domains = {domain for dialogue in dialogues for domain, wish in dialogue.goal.items() if wish.get("info")}
        lines.append(f"{split}: {len(dialogues):,} dialogues, {turns:,} user turns, {len(domains)} domains with goals")
    stands, values = material.verbatim()
    if values:
        lines.append(
            f"{stands:,} of {values:,} newly believed values ({100 * stands / values:.1f} %) of the {material.split} "
            "split stand verbatim in the user's turn and are protected; the others are not there to be protected."
        )
    else:
        lines.append("No states are annotated, so values of databases and numbers alone are protected.")
    return "\n".join(lines)


# A page of differences for the eye: turns before and after, with the changed letters marked.

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
SHOWN = 50  # turns of a condition
Part = tuple[str, str]  # del, ins, u or nothing, and a text
ALIKE = 0.5  # from this share of letters on, a changed word is shown letter by letter


def differences_page(perturbed: Sequence[Condition], summaries: Sequence[str], recipe: str) -> str:
    """The page; each condition shows up to SHOWN of its turns, evenly spread."""
    pages = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    blocks = [
        {
            "head": f"{condition.kind} at {condition.dose:g}",
            "said": summary_line,
            "turns": [
                {"item": turn.item, "before": old, "after": new}
                for turn in _spread_turns(condition.changed)
                for old, new in [mark_differences(turn)]
            ],
        }
        for condition, summary_line in zip(perturbed, summaries, strict=True)
    ]
    text = pages.get_template("perturbed/page.html").render(
        title="What was changed in the users' turns", conditions=blocks, recipe=recipe
    )
    return text + "\n"


def refuse_other_page(path: Path, text: str) -> None:
    """A page of other conditions is somebody's only look at them: it is not written over unasked."""
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise InputError(
            f"{path} shows the conditions of an earlier run. Move it away to keep it, or write over it: --replace. "
            "(Nothing was written; the conditions of that run stay in any case.)"
        )


def _spread_turns(turns: Sequence[ChangedTurn]) -> list[ChangedTurn]:
    return [turns[n * len(turns) // SHOWN] for n in range(SHOWN)] if len(turns) > SHOWN else list(turns)


def mark_differences(turn: ChangedTurn) -> tuple[list[Part], list[Part]]:
    """The turn before, with what was taken out, and after, with what was put in; protected values underlined."""
    old, new = _cut_words(turn.before), _cut_words(turn.after)
    before: list[Part] = []
    after: list[Part] = []
    values = frozenset(word for value in turn.held for word in _cut_words(value) if word.strip())
    for what, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            before += [("u" if word in values else "", word) for word in old[a:b]]
            after += [("u" if word in values else "", word) for word in new[c:d]]
        elif what == "replace" and b - a == d - c:
            for old_word, new_word in zip(old[a:b], new[c:d], strict=True):
                gone, come = _mark_letters(old_word, new_word)
                before += gone
                after += come
        else:
            before.append(("del", "".join(old[a:b])))
            after.append(("ins", "".join(new[c:d])))
    return [part for part in before if part[1]], [part for part in after if part[1]]


def _cut_words(text: str) -> list[str]:
    return re.findall(r"\s+|[\w']+|[^\w\s]", text)


def _mark_letters(old: str, new: str) -> tuple[list[Part], list[Part]]:
    """Two words, marked letter by letter where they are alike, as wholes where they are not."""
    match = SequenceMatcher(None, old, new, autojunk=False)
    if match.ratio() < ALIKE:
        return [("del", old)], [("ins", new)]
    codes = match.get_opcodes()
    return (
        [("" if what == "equal" else "del", old[a:b]) for what, a, b, _, _ in codes],
        [("" if what == "equal" else "ins", new[c:d]) for what, _, _, c, d in codes],
    )
