"""What to know about a table of votes: how it was read, what is odd or missing in it, and who cast the votes.

It is given with every result, never guessed away. Votes of programs are named by a sentence; judges who are counted as
raters also by every table and recipe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, part_of
from seedvote.analysis.stats.intervals import count_groups, cross_codes
from seedvote.analysis.votes.keeping import VERIFIED
from seedvote.analysis.votes.votes import Ints, Votes
from seedvote.dialogue.importing.reading import Reading, say_left_out
from seedvote.dialogue.judges import JUDGE, folded_name, is_model_name

NO_DIALOGUE = (
    "The votes name no dialogue, so pairs from one conversation are taken as independent; if some share one, the "
    "intervals are too narrow."
)
SAME_PAIRS = "The rounds (HumanExp-k) rate the same pairs, so they are not replications of each other."
ONE_DIALOGUE = "All votes are on one dialogue, so no interval shows how other dialogues would be judged."


def list_cautions(votes: Votes) -> list[str]:
    """One sentence for each thing to know before quoting a number."""
    sentences = [*_about_rounds(votes), *_about_raters(votes), *about_dialogues(votes)]
    return [*sentences, "One vote has no interval."] if len(votes) == 1 else sentences


def told_of_reading(votes: Votes, *, alone: bool = False) -> list[str]:
    """How the table was read, what it held and what was left out of it; nothing for data in memory.

    `alone` says that no caution follows, so that checks and late votes are named here.
    """
    if votes.ledger is None or not votes.ledger.read:
        return []
    counts = np.bincount(votes.choice, minlength=len(votes.labels)).tolist()
    ties = counts[votes.labels.index("tie")] if "tie" in votes.labels else None
    tallies = [f"{label} {number:,}" for label, number in zip(votes.labels, counts, strict=True) if label != "tie"]
    if votes.systems:
        tallies = _list_wins(votes)
    tally = ", ".join([*tallies, *([] if ties is None else [count(ties, "tie")])])
    people = f" of {count(count_groups(votes.rater), 'rater')}" if votes.rater is not None else ""
    contents = f"{count(len(votes), 'vote')}{people} on {count(count_groups(votes.pair), 'pair')}: {tally}."
    verified = [warning for warning in votes.warnings if warning.startswith(VERIFIED)] if alone else []
    return [
        votes.ledger.line,
        f"Read: {count(votes.ledger.read, 'row')}, {contents} {_say_lost(votes, alone)}".rstrip(),
        *verified,
    ]


def _say_lost(votes: Votes, alone: bool) -> str:
    """What was left out; what the cautions say of checks and late votes is not said twice."""
    if votes.ledger is None or (votes.warnings and not votes.ledger.dropped and not alone):
        return ""
    return say_left_out(votes.ledger.left_out) if alone else votes.ledger.lost


def with_reading(document: Mapping[str, Any], votes: Votes | None, systems: Sequence[str] = ()) -> dict[str, Any]:
    """The document with what was read and what was left out of it; null where no votes were."""
    return {**document, "reading": None if votes is None else reading_of(votes, systems)}


def reading_of(votes: Votes, systems: Sequence[str] = ()) -> dict[str, Any]:
    """The key `reading` of `--json`: what was read, what was left out of it and why, what is analysed.

    `systems` are those that pairs.jsonl names. `rows` is null for data in memory, which no file was read for.
    """
    ledger = votes.ledger or Reading("columns", 0)
    counts = np.bincount(votes.choice, minlength=len(votes.labels)).tolist()
    choices = dict(zip(votes.labels, counts, strict=True))
    return {
        "form": ledger.form,
        "rows": ledger.read or None,
        "columns": dict(ledger.columns),
        "words": dict(ledger.words),
        "notes": list(ledger.notes),
        "left_out": dict(ledger.left_out),
        "votes": len(votes),
        "pairs": count_groups(votes.pair),
        "raters": None if votes.rater is None else count_groups(votes.rater),
        "choices": choices,
        "ties": choices.get("tie"),
        "systems": list(systems or votes.systems),
    }


def _list_wins(votes: Votes) -> list[str]:
    """How often each system won, where they are few; otherwise how many there are."""
    if len(votes.systems) > 4 or votes.system_a is None or votes.system_b is None:
        return [count(len(votes.systems), "system")]
    won = np.where(votes.choice == 0, votes.system_a, votes.system_b)[votes.choice < 2]
    numbers = np.bincount(won, minlength=len(votes.systems)).tolist()
    return [f"{name} {number:,}" for name, number in zip(votes.systems, numbers, strict=True)]


def _about_rounds(votes: Votes) -> list[str]:
    if votes.round is None:
        return ["The votes have no round column, so HumanExp-1, 2, ... cannot be told apart: only pooled results."]
    sentences, counted = [], votes.in_round
    if len(set(np.unique(votes.round[counted], return_counts=True)[1].tolist())) > 1:
        sentences.append("The experiments have different numbers of votes.")
    if twice := _count_repeated(votes.pair[counted], votes.round[counted]):
        sentences.append(
            f"HumanExp-k should hold one vote per pair; some rounds have more ({count(twice, 'extra vote')})."
        )
    return sentences


def _about_raters(votes: Votes) -> list[str]:
    if votes.rater is None:
        return [
            "The votes have no rater column, so the intervals ignore differences between raters and may be too narrow."
        ]
    if votes.voters == 1 and len(votes) > 1:
        return ["All votes are from one rater, so no interval shows how other raters would vote."]
    return about_names(votes)


def about_names(votes: Votes) -> list[str]:
    """Votes that one person may have given twice, and raters who bear the name of a model."""
    if votes.rater is None:
        return []
    sentences, met = [], dict[str, list[str]]()
    if twice := _count_repeated(votes.pair, votes.rater):
        sentences.append(f"Some raters voted on the same pair more than once ({count(twice, 'repeated vote')}).")
    for code in np.unique(votes.rater).tolist():
        met.setdefault(folded_name(votes.raters[code]), []).append(votes.raters[code])
    if spellings := [names for names in met.values() if len(names) > 1]:
        examples = " and ".join(repr(name) for name in spellings[0][:2])
        sentences.append(
            f"{examples} differ in capitals or spaces only and are counted as different raters "
            f"({count(len(spellings), 'such name')}). If they are one person, write the name in one way."
        )
    return [*sentences, *_about_models(votes)]


def _about_models(votes: Votes) -> list[str]:
    """A column called `judge` may name people or models; the word alone does not tell which."""
    if votes.rater is None:
        return []
    known = np.zeros(len(votes), bool) if votes.door is None else np.array([*votes.doors, ""])[votes.door] == JUDGE
    systems = {folded_name(name) for name in votes.systems}
    names = [folded_name(votes.raters[code]) for code in np.unique(votes.rater[~known]).tolist()]
    if not (models := [name for name in names if name in systems or is_model_name(name)]):
        return []
    return [
        f"{count(len(models), 'rater')} may be no person: {models[0]!r} is the name of a language model"
        f"{' or of a compared system' if models[0] in systems else ''}. If it judged, its votes are no person's: keep "
        "them in verdicts.jsonl, or say --with-judges."
    ]


def about_dialogues(votes: Votes) -> list[str]:
    """That no dialogue is named, or one alone: what an interval then does not know."""
    if count_groups(votes.pair) < 2:
        return []
    if votes.dialogue is None:
        return [] if votes.item is not None else [NO_DIALOGUE]
    return [ONE_DIALOGUE] if count_groups(votes.dialogue) == 1 else []


def _count_repeated(first: Ints, second: Ints) -> int:
    return len(first) - count_groups(cross_codes([first, second]))


# Who cast the votes: people, simulated raters or judges


SIMULATED = "simulated"


@dataclass(frozen=True, slots=True)
class Voters:
    """How many of the votes were not cast by people; `names` are the judges among the raters."""

    votes: int
    simulated: int
    judges: int
    names: tuple[str, ...]


def voters(*parts: Votes) -> Voters:
    """Who cast these votes, over all parts together."""
    names: dict[str, None] = {}
    for votes in parts:
        if votes.rater is not None and (by := cast_by(votes, JUDGE)).any():
            names |= dict.fromkeys(votes.raters[code] for code in np.unique(votes.rater[by]))
    simulated, judges = (sum(int(cast_by(votes, door).sum()) for votes in parts) for door in (SIMULATED, JUDGE))
    return Voters(sum(map(len, parts)), simulated, judges, tuple(sorted(names)))


def cast_by(votes: Votes, door: str) -> NDArray[np.bool_]:
    """Which votes came through this door."""
    if votes.door is None or door not in votes.doors:
        return np.zeros(len(votes), dtype=bool)
    return np.asarray(votes.door == votes.doors.index(door))


def not_people(cast: Voters | None) -> list[str]:
    """One sentence for each kind of voter that is no person."""
    if cast is None:
        return []
    sentences = []
    if cast.simulated:
        verb, them = ("is", "it") if cast.simulated == 1 else ("are", "them")
        votes = part_of(cast.simulated, cast.votes, "vote").capitalize()
        sentences.append(f"{votes} {verb} simulated: programs cast {them}, not people.")
    if cast.judges:
        whose = f"{judges_caption(cast)} and counted as raters'"
        sentences.append(f"{whose} (--with-judges), so the numbers are not about people alone.")
    return sentences


def judges_caption(cast: Voters | None) -> str:
    """What every table says where judges are counted as raters; empty where there are none."""
    if cast is None or not cast.judges:
        return ""
    verb, whose_votes = ("is", "a judge's") if cast.judges == 1 else ("are", "judges'")
    names = ", ".join(cast.names) or "unnamed"
    return f"{cast.judges:,} of {count(cast.votes, 'vote')} {verb} {whose_votes} ({names})"


def marked_parts(parts: Iterable[Table | str], cast: Voters | None) -> list[Table | str]:
    """The same parts, every table with a caption that names the judges."""
    return [marked_table(part, cast) if isinstance(part, Table) else part for part in parts]


def marked_table(table: Table, cast: Voters | None) -> Table:
    """The table with the judges in its caption, where there are any."""
    caption = judges_caption(cast)
    if not caption:
        return table
    return replace(table, caption=f"{table.caption.rstrip('.')}. {caption}" if table.caption else caption)


def judges_in_recipe(cast: Voters | None) -> Mapping[str, Any]:
    """What a signature says of judges that are counted as raters; nothing where there are none."""
    return {"judges": ",".join(cast.names) or "unnamed", "judge_votes": cast.judges} if cast and cast.judges else {}
