"""Whatever happens in whatever order, the store holds what a plain recomputation from its event log gives."""

import contextlib
import dataclasses
import random

import pytest
import sqlalchemy as sa

from seedvote.crowd.exchange import exporting
from seedvote.crowd.hit.tables import Exclusion
from seedvote.crowd.marketplaces.settling import visits
from seedvote.crowd.rating import identities, pool, standing
from seedvote.crowd.rating.change_control import take_up
from seedvote.crowd.rating.deciding import mend, rule_on
from seedvote.crowd.rating.excluding import exclude_by_rule
from seedvote.crowd.rating.moment import Refused, rules_in_force
from seedvote.crowd.rating.personal_data import forget
from seedvote.crowd.rating.replaying import replay
from seedvote.crowd.store.store import read_events
from seedvote.crowd.store.tables import HOLDS_PLACE, leases, pairs, raters, votes
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair, ResponseRating, Vote
from tests.crowd.study import SHORT, database, desk_of, make_pairs

HIT = dataclasses.replace(
    SHORT, pairs_per_sitting=4, first_checks=2, later_checks=2, max_failures=2, lease_minutes=1, votes_per_pair=2
)
DOORS = ("local", "mturk", "prolific")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


class Crowd:
    """Five raters at one desk, a researcher who changes everything, and the books that must be right throughout."""

    def __init__(self, desk, folder, seed):
        self.desk, self.folder, self.draw, self.tokens = desk, folder, random.Random(seed), {}
        self.checks, self.asked = 6, {}

    def sit(self):
        worker, door = f"r{self.draw.randrange(5)}", self.draw.choice(DOORS)
        seat = self.desk.arrive(worker, f"{door}-{self.draw.randrange(4)}", door)
        self.desk.consent(seat)
        return worker, seat

    def answer(self):
        worker, seat = self.sit()
        place = self.desk.next_step(seat)
        if place.stage == "task":
            self.tokens.setdefault(worker, []).append(place.shown.token)
        if worker in self.tokens:
            token = self.draw.choice(self.tokens[worker][-2:])
            choice = self.draw.choices(["left", "right", "tie"], [5, 3, 1])[0]
            with contextlib.suppress(Refused):  # a token that an undo made stale
                self.desk.answer(seat, token, choice, self.draw.choice([0.5, 3.0]))

    def undo(self):
        worker, seat = self.sit()
        for token in self.tokens.get(worker, [])[-1:]:
            self.desk.undo(seat, token)

    def wait(self):
        self.desk.clock.now += self.draw.choice([20, 61])

    def rule(self):
        name = self.draw.choice(rows(self.desk, sa.select(raters.c.rater)) or [None])
        if name:
            ruling = self.draw.choice(["block", "exclude", None, None])
            rule_on(self.desk.store, name.rater, ruling, "drawn", self.desk.clock())

    def mend(self):
        check = f"c{self.draw.randrange(6)}"
        mend(self.desk.store, check, self.draw.choice(["a", "b", "tie", "void"]), self.desk.clock())

    def add(self):
        """More checks in the pairs file, at a start in mid-study."""
        with self.desk.store.read() as connection:
            hit = rules_in_force(connection).hit
        self.checks = min(9, self.checks + 1)
        write_records(self.folder / "pairs.jsonl", self.made(), signature="test", kind=Pair)
        pool.load(self.desk.store, self.folder / "pairs.jsonl", hit, self.desk.clock())
        take_up(self.desk.store, hit, self.desk.clock())

    def made(self):
        return make_pairs(self.desk.reals, checks=self.checks, identical=2)

    def remember_who_was_let_in(self):
        """By the plain definition: at this moment they have answered as many checks as are asked for first.

        Once a marketplace stands behind one of their visits, only the checks of such visits speak for them.
        """
        with self.desk.store.read() as connection:
            now = rules_in_force(connection).gate.first_checks
            query = sa.select(votes.c.rater, votes.c.waits).where(votes.c.failed.is_not(None), votes.c.aside == 0)
            answered = connection.execute(query).all()
            for rater in connection.scalars(sa.select(raters.c.rater)):
                mine = [row.waits for row in answered if row.rater == rater]
                if (mine.count(0) or len(mine)) >= now:
                    self.asked[rater] = min(now, self.asked.get(rater, now))

    def change(self):
        with self.desk.store.read() as connection:
            hit = rules_in_force(connection).hit
        changed = {
            "votes_per_pair": self.draw.randint(1, 3),
            "max_failures": self.draw.randint(1, 3),
            "count_failures": self.draw.choice(["total", "row"]),
            "late_votes": self.draw.choice(["keep", "count"]),
            "identical": self.draw.choice(["show", "skip", "tie"]),
            "first_checks": self.draw.randint(0, hit.first_checks),
            "exclude": self.draw.choice([None, Exclusion(after=3, seconds=1.0), Exclusion(after=2, same=2)]),
        }
        name = self.draw.choice(list(changed))
        take_up(self.desk.store, dataclasses.replace(hit, **{name: changed[name]}), self.desk.clock())

    def exclude(self):
        exclude_by_rule(self.desk.store, self.desk.clock())

    def aside(self):
        with self.desk.store.write() as connection:
            found, rules = visits(connection, "mturk"), rules_in_force(connection)
            if found:  # the marketplace may say either of any visit, and the other one later
                visit, now = self.draw.choice(found), self.desk.clock()
                if self.draw.random() < 0.6:
                    identities.confirm_visit(connection, rules, visit.rater, visit.sitting, now)
                else:
                    identities.withdraw_visit(connection, rules, visit.rater, visit.sitting, "returned", now)


