"""Which replies are set against which: a trial is a list of replies, each labelled as a person's or not.

Beside the trial itself stand its nulls. In `null A` two draws of one generator are told apart, in `null B` people's
replies bear labels drawn by lot: nothing can be found in either, and an accuracy other than .5 would be a fault here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from seedvote.dialogue.seeds import child_random
from seedvote.evaluators.detection.material import DetectionMaterial, Generator, Occasion, Said, Tokens

FEWEST_DRAWS = 20  # of one context, to rank replies of equal length


@dataclass(frozen=True, slots=True)
class Showing:
    """One reply to one context. `weight` makes both labels count alike in training."""

    occasion: Occasion
    reply: Tokens
    human: bool
    of: int = 0  # index of the generator, where several are in one trial
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Trial:
    """One discrimination: its replies, and draws that are to be scored beside, without a label."""

    name: str
    who: tuple[Generator, ...]
    showings: Sequence[Showing]
    ranked: Sequence[tuple[Occasion, Said]] = ()

    def part(self, name: str, fold: int) -> list[Showing]:
        """The replies of one part of the dialogues."""
        return [showing for showing in self.showings if showing.occasion.part(fold) == name]

    def in_all(self, name: str, folds: int) -> list[Showing]:
        """The replies of one part in every fold, one fold after the other."""
        return [showing for fold in range(folds) for showing in self.part(name, fold)]

    def ranked_in(self, fold: int) -> list[tuple[Occasion, Said]]:
        """The draws to be ranked whose dialogues this fold tests."""
        return [(occasion, reply) for occasion, reply in self.ranked if occasion.part(fold) == "test"]


def trials(material: DetectionMaterial, *, seed: int, shared: bool, draws: int) -> Iterator[Trial]:
    """Every generator's own trial with its nulls, and one for all together where it is asked for."""
    for who, replies in material.replies.items():
        occasions = [material.occasions[item] for item in replies]
        yield Trial(
            "own",
            (who,),
            [*_people(occasions), *_machine(occasions, replies, 0)],
            list(_ranked(occasions, replies, draws)),
        )
        if twice := [occasion for occasion in occasions if len(replies[occasion.item]) > 1]:
            first = [Showing(occasion, replies[occasion.item][1].tokens, human=True) for occasion in twice]
            yield Trial("null A", (who,), [*first, *_machine(twice, replies, 0)])
        lots = child_random(seed, "detection", "labels", who.name, who.decoding)
        yield Trial(
            "null B", (who,), [Showing(occasion, occasion.human, human=lots.random() < 0.5) for occasion in occasions]
        )
    if shared:
        yield from _shared(material)


def _people(occasions: Sequence[Occasion], weight: float = 1.0) -> list[Showing]:
    return [Showing(occasion, occasion.human, human=True, weight=weight) for occasion in occasions]


def _machine(occasions: Sequence[Occasion], replies: Mapping[str, Sequence[Said]], of: int) -> list[Showing]:
    return [Showing(occasion, replies[occasion.item][0].tokens, human=False, of=of) for occasion in occasions]


def _shared(material: DetectionMaterial) -> Iterator[Trial]:
    """A decoding's generators in one trial, on the contexts that all of them answered."""
    for decoding in sorted({who.decoding for who in material.replies}):
        group = tuple(who for who in material.replies if who.decoding == decoding)
        common = [
            occasion
            for occasion in material.occasions.values()
            if all(occasion.item in material.replies[who] for who in group)
        ]
        if len(group) > 1 and common:
            machines = [s for n, who in enumerate(group) for s in _machine(common, material.replies[who], n)]
            yield Trial("shared", group, [*_people(common, len(group)), *machines])


def _ranked(
    occasions: Sequence[Occasion], replies: Mapping[str, Sequence[Said]], draws: int
) -> Iterator[tuple[Occasion, Said]]:
    """The draws of contexts that have many of them, with their log-probabilities."""
    for occasion in occasions if draws else ():
        scored_replies = [reply for reply in replies[occasion.item] if reply.logprob is not None][:draws]
        if len(scored_replies) >= FEWEST_DRAWS:
            yield from ((occasion, reply) for reply in scored_replies)
