"""What a rater can do in a study: arrive, consent, learn, get the next pair, answer, undo.

The web pages call this and nothing below it. Each call is one transaction of the store: what it returns is on disk.
"""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from typing import Concatenate, Literal, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from seedvote.crowd.hit.about import ToldOfRater
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating import answering, identities, leasing, talk_money
from seedvote.crowd.rating.answer_sheet import Given
from seedvote.crowd.rating.assignment import length_of_sitting
from seedvote.crowd.rating.batches import BatchDrawer
from seedvote.crowd.rating.gate import asked_of, standing
from seedvote.crowd.rating.leasing import Step, closed_to_newcomers, over_for_all
from seedvote.crowd.rating.moment import (
    REVISION_NOW,
    Frontier,
    Moment,
    NeedsBatch,
    NeedsStudy,
    Refused,
    Seat,
    StaleRules,
    WrongKind,
    choose_version,
    is_same_kind,
    kept_hit,
    make_rules,
    read_seated_rater,
    read_source,
    read_value,
)
from seedvote.crowd.rating.personal_data import KnownRater, known_of
from seedvote.crowd.store.identity import further_rater, rater_hash, reading_token, sitting_hash, study_page_token
from seedvote.crowd.store.keys import Keys, keys_in
from seedvote.crowd.store.launches import doors
from seedvote.crowd.store.replies import LostTurn
from seedvote.crowd.store.statements import FIRST_SOURCE, PACES
from seedvote.crowd.store.store import Store, append_event, fetch, later, settings
from seedvote.crowd.store.tables import ASKED_LATER, payments, raters, sittings, votes
from seedvote.dialogue.records import Source

# Statements are built once, because with SQLAlchemy building one costs more than running it.
_RATER, _THIS = raters.c.rater == param("rater"), sa.update(raters).where(raters.c.rater == param("this"))
_SITTING = sa.select(sittings.c.sitting).where(sittings.c.rater == param("rater"), sittings.c.key == param("key"))
_KNOWN = sa.select(raters.c.consent).where(_RATER)
_LAST = sa.select(sa.func.max(sittings.c.sitting)).where(sittings.c.rater == param("rater")).scalar_subquery()
_CHECKS = votes.c.rater == param("rater"), votes.c.failed.is_not(None), votes.c.aside == 0
_BEFORE = sa.select(sa.func.count().label("answered"), _LAST.label("sittings")).select_from(votes).where(*_CHECKS)
_NEWCOMER, _BEGUN, _PAYMENT = sa.insert(raters), sa.insert(sittings), sa.insert(payments)
_HERE = payments.c.rater == param("rater"), payments.c.sitting == param("sitting")
_NAMES = sa.select(payments.c.worker, payments.c.key).where(*_HERE)
_CONSENTED = _THIS.values(consent=param("version"), consented=param("now"))
_INSTRUCTED, _NO_UNDO = _THIS.values(instructed=param("number")), _THIS.values(last_vote=None)
_PROVES = _THIS.values(proves=1)
LONGEST_ID = 128
KEYS_FRESH = 5.0  # seconds for which one look at the keys holds
MOST_TURNS = 3  # that one request may lose
CHANGES_AT_ONCE = 30  # of the rules, while one request waits its turn: somebody sets one key after the other


P = ParamSpec("P")
R = TypeVar("R")


def _by_rules_in_force(act: Callable[Concatenate[Desk, P], R]) -> Callable[Concatenate[Desk, P], R]:
    """Do it again where the rules were changed meanwhile, or the database gave the turn to others, or after a batch.

    What was begun is taken back.
    """

    @wraps(act)
    def again(desk: Desk, /, *args: P.args, **keywords: P.kwargs) -> R:
        turns, desk.request.may_draw = 0, True
        for _ in range(CHANGES_AT_ONCE):
            try:
                result = act(desk, *args, **keywords)
                desk.drawer.wake()
                return result
            except StaleRules:
                desk.read_rules()
            except LostTurn:
                turns += 1
                if turns == MOST_TURNS:
                    raise
            except NeedsBatch:
                desk.request.may_draw = desk.drawer.draw(desk.rules.hit, desk.clock())
        desk.request.may_draw = False
        return act(desk, *args, **keywords)

    return again


