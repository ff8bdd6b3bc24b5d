"""Predictions: the forms in which they are published, and what the user gives."""

from __future__ import annotations

import gzip
import json
import lzma
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seedvote.dialogue.domains.spelling import (
    PLACEHOLDER,
    State,
    placeholder_domain,
    placeholder_kind,
    spell_slot,
    spell_value,
)
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Response

# What a system answered and believed, read from the forms in which predictions are published, or from a study.
#
# `{"sng0073": [{"response": ..., "state": {domain: {slot: value}}, "active_domains": [...]}, ...]}` is the form of
# MultiWOZ_Evaluation; the same by lines, `{"dialogue": ..., "turns": [...]}`, is read too. Dialogue ids count in any
# case, with or without `.json`.

FORM = 'Expected {"dialogue id": [{"response": "...", "state": {"hotel": {"area": "north"}}}, ...], ...}.'


@dataclass(frozen=True, slots=True)
class Answer:
    """One system turn: its text, the placeholders in it, the state behind it and the domains it says it is about."""

    text: str
    kinds: frozenset[str]  # such as NAME, PHONE
    named: frozenset[str]  # domains that placeholders name
    bare: bool  # a placeholder that matters names no domain
    state: State | None
    domains: frozenset[str] | None
    intents: frozenset[str] | None = None  # what it takes the user to want, such as `hotel-request`
    acts: frozenset[str] | None = None  # what it does, such as `hotel-inform`


@dataclass(frozen=True, slots=True)
class SystemKey:
    """Which model answered, as in every score table."""

    model: str
    seed: int | None = None
    checkpoint: str = "published"

    @property
    def name(self) -> str:
        """The name in tables.

        >>> SystemKey("hred", 1, "last").name, SystemKey("soloist").name
        ('hred-1-last', 'soloist')
        """
        if self.checkpoint == "published":
            return self.model
        return "-".join([self.model, *([] if self.seed is None else [str(self.seed)]), self.checkpoint])


@dataclass(frozen=True)
class Predictions:
    """All dialogues of one system, and the placeholders that nobody knows with their counts."""

    key: SystemKey
    dialogues: Mapping[str, Sequence[Answer]] = field(repr=False)
    unknown: Mapping[str, int] = field(default_factory=dict)
    agent: bool = False  # one of our own: its placeholders name their domains, if it writes any

    @property
    def system(self) -> str:
        """Its name in tables."""
        return self.key.name

    @property
    def turns(self) -> Iterator[Answer]:
        """Every answer of every dialogue."""
        return (answer for answers in self.dialogues.values() for answer in answers)


def read_predictions(path: Path) -> Predictions:
    """The predictions of one file; plain, .gz or .xz."""
    raw = dict(_read_documents(path))
    if not raw:
        raise InputError(f"{path} holds no dialogue. {FORM}")
    unknown: Counter[str] = Counter()
    answers: dict[str, list[Answer]] = {}
    for name, turns in raw.items():
        key = comparable_id(name)
        if key in answers:
            raise InputError(f"{path}: dialogue {name} occurs twice (ids count without capitals and .json). Keep one.")
        if not isinstance(turns, list) or not turns:
            raise InputError(f"{path}: dialogue {name} is not a list of turns. {FORM}")
        answers[key] = [
            read_answer(turn, f"{path}: dialogue {name}, turn {n}", unknown) for n, turn in enumerate(turns)
        ]
    return Predictions(SystemKey(path.name.split(".")[0]), answers, dict(unknown))


def comparable_id(name: str) -> str:
    """The id as every source is compared by it.

    >>> comparable_id("SNG0073.json")
    'sng0073'
    """
    return name.strip().lower().removesuffix(".json")


def read_answer(raw: Any, where: str, unknown: Counter[str]) -> Answer:
    """One turn as it stands in a file; placeholders that no table knows are counted in `unknown`."""
    if not isinstance(raw, dict) or not isinstance(raw.get("response"), str):
        raise InputError(f"{where}: no text under 'response'. {FORM}")
    text = raw["response"].lower()
    names = PLACEHOLDER.findall(text)
    kinds = {name: placeholder_kind(name) for name in names}
    unknown.update(name for name in names if not kinds[name])
    telling = [name for name in names if kinds[name] and not _is_domainless(kinds[name])]
    return Answer(
        text,
        frozenset(filter(None, kinds.values())),
        frozenset(filter(None, map(placeholder_domain, names))),
        any(not placeholder_domain(name) for name in telling),
        _read_state(raw.get("state"), where),
        _read_domains(raw.get("active_domains"), where),
        _read_names(raw.get("intents"), f"{where}: intents"),
        _read_names(raw.get("acts"), f"{where}: acts"),
    )


