"""Models that answer contexts for us: a loaded one and one behind an endpoint, asked in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dialogue.corpora.examples import Example
from dialogue.engines.chat import Endpoint, Reply, ask_all
from dialogue.errors import InputError
from generation.imports.endpoint import calls_for
from generation.imports.prompting import told_changes

if TYPE_CHECKING:
    from generation.decoding import Decoding


@dataclass
class Source:
    """Who is asked, under which name in the study, and what every source is told."""

    name: str
    seed: int | None
    longest: int
    system: str

    def facts(self) -> dict[str, str]:
        """What the name stands for: everything that responses follow from, but decoding and seed, which they carry."""
        return {"system message": self.system, "longest": str(self.longest)}

    def decoding(self) -> str:
        """How responses are decoded, as they carry it."""
        raise NotImplementedError

    def replies(self, examples: Sequence[Example], journal: Path, tell: Callable[[int], object]) -> list[Reply]:
        """A reply to every context."""
        raise NotImplementedError

    def remarks(self) -> list[str]:
        """What to know of the way in which it was asked."""
        return []


@dataclass(kw_only=True)
class LoadedModel(Source):
    """A model in the form of Hugging Face."""

    folder: str
    fetch: bool
    how: Decoding
    device: str
    precision: str
    batch: int
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # An endpoint is asked without PyTorch.
        from generation.devices import pick_device
        from generation.imports.hugging_face import HuggingFace
        from generation.imports.loading import precision_named

        precision, device = precision_named(self.precision), pick_device(self.device)
        self.model = HuggingFace(self.folder, fetch=self.fetch, device=device, precision=precision)

    def facts(self) -> dict[str, str]:
        """The weights, and how they read a context."""
        return {"source": "hugging face", **self.model.facts(), **super().facts()}

    def decoding(self) -> str:
        """As in `sample`."""
        return self.how.name

    def replies(self, examples: Sequence[Example], journal: Path, tell: Callable[[int], object]) -> list[Reply]:
        """Batch by batch on the device."""
        from generation.imports.asking import replies_of
        from generation.imports.hugging_face import Writing

        prompts = self.model.prompts(examples, self.longest, self.system)
        if aside := self.model.set_aside():
            settings = ", ".join(f"{name} = {value}" for name, value in sorted(aside.items()))
            self.told.append(f"The model's own settings of decoding are not used: {settings}.")
        self.told += told_changes(prompts)
        writing = Writing(self.how, self.seed or 0, self.longest)
        items = [example.item for example in examples]
        return replies_of(self.model, prompts, items, writing, journal=journal, batch=self.batch, tell=tell)

    def remarks(self) -> list[str]:
        """What of the folder's settings and of the contexts was changed."""
        return self.told


@dataclass(kw_only=True)
class ChatEndpoint(Source):
    """A model behind an address that speaks the chat-completions protocol."""

    url: str
    remote: str
    key: str = field(repr=False)
    temperature: float
    concurrency: int
    price: str | None
    told: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, str]:
        """Address and name, as far as these say which model answers."""
        return {"source": "endpoint", "address": self.url.rstrip("/"), "model": self.remote, **super().facts()}

    def decoding(self) -> str:
        """What an endpoint lets one ask for."""
        return f"endpoint temperature:{self.temperature:g}"

    def replies(self, examples: Sequence[Example], journal: Path, tell: Callable[[int], object]) -> list[Reply]:
        """Several at a time; each is kept as it comes."""
        price = _prices(self.price)
        calls = calls_for(
            examples, system=self.system, temperature=self.temperature, seed=self.seed or 0, longest=self.longest
        )
        endpoint = Endpoint(self.url, self.remote, self.key, self.concurrency)
        found = ask_all(endpoint, calls, journal, lambda: tell(1)).replies
        replies = [reply for reply in found if reply is not None]
        tokens = [sum(reply.tokens_in or 0 for reply in replies), sum(reply.tokens_out or 0 for reply in replies)]
        cost = sum(n * p for n, p in zip(tokens, price, strict=True)) / 1e6 if price else 0.0
        told = f"{len(replies)} replies, {tokens[0]} tokens in, {tokens[1]} out"
        self.told.append(f"{told}, cost {cost:.4f}" if price else told)
        return replies

    def remarks(self) -> list[str]:
        """Tokens and money."""
        return self.told


def _prices(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        into, out = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--price is {text!r}; two numbers are expected, e.g. --price 0.5,1.5") from None
    return into, out
