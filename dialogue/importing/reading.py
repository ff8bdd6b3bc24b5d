"""What people state about a table, what it was taken for, and which of its questions is read.

Names are typed as `--columns ours=theirs,...` and `--values ours=theirs,...`, or as a file of such pairs. A name that
holds a comma, or spaces at its ends, stands in quotes: `tie="Same, really"`. `left=-` takes no column.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import RawTable, cell_text

IGNORED = "-"  # as the name of a column: there is none
PART = re.compile(r"""\s*([^=,"']*?)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^,]*?))\s*(?:,|$)""")

NO_VOTE = re.compile(r"""\s*(?:"([^"]*)"|([^=,"]*?))\s*=\s*-\s*(?:,|$)""")  # of --values: a word that is no vote
Names = Mapping[str, str] | Iterable[tuple[str, str]]  # ours -> theirs


def parse_names(text: str, option: str) -> list[tuple[str, str]]:
    """Read `ours=theirs,...`, or the file of that name.

    >>> parse_names('pair=item,tie="Same, really"', "--columns")
    [('pair', 'item'), ('tie', 'Same, really')]
    >>> parse_names("I don't know=-", "--values")
    [("I don't know", '-')]
    """
    if "=" not in text and text.strip() and Path(text).is_file():
        return read_names(Path(text), option)
    pairs, at = [], 0
    while at < len(text):
        if not text[at:].strip(" ,"):
            break
        if none := NO_VOTE.match(text, at):
            pairs.append((none[1] or none[2] or "", IGNORED))
            at = none.end()
            continue
        part = PART.match(text, at)
        if part is None or not part[1]:
            raise InputError(
                f"{option} has {text[at:].split(',')[0].strip()!r}; write OURS=THEIRS, separated by commas, e.g. "
                f"{'a=left,b=right' if option == '--values' else 'pair=item,rater=worker'} (quotes around a name with "
                "a comma), or the name of a file with the columns ours and theirs."
            )
        pairs.append((part[1], next((name for name in part.groups()[1:] if name is not None), "")))
        at = part.end()
    return pairs


def read_names(path: Path, option: str) -> list[tuple[str, str]]:
    """A table with the columns `ours` and `theirs`; or a JSON object, ours to theirs or to a list of theirs."""
    table = read_table(path)
    if {"ours", "theirs"} <= set(table.names):
        pairs = zip(table.columns["ours"], table.columns["theirs"], strict=True)
        return [(cell_text(ours).strip(), cell_text(theirs)) for ours, theirs in pairs]
    if path.suffix == ".json" and len(table) == 1:
        ((_, row),) = table.rows()
        return [
            (ours, cell_text(name))
            for ours, theirs in row.items()
            for name in (theirs if isinstance(theirs, list) else [theirs])
        ]
    raise InputError(
        f"{path}: the columns ours and theirs are expected for {option} (found: {', '.join(table.names)}); a line is, "
        "e.g., tie,About the same."
    )


def type_names(names: Iterable[tuple[str, str]]) -> str:
    """The same as it would be typed, with quotes where they are needed.

    >>> type_names([("a", "left"), ("tie", "Same, really")])
    'a=left,tie="Same, really"'
    """
    return ",".join(f"{ours}={quote_name(theirs)}" for ours, theirs in names)


def join_options(options: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Options that are typed together.

    >>> join_options({"--columns": "choice=q1"}, {"--columns": "left=side", "--values": "a=1,b=2"})
    {'--columns': 'choice=q1,left=side', '--values': 'a=1,b=2'}
    """
    joined = {**options, **more}
    for option in ("--columns", "--values"):
        if option in options and option in more:
            joined[option] = merge_typed(options[option], more[option], option)
    return joined


def merge_typed(typed: str, text: str, option: str) -> str:
    """What was typed with what is to be added, which replaces a column, or a word, of the same name.

    >>> merge_typed("pair=id,choice=q1", "choice=q2", "--columns"), merge_typed("a=x,b=y", "b=x", "--values")
    ('pair=id,choice=q2', 'b=y,b=x')
    """
    again = parse_names(text, option)
    at = int(option == "--values")  # one answer may have several words, and a word has one meaning
    replaced = {pair[at] for pair in again}
    return type_names([*(pair for pair in parse_names(typed, option) if pair[at] not in replaced), *again])


def quote_name(name: str) -> str:
    """A name as it stands in what is typed."""
    if name and name == name.strip() and not set(name) & set(",\"'"):
        return name
    return f'"{name}"' if '"' not in name else f"'{name}'"


def meanings(
    names: Mapping[str, str] | Iterable[tuple[str, str]], option: str, *, theirs_first: bool = False
) -> dict[str, str]:
    """Ours to theirs (or theirs to ours); a name with two meanings is a slip of typing that would turn votes round.

    >>> meanings([("a", "left"), ("skip", "-")], "--values", theirs_first=True)
    {'left': 'a', 'skip': '-'}
    """
    listed = list(names.items() if isinstance(names, Mapping) else names)
    if theirs_first:
        listed = [
            (ours, theirs) if (theirs == IGNORED and ours not in ("a", "b", "tie")) else (theirs, ours)
            for ours, theirs in listed
        ]
    meaning_of = dict(listed)
    for name, meaning in listed:
        if meaning_of[name] != meaning:
            raise InputError(f"{option} gives {name!r} two meanings, {meaning} and {meaning_of[name]}. Keep one.")
    return meaning_of


def no_votes(values: Mapping[str, str]) -> frozenset[str]:
    """The words of `--values` (theirs to ours) that are no vote."""
    return frozenset(word.strip() for word, ours in values.items() if ours == IGNORED)


def say_no_vote(word: str) -> str:
    """What to type where a word is no vote.

    >>> print(say_no_vote("I don't know"))
    --values "I don't know=-"
    """
    text = f"{quote_name(word)}=-" if "," in word else f"{word}=-"
    quoted = shlex.quote(text) if set(text) & set('"$`!') else f'"{text}"'
    return f"--values {quoted}"


# Stated, and read


@dataclass(frozen=True, slots=True)
class Stated:
    """What the user states about a table."""

    columns: Mapping[str, str] = field(default_factory=dict)  # ours -> theirs
    values: Mapping[str, str] = field(default_factory=dict)  # theirs -> ours
    tool: str = ""
    wide: Path | None = None
    question: str = ""
    explode: str = ""  # a column of lists: one row for each of their elements
    fixed_order: bool = False  # the first response was always on the left
    texts: Mapping[str, tuple[str, str]] = field(
        default_factory=dict
    )  # pair -> its two responses, where a file has them

    def also(self, options: Mapping[str, str]) -> Stated:
        """With further options, as they are typed."""
        columns = dict(parse_names(options.get("--columns", ""), "--columns"))
        values = meanings(parse_names(options.get("--values", ""), "--values"), "--values", theirs_first=True)
        return replace(
            self,
            columns={**self.columns, **columns},
            values={**self.values, **values},
            tool=options.get("--from", self.tool),
            question=options.get("--question", self.question),
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """How a table was read; nothing is decided that does not stand here."""

    form: str  # `arena table`, `file of votes`, ...
    read: int  # rows, or judgements where a row holds several
    columns: Mapping[str, str] = field(default_factory=dict)  # ours -> theirs
    words: Mapping[str, str] = field(default_factory=dict)  # theirs -> ours
    dropped: Mapping[str, int] = field(default_factory=dict)  # reason -> judgements
    notes: Sequence[str] = ()
    excluded: Mapping[str, int] = field(default_factory=dict)  # reason -> votes of our own form that are not analysed
    evidence: Mapping[str, str] = field(default_factory=dict)  # ours, or a word of theirs -> why it was taken so
    unread: Sequence[str] = ()  # columns of theirs that are none of ours

    @property
    def line(self) -> str:
        """`Read as: arena table (pair=question_id, choice=winner; a=model_a, tie=tie)`."""
        columns = ", ".join(type_names([pair]) for pair in self.columns.items())
        words = ", ".join(type_names([(ours, theirs)]) for theirs, ours in self.words.items() if ours != theirs)
        inside = "; ".join(filter(None, [columns, words]))
        how = f" [{', '.join(self.notes)}]" if self.notes else ""
        return f"Read as: {self.form}{f' ({inside})' if inside else ''}{how}."

    @property
    def lost(self) -> str:
        """`Left out: 3 (nothing was chosen); 1 (the same submission again).`, or that nothing was."""
        return say_left_out(self.dropped)

    @property
    def left_out(self) -> Mapping[str, int]:
        """Reason -> rows, of all that were read and are not analysed."""
        return {**self.dropped, **self.excluded}


def say_left_out(reasons: Mapping[str, int]) -> str:
    """One sentence on what was left out and why; that nothing was, where there is no reason."""
    losses = "; ".join(f"{number:,} ({reason})" for reason, number in reasons.items())
    return f"Left out: {losses or 'nothing'}."


# One of several questions: the rows of one are taken, and two are never pooled


QUESTIONS = ("question", "criterion", "dimension", "aspect", "attribute", "quality", "metric")
MOST_QUESTIONS = 20  # a column with more values holds something else, e.g. what people asked a system


def take_one_question(
    table: RawTable,
    stated: Stated,
    names: Mapping[str, str],
    *,
    ours: bool = False,
    of: Sequence[str] = ("pair", "rater"),
) -> tuple[RawTable, str]:
    """The rows of one question. A column of questions shows by its name, and by people who judge a pair twice.

    `ours`: the tool that wrote the table says which column it is. `of` are the fields that make a judgement one.
    """
    stated_column = stated.columns.get("question")
    name = stated_column or names.get("question", "")
    if not name and not ours:
        name = next((column for column in table.names if column.lower() in QUESTIONS), "")
    is_there = bool(name) and name != IGNORED and name in table.names
    if ours and not (is_there and len(table.values(name)) <= MOST_QUESTIONS):
        return table, ""

    def is_judged_twice() -> bool:
        columns = [table.columns[column] for field in of if (column := names.get(field, field)) in table.names]
        judgements = list(map(str, zip(*columns, strict=True)))
        return bool(stated_column) or ours or len(set(judgements)) < len(judgements)

    questions = table.values(name) if is_there else ()
    if not (question := ask_question(table.path, questions, stated.question, is_judged_twice)):
        return table, ""
    rows = [row for row, cell in enumerate(table.columns[name]) if cell_text(cell) == question]
    return table.take(rows), f", question {question}"


def ask_question(path: Path, questions: Sequence[str], question: str, is_judged_twice: Callable[[], bool]) -> str:
    """The question whose rows are read, empty for all rows; refused where it is not there, or where it must be said."""
    if question and not questions:
        raise InputError(
            f"--question is {question!r}, and {path} has no column of questions. Name it: --columns question=..."
        )
    if question and question not in questions:
        listed = ", ".join(questions[:MOST_QUESTIONS])
        raise InputError(f"--question is {question!r}; the questions are {listed}.")
    if not question and 1 < len(questions) <= MOST_QUESTIONS and is_judged_twice():
        raise Unclear(
            f"{path} holds {len(questions)} questions ({', '.join(questions)}), which are analysed one by one "
            "and never pooled.",
            *({"--question": name} for name in questions),
        )
    return question
