"""Does the decoder use what the encoder holds? What changes when a task is erased, beyond what a random eraser changes.

Four things are measured on the same contexts: what the reference costs (nats a token), how many replies change, how
unlike the new replies are (100 minus BLEU-2 against the old ones), and how many have other dialogue acts. Each is the
task's effect minus the mean of random erasers of the same rank, paired by context; its interval is for new dialogues
and new training seeds. Random erasers are drawn anew for each seed, so that the spread over seeds holds their luck too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from analysis.stats.mean_over_seeds import SeedMean, mean_over_seeds, replicates_by_dialogue
from analysis.stats.reruns import both_levels
from analysis.stats.sign_tests import holm
from dialogue.errors import InputError
from dialogue.files import digest, read_json
from dialogue.signature import signature

Floats = NDArray[np.float64]
MARGIN = 0.01  # nats a token
SURE = 0.05
USED, UNUSED, OPEN = "used", "not used", "open"
MEASURES = {"nats": "nats a token", "changed": "replies changed", "unlike": "unlike", "acts": "other acts"}

ERASERS = "erasers"  # the folder of a study


@dataclass(frozen=True, slots=True)
class ErasureEffect:
    """One measure of one task: its own effect, that of random erasers, and the difference with its interval."""

    task: float
    random: float
    found: SeedMean


@dataclass(frozen=True, slots=True)
class ErasedTask:
    """One task erased from one model by one method: means over training seeds."""

    model: str
    checkpoint: str
    task: str
    method: str
    ranks: str  # directions of the state, and of every vector of the memory
    flat: dict[str, tuple[int, int]]  # how many hardly vary and are set to their mean: fewest and most of a seed
    seeds: int
    before: float  # micro-F1 of a probe on all that the decoder sees, in points
    after: float
    constant: float
    effects: dict[str, ErasureEffect]
    whole: float  # nats a token that the whole context is worth
    p_holm: float  # of the nats, over all rows
    verdict: str


@dataclass(frozen=True, slots=True)
class ErasureAnswer:
    """Every task of every model."""

    rows: tuple[ErasedTask, ...]
    left_out: tuple[str, ...]
    margin: float
    draws: int
    dialogues: int
    contexts: int
    lone: tuple[str, ...]
    signature: str


def answer(study: Path, *, margin: float = MARGIN) -> ErasureAnswer:
    """Read what `generation erased` wrote, and compare."""
    if not 0 < margin < math.inf:
        raise InputError(f"--margin is {margin}; a number of nats above 0 is expected, such as .01.")
    return with_and_without(read_erased(study), margin=margin)


def with_and_without(every: Sequence[ErasedCheckpoint], *, margin: float = MARGIN) -> ErasureAnswer:
    """Every task of these models against random erasers, and against none."""
    rows = [row for group in _by_model(every) for row in _rows(group)]
    if not rows:
        raise InputError(
            "No task was erased from all seeds of a model. Name others: python -m probes erase --tasks ..."
        )
    adjusted = holm(np.array([row.effects["nats"].found.p for row in rows]))
    first = every[0]
    draws = sum(one.told["kind"] == "random" for one in first.erased)
    ranks = len({str(one.told["ranks"]) for one in first.erased if one.told["kind"] == "random"})
    dialogues = int(first.clusters.max()) + 1
    return ErasureAnswer(
        tuple(_judged(row, float(p), margin) for row, p in zip(rows, adjusted, strict=True)),
        tuple(line for group in _by_model(every) for line in _left_out(group)),
        margin, draws // max(ranks, 1), dialogues, len(first.items),
        tuple(dict.fromkeys(row.model for row in rows if row.seeds == 1)),
        signature(
            erased=len(rows), against=f"{draws // max(ranks, 1)} random of the same rank", contexts=len(first.items),
            unit="dialogue+seed", interval="t by dialogue and by seed", p="Holm", margin=margin, level=0.95,
        ),
    )  # fmt: skip


def _by_model(every: Sequence[ErasedCheckpoint]) -> list[list[ErasedCheckpoint]]:
    groups: dict[tuple[str, str], list[ErasedCheckpoint]] = {}
    for one in every:
        groups.setdefault((one.model, one.checkpoint), []).append(one)
    return list(groups.values())


def _left_out(seeds: Sequence[ErasedCheckpoint]) -> Iterator[str]:
    """A task that one seed lacks is compared for none."""
    for task in dict.fromkeys(task for one in seeds for task in one.left_out):
        lacks = [one for one in seeds if task in one.left_out]
        which = "" if len(lacks) == len(seeds) else f"for seed {lacks[0].seed} "
        yield f"{seeds[0].model}: {task} ({which}{lacks[0].left_out[task]})"


def _rows(seeds: Sequence[ErasedCheckpoint]) -> Iterator[ErasedTask]:
    named = [{_name(one): one for one in seed.erased if one.told["kind"] == "task"} for seed in seeds]
    whole = [_worth(seed) for seed in seeds]
    for name in [name for name in named[0] if all(name in one for one in named)]:
        tasks = [one[name] for one in named]
        randoms = [_like(seed, task) for seed, task in zip(seeds, tasks, strict=True)]
        measures = [key for key in MEASURES if key != "acts" or seeds[0].plain.acts is not None]
        effects = {key: _effect(key, seeds, tasks, randoms) for key in measures}
        read = [float(np.mean([one.told[key] for one in tasks])) for key in ("before", "after", "constant")]
        ranks = "/".join(dict.fromkeys(_said_ranks(one) for one in tasks))
        yield ErasedTask(
            seeds[0].model, seeds[0].checkpoint, name[0], name[1], ranks, _flat(tasks), len(seeds), read[0], read[1],
            read[2], effects, float(np.mean(whole)), math.nan, OPEN,
        )  # fmt: skip


def _name(one: ErasedReplies) -> tuple[str, str]:
    return one.told["task"], one.told["method"]


def _said_ranks(one: ErasedReplies) -> str:
    return "+".join(str(rank) for rank in one.told["ranks"].values())


def _flat(tasks: Sequence[ErasedReplies]) -> dict[str, tuple[int, int]]:
    every = [one.told["flat"] for one in tasks]
    return {site: (min(one[site] for one in every), max(one[site] for one in every)) for site in every[0]}


def _like(seed: ErasedCheckpoint, task: ErasedReplies) -> list[ErasedReplies]:
    """The random erasers of its rank."""
    return [one for one in seed.erased if one.told["kind"] == "random" and one.told["ranks"] == task.told["ranks"]]


def _worth(seed: ErasedCheckpoint) -> float:
    """Nats a token that go with the whole context."""
    (all_gone,) = [one for one in seed.erased if one.told["kind"] == "everything"]
    return float((all_gone.nll - seed.plain.nll).sum() / seed.plain.tokens.sum())


def _effect(
    measure: str, seeds: Sequence[ErasedCheckpoint], tasks: Sequence[ErasedReplies],
    randoms: Sequence[Sequence[ErasedReplies]],
) -> ErasureEffect:  # fmt: skip
    """The task's effect beyond the random ones', as a ratio of sums in each seed."""
    weight = seeds[0].plain.tokens if measure == "nats" else np.ones(len(seeds[0].items))
    total = weight.sum()
    one = np.array([_numbers(measure, seed.plain, task) for seed, task in zip(seeds, tasks, strict=True)])
    drawn = [
        np.array([_numbers(measure, seed.plain, random) for random in of])
        for seed, of in zip(seeds, randoms, strict=True)
    ]
    beyond = one - np.array([each.mean(0) for each in drawn])
    values = beyond.sum(1) / total
    parts = np.array(
        [
            np.bincount(seed.clusters, (line - value * weight) / total)
            for seed, line, value in zip(seeds, beyond, values, strict=True)
        ]
    )
    found = mean_over_seeds(replicates_by_dialogue(values, parts))
    if len(seeds) == 1:
        found = _with_luck(found, drawn[0].sum(1) / total)
    by_chance = float(np.mean([each.mean(0).sum() for each in drawn]) / total)
    return ErasureEffect(float(one.sum() / total / len(seeds)), by_chance, found)


def _numbers(measure: str, plain: ErasedReplies, erased: ErasedReplies) -> Floats:
    if measure == "nats":
        return erased.nll - plain.nll
    if measure == "acts":
        return 100.0 * np.asarray(erased.acts != plain.acts, np.float64)
    return 100 * erased.changed if measure == "changed" else 100 - erased.bleu2


def _with_luck(found: SeedMean, draws: Floats) -> SeedMean:
    """One seed has no spread over seeds in which the luck of random erasers could show: theirs is added."""
    n = len(draws)
    if n < 2:
        return found
    variance, freedom = both_levels((found.se**2, found.freedom), (float(draws.var(ddof=1)) * (1 + 1 / n), n - 1.0))
    se = math.sqrt(variance)
    if not se > 0:
        return found
    reach = float(stdtrit(freedom, 0.975)) * se
    p = 2 * float(stdtr(freedom, -abs(found.value) / se))
    return SeedMean(found.value, se, freedom, found.value - reach, found.value + reach, p, 1)


def _judged(row: ErasedTask, p: float, margin: float) -> ErasedTask:
    found = row.effects["nats"].found
    # To a decoder that does without the whole context nothing of it could have been found to matter.
    inside = -margin < found.low and found.high < margin < row.whole
    verdict = USED if p < SURE and found.value > 0 else UNUSED if inside else OPEN
    return replace(row, p_holm=p, verdict=verdict)


@dataclass(frozen=True, eq=False)
class ErasedReplies:
    """One eraser of one checkpoint, or none: what the model then says, a row a context."""

    told: Mapping[str, Any]  # its entry in erasers.json; empty where nothing is erased
    nll: NDArray[np.float64]
    tokens: NDArray[np.float64]
    changed: NDArray[np.float64]
    bleu2: NDArray[np.float64]
    acts: NDArray[np.str_] | None


@dataclass(frozen=True, eq=False)
class ErasedCheckpoint:
    """One model, seed and checkpoint with all of its erasers; `clusters` has a number for the dialogue of each row."""

    model: str
    seed: int | None
    checkpoint: str
    items: tuple[str, ...]
    clusters: NDArray[np.int64]
    plain: ErasedReplies
    erased: tuple[ErasedReplies, ...]
    left_out: Mapping[str, str]  # task -> why it has no eraser


def read_erased(study: Path) -> list[ErasedCheckpoint]:
    """Every checkpoint that was decoded behind its erasers."""
    found = [_checkpoint(study, told) for told in sorted((study / ERASERS).glob("*/erasers.json"))]
    if not found:
        raise InputError(
            f"{study} has no erasers. Make them: python -m generation encode {study} --pooling decoder --checkpoints "
            f"last, then python -m probes erase {study}, then python -m generation erased {study}."
        )
    if len({one.items for one in found}) > 1:
        raise InputError(f"The models of {study} answered different contexts: python -m generation erased {study}.")
    return found


def _checkpoint(study: Path, told: Path) -> ErasedCheckpoint:
    about, folder = read_json(told), study / "erased" / told.parent.name
    if any("flat" not in one for one in about["erasers"] if "file" in one):
        raise InputError(
            f"{told} is of an earlier version, whose erasers left directions that hardly vary as they were. Make them "
            f"anew: python -m probes erase {study}, then python -m generation erased {study}."
        )
    plain, items, clusters = _replies(folder / "none.parquet", {}, None)
    erased = []
    for one in about["erasers"]:
        if "file" in one:
            path = folder / f"{Path(one['file']).stem}.parquet"
            replies, others, _ = _replies(path, one, digest(told.parent / one["file"]))
            if others != items:
                raise InputError(f"{path} has other contexts than none.parquet: python -m generation erased {study}.")
            erased.append(replies)
    left = {one["task"]: one["left_out"] for one in about["erasers"] if "left_out" in one}
    seed = about["seed"]
    codes = np.unique(np.array(clusters), return_inverse=True)[1].astype(np.int64)
    return ErasedCheckpoint(
        str(about["model"]), None if seed is None else int(seed), str(about["checkpoint"]), items, codes, plain,
        tuple(erased), left,
    )  # fmt: skip


def _replies(
    path: Path, told: Mapping[str, Any], eraser: str | None
) -> tuple[ErasedReplies, tuple[str, ...], list[str]]:
    again = f"Decode again: python -m generation erased {path.parents[2]}."
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} is not there, or not whole. {again}") from error
    if eraser is not None and (table.schema.metadata or {}).get(b"eraser") != eraser.encode():
        raise InputError(f"{path} was made with another eraser than is there now. {again}")
    numbers = {name: np.asarray(table[name].to_numpy(), np.float64) for name in ("nll", "tokens", "changed", "bleu2")}
    acts = None if table["acts"].null_count else np.array(table["acts"].to_pylist(), str)
    return ErasedReplies(told, **numbers, acts=acts), tuple(table["item"].to_pylist()), table["cluster"].to_pylist()
