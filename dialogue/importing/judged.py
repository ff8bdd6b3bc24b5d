"""Which rows a judge answered, where a table says so in a column that is not called `source`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import get_args

from seedvote.dialogue.importing.columns import leaf_name, plain_name
from seedvote.dialogue.judges import JUDGE, PEOPLE, folded_name, is_judge_name
from seedvote.dialogue.records import Source
from seedvote.dialogue.tables.table import RawTable

MOST_SOURCES, ITEM_SOURCE = 20, "source of the item"  # more of them are no sources of answers
SOURCE = "source, as other columns say it"  # a column that is added
RATER = r"(annotator|rater|evaluator|judge|labell?er|grader|worker|voter|assessor|preference|label|annotation|feedback)"
KIND = re.compile(rf"{RATER}s?_(type|kind|source|class|category)|(kind|type|source|class)_of_{RATER}s?")
PERSON = re.compile(rf"((is|by|from)_)?(a_)?(human|person)(_{RATER})?|{RATER}_is_(a_)?(human|person)")
MACHINE = re.compile(
    rf"((is|by|from)_)(an?_)?(llm|model|judge|ai|bot|machine|gpt|automatic|synthetic)(_{RATER})?|(llm|ai)_{RATER}"
    rf"|{RATER}_(is_)?(an?_)?(llm|model|ai|bot|machine)|(llm|ai|synthetic|automatic)"
)
MAYBE = re.compile(
    r"origin|type|quelle|herkunft|provenance|(annotated|labell?ed|rated|judged|evaluated|graded)_by|by|who"
    r"|(bewertet|beurteilt|annotiert)_(von|durch)|bewertung_(von|durch)|score_(von|durch)"
)
NO = {"", "false", "no", "0", "0.0", "none", "nan", "null", "n/a", "human", "person", "nein", "non"}
YES = {"true", "yes", "1", "1.0", "human", "person", "ja", "oui"}


def _holds_sources_of_items(words: Sequence[str]) -> bool:
    """Whether a column called `source` holds what was translated or asked: many texts, no word for raters."""
    known = {*PEOPLE, *get_args(Source), JUDGE}
    return len(words) > MOST_SOURCES and not any(folded_name(word) in known or is_judge_name(word) for word in words)


def with_source(table: RawTable, taken: Collection[str], source: str) -> tuple[RawTable, str]:
    """The table with the column that holds the source of every row, and its name; empty where nothing says it.

    A word for raters that is not known to mean people is refused by whoever reads the source. `taken` are the columns
    that hold something else.
    """
    if source and _holds_sources_of_items(table.values(source)):
        columns = {ITEM_SOURCE if name == source else name: cells for name, cells in table.columns.items()}
        table, source = replace(table, columns=columns), ""
    cells, is_said = table.text(source) if source else [""] * len(table), False
    for name in table.names:
        plain = plain_name(leaf_name(name))
        if name in taken or name == source or not table.values(name):
            continue
        words = table.text(name)
        if KIND.fullmatch(plain):
            marks = words
        elif PERSON.fullmatch(plain) and {word.lower() for word in table.values(name)} <= NO | YES:
            marks = [JUDGE if word and word.lower() not in YES else "" for word in words]
        elif MACHINE.fullmatch(plain):
            marks = ["" if word.lower() in NO else JUDGE for word in words]
        elif MAYBE.fullmatch(plain):
            marks = [JUDGE if is_judge_name(word) else "" for word in words]
        else:
            continue
        if any(marks):
            cells, is_said = [mark or cell for mark, cell in zip(marks, cells, strict=True)], True
    return (table.with_columns(**{SOURCE: cells}), SOURCE) if is_said else (table, source)
