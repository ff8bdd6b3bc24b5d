"""Responses answer the contexts of one corpus, whose hash stands in the header of responses.jsonl.

A command that reads both refuses another corpus: its contexts may have the same ids.
"""

from __future__ import annotations

from pathlib import Path

from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_header
from seedvote.dialogue.records import Response


def read_answered_corpus(responses: Path) -> dict[str, str]:
    """The parts of the header that name the corpus, and what was spoken where that is no plain reply."""
    signature = str(read_header(responses).get("signature", "")) if responses.exists() else ""
    parts = dict(part.partition(":")[::2] for part in signature.split("|"))
    return {name: parts[name] for name in ("corpus", "speak") if name in parts}


def refuse_another(responses: Path, corpus: Corpus) -> None:
    """Two corpora may call different contexts by one name; imported responses do not say what they answer."""
    if read_answered_corpus(responses).get("corpus", corpus.digest) != corpus.digest:
        raise InputError(
            f"{responses} answers another corpus than the one given. "
            "Name the one that it was sampled from (--corpus), or use another study folder."
        )


def check_utterances(responses: Path, corpus: Corpus) -> None:
    """Refuse another corpus, and agents' replies: a placeholder is no word that a person would have said."""
    refuse_another(responses, corpus)
    if kind := read_answered_corpus(responses).get("speak"):
        raise InputError(
            f"{responses} holds replies with placeholders, of models that speak {kind}. Score them with: "
            f"python -m evaluators task {responses.parent}"
        )


def response_key(response: Response) -> tuple[object, ...]:
    """What tells two responses apart."""
    draw = response.extra.get("draw", 0)
    return response.model, response.seed, response.checkpoint, response.decoding, draw, response.item
