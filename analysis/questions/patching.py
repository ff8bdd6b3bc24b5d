"""Where does what a decoder uses lie? What a reference costs when a site holds another dialogue of another label.

For every target, a site (a layer, or a group of positions) was replaced by that of another dialogue with another label,
and by that of another dialogue with the same label. The second is the null: it moves the site as far, but not the
label. The effect is the difference of both in nats a token of the target's reference; as a share it is divided by the
same difference where everything is replaced. Intervals are for new dialogues and new training seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seedvote.analysis.showing.page import Axis, Row, RowFigure, Section
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, p_value, percent, signed, to_plain
from seedvote.analysis.stats.mean_over_seeds import SeedMean, mean_over_seeds, replicates_by_source
from seedvote.analysis.votes.study import ReportRequest
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json
from seedvote.dialogue.formulas.uncertainty import adjust_by_holm
from seedvote.dialogue.signature import signature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MARGIN = 0.1  # of the effect of everything
SURE = 0.05
CARRIES, NOT, OPEN = "carries", "does not", "open"
VERDICTS = {CARRIES: "carries it", NOT: "does not carry it", OPEN: "not known"}
COLOURS = {CARRIES: "c7", NOT: "c0", OPEN: "grey"}
EVERYTHING, NONE, SAME, OTHER = "everything", "none", "same", "other"
PATCHED, PLANS = "patched", "patches"  # folders of a study


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
    """One model, seed and task: of every target its tokens, and nats beyond no patch at each site (items x draws)."""

    model: str
    seed: int | None
    checkpoint: str
    task: str
    plan: str
    draws: int
    items: tuple[str, ...]
    clusters: Ints
    tokens: Floats
    sources: dict[str, Ints]  # the dialogue of every source, of each kind (items x draws)
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
    _refuse_unlike(tasks, groups.values())
    rows = [row for seeds in groups.values() for row in _compare_sites(seeds)]
    adjusted = adjust_by_holm(np.array([row.effect.p for row in rows]))
    draws, contexts = tasks[0].draws, {task.task: len(task.items) for task in tasks}
    return PatchingAnswer(
        rows=tuple(_with_verdict(row, float(p), margin) for row, p in zip(rows, adjusted, strict=True)),
        margin=margin,
        draws=draws,
        contexts=contexts,
        dialogues=len({dialogue_of(item) for task in tasks for item in task.items}),
        lone=tuple(dict.fromkeys(row.model for row in rows if row.seeds == 1)),
        signature=signature(
            patched=len(rows),
            against="another dialogue of the same label",
            draws=draws,
            unit="target+source+seed",
            interval="t by target, by source and by seed",
            p="Holm",
            margin=margin,
            level=0.95,
        ),
    )


def _refuse_unlike(tasks: Sequence[PatchedTask], groups: Iterable[Sequence[PatchedTask]]) -> None:
    """What met other sources cannot be compared, nor what is there twice, nor one draw with two."""
    again = "Patch again: python -m generation patched"
    for seeds in groups:
        first = seeds[0]
        if len({seed.seed for seed in seeds}) < len(seeds):
            raise InputError(f"patched/ holds {first.model} {first.checkpoint}, {first.task} twice. Keep one.")
        if len({tuple(seed.same) for seed in seeds}) > 1:
            raise InputError(f"The seeds of {first.model} have different sites. {again}")
    for task in tasks:
        met = next(before for before in tasks if before.task == task.task)
        if (met.plan, met.items) != (task.plan, task.items):
            names = " and ".join(dict.fromkeys(f"{source.model} {source.checkpoint}" for source in (met, task)))
            raise InputError(f"The models of {task.task} met different sources ({names}). {again}")
    if len({task.draws for task in tasks}) > 1:
        few, many = (pick(tasks, key=lambda task: task.draws) for pick in (min, max))
        raise InputError(
            f"{few.task} met {few.draws} sources of each kind, {many.task} {many.draws}. Plan both anew: python -m "
            "probes patch"
        )


def _compare_sites(seeds: Sequence[PatchedTask]) -> Iterator[PatchedSite]:
    first = seeds[0]
    whole = _costs(seeds, EVERYTHING)
    every = _estimate(seeds, whole)
    is_above = (whole.mean(3).sum(2) @ (-1, 1) > 0).all()
    for site in first.same:
        costs = _costs(seeds, site)
        share = None
        if every.p < SURE and every.value > 0 and is_above:
            share = _estimate(seeds, costs, whole)
        yield PatchedSite(
            model=first.model,
            checkpoint=first.checkpoint,
            task=first.task,
            site=site,
            seeds=len(seeds),
            effect=_estimate(seeds, costs),
            null=_estimate(seeds, costs[:, :1]),
            share=share,
            p_holm=math.nan,
            verdict=OPEN,
        )


def _costs(seeds: Sequence[PatchedTask], site: str) -> Floats:
    """Seeds x kinds (the same label first) x contexts x draws."""
    return np.array([[seed.same[site], seed.other[site]] for seed in seeds])


def _estimate(seeds: Sequence[PatchedTask], costs: Floats, whole: Floats | None = None) -> SeedMean:
    """What another label costs beyond the same one, a token or as a share of `whole`; of one kind, what it costs.

    A ratio of sums in each seed, linear in what each pair of target and source adds to it.
    """
    first = seeds[0]
    kinds, draws = costs.shape[1], costs.shape[3]
    signs = np.array([-1.0, 1.0] if kinds == 2 else [1.0])
    tokens = first.tokens
    below = np.full(len(seeds), tokens.sum()) if whole is None else whole.mean(3).sum(2) @ signs
    values = (costs.mean(3).sum(2) @ signs) / below
    added = costs if whole is None else costs - values[:, None, None, None] * whole
    # What a source adds is told beside the other sources of its kind.
    added = added - (added.mean(3).sum(2) / tokens.sum())[:, :, None, None] * tokens[:, None]
    parts = added * signs[:, None, None] / draws / below[:, None, None, None]
    shape = costs.shape[1:]
    return mean_over_seeds(
        replicates_by_source(
            values,
            parts.reshape(len(seeds), -1),
            np.broadcast_to(first.clusters[:, None], shape).ravel(),
            np.array([first.sources[kind] for kind in (SAME, OTHER)[:kinds]]).ravel(),
            np.broadcast_to(signs[:, None, None] * tokens[:, None], shape).ravel(),
        )
    )


def _with_verdict(row: PatchedSite, p: float, margin: float) -> PatchedSite:
    is_inside = row.share is not None and -margin < row.share.low and row.share.high < margin
    verdict = CARRIES if p < SURE and row.effect.value > 0 else NOT if is_inside else OPEN
    return replace(row, p_holm=p, verdict=verdict)


def read_patched(study: Path) -> list[PatchedTask]:
    """Every model and task that was patched after the plans of now; without any plan, every file there is."""
    keys = {path.stem: read_json(path).get("key") for path in (study / PLANS).glob("*.json")}
    paths = [path for path in sorted((study / PATCHED).glob("*/*.parquet")) if not keys or path.stem in keys]
    tasks = [_read_task(path) for path in paths]
    if not tasks:
        raise InputError(
            f"{study} has nothing patched. First: python -m probes patch {study}, then python -m generation patched "
            f"{study}."
        )
    for path, task in zip(paths, tasks, strict=True):
        if keys and task.plan != keys[path.stem]:
            raise InputError(
                f"{path} follows an older plan. Patch again: python -m generation patched {study}, or delete that file."
            )
    return tasks


def _read_task(path: Path) -> PatchedTask:
    again = f"Patch again: python -m generation patched {path.parents[2]}."
    try:
        table = pq.read_table(path)
        about = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        return _task_of(table, about)
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise InputError(f"{path} is not whole. {again}") from error


def _task_of(table: pa.Table, about: Mapping[str, str]) -> PatchedTask:
    """The rows of one file as arrays; ValueError or KeyError where rows are missing, doubled or no numbers."""
    names = ("site", "kind", "item", "draw", "source", "cluster", "nll", "tokens")
    columns = {name: table[name].to_pylist() for name in names}
    if not all(number is not None and math.isfinite(number) for number in (*columns["nll"], *columns["tokens"])):
        raise ValueError("costs that are no numbers")
    plain, tokens, clusters = {}, {}, {}
    costs: dict[tuple[str, str, str, int], float] = {}
    sources: dict[tuple[str, str, int], str] = {}
    for site, kind, item, draw, source, cluster, nll, length in zip(*columns.values(), strict=True):
        tokens[item], clusters[item] = float(length), cluster
        if kind == NONE:
            plain[item] = nll
        else:
            costs[site, kind, item, draw] = nll
            sources[kind, item, draw] = dialogue_of(source)
    items, sites, draws = tuple(sorted(plain)), dict.fromkeys(key[0] for key in costs), max(columns["draw"]) + 1
    expected = len(items) * (1 + 2 * draws * len(sites))
    if EVERYTHING not in sites or not len(plain) + len(costs) == table.num_rows == expected:
        raise ValueError("rows that are missing or doubled")
    codes = {name: code for code, name in enumerate(dict.fromkeys(sources.values()))}

    def gather(kind: str, site: str) -> Floats:
        return np.array([[costs[site, kind, item, draw] - plain[item] for draw in range(draws)] for item in items])

    return PatchedTask(
        model=about["model"],
        seed=int(about["seed"]) if "seed" in about else None,
        checkpoint=about["checkpoint"],
        task=about["task"],
        plan=about["plan"],
        draws=draws,
        items=items,
        clusters=np.unique([clusters[item] for item in items], return_inverse=True)[1].astype(np.int64),
        tokens=np.array([tokens[item] for item in items]),
        sources={
            kind: np.array([[codes[sources[kind, item, draw]] for draw in range(draws)] for item in items])
            for kind in (SAME, OTHER)
        },
        same={site: gather(SAME, site) for site in sites},
        other={site: gather(OTHER, site) for site in sites},
    )


def dialogue_of(item: str) -> str:
    """The dialogue that a context is of."""
    return item.rpartition(":")[0]


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
    """A mean with its interval, where that is known."""
    if math.isnan(mean.se):
        return f"{signed(mean.value, places)} (-)"
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
    if names := list(dict.fromkeys(f"{row.name} ({row.task})" for row in answer.rows if math.isnan(row.effect.se))):
        yield (
            f"No interval is known where the targets, or the sources of a kind, are of fewer than two dialogues: "
            f"{', '.join(names)}."
        )
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
            axis.round_ticks(),
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


def section(answer: PatchingAnswer | None, refusal: str = "") -> Section:
    """What the report shows; without an answer why there is none."""
    title = "Where decoders find what they use"
    question = (
        "One layer, or one group of positions, was taken from another dialogue of another label, and the reference was "
        "scored again. The null takes it from another dialogue of the same label."
    )
    if answer is None:
        return Section("patching", title, (question, refusal))
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


def in_report(request: ReportRequest) -> PatchingAnswer | None:
    """As of `analysis patching STUDY`; None where nothing was patched."""
    folder = request.study.folder
    return answer(folder) if (folder / PATCHED).is_dir() else None
