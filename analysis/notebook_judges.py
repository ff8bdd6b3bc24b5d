"""The questions on judges and other evaluators as functions: what a notebook calls and what the commands print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.showing.result import Result
from analysis.votes.cautions import told_of_reading
from analysis.votes.inputs import matches_of
from dialogue.errors import InputError


def judged(
    study: str | Path,
    *,
    votes: str | Path | None = None,
    verdicts: str | Path | None = None,
    judges: Sequence[str] = (),
    labels: Sequence[str] | str | None = None,
    tuned_on: str | Path | None = None,
    clusters: str = "auto",
    seed: int = 0,
    **reading: Any,
) -> Result:
    """What the judges of a study are like and what they are worth in votes (`python -m analysis judge`)."""
    from analysis.judge.answer import answer
    from analysis.judge.text import document, parts
    from analysis.votes.verdicts import benches_beside, from_elsewhere

    folder = Path(study)
    benches = benches_beside(folder, None if verdicts is None else Path(verdicts), judges)
    path = folder / "votes.jsonl" if votes is None else Path(votes)
    matches = None
    if votes is not None or path.exists():
        matches = matches_of(path, folder / "pairs.jsonl", **reading)[0]
    shaped = () if tuned_on is None else _names(Path(tuned_on))
    found = answer(
        benches, matches, labels=labels, imported=matches is not None and from_elsewhere(matches.votes),
        tuned_on=shaped, clusters=clusters, seed=seed,
    )  # fmt: skip
    return Result(document(found), parts(found), dict, [] if matches is None else told_of_reading(matches.votes))


def _names(path: Path) -> tuple[str, ...]:
    try:
        found = tuple(line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}). Write one pair's id a line.") from error
    return found
