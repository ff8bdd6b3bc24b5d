"""Money under fire: lost replies, 429, 500, cut lines, late bonuses and kill -9 at every call and every write.

Each run pays six people and buys places at a marketplace that fails at random, in processes that are killed at random,
and ends when a researcher has looked up what stayed uncertain. Then everybody was paid once, and every place that the
marketplace has is in the books.
"""

import copy
import os
import random
import shutil
from collections import Counter
from decimal import Decimal

import pytest
import sqlalchemy as sa

from seedvote.crowd.marketplaces import ledger
from seedvote.crowd.store.launches import write_record
from seedvote.crowd.store.store import open_store, sqlite_url
from seedvote.crowd.store.tables import payouts
from tests.crowd.marketplaces.killing import DONE, KILLED, REFUSED, in_a_process, in_here, join, start
from tests.crowd.marketplaces.mturk_study import mturk_study
from tests.crowd.marketplaces.prolific_study import prolific_study
from tests.crowd.study import database

UPSETS = ("busy", "stumbles", "stumbles late", "cut", None, None, None)
PROLIFIC_MOVES = {
    ("POST", "/submissions/bulk-approve/"),
    ("POST", "/submissions/bonus-payments/"),
    ("POST", "/bulk-bonus-payments/ID/pay/"),
    ("PATCH", "/studies/ID/"),
}
ENDPOINTS = ("PROLIFIC_API_URL", "AWS_ENDPOINT_URL_MTURK")
MTURK_MOVES = {"ApproveAssignment", "SendBonus", "CreateHITWithHITType"}
PAY = ("pay", "--bonus", "0.20", "--yes")
EXTEND = ("extend", "--sittings", "2", "--yes")


class ProlificUnderFire:
    """Six submissions that wait for their review."""

    source, reward = "prolific", Decimal("1.5")

    def __init__(self, study):
        self.study, self.state = study, study.prolific
        study.open("--pass-rate", "1", "--minutes", "5")
        self.state.studies[study.study]["total_available_places"] = 6
        for n in range(6):
            study.work(f"p{n}", prefers="b" if n < 3 else "a")
        study.command("verify")
        study.rewrite(places=6)
        self.remember("studies", "submissions", "paid", "coming", "approving", "set_up")

    def remember(self, *names):
        """How it stood before any money moved."""
        self.before = copy.deepcopy({name: getattr(self.state, name) for name in names}), self.study.record()
        self.known = [row.submission for row in self.study.ledger()]
        self.environment = {name: os.environ[name] for name in ENDPOINTS if name in os.environ}

    def begin_again(self):
        """The marketplace as nobody was paid, the ledger as nothing was intended."""
        os.environ.update(self.environment)  # another marketplace of this module may have run since
        state, record = copy.deepcopy(self.before)
        for name, value in state.items():
            setattr(self.state, name, value)
        self.state.upset = None
        store = open_store(self.study.database or sqlite_url(self.study.folder))
        with store.write() as connection:
            write_record(connection, self.source, record)
            connection.execute(sa.delete(payouts).where(payouts.c.submission.not_in(self.known)))
        store.close()

    def upset(self, draw):
        self.state.slow = draw.random() < 0.7
        self.state.upset = lambda method, path: draw.choice(UPSETS) if (method, path) in PROLIFIC_MOVES else None

    def deliver(self):
        self.state.deliver()

    def had_bonus(self, submission):
        return any(line.startswith(submission) for line in self.state.paid)

    def had_reward(self, submission):
        return self.state.submissions[submission]["status"] == "APPROVED"

    def approved(self):
        return [row["status"] == "APPROVED" for row in self.state.submissions.values()]

    def bonuses(self):
        return Counter(line.split(",")[0] for line in self.state.paid)

    def submissions(self):
        return self.state.submissions

    def places_planned(self):
        return self.study.record()["places"] - 6

    def places_bought(self):
        return self.state.studies[self.study.study]["total_available_places"] - 6


