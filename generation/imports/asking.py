"""The replies of a loaded model, batch by batch: what a run that was broken off had kept is not asked for again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from dialogue.engines.chat import Reply, held_journal, journal_line, read_journal
from generation.imports.hugging_face import HuggingFace, Writing
from generation.imports.prompting import ReadContext


def replies_of(
    model: HuggingFace, prompts: Sequence[ReadContext], items: Sequence[str], writing: Writing, *,
    journal: Path, batch: int, tell: Callable[[int], object],
) -> list[Reply]:  # fmt: skip
    """A reply to every prompt, in their order; those of like length share a batch, so that little is padding."""
    facts = {**model.facts(), "decoding": writing.how.name, "longest": writing.longest}
    keys = [_key(facts, prompt, item, writing) for prompt, item in zip(prompts, items, strict=True)]
    with held_journal(journal) as file:
        known = read_journal(journal)
        left = sorted((n for n, key in enumerate(keys) if key not in known), key=lambda n: len(prompts[n].tokens))
        tell(len(keys) - len(left))
        for start in range(0, len(left), batch):
            rows = left[start : start + batch]
            for n, reply in zip(
                rows, model.answer([prompts[n] for n in rows], [items[n] for n in rows], writing), strict=True
            ):
                known[keys[n]] = reply
                file.write(journal_line(keys[n], reply))
            file.flush()
            tell(len(rows))
    return [known[key] for key in keys]


def _key(facts: dict[str, object], prompt: ReadContext, item: str, writing: Writing) -> str:
    """A name for everything that a reply follows from; seed and item only where it is drawn."""
    drawn = [writing.seed, item] if writing.how.sampled else []
    sent = json.dumps([facts, prompt.text, *drawn], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(sent.encode()).hexdigest()
