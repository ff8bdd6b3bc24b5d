"""Opens a model in the form of Hugging Face: a folder, a GGUF file, an installed package's word, a name on the hub.

Whatever a stranger's folder makes the library say becomes one sentence; weights that are missing are never random.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest
from seedvote.dialogue.weights import PACKAGES, RUNS, weights_place

MADE_OF = {".safetensors", ".bin", ".gguf", ".json", ".jinja", ".model", ".txt"}  # weights, tokenizer, settings
PRECISIONS = ("float32", "bfloat16", "float16", "float64")


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """Where a model's files are, and how the library is asked for them."""

    source: str
    where: str
    options: dict[str, Any]

    @property
    def name(self) -> str:
        """What it is called where nobody says: the folder's or file's own name, versions with points in them whole."""
        if self.source in PACKAGES:
            return self.source
        last = Path(self.source).resolve().name
        return last.removesuffix(".gguf")

    def digest(self, config: Any) -> str:
        """A name for weights, tokenizer and settings: of the files themselves, or the revision on the hub."""
        path = weights_place(self.source)
        files = [path] if path.is_file() else sorted(file for file in path.glob("*") if file.suffix in MADE_OF)
        if not files:
            return str(getattr(config, "_commit_hash", None) or "unknown")
        return hashlib.sha256("".join(digest(file) for file in files).encode()).hexdigest()[:16]


def model_place(source: str, *, fetch: bool = False) -> ModelPlace:
    """The place that a word, a path or a name stands for; what is needed to read it must be installed."""
    path = weights_place(source)
    gguf = path.suffix == ".gguf" and path.is_file()
    if absent := [library for library in (RUNS if gguf else RUNS[:1]) if importlib.util.find_spec(library) is None]:
        raise InputError(
            f"Hugging Face models need the library {', '.join(absent)}. Type: pip install {' '.join(absent)}"
        )
    local: dict[str, Any] = {"local_files_only": not fetch}
    if gguf:
        return ModelPlace(source, str(path.parent), {**local, "gguf_file": path.name})
    return ModelPlace(source, str(path), local)


@contextlib.contextmanager
def opening(place: ModelPlace) -> Iterator[None]:
    """What goes wrong meanwhile is said in one sentence, with the first line of what the library says."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # its bars: hundreds of lines where they are kept
            yield
    except InputError:
        raise
    except Exception as error:  # a stranger's folder may make it raise anything
        if place.options["local_files_only"] and not Path(place.where).exists():
            raise InputError(
                f"{place.source} is neither a local folder nor a downloaded model. To download it from the hub, add "
                "--fetch."
            ) from error
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise InputError(f"{place.source} holds no Hugging Face model: {reason}") from error
    finally:
        logging.set_verbosity(before)


def precision_named(name: str) -> str:
    """The name of a precision, or a sentence."""
    if name not in PRECISIONS:
        raise InputError(f"--precision is {name!r}; choose from {', '.join(PRECISIONS)}.")
    return name


def load_writer(place: ModelPlace, precision: torch.dtype) -> tuple[Any, Any]:
    """Tokenizer and model of one that writes responses."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    with opening(place):
        config = AutoConfig.from_pretrained(place.where, **place.options)
        kind: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
        tokenizer = AutoTokenizer.from_pretrained(place.where, **place.options)
        model, report = kind.from_pretrained(place.where, **place.options, dtype=precision, output_loading_info=True)
    refuse_missing(
        place,
        report["missing_keys"],
        "they would be random, and so would its responses. Name a model that was trained to write text.",
    )
    return tokenizer, model


def refuse_missing(place: ModelPlace, keys: Any, why: str) -> None:
    """Weights that the architecture has and the folder lacks would be drawn at random, without a word."""
    if missing := sorted(keys):
        raise InputError(
            f"{place.source} has no weights for {', '.join(missing[:3])}{' and more' * (len(missing) > 3)}: {why}"
        )
