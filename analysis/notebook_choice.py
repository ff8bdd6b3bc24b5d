"""Next-utterance choice as a function: what a notebook calls and what the command prints."""

from __future__ import annotations

from pathlib import Path

from analysis.showing.result import Result
from dialogue.importing.naming import Names


def choice(
    study: str | Path,
    *,
    choices: str | Path | None = None,
    columns: Names = (),
    count_from: int = 0,
    by: str = "",
    raters: str | Path | None = None,
    clusters: str = "auto",
    uncounted: bool = False,
    as_published: bool = False,
    published: bool = False,
    participants: bool = False,
) -> Result:
    """How often people and models pick what was really said (`python -m analysis choose`)."""
    from analysis.choice.figures import figures
    from analysis.choice.study import choice_answer
    from analysis.choice.text import document, parts

    found = choice_answer(
        Path(study), choices=None if choices is None else Path(choices), columns=columns, count_from=count_from, by=by,
        raters=None if raters is None else Path(raters), clusters=clusters, uncounted=uncounted,
    )  # fmt: skip
    shown = parts(found, as_published=as_published, published=published, participants=participants)
    return Result(document(found), shown, lambda: figures(found))
