"""Print docs/format.md: every record and field, generated from dialogue/records.py."""

from __future__ import annotations

import argparse
import dataclasses
import re
from typing import Literal, get_args, get_origin

from dialogue import records
from dialogue.command_line import tell_next
from dialogue.files import FORMATS

ABOUT = """# Files of a study

Every file that the stages exchange, with every record and field. `python -m dialogue format > docs/format.md` generates
this page from `dialogue/records.py`; a test checks that the two agree.

A record file is JSON Lines in UTF-8: a header line `{"format": ..., "version": 1, "signature": ...}`, then one record
per line. It is written under a temporary name, fsynced and renamed, so that it is whole or absent. Fields that a record
does not know are kept. Times are ISO 8601 in UTC.
"""
NEXT = """
**Next:** make these files with [your own script](tutorial.md), [import votes](import.md), or start from
[all pages](README.md).
"""
RECORDS_SHOWN = [
    records.Response,
    records.Pair,
    records.Vote,
    records.Rater,
    records.States,
    records.Score,
    records.Candidate,
    records.Utterance,
    records.Turn,
    records.Dialogue,
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Takes none."""
    parser.set_defaults(none=None)


def run(args: argparse.Namespace) -> None:
    """Print the document."""
    del args
    print(format_document(), end="")
    tell_next("python -m dialogue toy", "runs/mine/corpus", "--dialogues", 500, aside=True)


def format_document() -> str:
    """The text of docs/format.md."""
    return ABOUT + "".join(_section(kind) for kind in RECORDS_SHOWN) + NEXT


def _section(kind: type) -> str:
    name = kind.__name__.lower() + (f" (`{FORMATS[kind]}.jsonl`)" if kind in FORMATS else "")
    rows = "".join(_row(field) for field in dataclasses.fields(kind) if field.name != "extra")
    return f"\n## {name}\n\n{kind.__doc__}\n\n| field | type | needed | meaning |\n|---|---|---|---|\n{rows}"


def _row(field: dataclasses.Field[object]) -> str:
    needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    doc = field.metadata["doc"].replace("|", "\\|")
    return f"| `{field.name}` | {_type(str(field.type))} | {'yes' if needed else 'no'} | {doc} |\n"


def _type(annotation: str) -> str:
    aliases = {name: get_args(value) for name, value in vars(records).items() if get_origin(value) is Literal}
    legal = {name: ", ".join(f"`{word}`" for word in words) for name, words in aliases.items()}
    plain = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false", "None": "null"}
    words = re.sub(r"\w+", lambda found: legal.get(found[0], plain.get(found[0], found[0])), annotation)
    words = (
        words.replace("Mapping[text, Any]", "object").replace("Sequence[", "list of ").replace("Mapping[", "object of ")
    )
    return words.replace("]", "").replace("[", "of ").replace(" | ", " or ")
