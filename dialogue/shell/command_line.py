"""One face for every command: light help, errors as sentences, exit codes 0 (done), 1 (not all of it was done),
2 (bad input), 130 (stopped).

A package's __main__.py gives a table of its commands; only the module of the command that was typed is imported, and
that module imports what is heavy inside `run`, so that any --help answers at once. Where a package that a command
needs is not installed, a sentence says what to type.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NoReturn, Protocol, cast

from seedvote.dialogue.errors import InputError, Unclear, unusable
from seedvote.dialogue.shell import stopping
from seedvote.dialogue.shell.progress import watched
from seedvote.dialogue.shell.wording import CHECKOUT, COMMAND, as_typed, is_checkout

_PACKAGE_OF = {"sklearn": "scikit-learn", "hydra": "hydra-core"}  # imported by another name than installed by
# Which extra a command asks for, where a package stands in several.
_EXTRA_OF = {"generation": "models", "probes": "models", "evaluators": "models", "crowd": "rate"}
_UNADVISED = ("all", "analyse", "dev", "mephisto", "probe", "train")  # bring more than a stage, or are former names
_SET_UP = ("rate", "markets", "models")  # the extras of `make setup`


class Parser(argparse.ArgumentParser):
    """Help and complaints name commands as they were typed."""

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(as_typed(message), file)


class CommandModule(Protocol):
    """What a file in a package's commands/ folder offers, and whatever else is a command; its help is `about`, or the
    docstring of the file.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int | None: ...


