"""The questions of the analysis as functions: what a notebook calls and what the commands print.

Votes are a DataFrame, a mapping of columns, a list of records or dicts, a file or a study folder. Every function
returns a `Result`, which shows itself as tables, keeps every number in `document` and draws itself with `plot()`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.questions.agreement.showing import agreement as agreement
    from analysis.questions.choice.asking import choice as choice
    from analysis.questions.compare_runs import compare_runs as compare_runs
    from analysis.questions.comparison.asking import compare as compare
    from analysis.questions.erasure import erasure as erasure
    from analysis.questions.judge.asking import judged as judged
    from analysis.questions.leaderboard import leaderboard as leaderboard
    from analysis.questions.planning.asking import plan as plan
    from analysis.questions.preference.showing import preference as preference
    from analysis.questions.ratings.asking import ranks as ranks
    from analysis.questions.ratings.asking import ratings as ratings
    from analysis.questions.robustness import robustness as robustness
    from analysis.questions.ties.showing import ties as ties
    from analysis.questions.variance.asking import variance as variance
    from analysis.questions.worth import worth as worth

HOMES = {
    "choice": "analysis.questions.choice.asking",
    "agreement": "analysis.questions.agreement.showing",
    "compare": "analysis.questions.comparison.asking",
    "compare_runs": "analysis.questions.compare_runs",
    "erasure": "analysis.questions.erasure",
    "judged": "analysis.questions.judge.asking",
    "leaderboard": "analysis.questions.leaderboard",
    "plan": "analysis.questions.planning.asking",
    "preference": "analysis.questions.preference.showing",
    "ranks": "analysis.questions.ratings.asking",
    "ratings": "analysis.questions.ratings.asking",
    "robustness": "analysis.questions.robustness",
    "worth": "analysis.questions.worth",
    "variance": "analysis.questions.variance.asking",
    "ties": "analysis.questions.ties.showing",
}


def __getattr__(name: str) -> Any:
    """A question is imported when it is first asked: none of them waits for the libraries of the others."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)
