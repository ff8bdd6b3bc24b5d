"""Where does what a decoder uses lie? What a reference costs when a site holds another dialogue of another label.

For every target, a site (a layer, or a group of positions) was replaced by that of another dialogue with another label,
and by that of another dialogue with the same label. The second is the null: it moves the site as far, but not the
label. The effect is the difference of both in nats a token of the target's reference; as a share it is divided by the
same difference where everything is replaced. Intervals are for new dialogues and new training seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seedvote.analysis.showing.page import Axis, Reported, Row, RowFigure, Section, round_steps
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, p_value, percent, signed, to_plain
from seedvote.analysis.stats.mean_over_seeds import SeedMean, mean_over_seeds, replicates_by_dialogue
from seedvote.analysis.votes.study import ReportRequest
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.formulas.uncertainty import adjust_by_holm
from seedvote.dialogue.signature import signature

Floats = NDArray[np.float64]
MARGIN = 0.1  # of the effect of everything
SURE = 0.05
CARRIES, NOT, OPEN = "carries", "does not", "open"
VERDICTS = {CARRIES: "carries it", NOT: "does not carry it", OPEN: "not known"}
COLOURS = {CARRIES: "c7", NOT: "c0", OPEN: "grey"}
EVERYTHING, NONE, SAME, OTHER = "everything", "none", "same", "other"
PATCHED = "patched"  # the folder of a study


@dataclass(frozen=True, slots=True)
class PatchedSite:
    """One site of one model for one task: means over training seeds, in nats a token."""

    model: str
    checkpoint: str
    task: str
    site: str
    seeds: int
    effect: SeedMean  # another label less the same label
    null: SeedMean  # the same label less no patch
    share: SeedMean | None  # of the effect of everything; None where that is not shown to be above zero
    p_holm: float  # of the effect, over all rows
    verdict: str

    @property
    def name(self) -> str:
        """The model and its checkpoint."""
        return f"{self.model} {self.checkpoint}"


@dataclass(frozen=True, slots=True)
class PatchingAnswer:
    """Every site of every model."""

    rows: tuple[PatchedSite, ...]
    margin: float
    draws: int
    contexts: dict[str, int]  # of each task
    dialogues: int
    lone: tuple[str, ...]
    signature: str


@dataclass(frozen=True, eq=False)
class PatchedTask:
    """One model, seed and task: of every target its tokens, and nats beyond no patch at each site, mean over draws."""

    model: str
    seed: int | None
    checkpoint: str
    task: str
    plan: str
    draws: int
    items: tuple[str, ...]
    clusters: NDArray[np.int64]
    tokens: Floats
    same: dict[str, Floats]
    other: dict[str, Floats]


def answer(study: Path, *, margin: float = MARGIN) -> PatchingAnswer:
    """Read what `generation patched` wrote, and compare."""
    if not 0 < margin < 1:
        raise InputError(f"--margin is {margin}; a share of the effect of everything is expected, such as .1.")
    return compare_patches(read_patched(study), margin=margin)


def compare_patches(tasks: Sequence[PatchedTask], *, margin: float = MARGIN) -> PatchingAnswer:
    """Every site of these models against sources of the same label."""
    groups: dict[tuple[str, str, str], list[PatchedTask]] = {}
    for task in tasks:
        groups.setdefault((task.model, task.checkpoint, task.task), []).append(task)
    rows = [row for seeds in groups.values() for row in _compare_sites(seeds)]
    adjusted = adjust_by_holm(np.array([row.effect.p for row in rows]))
    draws, contexts = tasks[0].draws, {task.task: len(task.items) for task in tasks}
    return PatchingAnswer(
        rows=tuple(_with_verdict(row, float(p), margin) for row, p in zip(rows, adjusted, strict=True)),
        margin=margin,
        draws=draws,
        contexts=contexts,
        dialogues=len({item.rpartition(":")[0] for task in tasks for item in task.items}),
        lone=tuple(dict.fromkeys(row.model for row in rows if row.seeds == 1)),
        signature=signature(
            patched=len(rows),
            against="another dialogue of the same label",
            draws=draws,
            unit="dialogue+seed",
            interval="t by dialogue and by seed",
            p="Holm",
            margin=margin,
            level=0.95,
        ),
    )


def _compare_sites(seeds: Sequence[PatchedTask]) -> Iterator[PatchedSite]:
    first = seeds[0]
    if len({seed.plan for seed in seeds}) > 1:
        raise InputError(f"The seeds of {first.model} met different sources. Patch again: python -m generation patched")
    contrasts = {site: np.array([seed.other[site] - seed.same[site] for seed in seeds]) for site in first.same}
    tokens, whole = np.array([first.tokens] * len(seeds)), contrasts[EVERYTHING]
    every = _estimate_ratio(whole, tokens, first.clusters)
    for site, contrast in contrasts.items():
        share = None
        if every.p < SURE and every.value > 0 and (whole.sum(1) > 0).all():
            share = _estimate_ratio(contrast, whole, first.clusters)
        yield PatchedSite(
            model=first.model,
            checkpoint=first.checkpoint,
            task=first.task,
            site=site,
            seeds=len(seeds),
            effect=_estimate_ratio(contrast, tokens, first.clusters),
            null=_estimate_ratio(np.array([seed.same[site] for seed in seeds]), tokens, first.clusters),
            share=share,
            p_holm=math.nan,
            verdict=OPEN,
        )


def _estimate_ratio(above: Floats, below: Floats, clusters: NDArray[np.int64]) -> SeedMean:
    """A ratio of sums in each seed (seeds x contexts), linear in what each dialogue adds to it."""
    total = below.sum(1, keepdims=True)
    values = above.sum(1) / total[:, 0]
    residuals = (above - values[:, None] * below) / total
    parts = np.array([np.bincount(clusters, row) for row in residuals])
    return mean_over_seeds(replicates_by_dialogue(values, parts))


def _with_verdict(row: PatchedSite, p: float, margin: float) -> PatchedSite:
    is_inside = row.share is not None and -margin < row.share.low and row.share.high < margin
    verdict = CARRIES if p < SURE and row.effect.value > 0 else NOT if is_inside else OPEN
    return replace(row, p_holm=p, verdict=verdict)


def read_patched(study: Path) -> list[PatchedTask]:
    """Every model and task that was patched."""
    tasks = [_read_task(path) for path in sorted((study / PATCHED).glob("*/*.parquet"))]
    if not tasks:
        raise InputError(
            f"{study} has nothing patched. First: python -m probes patch {study}, then python -m generation patched "
            f"{study}."
        )
    return tasks


def _read_task(path: Path) -> PatchedTask:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"{path} is not whole. Patch again: python -m generation patched {path.parents[2]}."
        ) from error
    about = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    columns = {name: table[name].to_pylist() for name in ("site", "kind", "item", "draw", "cluster", "nll", "tokens")}
    plain, tokens, clusters = {}, {}, {}
    sums: dict[tuple[str, str], dict[str, list[float]]] = {}
    for site, kind, item, _, cluster, nll, length in zip(*columns.values(), strict=True):
        tokens[item], clusters[item] = float(length), cluster
        if kind == NONE:
            plain[item] = nll
        else:
            sums.setdefault((kind, site), {}).setdefault(item, []).append(nll)
    items = tuple(sorted(plain))
    effects = {
        key: np.array([float(np.mean(by_item[item])) - plain[item] for item in items]) for key, by_item in sums.items()
    }
    return PatchedTask(
        model=about["model"],
        seed=int(about["seed"]) if "seed" in about else None,
        checkpoint=about["checkpoint"],
        task=about["task"],
        plan=about["plan"],
        draws=max(columns["draw"]) + 1,
        items=items,
        clusters=np.unique([clusters[item] for item in items], return_inverse=True)[1].astype(np.int64),
        tokens=np.array([tokens[item] for item in items]),
        same={site: values for (kind, site), values in effects.items() if kind == SAME},
        other={site: values for (kind, site), values in effects.items() if kind == OTHER},
    )


def parts(answer: PatchingAnswer) -> list[Table | str]:
    """The table, what to know of it, and the recipe."""
    return [patching_table(answer), "\n".join([count_verdicts(answer), *patching_notes(answer)]), answer.signature]


def patching_table(answer: PatchingAnswer) -> Table:
    """A line for every model, task and site."""
    head = ["model", "task", "site", "same label", "effect (95 %)", "of everything (95 %)", "p (Holm)", "the site"]
    rows = [
        [
            row.name,
            row.task,
            row.site,
            signed(row.null.value, 3),
            name_interval(row.effect, 3),
            share_cell(row),
            p_value(row.p_holm),
            VERDICTS[row.verdict],
        ]
        for row in answer.rows
    ]
    return Table(head, rows, "What a reference costs when a site has another label, beyond the same label")


def name_interval(mean: SeedMean, places: int) -> str:
    """A mean with its interval."""
    return f"{signed(mean.value, places)} ({signed(mean.low, places)} to {signed(mean.high, places)})"


def share_cell(row: PatchedSite) -> str:
    """The share of the effect of everything; a dash where that is not known."""
    if row.share is None:
        return "-"
    low, high = (percent(end, 0) if math.isfinite(end) else "-" for end in (row.share.low, row.share.high))
    return f"{percent(row.share.value, 0)} ({low} to {high})"


def count_verdicts(answer: PatchingAnswer) -> str:
    """How many lines of the table have which verdict."""
    numbers = {verdict: sum(row.verdict == verdict for row in answer.rows) for verdict in VERDICTS}
    return (
        f"Of {count(len(answer.rows), 'site')}, {numbers[CARRIES]} carry the label to the reply, and {numbers[NOT]} do "
        f"not; of {numbers[OPEN]} that is not known."
    )


def patching_notes(answer: PatchingAnswer) -> Iterator[str]:
    """What the reader of the table must know."""
    contexts = ", ".join(f"{task} {many:,}" for task, many in answer.contexts.items())
    yield (
        "Effects are in nats a token of the target's reference. "
        f"Contexts: {contexts}, of {answer.dialogues:,} dialogues."
    )
    yield (
        f"Each site came from {count(answer.draws, 'dialogue')} of another label and as many of the same label, which "
        "are the null. The effect is the first cost minus the second."
    )
    yield (
        "A share divides an effect by that of everything. Shares of several sites need not add up to 100 %, because "
        "layers pass the label on."
    )
    yield (
        f"A site carries the label if p < .05 over all lines. It does not if the share lies within {answer.margin:.0%} "
        "of zero with its whole interval."
    )
    unknown = [row for row in answer.rows if row.site == EVERYTHING and row.share is None]
    if names := list(dict.fromkeys(f"{row.name} ({row.task})" for row in unknown)):
        yield f"No share is given where the label of the whole context is not shown to matter: {', '.join(names)}."
    if answer.lone:
        yield f"One seed alone: {', '.join(answer.lone)}. Their intervals know nothing of other seeds."


def row_figures(answer: PatchingAnswer) -> tuple[RowFigure, ...]:
    """A heading for each model and task, under it a row for each site."""
    ends = [end for row in answer.rows for end in (row.effect.low, row.effect.high) if math.isfinite(end)]
    if not ends:
        return ()
    axis = Axis(min([0.0, *ends]), max([0.0, *ends]) or 1.0)
    rows: list[Row] = []
    for heading in dict.fromkeys((row.name, row.task) for row in answer.rows):
        rows.append(Row(f"{heading[0]}, {heading[1]}"))
        for row in (row for row in answer.rows if (row.name, row.task) == heading):
            mean, cost = row.effect, name_interval(row.effect, 3)
            marks = axis.interval(mean.low, mean.value, mean.high, COLOURS[row.verdict])
            rows.append(Row(row.site, cost, marks, described=f"{cost}: {VERDICTS[row.verdict]}"))
    return (
        RowFigure(
            "What another label at a site costs beyond the same label",
            tuple(rows),
            axis.ticks(round_steps(axis.low, axis.high)),
            "nats a token of the reference",
            ((axis.at(0), "as the same label"),),
            tuple(("dot", COLOURS[verdict], f"the site {words}") for verdict, words in VERDICTS.items()),
            note_head="effect (95 % interval)",
            name="patching",
        ),
    )


def document(answer: PatchingAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    keys = {
        "rows": [_row_keys(row) for row in answer.rows],
        "margin": answer.margin,
        "draws": answer.draws,
        "contexts": answer.contexts,
        "dialogues": answer.dialogues,
        "one_seed": answer.lone,
        "signature": answer.signature,
    }
    return dict(to_plain(keys))


def _row_keys(row: PatchedSite) -> dict[str, Any]:
    means = {"effect": row.effect, "null": row.null, "share": row.share}
    fields = ("value", "se", "low", "high", "p", "freedom")
    return {
        **{key: value for key, value in asdict(row).items() if key not in means},
        **{name: mean and {field: getattr(mean, field) for field in fields} for name, mean in means.items()},
    }


def section(answer: PatchingAnswer | None, refusal: str = "") -> Section | None:
    """What the report shows; without an answer only why there is none."""
    title = "Where decoders find what they use"
    question = (
        "One layer, or one group of positions, was taken from another dialogue of another label, and the reference was "
        "scored again. The null takes it from another dialogue of the same label."
    )
    if answer is None:
        return Section("patching", title, (question, refusal)) if refusal else None
    return Section(
        "patching",
        title,
        (question, count_verdicts(answer)),
        row_figures(answer),
        tables=(patching_table(answer),),
        notes=tuple(patching_notes(answer)),
    )


def patching(study: Any, *, margin: float = MARGIN) -> Result:
    """Where decoders find what they use (`python -m analysis patching`); `study` is a folder."""
    effects = answer(Path(study), margin=margin)
    return Result(document(effects), parts(effects), lambda: row_figures(effects))


def in_report(request: ReportRequest) -> Reported:
    """As of `analysis patching STUDY`, or the reason why there is no answer; nothing where nothing was patched."""
    folder = request.study.folder
    if not (folder / PATCHED).is_dir():
        return Reported()
    try:
        effects = answer(folder)
    except InputError as error:
        reason = str(error).replace(f"{folder}/", "")
        return Reported(section(None, f"Where decoders find what they use is unknown. {reason}"))
    return Reported(section(effects), document(effects), effects)
