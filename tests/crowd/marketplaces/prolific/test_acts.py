"""Many people at once: as few calls as Prolific documents, each paid once, and one bad apple stops nobody else."""

from decimal import Decimal

import pytest
import sqlalchemy as sa

from seedvote.crowd.marketplaces.ledger import NotDone, NotReached, Payout, PayoutLedger, Unsure
from seedvote.crowd.store import tables
from seedvote.crowd.store.store import open_store
from seedvote.crowd.study_folder import opened
from tests.crowd.marketplaces.prolific_study import prolific_study

PEOPLE = 500
PAY = ("pay", "--bonus", "0.20", "--yes")


def let_in(study, people):
    """People who have worked, written into the store as the server would: their sittings alone take it minutes."""
    names = [study.prolific.join(study.study, f"p{n}") for n in range(people)]
    for name in names:
        study.prolific.complete(name, "CDONE")
    rows = [{"rater": f"r{n}", "sitting": 1, "source": "prolific", "key": name} for n, name in enumerate(names)]
    with opened(study.folder, None) as store, store.write() as connection:
        for n, row in enumerate(rows):
            who, begun = row["rater"], 1000.0 + n
            person = {"rater": who, "source": "prolific", "status": "passed", "arrived": begun}
            connection.execute(sa.insert(tables.raters).values(person))
            connection.execute(
                sa.insert(tables.sittings).values({**row, "slots": "", "begun": begun, "finished": begun + 600})
            )
            connection.execute(sa.insert(tables.payments).values({**row, "worker": f"p{n}"}))
            lease = {"token": who, "rater": who, "sitting": 1, "slot": 0, "pair": "p0", "kind": "real", "left": "a"}
            lease |= {"state": "answered", "issued": begun, "expires": begun}
            connection.execute(sa.insert(tables.leases).values(lease))
    return names


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """Five hundred people at a Prolific of documented pages, where everything is done some time after it was asked."""
    with pytest.MonkeyPatch.context() as patch, prolific_study(tmp_path_factory.mktemp("bulk"), patch) as found:
        found.prolific.page, found.prolific.slow = 200, True
        found.launch("--live", "--yes")
        found.study = found.record()["study"]
        found.prolific.studies[found.study]["total_available_places"] = PEOPLE
        found.prolific.publish(found.study)
        found.names = let_in(found, PEOPLE)
        yield found


@pytest.mark.slow
def test_five_hundred_people_are_paid_in_under_thirty_calls(market, capsys):
    state = market.prolific
    state.calls.clear()
    assert market.command(*PAY) == 0
    state.deliver()
    assert market.command(*PAY) == 0
    assert sum(state.calls.values()) == 26, state.calls  # as docs/prolific.md says
    assert {row["status"] for row in state.submissions.values()} == {"APPROVED"}
    assert sorted(state.paid) == sorted(f"{name},0.20" for name in market.names)
    rows = [row for row in market.ledger() if row.purpose != "places"]
    assert len(rows) == 2 * PEOPLE and {row.state for row in rows} == {"confirmed"}
    state.deliver()
    assert market.command(*PAY) == 0 and len(state.paid) == PEOPLE
    said = capsys.readouterr().out
    assert f"{PEOPLE} were paid before" in said


def test_a_list_that_does_not_say_the_bonuses_is_made_up_for_by_questions(tmp_path, monkeypatch, capsys):
    with prolific_study(tmp_path, monkeypatch) as study:
        study.prolific.lists_bonuses = False
        study.open()
        names = let_in(study, 3)
        for _ in range(2):
            assert study.command(*PAY) == 0
        assert sorted(study.prolific.paid) == [f"{name},0.20" for name in names]
        assert {row.state for row in study.ledger() if row.purpose == "bonus"} == {"confirmed"}
    capsys.readouterr()


def test_one_that_was_returned_meanwhile_keeps_nobody_from_their_pay(tmp_path, monkeypatch, capsys):
    """It is gone between list and call: Prolific refuses the whole call, and the others are tried without it."""
    with prolific_study(tmp_path, monkeypatch) as study:
        study.launch("--live", "--yes")
        study.study = study.record()["study"]
        study.prolific.studies[study.study]["total_available_places"] = 7
        study.prolific.publish(study.study)
        names = let_in(study, 7)

        def leave(method, path):
            if path == "/submissions/bulk-approve/":
                study.prolific.returns(names[3])

        study.prolific.upset = leave
        assert study.command(*PAY) == 1
        told = capsys.readouterr()
        assert told.err.strip().splitlines()[-1] == "Not all was paid: 1 refused." and "not awaiting review" in told.out
        statuses = [study.prolific.submissions[name]["status"] for name in names]
        assert statuses == ["APPROVED"] * 3 + ["RETURNED"] + ["APPROVED"] * 3


