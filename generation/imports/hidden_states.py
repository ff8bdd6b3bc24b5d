"""States of models from elsewhere, written layer by layer as representations; random weights are the control."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.devices import pick_device
from seedvote.dialogue.engines.chat import lock_journal
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import as_json, atomic, clear_halves, read_json, write_json
from seedvote.dialogue.jobs import content_key
from seedvote.dialogue.records import States
from seedvote.dialogue.seeds import child_seed, parse_seeds
from seedvote.dialogue.signature import signature
from seedvote.generation.imports.hugging_face import (
    ModelPlace,
    explain_failures,
    model_place,
    precision_named,
    refuse_missing,
)
from seedvote.generation.imports.prompting import (
    Prompter,
    ReadContext,
    describe_changes,
    template_fact,
    template_of,
    window_of,
)
from seedvote.generation.imports.tables import messages_of

# Hidden states of models in the form of Hugging Face: one vector a context and layer, whatever the batch.
#
# Causal, encoder-only and encoder-decoder models (of these the encoder), and folders of sentence-transformers.
# Contexts are padded behind their ends, and each is pooled over its own tokens at once: no more than one batch is ever
# held.

Vectors = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
POOLINGS = ("first", "last", "mean")
AT_ONCE = 2**28  # numbers of all layers' states of a batch: a gigabyte in single precision
# How far the padding of others may move a state, as a share of its largest number, before a model is refused.
MOVED = {torch.float64: 1e-6, torch.float32: 1e-3, torch.float16: 0.05, torch.bfloat16: 0.2}


@dataclass(frozen=True, slots=True)
class SentenceFolder:
    """What a folder of sentence-transformers says: where its model lies, how it pools, how many tokens it reads."""

    path: Path
    pooling: str | None
    window: int | None


def sentence_folder(path: Path) -> SentenceFolder | None:
    """Read `modules.json`; None for any other folder."""
    if not (path / "modules.json").is_file():
        return None
    modules = {
        str(module["type"]).rpartition(".")[2]: path / str(module["path"])
        for module in read_json(path / "modules.json")
    }
    if "Transformer" not in modules:
        raise InputError(f"{path} names no transformer in its modules.json, but {', '.join(modules) or 'nothing'}.")
    settings = modules["Transformer"] / "sentence_bert_config.json"
    window = read_json(settings).get("max_seq_length") if settings.is_file() else None
    pooled = read_json(modules["Pooling"] / "config.json") if "Pooling" in modules else {}
    ways = {"mean": "pooling_mode_mean_tokens", "first": "pooling_mode_cls_token", "last": "pooling_mode_lasttoken"}
    words = {"mean": "mean", "cls": "first", "lasttoken": "last"}  # as later releases write it
    own = [name for name, key in ways.items() if pooled.get(key)] or [words.get(str(pooled.get("pooling_mode")), "")]
    return SentenceFolder(modules["Transformer"], own[0] if len(own) == 1 and own[0] else None, window)


class StateReader:
    """A loaded model that reads contexts; with `seed` its architecture with random weights, the untrained control."""

    def __init__(
        self,
        place: ModelPlace,
        *,
        device: torch.device,
        precision: str,
        seed: int | None = None,
        template: str | None = None,
    ) -> None:
        self.place, self.device, self.precision, self.seed = place, device, precision, seed
        with explain_failures(place):
            self.sentence = None if "gguf_file" in place.options else sentence_folder(Path(place.where))
            where = str(self.sentence.path) if self.sentence else place.where
            self.tokenizer, self.model = self._load_parts(where)
            self.template = template_of(
                self.tokenizer, self.model.config, place.source, template, otherwise="transcript"
            )
            self.model.to(self.device).eval()
            self.model.config.use_cache = False
            self.decodes = bool(self.model.config.is_encoder_decoder)
            if self.decodes:
                self.model = self.model.get_encoder()
            tried = self._read_states([[0, 0, 0]])
        if any(state.shape[:2] != (1, 3) for state in tried):
            raise InputError(f"{place.source} has layers without a state for each token: there is nothing to pool.")
        self.depth, self.numbers = len(tried) - 1, sum(state.shape[2] for state in tried)
        self.causal = not self.decodes and _looks_back(tried[-1], self._read_states([[0, 0, 0, 1]])[-1])
        longest = window_of(self.model.config, self.tokenizer)
        own_window = self.sentence.window if self.sentence else None
        self.window = min((window for window in (longest, own_window) if window), default=None)

    def _load_parts(self, where: str) -> tuple[Any, Any]:
        from transformers import AutoConfig, AutoModel, AutoTokenizer

        precision = getattr(torch, self.precision)
        config = AutoConfig.from_pretrained(where, **self.place.options)
        tokenizer = AutoTokenizer.from_pretrained(where, **self.place.options)
        if self.seed is not None:
            # The library draws from the global generator; forked, it is as it was before.
            with torch.random.fork_rng(devices=[]):
                torch.default_generator.manual_seed(child_seed(self.seed, "random weights"))
                model_class: Any = AutoModel  # untyped there
                return tokenizer, model_class.from_config(config).to(precision)
        model, report = AutoModel.from_pretrained(
            where, **self.place.options, dtype=precision, output_loading_info=True
        )
        # Not read here: the heads of encoders, and decoders.
        unread = ("pooler.", "decoder.") if config.is_encoder_decoder else ("pooler.",)
        missing = [key for key in report["missing_keys"] if not key.startswith(unread)]
        refuse_missing(self.place, missing, "its states would be random. For those, say so: --random-init 0.")
        return tokenizer, model

    def facts(self) -> dict[str, str]:
        """What its states depend on, apart from the contexts, the layer and the pooling."""
        if self.seed is None:
            weights = self.place.digest(self.model.config)
        else:
            recipe = [
                json.dumps(self.model.config.to_dict(), sort_keys=True, default=str),
                self.seed,
                torch.__version__,
            ]
            weights = "random-" + hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:16]
        return {
            "weights": weights,
            "architecture": type(self.model).__name__,
            "precision": self.precision,
            "template": template_fact(self.template, self.tokenizer),
        }

    def pooling(self, name: str) -> str:
        """The pooling asked for; `own` is that of a folder of sentence-transformers, else last if causal, else mean."""
        if name in POOLINGS:
            return name
        if name != "own":
            raise InputError(f"--pooling {name} is for the study's own models. Here: own, {', '.join(POOLINGS)}.")
        if self.sentence and not self.sentence.pooling:
            raise InputError(
                f"{self.place.source} pools in a way of its own. Choose one: --pooling {' or '.join(POOLINGS)}"
            )
        return (self.sentence.pooling if self.sentence else None) or ("last" if self.causal else "mean")

    def layers(self, names: str) -> list[int]:
        """The numbers of the layers asked for: 0 are the embeddings, the last one is the top."""
        if names == "all":
            raise InputError("--layers all puts layers side by side. Here each is one representation: --layers each")
        if names in ("each", "top"):
            return list(range(self.depth + 1)) if names == "each" else [self.depth]
        parts = names.split(",")
        numbers = [int(part) for part in parts if part.strip().isdigit()]
        if len(numbers) != len(parts) or max(numbers) > self.depth:
            raise InputError(
                f"--layers is {names!r}; {self.place.source} has the layers 0 (embeddings) to {self.depth}. "
                "Name some with commas, or: each, top."
            )
        return sorted(set(numbers))

    def prompts(self, examples: Sequence[Example]) -> list[ReadContext]:
        """Every context as this model reads it; one that writes is asked for its answer, as `import` asks."""
        words = getattr(self.model.config, "vocab_size", None)
        writes = self.causal or self.decodes
        prompter = Prompter(self.tokenizer, self.window, cue=writes, words=words, template=self.template)
        return [prompter.prompt(messages_of(example)) for example in examples]

    def check_padding(self, prompts: Sequence[ReadContext], pooling: str) -> None:
        """Refuse a model whose states of the shortest context depend on the padding that the longest one brings."""
        extremes = sorted(prompts, key=lambda prompt: len(prompt.tokens))[:: max(1, len(prompts) - 1)]
        layers = list(range(self.depth + 1))
        single, padded = self.pooled(extremes[:1], layers, pooling, 1), self.pooled(extremes, layers, pooling, 2)
        for layer, (first, second) in enumerate(zip(single, padded, strict=True)):
            moved = float(np.abs(first[0] - second[0]).max()) / max(float(np.abs(first[0]).max()), 1e-9)
            if not moved <= MOVED[getattr(torch, self.precision)]:
                raise InputError(
                    f"{self.place.source}: layer {layer} of a context changes by {moved:.1%} when a longer one is in "
                    "its batch, so its padding is read. Encode one by one: --batch 1"
                )

    def pooled(self, prompts: Sequence[ReadContext], layers: Sequence[int], pooling: str, batch: int) -> list[Vectors]:
        """For each layer a matrix of contexts by width, in the order given; those of like length share a batch."""
        order = sorted(range(len(prompts)), key=lambda row: len(prompts[row].tokens))
        pieces: list[list[Vectors]] = [[] for _ in layers]
        start = 0
        while start < len(order):
            rows = self._batch_length([len(prompts[row].tokens) for row in order[start : start + batch]])
            tokens = [prompts[row].tokens for row in order[start : start + rows]]
            states = self._read_states(tokens)
            for place, layer in enumerate(layers):
                pieces[place].append(_pool_states(states[layer], [len(row) for row in tokens], pooling))
            start += rows
        back = np.argsort(order)
        matrices = [np.concatenate(parts)[back] for parts in pieces]
        if wrong := [layer for layer, matrix in zip(layers, matrices, strict=True) if not np.isfinite(matrix).all()]:
            raise InputError(
                f"{self.place.source}: states of layer {wrong[0]} are no numbers. Its weights are broken, or too large "
                f"for {self.precision}: try --precision float32."
            )
        return matrices

    def _batch_length(self, lengths: Sequence[int]) -> int:
        """How many of these, sorted by length, go through the model together without taking too much memory."""
        fits = [n for n, length in enumerate(lengths, 1) if n * length * self.numbers <= AT_ONCE]
        return max(fits, default=1)

    @torch.inference_mode()
    def _read_states(self, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, ...]:
        longest = max(map(len, rows))
        blank = self.tokenizer.pad_token_id or 0
        try:
            output = self.model(
                input_ids=torch.tensor([[*row, *[blank] * (longest - len(row))] for row in rows], device=self.device),
                attention_mask=torch.tensor(
                    [[1] * len(row) + [0] * (longest - len(row)) for row in rows], device=self.device
                ),
                output_hidden_states=True,
            )
        except (IndexError, RuntimeError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise InputError(
                f"{self.place.source} cannot read {len(rows)} contexts of up to {longest} tokens: {reason}"
            ) from error
        return tuple(output.hidden_states)


def _looks_back(before: torch.Tensor, later: torch.Tensor) -> bool:
    """Whether one more token left the states of those before it as they were.

    Rounding moved SmolLM2's by a hundred-thousandth on one processor; BERT's architecture moves by 8 % and more.
    """
    moved = (before - later[:, : before.shape[1]]).abs().max() / before.abs().max()
    return float(moved) <= max(MOVED[before.dtype] / 10, 1e-3)


def _pool_states(states: torch.Tensor, lengths: Sequence[int], pooling: str) -> Vectors:
    ends = torch.tensor(lengths, device=states.device)
    if pooling == "mean":
        real = torch.arange(states.shape[1], device=states.device)[None] < ends[:, None]
        precise = states.float() if states.dtype != torch.float64 else states
        vectors = (precise * real[:, :, None]).sum(1) / ends[:, None]
    else:
        vectors = states[torch.arange(len(lengths)), 0 if pooling == "first" else ends - 1]
    return vectors.float().cpu().numpy()


# Writes hidden states as representations, one a layer: `states/<model>.layer-NN-<checkpoint>.npy` with a sidecar.
#
# Contexts go through the model a piece at a time. A finished piece is kept until all are there, so a run that was
# killed goes on behind its last piece; where a sidecar is, its matrix is whole and stands for just these weights and
# contexts.

PIECE = 256  # contexts: what a run that was killed loses at most


@dataclass(frozen=True, slots=True)
class LayerStates:
    """The states of one model: which layers, and how they are pooled, batched and stored."""

    model: str
    seed: int | None
    checkpoint: str
    layers: Sequence[int]
    pooling: str
    batch: int
    dtype: str
    splits: Sequence[str]

    def path(self, folder: Path, layer: int) -> Path:
        """Where a layer's matrix lies."""
        parts = [f"{self.model.replace('/', '_')}.layer-{layer:02d}", self.seed, self.checkpoint]
        return folder / ("-".join(str(part) for part in parts if part is not None) + ".npy")


