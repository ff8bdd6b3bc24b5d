"""Paying workers of Mechanical Turk who could not hand in: once each, only them, whatever fails and dies."""

import copy
import random
from decimal import Decimal
from types import SimpleNamespace

import botocore.endpoint
import pytest

from seedvote.crowd.store.store import open_store, sqlite_url
from seedvote.dialogue.errors import InputError
from tests.crowd.marketplaces.killing import DONE, KILLED, in_a_process, in_here
from tests.crowd.marketplaces.mturk_study import mturk_study
from tests.crowd.marketplaces.study import Person

MOVES = ("CreateHITWithHITType", "ApproveAssignment")
OURS = (
    *MOVES,
    "CreateQualificationType",
    "AssociateQualificationWithWorker",
    "CreateHITType",
    "ListHITsForQualificationType",
    "DeleteHIT",
    "DisassociateQualificationFromWorker",
    "DeleteQualificationType",
)
LATER = 3 * 3600  # the study's HITs last an hour, and ours waits for another


class Unable:
    """A study with two workers whose time ran out, one who handed in, and the marketplace as it stood then."""

    def __init__(self, study):
        self.study, self.turk = study, study.turk
        study.launch("--yes")
        self.keys = {name: study.work(name, hand_in=False) for name in ("AW1", "AW2")}
        for key in self.keys.values():
            self.turk.give_up(key)
        study.work("APAID")
        self.age(LATER)
        names = ("hits", "assignments", "tokens", "available", "granted", "qualifications", "told", "types")
        self.before = copy.deepcopy({name: getattr(self.turk, name) for name in names})
        self.own = set(self.turk.hits)

    def begin_again(self):
        for name, value in copy.deepcopy(self.before).items():
            setattr(self.turk, name, value)
        self.turk.upset = None
        self.turk.refuses.clear()
        self.turk.faults.clear()
        self.write("DELETE FROM payouts", "DELETE FROM study WHERE key = 'cap'")

    def command(self, *names, **options):
        return self.study.command("compensate", *self.words(*names, **options))

    def makes_up(self, worker, digit):
        """An address of an assignment that there never was, with one answer."""
        key = "A" + digit * 29
        Person(self.study.app, "mturk", worker, sitting=key, site=self.study.site).work(most=1)
        self.age(LATER)
        return key

    def age(self, seconds):
        """As if every visit had begun so much earlier."""
        self.write(f"UPDATE sittings SET begun = begun - {seconds}")

    def write(self, *statements):
        store = open_store(sqlite_url(self.study.folder))
        with store.write() as connection:
            for one in statements:
                connection.exec_driver_sql(one)
        store.close()

    def words(self, *names, amount="0.50", yes=True, **options):
        named = [word for name in names for word in ("--worker", name)] + (["--amount", amount] if names else [])
        more = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
        return [*named, *more, *(["--yes"] if yes else [])]

    def types(self, run, *names, seed=0, odds=0.0):
        """How the command ended, where it may die."""
        return run(["compensate", str(self.study.folder), *self.words(*names)], seed=seed, odds=odds)

    def open(self):
        """The HITs that pay for earlier work, by the worker who may take it."""
        return {hit: self.takers(hit) for hit in self.turk.hits if hit not in self.own}

    def takers(self, hit):
        return [name for name in ("AW1", "AW2", "APAID", "AOTHER") if self.turk.may_take(self.turk.hits[hit], name)]

    def comes(self):
        """Everybody takes and submits whatever HIT of ours lets them in."""
        for hit, takers in self.open().items():
            for name in takers:
                assert self.turk.submit({"assignmentId": self.turk.accept(hit, name), "remark": ""})

    def got(self):
        """What each worker was paid beside the study's own HITs; deleted HITs keep their assignments here."""
        rows = [row for row in self.turk.assignments.values() if row["HITId"] not in self.own]
        assert all(row["AssignmentStatus"] == "Approved" for row in rows)
        return sorted(row["WorkerId"] for row in rows)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, mturk_study(tmp_path_factory.mktemp("mturk"), patch) as found:
        patch.setattr(botocore.endpoint, "time", SimpleNamespace(sleep=lambda _seconds: None))  # before it tries again
        yield Unable(found)


@pytest.fixture
def unable(made):
    made.begin_again()
    return made


def test_it_is_shown_first_then_opened_for_that_worker_paid_and_put_away(unable, capsys):
    unable.command("AW1", yes=False)
    said = capsys.readouterr().out
    assert f"{unable.keys['AW1']}  11 answers" in said and "0.50 USD, 0.60 with the fee" in said
    assert "Nothing was opened" in said and said.endswith("--worker AW1 --yes\n") and not unable.open()
    for _ in range(2):
        unable.command("AW1")
    (hit,) = unable.open()
    assert unable.takers(hit) == ["AW1"] and unable.turk.hits[hit]["Reward"] == "0.50"
    assert [name for _, name in unable.turk.told] == ["AW1"]
    assert "the worker has not come for it yet" in capsys.readouterr().out
    unable.comes()
    unable.command()
    assert "0.50  paid" in capsys.readouterr().out
    assert unable.got() == ["AW1"] and not unable.open() and len(unable.turk.qualifications) == 1
    unable.command("AW1")
    assert not unable.open() and unable.got() == ["AW1"]
    rows = {
        row.purpose: (row.state, row.cost) for row in unable.study.ledger() if row.submission in unable.keys.values()
    }
    assert rows == {"compensation": ("confirmed", Decimal("0.60")), "reward": ("confirmed", 0)}
    capsys.readouterr()


