"""What raters gave where they gave no votes on pairs, and the commands that read it.

A study of response sets has ratings.jsonl, one of questions with several options choices.jsonl. A command that reads
votes says so instead of asking for votes that there will never be.
"""

from __future__ import annotations

from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_header, read_records
from seedvote.dialogue.records import ResponseRating

INSTEAD = {"ratings": "ratings or ranks of several responses at once", "choices": "picks of options"}


def read_elsewhere(path: Path) -> str:
    """One sentence for a study or a file of it, empty where it holds votes or nothing that is known.

    `path` may also be the file that is missing.
    """
    answers = _answers(path)
    if answers is None:
        return ""
    kind, place = answers.stem, path if path.exists() else path.parent
    commands = [f"choose {answers.parent}"] if kind == "choices" else _by_question(answers, place)
    commands_typed = ", or ".join(f"python -m analysis {command}" for command in commands)
    return f"{place} holds {INSTEAD[kind]} and no votes on pairs; type: {commands_typed}"


def _answers(path: Path) -> Path | None:
    """The file of answers that stands for the votes."""
    if path.is_file():
        return path if path.suffix == ".jsonl" and _format(path) in INSTEAD else None
    folder = path if path.is_dir() else path.parent
    if (folder / "votes.jsonl").exists():
        return None
    return next((file for name in INSTEAD if (file := folder / f"{name}.jsonl").exists()), None)


def _format(path: Path) -> str:
    """The records that a file says it holds; empty for a file that is not ours, whatever its encoding."""
    try:
        return str(read_header(path).get("format", ""))
    except InputError:
        return ""


def _by_question(ratings: Path, place: Path) -> list[str]:
    """The command that reads each question."""
    reads: dict[str, str] = {}
    for row in read_records(ratings, ResponseRating):
        reads.setdefault(row.question, "ratings" if row.rank is None else "ranks")
    more = {name: f" --question {name}" if reads.keys() - {name} else "" for name in reads}
    return [f"{command} {place}{more[name]}" for name, command in reads.items()]
