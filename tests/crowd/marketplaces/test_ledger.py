"""The ledger by itself, and a bonus whose reply is lost; random failures and kills are in test_under_fire.py."""

from dataclasses import replace
from decimal import Decimal

import pytest

from seedvote.crowd.marketplaces.caps import set_caps
from seedvote.crowd.marketplaces.ledger import NotDone, Payout, PayoutLedger, Unsure, check_cap
from seedvote.crowd.store.store import open_store, sqlite_url
from seedvote.dialogue.errors import InputError
from tests.crowd.marketplaces.killing import Killed
from tests.crowd.marketplaces.prolific_study import prolific_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Six people have worked; each run begins from this marketplace and this store."""
    with pytest.MonkeyPatch.context() as patch, prolific_study(tmp_path_factory.mktemp("study"), patch) as found:
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
    study.rewrite(places=6)
    store = open_store(sqlite_url(study.folder))
    with store.write() as connection:
        connection.exec_driver_sql("DELETE FROM payouts WHERE purpose != 'places'")
    store.close()


def test_a_lost_reply_to_a_bonus_is_uncertain_and_never_sent_again(study, capsys, an_hour_later):
    forget_money(study)
    state = study.prolific
    state.slow = True
    state.upset = lambda method, path: "cut" if path == "/bulk-bonus-payments/ID/pay/" else None
    study.command("pay", "--bonus", "0.20", "--yes")
    said = capsys.readouterr().out
    assert said.count("uncertain      0.20") == 6 and "uncertain is never sent again" in said
    calls, state.upset = state.calls["POST", "/bulk-bonus-payments/ID/pay/"], None
    for _ in range(3):
        study.command("pay", "--bonus", "0.20", "--yes")
        an_hour_later()
    assert state.calls["POST", "/bulk-bonus-payments/ID/pay/"] == calls
    state.deliver()
    capsys.readouterr()
    study.command("pay", "--bonus", "0.20", "--yes")
    assert "uncertain" not in capsys.readouterr().out
    assert len(state.paid) == 6 and state.calls["POST", "/bulk-bonus-payments/ID/pay/"] == calls


@pytest.mark.parametrize("when", ["at once", "before it comes", "an hour later"])
def test_who_says_not_paid_never_pays_anybody_twice(study, capsys, an_hour_later, when):
    """The normal path: bonuses come minutes later, and somebody looks before that."""
    forget_money(study)
    state, words = study.prolific, ("pay", "--bonus", "0.20", "--yes")
    state.slow = True
    study.command(*words)
    assert "on its way     0.20" in (said := capsys.readouterr().out) and "uncertain      0.20" not in said
    name = next(iter(state.submissions))
    if when == "an hour later":  # by then Prolific shows it, and says so itself
        state.deliver()
        an_hour_later()
        study.command("pay", "--not-paid", name)
        assert "Prolific says that the bonus of 0.20 GBP was paid" in capsys.readouterr().out
    else:
        for _ in range(4):
            if when == "before it comes":
                study.command(*words)
            with pytest.raises(InputError, match="may pay that late"):
                study.command("pay", "--not-paid", name)
    state.deliver()
    for _ in range(2):
        study.command(*words)
        state.deliver()
    assert sorted(state.paid) == sorted(f"{one},0.20" for one in state.submissions)
    assert {row.state for row in study.ledger() if row.purpose == "bonus"} == {"confirmed"}
    capsys.readouterr()


# The ledger by itself


class Act:
    """Does as it is told."""

    def __init__(self, send=True, ask=None, prepare=""):
        self.results, self.asked, self.prepared, self.sent = send, ask, prepare, 0

    def prepare_payout(self, row):
        if isinstance(self.prepared, BaseException):
            raise self.prepared
        return self.prepared

    def send_payout(self, row):
        self.sent += 1
        if isinstance(self.results, BaseException):
            raise self.results
        return self.results

    def ask_outcome(self, row):
        return self.asked


@pytest.fixture
def ledger(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'crowd.sqlite'}", seed=0)
    yield PayoutLedger(store, "prolific", clock=lambda: 1.0)
    store.close()


def later():
    """More than an hour after the ledger's first clock."""
    return 3602.0


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
    assert ledger.carry_out(due(), act).state == state == ledger.read_payouts()[0].state


def test_what_was_sent_is_sent_again_only_if_it_was_refused_or_not_done(ledger):
    for act, times in ((Act(Unsure("?")), 1), (Act(), 0), (Act(ask=False), 1), (Act(), 0)):
        ledger.carry_out(due(), act)
        assert act.sent == times


def test_a_kill_at_any_point_leaves_what_may_have_happened(ledger):
    with pytest.raises(Killed):
        ledger.carry_out(due(), Act(Killed()))
    assert [row.state for row in ledger.read_payouts()] == ["sent"]
    assert ledger.carry_out(due(), act := Act()).state == "sent" and not act.sent  # it may be on its way
    ledger.clock = later
    assert ledger.carry_out(due(), act).state == "uncertain" and not act.sent
    with pytest.raises(Killed):
        ledger.carry_out(due(submission="s2"), Act(prepare=Killed()))
    assert ledger.carry_out(due(submission="s2"), Act()).state == "confirmed"


def test_two_commands_at_once_send_once(ledger):
    class Meanwhile(Act):
        def prepare_payout(self, row):
            self.other = ledger.carry_out(due(), Act())
            return ""

    act = Meanwhile()
    ledger.carry_out(due(), act)
    assert act.other.state == "confirmed" and not act.sent