def rows(desk, query):
    with desk.store.read() as connection:
        return connection.execute(query).all()


def as_counted(vote):
    """Without what the rules of [exclude] would leave, which a replay does not say beside what it gives."""
    rules = ("counted_without_rules", "round_without_rules", "excluded_by")
    return dataclasses.replace(vote, extra={k: v for k, v in vote.extra.items() if k not in rules})


def named(vote):
    return vote.pair if isinstance(vote, Vote) else vote.set if isinstance(vote, ResponseRating) else vote.question


def check_books(desk):
    """Status, counted, rounds, open and live are what the log gives; settling again changes nothing."""
    with desk.store.read() as connection:
        rules = rules_in_force(connection)
        k, late = rules.assignment.votes_per_pair, rules.assignment.late_votes
        told = replay(read_events(connection), rules.gate, votes_per_pair=k, late_votes=late)
        exported = exporting.export(connection, votes_per_pair=k)
        again = exporting.export(connection, votes_per_pair=k, replayed=told)
        status = {row.rater: row.status for row in connection.execute(sa.select(raters))}
        cast = connection.execute(sa.select(votes).where(votes.c.failed.is_(None))).all()
        held = [row.pair for row in connection.execute(sa.select(leases).where(HOLDS_PLACE))]
        kept = connection.execute(sa.select(pairs).where(pairs.c.kind != "check")).all()
    assert told.status == status
    assert told.counted == {row.lease: bool(row.counted) for row in cast}
    assert [as_counted(vote) for vote in exported.votes] == [as_counted(vote) for vote in again.votes]
    for row in kept:
        mine = [vote for vote in cast if vote.pair == row.pair]
        number = sum(told.counted[vote.lease] for vote in mine)
        may = [status[v.rater] == "passed" and not v.aside and (not v.late or late == "count") for v in mine]
        places = min(k, sum(may))  # one that waits for its marketplace has a place and does not count
        assert (row.votes, row.live) == (places, places + held.count(row.pair)), row.pair
        assert row.open == int(row.offered and places < k) and number <= places
        rounds = {(v.rater, v.round) for v in exported.votes if named(v) == row.pair and v.counted}  # sets: many rows
        assert sorted(number for _, number in rounds) == list(range(1, number + 1))
    with desk.store.write() as connection:
        assert not standing.settle(connection, rules.assignment, rules.gate, 0.0)


def test_forget_of_rater_without_answers_leaves_them_in_the_replay(url, tmp_path):
    with desk_of(url, tmp_path, HIT, make_pairs(4, checks=6)) as desk:
        seat = desk.arrive("r", "1", "local")
        assert forget(desk.store, seat.rater, votes_per_pair=2, now=desk.clock()) == 0
        check_books(desk)


ACTS = {"answer": 60, "undo": 8, "wait": 5, "rule": 6, "mend": 4, "change": 6, "exclude": 2, "aside": 2, "add": 1}


def live_through(desk, folder, seed, steps, every):
    crowd = Crowd(desk, folder, seed)
    for step in range(steps):
        act = crowd.draw.choices(list(ACTS), list(ACTS.values()))[0]
        getattr(crowd, act)()
        crowd.remember_who_was_let_in()
        if step % every == 0:
            check_books(desk)
    check_books(desk)
    known = {row.rater: row.asked for row in rows(desk, sa.select(raters)) if row.asked is not None}
    assert known == crowd.asked


@pytest.mark.parametrize(("url", "seed"), [("sqlite", 0), ("sqlite", 1), ("postgresql", 3)], indirect=["url"])
def test_any_interleaving_leaves_what_the_event_log_gives(url, tmp_path, seed):
    with desk_of(url, tmp_path, HIT, make_pairs(10, checks=6, identical=2), seed=seed) as desk:
        desk.reals = 10
        live_through(desk, tmp_path, seed, steps=120, every=10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 112))
def test_many_long_interleavings_leave_what_the_event_log_gives(tmp_path, seed):
    with (
        database("sqlite", tmp_path) as url,
        desk_of(url, tmp_path, HIT, make_pairs(14, checks=6, identical=2), seed=seed) as desk,
    ):
        desk.reals = 14
        live_through(desk, tmp_path, seed, steps=400, every=4)
