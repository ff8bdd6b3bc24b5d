"""What makes a system, and what people call it."""

from __future__ import annotations

from collections.abc import Iterable

from seedvote.dialogue.records import Candidate, Pair


def key_of(side: Candidate) -> tuple[str, int | None, str]:
    """What makes a system: model, seed and checkpoint."""
    return side.model, side.seed, side.checkpoint


def system_names(pairs: Iterable[Pair]) -> dict[tuple[str, int | None, str], str]:
    """The systems of real pairs as people read them: `model-seed`, the checkpoint only where there are several."""
    keys = {key_of(side) for pair in pairs if pair.kind == "real" for side in (pair.a, pair.b)}
    short = {key: key[0] if key[1] is None else f"{key[0]}-{key[1]}" for key in keys}
    twice = {name for name in short.values() if sum(second == name for second in short.values()) > 1}
    return {key: f"{name}@{key[2]}" if name in twice else name for key, name in short.items()}
