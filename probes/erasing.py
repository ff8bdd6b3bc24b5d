"""Erasing a task: the linear maps, and the erasers of one checkpoint on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.dialogue.devices import use_threads
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, clear_halves, read_json, write_json
from seedvote.dialogue.jobs import JOB_THREADS, content_key
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature
from seedvote.probes.baselines import always_the_most_frequent
from seedvote.probes.classifiers.logistic import fit_features, fit_logistic
from seedvote.probes.plan import LabelledTask, Plan
from seedvote.probes.scoring import count_hits
from seedvote.probes.states import Representation, read_states
from seedvote.probes.tasks.labels import Labels

# Linear maps that take a task out of vectors, and others of the same rank that take out something random.
#
# `leace`: least-squares concept erasure (Belrose et al. 2023), in closed form. After it no linear classifier beats a
# constant on the fitted examples, and no other such map changes the vectors less. `inlp`: iterative nullspace
# projection (Ravfogel et al. 2020), which fits a classifier, projects its directions away, and begins again. Both work
# where the vectors have the same variance in every direction: elsewhere a projection takes a direction away and leaves
# what the others tell of it, and a random direction is no match, because the vectors hardly vary along most of them.
#
# Several `views` of the same examples (the mean over positions and the last position, say) may share one map, which
# then holds for each of them; `also` are vectors that the map meets besides, and the variance is that of all. For
# single positions vary far more than their mean, and a map made for the mean would throw them out of where vectors
# are. What is erased is set to its mean.
#
# Directions that hardly vary cannot be whitened, but a probe that standardises scales them up and reads from them. So
# every eraser, random ones too, sets all of them to their mean. They are `flat` and no part of its rank: what sets a
# task's eraser apart from a random one is the task's directions alone.

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


def fit_leace(views: Sequence[Floats], labels: Floats, also: Sequence[Floats] = ()) -> Erasure:
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


def fit_inlp(views: Sequence[Floats], labels: Labels, also: Sequence[Floats] = (), *, rounds: int = ROUNDS) -> Erasure:
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


def erase_everything(views: Sequence[Floats]) -> Erasure:
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


# Erasers of one checkpoint on disk: for every task and method, and as many random ones of the same rank.
#
# STUDY/erasers/<model>-<seed>-<checkpoint>/ holds a .npz an eraser (`state.mean`, `.read`, `.write`, `.flat`, and the
# same of `memory`) and erasers.json, which says what each erases and what a probe reads before and after. It comes
# last: where it is, the erasers are whole.

METHODS = ("leace", "inlp")
PARTS = ("mean", "read", "write", "flat")  # of a map in its file; erasers with other parts are made anew
LARGEST_SHARE = 0.5  # of the directions that vary, which a task may take before nothing but the task would be left out

Views = Mapping[str, Floats]
Sites = Mapping[str, Erasure]


@dataclass(frozen=True, slots=True)
class ErasingOptions:
    """Which methods, how many random erasers of each rank, and the seed that draws them."""

    methods: tuple[str, ...]
    draws: int
    seed: int


@dataclass(frozen=True, slots=True)
class EraserFolder:
    """One checkpoint: its vectors, where its erasers go, and the key of what they follow from."""

    representation: Representation
    sidecar: Mapping[str, Any]
    path: Path
    key: str

    @property
    def done(self) -> bool:
        """Erasers with this very key are there."""
        record = self.path / "erasers.json"
        return record.exists() and read_json(record).get("key") == self.key


def find_decoder_states(study: Path, checkpoints: str) -> list[Representation]:
    """What `generation encode --pooling decoder` wrote of these checkpoints."""
    representations = [read_states(path) for path in sorted((study / "decoder_states").glob("*.npy"))]
    wanted = set(checkpoints.split(","))
    if matches := [
        representation
        for representation in representations
        if checkpoints == "all" or representation.checkpoint in wanted
    ]:
        return matches
    names = ", ".join(sorted({representation.checkpoint for representation in representations})) or "none"
    raise InputError(
        f"{study / 'decoder_states'} has no states of {checkpoints}; it has: {names}. "
        f"Make them: python -m generation encode {study} --pooling decoder --checkpoints {checkpoints}"
    )


def eraser_folders(
    study: Path, representations: Iterable[Representation], plan: Plan, options: ErasingOptions
) -> list[EraserFolder]:
    """All the work there is."""
    labels = [labelled.digest for labelled in plan.labelled_tasks]
    folders = []
    for who in representations:
        sidecar = read_json(who.path.with_suffix(".json"))
        if not isinstance(sidecar.get("views"), dict):
            raise InputError(f"{who.path} says nothing of views: encode it again with --pooling decoder.")
        key = content_key(who.digest, who.name, *labels, options, plan.condition, PARTS)
        folders.append(EraserFolder(who, sidecar, study / "erasers" / who.name, key))
    return folders


def make_erasers(shared: tuple[Plan, ErasingOptions], folder: EraserFolder) -> int:
    """Fit and write every eraser of one checkpoint; how many there are."""
    plan, options = shared
    (old := folder.path / "erasers.json").unlink(missing_ok=True)  # its files are no longer what it says
    fit, report = (_split_views(folder, side.items) for side in (plan.fit, plan.report))
    erasers: list[dict[str, Any]] = []
    with use_threads(JOB_THREADS):
        for labelled in plan.labelled_tasks:
            erasers += _erase_task(folder.path, labelled, fit, report, options)
        erasers += _erase_randomly(folder.path, fit, erasers, options)
        erasers.append(
            _write_erasure(
                folder.path, "everything", _erase_each_site(fit, erase_everything), fit, {"kind": "everything"}
            )
        )
    recipe = signature(
        erasers=len(erasers),
        model=folder.representation.name,
        fit=plan.condition,
        methods=list(options.methods),
        draws=options.draws,
        seed=options.seed,
        threads=JOB_THREADS,
    )
    about = {name: folder.sidecar.get(name) for name in ("model", "seed", "checkpoint", "weights")}
    fitted_on, reported_on = (part.partition("=")[2] for part in plan.condition.split(","))
    sides = {"fit": fitted_on, "report": reported_on, "width": folder.sidecar["views"]}
    write_json(old, about | sides | {"key": folder.key, "signature": recipe, "erasers": erasers})
    return len(erasers)


def _split_views(folder: EraserFolder, items: Sequence[str]) -> dict[str, Floats]:
    states = folder.representation.rows(items).astype(np.float64)
    edges = np.cumsum(list(folder.sidecar["views"].values()))[:-1]
    return dict(zip(folder.sidecar["views"], np.split(states, edges, axis=1), strict=True))


def _erase_task(
    folder: Path, labelled: LabelledTask, fit: Views, report: Views, options: ErasingOptions
) -> list[dict[str, Any]]:
    same = {"kind": "task", "task": labelled.task, "constant": _constant_f1(labelled)}
    if too_wide := _too_wide(labelled, fit):
        return [same | {"left_out": too_wide}]
    same["before"] = _probe_f1(labelled, _probed_views(fit), _probed_views(report))
    erasers = []
    for method in options.methods:
        sites = {
            site: fit_leace(views, labelled.fit.dense().astype(np.float64), also)
            if method == "leace"
            else fit_inlp(views, labelled.fit, also)
            for site, (views, also) in by_map(fit).items()
        }
        after = _probe_f1(labelled, _erase_views(fit, sites), _erase_views(report, sites))
        name = f"{labelled.task}.{method}"
        erasers.append(_write_erasure(folder, name, sites, fit, same | {"method": method, "after": after}))
    return erasers


def _too_wide(labelled: LabelledTask, fit: Views) -> str:
    counts = labelled.fit.counts()
    free = int(((counts > 0) & (counts < len(labelled.fit.unseen))).sum()) - (not labelled.fit.many)
    for site, (views, also) in by_map(fit).items():
        rank, varying = free * len(views), count_varying([*views, *also])
        if rank > LARGEST_SHARE * varying:
            return f"up to {rank} of the {varying} directions in which the {site} varies would go"
    return ""


def _erase_randomly(
    folder: Path, fit: Views, tasks: Sequence[Mapping[str, Any]], options: ErasingOptions
) -> list[dict[str, Any]]:
    """So many random ones for each rank that a task has; tasks of one rank share them."""
    views, erasers = _gather_views(fit), []
    for ranks in dict.fromkeys(tuple(eraser["ranks"].items()) for eraser in tasks if "ranks" in eraser):
        name = "-".join(["random", *(str(rank) for _, rank in ranks)])
        for draw in range(options.draws):
            generator = np.random.default_rng(child_seed(options.seed, "erase", folder.name, name, draw))
            sites = {site: random_erasure(views[site], rank, generator) for site, rank in ranks}
            erasers.append(_write_erasure(folder, f"{name}.{draw}", sites, fit, {"kind": "random", "draw": draw}))
    return erasers


def _erase_each_site(fit: Views, how: Any) -> dict[str, Erasure]:
    return {site: how(views) for site, views in _gather_views(fit).items()}


def _gather_views(views: Views) -> dict[str, list[Floats]]:
    """All vectors that each map meets."""
    return {site: [*fitted, *also] for site, (fitted, also) in by_map(views).items()}


def _write_erasure(folder: Path, name: str, sites: Sites, fit: Views, about: Mapping[str, Any]) -> dict[str, Any]:
    path = folder / f"{name}.npz"
    clear_halves(path)
    with atomic(path, "wb") as handle:
        np.savez(
            handle, **{f"{site}.{part}": getattr(erasure, part) for site, erasure in sites.items() for part in PARTS}
        )
    views = _gather_views(fit)
    return {
        "file": path.name,
        **about,
        "ranks": {site: erasure.rank for site, erasure in sites.items()},
        "flat": {site: erasure.flats for site, erasure in sites.items()},
        "variance": {site: variance_erased(views[site], erasure) for site, erasure in sites.items()},
    }


def _erase_views(views: Views, sites: Sites) -> dict[str, Floats]:
    """What a probe is shown: the views that the maps are fitted on, erased."""
    return {
        name: sites["state" if name == "state" else "memory"].apply(view) for name, view in _probed_views(views).items()
    }


def _probed_views(views: Views) -> dict[str, Floats]:
    return {name: view for name, view in views.items() if name in ("state", *FITTED)}


def _probe_f1(labelled: LabelledTask, fit: Views, report: Views) -> float:
    """Micro-F1 in points of a probe on all that the decoder sees."""
    fitted, reported = (np.hstack(list(views.values())).astype(np.float32) for views in (fit, report))
    axes = fit_features(fitted)
    classifier = fit_logistic(axes.apply(fitted), axes, labelled.fit)
    return 100 * count_hits(classifier.predict(axes.apply(reported)), labelled.report).micro_f1


def _constant_f1(labelled: LabelledTask) -> float:
    """The same of an answer that is always the most frequent one."""
    rows = len(labelled.report.unseen)
    return 100 * count_hits(always_the_most_frequent(labelled.fit, rows), labelled.report).micro_f1
