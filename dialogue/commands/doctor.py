"""Show the versions, fonts, browsers and databases of this machine: what is missing, and how to get it.

Ends with 1 where something is missing that Seedvote needs. Paste what it prints into an issue: it names no study, no
password and no home folder.

Example: python -m dialogue doctor
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from urllib.parse import urlsplit

from seedvote.dialogue.jobs import cores
from seedvote.dialogue.shell.command_line import requirement_lines, tell_next
from seedvote.dialogue.shell.wording import CHECKOUT, COMMAND, is_checkout
from seedvote.dialogue.signature import VERSION

_STAGES = {"core": "analysis", "rate": "rating page", "markets": "Mechanical Turk", "models": "models and probes"}
_BROWSERS = (
    ("chromium", "chromium-headless-shell", "google-chrome"),
    ("firefox-esr", "firefox"),
)  # by engine
_FONT_FILE = "mpl-data/fonts/ttf/DejaVuSans.ttf"
_DATABASE = "SEEDVOTE_DATABASE"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace) -> int:  # noqa: ARG001 (every command has it)
    """One line a thing; below those that are missing, what to type."""
    is_whole = True
    for row in examine_machine():
        print(f"{row.name:<18} {row.finding}")
        if row.remedy:
            print(f"{'':<18} -> {row.remedy}")
            is_whole = is_whole and not row.is_needed
    print("Everything that Seedvote needs is here." if is_whole else "Something is missing: see the arrows.")
    tell_next("python -m dialogue examples")
    return 0 if is_whole else 1


@dataclass(frozen=True)
class Examination:
    """One thing that was looked at: its name, what was found, and what to type where something is missing."""

    name: str
    finding: str
    remedy: str = ""
    is_needed: bool = True  # whether Seedvote does less without it


def examine_machine() -> Iterator[Examination]:
    """Look at everything, in the order of a study."""
    yield Examination("Seedvote", f"{VERSION}, {_install_origin()}")
    yield Examination("Python", f"{platform.python_version()} at {_without_home(sys.executable)}")
    yield Examination("machine", f"{platform.system()} {platform.release()}, {platform.machine()}, {_free_space()}")
    for part, stage in _STAGES.items():
        yield examine_packages(part, stage)
    yield examine_fonts()
    yield examine_browser()
    yield examine_database()
    yield examine_port()


def examine_packages(part: str, stage: str) -> Examination:
    """The packages of one extra, with their versions; those that are missing or too old."""
    wanted = {name: bound for name, bound, parts in required_packages() if part in parts}
    versions = {name: _installed_version(name) for name in wanted}
    missing = [name for name, version in versions.items() if version is None]
    old = [
        f"{name} is {version}, {wanted[name]} or later is needed"
        for name, version in versions.items()
        if version is not None and _version_numbers(version) < _version_numbers(wanted[name])
    ]
    present = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    if not missing and not old:
        return Examination(stage, present)
    finding = "; ".join([*([f"missing: {', '.join(missing)}"] if missing else []), *old])
    extra = "" if part == "core" else f"[{part}]"
    remedy = "make setup" if is_checkout() else f"pip install --upgrade '{COMMAND}{extra}'"
    return Examination(stage, finding + (f"; there: {present}" if present else ""), remedy, not extra or is_checkout())


def required_packages() -> Iterator[tuple[str, str, set[str]]]:
    """(package, lowest version, who needs it: `core` and extras) of every requirement."""
    rows: dict[str, tuple[str, set[str]]] = {}
    for line in requirement_lines():
        match = re.match(r"([\w.-]+)(?:\[[\w,]+\])?\s*>=\s*([\w.]+)", line)
        if not match:
            continue
        extra = re.search(r"extra == ['\"](\w+)['\"]", line)
        rows.setdefault(match[1], (match[2], set()))[1].add(extra[1] if extra else "core")
    return ((name, bound, parts) for name, (bound, parts) in rows.items())


def examine_fonts() -> Examination:
    """The font of the pictures, which comes with matplotlib."""
    spec = util.find_spec("matplotlib")
    if spec is None or spec.origin is None:
        return Examination("font", "comes with matplotlib, which is missing", _install_command())
    if (Path(spec.origin).parent / _FONT_FILE).is_file():
        return Examination("font", "DejaVu Sans, from matplotlib")
    return Examination("font", "DejaVu Sans is missing from matplotlib", "pip install --force-reinstall matplotlib")


def examine_browser() -> Examination:
    """A browser for the rating page and the tests, and the driver of the tests where it is installed."""
    paths = [next((path for name in names if (path := shutil.which(name))), "") for names in _BROWSERS]
    versions = [version for path in paths if path and (version := _first_line(path, "--version"))]
    if util.find_spec("playwright") and not _first_line(sys.executable, "-m", "playwright", "--version"):
        return Examination("browser", "Playwright's driver does not start", "apt-get install libatomic1", False)
    if not versions:
        finding = "none on PATH; only the browser tests and `--open` need one here"
        return Examination("browser", finding, "apt-get install chromium", False)
    return Examination("browser", ", ".join(versions))


def examine_database() -> Examination:
    """SQLite, which comes with Python, and PostgreSQL where its address is set."""
    sqlite = f"SQLite {sqlite3.sqlite_version}"
    address = os.environ.get(_DATABASE, "")
    if not address.startswith("postgresql"):
        return Examination("database", f"{sqlite}; {_DATABASE} names no PostgreSQL")
    parts = urlsplit(address)
    try:
        with socket.create_connection((parts.hostname or "localhost", parts.port or 5432), timeout=5):
            return Examination("database", f"{sqlite}; the PostgreSQL of {_DATABASE} answers")
    except OSError as error:
        finding = f"{sqlite}; the PostgreSQL of {_DATABASE} does not answer ({error.strerror or error})"
        return Examination("database", finding, f"start it, or correct {_DATABASE}")


def examine_port() -> Examination:
    """Whether a server may listen on this machine."""
    try:
        with socket.create_server(("127.0.0.1", 0)):
            return Examination("local server", "may listen on 127.0.0.1")
    except OSError as error:
        return Examination("local server", f"may not listen on 127.0.0.1 ({error.strerror})", "allow local servers")


def _install_command() -> str:
    return "make setup" if is_checkout() else f"pip install --upgrade {COMMAND}"


def _install_origin() -> str:
    if not is_checkout():
        return "installed"
    commit = _first_line("git", "-C", str(CHECKOUT), "rev-parse", "--short", "HEAD")
    return f"a checkout at {commit}" if commit else "a checkout"


def _without_home(path: str) -> str:
    home = str(Path.home())
    return f"~{path[len(home) :]}" if len(home) > 1 and path.startswith(f"{home}/") else path


def _free_space() -> str:
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    return f"{cores()} cores, {free:.0f} GB free here"


def _installed_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, as far as it has only numbers.

    >>> _version_numbers("2.13.0+cpu") > _version_numbers("2.9"), _version_numbers("3.0") == _version_numbers("3")
    (True, True)
    """
    numbers = [int(word) for word in re.findall(r"\d+", re.split(r"[^\d.]", version)[0])]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _first_line(*command: str) -> str:
    """The first line that a program writes, or nothing where it does not end well."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip().partition("\n")[0].strip()
