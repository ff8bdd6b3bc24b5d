"""Responses to the same held-out contexts: of trained models, and of the unigram baseline.

There is one file per model, decoding and draw, kept once made. Its name holds the hash of all that its responses follow
from: a change of any of it makes a new file, and nothing else does.

The unigram baseline knows how often words occur in replies, and nothing of order or of the context. A reply is as long
as one drawn from the training split, and each of its words is drawn from all words of these replies (Jurafsky and
Martin 2025, chapter 3). Whoever reads it sees at once that it says nothing, so a study that holds it shows what a clear
difference looks like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.devices import use_threads
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import clear_halves, write_records
from seedvote.dialogue.jobs import JOB_THREADS, content_key
from seedvote.dialogue.records import Dialogue, Response
from seedvote.dialogue.seeds import child_random, child_seed
from seedvote.dialogue.signature import signature
from seedvote.dialogue.tokens import detokenize, tokenize
from seedvote.generation.checkpoints import TrainedModel, load_model, weights_hash
from seedvote.generation.decoding import Decoding
from seedvote.generation.numbering import Numbered, examples_hash
from seedvote.generation.speaking.agent import Speaker, Spoken
from seedvote.generation.speaking.speech import REPLY, Speech
from seedvote.generation.vocabulary import Vocabulary

_UNIGRAM = "unigram"


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


def unigram_responses(
    train: Sequence[Example], items: Sequence[str], *, draws: int, checkpoint: str, seed: int
) -> list[Response]:
    """`draws` responses to every item; they stand under the checkpoint whose responses they are compared with."""
    replies = [tokenize(example.target.text) for example in train]
    if not replies:
        raise InputError("The corpus has no training split, whose words the unigram baseline draws.")
    frequencies = Counter(word for reply in replies for word in reply)
    words, weights = list(frequencies), list(frequencies.values())
    responses = []
    for item in items:
        for draw in range(draws):
            generator = child_random(seed, _UNIGRAM, item, draw)
            drawn = generator.choices(words, weights, k=len(generator.choice(replies)))
            extra = {"draw": draw}
            text = detokenize(drawn)
            responses.append(Response(item, _UNIGRAM, None, checkpoint, text, None, "frequency", extra=extra))
    return responses