FEWEST_PACES = 3  # raters from whom the time of an answer is told
PACE_HOLDS = 120.0  # seconds for which it is not read anew


@dataclasses.dataclass(frozen=True, slots=True)
class VisitNames:
    """A person and a visit as their marketplace names them."""

    worker: str
    sitting: str


class Desk:
    """The desk of one study; `clock` gives seconds since 1970, by default the database's."""

    def __init__(self, store: Store, hit: Hit, clock: Callable[[], float] | None = None) -> None:
        self.store, self.clock = store, clock or store.clock.now
        self.frontier = Frontier()
        self._pace: float | None = None
        self._pace_until = 0.0
        if store.has_row_locks:  # only there is it searched from a frontier on
            store.on_change = self.frontier.forget  # pairs may have come back
        with store.read() as connection:
            values, self.rules = settings(connection), make_rules(connection, kept_hit(connection) or hit)
        self.seed, self._rater_key = int(values["seed"]), values["rater_key"]
        self._hold_keys(keys_in(values))
        self.drawer = BatchDrawer(store, self.seed)
        self.request = threading.local()  # what each thread's request may do

    def _hold_keys(self, keys: Keys) -> None:
        self.keys, self.secret, self._keys_until = keys, keys.secret, time.monotonic() + KEYS_FRESH

    def refresh_keys(self) -> None:
        """Go by the keys that are in force, some seconds old at most: `crowd rotate` may have changed them."""
        if time.monotonic() >= self._keys_until:
            with self.store.glance() as connection:
                self._hold_keys(keys_in(settings(connection)))

    def read_rules(self) -> None:
        """Go by the rules that are in force by now: another server, or a command, has changed them."""
        with self.store.read() as connection:
            self.rules = make_rules(connection, kept_hit(connection) or self.rules.hit)
            self._hold_keys(keys_in(settings(connection)))

    def _make_moment(self, connection: sa.Connection, frontier: Frontier | None = None) -> Moment:
        may_draw = getattr(self.request, "may_draw", False)
        return Moment(connection, self.clock(), self.rules, self.seed, self.secret, frontier, may_draw)

    def rater_id(self, worker: str) -> str:
        """The keyed hash under which a person is known here, whatever marketplace they came from."""
        return rater_hash(self._rater_key, worker)

    @property
    def first_sitting(self) -> int:
        """The pairs of a first sitting, hidden checks among them, as a newcomer is told."""
        rules, planned = self.rules, self.rules.assignment
        reals = min(planned.pairs_per_sitting + planned.later_checks, rules.offered)
        return min(rules.hit.shown_per_sitting, reals + rules.fewest_checks)

    def typical_pace(self) -> float | None:
        """The seconds that an answer takes: as hit.toml says, else the median over the raters; None for too few.

        It is read anew every two minutes.
        """
        if minutes := self.rules.hit.minutes_per_sitting:
            return 60 * minutes / self.rules.hit.shown_per_sitting
        if time.monotonic() >= self._pace_until:
            with self.store.read() as connection:
                paces = [float(pace) for pace in connection.scalars(PACES)]
            self._pace = statistics.median(paces) if len(paces) >= FEWEST_PACES else None
            self._pace_until = time.monotonic() + PACE_HOLDS
        return self._pace

    def minutes_of_sitting(self) -> int | None:
        """How long a first sitting takes, worked examples too."""
        pace, hit = self.typical_pace(), self.rules.hit
        shown = self.first_sitting + len(hit.examples)
        return hit.minutes_per_sitting or (math.ceil(pace * shown / 60) if pace else None)

    def study_token(self) -> str:
        """What opens the researcher's page: the same in every process that serves this store."""
        return study_page_token(self.keys.dashboard)

    def reading_token(self) -> str:
        """What opens it for who may only read it."""
        return reading_token(self.keys.reading)

    def doors(self) -> Mapping[Source, Sequence[str]]:
        """The doors that the study was launched through, by now."""
        with self.store.read() as connection:
            return doors(connection)

    def over_for_all(self) -> Literal["complete", "stopped"] | None:
        """Why a newcomer would find nothing to do, if that is so."""
        with self.store.read() as connection:
            return over_for_all(connection)

    @_by_rules_in_force
    def closed_to_newcomers(self) -> Literal["complete", "stopped", "paused", "wait", "spent"] | None:
        """Why somebody new would not be given a pair at once, if that is so."""
        with self.store.read() as connection:
            if read_value(fetch(connection, REVISION_NOW)[0]) != self.rules.revision:
                raise StaleRules
            moment = self._make_moment(connection)
            why = closed_to_newcomers(connection, self.rules.assignment.votes_per_pair, moment.now)
            return why or ("spent" if self.rules.form.is_live and talk_money.is_spent(moment) else None)

    @staticmethod
    def check_ids(*ids: str) -> None:
        """Refuse what cannot be an id of a person or a sitting."""
        if not all(0 < len(text) <= LONGEST_ID and text.isprintable() for text in ids):
            raise Refused("an id is 1 to 128 printable characters")

    def has_consented(self, worker: str, sitting: str, source: Source, proven: Collection[str] = ()) -> bool:
        """Whether the rater who would arrive so has agreed to the present version of the text."""
        arriving = self._make_arriving(worker, sitting, source, proven, proves=True)  # nobody knows yet
        with self.store.read() as connection:
            rater = identities.find_rater(self._make_moment(connection), arriving, self._whole_sitting)
            (known,) = fetch(connection, (_KNOWN, {"rater": rater}))
        return bool(known) and known[0].consent == self.rules.hit.consent_version

    def _make_arriving(
        self, worker: str, sitting: str, source: Source, proven: Collection[str], *, proves: bool
    ) -> identities.Arriving:
        key = sitting_hash(self._rater_key, sitting)
        return identities.Arriving(self.rater_id(worker), key, source, proven, proves)

    @property
    def _whole_sitting(self) -> int:
        """The pairs of a sitting of somebody who passed the first checks, if there are as many."""
        return min(length_of_sitting(self.rules.assignment, self.rules.assignment.first_checks), self.rules.offered)

    def knows(self, rater: str) -> bool:
        """Whether anything is stored about the person with this keyed hash."""
        with self.store.glance() as connection:
            return bool(fetch(connection, (_KNOWN, {"rater": rater}))[0])

    def names_of(self, seat: Seat) -> VisitNames | None:
        """What the marketplace calls this person and this visit; None where nobody sits there any more."""
        with self.store.glance() as connection:
            (names,) = fetch(connection, (_NAMES, {"rater": seat.rater, "sitting": seat.sitting}))
        return VisitNames(names[0].worker, names[0].key) if names else None

    @_by_rules_in_force
    def arrive(
        self, worker: str, sitting: str, source: Source, proven: Collection[str] = (), *, proves: bool = False
    ) -> Seat:
        """Sit down: the sitting that the marketplace calls `sitting` is found again, or begins.

        `proven` are the raters that their browser proves to be; `proves`: it keeps cookies, so it can do so later.
        """
        self.check_ids(worker, sitting)
        arriving = self._make_arriving(worker, sitting, source, proven, proves=proves)
        with self.store.write() as connection:
            moment = self._make_moment(connection)
            revision, first = fetch(connection, REVISION_NOW, (FIRST_SOURCE, {}))
            if read_value(revision) != moment.rules.revision:
                raise StaleRules
            rater = identities.find_rater(moment, arriving, self._whole_sitting)
            (known,) = fetch(connection, (_SITTING, {"rater": rater, "key": arriving.key}))
            if rater is not None and known:
                return Seat(rater, known[0].sitting)
            rater = rater or further_rater(self._rater_key, arriving.person)
            if self.keys.is_revoked(worker):
                raise Refused("the invitation was taken back")
            if not is_same_kind(read_source(first), source):
                raise WrongKind("a study is of people or of simulated raters, from its first vote on")
            number = _begin_sitting(moment, rater, arriving)
            if proves:
                later(connection, (_PROVES, {"this": rater}))
            line = {"rater": rater, "sitting": number, "source": source, "worker": worker, "key": sitting}
            later(connection, (_PAYMENT, line))
            append_event(connection, "arrived", moment.now, rater, sitting=number, source=source)
            return Seat(rater, number)

    def known_of(self, rater: str) -> KnownRater | None:
        """What is stored about the person with this keyed hash, for their own eyes."""
        with self.store.read() as connection:
            return known_of(connection, rater)

    @_by_rules_in_force
    def next_step(self, seat: Seat) -> Step:
        """Where the rater stands; a pair is leased if one is due. Looking again at what is held takes no write lock."""
        with self.store.glance() as connection:
            moment = self._make_moment(connection)
            seated = read_seated_rater(moment, seat)
            is_certain = leasing.is_pair_certain(moment, seated)
            step = leasing.step_without_writing(moment, seated, is_certain=is_certain)
        if step is not None:
            return step
        return self._with_rows_locked(seat, "", lambda moment: leasing.next_step(moment, seat))

    def _with_rows_locked(self, seat: Seat, token: str, act: Callable[[Moment], R]) -> R:
        """Do it while other raters do the same, where the store has row locks; if it needs the whole study, alone."""
        if self.store.has_row_locks:
            with suppress(NeedsStudy), self.store.write_rows(seat.rater, token) as connection:
                return act(self._make_moment(connection, self.frontier))
        with self.store.write() as connection:
            return act(self._make_moment(connection))

    @_by_rules_in_force
    def consent(self, seat: Seat) -> Step:
        """Record consent to the present version of the text."""
        with self.store.write() as connection:
            moment = self._make_moment(connection)
            if read_seated_rater(moment, seat).consent != self.rules.hit.consent_version:
                version = self.rules.hit.consent_version
                later(connection, (_CONSENTED, {"this": seat.rater, "version": version, "now": moment.now}))
                append_event(connection, "consented", moment.now, seat.rater, version=version)
            return leasing.next_step(moment, seat)

    def reads(self, seat: Seat, language: str) -> None:
        """Record the language in which this rater reads from now on."""
        is_rater = raters.c.rater == seat.rater
        with self.store.write() as connection:
            if connection.scalar(sa.select(raters.c.language).where(is_rater)) != language:
                connection.execute(sa.update(raters).where(is_rater).values(language=language))
                append_event(connection, "language", self.clock(), seat.rater, language=language)

    @_by_rules_in_force
    def tell_about(self, seat: Seat, answers: Mapping[str, str]) -> Step:
        """Keep what a rater told about themselves; the first time holds. The log says that, not what, they told."""
        with self.store.write() as connection:
            moment = self._make_moment(connection)
            seated = read_seated_rater(moment, seat)
            if seated.consent == self.rules.hit.consent_version and seated.about is None:
                text = json.dumps(dict(answers), ensure_ascii=False)
                connection.execute(sa.update(raters).where(raters.c.rater == seat.rater).values(about=text))
                append_event(connection, "described", moment.now, seat.rater)
                leasing.prolong_reservation(moment, seated)
            return leasing.next_step(moment, seat)

    def asks_at_end(self, seat: Seat) -> Literal["", "asked", "told"]:
        """Whether the end of a sitting asks this rater something, or did so before and was told."""
        if not self.rules.hit.asked_of_rater("after"):
            return ""
        with self.store.read() as connection:
            answers = connection.scalar(sa.select(raters.c.told).where(raters.c.rater == seat.rater))
        return "asked" if answers is None else "told"

    @_by_rules_in_force
    def tell_at_end(self, seat: Seat, profile: ToldOfRater) -> None:
        """Keep what a rater told at the end of a sitting; the first time holds, and only who has answered is asked."""
        with self.store.write() as connection:
            moment = self._make_moment(connection)
            seated = read_seated_rater(moment, seat)
            is_untold = sa.and_(raters.c.rater == seat.rater, raters.c.told.is_(None))
            if seated.consent == self.rules.hit.consent_version and seated.done:
                text = json.dumps(dataclasses.asdict(profile), ensure_ascii=False)
                if connection.execute(sa.update(raters).where(is_untold).values(told=text)).rowcount:
                    append_event(connection, "described", moment.now, seat.rater, when="after")

    @_by_rules_in_force
    def instructed(self, seat: Seat, number: int, chosen: str) -> Step:
        """Record that worked example `number` (from 1) was answered; examples may be answered again."""
        with self.store.write() as connection:
            moment = self._make_moment(connection)
            seated = read_seated_rater(moment, seat)
            last = min(seated.instructed + 1, len(self.rules.hit.examples))
            if seated.consent != self.rules.hit.consent_version or not 1 <= number <= last:
                raise Refused("this worked example is not the next one")
            if number > seated.instructed:
                later(connection, (_INSTRUCTED, {"this": seat.rater, "number": number}))
                leasing.prolong_reservation(moment, seated)
                append_event(connection, "instructed", moment.now, seat.rater, number=number, chosen=chosen)
            return leasing.next_step(moment, seat)

    @_by_rules_in_force
    def answer(
        self,
        seat: Seat,
        token: str,
        choice: Given,
        seconds: float | None,
        noticed: answering.Noticed | None = None,
        *,
        view: answering.PageView | None = None,
        trapped: bool = False,
        marks: str = "",
    ) -> tuple[answering.Saved, Step]:
        """Store an answer once, however often it is sent, and go on to the next place."""

        return self._with_rows_locked(
            seat,
            token if token.isalnum() else "",
            lambda moment: answering.answer(
                moment, seat, token, choice, seconds, noticed, view=view, trapped=trapped, marks=marks
            ),
        )

    @_by_rules_in_force
    def undo(self, seat: Seat, token: str) -> tuple[bool, Step]:
        """Take back the last answer, once, if it was given under this token; the pair is shown again, filled in."""
        with self.store.write() as connection:
            moment = self._make_moment(connection)
            taken = answering.take_back(moment, read_seated_rater(moment, seat), token)
            step = leasing.next_step(moment, seat)
            if taken and step.shown and step.shown.token == taken.token:
                step = dataclasses.replace(step, filled=taken.fields)
            return taken is not None, step

    @_by_rules_in_force
    def change(self, act: Callable[[Moment], R]) -> R:
        """Do it in one transaction of its own."""
        with self.store.write() as connection:
            return act(self._make_moment(connection))

    @_by_rules_in_force
    def look(self, act: Callable[[Moment], R]) -> R:
        """Read it in one transaction that holds nobody up."""
        with self.store.read() as connection:
            return act(self._make_moment(connection))

    @_by_rules_in_force
    def hand_in(self, seat: Seat) -> Step:
        """End a sitting that has to wait; what was done in it is handed in as it is."""
        with self.store.write() as connection:
            return leasing.end_early(self._make_moment(connection), seat)

    def settle(self, seat: Seat) -> None:
        """What a sitting holds has left this house: its last answer can no longer be taken back."""
        with self.store.write() as connection:
            later(connection, (_NO_UNDO, {"this": seat.rater}))