def test_two_workers_have_a_hit_each_and_pay_leaves_both_alone(unable, capsys):
    unable.command("AW1", unable.keys["AW2"])
    assert sorted(unable.open().values()) == [["AW1"], ["AW2"]]
    unable.comes()
    unable.study.command("pay", "--yes")
    unable.command()
    unable.study.command("pay", "--yes")
    assert unable.got() == ["AW1", "AW2"]
    capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("ASTRANGER", {}, "is no worker and no assignment that came to this study"),
        ("APAID", {}, "was handed in"),
        ("AW1", {"amount": "0.00"}, r"--amount is 0\.00"),
        ("AW1", {"amount": "0.02"}, r"took 16 s, for which 7\.25 an hour is 0\.04"),
        ("AW1", {"cap": "0.59"}, r"the study may cost 0\.59 in all"),
        ("AW1", {"budget": "0.59"}, r"may cost 0\.60"),
    ],
)
def test_what_is_refused_opens_nothing(unable, name, options, why):
    with pytest.raises(InputError, match=why):
        unable.command(name, **options)
    assert not unable.open() and not unable.turk.told


def test_a_visit_that_may_still_be_handed_in_is_not_paid_beside(unable):
    unable.age(-LATER)
    with pytest.raises(InputError, match="may still be handed in, until"):
        unable.command("AW1")
    unable.age(LATER)
    assert not unable.open()


def test_visits_that_a_worker_made_up_are_not_all_paid(unable, capsys):
    first, second = (unable.makes_up("AOTHER", digit) for digit in "12")
    with pytest.raises(InputError, match=f"AOTHER has 2 visits that were not handed in: name one of {first}"):
        unable.command("AOTHER")
    unable.command(second)
    assert list(unable.open().values()) == [["AOTHER"]]
    capsys.readouterr()


def test_a_visit_of_two_names_and_a_list_with_holes_pay_nobody(unable, capsys):
    for name in ("AVICTIM", "ATHIEF"):
        key = unable.makes_up(name, "3")
    for name in ("AVICTIM", "ATHIEF", key):
        with pytest.raises(InputError, match=r"under several worker ids|has 2 visits"):
            unable.command(name)
    (hit,) = unable.own
    kept = unable.turk.hits.pop(hit)
    with pytest.raises(InputError, match="MTurk cannot say who has handed in"):
        unable.command("AW1")
    unable.turk.hits[hit] = kept
    unable.turk.refuses.add("ListAssignmentsForHIT")
    with pytest.raises(InputError, match="MTurk cannot say who has handed in"):
        unable.command("AW1")
    assert not unable.open()
    capsys.readouterr()


@pytest.mark.parametrize("fault", [None, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("operation", [*MOVES, *(pytest.param(name, marks=pytest.mark.slow) for name in OURS[2:])])
def test_a_call_that_is_lost_or_fails_is_made_good_by_typing_it_again(unable, operation, fault, capsys):
    """botocore repeats it within one command; the reply of the first attempt never came."""
    unable.turk.faults = [(operation, fault, fault is None)]
    for _ in range(2):
        unable.command("AW1")
        unable.comes()
    unable.command()
    assert not unable.turk.faults, "the call was never made"
    assert unable.got() == ["AW1"] and not unable.open()
    capsys.readouterr()


def test_prepaid_money_that_ends_and_a_busy_market_are_said_and_made_good(unable, capsys):
    unable.turk.available = Decimal("0.59")
    assert unable.command("AW1") == 1
    assert "refused" in capsys.readouterr().out and not unable.open()
    unable.turk.available = Decimal(100)
    unable.command("AW1")
    assert list(unable.open().values()) == [["AW1"]]
    capsys.readouterr()


def check_deaths(unable, seed, run):
    """Typed again and again at a market that fails, in processes that die; then everybody has it once."""
    draw = random.Random(seed)
    unable.begin_again()
    upsets = ("busy", "stumbles", "stumbles late", "cut", *[None] * 8)
    unable.turk.upset = lambda operation: draw.choice(upsets) if operation in OURS else None
    odds, kills = draw.choice([0.01, 0.05]), 0
    for _ in range(draw.randint(2, 5)):
        words = ("AW1", "AW2") if draw.random() < 0.7 else ()
        kills += unable.types(run, *words, seed=draw.random(), odds=odds) == KILLED
        assert len(unable.open()) <= 2, f"a HIT too many, seed {seed}"
        if draw.random() < 0.6:
            unable.comes()
    unable.turk.upset = None
    for _ in range(2):
        assert unable.types(run, "AW1", "AW2") == DONE
        unable.comes()
    assert unable.types(run) == DONE
    assert unable.got() == ["AW1", "AW2"], f"paid twice or never, seed {seed}"
    assert not unable.open() and len(unable.turk.qualifications) == 1, f"not put away, seed {seed}"
    assert {row.state for row in unable.study.ledger()} == {"confirmed"}, f"seed {seed}"
    return kills


def test_deaths_between_any_two_calls_pay_everybody_once(unable, capsys):
    assert sum(check_deaths(unable, seed, in_here) for seed in range(2)) > 0, "no run had a kill"
    capsys.readouterr()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_a_hundred_runs_with_real_deaths(unable, seed):
    check_deaths(unable, seed, in_a_process)
