"""What a rater can do in a study: arrive, consent, learn, get the next pair, answer, undo.

Every door calls this and nothing below it. Each call is one transaction of the store: what it returns is on disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from crowd.hit import Answer, Hit
from crowd.rating import answering, leasing, pool
from crowd.rating.assignment import Rules, plan
from crowd.rating.gate import Rule
from crowd.rating.leasing import Place, Refused, Seat, Sitter, Turn
from crowd.store import event_log
from crowd.store.identity import rater_hash, sitting_hash, study_page_token
from crowd.store.store import Store, settings
from crowd.store.tables import leases, pairs, payments, raters, sittings
from dialogue.records import Source

LONGEST_ID = 128


class Desk:
    """The desk of one study; `clock` gives seconds since 1970."""

    def __init__(self, store: Store, hit: Hit, clock: Callable[[], float] = time.time) -> None:
        self.store, self.hit, self.clock = store, hit, clock
        self.rules, self.rule = rules_of(hit), Rule(hit.max_failures, hit.count_failures, hit.first_checks)
        with store.read() as connection:
            values = settings(connection)
            self.checks = tuple(connection.scalars(sa.select(pairs.c.pair).where(pairs.c.kind == "check")))
        self.seed, self.secret, self._rater_key = int(values["seed"]), values["secret"], values["rater_key"]

    @contextmanager
    def _turn(self) -> Iterator[Turn]:
        with self.store.write() as connection:
            yield self._of(connection)

    def _of(self, connection: sa.Connection) -> Turn:
        return Turn(connection, self.clock(), self.rules, self.rule, self.seed, self.secret, self.checks)

    def rater_id(self, worker: str) -> str:
        """The keyed hash under which a person is known here, whatever door they came by."""
        return rater_hash(self._rater_key, worker)

    def study_token(self) -> str:
        """What opens the researcher's page: the same in every process that serves this store."""
        return study_page_token(self.secret)

    @staticmethod
    def check_ids(*ids: str) -> None:
        """Refuse what cannot be an id of a person or a sitting."""
        if not all(0 < len(text) <= LONGEST_ID and text.isprintable() for text in ids):
            raise Refused("an id is 1 to 128 printable characters")

    def has_consented(self, worker: str) -> bool:
        """Whether this person has agreed to the present version of the text, at any door."""
        query = sa.select(raters.c.consent).where(raters.c.rater == self.rater_id(worker))
        with self.store.read() as connection:
            return connection.scalar(query) == self.hit.consent_version

    def arrive(self, worker: str, sitting: str, source: Source) -> Seat:
        """Sit down: the sitting that the door calls `sitting` is found again, or begins."""
        self.check_ids(worker, sitting)
        rater, key = self.rater_id(worker), sitting_hash(self._rater_key, sitting)
        with self._turn() as turn:
            mine = sa.and_(sittings.c.rater == rater, sittings.c.key == key)
            if number := turn.connection.scalar(sa.select(sittings.c.sitting).where(mine)):
                return Seat(rater, number)
            number = _begin(turn, rater, key, source)
            line = {"rater": rater, "sitting": number, "source": source, "worker": worker, "key": sitting}
            turn.connection.execute(sa.insert(payments), line)
            event_log.append(turn.connection, "arrived", turn.now, rater, sitting=number, source=source)
            return Seat(rater, number)

    def place(self, seat: Seat) -> Place:
        """Where the rater stands; a pair is leased if one is due. Looking again at what is held takes no turn."""
        with self.store.glance() as connection:
            turn = self._of(connection)
            sitter = leasing.sitter_of(turn, seat)
            seen = self._before(sitter) or leasing.look(turn, sitter)
        if seen is not None:
            return seen
        with self._turn() as turn:
            return self._place(turn, seat)

    def consent(self, seat: Seat) -> Place:
        """Record consent to the present version of the text."""
        with self._turn() as turn:
            if leasing.sitter_of(turn, seat).consent != self.hit.consent_version:
                version = self.hit.consent_version
                query = sa.update(raters).where(raters.c.rater == seat.rater)
                turn.connection.execute(query.values(consent=version, consented=turn.now))
                event_log.append(turn.connection, "consented", turn.now, seat.rater, version=version)
            return self._place(turn, seat)

    def instructed(self, seat: Seat, number: int, chosen: Answer) -> Place:
        """Record that worked example `number` (from 1) was answered; examples may be answered again."""
        with self._turn() as turn:
            sitter = leasing.sitter_of(turn, seat)
            last = min(sitter.instructed + 1, len(self.hit.examples))
            if sitter.consent != self.hit.consent_version or not 1 <= number <= last:
                raise Refused("this worked example is not the next one")
            if number > sitter.instructed:
                query = sa.update(raters).where(raters.c.rater == seat.rater)
                turn.connection.execute(query.values(instructed=number))
                event_log.append(turn.connection, "instructed", turn.now, seat.rater, number=number, chosen=chosen)
            return self._place(turn, seat)

    def answer(self, seat: Seat, token: str, choice: Answer, seconds: float | None) -> tuple[answering.Saved, Place]:
        """Store an answer once, however often it is sent, and go on to the next place."""
        with self._turn() as turn:
            saved = answering.answer(turn, seat, token, choice, seconds)
            return saved, self._place(turn, seat)

    def undo(self, seat: Seat) -> tuple[bool, Place]:
        """Take back the last answer, once; the pair is shown again on the same side."""
        with self._turn() as turn:
            undone = answering.undo(turn, leasing.sitter_of(turn, seat))
            return undone, self._place(turn, seat)

    def _place(self, turn: Turn, seat: Seat) -> Place:
        sitter, offer = leasing.arriving(turn, seat)
        return self._before(sitter) or leasing.place(turn, sitter, offer)

    def _before(self, sitter: Sitter) -> Place | None:
        """What comes before the pairs, if it is not done yet."""
        if sitter.consent != self.hit.consent_version:
            return Place("consent")
        if sitter.instructed < len(self.hit.examples):
            return Place("instructions", number=sitter.instructed + 1)
        return None


