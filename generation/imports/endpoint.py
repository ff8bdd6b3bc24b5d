"""Responses of a chat endpoint: what it is asked for each context, and what becomes of its replies."""

from __future__ import annotations

from collections.abc import Sequence

from dialogue.corpora.examples import Example
from dialogue.engines.chat import Call, Reply
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


def doubts_about(replies: Sequence[Reply]) -> list[str]:
    """What to know of the replies: those without a text, and those that nobody counted."""
    said = []
    if empty := [reply for reply in replies if reply.empty]:
        why = ", ".join(sorted({reply.finish for reply in empty if reply.finish})) or "no reason given"
        said.append(
            f"{len(empty)} of {len(replies)} replies hold no text ({why}) and give no response. If the model ran out "
            "of tokens, allow more: --longest."
        )
    if silent := sum(reply.tokens_in is None or reply.tokens_out is None for reply in replies):
        said.append(f"{silent} of {len(replies)} replies do not say how many tokens they took; they are counted as 0.")
    return said
