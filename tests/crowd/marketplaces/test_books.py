"""The books: each payment a line, totals that hold to the cent, and everything a manager may say of a payment."""

import csv
import io
from collections import defaultdict
from decimal import Decimal

import pytest
import sqlalchemy as sa

from seedvote.crowd.marketplaces.caps import set_caps
from seedvote.crowd.marketplaces.paying import pace_of
from seedvote.crowd.store import tables
from seedvote.crowd.study_folder import opened
from seedvote.dialogue.errors import InputError
from tests.crowd.marketplaces.prolific_study import prolific_study

WHY = (
    "The answers were given faster than anybody can read the texts, and every hidden check among them was missed twice."
)


@pytest.fixture
def study(tmp_path, monkeypatch):
    with prolific_study(tmp_path, monkeypatch) as found:
        found.prolific.vat = 0.2
        yield found


def lines(study, capsys, *arguments):
    capsys.readouterr()
    study.command("payments", "--csv", "-", *arguments)
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def worked(study, people=2, **how):
    study.open("--pass-rate", "1")
    return [study.work(f"p{n}", **how) for n in range(people)]


def test_every_payment_is_a_line_and_the_costs_are_what_left_the_account(study, capsys):
    before = study.prolific.balance
    names = worked(study)
    study.command("pay", "--bonus", "0.20", "--yes")
    rows = lines(study, capsys)
    assert [row["purpose"] for row in rows] == ["places", "reward", "reward", "bonus", "bonus"]
    by = defaultdict(list)
    for row in rows:
        by[row["purpose"]].append(row)
    assert [(row["amount"], row["fee"], row["VAT"], row["cost"]) for row in by["reward"]] == [
        ("1.50", "0.00", "0.00", "0.00")
    ] * 2
    assert [(row["visit"], row["amount"], row["cost"]) for row in by["bonus"]] == [
        (name, "0.20", "0.28") for name in names
    ]
    assert [row["VAT"] for row in by["bonus"]] == ["0.02", "0.01"]  # Prolific's 3 cents, divided
    (places,) = by["places"]  # 20 % of a third of the rewards, by the share that Prolific's own books have
    assert [places[name] for name in ("amount", "fee", "VAT", "cost")] == ["4.50", "1.50", "0.30", "6.30"]
    assert {row["state"] for row in rows} == {"confirmed"} and {row["currency"] for row in rows} == {"GBP"}
    left = Decimal(before - study.prolific.balance) / 100
    assert sum(Decimal(row["cost"]) for row in rows) - left <= Decimal("0.02")  # each cost is rounded up to a cent
    assert all(
        Decimal(row["amount"]) + Decimal(row["fee"]) + Decimal(row["VAT"]) == Decimal(row["cost"])
        for row in [*by["bonus"], places]
    )


def test_months_and_studies_are_added_up(study, tmp_path, capsys, monkeypatch):
    worked(study)
    study.command("pay", "--yes")
    with opened(study.folder, None) as store, store.write() as connection:
        connection.execute(sa.update(tables.payouts).where(tables.payouts.c.purpose == "places").values(sent=1e9))
    study.command("pay", "--bonus", "0.20", "--yes")
    capsys.readouterr()
    study.command("payments", str(study.folder))
    out = capsys.readouterr().out.splitlines()
    assert out[1].split()[0] == "2001-09" and out[1].split()[1] == "9.00"  # both copies of the study
    assert out[2].split()[2] == "0.80"
    assert lines(study, capsys, "--month", "2001-09")[0]["purpose"] == "places"
    with pytest.raises(InputError, match="one study's"):
        study.command("payments", str(study.folder), "--database", "sqlite://")


