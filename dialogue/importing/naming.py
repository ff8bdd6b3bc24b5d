"""What people type for names: `--columns ours=theirs,...` and `--values ours=theirs,...`, or a file of such pairs.

A name that holds a comma, or spaces at its ends, stands in quotes: `tie="Same, really"`. `left=-` takes no column.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import cell_text

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
        return names_in_file(Path(text), option)
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


def names_in_file(path: Path, option: str) -> list[tuple[str, str]]:
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


def typed_names(names: Iterable[tuple[str, str]]) -> str:
    """The same as it would be typed, with quotes where they are needed.

    >>> typed_names([("a", "left"), ("tie", "Same, really")])
    'a=left,tie="Same, really"'
    """
    return ",".join(f"{ours}={quoted_name(theirs)}" for ours, theirs in names)


def joined_options(options: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Options that are typed together.

    >>> joined_options({"--columns": "choice=q1"}, {"--columns": "left=side", "--values": "a=1,b=2"})
    {'--columns': 'choice=q1,left=side', '--values': 'a=1,b=2'}
    """
    joined = {**options, **more}
    for option in ("--columns", "--values"):
        if option in options and option in more:
            joined[option] = restated(options[option], more[option], option)
    return joined


def restated(typed: str, text: str, option: str) -> str:
    """What was typed with what is to be added, which replaces a column, or a word, of the same name.

    >>> restated("pair=id,choice=q1", "choice=q2", "--columns"), restated("a=x,b=y", "b=x", "--values")
    ('pair=id,choice=q2', 'b=y,b=x')
    """
    again = parse_names(text, option)
    at = int(option == "--values")  # one answer may have several words, and a word has one meaning
    replaced = {pair[at] for pair in again}
    return typed_names([*(pair for pair in parse_names(typed, option) if pair[at] not in replaced), *again])


def quoted_name(name: str) -> str:
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
        listed = [(ours, theirs) if _no_vote(ours, theirs) else (theirs, ours) for ours, theirs in listed]
    meaning_of = dict(listed)
    for name, meaning in listed:
        if meaning_of[name] != meaning:
            raise InputError(f"{option} gives {name!r} two meanings, {meaning} and {meaning_of[name]}. Keep one.")
    return meaning_of


def _no_vote(ours: str, theirs: str) -> bool:
    """Whether `WORD=-` says that a word of the file is no vote; `tie=-` says that a dash is a tie."""
    return theirs == IGNORED and ours not in ("a", "b", "tie")


def no_votes(values: Mapping[str, str]) -> frozenset[str]:
    """The words of `--values` (theirs to ours) that are no vote."""
    return frozenset(word.strip() for word, ours in values.items() if ours == IGNORED)


def said_no_vote(word: str) -> str:
    """What to type where a word is no vote.

    >>> print(said_no_vote("I don't know"))
    --values "I don't know=-"
    """
    text = f"{quoted_name(word)}=-" if "," in word else f"{word}=-"
    quoted = shlex.quote(text) if set(text) & set('"$`!') else f'"{text}"'
    return f"--values {quoted}"
