"""The table of architectures: name -> module, the papers' sizes, smaller ones."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NamedTuple

from dialogue.errors import InputError
from generation.models import attention, bilstm, hred, seq2seq, transformer
from generation.models.interface import Model


class Architecture(NamedTuple):
    """How to build one model."""

    module: type[Model]
    paper: Any
    small: Any
    tiny: Any


ARCHITECTURES = {
    "seq2seq": Architecture(seq2seq.Seq2Seq, seq2seq.Config(), seq2seq.SMALL, seq2seq.TINY),
    "seq2seq_attn": Architecture(attention.Seq2SeqAttention, attention.Config(), attention.SMALL, attention.TINY),
    "hred": Architecture(hred.HRED, attention.Config(), attention.SMALL, attention.TINY),
    "bilstm_attn": Architecture(bilstm.BiLSTMAttention, attention.Config(), attention.SMALL, attention.TINY),
    "transformer": Architecture(transformer.Transformer, transformer.Config(), transformer.SMALL, transformer.TINY),
}


def sizes_of(model: str, preset: str) -> dict[str, Any]:
    """The sizes of a preset as plain values."""
    return asdict(getattr(ARCHITECTURES[known(model)], preset))


def build(model: str, vocabulary: int, sizes: dict[str, Any]) -> Model:
    """An architecture with fresh weights (drawn from torch's global generator: seed it first)."""
    made = ARCHITECTURES[known(model)]
    return made.module(vocabulary, type(made.paper)(**sizes))


def known(model: str) -> str:
    """The name, or a sentence with the legal ones."""
    if model not in ARCHITECTURES:
        raise InputError(f"{model!r} is no architecture of ours. Legal: {', '.join(ARCHITECTURES)}, or all.")
    return model
