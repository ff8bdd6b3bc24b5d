"""What `evaluators discriminate` found in a study, as adversarial.json keeps it: its numbers, never computed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialogue.errors import InputError
from dialogue.files import digest, from_json, read_json

FILE = "adversarial.json"
PICTURE = "discriminator.png"
AGAIN = "Run it again: python -m evaluators discriminate"


@dataclass(frozen=True, slots=True)
class Told:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class TellingWord:
    """A word or a pair of words, and its weight in the log-odds that a person wrote a reply."""

    words: str
    weight: float


@dataclass(frozen=True, slots=True)
class TopOfEither:
    """Replies of one length to one context that each ranking puts first."""

    item: str
    length: int
    by_discriminator: Sequence[str]
    by_logprob: Sequence[str]


@dataclass(frozen=True, slots=True)
class RankedAlike:
    """The correlation of two rankings of replies of one length."""

    rho: Told
    contexts: int
    sets: int
    draws: int
    examples: Sequence[TopOfEither]


@dataclass(frozen=True, slots=True)
class ToldApart:
    """One model with one decoding: how well its replies are told from people's, and what stands beside that."""

    model: str
    seed: int | None
    checkpoint: str
    decoding: str
    replies: int
    by: str
    accuracy: Told
    length: Told
    bag: Told
    null_a: Told | None
    null_b: Told
    best: str
    beyond: Told
    fooled: Told
    shared: Told | None
    average_precision: Told
    auc: Told
    artefacts: Sequence[TellingWord]
    same_length: RankedAlike | None

    @property
    def name(self) -> str:
        """`seq2seq-0, greedy`; the checkpoint where it is not the last."""
        model = self.model if self.seed is None else f"{self.model}-{self.seed}"
        return f"{model}, {self.decoding}" + ("" if self.checkpoint == "last" else f", {self.checkpoint}")


@dataclass(frozen=True, slots=True)
class Discriminated:
    """All models, with the sentences that belong to the numbers."""

    document: Mapping[str, Any]  # as the command's --json prints it
    dialogues: int
    models: Sequence[ToldApart]
    notes: Sequence[str]
    stale: bool  # responses.jsonl is another one by now
    picture: Path | None


def read_discriminated(folder: Path) -> Discriminated | None:
    """What the command left in a study folder; None where it was not run."""
    path = folder / FILE
    if not path.is_file():
        return None
    document = read_json(path)
    found = document.get("generators") if isinstance(document, dict) else None
    if not isinstance(found, list) or not found or not isinstance(document.get("notes"), list):
        raise InputError(f"{path} is not what this version writes. {AGAIN} {folder}")
    models = [from_json(ToldApart, one, f"{path}: generators[{n}]") for n, one in enumerate(found)]
    picture = folder / PICTURE
    return Discriminated(
        document, document["dialogues"], models, document["notes"], _stale(folder, document.get("signature", "")),
        picture if picture.is_file() else None,
    )  # fmt: skip


def _stale(folder: Path, recipe: str) -> bool:
    """Whether the responses have changed since."""
    path = folder / "responses.jsonl"
    known = dict(part.partition(":")[::2] for part in recipe.split("|")).get("responses", "")
    return path.is_file() and not digest(path).startswith(known)