def _begin_sitting(moment: Moment, rater: str, arriving: identities.Arriving) -> int:
    """A new sitting; what the rater held in another one waits in this one."""
    connection, who, source = moment.connection, {"rater": rater}, arriving.source
    person = None if rater == arriving.person else arriving.person
    known, before = fetch(connection, (_KNOWN, who), (_BEFORE, who))
    if not known:
        first_checks = asked_of(0, moment.rules.gate, None)
        version = choose_version(connection, moment.rules.assignment.votes_per_pair)
        newcomer = {"rater": rater, "source": source, "arrived": moment.now, "person": person}
        newcomer |= {"status": standing([], moment.rules.gate)}
        later(connection, (_NEWCOMER, {**newcomer, "version": version, "asked": first_checks, "instructed": 0}))
        if first_checks is not None:
            append_event(connection, "admitted", moment.now, rater, asked=first_checks)
        if person is not None:
            identities.take_along(moment, rater, person)
    number, answered = 1 + (before[0].sittings or 0), before[0].answered
    line = {"rater": rater, "sitting": number, "key": arriving.key, "source": source, "begun": moment.now}
    length, paid_apart = length_of_sitting(moment.rules.assignment, answered), source in ASKED_LATER
    if paid_apart:
        leasing.release_idle(moment, arriving.person)
    pairs_now = min(length, leasing.left_for(moment, rater, length, with_held=not paid_apart))
    if not paid_apart:
        leasing.move_reservation(moment, rater, number)
    slots = "." * pairs_now + leasing.UNTOLD * (length - pairs_now)
    later(connection, (_NO_UNDO, {"this": rater}), (_BEGUN, {**line, "slots": slots}))
    return number
