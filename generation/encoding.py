"""Encoder states for probes: how a matrix is written, what heads read, and which matrices a study needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from seedvote.dialogue import jobs
from seedvote.dialogue.conditions import condition_folders
from seedvote.dialogue.corpora.examples import Example, iterate_examples
from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.devices import pick_device, use_threads
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import as_json, atomic, clear_halves, digest, read_json, write_json
from seedvote.dialogue.questions import QUESTION_STATES, answering_speaker, read_questions, texts_hash
from seedvote.dialogue.records import Question, States, Turn
from seedvote.dialogue.signature import signature
from seedvote.dialogue.tokens import LONGEST_CONTEXT
from seedvote.dialogue.validity import from_json
from seedvote.generation.batches import Contexts, stack_contexts
from seedvote.generation.checkpoints import TrainedModel, load_model, name_again, pruned_hashes, weights_hash
from seedvote.generation.erasing import FOLDERS, seen_by_decoder, view_widths
from seedvote.generation.models.interface import DialogueModel
from seedvote.generation.numbering import Numbered, evenly_spread, examples_hash
from seedvote.generation.vocabulary import EOU, PAD, Vocabulary

# Encoder states of contexts: one row per item in a `.npy` file that probes can map, with a JSON sidecar.
#
# The rows stand in the order given, whatever the batches; where the sidecar is, the matrix is whole. Memory does not
# grow with the number of contexts.

WINDOW = 4096  # contexts that are sorted by length and written at a time: memory does not grow with their number


@dataclass(frozen=True, slots=True)
class Form:
    """Which numbers stand for a context.

    pooling: `own` (the architecture's: last state of recurrent models, mean over real tokens of the transformer),
    `mean` (of the top outputs, over real tokens), `padded` (as in the papers' code: padding up to 100 tokens is
    read like words), or `decoder` (all that the decoder sees: generation/erasing.py).
    layers: `top`, or `all` side by side from the lowest (own and padded only).
    """

    pooling: str = "own"
    layers: str = "top"
    dtype: str = "float32"


def write_states(
    path: Path,
    model: DialogueModel,
    examples: Sequence[Numbered],
    form: Form,
    *,
    name: str,
    seed: int,
    checkpoint: str,
    weights: str,
    key: str,
    splits: Sequence[str],
    device: torch.device,
) -> None:
    """Write `path` (.npy) and its sidecar; the sidecar comes last, so that where it is, the matrix is whole."""
    with atomic(path, "wb") as handle:
        width = _stream_blocks(handle, path.name, model, examples, form, device)
    pooling = pooling_name(model, form)
    views: dict[str, Any] = {}
    if form.pooling == "decoder":
        views = {"views": view_widths(model, examples[0].context, device)}
    if form.layers == "all":
        with torch.inference_mode():
            first = model.encode(stack_contexts([examples[0].context], device))
        views |= {"layers": first.vectors.shape[1]}
    sidecar = States(
        name,
        seed,
        checkpoint,
        [e.item for e in examples],
        pooling,
        width,
        form.dtype,
        torch.get_num_threads(),
        weights,
        "",
        {"splits": list(splits), "key": key, **views},
    )
    write_json(path.with_suffix(".json"), as_json(replace(sidecar, signature=_sidecar_recipe(sidecar))))


def write_states_again(source: Path, path: Path, checkpoint: str) -> None:
    """Give a matrix and its sidecar a second name: the same weights are known as another checkpoint, too."""
    sidecar_path = source.with_suffix(".json")
    sidecar = replace(from_json(States, read_json(sidecar_path), str(sidecar_path)), checkpoint=checkpoint)
    path.with_suffix(".json").unlink(missing_ok=True)  # where a sidecar is, the matrix is its own
    name_again(source, path)
    write_json(path.with_suffix(".json"), as_json(replace(sidecar, signature=_sidecar_recipe(sidecar))))


def _sidecar_recipe(sidecar: States) -> str:
    return signature(
        model=sidecar.model,
        seed=sidecar.seed,
        checkpoint=sidecar.checkpoint,
        pooling=sidecar.pooling,
        splits=sidecar.extra["splits"],
        states=len(sidecar.ids),
        threads=sidecar.threads,
        weights=sidecar.weights[:12],
    )


def pooling_name(model: DialogueModel, form: Form) -> str:
    """What the sidecar says: `last`, `mean`, `padded last`, `last of all layers`, ..."""
    if form.pooling in ("mean", "decoder") and form.layers == "all":
        raise InputError(
            f"--pooling {form.pooling} knows the top layer alone; for others, use --pooling own or padded."
        )
    names = {"own": model.pooling, "mean": "mean", "padded": f"padded {model.pooling}", "decoder": "decoder"}
    pooling = names[form.pooling]
    return pooling if form.layers == "top" else f"{pooling} of all layers"


def _stream_blocks(
    handle: IO[bytes], name: str, model: DialogueModel, examples: Sequence[Numbered], form: Form, device: torch.device
) -> int:
    """Write a .npy file block by block; the width of a row."""
    width = 0
    for start in range(0, len(examples), WINDOW):
        contexts = [example.context for example in examples[start : start + WINDOW]]
        block = encode_block(model, contexts, form, device).astype(form.dtype)
        if not start:
            width = block.shape[1]
            # The header alone: np.save would need the whole matrix in memory.
            header = {"descr": block.dtype.str, "fortran_order": False, "shape": (len(examples), width)}
            np.lib.format.write_array_header_1_0(handle, header)
        handle.write(block.tobytes())
    if not width:
        raise InputError(f"There is no context to encode for {name}.")
    return width


def encode_block(
    model: DialogueModel, contexts: Sequence[Sequence[int]], form: Form, device: torch.device, batch_size: int = 128
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Context vectors (contexts x width), in the order given."""
    order = sorted(range(len(contexts)), key=lambda row: len(contexts[row]))
    parts = []
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            batch = stack_contexts([contexts[row] for row in order[start : start + batch_size]], device)
            parts.append(_context_vectors(model, batch, form).float().cpu())
    vectors = torch.cat(parts).numpy()
    block = np.empty_like(vectors)
    block[order] = vectors
    return block


def _context_vectors(model: DialogueModel, batch: Contexts, form: Form) -> Tensor:
    if form.pooling == "padded":
        longest = max(LONGEST_CONTEXT, batch.tokens.shape[1])  # an agent's belief comes on top of its dialogue
        tokens = pad(batch.tokens, (0, longest - batch.tokens.shape[1]), value=PAD)
        batch = Contexts(tokens, torch.full_like(batch.lengths, longest))
    encoded = model.encode(batch)
    if form.pooling == "decoder":
        return torch.cat(list(seen_by_decoder(model, encoded).values()), 1)
    if form.pooling == "mean":
        real = encoded.mask[:, :, None]
        return (encoded.memory * real).sum(1) / real.sum(1)
    return encoded.vectors[:, -1] if form.layers == "top" else encoded.vectors.flatten(1)


# What an encoder must read so that a head can answer questions: contexts and replies, each as a row of states.
#
# Rows of training and validation fit the head; those of questions are answered. A reply or option is read as one
# utterance of the one who answers. The name of a row says what it is: `train/context/ITEM`, `question/option/ID/2`.

MOST_TRAIN, MOST_VALID = 4000, 1000


def rows_of_study(
    study: Path, corpus: Corpus, vocabulary: Vocabulary, limit: int | None
) -> tuple[list[str], list[Numbered]]:
    """The splits and rows of a study's questions; their hash stands among the splits, so that others are refused."""
    questions = read_questions(study / "questions.jsonl")
    return ["train", "valid", f"texts:{texts_hash(questions)}"], question_rows(corpus, questions, vocabulary, limit)


def question_rows(
    corpus: Corpus, questions: Sequence[Question], vocabulary: Vocabulary, limit: int | None
) -> list[Numbered]:
    """All rows, those of the splits first."""
    rows: list[Numbered] = []
    for split, most in (("train", limit or MOST_TRAIN), ("valid", MOST_VALID)):
        chosen = evenly_spread(list(iterate_examples(corpus.split(split))), most)
        if not chosen:
            raise InputError(f"The {split} split holds no example, and a head is fitted on train and valid.")
        rows += _number_pairs(split, chosen, vocabulary)
    for question in questions:
        speaker = answering_speaker(question)
        turns = [Turn(turn.speaker, turn.text) for turn in question.context]
        rows.append(Numbered(f"question/context/{question.question}", vocabulary.context(turns, speaker), ()))
        rows += [
            Numbered(
                f"question/option/{question.question}/{k}", _number_utterance(option.text, speaker, vocabulary), ()
            )
            for k, option in enumerate(question.options)
        ]
    return rows


def _number_pairs(split: str, chosen: Sequence[Example], vocabulary: Vocabulary) -> Iterator[Numbered]:
    for example in chosen:
        speaker = example.target.speaker
        yield Numbered(f"{split}/context/{example.item}", vocabulary.context(example.context, speaker), ())
        yield Numbered(f"{split}/reply/{example.item}", _number_utterance(example.target.text, speaker, vocabulary), ())


def _number_utterance(text: str, speaker: str, vocabulary: Vocabulary) -> list[int]:
    return vocabulary.context([Turn(speaker, text)], speaker)


# Which matrices of states a study's own checkpoints call for, and how one of them is made.

STATES_FOLDERS = ("states", QUESTION_STATES, *FOLDERS.values())


@dataclass(frozen=True, slots=True)
class Matrix:
    """One checkpoint's states: where they go, and the hash of all they follow from."""

    trained: TrainedModel
    checkpoint: str
    weights: str
    path: Path
    key: str
    layer: int | None = None  # None: the top one, or all side by side

    @property
    def done(self) -> bool:
        """Whether states with this very key are there."""
        sidecar = self.path.with_suffix(".json")
        return self.path.exists() and sidecar.exists() and read_json(sidecar).get("key") == self.key


@dataclass(frozen=True, slots=True)
class Encoding:
    """What is the same for every checkpoint."""

    contexts: list[Numbered]
    splits: list[str]
    form: Form
    vocabulary: Vocabulary
    device: str
    layers: str = ""  # `each`, or numbers with commas: those are representations of their own


def list_matrices(folder: Path, models: list[TrainedModel], checkpoints: list[str], encoding: Encoding) -> list[Matrix]:
    """One for every model and checkpoint, and for every layer where single ones are asked for."""
    same = examples_hash(encoding.contexts), encoding.splits, encoding.form, encoding.vocabulary.hash, jobs.JOB_THREADS
    matrices = []
    numbers: dict[str, Sequence[int | None]] = {}
    for trained, checkpoint in ((trained, checkpoint) for trained in models for checkpoint in checkpoints):
        weights = weights_hash(trained, checkpoint)
        if trained.model not in numbers:
            asked = encoding.layers and layers_of_model(trained, checkpoint, encoding.vocabulary, encoding.layers)
            numbers[trained.model] = asked or [None]
        for layer in numbers[trained.model]:
            name = trained.folder.name if layer is None else f"{trained.model}.layer-{layer:02d}-{trained.seed}"
            key = jobs.content_key(weights, *same, *([] if layer is None else [layer]))
            matrices.append(Matrix(trained, checkpoint, weights, folder / f"{name}-{checkpoint}.npy", key, layer))
    return matrices


def layers_of_model(trained: TrainedModel, checkpoint: str, vocabulary: Vocabulary, names: str) -> list[int]:
    """The numbers of the layers asked for: `each`, or some with commas; the last one is the top."""
    model = load_model(trained, checkpoint, vocabulary)
    with torch.inference_mode():
        many = model.encode(stack_contexts([[EOU]], torch.device("cpu"))).vectors.shape[1]
    numbers = list(range(many)) if names == "each" else [int(part) for part in names.split(",")]
    if max(numbers) >= many:
        raise InputError(f"--layers is {names!r}; {trained.folder.name} has the layers 0 to {many - 1}.")
    return numbers


def by_checkpoint(matrices: Sequence[Matrix]) -> list[list[Matrix]]:
    """The layers of one checkpoint together, since one pass gives them all."""
    groups: dict[tuple[Path, str], list[Matrix]] = {}
    for matrix in matrices:
        groups.setdefault((matrix.trained.folder, matrix.checkpoint), []).append(matrix)
    return list(groups.values())


def encode_matrices(encoding: Encoding, matrices: Sequence[Matrix]) -> int:
    """Write the states of one checkpoint, whose layers are read at once; how many matrices. A job for any process."""
    matrix = matrices[0]
    trained, device = matrix.trained, pick_device(encoding.device)
    model = load_model(trained, matrix.checkpoint, encoding.vocabulary).to(device)
    for part in matrices:
        clear_halves(part.path)
    single = matrix.layer is None
    # All layers side by side go to a file of their own first: they may exceed the memory.
    path = matrix.path if single else matrix.path.with_name(f".{trained.folder.name}-{matrix.checkpoint}.layers")
    with use_threads(jobs.JOB_THREADS):
        write_states(
            path,
            model,
            encoding.contexts,
            encoding.form,
            name=trained.model,
            seed=trained.seed,
            checkpoint=matrix.checkpoint,
            weights=matrix.weights,
            key=matrix.key,
            splits=encoding.splits,
            device=device,
        )
    if not single:
        for part in matrices:
            _split_layer(path, part, pooling_name(model, replace(encoding.form, layers="top")))
        path.unlink()
        path.with_suffix(".json").unlink()
    return len(matrices)


def _split_layer(source: Path, matrix: Matrix, pooling: str) -> None:
    """Write one layer of all that stand side by side, with its number in the sidecar."""
    together = from_json(States, read_json(source.with_suffix(".json")), str(source))
    states, many = np.load(source, mmap_mode="r"), int(together.extra["layers"])
    width, layer = states.shape[1] // many, matrix.layer or 0
    matrix.path.with_suffix(".json").unlink(missing_ok=True)  # where a sidecar is, the matrix is its own
    with atomic(matrix.path, "wb") as handle:
        np.save(handle, states[:, layer * width : (layer + 1) * width])
    extra = {"splits": together.extra["splits"], "key": matrix.key, "layer": layer}
    sidecar = replace(together, pooling=pooling, width=width, extra=extra)
    write_json(matrix.path.with_suffix(".json"), as_json(replace(sidecar, signature=_sidecar_recipe(sidecar))))


def to_encode(every: Sequence[Matrix]) -> tuple[list[Matrix], list[tuple[Matrix, Matrix]]]:
    """Of one model's checkpoints with the same weights, one to be encoded, and the others as pairs (it, other).

    What is done is in neither. `last`, for one, has the weights of the last epoch, and every `best_...` those of some.
    """
    groups: dict[tuple[Path, str], list[Matrix]] = {}
    for matrix in every:
        groups.setdefault((matrix.trained.folder, matrix.key), []).append(matrix)
    todo, again = [], []
    for group in groups.values():
        done = [matrix for matrix in group if matrix.done]
        first, twins = (done or group)[0], [matrix for matrix in group if matrix not in done]
        todo += [] if done else [first]
        again += [(first, twin) for twin in twins if twin is not first]
    return todo, again


def encode_again(first: Matrix, twin: Matrix) -> None:
    """File the states of `first` under the name of `other`, whose weights are the same."""
    clear_halves(twin.path)
    write_states_again(first.path, twin.path, twin.checkpoint)


def remove_stale(study: Path, trained: TrainedModel) -> list[Path]:
    """Remove the states of checkpoints that have other weights by now, or none; which they were.

    Another number of epochs, or another encoder that picks, gives a checkpoint's name to other weights.
    """
    removed = []
    for folder in (place / name for place in (study, *condition_folders(study)) for name in STATES_FOLDERS):
        layered = folder.glob(f"{trained.model}.layer-*-{trained.seed}-*.json")
        for path in sorted({*folder.glob(f"{trained.folder.name}-*.json"), *layered}):
            stem = re.sub(r"\.layer-\d+(?=-)", "", path.stem)
            sidecar, checkpoint = read_json(path), stem.removeprefix(f"{trained.folder.name}-")
            weights = trained.folder / f"{checkpoint}.safetensors"
            ours = "weights" in sidecar and sidecar.get("checkpoint") == checkpoint  # not a user's own array
            now = digest(weights) if weights.exists() else pruned_hashes(trained.folder).get(checkpoint)
            if ours and now != sidecar["weights"]:
                path.unlink()  # first: where a sidecar is, the matrix is whole
                path.with_suffix(".npy").unlink(missing_ok=True)
                removed.append(path.with_suffix(".npy"))
    return removed
