"""Brings imported responses into a study: held against its corpus, under names that stand for one system each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tqdm import tqdm

from dialogue.corpora.examples import Example
from dialogue.corpora.reading import Corpus, read_corpus
from dialogue.errors import InputError
from dialogue.files import atomic, read_records, write_records
from dialogue.importing.answer_rows import AnswerRow, read_answer_rows
from dialogue.records import Dialogue, Response, Turn
from dialogue.signature import signature
from generation.imports.refusing import usable
from generation.imports.sources import Source
from generation.imports.system_cards import place_in, refuse_another_system, write_card
from generation.imports.tables import merge, messages_of, refuse_other_responses, refuse_strange_items
from generation.numbering import contexts_of
from generation.same_corpus import answered, refuse_another


@dataclass
class StudyToFill:
    """A study folder and the corpus whose contexts its responses answer."""

    study: Path
    corpus_folder: Path
    replace: bool = False
    answers: Corpus | None = None  # the corpus, once responses are known to answer it

    @property
    def responses(self) -> Path:
        """Where all responses of the study stand."""
        return self.study / "responses.jsonl"

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus, unless the study's responses answer another one."""
        found = read_corpus(self.corpus_folder)
        refuse_another(self.responses, found)
        return found

    def earlier(self) -> list[Response]:
        """What the study holds already."""
        return read_records(self.responses, Response) if self.responses.exists() else []

    def contexts(self, split: str, limit: int | None) -> list[Example]:
        """The contexts to answer."""
        found = contexts_of(self.corpus, split, limit)
        self.answers = self.corpus
        return found

    def check_table(self, responses: Sequence[Response], table: Path, *, asked: bool) -> None:
        """Refuse rows of contexts that the corpus, where there is one, does not hold, and names that are taken."""
        if asked or self.corpus_folder.exists():
            refuse_strange_items(responses, self.corpus, self.corpus_folder, table)
            self.answers = self.corpus
        if not self.replace:
            refuse_other_responses(self.earlier(), responses, table)
        for name in sorted({response.model for response in responses}):
            self.take(name, {"source": "table"})

    def take(self, name: str, facts: dict[str, str]) -> None:
        """Keep a name for one system; with `replace` the earlier one goes, responses first."""
        earlier = self.earlier()
        if self.replace and any(response.model == name for response in earlier):
            self._write([response for response in earlier if response.model != name], "replace", [name])
        else:
            refuse_another_system(self.study, name, facts, earlier)
        write_card(self.study, name, facts)

    def join(self, new: Sequence[Response], source: str) -> tuple[int, str]:
        """Write the new responses beside the earlier ones: how many there are in all, and the recipe."""
        whole = merge(self.earlier(), new)
        return len(whole), self._write(whole, source, sorted({response.model for response in new}))

    def _write(self, whole: Sequence[Response], source: str, names: list[str]) -> str:
        corpus = {"corpus": self.answers.digest} if self.answers else answered(self.responses)
        recipe = signature(source=source, responses=len(whole), of=names, **corpus)
        write_records(self.responses, whole, signature=recipe, kind=Response)
        return recipe


def asked_examples(prompts: Path) -> list[Example]:
    """The contexts of a file of prompts, which nobody has answered yet."""
    rows, _ = read_answer_rows(prompts)
    if bare := next((row for row in rows if not row.context), None):
        raise InputError(f"{bare.where}: no prompt here. Name its field prompt, or messages for a conversation.")
    return [_unanswered(row, row.name or f"row {k}") for k, row in enumerate(rows, 1)]


def _unanswered(row: AnswerRow, name: str) -> Example:
    turns = [Turn(one.speaker, one.text) for one in row.context]
    return Example(name, Dialogue(name, "test", (*turns, Turn("system", ""))), len(turns))


def answer_prompts(prompts: Path, source: Source, out: Path, *, keep_cut: bool, replace: bool) -> tuple[int, list[str]]:
    """Write what a model answers to a file of prompts, and say how many answers there are and what to know of them."""
    if out.exists() and not replace:
        raise InputError(f"{out} already exists. Give the system another name (--model), or --replace.")
    contexts = asked_examples(prompts)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tqdm(total=len(contexts), disable=None) as bar:
        replies = source.replies(contexts, place_in(out.parent, source.name, ".jsonl"), bar.update)
    kept, said = usable(replies, longest=source.longest, keep_cut=keep_cut)
    rows = [
        {"id": example.item, "messages": messages_of(example), "response": reply.spoken}
        for example, reply, whole in zip(contexts, replies, kept, strict=True) if whole
    ]  # fmt: skip
    with atomic(out) as file:
        file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    return len(rows), [*source.remarks(), *said]


def from_model(
    place: StudyToFill, source: Source, split: str, limit: int | None, *, keep_cut: bool = False
) -> tuple[list[Response], list[str]]:
    """What a model answers, without the replies that are no responses, and what there is to know of them."""
    contexts = place.contexts(split, limit)
    facts = {**source.facts(), "corpus": place.corpus.digest, "cut replies": "kept" if keep_cut else "left out"}
    place.take(source.name, facts)
    with tqdm(total=len(contexts), disable=None) as bar:
        replies = source.replies(contexts, place_in(place.study, source.name, ".jsonl"), bar.update)
    kept, said = usable(replies, longest=source.longest, keep_cut=keep_cut)
    found = [
        Response(example.item, source.name, source.seed, "last", reply.spoken, None, source.decoding())
        for example, reply, whole in zip(contexts, replies, kept, strict=True) if whole
    ]  # fmt: skip
    return found, [*source.remarks(), *said]
