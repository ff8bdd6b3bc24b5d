"""Money under fire: lost replies, 429, 500, cut lines, late bonuses and kills at every call; nobody twice, nobody left.

`Killed` stands for kill -9: it leaves through everything, as no `except Exception` would, and what was committed stays.
"""

import contextlib
import json
import random
from collections import Counter
from decimal import Decimal

import httpx
import pytest

from crowd.marketplaces.ledger import NotDone, OverTheCap, Payout, PayoutLedger, Unsure, set_cap
from crowd.marketplaces.prolific.client import httpx as prolific_httpx
from crowd.store.store import open_store, sqlite_url
from dialogue.errors import InputError
from dialogue.files import read_json
from tests.crowd.marketplaces.prolific_study import prolific_study

UPSETS = ("busy", "stumbles", "stumbles late", "cut", None, None, None)
MOVING = {
    ("POST", "/submissions/ID/transition/"),
    ("POST", "/submissions/bonus-payments/"),
    ("POST", "/bulk-bonus-payments/ID/pay/"),
    ("PATCH", "/studies/ID/"),
}


class Killed(BaseException):
    """The process is gone."""


class KillingClient(httpx.Client):
    """A client whose process may die before or after any call."""

    draw, odds = random.Random(0), 0.0

    def request(self, *args, **options):
        if self.draw.random() < self.odds:
            raise Killed
        reply = super().request(*args, **options)
        if self.draw.random() < self.odds:
            raise Killed
        return reply


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Six people have worked; each run begins from this marketplace and this store."""
    with pytest.MonkeyPatch.context() as patch, prolific_study(tmp_path_factory.mktemp("study"), patch) as found:
        patch.setattr(prolific_httpx, "Client", KillingClient)
        found.open("--pass-rate", "1", "--minutes", "5")
        found.prolific.studies[found.study]["total_available_places"] = 6
        for n in range(6):
            found.work(f"p{n}", prefers="b" if n < 3 else "a")
        found.command("verify")
        yield found


def forget_money(study):
    """The marketplace as nobody was paid, the ledger as nothing was intended."""
    state = study.prolific
    for row in state.submissions.values():
        row.update(status="AWAITING REVIEW", bonus_payments=[])
    state.paid, state.coming, state.set_up, state.upset = [], [], {}, None
    study.prolific.studies[study.study]["total_available_places"] = 6
    record = read_json(study.folder / "prolific.json") | {"places": 6}
    (study.folder / "prolific.json").write_text(json.dumps(record))
    store = open_store(sqlite_url(study.folder))
    with store.write() as connection:
        connection.exec_driver_sql("DELETE FROM payouts")
    store.close()


def one_run(study, seed):
    """Pay and extend under faults until all is quiet; a researcher looks where something stays uncertain."""
    draw, state = random.Random(seed), study.prolific
    forget_money(study)
    state.slow = draw.random() < 0.7
    KillingClient.draw, KillingClient.odds = draw, draw.choice([0.0, 0.03, 0.1])
    state.upset = lambda method, path: draw.choice(UPSETS) if (method, path) in MOVING else None
    for _ in range(draw.randint(3, 6)):
        try_command(study, "pay", "--bonus", "0.20", "--yes")
        try_command(study, "extend", "--sittings", "2", "--yes") if draw.random() < 0.3 else None
        if draw.random() < 0.6:
            state.deliver()
    KillingClient.odds, state.upset = 0.0, None
    for _ in range(4):
        study.command("pay", "--bonus", "0.20", "--yes")
        state.deliver()
        study.command("verify")
        for row in study.ledger("sent", "uncertain"):
            had = any(line.startswith(row.submission) for line in state.paid)
            study.command("pay", "--confirm" if had else "--not-paid", row.submission)
    return Counter(line.split(",")[0] for line in state.paid)


def try_command(study, *words):
    with contextlib.suppress(Killed, InputError):
        study.command(*words)


def check_run(study, seed, capsys):
    paid = one_run(study, seed)
    capsys.readouterr()
    names = set(study.prolific.submissions)
    assert {row["status"] for row in study.prolific.submissions.values()} == {"APPROVED"}, f"unpaid, seed {seed}"
    assert paid == dict.fromkeys(names, 1), f"paid twice or never, seed {seed}"
    places = study.prolific.studies[study.study]["total_available_places"]
    bought = [row for row in study.ledger("confirmed") if row.purpose == "places"]
    assert places == 6 + 2 * len(bought), f"places nobody has in the books, seed {seed}"


@pytest.mark.parametrize("seed", range(10))
def test_under_fire_nobody_is_paid_twice_or_left_out(study, seed, capsys):
    check_run(study, seed, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_two_hundred_runs_under_fire(study, seed, capsys):
    check_run(study, seed, capsys)


def test_a_lost_reply_to_a_bonus_is_uncertain_and_never_sent_again(study, capsys):
    forget_money(study)
    state = study.prolific
    state.slow = True
    state.upset = lambda method, path: "cut" if path == "/bulk-bonus-payments/ID/pay/" else None
    study.command("pay", "--bonus", "0.20", "--yes")
    said = capsys.readouterr().out
    assert said.count("uncertain      0.20") == 6 and "Uncertain is never sent again" in said
    calls, state.upset = state.calls["POST", "/bulk-bonus-payments/ID/pay/"], None
    for _ in range(3):
        study.command("pay", "--bonus", "0.20", "--yes")
    assert state.calls["POST", "/bulk-bonus-payments/ID/pay/"] == calls
    state.deliver()
    capsys.readouterr()
    study.command("pay", "--bonus", "0.20", "--yes")
    assert "uncertain" not in capsys.readouterr().out.replace("Uncertain", "")
    assert len(state.paid) == 6 and state.calls["POST", "/bulk-bonus-payments/ID/pay/"] == calls


# The ledger by itself


class Act:
    """Does as it is told."""

    def __init__(self, send=True, ask=None, prepare=""):
        self.results, self.asked, self.prepared, self.sent = send, ask, prepare, 0

    def prepare(self, row):
        if isinstance(self.prepared, BaseException):
            raise self.prepared
        return self.prepared

    def send(self, row):
        self.sent += 1
        if isinstance(self.results, BaseException):
            raise self.results
        return self.results

    def ask(self, row):
        return self.asked


@pytest.fixture
def ledger(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'crowd.sqlite'}", seed=0)
    yield PayoutLedger(store, "prolific", clock=lambda: 1.0)
    store.close()


def due(purpose="bonus", cost="1.00", submission="s1"):
    return Payout("prolific", submission, purpose, Decimal("0.75"), Decimal(cost), "GBP")


@pytest.mark.parametrize(
    ("act", "state"),
    [
        (Act(True), "confirmed"),
        (Act(False), "sent"),
        (Act(NotDone("no")), "refused"),
        (Act(Unsure("lost")), "uncertain"),
        (Act(Unsure("lost"), ask=True), "confirmed"),
        (Act(Unsure("lost"), ask=False), "intended"),
        (Act(prepare=Unsure("lost")), "refused"),
    ],
)
def test_every_way_a_call_may_end_is_a_state_on_disk(ledger, act, state):
    assert ledger.carry_out(due(), act).state == state == ledger.rows()[0].state


def test_what_was_sent_is_sent_again_only_if_it_was_refused_or_not_done(ledger):
    for act, times in ((Act(Unsure("?")), 1), (Act(), 0), (Act(ask=False), 1), (Act(), 0)):
        ledger.carry_out(due(), act)
        assert act.sent == times


def test_a_kill_at_any_point_leaves_what_may_have_happened(ledger):
    with pytest.raises(Killed):
        ledger.carry_out(due(), Act(Killed()))
    assert [row.state for row in ledger.rows()] == ["sent"]
    assert ledger.carry_out(due(), act := Act()).state == "uncertain" and not act.sent
    with pytest.raises(Killed):
        ledger.carry_out(due(submission="s2"), Act(prepare=Killed()))
    assert ledger.carry_out(due(submission="s2"), Act()).state == "confirmed"


def test_two_commands_at_once_send_once(ledger):
    class Meanwhile(Act):
        def prepare(self, row):
            self.other = ledger.carry_out(due(), Act())
            return ""

    act = Meanwhile()
    ledger.carry_out(due(), act)
    assert act.other.state == "confirmed" and not act.sent


def test_two_extra_payments_of_one_visit_wait_for_each_other(ledger):
    ledger.carry_out(due("bonus"), Act(False))
    with pytest.raises(NotDone, match="another payment of this submission is not settled"):
        ledger.carry_out(due("answers"), Act())
    assert ledger.carry_out(due("reward"), Act()).state == "confirmed"


def test_a_person_settles_what_stays_uncertain(ledger):
    ledger.carry_out(due(), Act(Unsure("?")))
    with pytest.raises(InputError, match="no payout that is uncertain"):
        ledger.decide("s9", paid=True)
    assert [row.state for row in ledger.decide("s1", paid=False)] == ["refused"]
    assert ledger.carry_out(due(), Act()).state == "confirmed"


def test_the_cap_counts_what_may_have_been_spent_and_not_what_was_refused(ledger):
    set_cap(ledger.store, Decimal("2.50"))
    ledger.carry_out(due(submission="s1"), Act(Unsure("?")))
    ledger.carry_out(due(submission="s2"), Act(NotDone("no")))
    ledger.carry_out(due(submission="s3"), Act())
    with pytest.raises(OverTheCap, match=r"2\.50 in all, 2\.00 is spent or promised, and this is 1\.00 more"):
        ledger.carry_out(due(submission="s4"), Act())
    set_cap(ledger.store, Decimal("3.00"))
    assert ledger.carry_out(due(submission="s4"), Act()).state == "confirmed"
    with pytest.raises(InputError, match=r"--cap is 2\.00, but 3\.00"):
        set_cap(ledger.store, Decimal("2.00"))
