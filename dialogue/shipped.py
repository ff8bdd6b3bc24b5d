"""Files of the checkout's root that commands need: where they are in a checkout, and where in an installed package."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent


def shipped(name: str) -> Path:
    """`examples/votes.csv` or `CITATION.cff`, as a file of this installation."""
    installed = PACKAGE / "shipped" / name
    return installed if installed.exists() else CHECKOUT / name


def is_checkout() -> bool:
    """Whether this code runs from its checkout, where `make setup` is the way to install what is missing."""
    return (CHECKOUT / "pyproject.toml").is_file()
