"""Does the decoder use what the encoder holds? What changes when a task is erased, beyond what a random eraser changes.

Four things are measured on the same contexts: what the reference costs (nats a token), how many replies change, how
unlike the new replies are (100 minus BLEU-2 against the old ones), and how many have other dialogue acts. Each is the
task's effect minus the mean of random erasers of the same rank, paired by context; its interval is for new dialogues
and new training seeds. Random erasers are drawn anew for each seed, so that the spread over seeds holds their luck too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from seedvote.analysis.showing.page import Axis, Row, RowFigure, Section
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, number, p_value, percent, signed, to_plain, warn_of_few_seeds
from seedvote.analysis.stats.mean_over_seeds import SeedMean, mean_over_seeds, replicates_by_dialogue
from seedvote.analysis.stats.reruns import both_levels
from seedvote.analysis.votes.study import ReportRequest
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest, read_json
from seedvote.dialogue.formulas.uncertainty import adjust_by_holm
from seedvote.dialogue.signature import signature

Floats = NDArray[np.float64]
MARGIN = 0.01  # nats a token
SURE = 0.05
USED, UNUSED, OPEN = "used", "not used", "open"
VERDICTS = {USED: "uses it", UNUSED: "does not use it", OPEN: "not known"}
COLOURS = {USED: "c7", UNUSED: "c0", OPEN: "grey"}
MEASURES = {"nats": "nats a token", "changed": "replies changed", "unlike": "unlike", "acts": "other acts"}
SITES = {"state": "the first state", "memory": "the memory"}  # of the decoder
ERASERS = "erasers"  # the folder of a study


@dataclass(frozen=True, slots=True)
class ErasureEffect:
    """One measure of one task: its own effect, that of random erasers, and the difference with its interval."""

    task: float
    random: float
    beyond: SeedMean


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

    @property
    def name(self) -> str:
        """The model and its checkpoint."""
        return f"{self.model} {self.checkpoint}"


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


@dataclass(frozen=True, eq=False)
class ErasedReplies:
    """One eraser of one checkpoint, or none: what the model then says, a row a context."""

    entry: Mapping[str, Any]  # of the eraser in erasers.json; empty where nothing is erased
    nll: Floats
    tokens: Floats
    changed: Floats
    bleu2: Floats
    acts: NDArray[np.str_] | None

    @property
    def is_random(self) -> bool:
        """Whether the eraser was drawn by chance."""
        return bool(self.entry["kind"] == "random")

    @property
    def task_and_method(self) -> tuple[str, str]:
        """What is erased, and how."""
        return self.entry["task"], self.entry["method"]


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


def answer(study: Path, *, margin: float = MARGIN) -> ErasureAnswer:
    """Read what `generation erased` wrote, and compare."""
    if not 0 < margin < math.inf:
        raise InputError(f"--margin is {margin}; a number of nats above 0 is expected, such as .01.")
    return compare_erasures(read_erased(study), margin=margin)


def compare_erasures(checkpoints: Sequence[ErasedCheckpoint], *, margin: float = MARGIN) -> ErasureAnswer:
    """Every task of these models against random erasers, and against none."""
    models = _group_by_model(checkpoints)
    rows = [row for seeds in models for row in _compare_tasks(seeds)]
    if not rows:
        raise InputError(
            "No task was erased from all seeds of a model. Name others: python -m probes erase --tasks ..."
        )
    adjusted = adjust_by_holm(np.array([row.effects["nats"].beyond.p for row in rows]))
    first = checkpoints[0]
    random = [replies for replies in first.erased if replies.is_random]
    draws = len(random) // max(len({str(replies.entry["ranks"]) for replies in random}), 1)
    return ErasureAnswer(
        rows=tuple(_with_verdict(row, float(p), margin) for row, p in zip(rows, adjusted, strict=True)),
        left_out=tuple(line for seeds in models for line in _list_left_out(seeds)),
        margin=margin,
        draws=draws,
        dialogues=int(first.clusters.max()) + 1,
        contexts=len(first.items),
        lone=tuple(dict.fromkeys(row.model for row in rows if row.seeds == 1)),
        signature=signature(
            erased=len(rows),
            against=f"{draws} random of the same rank",
            contexts=len(first.items),
            unit="dialogue+seed",
            interval="t by dialogue and by seed",
            p="Holm",
            margin=margin,
            level=0.95,
        ),
    )


def _group_by_model(checkpoints: Sequence[ErasedCheckpoint]) -> list[list[ErasedCheckpoint]]:
    groups: dict[tuple[str, str], list[ErasedCheckpoint]] = {}
    for checkpoint in checkpoints:
        groups.setdefault((checkpoint.model, checkpoint.checkpoint), []).append(checkpoint)
    return list(groups.values())


def _list_left_out(seeds: Sequence[ErasedCheckpoint]) -> Iterator[str]:
    """A task that one seed lacks is compared for none."""
    for task in dict.fromkeys(task for seed in seeds for task in seed.left_out):
        lacking = [seed for seed in seeds if task in seed.left_out]
        which = "" if len(lacking) == len(seeds) else f"for seed {lacking[0].seed} "
        yield f"{seeds[0].model}: {task} ({which}{lacking[0].left_out[task]})"


def _compare_tasks(seeds: Sequence[ErasedCheckpoint]) -> Iterator[ErasedTask]:
    by_name = [
        {replies.task_and_method: replies for replies in seed.erased if replies.entry["kind"] == "task"}
        for seed in seeds
    ]
    context_worth = float(np.mean([_context_worth(seed) for seed in seeds]))
    measures = [key for key in MEASURES if key != "acts" or seeds[0].plain.acts is not None]
    for name in [name for name in by_name[0] if all(name in tasks for tasks in by_name)]:
        tasks = [replies[name] for replies in by_name]
        randoms = [
            [replies for replies in seed.erased if replies.is_random and replies.entry["ranks"] == task.entry["ranks"]]
            for seed, task in zip(seeds, tasks, strict=True)
        ]
        flat = [task.entry["flat"] for task in tasks]
        ranks = ["+".join(map(str, task.entry["ranks"].values())) for task in tasks]
        before, after, constant = (
            float(np.mean([task.entry[key] for task in tasks])) for key in ("before", "after", "constant")
        )
        yield ErasedTask(
            model=seeds[0].model,
            checkpoint=seeds[0].checkpoint,
            task=name[0],
            method=name[1],
            ranks="/".join(dict.fromkeys(ranks)),
            flat={
                site: (
                    min(loss_by_site[site] for loss_by_site in flat),
                    max(loss_by_site[site] for loss_by_site in flat),
                )
                for site in flat[0]
            },
            seeds=len(seeds),
            before=before,
            after=after,
            constant=constant,
            effects={key: _estimate_effect(key, seeds, tasks, randoms) for key in measures},
            whole=context_worth,
            p_holm=math.nan,
            verdict=OPEN,
        )


def _context_worth(seed: ErasedCheckpoint) -> float:
    """Nats a token that go with the whole context."""
    (without_context,) = [replies for replies in seed.erased if replies.entry["kind"] == "everything"]
    return float((without_context.nll - seed.plain.nll).sum() / seed.plain.tokens.sum())


def _estimate_effect(
    measure: str,
    seeds: Sequence[ErasedCheckpoint],
    tasks: Sequence[ErasedReplies],
    randoms: Sequence[Sequence[ErasedReplies]],
) -> ErasureEffect:
    """The task's effect beyond the random ones', as a ratio of sums in each seed."""
    weight = seeds[0].plain.tokens if measure == "nats" else np.ones(len(seeds[0].items))
    total = weight.sum()
    effect = np.array([_compute_measure(measure, seed.plain, task) for seed, task in zip(seeds, tasks, strict=True)])
    random_effects = [
        np.array([_compute_measure(measure, seed.plain, random) for random in draws])
        for seed, draws in zip(seeds, randoms, strict=True)
    ]
    beyond = effect - np.array([draws.mean(0) for draws in random_effects])
    values = beyond.sum(1) / total
    parts = np.array(
        [
            np.bincount(seed.clusters, (row - value * weight) / total)
            for seed, row, value in zip(seeds, beyond, values, strict=True)
        ]
    )
    mean = mean_over_seeds(replicates_by_dialogue(values, parts))
    if len(seeds) == 1:
        mean = _widen_for_luck(mean, random_effects[0].sum(1) / total)
    by_chance = float(np.mean([draws.mean(0).sum() for draws in random_effects]) / total)
    return ErasureEffect(float(effect.sum() / total / len(seeds)), by_chance, mean)


def _compute_measure(measure: str, plain: ErasedReplies, erased: ErasedReplies) -> Floats:
    if measure == "nats":
        return erased.nll - plain.nll
    if measure == "acts":
        return 100.0 * np.asarray(erased.acts != plain.acts, np.float64)
    return 100 * erased.changed if measure == "changed" else 100 - erased.bleu2


def _widen_for_luck(mean: SeedMean, draws: Floats) -> SeedMean:
    """One seed has no spread over seeds in which the luck of random erasers could show: theirs is added."""
    n = len(draws)
    if n < 2:
        return mean
    variance, freedom = both_levels((mean.se**2, mean.freedom), (float(draws.var(ddof=1)) * (1 + 1 / n), n - 1.0))
    se = math.sqrt(variance)
    if not se > 0:
        return mean
    reach = float(stdtrit(freedom, 0.975)) * se
    p = 2 * float(stdtr(freedom, -abs(mean.value) / se))
    return SeedMean(mean.value, se, freedom, mean.value - reach, mean.value + reach, p, 1)


def _with_verdict(row: ErasedTask, p: float, margin: float) -> ErasedTask:
    mean = row.effects["nats"].beyond
    # To a decoder that does without the whole context nothing of it could have been found to matter.
    is_inside = -margin < mean.low and mean.high < margin < row.whole
    verdict = USED if p < SURE and mean.value > 0 else UNUSED if is_inside else OPEN
    return replace(row, p_holm=p, verdict=verdict)


def read_erased(study: Path) -> list[ErasedCheckpoint]:
    """Every checkpoint that was decoded behind its erasers."""
    checkpoints = [_read_checkpoint(study, path) for path in sorted((study / ERASERS).glob("*/erasers.json"))]
    if not checkpoints:
        raise InputError(
            f"{study} has no erasers. Make them: python -m generation encode {study} --pooling decoder --checkpoints "
            f"last, then python -m probes erase {study}, then python -m generation erased {study}."
        )
    if len({checkpoint.items for checkpoint in checkpoints}) > 1:
        raise InputError(f"The models of {study} answered different contexts: python -m generation erased {study}.")
    return checkpoints


def _read_checkpoint(study: Path, path: Path) -> ErasedCheckpoint:
    about, folder = read_json(path), study / "erased" / path.parent.name
    if any("flat" not in entry for entry in about["erasers"] if "file" in entry):
        raise InputError(
            f"{path} is of an earlier version, whose erasers left directions that hardly vary as they were. Make them "
            f"anew: python -m probes erase {study}, then python -m generation erased {study}."
        )
    plain_replies, items, clusters = _read_replies(folder / "none.parquet", {}, None)
    erased = []
    for entry in about["erasers"]:
        if "file" in entry:
            file = folder / f"{Path(entry['file']).stem}.parquet"
            replies, its_items, _ = _read_replies(file, entry, digest(path.parent / entry["file"]))
            if its_items != items:
                raise InputError(f"{file} has other contexts than none.parquet: python -m generation erased {study}.")
            erased.append(replies)
    seed = about["seed"]
    return ErasedCheckpoint(
        model=str(about["model"]),
        seed=None if seed is None else int(seed),
        checkpoint=str(about["checkpoint"]),
        items=items,
        clusters=np.unique(np.array(clusters), return_inverse=True)[1].astype(np.int64),
        plain=plain_replies,
        erased=tuple(erased),
        left_out={entry["task"]: entry["left_out"] for entry in about["erasers"] if "left_out" in entry},
    )


def _read_replies(
    path: Path, entry: Mapping[str, Any], eraser: str | None
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
    return ErasedReplies(entry, **numbers, acts=acts), tuple(table["item"].to_pylist()), table["cluster"].to_pylist()


def parts(answer: ErasureAnswer) -> list[Table | str]:
    """The table, what to know of it, and the recipe."""
    return [erasure_table(answer), "\n".join([count_verdicts(answer), *erasure_notes(answer)]), answer.signature]


def erasure_table(answer: ErasureAnswer) -> Table:
    """A line for every model, task and method."""
    measures = [name for name in MEASURES if name in answer.rows[0].effects]
    titles = [f"{MEASURES[name]}{' (95 %)' if name == 'nats' else ''}" for name in measures]
    probe = ["probe: before", "after", "constant"]
    head = ["model", "task", "method", "rank", *probe, *titles, "of the context", "p (Holm)", "the decoder"]
    rows = [
        [
            row.name,
            row.task,
            row.method,
            row.ranks,
            *(f"{value:.1f}" for value in (row.before, row.after, row.constant)),
            *(_effect_cell(name, row.effects[name]) for name in measures),
            context_share(row, answer.margin),
            p_value(row.p_holm),
            VERDICTS[row.verdict],
        ]
        for row in answer.rows
    ]
    return Table(head, rows, "What erasing a task changes beyond a random eraser")


def _effect_cell(name: str, effect: ErasureEffect) -> str:
    return name_cost(effect) if name == "nats" else f"{signed(effect.beyond.value)} (of {number(effect.task, 1)})"


def context_share(row: ErasedTask, margin: float) -> str:
    """The cost as a share of what the whole context is worth; a dash where that is next to nothing."""
    return percent(row.effects["nats"].beyond.value / row.whole, 0) if row.whole > margin else "-"


def name_cost(effect: ErasureEffect) -> str:
    """Nats a token with their interval."""
    mean = effect.beyond
    return f"{signed(mean.value, 3)} ({signed(mean.low, 3)} to {signed(mean.high, 3)})"


def count_verdicts(answer: ErasureAnswer) -> str:
    """How many lines of the table have which verdict."""
    numbers = {verdict: sum(row.verdict == verdict for row in answer.rows) for verdict in VERDICTS}
    models = len({row.name for row in answer.rows})
    return (
        f"Of {count(len(answer.rows), 'erasure')} in {count(models, 'model')}, the decoder is shown to use what was "
        f"erased in {numbers[USED]}, and not to use it in {numbers[UNUSED]}; in {numbers[OPEN]} that is not known."
    )


def erasure_notes(answer: ErasureAnswer) -> Iterator[str]:
    """What the reader of the table must know."""
    yield (
        f"Each number is the task's effect minus the mean effect of {answer.draws} random erasers of the same rank, on "
        f"{answer.contexts:,} contexts of {answer.dialogues:,} dialogues. In brackets stands its interval, or the "
        "effect of the task alone."
    )
    yield (
        "Replies, unlikeness (100 minus BLEU-2 against the reply without erasure) and acts are in points. The decoder "
        f"uses a task if p < .05 over all lines, and does not if the whole interval lies within {answer.margin:g} nats."
    )
    yield (
        "What is not linear, or stands in single positions only, is not erased: 'does not use it' is said of what a "
        "linear reader finds."
    )
    if flat := name_flat_directions(answer):
        yield flat
    worth = {row.name: row.whole for row in answer.rows}
    costs = ", ".join(f"{model} {number(nats)}" for model, nats in worth.items())
    yield f"Erasing the whole context costs, in nats a token: {costs}. 'Of the context' is the share of that."
    if idle := [model for model, nats in worth.items() if nats <= answer.margin]:
        yield f"The context is worth next to nothing to {', '.join(idle)}: there nothing can be found to be used."
    if answer.lone:
        yield f"One seed alone: {', '.join(answer.lone)}. Their intervals know nothing of other seeds."
    yield from warn_of_few_seeds(effect.beyond.spread for row in answer.rows for effect in row.effects.values())
    if answer.left_out:
        yield "Left out: " + "; ".join(answer.left_out) + "."


def name_flat_directions(answer: ErasureAnswer) -> str:
    """How many directions of which model hardly vary; nothing where all vary."""
    models = []
    for name, flat in {row.name: row.flat for row in answer.rows}.items():
        sites = [
            f"{low if low == high else f'{low} to {high}'} of {SITES[site]}"
            for site, (low, high) in flat.items()
            if high
        ]
        models += [f"{name} {' and '.join(sites)}"] if sites else []
    if not models:
        return ""
    return (
        "Every eraser, random ones too, sets directions that hardly vary to the mean (SD below a millionth of the "
        f"largest). They are no part of its rank: {'; '.join(models)}."
    )


def row_figures(answer: ErasureAnswer) -> tuple[RowFigure, ...]:
    """A heading for each model, under it a row for each task."""
    means = [row.effects["nats"].beyond for row in answer.rows]
    ends = [end for mean in means for end in (mean.low, mean.high) if math.isfinite(end)]
    if not ends:
        return ()
    axis = Axis(min([0.0, *ends]), max([0.0, *ends]) or 1.0)
    has_methods = len({row.method for row in answer.rows}) > 1
    rows: list[Row] = []
    for model in dict.fromkeys(row.name for row in answer.rows):
        rows.append(Row(model))
        for task in (row for row in answer.rows if row.name == model):
            mean, cost = task.effects["nats"].beyond, name_cost(task.effects["nats"])
            label = f"{task.task} ({task.method})" if has_methods else task.task
            marks = axis.interval(mean.low, mean.value, mean.high, COLOURS[task.verdict])
            rows.append(Row(label, cost, marks, described=f"{cost}: {VERDICTS[task.verdict]}"))
    return (
        RowFigure(
            "What erasing a task costs beyond a random eraser",
            tuple(rows),
            axis.round_ticks(),
            "nats a token of the reference",
            ((axis.at(0), "as random"),),
            tuple(("dot", COLOURS[verdict], f"the decoder: {words}") for verdict, words in VERDICTS.items()),
            note_head="cost (95 % interval)",
            name="erasure",
        ),
    )


def document(answer: ErasureAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    keys = {
        "rows": [{**asdict(row), "effects": _effect_keys(row.effects)} for row in answer.rows],
        "left_out": answer.left_out,
        "margin": answer.margin,
        "draws": answer.draws,
        "dialogues": answer.dialogues,
        "contexts": answer.contexts,
        "one_seed": answer.lone,
        "signature": answer.signature,
    }
    return dict(to_plain(keys))


def _effect_keys(effects: Mapping[str, ErasureEffect]) -> dict[str, Any]:
    return {
        name: {
            "task": effect.task,
            "random": effect.random,
            "beyond": mean.value,
            **{key: getattr(mean, key) for key in ("se", "low", "high", "p", "freedom")},
            "range": mean.spread,
        }
        for name, effect in effects.items()
        for mean in [effect.beyond]
    }


def section(answer: ErasureAnswer | None, refusal: str = "") -> Section:
    """What the report shows; without an answer why there is none."""
    title = "What the decoders use"
    question = (
        "A probe that reads a fact from an encoder's states does not show that the model uses it. Here each task was "
        "erased from all that the decoder sees, and the same decoder answered again."
    )
    if answer is None:
        return Section("erasure", title, (question, refusal))
    return Section(
        "erasure",
        title,
        (question, count_verdicts(answer)),
        row_figures(answer),
        tables=(erasure_table(answer),),
        notes=tuple(erasure_notes(answer)),
    )


def erasure(study: Any, *, margin: float = MARGIN) -> Result:
    """Whether decoders use what their encoders hold (`python -m analysis erasure`); `study` is a folder."""
    effects = answer(Path(study), margin=margin)
    return Result(document(effects), parts(effects), lambda: row_figures(effects))


def in_report(request: ReportRequest) -> ErasureAnswer | None:
    """As of `analysis erasure STUDY`; None where nothing was erased."""
    folder = request.study.folder
    return answer(folder) if (folder / ERASERS).is_dir() else None
