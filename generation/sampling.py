"""Responses of trained models to the same held-out contexts: one file per model, decoding and draw, kept once made.

A file's name holds the hash of all that its responses follow from: a change of any of it makes a new file, and nothing
else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from seedvote.dialogue.devices import use_threads
from seedvote.dialogue.files import clear_halves, write_records
from seedvote.dialogue.jobs import JOB_THREADS, content_key
from seedvote.dialogue.records import Dialogue, Response
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature
from seedvote.generation.checkpoints import TrainedModel, load_model, weights_hash
from seedvote.generation.decoding import Decoding
from seedvote.generation.numbering import Numbered, examples_hash
from seedvote.generation.speaking.agent import Speaker, Spoken
from seedvote.generation.speaking.speech import REPLY, Speech
from seedvote.generation.vocabulary import Vocabulary


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


def plan_rounds(out: Path, models: Iterable[TrainedModel], sampling: Sampling, vocabulary: Vocabulary) -> list[Round]:
    """All the rounds there are, in order; `out` is the study's folder, or that of a condition."""
    contexts = examples_hash(sampling.contexts)
    rounds = []
    for trained in models:
        weights = weights_hash(trained, sampling.checkpoint)
        for how, draw in sampling.draws_of_each():
            key = content_key(
                trained.model,
                trained.seed,
                sampling.checkpoint,
                weights,
                vocabulary.hash,
                contexts,
                how.name,
                draw,
                sampling.seed if how.sampled else None,
                JOB_THREADS,
                *sampling.speech.recipe,
            )
            path = out / "responses" / f"{trained.folder.name}-{sampling.checkpoint}-{key[:16]}.jsonl"
            rounds.append(Round(trained, how, draw, weights, path))
    return rounds


def answer_rounds(sampling: Sampling, vocabulary: Vocabulary, todo: Sequence[Round], device: torch.device) -> None:
    """Let one model answer the rounds that are to do, each written when it is whole."""
    trained = todo[0].trained
    model = load_model(trained, sampling.checkpoint, vocabulary).to(device)
    items = [e.item for e in sampling.contexts]
    speaks = {"speak": sampling.speech.kind} if sampling.speech.is_agent else {}
    for part in todo:
        clear_halves(part.path)
        # The model is part of the name: with the same numbers, two models' responses to an item would be correlated.
        seed = child_seed(sampling.seed, "sample", trained.model, trained.seed, part.draw)
        with use_threads(JOB_THREADS):
            spoken = _speak_items(Speaker(model, sampling.speech, vocabulary, device), sampling, part.how, seed)
        responses = [
            Response(
                item,
                trained.model,
                trained.seed,
                sampling.checkpoint,
                vocabulary.decode(spoken[item].tokens),
                round(spoken[item].logprob, 4),
                part.how.name,
                spoken[item].state,
                extra={"draw": part.draw, "weights": part.weights[:12], **speaks},
            )
            for item in items
        ]
        recipe = signature(
            model=trained.model,
            seed=trained.seed,
            checkpoint=sampling.checkpoint,
            weights=part.weights[:12],
            decoding=part.how.name,
            draw=part.draw,
            seed_of_draws=sampling.seed,
            contexts=len(items),
            threads=JOB_THREADS,
            **speaks,
        )
        write_records(part.path, responses, signature=recipe, kind=Response)


def _speak_items(speaker: Speaker, sampling: Sampling, how: Decoding, seed: int) -> dict[str, Spoken]:
    """Item -> what is said: dialogue by dialogue where beliefs are carried along, else context by context."""
    if sampling.speech.is_agent:
        return speaker.answer_dialogues(sampling.dialogues, how, seed)
    return speaker.answer_alone(sampling.contexts, how, seed)