def dispatch(
    package: str, about: str, commands: Mapping[str, str | CommandModule], argv: Sequence[str], *, first: str = ""
) -> int:
    """Run `python -m package COMMAND ...`; `commands` maps names to one-line helps, `first` is a command to begin with.

    The command `plan-checks` lives in `package/commands/plan_checks.py`, or is itself in the table.
    """
    if TYPED in os.environ and not argv:
        return _offer_lines(f"{name}\t{text}" for name, text in commands.items() if name.startswith(os.environ[TYPED]))
    listing = "\n".join(f"  {name:<{max(map(len, commands))}}  {text}" for name, text in commands.items())
    parser = Parser(
        prog=as_typed(f"python -m {package}"),
        description=about,
        epilog=f"commands:\n{listing}\n\nHelp on one command: python -m {package} COMMAND --help"
        + (f"\nNext: {first}" if first else ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=list(commands), metavar="COMMAND")
    if not argv:
        parser.print_help()
        return 2
    name = parser.parse_args(argv[:1]).command
    return run_command(find_command(package, name, commands), f"python -m {package} {name}", argv[1:])


def find_command(package: str, name: str, commands: Mapping[str, str | CommandModule]) -> CommandModule:
    """The command of this name: what the table holds, or the file that bears its name."""
    command = commands[name]
    if not isinstance(command, str):
        return command
    return cast(CommandModule, importlib.import_module(f"seedvote.{package}.commands.{name.replace('-', '_')}"))


def run_command(module: CommandModule, prog: str, argv: Sequence[str]) -> int:
    """Run one command; while the shell completes a line, say instead what may stand there."""
    parser = parser_of(module, prog)
    if TYPED in os.environ:
        return _offer_lines(candidates(parser, argv, os.environ[TYPED]))
    try:
        args = parser.parse_args(argv)
        # A command that runs until it is stopped (LASTING) is not on its way anywhere, and --json is for programs.
        silent = getattr(module, "LASTING", False) or getattr(args, "json", False)
        with nullcontext() if silent else watched(prog.split()[-1].removesuffix(".py")):
            return module.run(args) or 0
    except Unclear as error:
        raise InputError("\n".join([error.sentence, *_type_again(prog, argv, error.ways, error.results)])) from error


def _type_again(
    prog: str, argv: Sequence[str], ways: Sequence[Mapping[str, str]], results: Sequence[str] = ()
) -> list[str]:
    """The whole command again for each way of settling a doubt, ready to be pasted; its result is a comment.

    >>> _type_again("python -m analysis ties", ["v.csv", "--columns", "pair=id"], [{"--columns": "choice=q 1"}])
    ["Type: python -m analysis ties v.csv --columns 'pair=id,choice=q 1'"]
    """
    from seedvote.dialogue.importing.reading import merge_typed

    typed = []
    for way in ways:
        words = [
            word
            for argument in argv
            for word in (argument.split("=", 1) if argument.split("=")[0] in way else [argument])
        ]
        for option, text in way.items():
            if option in words[:-1]:
                at = words.index(option) + 1
                words[at] = merge_typed(words[at], text, option) if option in ("--columns", "--values") else text
            else:
                words += [option, text]
        typed.append(next_command(prog, *words))
    comments = [f"  # {result}" if result else "" for result in results or [""] * len(typed)]
    return [f"{'  or' if k else 'Type'}: {command}{comments[k]}" for k, command in enumerate(typed)]


def _offer_lines(lines: Iterable[str]) -> int:
    for line in lines:
        print(line)
    return 0


def parser_of(module: CommandModule, prog: str) -> argparse.ArgumentParser:
    """The command's parser; its file's docstring is the help."""
    about = getattr(module, "about", module.__doc__)
    parser = Parser(prog=as_typed(prog), description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    module.add_arguments(parser)
    return parser


def tell_next(command: str, *words: object, aside: bool = False) -> None:
    """Print the command to type next, ready to be pasted; `aside`, on standard error, where the output is for programs.

    >>> tell_next("python -m crowd export", "runs/my study")
    Next: python -m crowd export 'runs/my study'
    """
    print(f"Next: {next_command(command, *words)}", file=sys.stderr if aside else sys.stdout)


def next_command(command: str, *words: object) -> str:
    """The command with its words, quoted for the shell where they need it."""
    return " ".join([as_typed(command), *(shlex.quote(str(word)) for word in words)])


def repeat_options(args: argparse.Namespace, *names: str) -> list[str]:
    """Those of the options that were given, as they would be typed again.

    >>> args = argparse.Namespace(corpus="my corpus", uncounted=True, database=None)
    >>> repeat_options(args, "corpus", "uncounted", "database")
    ['--corpus', 'my corpus', '--uncounted']
    """
    values = [(f"--{name.replace('_', '-')}", getattr(args, name)) for name in names]
    return [word for option, value in values if value for word in ([option] if value is True else [option, str(value)])]


def refuse_below(args: argparse.Namespace, **least: float) -> None:
    """Refuse options (None where they were not given) that are smaller than makes sense, or no number.

    >>> refuse_below(argparse.Namespace(limit=None, batch_size=8), limit=1, batch_size=1)
    """
    for name, bound in least.items():
        value = getattr(args, name)
        if value is not None and not value >= bound:
            raise InputError(f"--{name.replace('_', '-')} is {value}; it must be at least {bound}.")


def add_tool_calls(parser: argparse.ArgumentParser) -> None:
    """What becomes of calls of tools in chat messages that are read."""
    parser.add_argument(
        "--tool-calls",
        choices=("show", "drop"),
        default="",
        help="calls of tools, and what the tools gave: shown to raters or left out (asked where a file holds some)",
    )


def exit_with(main: Callable[[], int | None]) -> NoReturn:
    """Run a command and leave with its exit code; bad input is one sentence on standard error, never a traceback."""
    stopping.heed()
    try:
        code = _unless_stopped(main)
    except InputError as error:
        print(f"error: {as_typed(str(error))}", file=sys.stderr)
        code = 2
    except ModuleNotFoundError as error:
        if not (sentence := _missing_package(error.name or "")):
            raise
        print(f"error: {sentence}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        print(f"\n{stopping.SENTENCE}", file=sys.stderr)
        code = stopping.STOPPED
    except BrokenPipeError:
        # `command | head` is no error. Python would complain once more when it closes standard output, so that goes
        # nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        if not error.filename:
            raise
        print(f"error: {unusable(error)}", file=sys.stderr)
        code = 2
    sys.exit(code)


def _unless_stopped(main: Callable[[], int | None]) -> int:
    """Run it; after Ctrl-C nothing else that goes wrong is worth a word."""
    try:
        code = main() or 0
        sys.stdout.flush()
    except BaseException:
        if stopping.is_asked():
            stopping.leave()
        raise
    return code


def _missing_package(module: str) -> str | None:
    """The sentence for a module of a requirement; none for modules of ours and for optional packages."""
    top = module.partition(".")[0]
    package = _PACKAGE_OF.get(top, top)
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
        return [*project["dependencies"], *(f"{line}; extra == '{name}'" for name in _SET_UP for line in extras[name])]

    try:
        return metadata.requires(COMMAND) or []
    except metadata.PackageNotFoundError:
        return []


def _name_extra(wanted: list[str]) -> str:
    """`[rate]` where the extra `rate` brings the package; nothing where every installation does."""
    names = [match[1] for line in wanted if (match := re.search(r"extra == ['\"](\w+)['\"]", line))]
    names = [name for name in names if name not in _UNADVISED]
    command_extra = _EXTRA_OF.get(next((word for word in sys.argv[1:] if not word.startswith("-")), ""), "")
    if command_extra in names:
        return f"[{command_extra}]"
    if not all("extra ==" in line for line in wanted):
        return ""
    return f"[{next(iter(names), 'all')}]"


# What may stand where a command line is being typed: the shell asks, the command's own parser answers.
#
# `python -m dialogue completion SHELL` prints the few lines that ask. They run the line as far as it is typed, with the
# word under the cursor in the environment; the command then says what fits, a `word<tab>help` a line, and does nothing.

TYPED = "SEEDVOTE_COMPLETE"


def candidates(parser: argparse.ArgumentParser, before: Sequence[str], typed: str) -> list[str]:
    """The words that begin as typed; none where a file or free text is expected, which the shell completes itself.

    >>> parser = argparse.ArgumentParser(add_help=False)
    >>> _ = parser.add_argument("--preset", choices=["small", "paper"], help="sizes")
    >>> candidates(parser, ["runs/mine"], "--p"), candidates(parser, ["runs/mine", "--preset"], "s")
    (['--preset\\tsizes'], ['small\\t'])
    """
    asking = parser._option_string_actions.get(before[-1]) if before else None
    if asking is not None and asking.nargs != 0:
        words = _list_choices(asking)
    elif typed.startswith("-"):
        words = _list_options(parser, before)
    else:
        words = (word for action in parser._get_positional_actions() for word in _list_choices(action))
    return [word for word in words if word.startswith(typed)]


def _list_choices(action: argparse.Action) -> Iterator[str]:
    return (f"{choice}\t" for choice in action.choices or ())


def _list_options(parser: argparse.ArgumentParser, before: Sequence[str]) -> Iterator[str]:
    """Options with their help, without those that stand there already and those that are not for people."""
    # argparse has no public way to list its options.
    for action in parser._get_optional_actions():
        again = isinstance(action, argparse._AppendAction) or not set(action.option_strings) & set(before)
        if again and action.help is not argparse.SUPPRESS:
            yield f"{action.option_strings[-1]}\t{action.help or ''}"
