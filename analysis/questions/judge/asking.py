"""Asks what the judges of a study are worth: for a notebook, the command and the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seedvote.analysis.questions.judge.answer import answer
from seedvote.analysis.questions.judge.showing import document, parts, row_figures, section
from seedvote.analysis.showing.page import Reported
from seedvote.analysis.showing.result import Result
from seedvote.analysis.votes.cautions import told_of_reading
from seedvote.analysis.votes.inputs import matches_of
from seedvote.analysis.votes.study import ReportRequest
from seedvote.analysis.votes.verdicts import benches_beside, from_elsewhere
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.judges import VERDICTS


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
    folder = Path(study)
    benches = benches_beside(folder, None if verdicts is None else Path(verdicts), judges)
    path = folder / "votes.jsonl" if votes is None else Path(votes)
    matches = None
    if votes is not None or path.exists():
        matches = matches_of(path, folder / "pairs.jsonl", **reading)[0]
    results = answer(
        benches,
        matches,
        labels=labels,
        imported=matches is not None and from_elsewhere(matches.votes),
        tuned_on=() if tuned_on is None else _read_names(Path(tuned_on)),
        clusters=clusters,
        seed=seed,
    )
    notes = [] if matches is None else told_of_reading(matches.votes)
    return Result(document(results), parts(results), lambda: row_figures(results), notes)


def _read_names(path: Path) -> tuple[str, ...]:
    try:
        return tuple(line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}). Write one pair's id a line.") from error


def in_report(request: ReportRequest) -> Reported:
    """As of `analysis judge STUDY`, or the reason why there is no answer; nothing where there are no verdicts."""
    study, folder = request.study, request.study.folder
    if study.table is not None or not (folder / VERDICTS).exists():
        return Reported()
    try:
        matches = None
        if (folder / "votes.jsonl").exists():
            matches = matches_of(folder / "votes.jsonl", folder / "pairs.jsonl", **study.how)[0]
        imported = matches is not None and from_elsewhere(matches.votes)
        judges = answer(benches_beside(folder, None), matches, imported=imported, clusters=request.clusters)
    except InputError as error:
        reason = str(error).replace(f"{folder}/", "")
        return Reported(section(None, f"What the judges are worth is unknown. {reason}"))
    return Reported(section(judges), document(judges), judges)
