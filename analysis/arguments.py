"""What a question is asked with: its options, those that many share, and how its result is handed over.

A `Question` is a command as well: the table `analysis.questions.table` has them all. Light, so that --help is quick.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import next_command, repeat_options
from seedvote.dialogue.shell.wording import as_typed

if TYPE_CHECKING:
    from seedvote.analysis.showing.result import Result
    from seedvote.analysis.votes.votes import Votes

FLAG = "store_true"
DELIVERED = ("figure", "latex")  # what is drawn or written of a result, whatever the question


@dataclass(frozen=True)
class Option:
    """How one option is typed, and what the function of the question takes for it; a name without dashes is a place."""

    name: str
    help: str
    default: Any = None
    metavar: str | tuple[str, ...] | None = None
    kind: Callable[[str], Any] | None = None
    choices: Sequence[Any] | None = None
    nargs: str | None = None
    action: Any = None
    convert: Callable[[Any], Any] = lambda value: value
    keyword: str = ""  # of the function, where it is another name
    otherwise: Callable[[argparse.Namespace], Any] | None = None  # what to take where nothing was typed

    @property
    def typed(self) -> str:
        """Its name among parsed arguments."""
        return self.name.lstrip("-").replace("-", "_")

    @property
    def is_place(self) -> bool:
        """Whether it stands by its place."""
        return not self.name.startswith("-")

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        """Let the parser read it."""
        words = {
            "help": self.help,
            "default": self.default,
            "metavar": self.metavar,
            "type": self.kind,
            "choices": self.choices,
            "nargs": self.nargs,
            "action": self.action,
        }
        parser.add_argument(self.name, **{word: value for word, value in words.items() if value is not None})

    def value(self, args: argparse.Namespace) -> Any:
        """What the function takes; None where nothing was typed and the function's own default holds."""
        value = getattr(args, self.typed)
        is_typed = not (value is None or value is self.absent or value in ("", []))
        if is_typed:
            return self.convert(value)
        return self.otherwise(args) if self.otherwise else None

    @property
    def absent(self) -> Any:
        """What a flag is that was not typed; `--no-careful` is something else."""
        return False if self.action == FLAG else None


@dataclass(frozen=True)
class Question:
    """One question to the data: a command, and in a notebook the function `function` of the module `home`.

    `reported` is the key of its section and of its numbers in report.json, where the module has `in_report`; `unknown`
    is what its section says where the study's files give no answer. By an empty one it has no section then; by None the
    error ends the report.
    """

    name: str
    title: str
    about: str
    home: str  # within analysis.questions
    options: tuple[Option, ...]
    follow: Callable[[argparse.Namespace, Result], str]  # the command to type next
    function: str = ""  # of the same name, unless it says otherwise
    check: Callable[[argparse.Namespace], object] | None = None  # of options that exclude each other
    in_notebook: bool = True
    spreads: bool = False  # whether its place is many arguments of the function
    reported: str = ""
    unknown: str | None = None

    def __str__(self) -> str:
        return self.title

    @property
    def module(self) -> Any:
        """The file that answers it, imported when it is needed."""
        return importlib.import_module(f"seedvote.analysis.questions.{self.home}")

    @property
    def ask(self) -> Callable[..., Result]:
        """The function, imported when it is needed."""
        function: Callable[..., Result] = getattr(self.module, self.function or self.name)
        return function

    @property
    def is_on_votes(self) -> bool:
        """Whether judges may stand among its raters."""
        return WITH_JUDGES in self.options

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Every option, and --json."""
        add_options(parser, *self.options, JSON)

    def run(self, args: argparse.Namespace) -> None:
        """Ask, and print what was found."""
        if self.check:
            self.check(args)
        values = [(option, option.value(args)) for option in self.options if option.typed not in DELIVERED]
        places = [value for option, value in values if option.is_place]
        places = places[0] if self.spreads else places
        options = {option.keyword or option.typed: value for option, value in values if not option.is_place}
        result = self.ask(*places, **{name: value for name, value in options.items() if value is not None})
        deliver(args, result, then=self.follow(args, result))


def add_options(parser: argparse._ActionsContainer, *options: Option) -> None:
    """Let the parser read these options."""
    for option in options:
        option.add_to(parser)


def split_names(text: str) -> list[str]:
    """Names joined by commas.

    >>> split_names("jga, success,")
    ['jga', 'success']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def read_columns(text: str) -> list[tuple[str, str]]:
    """`OURS=THEIRS,...` of --columns."""
    from seedvote.dialogue.importing.reading import parse_names

    return parse_names(text, "--columns")


