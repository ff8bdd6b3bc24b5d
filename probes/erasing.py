"""Linear maps that take a task out of vectors, and others of the same rank that take out something random.

`leace`: least-squares concept erasure (Belrose et al. 2023), in closed form. After it no linear classifier beats a
constant on the fitted examples, and no other such map changes the vectors less. `inlp`: iterative nullspace projection
(Ravfogel et al. 2020), which fits a classifier, projects its directions away, and begins again. Both work where the
vectors have the same variance in every direction: elsewhere a projection takes a direction away and leaves what the
others tell of it, and a random direction is no match, because the vectors hardly vary along most of them.

Several `views` of the same examples (the mean over positions and the last position, say) may share one map, which then
holds for each of them; `also` are vectors that the map meets besides, and the variance is that of all. For single
positions vary far more than their mean, and a map made for the mean would throw them out of where vectors are. What is
erased is set to its mean.

Directions that hardly vary cannot be whitened, but a probe that standardises scales them up and reads from them. So
every eraser, random ones too, sets all of them to their mean. They are `flat` and no part of its rank: what sets a
task's eraser apart from a random one is the task's directions alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedvote.probes.baselines import always_the_most_frequent
from seedvote.probes.classifiers.features import fit_features
from seedvote.probes.classifiers.logistic import fit_logistic
from seedvote.probes.scoring import count_hits
from seedvote.probes.tasks.labels import Labels

Floats = NDArray[np.float64]
SMALLEST = 1e-6  # of the largest: below this a singular value is rounding, and a direction that varies less is flat
FITTED = ("mean", "last")  # views of the memory that nothing may be read from
ROUNDS = 10  # of inlp at most
JUDGED = 5  # the last fifth of the examples judges the classifiers of inlp, which are fitted on the others
LEAST_TURN = 1e-3  # of the largest: a smaller direction of a classifier is what its solver left over


@dataclass(frozen=True, slots=True)
class Erasure:
    """y = x - write (read (x - mean)), then y - flat (flat' (y - mean)).

    `read` (rank x width) finds what `write` (width x rank) takes away; `flat` (width x how many) is orthonormal.
    """

    mean: Floats
    read: Floats
    write: Floats
    flat: Floats

    @property
    def rank(self) -> int:
        """How many directions are erased of those that vary."""
        return len(self.read)

    @property
    def flats(self) -> int:
        """How many directions hardly vary, and are set to their mean."""
        return int(self.flat.shape[1])

    def apply(self, vectors: Floats) -> Floats:
        """The vectors (n x width) without both; the flat last, because rounding could bring back what was erased."""
        remainder = vectors - (vectors - self.mean) @ self.read.T @ self.write.T
        return np.asarray(remainder - (remainder - self.mean) @ self.flat @ self.flat.T)


@dataclass(frozen=True, slots=True)
class Whitening:
    """Symmetric square roots of a pooled covariance (its inverse is `whiten`), its mean and its flat directions."""

    mean: Floats
    whiten: Floats
    unwhiten: Floats
    flat: Floats

    @property
    def varying(self) -> int:
        """How many directions are not flat."""
        return int(len(self.flat) - self.flat.shape[1])

    def erasure(self, basis: Floats) -> Erasure:
        """Erase an orthonormal basis (width x rank) of the whitened vectors, and what is flat."""
        return Erasure(self.mean, basis.T @ self.whiten, self.unwhiten @ basis, self.flat)


def leace(views: Sequence[Floats], labels: Floats, also: Sequence[Floats] = ()) -> Erasure:
    """Erase labels (n x k, of numbers) from views (each n x width): the label's covariance with each becomes zero."""
    white = _fit_whitening([*views, *also])
    centred = labels - labels.mean(0)
    shared = np.hstack([white.whiten @ (view - view.mean(0)).T @ centred for view in views]) / len(labels)
    axes, sizes, _ = np.linalg.svd(shared, full_matrices=False)
    directions = axes[:, sizes > SMALLEST * max(float(sizes.max(initial=0.0)), 1e-300)]
    return white.erasure(directions)


def random_erasure(views: Sequence[Floats], rank: int, generator: np.random.Generator) -> Erasure:
    """What would be erased for labels that have nothing to do with the vectors."""
    white = _fit_whitening(views)
    basis, _, _ = np.linalg.svd(white.whiten, hermitian=True)
    space = basis[:, : white.varying]  # the inverse of what is flat is zero, so it comes last
    directions, _ = np.linalg.qr(generator.standard_normal((space.shape[1], min(rank, space.shape[1]))))
    return white.erasure(space @ directions)


def _fit_whitening(views: Sequence[Floats]) -> Whitening:
    # Eigenvalues of a covariance are right to some 1e-15 of the largest, far below the 1e-12 at which a direction is
    # flat. Singular values of the vectors would tell flat directions apart, which all meet the same end.
    mean = np.mean([view.mean(0) for view in views], axis=0)
    pooled = np.concatenate(views) - mean
    variance, axes = np.linalg.eigh(pooled.T @ pooled / len(pooled))
    varies = variance > SMALLEST**2 * variance.max()  # squares: a direction may vary a millionth as much as another
    root = np.sqrt(np.where(varies, variance, 0.0))
    inverse = np.where(varies, 1 / np.where(varies, root, 1.0), 0.0)
    return Whitening(mean, (axes * inverse) @ axes.T, (axes * root) @ axes.T, axes[:, ~varies])


def inlp(views: Sequence[Floats], labels: Labels, also: Sequence[Floats] = (), *, rounds: int = ROUNDS) -> Erasure:
    """Erase what one linear classifier after the other finds, until it finds nothing in examples that it has not seen.

    Each view has a classifier of its own. Examples of one dialogue must stand together: the last are not seen.
    """
    white = _fit_whitening([*views, *also])
    even = [(view - white.mean) @ white.whiten for view in views]
    basis = np.zeros((len(white.mean), 0))
    for _ in range(rounds):
        directions = np.hstack(
            [_find_directions((view - view @ basis @ basis.T).astype(np.float32), labels) for view in even]
        )
        axes, sizes, _ = np.linalg.svd(directions - basis @ (basis.T @ directions), full_matrices=False)
        new_directions = axes[:, sizes > LEAST_TURN * sizes.max(initial=1e-300)]
        if not new_directions.shape[1] or basis.shape[1] + new_directions.shape[1] >= white.varying:
            break
        basis, _ = np.linalg.qr(np.hstack([basis, new_directions]))
    return white.erasure(basis)


def _find_directions(vectors: NDArray[np.float32], labels: Labels) -> Floats:
    """The directions (width x labels) by which a classifier tells the labels apart; none where it cannot."""
    n = len(vectors)
    fitted, judged = np.arange(n - n // JUDGED), np.arange(n - n // JUDGED, n)
    axes, truth = fit_features(vectors[fitted]), labels.take(judged)
    fit = fit_logistic(axes.apply(vectors[fitted]), axes, labels.take(fitted))
    f1 = count_hits(fit.predict(axes.apply(vectors[judged])), truth).micro_f1
    constant = count_hits(always_the_most_frequent(labels, len(judged)), truth).micro_f1
    if f1 - constant < 1 / np.sqrt(len(judged)):  # two standard errors of a share, at most: chance does as much
        return np.zeros((vectors.shape[1], 0))
    return np.asarray((axes.rotation @ fit.weights[:-1]).double().numpy())


def count_varying(views: Sequence[Floats]) -> int:
    """How many directions are not flat: no eraser's rank is higher."""
    return _fit_whitening(views).varying


def everything(views: Sequence[Floats]) -> Erasure:
    """Every vector becomes the mean: what the decoder then does without is all of the context."""
    width = views[0].shape[1]
    mean = np.mean([view.mean(0) for view in views], axis=0)
    return Erasure(mean, np.eye(width), np.eye(width), np.zeros((width, 0)))


def variance_erased(views: Sequence[Floats], erasure: Erasure) -> float:
    """The share of the vectors' variance that goes."""
    gone = sum(float(np.square(view - erasure.apply(view)).sum()) for view in views)
    return gone / sum(float(np.square(view - erasure.mean).sum()) for view in views)


def by_map(views: Mapping[str, Floats]) -> dict[str, tuple[list[Floats], list[Floats]]]:
    """The views that each of the two maps is fitted on, and what it meets besides.

    One is for the state that a decoder starts from, the other for the memory that it attends to.
    """
    maps: dict[str, tuple[list[Floats], list[Floats]]] = {}
    if "state" in views:
        maps["state"] = ([views["state"]], [])
    if "mean" in views:
        besides = [view for name, view in views.items() if name not in ("state", *FITTED)]
        maps["memory"] = ([views[name] for name in FITTED], besides)
    return maps
