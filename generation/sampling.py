"""Responses of every trained model to the same held-out contexts, as records; what is there already is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch

from dialogue.records import Response
from dialogue.seeds import child_seed
from generation.checkpoints import Trained, hash_of, load_model
from generation.decoding import Decoding, respond
from generation.numbering import Numbered
from generation.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Wanted:
    """What every model is to answer, and how often."""

    contexts: Sequence[Numbered]
    decodings: Sequence[Decoding]
    draws: int
    checkpoint: str
    seed: int

    def rounds(self) -> list[tuple[Decoding, int]]:
        """Each decoding with the number of its draw; one that draws nothing has one round."""
        return [(how, draw) for how in self.decodings for draw in range(self.draws if how.sampled else 1)]


def sample_all(
    models: Iterable[Trained],
    wanted: Wanted,
    vocabulary: Vocabulary,
    earlier: Sequence[Response],
    *,
    device: torch.device,
    tell: Callable[[], object],
) -> list[Response]:
    """All responses: the earlier ones of others, and for each model those that are wanted, made where missing."""
    kept = {key_of(response): response for response in earlier}
    for trained in models:
        weights = hash_of(trained, wanted.checkpoint)[:12]
        model = None
        for how, draw in wanted.rounds():
            blank = [_response(e.item, trained, wanted.checkpoint, how, draw, weights) for e in wanted.contexts]
            if all(_same_weights(kept.get(key_of(response)), weights) for response in blank):
                continue
            model = model or load_model(trained, wanted.checkpoint, vocabulary).to(device)
            seed = child_seed(wanted.seed, "sample", trained.model, trained.seed, draw)
            texts = respond(
                model,
                [e.context for e in wanted.contexts],
                how=how,
                seed=seed,
                items=[e.item for e in wanted.contexts],
                device=device,
            )
            for response, answer in zip(blank, texts, strict=True):
                text, logprob = vocabulary.decode(answer.tokens), round(answer.logprob, 4)
                kept[key_of(response)] = replace(response, text=text, logprob=logprob)
        tell()
    return list(kept.values())


def key_of(response: Response) -> tuple[object, ...]:
    """What tells two responses apart."""
    draw = response.extra.get("draw", 0)
    return response.model, response.seed, response.checkpoint, response.decoding, draw, response.item


def _response(item: str, trained: Trained, checkpoint: str, how: Decoding, draw: int, weights: str) -> Response:
    extra = {"draw": draw, "weights": weights}
    return Response(item, trained.model, trained.seed, checkpoint, "", None, how.name, extra)


def _same_weights(response: Response | None, weights: str) -> bool:
    return response is not None and response.extra.get("weights") == weights