def test_two_extra_payments_of_one_visit_wait_for_each_other(ledger):
    ledger.carry_out(due("bonus"), Act(False))
    second = ledger.carry_out(due("answers"), Act())
    assert second.state == "refused" and "an equal payment of this submission is not settled" in second.why
    other = replace(due("bonus pilot"), amount=Decimal("0.76"))
    assert ledger.carry_out(other, Act()).state == "confirmed"
    assert ledger.carry_out(due("reward"), Act()).state == "confirmed"


def test_a_person_settles_what_stays_uncertain(ledger):
    ledger.carry_out(due(), Act(Unsure("?")))
    with pytest.raises(InputError, match="no payout that is uncertain"):
        ledger.decide_submission("s9", paid=True)
    with pytest.raises(InputError, match=r"sent less than an hour ago.*Run this again in 60 min"):
        ledger.decide_submission("s1", paid=False)
    ledger.clock = later
    assert [row.state for row in ledger.decide_submission("s1", paid=False)] == ["refused"]
    assert ledger.carry_out(due(), Act()).state == "confirmed"


def test_the_cap_counts_what_may_have_been_spent_and_not_what_was_refused(ledger):
    set_caps(ledger.store, Decimal("2.50"))
    ledger.carry_out(due(submission="s1"), Act(Unsure("?")))
    ledger.carry_out(due(submission="s2"), Act(NotDone("no")))
    ledger.carry_out(due(submission="s3"), Act())
    fourth = ledger.carry_out(due(submission="s4"), act := Act())
    assert fourth.state == "refused" and not act.sent
    assert "2.50 in all, 2.00 is spent or promised, and this is 1.00 more" in fourth.why
    set_caps(ledger.store, Decimal("3.00"))
    assert ledger.carry_out(due(submission="s4"), Act()).state == "confirmed"
    with pytest.raises(InputError, match=r"--cap is 2\.00, but 3\.00"):
        set_caps(ledger.store, Decimal("2.00"))


# Two commands at once, and what is known later


class AskedMeanwhile(Act):
    """The marketplace answers, and before the answer is here another command has gone on."""

    def __init__(self, meanwhile, answer):
        super().__init__()
        self.meanwhile, self.answer = meanwhile, answer

    def ask_outcome(self, row):
        self.meanwhile()
        return self.answer


@pytest.mark.parametrize("answer", [False, None])
def test_older_answer_changes_nothing_in_the_ledger(ledger, answer):
    ledger.carry_out(due(), Act(Unsure("?")))
    late = AskedMeanwhile(lambda: ledger.carry_out(due(), Act(ask=True)), answer)
    assert ledger.carry_out(due(), late).state == "confirmed" == ledger.read_payouts()[0].state
    assert not late.sent


def test_failed_preparation_does_not_hide_a_sent_row(ledger):
    class Late(Act):
        def prepare_payout(self, row):
            ledger.carry_out(due(), Act(False))
            raise NotDone("busy")

    assert ledger.carry_out(due(), Late()).state == "sent" == ledger.read_payouts()[0].state
    ledger.clock = later
    assert ledger.carry_out(due(), act := Act()).state == "uncertain" and not act.sent


def test_what_is_confirmed_is_never_moved_back(ledger):
    """The first command's connection is refused when the second has paid and seen it."""

    class Refused(Act):
        def send_payout(self, row):
            ledger.ask_one(row, Act(ask=True))
            raise NotDone("no")

    assert ledger.carry_out(due(), Refused()).state == "confirmed" == ledger.read_payouts()[0].state


def test_late_bonus_is_confirmed_and_not_sent_again(ledger):
    for settled in (
        lambda: ledger.carry_out(due(), Act(ask=True)),
        lambda: ledger.decide_submission("s2", paid=True)[0],
    ):
        name = f"s{len(ledger.read_payouts()) + 1}"
        assert ledger.carry_out(due(submission=name), Act(Unsure("lost"))).state == "uncertain"
        if name == "s2":
            ledger.clock = later
            ledger.decide_submission(name, paid=False)  # it came later than the person had looked
        assert settled().state == "confirmed"
        assert ledger.carry_out(due(submission=name), act := Act()).state == "confirmed" and not act.sent
    with pytest.raises(InputError, match="no payout that is uncertain"):
        ledger.decide_submission("s2", paid=False)


def test_manual_payment_overrides_intended_or_refused(ledger):
    with pytest.raises(Killed):
        ledger.carry_out(due("reward", "0"), Act(prepare=Killed()))
    ledger.carry_out(due("reward", "0", "s2"), Act(NotDone("no")))
    ledger.carry_out(due("reward", "0", "s3"), Act(Unsure("?")))
    for name in ("s1", "s2", "s3"):
        ledger.note_payment(due("reward", "0", name))
    assert [row.state for row in sorted(ledger.read_payouts(), key=lambda row: row.submission)] == [
        "confirmed",
        "confirmed",
        "uncertain",
    ]


def test_a_clock_that_jumps_changes_no_state_and_no_sum(ledger):
    times = iter([9e9, 0.0, -5.0, 1e12] * 10)
    ledger.clock = lambda: next(times)
    for act in (Act(Unsure("?")), Act(), Act(ask=False), Act()):
        ledger.carry_out(due(), act)
    assert [row.state for row in ledger.read_payouts()] == ["confirmed"]
    assert sum(row.cost for row in ledger.read_payouts()) == Decimal("1.00")


def test_two_currencies_are_never_added_up(ledger):
    check_cap(ledger.store, [due()])
    ledger.carry_out(due(), Act())
    with pytest.raises(InputError, match="has paid in GBP before, and this would be in USD"):
        check_cap(ledger.store, [replace(due(submission="s2"), currency="USD")])
