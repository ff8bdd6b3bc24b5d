"""Questions to the scores of systems as functions; `analysis.notebook` offers them with the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.showing.result import Result
from analysis.votes.study import read_study


def robustness(
    study: Any, *, kinds: Sequence[str] = (), tasks: Sequence[str] = (), models: Sequence[str] = (), by: str = ""
) -> Result:
    """What each perturbation costs (`python -m analysis robustness`); `study` is a folder with conditions/."""
    from analysis.robustness import answer as room
    from analysis.robustness.text import document, parts

    found = room.answer(read_study(Path(study), votes_too=False), kinds=kinds, tasks=tasks, models=models, by=by)

    def draw() -> Any:
        from analysis.robustness.figures import figures

        return figures(found)

    return Result(document(found), parts(found), draw)


def erasure(study: Any, *, margin: float = 0.01) -> Result:
    """Whether decoders use what their encoders hold (`python -m analysis erasure`); `study` is a folder."""
    from analysis.erasure import answer as room
    from analysis.erasure.text import document, parts

    found = room.answer(Path(study), margin=margin)

    def draw() -> Any:
        from analysis.erasure.figures import figures

        return figures(found)

    return Result(document(found), parts(found), draw)
