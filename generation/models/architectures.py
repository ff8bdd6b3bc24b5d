"""The table of architectures: the class of each name, the papers' sizes, those of their code, and two smaller presets.

To add one: a module with a `DialogueModel` in this folder, and a row in ARCHITECTURES.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NamedTuple

from seedvote.dialogue.errors import InputError
from seedvote.generation.models.interface import DialogueModel
from seedvote.generation.models.recurrent import (
    HRED,
    AttentionSizes,
    BiLSTMAttention,
    Seq2Seq,
    Seq2SeqAttention,
    Seq2SeqSizes,
)
from seedvote.generation.models.transformer import Transformer, TransformerSizes


class Architecture(NamedTuple):
    """How to build one model, and its sizes under each --preset."""

    module: type[DialogueModel]
    paper: Any
    small: Any
    tiny: Any
    code: Any = None  # where the papers' code differs from what the papers print


# One triple for the three that attend: they differ in what the encoder reads, not in size.
_ATTENTIVE = (
    AttentionSizes(),
    AttentionSizes(embedding=64, hidden=96, layers=1, attention=48),
    AttentionSizes(embedding=48, hidden=64, layers=1, attention=32),
)
ARCHITECTURES = {
    "seq2seq": Architecture(
        Seq2Seq,
        Seq2SeqSizes(),
        Seq2SeqSizes(embedding=64, hidden=96, layers=1),
        Seq2SeqSizes(embedding=48, hidden=64, layers=1),
    ),
    "seq2seq_attn": Architecture(Seq2SeqAttention, *_ATTENTIVE),
    "hred": Architecture(HRED, *_ATTENTIVE),
    "bilstm_attn": Architecture(BiLSTMAttention, *_ATTENTIVE),
    "transformer": Architecture(
        Transformer,
        TransformerSizes(),
        TransformerSizes(width=96, heads=2, layers=2, feedforward=256),
        TransformerSizes(width=64, heads=2, layers=2, feedforward=128),
        TransformerSizes(dropout=0.2),
    ),
}


def sizes_of(model: str, preset: str) -> dict[str, Any]:
    """The sizes of a preset as plain values."""
    architecture = ARCHITECTURES[check_architecture(model)]
    return asdict(getattr(architecture, preset) or architecture.paper)


def build_model(model: str, vocabulary: int, sizes: dict[str, Any]) -> DialogueModel:
    """An architecture with fresh weights (drawn from torch's global generator: seed it first)."""
    architecture = ARCHITECTURES[check_architecture(model)]
    return architecture.module(vocabulary, type(architecture.paper)(**sizes))


def check_architecture(model: str) -> str:
    """The name, or a sentence with the legal ones."""
    if model not in ARCHITECTURES:
        raise InputError(f"{model!r} is not an architecture. Choose from: {', '.join(ARCHITECTURES)}, or all.")
    return model