def _is_domainless(kind: str) -> bool:
    """Kinds that count for neither Inform nor Success, so that they need name no domain."""
    return kind not in ("NAME", "TRAINID", "PHONE", "ADDRESS", "POST", "REFERENCE")


def _read_state(raw: Any, where: str) -> State | None:
    if raw is None:
        return None
    if not isinstance(raw, dict) or not all(isinstance(slots, dict) for slots in raw.values()):
        raise InputError(f"{where}: state is not domain -> slot -> value. {FORM}")
    return {str(domain).lower(): _read_slots(slots, f"{where}: {domain}") for domain, slots in raw.items()}


def _read_slots(raw: Mapping[str, Any], where: str) -> dict[str, str]:
    slots = {}
    for name, values in raw.items():
        first = values[0] if isinstance(values, list) and values else values
        if not isinstance(first, str | int | float) or isinstance(first, bool):
            raise InputError(f"{where}-{name}: the value is {values!r}. Expected a text, or a list of texts.")
        key = spell_slot(str(name))
        slots[key] = spell_value(key, str(first))
    return slots


def _read_domains(raw: Any, where: str) -> frozenset[str] | None:
    if raw is None:
        return None
    if not isinstance(raw, list) or not all(isinstance(name, str) for name in raw):
        raise InputError(f"{where}: active_domains is {raw!r}. Expected a list of domains, or no such key.")
    return frozenset(name.lower() for name in raw)


def _read_names(raw: Any, where: str) -> frozenset[str] | None:
    """Names of acts: one, a list, or the keys of acts with their slots."""
    if raw is None:
        return None
    names: list[Any] = [raw] if isinstance(raw, str) else list(raw) if isinstance(raw, list | dict) else [None]
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise InputError(f"{where} is {raw!r}. Expected a name such as Hotel-Request, a list of names, or no such key.")
    return frozenset(name.strip().lower() for name in names)


def _read_documents(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        text = _read_text(path)
        if text.lstrip().startswith("{") and "\n{" in text.strip():
            yield from ((line["dialogue"], line["turns"]) for line in map(json.loads, text.splitlines()) if line)
            return
        document = json.loads(text)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as predictions ({error}). {FORM}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path} holds a {type(document).__name__}. {FORM}")
    yield from document.items()


def _read_text(path: Path) -> str:
    try:
        raw = path.read_bytes()
        packed = {".xz": lzma.decompress, ".gz": gzip.decompress}.get(path.suffix)
        return (packed(raw) if packed else raw).decode("utf-8-sig")
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be opened: {error}.") from None


# What the user gives: files of predictions, or a study whose responses carry states.

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
        named = {name: response.extra.get(name) for name in ("intents", "acts")}
        # An agent without beliefs of its own, or a model that was asked for intents or acts alone.
        has_none = response.extra.get("speak") == TOLD or any(names is not None for names in named.values())
        if not turn.isdecimal() or (response.state is None and not has_none):
            raise InputError(
                f"{path}:{n}: this response has no state. Task success needs responses with `state` (domain -> slot -> "
                "value) and placeholders such as [hotel_name]; see docs/task.md."
            )
        if "speak" in response.extra:
            agents.add(key)
        turns = systems[key][comparable_id(name)]
        if int(turn) in turns:
            raise InputError(f"{path}:{n}: {response.item} is answered twice by {key.name}. Keep one decoding.")
        raw = {
            "response": response.text,
            "state": response.state,
            "active_domains": None if response.domains is None else list(response.domains),
            **named,
        }
        turns[int(turn)] = read_answer(raw, f"{path}:{n}", unknown[key])
    systems_found = [_group_predictions(key, dialogues, unknown[key], path) for key, dialogues in systems.items()]
    return [replace(system, agent=system.key in agents) for system in systems_found]


def _group_predictions(
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
