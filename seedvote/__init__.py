"""The face of the house: `import seedvote as sv; sv.ties(votes)`, and one command for everything.

The links of this folder lead to the packages of the checkout, which import each other as `seedvote.analysis` and so on:
an installation brings one name, and your own folder `analysis` may lie beside it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seedvote.analysis.notebook import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """A question is imported when it is first asked: `import seedvote` waits for no library."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from seedvote.analysis.notebook import NAMES

    if name == "__all__":
        return sorted(NAMES)
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return NAMES[name].ask


def __dir__() -> list[str]:
    return [*globals(), *__getattr__("__all__")]