def read_values(text: str) -> list[tuple[str, str]]:
    """`OURS=THEIRS,...` of --values."""
    from seedvote.dialogue.importing.reading import parse_names

    return parse_names(text, "--values")


VOTES = Option("votes", "a table (CSV, JSON, Excel, Parquet, ...), or a STUDY", metavar="VOTES", kind=Path)
QUESTION = Option("--question", "which of several questions, which are never pooled", metavar="NAME")
UNVERIFIED = Option(
    "--unverified",
    "votes of visits that no marketplace has confirmed: without them, them alone, or both together (default: without, "
    "and refused where that would not be said)",
    choices=("out", "only", "with"),
)
WITH_JUDGES = Option(
    "--with-judges",
    "treat votes of judges as raters' (default: refuse them), and say so in every table",
    action=FLAG,
)
READING = (
    Option(
        "--columns",
        "names of columns, e.g. pair=item,rater=worker,left=-",
        "",
        "OURS=THEIRS,...",
        convert=read_columns,
    ),
    Option(
        "--values",
        "names of choices, e.g. a=left,b=right,tie=same",
        "",
        "OURS=THEIRS,...|FILE",
        convert=read_values,
    ),
    Option("--from", "the tool that wrote the table (default: what its columns say)", metavar="TOOL", keyword="tool"),
    Option("--wide", "one row a person: KEY says what each column compares", metavar="KEY"),
    Option("--explode", "a column of lists: one row for each element", metavar="COLUMN"),
    QUESTION,
    Option("--uncounted", "use late votes and those of blocked raters too", action=FLAG),
    UNVERIFIED,
    WITH_JUDGES,
)
CLUSTERS = Option(
    "--clusters",
    "which votes hang together, for every interval and p: auto (default: votes on one dialogue and votes of one rater; "
    "by pair where each dialogue has one pair), dialogue+rater, item+rater, pair+rater, dialogue, item, pair, rater, "
    "or vote (none do)",
    default="auto",
    choices=("auto", "dialogue+rater", "item+rater", "pair+rater", "dialogue", "item", "pair", "rater", "vote"),
    metavar="WAYS",
)
PEOPLE = (
    Option(
        "--raters",
        "a table of people, joined by their ids, e.g. Prolific's demographic export",
        metavar="TABLE",
    ),
    Option("--by", "its column that makes the groups; under 5 people are hidden", "", "COLUMN"),
)
FIGURE = Option("--figure", "write STEM.png and STEM.pdf", metavar="STEM")
LATEX = Option("--latex", "write the tables for a paper", metavar="FILE", kind=Path)
JSON = Option("--json", "write the numbers as JSON too (- for standard output, alone)", metavar="FILE")
STATED = tuple(option.typed for option in READING)
STATED_OF_STUDY = ("with_judges", "unverified", "question")  # also of the votes of a study folder


def draws(help: str) -> Option:
    """--figure of a question that draws something else."""
    return Option(FIGURE.name, help, metavar=FIGURE.metavar)


def read_votes_of(args: argparse.Namespace, **options: Any) -> Votes:
    """The votes that VOTES and READING describe; `options` go to `votes_of`."""
    from seedvote.analysis.votes.inputs import votes_of

    return votes_of(args.votes, **reading(args), **options)


