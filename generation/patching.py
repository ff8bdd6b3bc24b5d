"""Activation patching: what a reference costs while a part of what was read comes from another dialogue.

The decoder of a target dialogue meets a *site* of a source dialogue (Vig et al. 2020; Meng et al. 2022). Of the five
architectures a site is what their decoder sees: the first state (all of it, or one layer), and the memory (all of it,
or one half of its positions). Of pretrained models it is the output of one layer, at every position or at the last one,
counted from the end of the context; the layers above compute on. `everything` swaps the whole context.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from seedvote.dialogue.devices import use_threads
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, clear_halves, read_json
from seedvote.dialogue.jobs import JOB_THREADS, content_key
from seedvote.dialogue.signature import signature
from seedvote.dialogue.tables.frames import is_written
from seedvote.generation.batches import stack_batch
from seedvote.generation.checkpoints import TrainedModel, load_model, weights_hash
from seedvote.generation.metrics.scoring import summed_nats
from seedvote.generation.models.interface import DialogueModel, Encoded
from seedvote.generation.numbering import Numbered, examples_hash
from seedvote.generation.pretrained import PretrainedModel
from seedvote.generation.vocabulary import Vocabulary

EVERYTHING, NONE = "everything", "none"
MOST_LAYERS = 8  # of a deep model, evenly spread, the top one among them
BATCH = 32
PATCHED_SCHEMA = pa.schema(
    [
        ("site", pa.string()),
        ("kind", pa.string()),  # same or other: the label of the source
        ("draw", pa.int64()),
        ("item", pa.string()),
        ("source", pa.string()),
        ("cluster", pa.string()),
        ("nll", pa.float64()),  # of the target's reference, summed over its tokens
        ("tokens", pa.int64()),
    ]
)


class Patch:
    """The output of one block, replaced by what it was for the sources, aligned at the ends of the contexts."""

    def __init__(self, source: Tensor, sources: Tensor, targets: Tensor, *, last: bool) -> None:
        self.source, self.sources, self.targets, self.last = source, sources, targets, last
        self.is_writing = False

    def apply(self, hidden: Tensor) -> Tensor:
        """Positions of a context, or of a reply: there the first one stands for the end of the context."""
        rows = torch.arange(len(hidden), device=hidden.device)
        if self.is_writing:
            ends = self.source[rows, self.sources - 1]
            return torch.cat([ends[:, None].to(hidden), hidden[:, 1:]], 1)
        place = torch.arange(hidden.shape[1], device=hidden.device)
        behind = place - self.targets[:, None] + self.sources[:, None]  # the position of the source
        chosen = (place < self.targets[:, None]) & (behind >= 0)
        if self.last:
            chosen &= place == self.targets[:, None] - 1
        taken = self.source[rows[:, None], behind.clamp(0, self.source.shape[1] - 1)]
        return torch.where(chosen[:, :, None], taken.to(hidden), hidden)


def list_sites(model: DialogueModel, encoded: Encoded) -> list[str]:
    """Every site of a model, `everything` first."""
    if isinstance(model, PretrainedModel):
        depth = len(find_blocks(model))
        count = min(depth, MOST_LAYERS)
        layers = [depth - (depth * back) // count for back in reversed(range(count))]
        halves = ["memory.older", "memory.newer"] if model.encodes else []
        return [EVERYTHING, *halves, *(f"layer.{layer}{end}" for end in ("", ".last") for layer in layers)]
    sites = [EVERYTHING]  # and no second name for it
    if encoded.state:
        several = encoded.state[0].shape[1]
        sites += ["state"] * model.attends + [f"state.{layer + 1}" for layer in range(several) if several > 1]
    if model.attends:
        sites += ["memory"] * bool(encoded.state) + ["memory.older", "memory.newer"]
    return sites


def find_blocks(model: PretrainedModel) -> list[nn.Module]:
    """The layers of what reads the context, the lowest first."""
    trunk: Any = model.inner.get_encoder() if model.encodes else model.inner.base_model
    depth = getattr(trunk.config, "encoder_layers", None) if model.encodes else None
    depth = depth or trunk.config.num_hidden_layers
    for part in trunk.modules():
        if isinstance(part, nn.ModuleList) and len(part) == depth:
            return list(part)
    raise InputError("This model's layers do not stand in one list, so none of them can be patched.")


@contextmanager
def hooked_block(block: nn.Module, change: Any) -> Iterator[None]:
    """The block with its output changed; it may be a tuple that begins with the states."""

    def hook(module: nn.Module, given: Any, output: Any) -> Any:
        del module, given
        is_tuple = isinstance(output, tuple)
        changed = change(output[0] if is_tuple else output)
        return (changed, *output[1:]) if is_tuple else changed

    handle = block.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def swap_parts(target: Encoded, source: Encoded, site: str) -> Encoded:
    """What the decoder of the target sees, with a site of the source."""
    name, _, part = site.partition(".")
    if name == EVERYTHING:
        return source
    if name == "state":
        if not part:
            return replace(target, state=source.state)
        layer = int(part) - 1
        pairs = zip(target.state, source.state, strict=True)
        return replace(target, state=tuple(_swap_layer(own, other, layer) for own, other in pairs))
    if not part:
        return replace(target, memory=source.memory, mask=source.mask)
    older, newer = (source, target) if part == "older" else (target, source)
    return _join_halves(target, older, newer)


def _swap_layer(own: Tensor, other: Tensor, layer: int) -> Tensor:
    joined = own.clone()
    joined[:, layer] = other[:, layer]
    return joined


def _join_halves(target: Encoded, older: Encoded, newer: Encoded) -> Encoded:
    """A memory of the older half of one context and the newer half of another one; the newer may be longer by one."""
    rows = []
    for old, old_mask, new, new_mask in zip(older.memory, older.mask, newer.memory, newer.mask, strict=True):
        old_length, new_length = int(old_mask.sum()), int(new_mask.sum())
        rows.append(torch.cat([old[: old_length // 2], new[new_length // 2 : new_length]]))
    longest = max(map(len, rows))
    lengths = torch.tensor([len(row) for row in rows], device=target.mask.device)
    memory = torch.stack([pad(row, (0, 0, 0, longest - len(row))) for row in rows])
    return replace(target, memory=memory, mask=torch.arange(longest, device=lengths.device) < lengths[:, None])


@torch.inference_mode()
def patch_batch(
    model: DialogueModel, targets: Sequence[Numbered], sources: Sequence[Numbered], sites: Sequence[str]
) -> dict[str, list[float]]:
    """What the reference of each target costs behind each site of its source, in nats."""
    batch, given = (stack_batch(rows, torch.device("cpu")) for rows in (targets, sources))
    nats: dict[str, list[float]] = {}
    target, source = model.encode(batch.contexts), model.encode(given.contexts)
    for site in sites:
        if not site.startswith("layer."):
            nats[site] = summed_nats(model, swap_parts(target, source, site), batch)
    layers = [site for site in sites if site.startswith("layer.")]
    if isinstance(model, PretrainedModel) and layers:
        blocks, lengths = find_blocks(model), (given.contexts.lengths, batch.contexts.lengths)
        states: dict[int, Tensor] = {}
        for number in {int(site.split(".")[1]) for site in layers}:
            with hooked_block(blocks[number - 1], lambda hidden, number=number: states.setdefault(number, hidden)):
                model.encode(given.contexts)
        for site in layers:
            number = int(site.split(".")[1])
            patch = Patch(states[number], *lengths, last=site.endswith(".last"))
            with hooked_block(blocks[number - 1], patch.apply):
                encoded = model.encode(batch.contexts)
                patch.is_writing = True
                nats[site] = summed_nats(model, encoded, batch)
    return nats


# Every pair of target and source of a study, for every checkpoint: STUDY/patched/MODEL-SEED-CHECKPOINT/TASK.parquet.


@dataclass(frozen=True, slots=True)
class PatchPlan:
    """What `probes patch` drew for one task: for every target its sources of the same label, and of another one."""

    task: str
    split: str
    path: Path
    pairs: tuple[tuple[str, str, int, str], ...]  # target, kind, draw, source
    key: str


@dataclass(frozen=True, slots=True)
class Subject:
    """A model to patch: a checkpoint of the study, or a pretrained model as it is (its `sizes`)."""

    model: str
    seed: int | None
    checkpoint: str
    weights: str
    source: TrainedModel | Mapping[str, Any]

    @property
    def name(self) -> str:
        """The folder of its rows."""
        return "-".join(str(part) for part in (self.model, self.seed, self.checkpoint) if part is not None)

    def load(self, vocabulary: Vocabulary) -> DialogueModel:
        """The model, ready to answer."""
        if isinstance(self.source, TrainedModel):
            return load_model(self.source, self.checkpoint, vocabulary)
        return PretrainedModel(len(vocabulary), self.source).eval()


@dataclass(frozen=True, slots=True)
class PatchedPart:
    """One model and task: where its rows go, and the key of what they follow from."""

    subject: Subject
    plan: PatchPlan
    path: Path
    key: str

    @property
    def done(self) -> bool:
        """A whole file with this very key is there."""
        return is_written(self.path, self.key)


def read_plans(study: Path) -> list[PatchPlan]:
    """The plans of a study."""
    plans = []
    for path in sorted((study / "patches").glob("*.json")):
        record = read_json(path)
        pairs = tuple((str(item), str(kind), int(draw), str(source)) for item, kind, draw, source in record["pairs"])
        plans.append(PatchPlan(record["task"], record["split"], path, pairs, record["key"]))
    if not plans:
        raise InputError(f"{study}/patches holds no plan. Make one: python -m probes patch {study} --tasks NAMES")
    return plans


def study_subjects(models: Sequence[TrainedModel], checkpoint: str) -> list[Subject]:
    """The study's own models at a checkpoint."""
    return [
        Subject(trained.model, trained.seed, checkpoint, weights_hash(trained, checkpoint), trained)
        for trained in models
    ]