def test_a_cap_by_month_holds_in_its_month_alone(study, capsys):
    worked(study)
    with opened(study.folder, None) as store:
        with pytest.raises(InputError, match=r"--month-cap is 1, but \d\.\d\d is spent"):
            set_caps(store, month=Decimal("1"))
        with store.write() as connection:
            connection.execute(sa.update(tables.payouts).values(sent=1e9))
        set_caps(store, month=Decimal("0.50"))
    with pytest.raises(
        InputError, match=r"may cost 0\.50 this month, 0\.00 is spent or promised, and this is 0\.56 more"
    ):
        study.command("pay", "--bonus", "0.20", "--yes")
    assert study.command("pay", "--bonus", "0.20", "--yes", "--month-cap", "0.60") == 0
    assert len(study.prolific.paid) == 2
    capsys.readouterr()


# What may be said of a payment


def test_only_and_except_name_whom_to_pay_this_time(study, capsys):
    first, second = worked(study)
    with pytest.raises(InputError, match="nobody: no visit with answers"):
        study.command("pay", "--only", "nobody")
    study.command("pay", "--only", first, "--yes")
    assert [study.prolific.submissions[name]["status"] for name in (first, second)] == ["APPROVED", "AWAITING REVIEW"]
    study.command("pay", "--bonus", "0.20", "--except", first, "--yes")
    assert study.prolific.paid == [f"{second},0.20"]
    capsys.readouterr()


def test_a_held_visit_is_paid_when_it_is_released(study, capsys):
    first, second = worked(study)
    for words in (("--hold", first), ("--why", "too fast")):
        with pytest.raises(InputError, match="go together"):
            study.command("pay", *words)
    study.command("pay", "--hold", first, "--why", "too fast")
    study.command("pay", "--yes")
    assert f"held       {first}: too fast" in capsys.readouterr().out
    assert study.prolific.submissions[first]["status"] == "AWAITING REVIEW"
    assert study.prolific.submissions[second]["status"] == "APPROVED"
    study.command("pay", "--release", first)
    study.command("pay", "--yes")
    assert study.prolific.submissions[first]["status"] == "APPROVED"
    for words in (("--release", first), ("--hold", "nobody", "--why", "x")):
        with pytest.raises(InputError, match=r"is not held|is no visit"):
            study.command("pay", *words)
    capsys.readouterr()


def test_bonuses_of_a_list_and_several_of_different_names(study, tmp_path, capsys):
    first, second = worked(study)
    table = tmp_path / "bonuses.csv"
    table.write_text(f"visit,amount\n{first},1.25\np1,0.40\n")  # a visit, and a worker
    for _ in range(2):
        study.command("pay", "--bonuses", str(table), "--yes")
    study.command("pay", "--bonus", "0.40", "--bonus-name", "referral", "--yes")
    assert sorted(study.prolific.paid) == sorted([f"{first},1.25", f"{second},0.40", f"{first},0.40", f"{second},0.40"])
    assert {row.purpose for row in study.ledger("confirmed")} >= {"bonus", "bonus referral"}
    table.write_text("visit,amount\nstranger,1.25\n")
    with pytest.raises(InputError, match="stranger: no visit"):
        study.command("pay", "--bonuses", str(table), "--yes")
    table.write_text(f"visit,amount\n{first},1.25\n{first},1.00\n")
    with pytest.raises(InputError, match="twice"):
        study.command("pay", "--bonuses", str(table), "--yes")
    capsys.readouterr()


def test_equal_bonuses_of_two_names_wait_for_each_other_and_are_both_paid(study, capsys):
    (name,) = worked(study, people=1)
    study.prolific.slow = True
    study.command("pay", "--bonus", "0.20", "--yes")
    assert study.command("pay", "--bonus", "0.20", "--bonus-name", "second", "--yes") == 1
    study.prolific.deliver()
    for _ in range(2):
        assert study.command("pay", "--bonus", "0.20", "--bonus-name", "second", "--yes") == 0
        study.prolific.deliver()
    assert study.prolific.paid == [f"{name},0.20"] * 2
    assert {row.state for row in study.ledger() if row.purpose.startswith("bonus")} == {"confirmed"}
    capsys.readouterr()


def take(study, minutes):
    """Every visit took so long."""
    s = tables.sittings.c
    with opened(study.folder, None) as store, store.write() as connection:
        connection.execute(sa.update(tables.sittings).values(finished=s.begun + 60 * minutes))