def write_layers(
    folder: Path,
    reader: StateReader,
    prompts: Sequence[ReadContext],
    items: Sequence[str],
    wanted: LayerStates,
    tell: Callable[[int], object],
) -> int:
    """Write what is not there yet; how many matrices were. `tell` counts contexts."""
    key = _states_key(reader.facts(), prompts, items, wanted)
    missing = [layer for layer in wanted.layers if not _is_done(wanted.path(folder, layer), key)]
    if not missing:
        tell(len(items))
        return len(wanted.layers)
    pieces = wanted.path(folder, 0).with_suffix(".pieces")
    now = pieces / content_key(key, missing)
    with lock_journal(pieces / "lock"):
        for stale in (
            piece_folder for piece_folder in pieces.iterdir() if piece_folder.is_dir() and piece_folder != now
        ):
            shutil.rmtree(stale)
        if wanted.batch > 1:
            reader.check_padding(prompts, wanted.pooling)
        work = replace(wanted, layers=missing)
        parts = [
            _write_piece(now / f"{start:07d}.npz", reader, prompts[start : start + PIECE], work, tell)
            for start in range(0, len(items), PIECE)
        ]
        for layer in missing:
            _write_layer(wanted.path(folder, layer), parts, layer, reader, items, work, key)
        shutil.rmtree(pieces)
    return len(wanted.layers) - len(missing)


