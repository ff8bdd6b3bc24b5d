"""Responses of trained models to the same held-out contexts: one file per model, decoding and draw, kept once made.

A file's name holds the hash of all that its responses follow from: a change of any of it makes a new file, and nothing
else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from dialogue.files import clear_halves, write_records
from dialogue.jobs import JOB_THREADS, content_key
from dialogue.records import Dialogue, Response
from dialogue.seeds import child_seed
from dialogue.signature import signature
from generation.checkpoints import TrainedModel, load_model, weights_hash
from generation.decoding import Decoding
from generation.devices import threads
from generation.numbering import Numbered, examples_hash
from generation.speaking.agent import Speaker, Spoken
from generation.speaking.speech import REPLY, Speech
from generation.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Sampling:
    """What every model is to answer, and how often."""

    contexts: Sequence[Numbered]
    decodings: Sequence[Decoding]
    draws: int
    checkpoint: str
    seed: int
    speech: Speech = REPLY
    dialogues: Sequence[Dialogue] = ()  # of the contexts, whole, where agents answer

    def draws_of_each(self) -> list[tuple[Decoding, int]]:
        """Each decoding with the number of its draw; one that draws nothing has one."""
        return [(how, draw) for how in self.decodings for draw in range(self.draws if how.sampled else 1)]


@dataclass(frozen=True, slots=True)
class Round:
    """One decoding of one model to all contexts; `path` is named by the hash of all that its responses follow from."""

    trained: TrainedModel
    how: Decoding
    draw: int
    weights: str
    path: Path


def rounds(out: Path, models: Iterable[TrainedModel], sampling: Sampling, vocabulary: Vocabulary) -> list[Round]:
    """All the rounds there are, in order; `out` is the study's folder, or that of a condition."""
    contexts = examples_hash(sampling.contexts)
    found = []
    for trained in models:
        weights = weights_hash(trained, sampling.checkpoint)
        for how, draw in sampling.draws_of_each():
            key = content_key(
                trained.model, trained.seed, sampling.checkpoint, weights, vocabulary.hash, contexts, how.name, draw,
                sampling.seed if how.sampled else None, JOB_THREADS, *sampling.speech.recipe,
            )  # fmt: skip
            path = out / "responses" / f"{trained.folder.name}-{sampling.checkpoint}-{key[:16]}.jsonl"
            found.append(Round(trained, how, draw, weights, path))
    return found


def answer_rounds(sampling: Sampling, vocabulary: Vocabulary, todo: Sequence[Round], device: torch.device) -> None:
    """Let one model answer the rounds that are to do, each written when it is whole."""
    trained = todo[0].trained
    model = load_model(trained, sampling.checkpoint, vocabulary).to(device)
    items = [e.item for e in sampling.contexts]
    speaks = {"speak": sampling.speech.kind} if sampling.speech.is_agent else {}
    for one in todo:
        clear_halves(one.path)
        # The model is part of the name: with the same numbers, two models' responses to an item would be correlated.
        seed = child_seed(sampling.seed, "sample", trained.model, trained.seed, one.draw)
        with threads(JOB_THREADS):
            said = _said(Speaker(model, sampling.speech, vocabulary, device), sampling, one.how, seed)
        responses = [
            Response(
                item, trained.model, trained.seed, sampling.checkpoint, vocabulary.decode(said[item].tokens),
                round(said[item].logprob, 4), one.how.name, said[item].state,
                extra={"draw": one.draw, "weights": one.weights[:12], **speaks},
            )
            for item in items
        ]  # fmt: skip
        recipe = signature(
            model=trained.model, seed=trained.seed, checkpoint=sampling.checkpoint, weights=one.weights[:12],
            decoding=one.how.name, draw=one.draw, seed_of_draws=sampling.seed,
            contexts=len(items), threads=JOB_THREADS, **speaks,
        )  # fmt: skip
        write_records(one.path, responses, signature=recipe, kind=Response)


def _said(speaker: Speaker, sampling: Sampling, how: Decoding, seed: int) -> dict[str, Spoken]:
    """Item -> what is said: dialogue by dialogue where beliefs are carried along, else context by context."""
    if sampling.speech.is_agent:
        return speaker.whole(sampling.dialogues, how, seed)
    return speaker.alone(sampling.contexts, how, seed)