class MTurkUnderFire(ProlificUnderFire):
    """Six assignments that were submitted."""

    source, reward = "mturk", Decimal("0.75")

    def __init__(self, study):
        self.study, self.state = study, study.turk
        study.launch("--yes", "--pass-rate", "1", "--minutes", "5")
        study.command("extend", "--sittings", "3", "--yes")
        for n in range(6):
            study.work(f"AW{n}", prefers="b" if n < 3 else "a", hit=n // 3)
        study.command("verify")
        names = ("hits", "assignments", "bonuses", "tokens", "available", "granted")
        self.remember(*names)
        self.places = sum(hit["MaxAssignments"] for hit in self.state.hits.values())

    def upset(self, draw):
        self.state.upset = lambda operation: draw.choice(UPSETS) if operation in MTURK_MOVES else None

    def deliver(self):
        """MTurk pays at once."""

    def had_bonus(self, submission):
        return submission in self.bonuses()

    def had_reward(self, submission):
        return self.state.assignments[submission]["AssignmentStatus"] == "Approved"

    def approved(self):
        return [row["AssignmentStatus"] == "Approved" for row in self.state.assignments.values()]

    def bonuses(self):
        return Counter(row["AssignmentId"] for row in self.state.bonuses)

    def submissions(self):
        return self.state.assignments

    def places_planned(self):
        hits = self.study.record()["hits"]
        assert [hit["hit"] for hit in hits] == list(self.state.hits), "a HIT that the file does not name"
        return sum(hit["places"] for hit in hits) - self.places

    def places_bought(self):
        return sum(hit["MaxAssignments"] for hit in self.state.hits.values()) - self.places


@pytest.fixture(scope="module")
def prolific(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, prolific_study(tmp_path_factory.mktemp("prolific"), patch) as found:
        yield ProlificUnderFire(found)


@pytest.fixture(scope="module")
def mturk(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, mturk_study(tmp_path_factory.mktemp("mturk"), patch) as found:
        yield MTurkUnderFire(found)


class Researcher:
    """Types commands, and types them again where they failed."""

    def __init__(self, market, draw, run):
        self.market, self.draw, self.run = market, draw, run
        self.odds = draw.choice([0.0, 0.01, 0.03])
        self.kills = self.wanted = 0
        self.later = 0.0  # seconds that have gone by since the first command

    def types(self, *words):
        """How it ended."""
        ended = self.run(self.command(words), seed=self.draw.random(), odds=self.odds, later=self.later)
        self.kills += ended == KILLED
        return ended

    def command(self, words):
        name, *rest = words
        database = ["--database", self.market.study.database] if self.market.study.database else []
        return [name, str(self.market.study.folder), *rest, *database]

    def pays(self):
        self.types(*PAY)

    def extends(self):
        """Two places more, typed again until it says that they are there; not after a kill, which says nothing."""
        self.wanted += 2
        while self.types(*EXTEND) == REFUSED:
            pass

    def says_what_was_paid(self):
        """Of everything that is uncertain, as one sees it on the marketplace's page; some look too early."""
        for row in self.market.study.ledger("sent", "uncertain"):
            if row.purpose != "places":
                had = (
                    self.market.had_bonus(row.submission)
                    if row.purpose == "bonus"
                    else self.market.had_reward(row.submission)
                )
                self.types("pay", "--confirm" if had else "--not-paid", row.submission)

    def settles(self):
        """The market is well again: what is uncertain is looked up there, an hour later."""
        self.odds, self.market.state.upset = 0.0, None
        for _ in range(4):
            assert self.types(*PAY) == DONE
            self.market.deliver()
            self.later += 2 * ledger.RESTS
            self.says_what_was_paid()


class TwoHosts(Researcher):
    """Two researchers, each in a folder on a host of their own, on one store; they often type at the same moment."""

    def command(self, words):
        name, _, *rest = super().command(words)
        return [name, str(self.draw.choice(self.market.hosts)), *rest]

    def pays(self):
        """Both at once; who comes second is told to wait, or finds it done."""
        typed = [self.command(PAY) for _ in range(2)]
        begun = [start(words, seed=self.draw.random(), odds=self.odds, later=self.later) for words in typed]
        ends = [join(process, words) for process, words in zip(begun, typed, strict=True)]
        self.kills += ends.count(KILLED)


def check_run(market, seed, run, kind=Researcher):
    """One run; how many kills it had."""
    draw = random.Random(seed)
    market.begin_again()
    market.upset(draw)
    researcher = kind(market, draw, run)
    for _ in range(draw.randint(2, 4)):
        researcher.pays()
        if draw.random() < 0.3:
            researcher.extends()
        if draw.random() < 0.3:
            researcher.says_what_was_paid()  # too early for what was sent within the hour
        if draw.random() < 0.6:
            market.deliver()
        if draw.random() < 0.2:
            market.deliver()  # nothing takes a marketplace longer than that
            researcher.later += 2 * ledger.RESTS
    researcher.settles()
    assert all(market.approved()), f"unpaid, seed {seed}"
    assert market.bonuses() == dict.fromkeys(market.submissions(), 1), f"paid twice or never, seed {seed}"
    check_places(market, researcher, seed)
    return researcher.kills


def check_places(market, researcher, seed):
    """Every place of the marketplace is in the ledger; as many as were asked for, fewer only where a kill came."""
    before = market.places_bought()
    if researcher.kills:
        assert before <= researcher.wanted, f"over-bought, seed {seed}"
        researcher.types(*EXTEND)  # finishes what a kill has left, or buys two more
    else:
        assert before == researcher.wanted, f"not what was asked for, seed {seed}"
    rows = (row for row in market.study.ledger("confirmed") if row.submission not in market.known)
    bought = [row for row in rows if row.purpose == "places"]
    booked = sum(round(row.amount / market.reward) for row in bought)
    assert market.places_bought() == booked == market.places_planned(), f"places not in the books, seed {seed}"


QUICK = (0, 3)  # the first has a kill at either marketplace; make test-slow has hundreds


def test_runs_under_fire_at_prolific(prolific):
    assert sum(check_run(prolific, seed, in_here) for seed in QUICK) > 0, "no run had a kill"


def test_runs_under_fire_at_mechanical_turk(mturk):
    assert sum(check_run(mturk, seed, in_here) for seed in QUICK) > 0, "no run had a kill"


@pytest.fixture(scope="module", params=["prolific", "mturk"])
def on_two_hosts(request, tmp_path_factory):
    """The study in a PostgreSQL, with a folder on each of two hosts."""
    make, kind = {"prolific": (prolific_study, ProlificUnderFire), "mturk": (mturk_study, MTurkUnderFire)}[
        request.param
    ]
    folder, other = (tmp_path_factory.mktemp(name) for name in ("here", "there"))
    with (
        pytest.MonkeyPatch.context() as patch,
        database("postgresql", folder) as url,
        make(folder, patch, database=url) as found,
    ):
        market = kind(found)
        for name in ("pairs.jsonl", "hit.toml"):
            shutil.copy(folder / name, other / name)
        market.hosts = [folder, other]
        yield market


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300, 380))
def test_eighty_runs_under_fire_on_two_hosts(on_two_hosts, seed):
    check_run(on_two_hosts, seed, in_a_process, TwoHosts)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_two_hundred_runs_under_fire_at_prolific(prolific, seed):
    check_run(prolific, seed, in_a_process)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_two_hundred_runs_under_fire_at_mechanical_turk(mturk, seed):
    check_run(mturk, seed, in_a_process)
