"""Erasers of one checkpoint on disk: for every task and method, and as many random ones of the same rank.

STUDY/erasers/<model>-<seed>-<checkpoint>/ holds a .npz an eraser (`state.mean`, `.read`, `.write`, `.flat`, and the
same of `memory`) and erasers.json, which says what each erases and what a probe reads before and after. It comes last:
where it is, the erasers are whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, clear_halves, read_json, write_json
from seedvote.dialogue.jobs import JOB_THREADS, content_key
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature
from seedvote.probes.baselines import always_the_most_frequent
from seedvote.probes.classifiers.features import fit_features
from seedvote.probes.classifiers.logistic import fit_logistic
from seedvote.probes.devices import threads
from seedvote.probes.erasing import (
    FITTED,
    Erasure,
    Floats,
    by_map,
    count_varying,
    everything,
    inlp,
    leace,
    random_erasure,
    variance_erased,
)
from seedvote.probes.plan import LabelledTask, Plan
from seedvote.probes.scoring import count_hits
from seedvote.probes.states import Representation, read_states

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
    fit, report = (_views(folder, side.items) for side in (plan.fit, plan.report))
    erasers: list[dict[str, Any]] = []
    with threads(JOB_THREADS):
        for labelled in plan.labelled_tasks:
            erasers += _erase_task(folder.path, labelled, fit, report, options)
        erasers += _erase_randomly(folder.path, fit, erasers, options)
        erasers.append(
            _write_erasure(folder.path, "everything", _erase_each_site(fit, everything), fit, {"kind": "everything"})
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


def _views(folder: EraserFolder, items: Sequence[str]) -> dict[str, Floats]:
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
            site: leace(views, labelled.fit.dense().astype(np.float64), also)
            if method == "leace"
            else inlp(views, labelled.fit, also)
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
