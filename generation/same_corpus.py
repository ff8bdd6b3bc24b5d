"""Responses answer the contexts of one corpus, whose hash stands in the header of responses.jsonl.

A command that reads both refuses another corpus: its contexts may have the same ids.
"""

from __future__ import annotations

from pathlib import Path

from dialogue.corpora.reading import Corpus
from dialogue.errors import InputError
from dialogue.files import read_header


def answered(responses: Path) -> dict[str, str]:
    """The part of the header that names the corpus; empty where there is none."""
    signature = str(read_header(responses).get("signature", "")) if responses.exists() else ""
    parts = dict(part.partition(":")[::2] for part in signature.split("|"))
    return {"corpus": parts["corpus"]} if "corpus" in parts else {}


def refuse_another(responses: Path, corpus: Corpus) -> None:
    """Two corpora may call different contexts by one name; imported responses do not say what they answer."""
    if answered(responses).get("corpus", corpus.digest) != corpus.digest:
        raise InputError(
            f"{responses} answers another corpus than the one given. "
            "Name the one that it was sampled from (--corpus), or use another study folder."
        )
