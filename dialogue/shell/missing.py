"""What to type where a package that a command needs is not installed."""

from __future__ import annotations

import re
import sys

from seedvote.dialogue.shell.wording import COMMAND
from seedvote.dialogue.shipped import CHECKOUT, is_checkout

PACKAGE_OF = {"sklearn": "scikit-learn", "hydra": "hydra-core"}  # imported by another name than installed by
# Which extra a command asks for, where a package stands in several.
EXTRA_OF = {"generation": "models", "probes": "models", "evaluators": "models", "crowd": "rate"}
UNADVISED = ("all", "analyse", "dev", "mephisto", "probe", "train")  # bring more than a stage, or are former names
SET_UP = ("rate", "markets", "models")  # the extras of `make setup`


def missing_package(module: str) -> str | None:
    """The sentence for a module of a requirement; none for modules of ours and for optional packages."""
    top = module.partition(".")[0]
    package = PACKAGE_OF.get(top, top)
    lines = requirement_lines()
    wanted = [line for line in lines if re.match(rf"{re.escape(package)}\b", line, re.IGNORECASE)] if package else []
    if not wanted:
        return None
    if is_checkout():
        return (
            f"{package} is not installed for {sys.executable}. Type `make setup`, then `. .venv/bin/activate` "
            "(without make: pip install -r requirements.txt -c constraints.txt), and run the command again."
        )
    extra = _name_extra(wanted)
    return (
        f"{package} is not installed for {sys.executable}. Type: pip install '{COMMAND}{extra}' (with pipx or uv, in "
        f"the checkout: pipx install --force '.{extra}' or uv tool install '.{extra}'), and run the command again."
    )


def requirement_lines() -> list[str]:
    """What pyproject.toml says, or the installed package of itself: `flask>=3.0; extra == 'rate'`."""
    # Both are a fifth of what a command's start takes, and needed after a failure alone.
    import tomllib
    from importlib import metadata

    if is_checkout():
        project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = project["optional-dependencies"]
        return [*project["dependencies"], *(f"{line}; extra == '{name}'" for name in SET_UP for line in extras[name])]

    try:
        return metadata.requires(COMMAND) or []
    except metadata.PackageNotFoundError:
        return []


def _name_extra(wanted: list[str]) -> str:
    """`[rate]` where the extra `rate` brings the package; nothing where every installation does."""
    names = [match[1] for line in wanted if (match := re.search(r"extra == ['\"](\w+)['\"]", line))]
    names = [name for name in names if name not in UNADVISED]
    command_extra = EXTRA_OF.get(next((word for word in sys.argv[1:] if not word.startswith("-")), ""), "")
    if command_extra in names:
        return f"[{command_extra}]"
    if not all("extra ==" in line for line in wanted):
        return ""
    return f"[{next(iter(names), 'all')}]"
