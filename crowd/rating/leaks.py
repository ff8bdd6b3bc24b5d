"""What raters would see and should not: the name of a response's model, and Markdown shown to the letter.

A response that names its own model is not judged blind. A name counts where it stands as a word or words of its own,
whatever its case and whatever joins its parts: a model `seq2seq-attn` is named by "Seq2Seq attn". Names of one or two
letters are left alone; they are words by chance. So are the corpus's own responses, whose "model" is a word for what
they are: "your reference number" gives nothing away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from seedvote.dialogue.media import media_of, read_media
from seedvote.dialogue.parts import spell_parts
from seedvote.dialogue.records import Candidate, Pair, Question, ResponseSet

SHORTEST = 3
CORPUS = "reference"  # the checkpoint of a response that no model wrote
SHORTEST_IN_FILE = 5  # letters: a shorter name stands among bytes by chance
NOTES = 65_536  # bytes at either end of a file that are looked through
AROUND = 30  # characters shown before and after


@dataclass(frozen=True, slots=True)
class Leak:
    """A response that names its model."""

    pair: str
    model: str
    excerpt: str


def find_leaks(pairs: Iterable[Pair]) -> Iterator[Leak]:
    """Every response whose text contains the name of the model that wrote it."""
    for pair in pairs:
        for response in (pair.a, pair.b):
            if response.checkpoint != CORPUS and (excerpt := _find_excerpt(response)):
                yield Leak(pair.pair, response.model, excerpt)


def leak_warning(all_leaks: Sequence[Leak]) -> str:
    """One sentence on what was found, with an example."""
    leak = all_leaks[0]
    many = "1 response names its" if len(all_leaks) == 1 else f"{len(all_leaks)} responses name their"
    example = f"e.g. in pair {leak.pair} ({leak.model}): {leak.excerpt}."
    return f"warning: {many} own model, {example} Raters would not judge blind."


def _find_excerpt(response: Candidate) -> str:
    # names are not shown
    text = "\n".join(_list_words(response))
    match = _compile_name(response.model).search(text) if len(response.model) >= SHORTEST else None
    if match is None:
        return ""
    return " ".join(text[max(0, match.start() - AROUND) : match.end() + AROUND].split())


def _list_words(response: Candidate) -> Iterator[str]:
    """What a rater may read of it: its text, its turns, and the words of its parts."""
    for content in (response,) if response.turns is None else response.turns:
        yield content.text
        yield spell_parts(content.parts or ())


def find_file_leaks(pairs: Iterable[Pair], folder: Path) -> Iterator[Leak]:
    """Files of a response whose own notes name its model: the page serves every byte of them."""
    for pair in pairs:
        for response in (pair.a, pair.b):
            if response.checkpoint == CORPUS or len(response.model) < SHORTEST_IN_FILE:
                continue
            name = _compile_name(response.model)
            for file, use, _ in media_of(response):
                if name.search(_read_notes(read_media(folder, file, use).path)):
                    yield Leak(pair.pair, response.model, f"in the bytes of {file}")


@cache
def _read_notes(path: Path) -> str:
    """The beginning and the end of a file, where programs write what made it."""
    content = path.read_bytes()
    return (content[:NOTES] + content[-NOTES:]).decode("latin-1")


@cache
def _compile_name(model: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in re.split(r"[\W_]+", model) if part] or [re.escape(model)]
    name = r"[\W_]*".join(parts)
    return re.compile(rf"(?<![^\W_]){name}(?![^\W_])", re.IGNORECASE)


# Bold words, fenced or quoted code, a link, a heading; a lone star or number may be anybody's.
MARKS = re.compile(r"\*\*\S[^*\n]*\*\*|```|`[^`\n]+`|\[[^\]\n]+\]\(https?://|^#{1,4} \S", re.MULTILINE)


Shown = Pair | Question | ResponseSet


def markup_warning(records: Iterable[Shown]) -> str:
    """One sentence on responses or contexts that hold Markdown; empty where none does."""
    texts = {text for record in records if record.kind != "check" for text in _list_texts(record)}
    marked = sorted(text for text in texts if MARKS.search(text))
    example = MARKS.search(marked[0]) if marked else None
    if example is None:
        return ""
    return (
        f"warning: {len(marked):,} of {len(texts):,} texts hold Markdown, e.g. {example.group()[:30]!r}, and raters "
        'will see its marks. To show them formatted, write rendering = "markdown" into hit.toml; to keep the marks, '
        'rendering = "literal". It is fixed from the first vote on.'
    )


def _list_texts(record: Shown) -> Iterator[str]:
    """What a rater reads of it: every turn and every response."""
    yield from (line.text for line in record.context)
    if isinstance(record, Question):
        yield from (option.text for option in record.options)
        return
    for response in (record.a, record.b) if isinstance(record, Pair) else record.responses:
        yield from [response.text] if response.turns is None else (turn.text for turn in response.turns)
