"""A checkout or an installation: where files that commands need lie, and in which words commands are typed.

Code, help and messages say `python -m crowd serve`; what is printed passes through `as_typed`, which says `seedvote
crowd serve` to whoever typed that.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
CHECKOUT = PACKAGE.parent


def shipped(name: str) -> Path:
    """`examples/votes.csv` or `CITATION.cff`, as a file of this installation."""
    installed = PACKAGE / "shipped" / name
    return installed if installed.exists() else CHECKOUT / name


def is_checkout() -> bool:
    """Whether this code runs from its checkout, where `make setup` is the way to install what is missing."""
    return (CHECKOUT / "pyproject.toml").is_file()


COMMAND = "seedvote"
PACKAGES = ("analysis", "crowd", "dialogue", "evaluators", "generation", "probes")
_RULES = (
    (rf"python -m {COMMAND}", COMMAND),
    (r"python analyze_ties\.py", f"{COMMAND} ties"),
    (r"python -m analysis (?=[a-z])", f"{COMMAND} "),  # the questions are commands of their own
    (rf"python -m (?={'|'.join(PACKAGES)})", f"{COMMAND} "),
)


def is_installed_command() -> bool:
    """Whether this process was started as `seedvote`."""
    return Path(sys.argv[0]).stem == COMMAND


def as_typed(text: str) -> str:
    """The text with its commands as this person types them."""
    if is_installed_command():
        for form, words in _RULES:
            text = re.sub(form, words, text)
    return text
