"""Which domain a turn is about: the newest filled slot tells, and a booking where one has just been made."""

from __future__ import annotations

from collections.abc import Sequence

from seedvote.dialogue.records import Dialogue


def turn_topics(dialogue: Dialogue) -> Sequence[str]:
    """For every turn the domain of the newest slot that was filled or changed by then; "" where none was.

    A system turn that books is about what it books.
    """
    domains, current = [], ""
    before: dict[str, str] = {}
    booked: set[str] = set()
    for turn in dialogue.turns:
        if turn.speaker == "user":
            belief = dict(turn.belief or {})
            new = [name for name, value in belief.items() if before.get(name) != value]
            current = new[-1].partition("-")[0] if new else current
            before = belief
        now = set(turn.booked or ())
        domains.append(min(now - booked, default=current))
        booked |= now
    return domains
