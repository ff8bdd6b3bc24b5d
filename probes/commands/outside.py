"""Does an encoder notice talk that no domain covers? A probe trained on such talk, and a distance that needs none.

Reads the conditions of kind `outside` (evaluators perturb): those with training dialogues teach the probe, those with
test dialogues are reported on. Prints F1, precision, recall and AUROC, with a bag of words and the share of foreign
turns next to them. Where agents were scored there, joint goal accuracy is printed too. Writes STUDY/outside.json.

  python -m probes outside runs/agents
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import tell_next

if TYPE_CHECKING:
    from seedvote.probes.foreign import ForeignTalk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and which checkpoints."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    parser.add_argument("--checkpoints", default="", metavar="NAMES", help="comma-separated (default: all but epoch-N)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the drawn dialogues (default 0)")


def run(args: argparse.Namespace) -> None:
    """Fit, report, write."""
    from seedvote.dialogue.conditions import condition_folders, condition_parts
    from seedvote.dialogue.files import write_json
    from seedvote.probes.foreign import detect_everywhere, read_foreign

    folders = [
        folder for folder in condition_folders(args.study) if (condition_parts(folder.name) or ("",))[0] == "outside"
    ]
    taught, reported = read_foreign(folders, "train"), read_foreign(folders, "test")
    if not reported:
        raise InputError(
            f"{args.study} has no condition of kind outside with test dialogues. Make one: python -m evaluators "
            f"perturb {args.study} --kinds outside --doses .5 --from CORPUS (and, for the probe, the same with "
            "--split train --seed 1)."
        )
    rows: list[dict[str, Any]] = []
    for talk in reported:
        rows += detect_everywhere(args.study, taught, talk, args.checkpoints, seed=args.seed)
        _print_table(talk, [row for row in rows if row["report"] == talk.name])
    write_json(args.study / "outside.json", {"detectors": rows})
    print(f"{args.study / 'outside.json'} has every number.")
    tell_next("python -m analysis robustness", args.study, "--kinds", "outside")


def _print_table(talk: ForeignTalk, rows: Sequence[dict[str, Any]]) -> None:
    share = talk.truth.mean()
    print(
        f"{talk.name}: {int(talk.truth.sum()):,} of {len(talk.truth):,} user turns have foreign talk. Who always calls "
        f"foreign has F1 {200 * share / (1 + share):.1f}; who guesses has AUROC 50.\n"
    )
    head = [
        "model",
        "checkpoint",
        "seeds",
        "by",
        "taught on",
        "F1 (95 %)",
        "precision",
        "recall",
        "AUROC (95 %)",
        "JGA",
    ]
    lines = [head, *(_row_cells(row) for row in rows)]
    wide = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, wide, strict=True)).rstrip())
    print("\nIntervals are for other dialogues with these seeds. JGA: joint goal accuracy clean and here.")
    print(rows[0]["signature"] + "\n")


def _row_cells(row: dict[str, Any]) -> list[str]:
    joint = "" if row["jga"] is None else f"{row['jga'][0]:.1f} to {row['jga'][1]:.1f}"
    return [
        row["model"],
        row["checkpoint"],
        str(row["seeds"] or ""),
        row["by"],
        row["taught"],
        _show_interval(row["f1"]),
        _show_points(row["precision"][0]),
        _show_points(row["recall"][0]),
        _show_interval(row["auroc"]),
        joint,
    ]


def _show_interval(interval: Sequence[float | None]) -> str:
    value, low, high = map(_show_points, interval)
    return f"{value} ({low}-{high})"


def _show_points(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
