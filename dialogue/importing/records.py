"""Judgements of another tool as vote records of ours: hashed raters, rounds by time, and the pairs that were shown.

With the pairs file, every judgement is looked up there, by the id of its pair or by its item and two systems.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.meanings import same_text
from seedvote.dialogue.importing.votes import Judgements
from seedvote.dialogue.judges import JUDGE, door_of, is_judge_name, refusal, whose
from seedvote.dialogue.records import Candidate, Choice, Pair, Side, Vote


@dataclass(frozen=True, slots=True)
class Imported:
    """The votes, and what became of everything that was read."""

    votes: Sequence[Vote]
    read: int
    dropped: Mapping[str, int]  # reason -> judgements
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class ImportRules:
    """What the user states about the file, because the file does not say it."""

    file_order: bool = False  # no times: the order of the file stands for the order of the votes
    judges: Mapping[str, str] | None = None  # plain names of judges, and where they are named
    with_judges: bool = False  # keep their votes, marked as theirs


def as_votes(
    judgements: Judgements, rules: ImportRules, pairs: Sequence[Pair] | None, rater_id: Callable[[str], str]
) -> Imported:
    """Every judgement becomes a vote, or the whole import stops."""
    if not judgements.times and not rules.file_order:
        raise InputError(
            f"{judgements.table.place(0)}: no time of submission, so the order of the votes is unknown. Name its "
            "column: --columns submitted=..., or state --file-order: then a round is a place in the file."
        )
    known = {pair.pair: pair for pair in pairs} if pairs is not None else None
    fields = {name: judgements.text(name) for name in ("rater", "source", "seconds", "item", "dialogue")}
    dropped, rounds = Counter(judgements.reading.dropped), defaultdict[str, int](int)
    votes = []
    for row, choice in enumerate(judgements.choice):
        cells = {name: column[row] for name, column in fields.items()}
        where = judgements.table.place(row)
        by_judge = _is_judges(where, cells, rules)
        if not cells["rater"]:
            raise InputError(f"{where}: rater is empty; every judgement needs one.")
        pair, lookup = _looked_up(judgements, row, where, choice, pairs, known)
        if pair is not None and pair.kind == "check":
            dropped["an answer to a hidden check"] += 1
            continue
        rounds[lookup.pair] += 1
        votes.append(
            Vote(
                pair=lookup.pair,
                rater=cells["rater"] if by_judge else rater_id(cells["rater"]),
                choice=lookup.choice,
                round=rounds[lookup.pair],
                left=lookup.left,
                seconds=_number(cells["seconds"], where),
                submitted=utc(judgements.times[row]) if judgements.times else None,
                source="judge" if by_judge else "imported",
                kind=pair.kind if pair else "real",
                identical=pair.identical if pair else False,
                dialogue=(pair.dialogue if pair else None) or cells["dialogue"] or None,
                extra={"tool": judgements.tool, **lookup.systems, **({"item": lookup.item} if lookup.item else {})},
            )
        )
    if not votes:
        reasons = "; ".join(f"{number} {reason}" for reason, number in dropped.items())
        raise InputError(f"None of the {judgements.reading.read} judgements can be used: {reasons}.")
    return Imported(votes, judgements.reading.read, dict(dropped), _notes(votes, known))


@dataclass(frozen=True, slots=True)
class _Turned:
    """A judgement in the names and sides of the pairs file; without one, in the order of the systems' names."""

    pair: str
    choice: Choice
    left: Side | None
    systems: Mapping[str, str]
    item: str


