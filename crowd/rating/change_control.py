"""A study that changes while it runs: every key of hit.toml that changed is applied by its own rule, or refused.

The store keeps the HIT that is in force. A server that starts with another one takes it up here, in one transaction:
what follows from the changed keys (who passed, which votes count, which pairs are open) is written anew, and each key
that changed is an event. crowd/hit/hit.py says which key follows which rule.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.hit.hit import CHANGES, HIT_KEYS, PROMISED, Hit, hit_as_kept
from seedvote.crowd.hit.live import fixed_part
from seedvote.crowd.rating import batches, standing
from seedvote.crowd.rating.deciding import tell
from seedvote.crowd.rating.excluding import mark_broken
from seedvote.crowd.rating.moment import keep_hit, kept_hit, make_rules
from seedvote.crowd.store.identity import lease_token
from seedvote.crowd.store.launches import doors
from seedvote.crowd.store.store import Store, append_event, put, settings
from seedvote.crowd.store.tables import leases, pairs, raters, replies, votes
from seedvote.dialogue.errors import InputError

SETTLED = "settled"  # the digest of the pairs file for which everything was last counted
OLDER = "This study was begun by an older version; raters are now judged by all their checks."
ON_THE_PAGE = {"question", "questions", "rendering", "marks", "texts"}  # what an answer is an answer to
WAY_OUT = "Put the old value back into hit.toml, or start a new study folder."


@dataclass(frozen=True, slots=True)
class ChangedKey:
    """One key of hit.toml whose value is another one than the store's."""

    name: str
    before: Any
    after: Any

    def __str__(self) -> str:
        """The sentence that a person reads; long texts are not repeated."""
        if any(len(str(value)) > 60 for value in (self.before, self.after)):
            return f"{self.name} was changed: {CHANGES[self.name]}."
        return f"{self.name} was {self.before}, is {self.after}: {CHANGES[self.name]}."


def changed_keys(before: Hit, now: Hit) -> list[ChangedKey]:
    """The keys that differ, as plain values."""
    old, new = hit_as_kept(before), hit_as_kept(now)
    return [ChangedKey(name, old[name], new[name]) for name in HIT_KEYS if old[name] != new[name]]


def refuse_changes(store: Store, hit: Hit) -> None:
    """Refuse a HIT that cannot follow the one in force, before anything is written."""
    with store.read() as connection:
        before = kept_hit(connection)
        _refuse_older_votes(connection, before, hit)
        changes = changed_keys(before, hit) if before else []
        for change in sorted(changes, key=lambda change: change.name != "form"):  # whose texts are others by default
            _refuse_change(connection, change, [change.name for change in changes], hit)


def take_up(store: Store, hit: Hit, now: float) -> list[str]:
    """Put this HIT in force; returns what changed and what followed, as sentences."""
    with store.write() as connection:
        before, values = kept_hit(connection), settings(connection)
        _refuse_older_votes(connection, before, hit)
        changes = changed_keys(before, hit) if before else []
        if before is not None and not changes and values.get(SETTLED) == values.get("pairs"):
            return []
        names = [change.name for change in changes]
        for change in changes:
            _refuse_change(connection, change, names, hit)
            append_event(connection, "hit", now, **{**dataclasses.asdict(change), "rule": CHANGES[change.name]})
        if ON_THE_PAGE.intersection(names):
            _end_open_pages(connection, values["secret"])
        keep_hit(connection, hit)
        put(connection, SETTLED, values.get("pairs", ""))
        _offer_identical(connection, hit)
        batches.prepare(connection, hit, int(values["seed"]), now)
        if any(change.name == "first_checks" and change.after > change.before for change in changes):
            connection.execute(sa.update(raters).values(asked=None))  # nobody has voted: all begin by the new number
        if hit.exclude is None:  # rules that are there speak after this, about what it makes of raters and votes
            mark_broken(connection, None, now)
        rules = make_rules(connection, hit)
        effect = standing.settle(connection, rules.assignment, rules.gate, now)
        if effect:
            tell(connection, effect, now, because="hit.toml" if changes else "pairs or an older version")
    since = [] if changes else [OLDER if before is None else "The pairs file was changed."]
    return [*map(str, changes), *([*since, effect.says()] if effect else [])]


def _refuse_older_votes(connection: sa.Connection, before: Hit | None, hit: Hit) -> None:
    """An older version kept no HIT, and gave every pair as many votes."""
    if before is None and hit.is_adaptive and _has_vote(connection, votes.c.vote > 0):
        raise InputError(
            "assignment is adaptive, but the votes so far were given out evenly, by an older version. Leave "
            "assignment out of hit.toml, or start a new study folder."
        )


def _end_open_pages(connection: sa.Connection, secret: str) -> None:
    """Give what is shown and not answered another token: an answer from a page that is open would say something else.

    It is refused, and its rater is shown the pair as it is now.
    """
    given = sa.select(leases.c.lease, leases.c.rater, leases.c.pair, leases.c.attempt)
    for row in connection.execute(given.where(leases.c.state.in_(("held", "expired")))).all():
        attempt = row.attempt + 1
        change = {"attempt": attempt, "token": lease_token(secret, row.rater, row.pair, attempt)}
        connection.execute(sa.update(leases).where(leases.c.lease == row.lease).values(change))


