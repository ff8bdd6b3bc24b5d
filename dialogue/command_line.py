"""One face for every command: light help, errors as sentences, exit codes 0 (done), 2 (bad input), 130 (stopped).

A package's __main__.py gives a table of its commands; only the module of the command that was typed is imported, and
that module imports what is heavy inside `run`, so that any --help answers at once.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, Protocol, cast

from dialogue.errors import InputError


class CommandModule(Protocol):
    """What a file in a package's commands/ folder offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int | None: ...


def dispatch(package: str, about: str, commands: Mapping[str, str], argv: Sequence[str]) -> int:
    """Run `python -m package COMMAND ...`; `commands` maps each name to its one-line help.

    The command `plan-checks` lives in `package/commands/plan_checks.py`.
    """
    listing = "\n".join(f"  {name:<{max(map(len, commands))}}  {text}" for name, text in commands.items())
    parser = argparse.ArgumentParser(
        prog=f"python -m {package}",
        description=about,
        epilog=f"commands:\n{listing}\n\nEach command explains itself: python -m {package} COMMAND --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=list(commands), metavar="COMMAND")
    if not argv:
        parser.print_help()
        return 2
    name = parser.parse_args(argv[:1]).command
    module = cast(CommandModule, importlib.import_module(f"{package}.commands.{name.replace('-', '_')}"))
    own = argparse.ArgumentParser(
        prog=f"python -m {package} {name}",
        description=module.__doc__ or commands[name],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(own)
    return module.run(own.parse_args(argv[1:])) or 0


def exit_with(main: Callable[[], int | None]) -> NoReturn:
    """Run a command and leave with its exit code; bad input is one sentence on standard error, never a traceback."""
    try:
        code = main() or 0
        sys.stdout.flush()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        print("\nStopped. What was done is kept; run the same command again to go on.", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)
