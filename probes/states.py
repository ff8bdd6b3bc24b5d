"""Reads representations: a NumPy array with one row an example, and a JSON sidecar that names the rows.

Ours are `states/<model>-<seed>-<checkpoint>.npy` with a `States` record in the sidecar. A file of the user's own needs
no more than `ids` there; with `layer`, a number, it is that layer of its model. An array with a hole is refused, by
name and count.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest, read_json

ROWS_AT_ONCE = 8192
LAYER = re.compile(r"(.+)\.layer-(\d+)")


def layer_name(model: str, layer: int) -> str:
    """What a layer is called in the score table.

    >>> layer_name("bert", 6)
    'bert.layer-06'
    """
    return f"{model}.layer-{layer:02d}"


def layer_of(name: str) -> tuple[str, int | None]:
    """The model and the number of the layer, None for what is no layer.

    >>> layer_of("bert.layer-06"), layer_of("seq2seq")
    (('bert', 6), ('seq2seq', None))
    """
    match = LAYER.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)


@dataclass(frozen=True, slots=True)
class Representation:
    """What is probed: where its rows lie, whose they are, and the hash of their content."""

    evaluator: str
    model: str
    seed: int | None
    checkpoint: str
    path: Path
    ids: Sequence[str] = field(repr=False)
    digest: str

    @property
    def name(self) -> str:
        """For folders and messages, e.g. `bilstm_attn-0-last`."""
        return "-".join(str(part) for part in (self.model, self.seed, self.checkpoint) if part not in (None, ""))

    @property
    def width(self) -> int:
        """Numbers a row."""
        return int(np.load(self.path, mmap_mode="r").shape[1])

    def rows(self, items: Sequence[str]) -> np.ndarray:
        """The states of these examples, in this order (float32)."""
        row = {item: index for index, item in enumerate(self.ids)}
        # Mapped, not read: the states of all epochs may exceed the memory.
        states = np.load(self.path, mmap_mode="r")
        return np.asarray(states[[row[item] for item in items]], np.float32)


def find_states(study: Path, files: Sequence[Path] | None, checkpoints: str) -> list[Representation]:
    """The arrays of a study at the checkpoints wanted (comma-separated, or all; without a word all but epoch-N).

    Where `files` are given, it is these and no other.
    """
    representations = _share_ids(read_states(path) for path in files or sorted((study / "states").glob("*.npy")))
    if not representations:
        raise InputError(f"{study / 'states'} holds no .npy file. Make them: python -m generation encode {study}.")
    for name, count in Counter(who.name for who in representations).items():
        if count > 1:
            raise InputError(f"{count} arrays are called {name}; give each a different model, seed or checkpoint.")
    wanted = (
        checkpoints.split(",")
        if checkpoints
        else [w.checkpoint for w in representations if "epoch-" not in w.checkpoint]
    )
    if matches := [who for who in representations if files or checkpoints == "all" or who.checkpoint in wanted]:
        if not files:
            _refuse_stale(study, matches)
        return matches
    names = ", ".join(sorted({who.checkpoint for who in representations}))
    raise InputError(f"No states of checkpoint {checkpoints or 'other than epoch-N'}. It has: {names}.")


def _share_ids(representations: Iterable[Representation]) -> list[Representation]:
    """With equal lists of ids as one: those of a thousand checkpoints would take gigabytes."""
    known: dict[int, list[Sequence[str]]] = {}
    shared = []
    for who in representations:
        alike = known.setdefault(hash((len(who.ids), *who.ids[:8])), [])
        ids = next((ids for ids in alike if ids == who.ids), None)
        if ids is None:
            alike.append(who.ids)
        shared.append(who if ids is None else replace(who, ids=ids))
    return shared


def common_items(representations: Sequence[Representation]) -> set[str]:
    """The examples that every one has a state of; nothing where there is none."""
    distinct = list({id(who.ids): who.ids for who in representations}.values())
    common = set(distinct[0]) if distinct else set()
    for ids in distinct[1:]:
        common.intersection_update(ids)
    return common


def _refuse_stale(study: Path, representations: Iterable[Representation]) -> None:
    """Refuse states of weights that the model no longer has: a training that is killed may leave some behind."""
    for who in representations:
        recorded = read_json(who.path.with_suffix(".json")).get("weights")
        model = re.sub(r"\.layer-\d+(?=-)", "", who.path.stem).removesuffix(f"-{who.checkpoint}")
        weights = study / "models" / model / f"{who.checkpoint}.safetensors"
        if recorded and weights.exists() and digest(weights) != recorded:
            raise InputError(
                f"{who.path} was made with other weights than {weights} holds now. Make it anew: "
                f"python -m generation encode {study}, with the --splits and --checkpoints of before."
            )


def read_states(path: str | Path, *, evaluator: str = "probe") -> Representation:
    """Check the array at `path` against its sidecar."""
    path = Path(path)
    states, sidecar = _open_array(path), _read_sidecar(path.with_suffix(".json"))
    ids, model = sidecar["ids"], str(sidecar.get("model", path.stem))
    _check_shape(path, states, sidecar)
    _check_ids(path, ids)
    _check_numbers(path, states, ids)
    return Representation(
        evaluator,
        model if sidecar.get("layer") is None else layer_name(model, sidecar["layer"]),
        sidecar.get("seed"),
        str(sidecar.get("checkpoint", "")),
        path,
        ids,
        _hash_states(states, ids),
    )


def _open_array(path: Path) -> np.ndarray:
    if not path.exists():
        raise InputError(f"{path} is not there. States are made by: python -m generation encode STUDY.")
    try:
        states = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} cannot be read as a NumPy array ({error}). Encode it again.") from error
    if not isinstance(states, np.ndarray) or states.ndim != 2 or states.dtype.kind != "f":
        raise InputError(f"{path} is not a matrix of floating-point numbers, one row per example.")
    return states


def _read_sidecar(path: Path) -> dict[str, Any]:
    sidecar = read_json(path) if path.exists() else None
    if not isinstance(sidecar, dict) or not isinstance(sidecar.get("ids"), list):
        raise InputError(f'{path} needs at least {{"ids": [...]}}, the item id of every row of its array.')
    if not isinstance(sidecar.get("seed"), int | None):
        raise InputError(f"{path}: seed is {sidecar['seed']!r}, which is not a whole number or null.")
    layer = sidecar.get("layer")
    if layer is not None and (not isinstance(layer, int) or isinstance(layer, bool) or layer < 0):
        raise InputError(f"{path}: layer is {layer!r}, which is not the number of a layer (0, 1, ...) or null.")
    return sidecar


def _check_shape(path: Path, states: np.ndarray, sidecar: dict[str, Any]) -> None:
    rows, width = states.shape
    if rows != len(sidecar["ids"]):
        raise InputError(
            f"{path} has {rows:,} rows, and {path.stem}.json names {len(sidecar['ids']):,}: encode it again."
        )
    if sidecar.get("width", width) != width:
        raise InputError(f"{path} is {width} numbers wide, and {path.stem}.json says {sidecar['width']}.")


def _check_ids(path: Path, ids: list[str]) -> None:
    repeated = [name for name, count in Counter(ids).items() if count > 1]
    if repeated:
        raise InputError(f"{path}: {len(repeated):,} ids occur more than once ({_name_some(repeated)}).")


def _check_numbers(path: Path, states: np.ndarray, ids: list[str]) -> None:
    bad = [
        start + int(row)
        for start in range(0, len(states), ROWS_AT_ONCE)
        for row in np.flatnonzero(~np.isfinite(states[start : start + ROWS_AT_ONCE]).all(1))
    ]
    if bad:
        raise InputError(f"{path}: {len(bad):,} rows hold NaN or infinity ({_name_some([ids[row] for row in bad])}).")


def _hash_states(states: np.ndarray, ids: list[str]) -> str:
    content = hashlib.sha256("\n".join(ids).encode())
    # Block by block: the array is mapped, and may exceed the memory.
    for start in range(0, len(states), ROWS_AT_ONCE):
        content.update(np.ascontiguousarray(states[start : start + ROWS_AT_ONCE]).tobytes())
    return content.hexdigest()


def _name_some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def check_covers(who: Representation, needed: Iterable[str]) -> None:
    """Refuse states that leave out examples of the corpus."""
    have = set(who.ids)
    if missing := [item for item in needed if item not in have]:
        raise InputError(
            f"{who.path}: {len(missing):,} examples of the corpus have no state ({_name_some(missing)}). "
            "Was it encoded from another corpus, or in part? Encode them all, or probe what there is: --subset."
        )
