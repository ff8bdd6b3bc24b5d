"""What to type where a package that a command needs is not installed."""

from __future__ import annotations

import re
import sys

from dialogue.shipped import CHECKOUT, is_checkout
from dialogue.wording import COMMAND

PACKAGE_OF = {"sklearn": "scikit-learn", "hydra": "hydra-core"}  # imported by another name than installed by
# Which extra a command asks for, where a package stands in several.
EXTRA_OF = {"generation": "train", "probes": "probe", "crowd": "rate"}


def missing_package(module: str) -> str | None:
    """The sentence for a module of a requirement; none for modules of ours and for optional packages."""
    top = module.partition(".")[0]
    package = PACKAGE_OF.get(top, top)
    lines = _required()
    wanted = [line for line in lines if re.match(rf"{re.escape(package)}\b", line, re.IGNORECASE)] if package else []
    if not wanted:
        return None
    if is_checkout():
        return (
            f"{package} is not installed for {sys.executable}. Type `make setup`, then `. .venv/bin/activate` "
            "(without make: pip install -r requirements.txt -c constraints.txt), and run the command again."
        )
    extra = _extra(wanted)
    return (
        f"{package} is not installed for {sys.executable}. Type: pip install '{COMMAND}[{extra}]' (with pipx or uv, in "
        f"the checkout: pipx install --force '.[{extra}]' or uv tool install '.[{extra}]'), and run the command again."
    )


def _required() -> list[str]:
    """The lines of requirements.txt, or what the installed package says of itself."""
    if is_checkout():
        return (CHECKOUT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    from importlib import metadata  # a fifth of what a command's start takes, and needed after a failure alone

    try:
        return metadata.requires(COMMAND) or []
    except metadata.PackageNotFoundError:
        return []


def _extra(wanted: list[str]) -> str:
    named = [found[1] for line in wanted if (found := re.search(r"extra == ['\"](\w+)['\"]", line))]
    asked = EXTRA_OF.get(next((word for word in sys.argv[1:] if not word.startswith("-")), ""), "analyse")
    return asked if asked in named else next((name for name in named if name != "all"), "all")
