"""Who cast the votes: people, simulated raters or judges; counted once and told in one way, in every answer.

Votes of programs are named by a sentence; judges who are counted as raters also by every table and recipe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.judges import JUDGE

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
    sentences, of = [], f"of {count(cast.votes, 'vote')}"
    if cast.simulated:
        verb, them = ("is", "it") if cast.simulated == 1 else ("are", "them")
        sentences.append(f"{cast.simulated:,} {of} {verb} simulated: programs cast {them}, not people.")
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
    more = judges_caption(cast)
    if not more:
        return table
    return replace(table, caption=f"{table.caption.rstrip('.')}. {more}" if table.caption else more)


def judges_in_recipe(cast: Voters | None) -> Mapping[str, Any]:
    """What a signature says of judges that are counted as raters; nothing where there are none."""
    return {"judges": ",".join(cast.names) or "unnamed", "judge_votes": cast.judges} if cast and cast.judges else {}