def _states_key(
    facts: dict[str, str], prompts: Sequence[ReadContext], items: Sequence[str], wanted: LayerStates
) -> str:
    """A name for all that the states of a layer follow from; padding changes nothing, so the batch is not in it."""
    texts = [[item, prompt.tokens] for item, prompt in zip(items, prompts, strict=True)]
    how = [wanted.model, wanted.seed, wanted.checkpoint, wanted.pooling, wanted.dtype, list(wanted.splits)]
    return content_key(json.dumps([facts, texts, how], sort_keys=True))


def _is_done(path: Path, key: str) -> bool:
    sidecar = path.with_suffix(".json")
    return path.exists() and sidecar.exists() and read_json(sidecar).get("key") == key


def _write_piece(
    path: Path, reader: StateReader, prompts: Sequence[ReadContext], wanted: LayerStates, tell: Callable[[int], object]
) -> Path:
    """The states of some contexts, of all wanted layers, in a file that is whole or not there."""
    if not path.exists():
        matrices = reader.pooled(prompts, wanted.layers, wanted.pooling, wanted.batch)
        with atomic(path, "wb") as handle:
            layers: dict[str, Any] = {str(n): matrix for n, matrix in zip(wanted.layers, matrices, strict=True)}
            np.savez(handle, **{name: matrix.astype(wanted.dtype) for name, matrix in layers.items()})
    tell(len(prompts))
    return path


