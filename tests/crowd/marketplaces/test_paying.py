"""What is on a bill, and what becomes of it when the marketplace, or somebody by hand, does what nobody expects."""

from contextlib import nullcontext
from decimal import Decimal

import pytest

from seedvote.dialogue.errors import InputError
from tests.crowd.marketplaces.mturk_study import mturk_study
from tests.crowd.marketplaces.prolific_study import prolific_study


@pytest.fixture
def study(tmp_path, monkeypatch):
    with prolific_study(tmp_path, monkeypatch) as found:
        yield found


@pytest.fixture
def mturk(tmp_path, monkeypatch):
    with mturk_study(tmp_path, monkeypatch) as found:
        yield found


@pytest.mark.parametrize("upset", ["false success", "another answer"])
def test_error_sent_as_success_pays_nobody_twice(study, upset, capsys, an_hour_later):
    """The first comes instead of the work, the second after it."""
    study.open("--pass-rate", "1")
    names = [study.work(f"p{n}") for n in range(2)]
    for path in ("/submissions/bulk-approve/", "/submissions/bonus-payments/", "/bulk-bonus-payments/ID/pay/"):
        study.prolific.upset = lambda method, called, path=path: upset if called == path else None
        study.command("pay", "--bonus", "0.20", "--yes")
    study.prolific.upset = lambda method, path: upset if method == "PATCH" else None
    with pytest.raises(InputError, match="Run the same command again") if upset == "false success" else nullcontext():
        study.command("extend", "--sittings", "1", "--yes")
    study.prolific.upset = None
    study.command("extend", "--sittings", "1", "--yes")
    open_ = study.ledger("sent", "uncertain")
    assert {row.purpose for row in open_} <= {"reward"} and bool(open_) == (upset == "false success")
    an_hour_later()
    for row in open_:  # Prolific says itself that it was not done
        study.command("pay", "--not-paid", row.submission)
    for _ in range(2):
        study.command("pay", "--bonus", "0.20", "--yes")
    assert sorted(study.prolific.paid) == [f"{name},0.20" for name in names]
    assert {row.state for row in study.ledger()} == {"confirmed"}
    places = sum(round(row.amount / Decimal("1.5")) for row in study.ledger() if row.purpose == "places")
    assert study.prolific.studies[study.study]["total_available_places"] == places
    study.prolific.upset = lambda method, path: upset if method == "GET" else None
    with pytest.raises(InputError, match="Prolific"):
        study.command("pay", "--yes")
    capsys.readouterr()


def test_next_bill_omits_what_was_paid(study, capsys):
    study.open()
    study.work("p0")
    stranger = study.prolific.join(study.study, "pother")
    study.prolific.complete(stranger, "CDONE")
    study.command("pay", "--bonus", "0.20", "--yes")
    capsys.readouterr()
    study.command("pay", "--bonus", "0.50", "--budget", "0.10", "--yes")
    said = capsys.readouterr().out
    assert "to spend   0.00 GBP" in said and "1 were paid before; each is paid once" in said
    assert f"check them yourself\n    {stranger}\n" in said and len(study.prolific.paid) == 1


def test_approval_on_prolific_is_settled_once(study, capsys):
    study.open()
    names = [study.work(f"p{n}") for n in range(2)]
    study.prolific.upset = lambda method, path: "busy" if path == "/submissions/bulk-approve/" else None
    study.command("pay", "--yes")
    assert [row.state for row in study.ledger() if row.purpose == "reward"] == ["refused"] * 2
    study.prolific.upset = lambda method, path: 1 / 0 if path == "/submissions/bulk-approve/" else None
    for name in names:
        study.prolific.submissions[name]["status"] = "APPROVED"
    for _ in range(2):
        study.command("pay", "--yes")
    assert [row.state for row in study.ledger() if row.purpose == "reward"] == ["confirmed"] * 2
    capsys.readouterr()


def test_a_person_who_is_owed_their_pay_is_not_forgotten_before_it(study, capsys):
    study.open()
    name = study.work("p0")
    with pytest.raises(InputError, match=f"{name} of this person may still be due their pay"):
        study.command("forget", "p0")
    study.command("pay", "--bonus", "0.20", "--yes")
    study.command("forget", "p0")
    capsys.readouterr()
    study.command("pay", "--bonus", "0.20", "--yes")
    assert name not in capsys.readouterr().out and study.prolific.paid == [f"{name},0.20"]
    other = study.work("p1")
    study.command("forget", "p1", "--unpaid")
    capsys.readouterr()
    study.command("pay")
    assert f"    {other}\n" in capsys.readouterr().out


def test_nobody_is_forgotten_while_a_bonus_of_theirs_may_be_on_its_way(study, capsys):
    """The row would stay for ever: nobody could ask Prolific about a name that is gone."""
    study.open()
    name = study.work("p0")
    study.command("pay", "--hold", name, "--why", "too fast")
    study.command("pay", "--release", name)
    study.prolific.slow = True
    study.command("pay", "--bonus", "0.20", "--yes")
    for words in ((), ("--unpaid",)):
        with pytest.raises(InputError, match=f"{name} of this person was sent and is not settled"):
            study.command("forget", "p0", *words)
    study.prolific.deliver()
    study.command("pay", "--bonus", "0.20", "--yes")
    study.command("forget", "p0")
    assert all(row.submission != name and row.state == "confirmed" for row in study.ledger())
    capsys.readouterr()


@pytest.mark.parametrize("upset", ["false success", "another answer"])
def test_the_same_at_mechanical_turk_where_nobody_can_be_closed_out_either(mturk, upset, capsys):
    mturk.launch("--yes")
    names = [mturk.work("AW0", prefers="b"), mturk.work("AW1")]
    mturk.command("verify")
    for operation in ("ApproveAssignment", "SendBonus", "ListAssignmentsForHIT"):
        mturk.turk.upset = lambda called, op=operation: upset if called == op else None
        mturk.command("pay", "--bonus", "0.20", "--yes")
    assert "skipped    MTurk" in capsys.readouterr().out
    mturk.turk.upset = lambda called: upset if called == "ListWorkersWithQualificationType" else None
    for _ in range(2):
        mturk.command("pay", "--bonus", "0.20", "--yes")
    assert sorted(row["AssignmentId"] for row in mturk.turk.bonuses) == sorted(names)
    assert {row["AssignmentStatus"] for row in mturk.turk.assignments.values()} == {"Approved"}
    assert {row.state for row in mturk.ledger()} == {"confirmed"}
    assert "skipped    MTurk" in capsys.readouterr().out


def test_visit_of_checks_alone_is_paid_when_named(study, capsys):
    """They have the code of a finished sitting from somebody else, or go back by the way that the page shows them."""
    study.open()
    judged = study.work("p0")
    liar, honest = study.come("p1", most=2), study.come("p2", most=2)
    study.prolific.complete(liar.sitting, "CDONE")
    study.prolific.submissions[honest.sitting]["status"] = "RETURNED"
    study.command("pay", "--yes")
    told = capsys.readouterr().out
    assert (
        f"no pair    1 answered hidden checks alone, not paid: --only ID pays one in full\n    {liar.sitting}" in told
    )
    assert {row.submission for row in study.ledger() if row.purpose == "reward"} == {judged}
    study.command("pay", "--only", liar.sitting, "--yes")
    assert {row.submission for row in study.ledger() if row.purpose == "reward"} == {judged, liar.sitting}
    study.command("pay", "--compensate", "0.15", "--yes")
    assert {(row.submission, str(row.amount)) for row in study.ledger() if row.purpose == "compensation"} == {
        (honest.sitting, "0.30")
    }
    capsys.readouterr()