def _looked_up(
    judgements: Judgements,
    row: int,
    where: str,
    choice: Choice,
    pairs: Sequence[Pair] | None,
    known: Mapping[str, Pair] | None,
) -> tuple[Pair | None, _Turned]:
    name, item, left_side = (
        judgements.pair[row],
        judgements.text("item")[row] if "item" in judgements.names else "",
        judgements.left[row],
    )
    systems = (judgements.a[row], judgements.b[row]) if judgements.a else None
    if pairs is None or known is None:
        if systems is None:
            return None, _Turned(name, choice, left_side, {}, item)
        first, second = sorted(systems)
        turned = systems[0] != first
        names = {"system_a": first, "system_b": second}
        return None, _Turned(f"{name}|{first}|{second}", *_as_shown(choice, left_side, turned), names, item or name)
    if systems is None:
        if name not in known:
            raise InputError(f"{where}: pair {name!r} is not in the pairs file. Give the file that was shown.")
        _refuse_swapped(judgements, row, where, known[name], ("a", "b"))
        return known[name], _Turned(name, choice, left_side, {}, item)
    near = [known[name]] if name in known else [pair for pair in pairs if pair.item == name]
    fits = [(pair, turned) for pair in near for turned, (first, second) in ((False, systems), (True, systems[::-1]))
            if first in _names(pair.a) and second in _names(pair.b)]  # fmt: skip
    if len(fits) != 1:
        raise InputError(f"{where}: {len(fits)} pairs compare {' and '.join(systems)} on item {name!r}.")
    pair, turned = fits[0]
    _refuse_swapped(judgements, row, where, pair, systems)
    names = {"system_a": pair.a.model, "system_b": pair.b.model}
    return pair, _Turned(pair.pair, *_as_shown(choice, left_side, turned), names, item or name)


def _as_shown(choice: Choice, left_side: Side | None, turned: bool) -> tuple[Choice, Side | None]:
    if not turned:
        return choice, left_side
    turned_choice: dict[str | None, Choice] = {"a": "b", "b": "a", "tie": "tie"}
    side: dict[str | None, Side | None] = {"a": "b", "b": "a", None: None}
    return turned_choice[choice], side[left_side]


def _names(side: Candidate) -> tuple[str, str]:
    return side.model, f"{side.model}-{side.seed}"


def _refuse_swapped(judgements: Judgements, row: int, where: str, pair: Pair, sides: tuple[str, str]) -> None:
    """Texts that the table and the pairs file both have must stand on the same sides."""
    if not judgements.texts:
        return
    texts = dict(zip(sides, judgements.texts[row], strict=True))
    for side, response, rival in (("a", pair.a, pair.b), ("b", pair.b, pair.a)):
        text = next((texts[name] for name in (side, *_names(response)) if name in texts), "")
        if text and same_text(text, rival.text) and not same_text(text, response.text):
            raise InputError(
                f"{where}: the table and the pairs file have the two responses of pair {pair.pair!r} on opposite "
                f"sides: response {side} there is the other response here. Give the pairs file that was shown, "
                "or mend the columns of the texts."
            )


def _is_judges(where: str, cells: Mapping[str, str], rules: ImportRules) -> bool:
    """A judge's answer stops the import, unless judges may be among the raters."""
    judges = rules.judges or {}
    by_name = whose("", cells["rater"], judges)
    if by_name is None and is_judge_name(cells["rater"]):
        by_name = f"is {cells['rater']!r}, a judge's name"
    if door_of(cells["source"], where) != JUDGE and by_name is None:
        return False
    if not rules.with_judges:
        raise refusal(where, by_name or "")
    return True


def _number(cell: str, where: str) -> float | None:
    if not cell:
        return None
    try:
        if math.isfinite(float(cell)):
            return float(cell)
    except ValueError:
        pass
    raise InputError(f"{where}: seconds is {cell!r}, which is not a number.")


def utc(seconds: float) -> str:
    """A time as our files write it: ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _notes(votes: Sequence[Vote], known: Mapping[str, Pair] | None) -> list[str]:
    """What the reader of the votes should know."""
    times = Counter(Counter(vote.pair for vote in votes).values())
    notes = []
    if judged := [vote.rater for vote in votes if vote.source == JUDGE]:
        verb, who, them = ("is", "a judge's", "it") if len(judged) == 1 else ("are", "judges'", "them")
        notes.append(
            f"{len(judged):,} of {len(votes):,} votes {verb} {who} ({', '.join(sorted(set(judged)))}). Every analysis "
            f"refuses {them}, unless --with-judges says to treat judges as raters."
        )
    if len(times) > 1:
        notes.append("Votes a pair: " + ", ".join(f"{k} on {n} of them" for k, n in sorted(times.items())) + ".")
    if known is not None:
        real = {name for name, pair in known.items() if pair.kind != "check"}
        if empty := len(real - {vote.pair for vote in votes}):
            notes.append(f"{empty} of {len(real)} pairs have no vote.")
    sides = {vote.choice for vote in votes} - {"tie"}
    if len(sides) == 1 and len(votes) >= 20:
        notes.append(f"Nobody chose {'b' if sides == {'a'} else 'a'}: check how the tool writes it.")
    return notes