def _write_layer(
    path: Path,
    parts: Sequence[Path],
    layer: int,
    reader: StateReader,
    items: Sequence[str],
    wanted: LayerStates,
    key: str,
) -> None:
    clear_halves(path)
    width = 0
    with atomic(path, "wb") as handle:
        for part in parts:
            with np.load(part) as piece:
                block = piece[str(layer)]
            if not width:
                width = block.shape[1]
                header = {"descr": block.dtype.str, "fortran_order": False, "shape": (len(items), width)}
                np.lib.format.write_array_header_1_0(handle, header)
            handle.write(block.tobytes())
    facts, threads = reader.facts(), torch.get_num_threads()
    recipe = signature(
        model=wanted.model,
        seed=wanted.seed,
        checkpoint=wanted.checkpoint,
        layer=f"{layer}/{reader.depth}",
        pooling=wanted.pooling,
        template=facts["template"],
        precision=facts["precision"],
        splits=list(wanted.splits),
        states=len(items),
        threads=threads,
        weights=facts["weights"],
    )
    details = {"layer": layer, "layers": reader.depth + 1, "splits": list(wanted.splits), "key": key}
    write_json(
        path.with_suffix(".json"),
        as_json(
            States(
                wanted.model,
                wanted.seed,
                wanted.checkpoint,
                list(items),
                wanted.pooling,
                width,
                wanted.dtype,
                threads,
                facts["weights"],
                recipe,
                details,
            )
        ),
    )


