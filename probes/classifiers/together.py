"""Several likelihoods in one solve: the checkpoints of a model, true labels and shuffled ones, the blocks of a code.

Each has features of its own, hence matrix products of its own, which no batch makes faster. All else is done for all at
once, and that is a third of the time where data are few. Every problem goes the way that it would go alone, to the bit.
So a part gets copies of its rows: on some processors the last bits of a product hang on where in memory a row begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from itertools import pairwise

import torch
from torch import Tensor

from seedvote.probes.classifiers.lbfgs import Minimum, Start, Until, minimise
from seedvote.probes.classifiers.likelihood import ManyLabels, OneLabel

AnyLikelihood = ManyLabels | OneLabel


def minimise_all(parts: Sequence[AnyLikelihood], *, until: Until, passes: int) -> list[Minimum]:
    """The minima of likelihoods whose points are of one length."""
    starts = [part.start() for part in parts]
    counts = [len(start.points) for start in starts]
    begin = Start(*(torch.cat([getattr(start, field.name) for start in starts]) for field in fields(Start)))
    minimum = minimise(Together(parts, counts), begin, until=until, passes=passes)
    splits = (getattr(minimum, field.name).split(counts) for field in fields(Minimum))
    return [Minimum(*rows) for rows in zip(*splits, strict=True)]


class Together:
    """The problems of all parts, one part's rows after the other's; those asked for come in ascending order."""

    def __init__(self, parts: Sequence[AnyLikelihood], counts: Sequence[int]) -> None:
        self.parts = parts
        self.ends = torch.tensor(counts, device=parts[0].features.device).cumsum(0)
        self.starts = [0, *self.ends.tolist()[:-1]]

    def _iterate_parts(self, which: Tensor) -> Iterator[tuple[AnyLikelihood, slice, Tensor]]:
        """Every part that is asked for: its rows of what is given, and their numbers within the part."""
        bounds = pairwise([0, *torch.searchsorted(which, self.ends).tolist()])
        for part, start, (first, end) in zip(self.parts, self.starts, bounds, strict=True):
            if first < end:
                yield part, slice(first, end), which[first:end] - start

    def gradients(self, points: Tensor, which: Tensor) -> Tensor:
        """The gradients at these points."""
        return torch.cat(
            [part.gradients(points[rows].clone(), numbers) for part, rows, numbers in self._iterate_parts(which)]
        )

    def values(self, points: Tensor, which: Tensor) -> Tensor:
        """The objectives at these points."""
        return torch.cat(
            [part.values(points[rows].clone(), numbers) for part, rows, numbers in self._iterate_parts(which)]
        )

    def precondition(self, vectors: Tensor, which: Tensor) -> Tensor:
        """These vectors times a guess of the inverse Hessian."""
        return torch.cat(
            [part.precondition(vectors[rows], numbers) for part, rows, numbers in self._iterate_parts(which)]
        )

    def bend(self, points: Tensor, directions: Tensor, which: Tensor) -> Callable[[Tensor], Tensor]:
        """How the slopes change."""
        bends = [
            (rows, part.bend(points[rows].clone(), directions[rows].clone(), numbers))
            for part, rows, numbers in self._iterate_parts(which)
        ]
        return lambda length: torch.cat([bend(length[rows]) for rows, bend in bends])
