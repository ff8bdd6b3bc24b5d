"""Conditions in words and in one table."""

from __future__ import annotations

from collections.abc import Sequence

from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.corpora.splits import SPLITS
from seedvote.evaluators.perturbing.condition import Condition
from seedvote.evaluators.perturbing.material import UserTurns


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


def summary(condition: Condition) -> str:
    """One condition in a sentence."""
    protection = (
        f"; {condition.kept:,} of {condition.held:,} protected values stand to the letter" if condition.held else ""
    )
    changed = f"{len(condition.changed):,} of {condition.turns:,} user turns are changed"
    remainder = f"{condition.unchanged:,} more could not be; the word error rate is {condition.word_error_rate:.3f}"
    return f"{changed}, {remainder}{protection}. {' '.join(condition.notes)}".rstrip()


def describe(corpus: Corpus, material: UserTurns) -> str:
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