def rules_of(hit: Hit) -> Rules:
    """What assignment needs of hit.toml."""
    return Rules(
        votes_per_pair=hit.votes_per_pair,
        pairs_per_sitting=hit.pairs_per_sitting,
        first_checks=hit.first_checks,
        later_checks=hit.later_checks,
        lease_seconds=hit.lease_minutes * 60,
        late_votes=hit.late_votes,
        max_votes_per_rater=hit.max_votes_per_rater,
    )


def _begin(turn: Turn, rater: str, key: str, source: Source) -> int:
    """A new sitting; what the rater held in another one goes back to the pool at once."""
    connection = turn.connection
    if connection.scalar(sa.select(raters.c.rater).where(raters.c.rater == rater)) is None:
        connection.execute(sa.insert(raters).values(rater=rater, source=source, arrived=turn.now))
    held = sa.and_(leases.c.rater == rater, leases.c.state == "held")
    connection.execute(sa.update(leases).where(held).values(expires=turn.now))
    pool.release_expired(connection, turn.rules.votes_per_pair, turn.now)
    connection.execute(sa.update(raters).where(raters.c.rater == rater).values(last_vote=None))
    number = 1 + (connection.scalar(sa.select(sa.func.max(sittings.c.sitting)).where(sittings.c.rater == rater)) or 0)
    admitted = len(answering.outcomes(turn, rater))
    slots = plan(turn.rules, admitted=admitted, seed=turn.seed, rater=rater, sitting=number)
    line = {"rater": rater, "sitting": number, "key": key, "source": source, "begun": turn.now}
    connection.execute(sa.insert(sittings).values(**line, slots="".join(slot[0] for slot in slots)))
    return number
