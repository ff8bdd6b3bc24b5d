"""Brings imported responses into a study: held against its corpus, under names that stand for one system each.

A name joins responses to votes and scores. With another prompt, model or corpus behind it, raters would compare two
systems as one, and nothing in responses.jsonl would show it. So every name has a card in `imports/` that says what it
stands for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tqdm import tqdm

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.corpora.reading import Corpus, read_corpus
from seedvote.dialogue.engines.chat import Reply
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, read_records, write_records
from seedvote.dialogue.importing.answer_rows import AnswerRow, read_answer_rows
from seedvote.dialogue.records import Dialogue, Response, Turn
from seedvote.dialogue.signature import signature
from seedvote.generation.imports.named_fields import FieldRequest, describe_names
from seedvote.generation.imports.sources import Source
from seedvote.generation.imports.tables import (
    merge_responses,
    messages_of,
    refuse_other_responses,
    refuse_strange_items,
)
from seedvote.generation.numbering import contexts_of
from seedvote.generation.same_corpus import read_answered_corpus, refuse_another

CUT = {"length", "max_tokens", "content_filter"}  # how a reply that was cut off says that it ended
CALLS = {"tool_calls", "function_call"}
SHOWN = 60  # characters of a fact in a sentence


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
        corpus = read_corpus(self.corpus_folder)
        refuse_another(self.responses, corpus)
        return corpus

    def earlier(self) -> list[Response]:
        """What the study holds already."""
        return read_records(self.responses, Response) if self.responses.exists() else []

    def contexts(self, split: str, limit: int | None, dialogues: int | None = None) -> list[Example]:
        """The contexts to answer: `limit` of them, or those of so many `dialogues`."""
        contexts = contexts_of(self.corpus, split, limit, dialogues)
        self.answers = self.corpus
        return contexts

    def check_table(self, responses: Sequence[Response], table: Path, *, has_corpus: bool) -> None:
        """Refuse rows of contexts that the corpus, where there is one, does not hold, and names that are taken."""
        if has_corpus or self.corpus_folder.exists():
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
            self._write_responses([response for response in earlier if response.model != name], "replace", [name])
        else:
            refuse_another_system(self.study, name, facts, earlier)
        write_card(self.study, name, facts)

    def join(self, new: Sequence[Response], source: str) -> tuple[int, str]:
        """Write the new responses with the earlier ones: how many there are in all, and the recipe."""
        responses = merge_responses(self.earlier(), new)
        return len(responses), self._write_responses(responses, source, sorted({response.model for response in new}))

    def _write_responses(self, responses: Sequence[Response], source: str, names: list[str]) -> str:
        corpus = {"corpus": self.answers.digest} if self.answers else read_answered_corpus(self.responses)
        recipe = signature(source=source, responses=len(responses), of=names, **corpus)
        write_records(self.responses, responses, signature=recipe, kind=Response)
        return recipe


def asked_examples(prompts: Path) -> list[Example]:
    """The contexts of a file of prompts, which nobody has answered yet."""
    rows, _ = read_answer_rows(prompts)
    if bare := next((row for row in rows if not row.context), None):
        raise InputError(f"{bare.where}: no prompt here. Name its field prompt, or messages for a conversation.")
    return [_as_example(row, row.name or f"row {k}") for k, row in enumerate(rows, 1)]


def _as_example(row: AnswerRow, name: str) -> Example:
    turns = [Turn(turn.speaker, turn.text) for turn in row.context]
    return Example(name, Dialogue(name, "test", (*turns, Turn("system", ""))), len(turns))


def answer_prompts(prompts: Path, source: Source, out: Path, *, keep_cut: bool, replace: bool) -> tuple[int, list[str]]:
    """Write what a model answers to a file of prompts, and say how many answers there are and what to know of them."""
    if out.exists() and not replace:
        raise InputError(f"{out} already exists. Give the system another name (--model), or --replace.")
    contexts = asked_examples(prompts)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tqdm(total=len(contexts), disable=None) as bar:
        replies = source.replies(contexts, place_in(out.parent, source.name, ".jsonl"), bar.update)
    are_usable, remarks = check_replies(replies, longest=source.longest, keep_cut=keep_cut)
    rows = [
        {"id": example.item, "messages": messages_of(example), "response": reply.spoken}
        for example, reply, is_usable in zip(contexts, replies, are_usable, strict=True)
        if is_usable
    ]
    with atomic(out) as file:
        file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    return len(rows), [*source.remarks(), *remarks]


def from_model(
    place: StudyToFill,
    source: Source,
    split: str,
    limit: int | None,
    *,
    dialogues: int | None = None,
    keep_cut: bool = False,
    request: FieldRequest | None = None,
) -> tuple[list[Response], list[str]]:
    """What a model answers, without the replies that are no responses, and what there is to know of them.

    `request` has the fields that it is to name with each reply.
    """
    contexts = place.contexts(split, limit, dialogues)
    if request is not None:
        source.system = "\n\n".join(filter(None, [source.system, request.words]))
    facts = {**source.facts(), "corpus": place.corpus.digest, "cut replies": "kept" if keep_cut else "left out"}
    place.take(source.name, facts)
    with tqdm(total=len(contexts), disable=None) as bar:
        replies = source.replies(contexts, place_in(place.study, source.name, ".jsonl"), bar.update)
    are_usable, remarks = check_replies(replies, longest=source.longest, keep_cut=keep_cut)
    decoding = source.decoding()
    usable = [(example.item, reply.spoken) for example, reply, is_usable
              in zip(contexts, replies, are_usable, strict=True) if is_usable]  # fmt: skip
    if request is None:
        responses = [Response(item, source.name, source.seed, "last", text, None, decoding) for item, text in usable]
        return responses, [*source.remarks(), *remarks]
    named = [request.read(text) for _, text in usable]
    responses = [
        Response(
            item, source.name, source.seed, "last", reply.text, None, decoding, state=reply.fields.get("state"),
            extra={field: names for field, names in reply.fields.items() if field != "state"},
        )
        for (item, _), reply in zip(usable, named, strict=True)
    ]  # fmt: skip
    return responses, [*source.remarks(), *remarks, *describe_names(named, request.names)]


def check_replies(replies: Sequence[Reply], *, longest: int, keep_cut: bool) -> tuple[list[bool], list[str]]:
    """Which replies are kept, and what to say of the others."""
    # A call of a tool comes without text, or with some before it: no number of tokens would make a response of it.
    calls = [reply.finish in CALLS for reply in replies]
    empty = [reply.empty and not call for call, reply in zip(calls, replies, strict=True)]
    cut = [not reply.empty and reply.finish in CUT for reply in replies]
    remarks, many = [], len(replies)
    if any(empty):
        why = (
            ", ".join(sorted({r.finish for none, r in zip(empty, replies, strict=True) if none and r.finish}))
            or "no reason given"
        )
        ran_out = any(none and reply.finish in CUT for none, reply in zip(empty, replies, strict=True))
        remarks.append(
            f"{sum(empty)} of {many} replies hold no text ({why}) and give no response."
            + " The model ran out of tokens: allow more (--longest)." * ran_out
        )
    if thought := sum(reply.spoken != reply.text and not reply.empty for reply in replies):
        remarks.append(
            f"{thought} of {many} replies begin with the model's thoughts, which are no part of the response."
        )
    if any(calls):
        remarks.append(
            f"{sum(calls)} of {many} replies call a tool instead of answering and give no response. Turn tools off at "
            "the endpoint, or ask for an answer in words (--system)."
        )
    if any(cut) and keep_cut:
        remarks.append(f"{sum(cut)} of {many} responses end where they were cut off, after {longest} tokens.")
    elif any(cut):
        remarks.append(
            f"{sum(cut)} of {many} replies were cut off after {longest} tokens and give no response. Allow more "
            "(--longest), or keep them as they are (--keep-cut)."
        )
    if silent := sum(reply.tokens_in is None or reply.tokens_out is None for reply in replies):
        remarks.append(f"{silent} of {many} replies do not say how many tokens they took; they are counted as 0.")
    are_usable = [
        not (reply.empty or call or (short and not keep_cut))
        for reply, call, short in zip(replies, calls, cut, strict=True)
    ]
    if not any(are_usable):
        raise InputError(" ".join(["No reply is a response.", *remarks]))
    return are_usable, remarks


def place_in(study: Path, name: str, ending: str) -> Path:
    """The card (`.json`) or the journal (`.jsonl`) of a system."""
    return study / "imports" / f"{name.replace('/', '_')}{ending}"


def refuse_another_system(study: Path, name: str, facts: Mapping[str, str], earlier: Sequence[Response]) -> None:
    """Nothing where the name is new, or stands for just this system, or none of its responses is there any more."""
    card = place_in(study, name, ".json")
    if not card.exists() or all(response.model != name for response in earlier):
        return
    before = json.loads(card.read_text(encoding="utf-8"))
    if differ := [key for key in sorted({*before, *facts}) if before.get(key) != facts.get(key)]:
        differences = "; ".join(
            f"{key} was {_shorten_fact(before.get(key))}, now {_shorten_fact(facts.get(key))}" for key in differ
        )
        raise InputError(
            f"The responses of {name} in this study are another system's: {differences}. Give this one a name of its "
            "own (--model), or drop the earlier responses: --replace."
        )


def write_card(study: Path, name: str, facts: Mapping[str, str]) -> None:
    """Before the first response is asked for: what is broken off is taken up by the same system only."""
    card = place_in(study, name, ".json")
    card.parent.mkdir(parents=True, exist_ok=True)
    with atomic(card) as handle:
        handle.write(json.dumps(dict(facts), indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def _shorten_fact(value: str | None) -> str:
    if not value:
        return "none"
    return repr(value if len(value) <= SHOWN else value[:SHOWN] + "...")
