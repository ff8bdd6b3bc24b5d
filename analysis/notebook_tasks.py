"""Questions to the scores of systems as functions; `analysis.notebook` offers them with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def compare_runs(
    systems: Sequence[str | Path] | Mapping[str, Any],
    *,
    metric: str = "",
    cluster: str = "auto",
    margin: float | None = None,
    columns: Mapping[str, str] | None = None,
) -> Result:
    """Which system scores higher by the logs of its evaluation (`python -m analysis compare-runs`).

    `systems` names each one's logs: a mapping of name to a path or several, or texts `NAME=PATH,PATH`.
    """
    from analysis.compare_runs import answer as room
    from analysis.compare_runs.reading import named_runs
    from analysis.compare_runs.text import document, parts

    runs, told = named_runs(systems, columns or {})
    compared = room.answer(runs, metric=metric, cluster=cluster, margin=margin)

    def draw() -> Any:
        from analysis.compare_runs.figures import figures

        return figures(compared)

    return Result(document(compared), parts(compared), draw, told)
