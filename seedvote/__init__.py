"""The face of the house: `import seedvote as sv; sv.ties(votes)`, and one command for everything.

The links of this folder lead to the packages of the checkout, which import each other as `seedvote.analysis` and so on:
an installation brings one name, and your own folder `analysis` may lie beside it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seedvote.analysis.notebook import (
        agreement,
        choice,
        compare,
        compare_runs,
        erasure,
        judged,
        leaderboard,
        plan,
        preference,
        ranks,
        ratings,
        robustness,
        ties,
        variance,
        worth,
    )

__all__ = [
    "agreement",
    "choice",
    "compare",
    "compare_runs",
    "erasure",
    "judged",
    "leaderboard",
    "plan",
    "preference",
    "ranks",
    "ratings",
    "robustness",
    "ties",
    "variance",
    "worth",
]


def __getattr__(name: str) -> Any:
    """A question is imported when it is first asked: `import seedvote` waits for no library."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from seedvote.analysis import notebook

    return getattr(notebook, name)