def test_pay_below_the_floor_is_said_and_topped_up_once(study, capsys):
    names = worked(study)
    take(study, 30)  # 1.50 for half an hour
    capsys.readouterr()
    study.command("pay")
    assert (
        "pay        3.00 GBP an hour, 30.0 minutes by the median of 2 finished visits, below 6.00"
        in capsys.readouterr().out
    )
    for _ in range(2):
        study.command("pay", "--top-up", "--yes")
    assert study.prolific.paid == [f"{name},1.50" for name in names]
    capsys.readouterr()
    study.command("pay", "--top-up", "--least-hourly", "3.00")
    assert "top-up     " not in capsys.readouterr().out
    assert pace_of([], Decimal(1)) is None


def test_a_rejection_has_prolifics_reasons_and_goes_out_once(study, capsys):
    first, second = worked(study)
    with pytest.raises(InputError, match="--category is GUESS; Prolific takes TOO_QUICKLY, "):
        study.command("reject", "--submission", first, "--category", "GUESS", "--message", WHY)
    with pytest.raises(InputError, match="has 5 letters; Prolific asks for 100"):
        study.command("reject", "--submission", first, "--category", "FAILED_CHECK", "--message", "Sorry")
    words = ("reject", "--submission", first, "--category", "FAILED_CHECK", "--message", WHY)
    study.command(*words)
    assert (
        study.prolific.submissions[first]["status"] == "AWAITING REVIEW"
        and "Nothing was sent" in capsys.readouterr().out
    )
    assert study.command(*words, "--yes") == 0
    assert study.prolific.submissions[first]["status"] == "REJECTED"
    study.command("pay", "--yes")
    assert study.prolific.submissions[first]["status"] == "REJECTED"
    assert study.prolific.submissions[second]["status"] == "APPROVED"
    with pytest.raises(InputError, match="is rejected, so it cannot be rejected"):
        study.command(*words, "--yes")
    capsys.readouterr()


# Money that moved without these commands


def test_books_count_places_bought_on_prolific(study, capsys):
    worked(study)
    with opened(study.folder, None) as store:
        set_caps(store, total=Decimal("7.00"))
    study.prolific.studies[study.study]["total_available_places"] = 5
    capsys.readouterr()
    for _ in range(2):
        study.command("verify")
    said = capsys.readouterr().out
    assert said.count("2 places were bought on Prolific's page: 4.20 GBP booked.") == 1
    assert "more than the cap of 7.00" in said
    assert sum(row.amount for row in study.ledger() if row.purpose == "places") == Decimal("7.50")
    with pytest.raises(InputError, match=r"may cost 7\.00 in all"):
        study.command("extend", "--sittings", "1", "--yes")


def test_a_study_that_has_ended_is_booked_as_prolific_bills_it(study, capsys):
    worked(study)  # two came for three places
    study.command("pay", "--yes")
    study.prolific.studies[study.study]["status"] = "COMPLETED"
    capsys.readouterr()
    for _ in range(2):
        study.command("verify")
    assert capsys.readouterr().out.count("The study has ended and its places cost 4.20 GBP: -2.10 booked.") == 1
    study.command("payments")
    assert capsys.readouterr().out.splitlines()[1].split()[-3:] == [
        "0.20",
        "4.20",
        "GBP",
    ]  # VAT to the cent of the bill


def test_people_are_paid_where_prolific_does_not_say_what_the_study_cost(study, capsys):
    worked(study)
    study.prolific.faults = [("GET", "/studies/ID/cost/")] * 10
    assert study.command("pay", "--yes") == 0
    study.prolific.studies[study.study]["status"] = "COMPLETED"
    capsys.readouterr()
    study.command("verify")
    assert "Prolific does not say now what it cost." in capsys.readouterr().out
    assert [row["VAT"] for row in lines(study, capsys)] == ["0.00"] * 3
    study.prolific.faults = []
    study.command("verify")
    assert [row["VAT"] for row in lines(study, capsys) if row["purpose"] in ("places", "refund")] == ["0.30", "-0.10"]
