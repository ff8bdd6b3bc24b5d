"""Texts as vectors, to compare a response with its reference by meaning: cosine of average embeddings.

Two yardsticks: the word vectors that one trained model of the study has learned (one and the same for all responses),
or a local Hugging Face encoder, whose last states are averaged over real tokens. Nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seedvote.dialogue.errors import InputError
from seedvote.generation.models.interface import DialogueModel
from seedvote.generation.vocabulary import PAD, Vocabulary

Yardstick = Callable[[Sequence[str]], NDArray[np.float64]]


def row_cosines(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosine of each row of one with the same row of two, 0-100; 0 where a vector is zero."""
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    cosine: NDArray[np.float64] = np.divide((first * second).sum(1), norms, out=np.zeros(len(first)), where=norms > 0)
    return 100 * cosine


def learned_words(model: DialogueModel, vocabulary: Vocabulary) -> Yardstick:
    """Mean of the word vectors at a trained model's input."""
    table = np.asarray(model.word_vectors().detach().double().cpu())

    def embed(texts: Sequence[str]) -> NDArray[np.float64]:
        return np.stack([table[vocabulary.encode(text) or [PAD]].mean(0) for text in texts])

    return embed


def local_encoder(folder: Path, batch_size: int = 64) -> Yardstick:
    """Mean over real tokens of the last states of a Hugging Face encoder in a local folder."""
    tokenizer, model = _load_encoder(folder)

    def embed(texts: Sequence[str]) -> NDArray[np.float64]:
        parts = []
        with torch.inference_mode():
            for start in range(0, len(texts), batch_size):
                batch = tokenizer(list(texts[start : start + batch_size]), padding=True, return_tensors="pt")
                mask = batch["attention_mask"][:, :, None]
                states = model(**batch).last_hidden_state
                parts.append(((states * mask).sum(1) / mask.sum(1)).double().numpy())
        return np.concatenate(parts)

    return embed


def _load_encoder(folder: Path) -> tuple[Any, Any]:
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError as error:
        raise InputError("A sentence encoder needs the transformers library: pip install transformers.") from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        return tokenizer, AutoModel.from_pretrained(folder, local_files_only=True).eval()
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} holds no Hugging Face encoder ({error}).") from error
