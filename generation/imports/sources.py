"""Models that answer contexts for us: a loaded one and one behind an endpoint, asked in the same way."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.engines.chat import Call, Endpoint, Reply, ask_all, journal_line, lock_journal, read_journal
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import child_seed
from seedvote.generation.imports.prompting import ReadContext, describe_changes
from seedvote.generation.imports.tables import messages_of

if TYPE_CHECKING:
    from seedvote.generation.decoding import Decoding
    from seedvote.generation.imports.hugging_face import HuggingFace, Writing


@dataclass
class Source:
    """Who is asked, under which name in the study, and what every source needs to know."""

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
    template: str | None = None
    stops: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # An endpoint is asked without PyTorch.
        from seedvote.dialogue.devices import pick_device
        from seedvote.generation.imports.hugging_face import HuggingFace, precision_named

        precision, device = precision_named(self.precision), pick_device(self.device)
        self.model = HuggingFace(
            self.folder,
            fetch=self.fetch,
            device=device,
            precision=precision,
            template=self.template,
            stops=self.stops,
        )

    def facts(self) -> dict[str, str]:
        """The weights, and how they read a context."""
        return {"source": "hugging face", **self.model.facts(), **super().facts()}

    def decoding(self) -> str:
        """As in `sample`."""
        return self.how.name

    def replies(self, examples: Sequence[Example], journal: Path, tell: Callable[[int], object]) -> list[Reply]:
        """Batch by batch on the device."""
        from seedvote.generation.imports.hugging_face import Writing

        prompts = self.model.prompts(examples, self.longest, self.system)
        if aside := self.model.set_aside():
            settings = ", ".join(f"{name} = {value}" for name, value in sorted(aside.items()))
            self.notes.append(f"The model's own settings of decoding are not used: {settings}.")
        self.notes += [*filter(None, [self.model.template.describe()]), *describe_changes(prompts)]
        writing = Writing(self.how, self.seed or 0, self.longest)
        items = [example.item for example in examples]
        return answer_prompts(self.model, prompts, items, writing, journal=journal, batch=self.batch, tell=tell)

    def remarks(self) -> list[str]:
        """What of the folder's settings and of the contexts was changed."""
        return self.notes


def answer_prompts(
    model: HuggingFace,
    prompts: Sequence[ReadContext],
    items: Sequence[str],
    writing: Writing,
    *,
    journal: Path,
    batch: int,
    tell: Callable[[int], object],
) -> list[Reply]:
    """A reply to every prompt, in their order; those that a broken run had kept are not asked for again."""
    # Prompts of like length share a batch, so that little is padding.
    facts = {**model.facts(), "decoding": writing.how.name, "longest": writing.longest}
    keys = [_reply_key(facts, prompt, item, writing) for prompt, item in zip(prompts, items, strict=True)]
    with lock_journal(journal) as file:
        known = read_journal(journal)
        unanswered = sorted((n for n, key in enumerate(keys) if key not in known), key=lambda n: len(prompts[n].tokens))
        tell(len(keys) - len(unanswered))
        for start in range(0, len(unanswered), batch):
            rows = unanswered[start : start + batch]
            for n, reply in zip(
                rows, model.answer([prompts[n] for n in rows], [items[n] for n in rows], writing), strict=True
            ):
                known[keys[n]] = reply
                file.write(journal_line(keys[n], reply))
            file.flush()
            tell(len(rows))
    return [known[key] for key in keys]


def _reply_key(facts: dict[str, object], prompt: ReadContext, item: str, writing: Writing) -> str:
    """A name for everything that a reply follows from; seed and item only where it is drawn."""
    randomness = [writing.seed, item] if writing.how.sampled else []
    sent = json.dumps([facts, prompt.text, *randomness], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(sent.encode()).hexdigest()


@dataclass(kw_only=True)
class ChatEndpoint(Source):
    """A model behind an address that speaks the chat-completions protocol."""

    url: str
    remote: str
    key: str = field(repr=False)
    temperature: float
    concurrency: int
    price: str | None
    notes: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, str]:
        """Address and name, as far as these say which model answers."""
        return {"source": "endpoint", "address": self.url.rstrip("/"), "model": self.remote, **super().facts()}

    def decoding(self) -> str:
        """What an endpoint lets one ask for."""
        return f"endpoint temperature:{self.temperature:g}"

    def replies(self, examples: Sequence[Example], journal: Path, tell: Callable[[int], object]) -> list[Reply]:
        """Several at a time; each is kept as it comes."""
        price = _read_prices(self.price)
        calls = make_calls(
            examples, system=self.system, temperature=self.temperature, seed=self.seed or 0, longest=self.longest
        )
        endpoint = Endpoint(self.url, self.remote, self.key, self.concurrency)
        answers = ask_all(endpoint, calls, journal, lambda: tell(1)).replies
        replies = [reply for reply in answers if reply is not None]
        tokens = [sum(reply.tokens_in or 0 for reply in replies), sum(reply.tokens_out or 0 for reply in replies)]
        cost = sum(n * p for n, p in zip(tokens, price, strict=True)) / 1e6 if price else 0.0
        sentence = f"{len(replies)} replies, {tokens[0]} tokens in, {tokens[1]} out"
        self.notes.append(f"{sentence}, cost {cost:.4f}" if price else sentence)
        return replies

    def remarks(self) -> list[str]:
        """Tokens and money."""
        return self.notes


def make_calls(
    examples: Sequence[Example], *, system: str = "", temperature: float = 0.0, seed: int = 0, longest: int = 80
) -> list[Call]:
    """One call a context; sampled replies follow from (seed, item), as far as the endpoint obeys a seed."""
    before = [{"role": "system", "content": system}] if system else []
    return [
        Call(
            [*before, *messages_of(example)],
            # Many endpoints take a seed of 31 bits at most.
            {
                "seed": child_seed(seed, "endpoint", example.item) % 2**31,
                "temperature": temperature,
                "max_tokens": longest,
            },
        )
        for example in examples
    ]


def _read_prices(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        into, out = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--price is {text!r}; two numbers are expected, e.g. --price 0.5,1.5") from None
    return into, out
