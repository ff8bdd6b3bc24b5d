"""Print docs/format.md: every record and field, generated from dialogue/records.py."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
from typing import Literal, get_args, get_origin

from seedvote.dialogue import cards, records
from seedvote.dialogue.shell.command_line import tell_next
from seedvote.dialogue.validity import FORMATS, singular

ABOUT = """# Files of a study

Every file that the stages exchange, with every record and field. `python -m dialogue format > docs/format.md` generates
this page from `dialogue/records.py`; a test checks that the two agree.

A record file is JSON Lines in UTF-8: a header line `{"format": ..., "version": 1, "signature": ...}`, then one record
per line. It is written under a temporary name, fsynced and renamed, so that it is whole or absent. Fields that a record
does not know are kept. Times are ISO 8601 in UTC.

A field that is not needed may be missing, so that files of earlier versions are read unchanged. New fields of that kind
do not raise the version of a format. The table of a file is followed by one record, which a file has on one line.
"""
NEXT = """
**Next:** make these files with [your own script](tutorial.md), [import votes](import.md), or start from
[all pages](README.md).
"""
RECORDS_SHOWN = [
    records.Response,
    records.Pair,
    records.Vote,
    records.Comment,
    records.HeldConversation,
    records.MarkedPassage,
    records.Rater,
    records.Verdict,
    records.Question,
    records.OptionChoice,
    records.ResponseSet,
    records.ResponseRating,
    records.States,
    records.Score,
    cards.Card,
    cards.TaskCard,
    records.Candidate,
    records.Option,
    records.Utterance,
    records.Part,
    records.Turn,
    records.Dialogue,
]
# One line of a file each, as docs/format.md shows it; a test reads them back from there.
EXAMPLES: dict[type, str] = {
    records.Response: """{"item": "TOY00289:5", "model": "ours", "seed": 0, "checkpoint": "last",
 "text": "the [hotel_name] has rooms .", "decoding": "greedy",
 "state": {"hotel": {"area": "north"}}, "domains": ["hotel"]}""",
    records.Pair: """{"pair": "7fedd956e8895c4b", "item": "TOY00289:5", "dialogue": "TOY00289",
 "context": [{"speaker": "user", "text": "a room in the north , please ."}],
 "a": {"text": "for how many nights ?", "model": "ours", "seed": 0, "checkpoint": "last"},
 "b": {"text": "which area ?", "model": "ours", "seed": 1, "checkpoint": "last"}, "contrast": "ours:0-1"}""",
    records.Vote: """{"pair": "7fedd956e8895c4b", "rater": "a07a31c2", "choice": "a", "round": 1, "left": "b",
 "seconds": 8.4, "source": "local", "dialogue": "TOY00289"}""",
    records.HeldConversation: """{"pair": "1b6c0c2d5a7e9f30", "rater": "a07a31c2",
 "a": [{"speaker": "user", "text": "Where can I swim?"}, {"speaker": "system", "text": "In the lake."}],
 "b": [{"speaker": "user", "text": "Where can I swim?"}, {"speaker": "system", "text": "Swim where?"}],
 "turns": 1, "outcome": "voted", "left": "b", "counted": true, "dialogue": "a day out", "topic": "A day out"}""",
    records.Comment: """{"pair": "7fedd956e8895c4b", "rater": "a07a31c2", "question": "why",
 "text": "B repeats itself."}""",
    records.MarkedPassage: """{"pair": "7fedd956e8895c4b", "rater": "a07a31c2", "response": "b", "start": 0, "end": 5,
 "category": "off topic", "text": "which"}""",
    records.Rater: """{"rater": "a07a31c2", "source": "local", "status": "passed", "checks_seen": 3,
 "checks_failed": 0, "votes": 24, "profile": {"age": "25-34", "English": "first language"}}""",
    records.Verdict: """{"pair": "7fedd956e8895c4b", "judge": "gpt-x", "prompt": "3f1c", "order": "ba", "draw": 0,
 "choice": "a", "probability": {"a": 0.7, "b": 0.1, "tie": 0.2}, "reply": "B",
 "tokens_in": 412, "tokens_out": 1, "seconds": 0.8}""",
    records.Question: """{"question": "q7fed", "item": "TOY00289:5", "answer": 1, "kind": "real", "version": 3,
 "context": [{"speaker": "user", "text": "a room in the north , please ."}],
 "options": [{"text": "thank you , goodbye .", "item": "TOY00014:7"},
  {"text": "for how many nights ?", "item": "TOY00289:5"}], "dialogue": "TOY00289", "corpus": "toy"}""",
    records.OptionChoice: """{"question": "q7fed", "rater": "a07a31c2", "first": 1, "second": 0, "shown": "10",
 "round": 1, "seconds": 11.2, "source": "local", "dialogue": "TOY00289"}""",
    records.ResponseSet: """{"set": "s7fed", "item": "TOY00289:5", "dialogue": "TOY00289", "kind": "check",
 "context": [{"speaker": "user", "text": "a room in the north , please ."}], "answer": "best:0",
 "responses": [{"text": "for how many nights ?", "model": "reference", "seed": null, "checkpoint": "reference"},
  {"text": "thank you , goodbye .", "model": "off-topic", "seed": null, "checkpoint": "reference"}]}""",
    records.ResponseRating: """{"set": "s81aa", "rater": "a07a31c2", "question": "order", "system": "ours-0",
 "item": "TOY00289:5", "response": 1, "rank": 1.5, "place": 3, "of": 4, "round": 1, "seconds": 21.4,
 "source": "local", "dialogue": "TOY00289"}""",
}


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
    return ABOUT + "".join(_record_section(kind) for kind in RECORDS_SHOWN) + NEXT


def _record_section(kind: type) -> str:
    name = singular(kind) + (f" (`{FORMATS[kind]}.jsonl`)" if kind in FORMATS else "")
    rows = "".join(_field_row(field) for field in dataclasses.fields(kind) if field.name != "extra")
    example = f"\n```json\n{EXAMPLES[kind]}\n```\n" if kind in EXAMPLES else ""
    about = inspect.cleandoc(kind.__doc__ or "")  # Python 3.13 has no indentation there
    return f"\n## {name}\n\n{about}\n\n| field | type | needed | meaning |\n|---|---|---|---|\n{rows}{example}"


def _field_row(field: dataclasses.Field[object]) -> str:
    needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    doc = field.metadata["doc"].replace("|", "\\|")
    return f"| `{field.name}` | {_type_link(str(field.type))} | {'yes' if needed else 'no'} | {doc} |\n"


def _type_link(annotation: str) -> str:
    types = vars(records) | vars(cards)
    aliases = {name: get_args(value) for name, value in types.items() if get_origin(value) is Literal}
    legal = {name: ", ".join(f"`{word}`" for word in words) for name, words in aliases.items()}
    plain = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false", "None": "null"}
    words = re.sub(r"\w+", lambda match: legal.get(match[0], plain.get(match[0], match[0])), annotation)
    words = (
        words.replace("Mapping[text, Any]", "object").replace("Sequence[", "list of ").replace("Mapping[", "object of ")
    )
    return words.replace("]", "").replace("[", "of ").replace(" | ", " or ")