def _refuse_change(connection: sa.Connection, change: ChangedKey, changed: Sequence[str], hit: Hit) -> None:
    """One sentence on why, and the way out."""
    if change.name == "form" and connection.scalar(sa.select(leases.c.lease).limit(1)) is not None:
        raise InputError(f"form was changed, but raters were shown what the old one shows. {WAY_OUT}")
    if (
        change.name in ("assignment", "adaptive")
        and _says_another_rule(change)
        and _has_vote(connection, votes.c.vote > 0)
    ):
        raise InputError(
            f"{change.name} was changed, but the votes so far were given out by the old rule. {WAY_OUT} Only "
            "adaptive.votes may change."
        )
    if change.name == "live" and _has_talk(connection) and _says_another_talk(change):
        raise InputError(
            f"live was changed, but raters have talked to the systems as they were. {WAY_OUT} Only budget, timeout, "
            "addresses, keys, prices, concurrency and further systems may change."
        )
    if change.name in ("question", "questions") and _has_vote(connection, votes.c.failed.is_(None)):
        raise InputError(f"{change.name} was changed, but the votes so far answer the old one. {WAY_OUT}")
    if change.name in ("rendering", "differences", "marks") and _has_vote(connection, votes.c.failed.is_(None)):
        raise InputError(f"{change.name} was changed, but raters have voted on pages of the old kind. {WAY_OUT}")
    if change.name == "texts" and _has_vote(connection, votes.c.failed.is_(None)):
        _refuse_another_question(change, hit)
    if change.name in ("consent_text", "texts") and "consent_version" not in changed:
        raise InputError(f"{change.name} was changed: raise consent_version too, so that everybody is asked again.")
    if (
        change.name in ("page_events", "page_view", "program_trap")
        and change.after
        and "consent_version" not in changed
    ):
        raise InputError(
            f"{change.name} was switched on: raise consent_version too, so that everybody is told and asked; or write "
            f"{change.name} = false."
        )
    if change.name in PROMISED and (launched := doors(connection)):
        raise InputError(
            f"{change.name} was changed, but the study was launched ({', '.join(launched)}) with {change.before}: "
            f"people are paid and sent back by that. {WAY_OUT}"
        )
    if change.name == "first_checks" and change.after > change.before and _has_vote(connection, votes.c.vote > 0):
        raise InputError(
            f"first_checks was {change.before}, is {change.after}, but raters have begun by the old number, and their "
            f"votes would wait for checks that many will never come back to answer. {WAY_OUT} "
            "More later_checks are possible at any time."
        )


def _has_talk(connection: sa.Connection) -> bool:
    return connection.scalar(sa.select(replies.c.lease).limit(1)) is not None


def _says_another_talk(change: ChangedKey) -> bool:
    """Whether a system would answer differently, or another number of turns be asked."""
    before, after = fixed_part(change.before), fixed_part(change.after)
    if not before or not after:
        return True
    systems = {name: after["systems"].get(name) for name in before["systems"]}
    return {**before, "systems": before["systems"]} != {**after, "systems": systems}


def _says_another_rule(change: ChangedKey) -> bool:
    """Whether more changes than the number of votes to be given out."""
    rules = (
        {**(value or {}), "votes": None} if change.name == "adaptive" else value
        for value in (change.before, change.after)
    )
    return len({repr(rule) for rule in rules}) > 1


def _refuse_another_question(texts: ChangedKey, hit: Hit) -> None:
    """What raters of a language were asked stays what they are asked; a language that is new has no votes yet."""
    before, after = (
        {text["language"]: text for text in language_texts} for language_texts in (texts.before, texts.after)
    )
    words = [text for question in hit.questions for text in (question.ask, *question.strength, *question.labels)]

    def asks(language_texts: Mapping[str, Any]) -> tuple[Any, ...]:
        return (language_texts.get("question"), *(language_texts.get("words", {}).get(text) for text in words))

    for language, was in before.items():
        if asks(was) != asks(after.get(language, {})):
            raise InputError(
                f"The question in {language} ([texts.{language}]) was changed, but the votes so far answer the old "
                f"one. {WAY_OUT}"
            )


def _has_vote(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> bool:
    return connection.scalar(sa.select(votes.c.vote).where(condition).limit(1)) is not None


def _offer_identical(connection: sa.Connection, hit: Hit) -> None:
    """Identical pairs follow `identical`, but one that was shown stays with people: no automatic tie joins it."""
    was_shown = sa.exists().where(leases.c.pair == pairs.c.pair)
    rows = connection.execute(
        sa.select(pairs.c.pair, pairs.c.offered, pairs.c.body).where(pairs.c.kind != "check", ~was_shown)
    )
    wanted = int(hit.identical == "show")
    changed = [row.pair for row in rows if row.offered != wanted and json.loads(row.body).get("identical")]
    for pair in changed:
        connection.execute(sa.update(pairs).where(pairs.c.pair == pair).values(offered=wanted))