# States of a model from elsewhere in a study: its own weights, or random ones of its architecture as the control.


@dataclass(frozen=True, slots=True)
class StatesRequest:
    """The model, and which states of it are asked for."""

    folder: str
    fetch: bool
    device: str
    precision: str
    batch: int
    layers: str
    pooling: str
    model: str | None
    seed: int | None
    checkpoint: str
    dtype: str
    splits: Sequence[str]
    template: str | None = None


def random_seeds(text: str | None) -> list[int]:
    """The seeds of the control."""
    try:
        return parse_seeds(text) if text else []
    except ValueError as error:
        raise InputError(f"--random-init is {text!r}: {error}. It takes seeds, e.g. 0-2") from error


def encode_elsewhere(
    options: StatesRequest, contexts: Sequence[Example], folder: Path, random: int | None, tell: Callable[[int], object]
) -> list[str]:
    """Write the layers that are not there yet, and what to say of them; with `random`, of random weights."""
    place = model_place(options.folder, fetch=options.fetch)
    device, precision = pick_device(options.device), precision_named(options.precision)
    reader = StateReader(place, device=device, precision=precision, seed=random, template=options.template)
    layers, pooling = reader.layers(options.layers), reader.pooling(options.pooling)
    name = options.model or place.name
    seed, checkpoint = (options.seed, options.checkpoint) if random is None else (random, "untrained")
    wanted = LayerStates(name, seed, checkpoint, layers, pooling, options.batch, options.dtype, options.splits)
    prompts = reader.prompts(contexts)
    earlier = write_layers(folder, reader, prompts, [example.item for example in contexts], wanted, tell)
    every = len(layers) == reader.depth + 1
    which = f"each layer of 0-{reader.depth}" if every else f"layer {', '.join(map(str, layers))} of 0-{reader.depth}"
    sentence = (
        f"{folder}: {len(layers)} matrices of {len(contexts)} contexts ({name}, {checkpoint}, {which}, {pooling})"
    )
    remarks = [f"{earlier} of {len(layers)} matrices were already there."] if earlier else []
    told = [*filter(None, [reader.template.describe()]), *describe_changes(prompts)]
    return [sentence, *remarks, *(told if random is None else [])]
