"""PersonaChat: the ParlAI text files, and JSON forms.

The first speaker is the `partner`, the second `self`: the side whose utterances the published models answer with.
Each numbered line of the text form holds a persona sentence, or one utterance of either side between tabs:
`5 partner says<TAB>self answers<TAB><TAB>candidate|candidate`. Numbers begin at 1 with every dialogue.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from seedvote.dialogue.corpora.sources import File, expect_form, split_named, split_of, text_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue, Turn

PERSONAS = {"your persona: ": "self", "partner's persona: ": "partner"}
SPEAKERS = ("partner", "self")
PREFERRED = ("both", "self", "other", "none")
SILENCE = "__SILENCE__"
Chat = tuple[str, Mapping[str, Sequence[str]], list[str]]


def is_text(file: File) -> bool:
    """Whether a text file is in ParlAI's form."""
    start = re.match(r"1 [^\n]*", file.text())
    return bool(start and (start[0][2:].startswith(tuple(PERSONAS)) or "\t" in start[0]))


def is_personachat(value: Any) -> bool:
    """Whether a JSON document or line holds personas: `self` and `partner`, or `personality` and `utterances`."""
    if isinstance(value, dict) and value and isinstance(next(iter(value.values())), list) and not _read_personas(value):
        value = next(iter(value.values()))
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and ("turns" in first or "utterances" in first) and bool(_read_personas(first))


def read_texts(files: Sequence[File]) -> tuple[str, list[Dialogue]]:
    """Version and dialogues of one variant; where a folder holds several, both sides' original personas come first."""
    variants = {file.name: _file_variant(file) for file in files}
    chosen = min(variants.values(), key=lambda v: (PREFERRED.index(v[0]), v[1] != "original", v[2] != "no_cands"))
    chosen_files = [file for file in files if variants[file.name] == chosen]
    chats = ((split_of(file), *_text_chat(block, file)) for file in chosen_files for block in _split_blocks(file))
    return " ".join(chosen[:2]), _name_dialogues(chats)


def read_documents(parts: Sequence[tuple[File, Any]]) -> tuple[str, list[Dialogue]]:
    """Version and dialogues of JSON documents: lists, or split -> list."""
    chats: list[Chat] = []
    for file, value in parts:
        for name, entries in (value if isinstance(value, dict) else {split_of(file): value}).items():
            split = split_named(name, file.where)
            chats += [(split, *_json_chat(entry, f"{file.where}[{n}]")) for n, entry in enumerate(entries)]
    return "JSON", _name_dialogues(chats)


def read_lines(parts: Sequence[tuple[File, Sequence[tuple[str, dict[str, Any]]]]]) -> tuple[str, list[Dialogue]]:
    """Version and dialogues of JSON Lines."""
    chats: list[Chat] = []
    for file, lines in parts:
        for where, line in lines:
            split = split_named(line["split"], where) if "split" in line else split_of(file)
            chats.append((split, *_json_chat(line, where)))
    return "JSON", _name_dialogues(chats)


def _name_dialogues(chats: Iterable[Chat]) -> list[Dialogue]:
    """Dialogues named after split and position, so that every form of the corpus gives the same ids."""
    counter: Counter[str] = Counter()
    dialogues = []
    for split, personas, texts in chats:
        turns = [Turn(SPEAKERS[n % 2], text) for n, text in enumerate(texts)]
        persona = {who: tuple(personas[who]) for who in SPEAKERS if who in personas}
        dialogues.append(
            Dialogue(f"{split}-{counter[split]}", split, tuple(t for t in turns if t.text != SILENCE), persona)
        )
        counter[split] += 1
    return dialogues


def _file_variant(file: File) -> tuple[str, str, str]:
    words = re.split(r"[^a-z]+", file.base.lower())
    who = next((word for word in PREFERRED if word in words), "self")
    return who, "revised" if "revised" in words else "original", "no_cands" if "cands" in words else "cands"


def _split_blocks(file: File) -> Iterator[list[str]]:
    """The lines of each dialogue, without their numbers."""
    block: list[str] = []
    for number, line in enumerate(file.text().split("\n"), 1):
        if not line.strip():
            continue
        match = re.match(r"(\d+) (.*)", line.rstrip("\r"))
        if not match:
            raise InputError(f"{file.where}:{number}: a line must begin with its number; found {line[:40]!r}.")
        if match[1] == "1" and block:
            yield block
            block = []
        block.append(match[2])
    if block:
        yield block


def _text_chat(lines: Sequence[str], file: File) -> tuple[dict[str, list[str]], list[str]]:
    personas: dict[str, list[str]] = {}
    texts: list[str] = []
    for line in lines:
        if who := next((start for start in PERSONAS if line.startswith(start)), None):
            personas.setdefault(PERSONAS[who], []).append(line.removeprefix(who).strip())
            continue
        utterances = line.split("\t")[:2]
        if len(utterances) < 2:
            raise InputError(f"{file.where}: {line[:40]!r} has no answer after a tab. {file.base} may be cut off.")
        texts += utterances
    return personas, texts


def _read_personas(entry: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    names = {"self": "self", "partner": "partner", "personality": "self", "persona": "self"}
    return {names[key]: entry[key] for key in names if key in entry}


def _json_chat(entry: Any, where: str) -> tuple[dict[str, list[str]], list[str]]:
    with expect_form("PersonaChat", where):
        personas = {
            who: [text_of(sentence) for sentence in sentences] for who, sentences in _read_personas(entry).items()
        }
        if "turns" in entry:
            return personas, [text_of(text) for text in entry["turns"]]
        last = entry["utterances"][-1]
        return personas, [text_of(text) for text in [*last["history"], last["candidates"][-1]]]