def list_parts(
    study: Path,
    subjects: Sequence[Subject],
    plans: Sequence[PatchPlan],
    vocabulary: Vocabulary,
    rows: Mapping[str, Numbered],
) -> list[PatchedPart]:
    """All the work there is; `rows` are the contexts of the plans."""
    wanted = {item for plan in plans for pair in plan.pairs for item in (pair[0], pair[3])}
    if missing := wanted - rows.keys():
        raise InputError(
            f"{len(missing)} contexts of the plans are not in the corpus ({min(missing)}). Plan anew: python -m probes "
            f"patch {study}"
        )
    texts = examples_hash(rows[item] for item in sorted(wanted))
    return [
        PatchedPart(
            subject,
            plan,
            study / "patched" / subject.name / f"{plan.task}.parquet",
            content_key(subject.weights, plan.key, texts, vocabulary.hash, JOB_THREADS, MOST_LAYERS),
        )
        for subject in subjects
        for plan in plans
    ]


def patch_subject(shared: tuple[Mapping[str, Numbered], Vocabulary], parts: Sequence[PatchedPart]) -> int:
    """Write what is not there yet of one model; how many files that were."""
    rows, vocabulary = shared
    missing = [part for part in parts if not part.done]
    model = parts[0].subject.load(vocabulary)
    with use_threads(JOB_THREADS):
        for part in missing:
            _write_part(part, patch_pairs(model, rows, part.plan.pairs))
    return len(missing)