def reading(args: argparse.Namespace) -> dict[str, Any]:
    """How votes are to be read, as the functions of `analysis.notebook` take it."""
    values = {option.keyword or option.typed: option.value(args) for option in READING}
    return {name: value for name, value in values.items() if value is not None}


def study_beside(votes: Path) -> Path | None:
    """The study folder that votes belong to, if they lie in one under their own name."""
    folder = votes if votes.is_dir() else votes.parent
    return folder if (folder / "pairs.jsonl").exists() and (votes.is_dir() or votes.name == "votes.jsonl") else None


def repeat_clusters(args: argparse.Namespace) -> list[str]:
    """`--clusters` as it would be typed again, so that the next command draws the same anew; the default needs none."""
    return [] if args.clusters == CLUSTERS.default else ["--clusters", args.clusters]


def follow_with(command: str, place: str, *names: str) -> Callable[[argparse.Namespace, Result], str]:
    """The next command is this one, with that argument and the options of these names that were typed."""

    def follow(args: argparse.Namespace, result: Result) -> str:
        del result
        words = [
            word
            for name in names
            for word in (repeat_clusters(args) if name == "clusters" else repeat_options(args, name))
        ]
        return next_command(f"python -m analysis {command}", getattr(args, place), *words)

    return follow


def deliver(args: argparse.Namespace, result: Result, *, then: str = "") -> None:
    """Print the text for people with the command to type next; write the files that are asked for.

    Where standard output is for programs, how the table was read and what was left out of it goes to standard error.
    """
    from seedvote.dialogue.files import write_json

    if getattr(args, "latex", None):
        result.write_latex(args.latex)
    if getattr(args, "figure", None):
        result.plot().save(args.figure)
    if args.json == "-":
        json.dump(result.document, sys.stdout, ensure_ascii=False, indent=1, allow_nan=False)
        sys.stdout.write("\n")
        sys.stderr.writelines(f"{line}\n" for line in result.read)
        return
    if args.json:
        write_json(args.json, result.document)
    written = f"\n\nWritten: {result.written}" if result.written else ""
    sys.stdout.write(as_typed(f"{result}{written}".rstrip("\n")) + "\n")
    if then:
        sys.stdout.write(f"Next: {as_typed(then)}\n")


# Options out of their range: each is refused in a sentence before anything is read


def check_ranges(values: Mapping[str, Any], **ranges: tuple[float, float]) -> None:
    """Refuse a number below the first or not below the second bound given for it; None is no number yet."""
    for name, (least, under) in ranges.items():
        value = values[name]
        if value is not None and not least <= value < under:
            above = "" if under == math.inf else f" and under {under:g}"
            raise InputError(f"--{name.replace('_', '-')} is {value:g}; it must be at least {least:g}{above}.")


def check_margin(margin: float | None) -> None:
    """Refuse a margin of equivalence that is no net preference between 0 and 1; None is no margin stated."""
    if margin is not None and not 0 < margin < 1:
        unit = "point" if margin == 1 else "points"
        points = f" For {margin:g} {unit} write --margin {margin / 100:g}." if 1 <= margin < 100 else ""
        raise InputError(f"--margin is {margin:g}; it is a net preference between 0 and 1.{points}")


def check_help(
    correlation: float | None,
    unlabelled: int | None,
    rater_share: float | None,
    price: float | None,
    verdict_price: float | None,
) -> None:
    """Refuse half of what a plan with a judge needs."""
    if (correlation is None) != (unlabelled is None):
        raise InputError("A plan with a judge needs both --judge-correlation R and --unlabelled N.")
    for name, value in (("--rater-share", rater_share), ("--verdict-price", verdict_price)):
        if value is not None and correlation is None:
            raise InputError(f"{name} is about a judge: give --judge-correlation R and --unlabelled N too.")
    if verdict_price is not None and price is None:
        raise InputError("--verdict-price is held against the votes it spares: give their --price DOLLARS too.")
