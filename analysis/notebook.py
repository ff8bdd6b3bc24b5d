"""The questions of the analysis as functions: what a notebook calls and what the commands print.

Votes are a DataFrame, a mapping of columns, a list of records or dicts, a file or a study folder. Every function
returns a `Result`, which shows itself as tables, keeps every number in `document` and draws itself with `plot()`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seedvote.analysis.questions.table import NAMES as NAMES

if TYPE_CHECKING:
    from seedvote.analysis.questions.agreement.showing import agreement as agreement
    from seedvote.analysis.questions.choice.showing import choice as choice
    from seedvote.analysis.questions.compare_runs import compare_runs as compare_runs
    from seedvote.analysis.questions.comparison.showing import compare as compare
    from seedvote.analysis.questions.erasure import erasure as erasure
    from seedvote.analysis.questions.judge.showing import judged as judged
    from seedvote.analysis.questions.leaderboard import leaderboard as leaderboard
    from seedvote.analysis.questions.patching import patching as patching
    from seedvote.analysis.questions.planning.showing import plan as plan
    from seedvote.analysis.questions.preference.showing import preference as preference
    from seedvote.analysis.questions.ratings.showing import ranks as ranks
    from seedvote.analysis.questions.ratings.showing import ratings as ratings
    from seedvote.analysis.questions.replay import replay as replay
    from seedvote.analysis.questions.robustness import robustness as robustness
    from seedvote.analysis.questions.ties.showing import ties as ties
    from seedvote.analysis.questions.variance.showing import variance as variance
    from seedvote.analysis.questions.worth import worth as worth


def __getattr__(name: str) -> Any:
    """A question is imported when it is first asked: none of them waits for the libraries of the others."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return NAMES[name].ask