def patch_pairs(
    model: DialogueModel, rows: Mapping[str, Numbered], pairs: Sequence[tuple[str, str, int, str]]
) -> dict[str, list[Any]]:
    """The columns of PATCHED_SCHEMA: every target as it is, and behind every site of every source."""
    targets = [rows[item] for item in dict.fromkeys(item for item, *_ in pairs)]
    with torch.inference_mode():
        first = stack_batch(targets[:1], torch.device("cpu"))
        sites = list_sites(model, model.encode(first.contexts))
    columns: dict[str, list[Any]] = {field.name: [] for field in PATCHED_SCHEMA}
    plain = sorted(((row.item, NONE, 0, row.item) for row in targets), key=lambda pair: len(rows[pair[0]].target))
    # Replies of like length share a batch, so that little of it is padding.
    swaps = sorted(pairs, key=lambda pair: (len(rows[pair[0]].target), len(rows[pair[0]].context)))
    for chosen, wanted in ((plain, [EVERYTHING]), (swaps, sites)):
        for start in range(0, len(chosen), BATCH):
            part = chosen[start : start + BATCH]
            nats = patch_batch(model, [rows[pair[0]] for pair in part], [rows[pair[3]] for pair in part], wanted)
            for site, losses in nats.items():
                for (item, kind, draw, source), nll in zip(part, losses, strict=True):
                    cells = {"site": NONE if kind == NONE else site, "kind": kind, "draw": draw, "item": item}
                    cells |= {"source": source, "cluster": item.rpartition(":")[0], "nll": nll}
                    for name, cell in (cells | {"tokens": len(rows[item].target)}).items():
                        columns[name].append(cell)
    return columns


def _write_part(part: PatchedPart, columns: Mapping[str, list[Any]]) -> None:
    clear_halves(part.path)
    who = part.subject
    recipe = signature(
        model=who.model,
        seed=who.seed,
        checkpoint=who.checkpoint,
        task=part.plan.task,
        split=part.plan.split,
        pairs=len(part.plan.pairs),
        threads=JOB_THREADS,
    )
    metadata = {"format": "patched", "key": part.key, "plan": part.plan.key, "signature": recipe}
    metadata |= {"task": part.plan.task, "model": who.model, "checkpoint": who.checkpoint}
    metadata |= {} if who.seed is None else {"seed": str(who.seed)}
    with atomic(part.path, "wb") as handle:
        table = pa.table(dict(columns), schema=PATCHED_SCHEMA.with_metadata(metadata))
        pq.write_table(table, handle, compression="zstd")
