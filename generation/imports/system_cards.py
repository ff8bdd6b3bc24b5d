"""What an imported system is: one card a name in `imports/`, so that no name ever stands for two systems.

A name joins responses to votes and scores. With another prompt, model or corpus behind it, what was judged as one
system would be two, and nothing in responses.jsonl could tell them apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from dialogue.errors import InputError
from dialogue.files import atomic
from dialogue.records import Response

SHOWN = 60  # characters of a fact in a sentence


def place_in(study: Path, name: str, ending: str) -> Path:
    """The card (`.json`) or the journal (`.jsonl`) of a system."""
    return study / "imports" / f"{name.replace('/', '_')}{ending}"


def refuse_another_system(study: Path, name: str, facts: Mapping[str, str], earlier: Sequence[Response]) -> None:
    """Nothing where the name is new, or stands for just this system, or none of its responses is there any more."""
    card = place_in(study, name, ".json")
    if not card.exists() or all(response.model != name for response in earlier):
        return
    before = json.loads(card.read_text(encoding="utf-8"))
    if differ := [key for key in sorted({*before, *facts}) if before.get(key) != facts.get(key)]:
        told = "; ".join(f"{key} was {_short(before.get(key))}, now {_short(facts.get(key))}" for key in differ)
        raise InputError(
            f"The responses of {name} in this study are another system's: {told}. Give this one a name of its own "
            "(--model), or drop the earlier responses: --replace."
        )


def write_card(study: Path, name: str, facts: Mapping[str, str]) -> None:
    """Before the first response is asked for: what is broken off is taken up by the same system only."""
    card = place_in(study, name, ".json")
    card.parent.mkdir(parents=True, exist_ok=True)
    with atomic(card) as handle:
        handle.write(json.dumps(dict(facts), indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def _short(value: str | None) -> str:
    if not value:
        return "none"
    return repr(value if len(value) <= SHOWN else value[:SHOWN] + "...")
