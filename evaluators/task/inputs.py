"""What the user gives: files of predictions, or a study whose responses carry states."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Response
from seedvote.evaluators.task.predictions import Answer, Predictions, SystemKey, answer, comparable_id, read_predictions

TOLD = "policy"


def corpus_of(paths: Sequence[Path], corpus: Path | None) -> Path:
    """The corpus that was named, else that of the study."""
    if corpus:
        return corpus
    for path in paths:
        if (path / "corpus").exists():
            return path / "corpus"
    raise InputError("Goals and states come from the corpus that was answered. Give it: --corpus PATH.")


def read_given(paths: Sequence[Path]) -> list[Predictions]:
    """Every system of every path."""
    predictions: list[Predictions] = []
    for path in paths:
        predictions += _from_study(path) if path.is_dir() else [read_predictions(path)]
    return predictions


def _from_study(folder: Path) -> list[Predictions]:
    path = folder / "responses.jsonl"
    if not path.is_file():
        raise InputError(f"{folder} holds no responses.jsonl. Give a study's folder, or files of predictions.")
    systems: dict[SystemKey, dict[str, dict[int, Answer]]] = defaultdict(lambda: defaultdict(dict))
    unknown: dict[SystemKey, Counter[str]] = defaultdict(Counter)
    agents: set[SystemKey] = set()
    for n, response in enumerate(read_records(path, Response), start=2):
        key = SystemKey(response.model, response.seed, response.checkpoint)
        name, _, turn = response.item.rpartition(":")
        is_told = response.extra.get("speak") == TOLD  # an agent that has no beliefs of its own
        if not turn.isdecimal() or (response.state is None and not is_told):
            raise InputError(
                f"{path}:{n}: this response has no state. Task success needs responses with `state` (domain -> slot -> "
                "value) and placeholders such as [hotel_name]; see docs/task.md."
            )
        if "speak" in response.extra:
            agents.add(key)
        turns = systems[key][comparable_id(name)]
        if int(turn) in turns:
            raise InputError(f"{path}:{n}: {response.item} is answered twice by {key.name}. Keep one decoding.")
        raw = {"response": response.text, "state": response.state, "active_domains": _listed(response.domains)}
        turns[int(turn)] = answer(raw, f"{path}:{n}", unknown[key])
    systems_found = [_predictions(key, dialogues, unknown[key], path) for key, dialogues in systems.items()]
    return [replace(system, agent=system.key in agents) for system in systems_found]


def _listed(domains: Sequence[str] | None) -> list[str] | None:
    return None if domains is None else list(domains)


def _predictions(
    key: SystemKey, dialogues: dict[str, dict[int, Answer]], unknown: Counter[str], path: Path
) -> Predictions:
    """A dialogue counts only as a whole: its answers stand at 1, 3, 5, ... without a gap."""
    for name, turns in dialogues.items():
        if sorted(turns) != list(range(1, 2 * len(turns), 2)):
            raise InputError(
                f"{path}: {key.name} answers only some turns of {name} ({', '.join(map(str, sorted(turns)))}). "
                "Inform and Success are about whole dialogues: sample all their turns."
            )
    return Predictions(key, {name: [turns[n] for n in sorted(turns)] for name, turns in dialogues.items()}, unknown)