@pytest.mark.parametrize("change", [100, 0.01])
def test_prolific_that_understands_another_amount_pays_nothing(tmp_path, monkeypatch, change, capsys):
    """If a number meant cents to us and pounds to Prolific, somebody would get a hundred times their bonus."""
    with prolific_study(tmp_path, monkeypatch) as study:
        study.open()
        let_in(study, 2)
        set_up = study.prolific._set_up
        monkeypatch.setattr(
            study.prolific, "_set_up", lambda body: {**(made := set_up(body)), "amount": made["amount"] * change}
        )
        assert study.command(*PAY) == 1
        assert "cents where 20 were meant" in capsys.readouterr().out and study.prolific.paid == []


def test_more_fee_than_the_cap_was_held_against_pays_nothing(tmp_path, monkeypatch, capsys):
    with prolific_study(tmp_path, monkeypatch) as study:
        study.open()
        let_in(study, 2)
        assert study.command(*PAY, "--fee-percent", "5") == 1
        assert "Nothing was paid: give the right one with --fee-percent" in capsys.readouterr().out
        assert study.prolific.paid == [] and study.command(*PAY) == 0 and len(study.prolific.paid) == 2
    capsys.readouterr()


# The ledger by itself


class Many:
    """An act for many at once that does as it is told; `bad` submissions make a whole call fail."""

    def __init__(self, most=4, bad=(), fails=None, answers=None):
        self.most, self.bad, self.fails, self.answers, self.sent = most, set(bad), fails, answers or {}, []
        self.is_late = True

    def prepare_payouts(self, rows):
        return rows

    def send_payouts(self, rows):
        if self.fails:
            raise self.fails
        if self.bad & {row.submission for row in rows}:
            raise NotDone("one of them is wrong")
        self.sent.append([row.submission for row in rows])
        return False

    def ask_outcomes(self, rows):
        return self.answers


@pytest.fixture
def ledger(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'crowd.sqlite'}", seed=0)
    yield PayoutLedger(store, "prolific", clock=lambda: 1.0)
    store.close()


def dues(number):
    return [Payout("prolific", f"s{n}", "bonus", Decimal("0.20"), Decimal("0.27"), "GBP") for n in range(number)]


def states(ledger):
    return {row.submission: row.state for row in ledger.read_payouts()}


def test_rows_are_sent_together_and_never_again(ledger):
    act = Many()
    ledger.carry_out_all(dues(10), act)
    ledger.carry_out_all(dues(10), act)
    assert [len(call) for call in act.sent] == [4, 4, 2] and set(states(ledger).values()) == {"sent"}


def test_a_bad_one_is_found_and_the_others_are_sent(ledger):
    act = Many(most=8, bad=["s2", "s5"])
    rows = ledger.carry_out_all(dues(8), act)
    assert sorted(name for call in act.sent for name in call) == ["s0", "s1", "s3", "s4", "s6", "s7"]
    assert [row.submission for row in rows if row.state == "refused"] == ["s2", "s5"]
    assert states(ledger)["s2"] == "refused" and states(ledger)["s3"] == "sent"


@pytest.mark.parametrize(("error", "state"), [(Unsure("lost"), "uncertain"), (NotReached("busy"), "refused")])
def test_unanswered_call_leaves_its_rows_in_one_state(ledger, error, state):
    act = Many(fails=error)
    ledger.carry_out_all(dues(4), act)
    assert set(states(ledger).values()) == {state} and act.sent == []
    act.fails = None
    ledger.carry_out_all(dues(4), act)
    assert act.sent == ([] if state == "uncertain" else [["s0", "s1", "s2", "s3"]])


def test_two_commands_at_once_send_no_row_twice(ledger):
    inner = Many()

    class Meanwhile(Many):
        def prepare_payouts(self, rows):
            ledger.carry_out_all(dues(2), inner)  # another host pays two of them
            return rows

    outer = Meanwhile()
    ledger.carry_out_all(dues(4), outer)
    assert inner.sent == [["s0", "s1"]] and outer.sent == []
    ledger.carry_out_all(dues(4), act := Many())
    assert act.sent == [["s2", "s3"]]


def test_what_the_cap_does_not_allow_is_refused_and_the_rest_is_sent(ledger):
    from seedvote.crowd.marketplaces.caps import set_caps

    set_caps(ledger.store, Decimal("0.60"))
    rows = ledger.carry_out_all(dues(4), act := Many())
    assert act.sent == [["s0", "s1"]] and [row.state for row in rows] == ["sent", "sent", "refused", "refused"]
