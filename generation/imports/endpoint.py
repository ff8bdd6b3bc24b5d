"""Responses of a chat endpoint: what it is asked for each context."""

from __future__ import annotations

from collections.abc import Sequence

from dialogue.corpora.examples import Example
from dialogue.engines.chat import Call
from dialogue.seeds import child_seed
from generation.imports.tables import messages_of


def calls_for(
    examples: Sequence[Example], *, system: str = "", temperature: float = 0.0, seed: int = 0, longest: int = 80
) -> list[Call]:
    """One call a context; sampled replies follow from (seed, item), as far as the endpoint obeys a seed."""
    before = [{"role": "system", "content": system}] if system else []
    return [
        Call(
            [*before, *messages_of(example)],
            # Many endpoints take a seed of 31 bits at most.
            {"seed": child_seed(seed, "endpoint", example.item) % 2**31, "temperature": temperature,
             "max_tokens": longest},
        )
        for example in examples
    ]  # fmt: skip
