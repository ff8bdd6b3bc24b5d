"""Commands in the words of whoever types them: `python -m crowd serve` in a checkout, `seedvote crowd serve` installed.

Code, help and messages are written in the first form; what is printed passes through `as_typed`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

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
