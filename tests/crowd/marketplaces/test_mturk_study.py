"""A whole study on Mechanical Turk: launch, workers, settlement, over HTTP against the endpoint on this machine."""

from decimal import Decimal

import pytest

from seedvote.dialogue.errors import InputError
from tests.crowd.marketplaces.mturk_study import mturk_study
from tests.crowd.marketplaces.study import Person, write_pairs


@pytest.fixture
def study(tmp_path, monkeypatch):
    with mturk_study(tmp_path, monkeypatch) as found:
        yield found


def test_without_yes_the_price_is_printed_and_nothing_is_created(study, capsys):
    study.launch()
    said = capsys.readouterr().out
    assert "3 sittings x (0.75 reward + 0.15 fee) = 2.70 USD at most" in said and "Nothing was created" in said
    assert said.splitlines()[1].startswith("  closing   Mechanical Turk closed on 30 September 2026")
    again = f"python -m crowd launch {study.folder} --mturk --public-url {study.url} --sandbox --yes"
    assert said.endswith(f"Next: {again}\n")
    assert not study.turk.calls["CreateHITWithHITType"] and study.record() is None


def test_a_study_from_launch_to_verified_votes(study, capsys):
    study.launch("--yes")
    for worker in ("AW1", "AW2", "AW3"):
        study.work(worker)
    assert {vote.extra["verified"] for vote in study.export()} == {False}
    capsys.readouterr()
    study.command("pay")
    assert "reward     3 x, 2.25 USD" in capsys.readouterr().out
    assert not study.turk.calls["ApproveAssignment"]
    study.command("pay", "--bonus", "0.10", "--yes")
    assert {row["AssignmentStatus"] for row in study.turk.assignments.values()} == {"Approved"}
    votes = study.export()
    assert len(votes) == 18 and all(vote.counted and vote.extra["verified"] for vote in votes)
    study.command("pay", "--bonus", "0.10", "--yes")
    assert len(study.turk.bonuses) == 3 == study.turk.calls["ApproveAssignment"]


def test_a_launch_typed_twice_is_one_launch(study, capsys):
    study.launch("--yes")
    before = study.hits()
    study.launch("--yes")
    assert study.hits() == before and len(study.turk.hits) == 1
    assert "0 sittings" in capsys.readouterr().out


def test_unknown_worker_is_not_counted_in_the_end(study, monkeypatch, capsys):
    study.launch("--yes")
    study.work("AW1")
    Person(study.app, "mturk", "AFORGED", sitting="A" * 30, site=study.site).work()
    study.command("pay", "--yes")
    assert sum(vote.counted for vote in study.export()) == 6 == study.progress().waiting, "its time is not over yet"
    with monkeypatch.context() as later:
        later.setattr("time.time", lambda: 4e9)
        study.command("pay", "--yes")
    assert "1 never listed" in capsys.readouterr().out and study.progress().waiting == 0
    counted = [vote for vote in study.export() if vote.counted]
    assert len(counted) == 6 and all(vote.extra["verified"] for vote in counted)
    for worker in ("AW2", "AW3"):
        study.work(worker)
    study.command("verify")
    assert sum(vote.counted for vote in study.export()) == 18


def test_another_workers_assignment_is_nobodys_work(study):
    study.launch("--yes")
    assignment = study.turk.accept(study.hits()[0], "AW1")
    Person(study.app, "mturk", "ATHIEF", sitting=assignment, site=study.site).work()
    study.turk.submit({"assignmentId": assignment, "answers": "8"})
    study.command("pay", "--yes")
    assert not study.turk.calls["ApproveAssignment"] and not study.turk.calls["RejectAssignment"]
    assert not any(vote.extra["verified"] for vote in study.export())


def test_a_blocked_worker_is_paid_and_sees_no_further_hit(study):
    study.launch("--yes")
    assignment = study.work("ABAD", prefers="b")
    assert not any(vote.counted for vote in study.export())
    study.command("pay", "--yes")
    assert study.turk.assignments[assignment]["AssignmentStatus"] == "Approved"
    study.command("extend", "--yes")
    assert study.turk.accept(study.hits()[-1], "ABAD") is None and study.turk.accept(study.hits()[-1], "AGOOD")
    assert not study.turk.calls["CreateWorkerBlock"]


@pytest.mark.parametrize("more", ["extend", "resume"])
def test_a_blocked_worker_is_closed_out_before_work_is_offered_again(study, more):
    study.launch("--yes")
    study.work("ABAD", prefers="b")
    study.command("verify")
    study.command("expire", "--yes")
    study.command(more)
    assert not any(study.turk.granted.values())
    study.command(more, "--yes")
    assert study.turk.accept(study.hits()[-1], "ABAD") is None and study.turk.accept(study.hits()[-1], "AGOOD")
    assert not study.turk.calls["ApproveAssignment"]


def test_more_sittings_are_added_only_for_votes_that_are_missing(study, capsys):
    study.launch("--yes")
    for worker in ("AW1", "AW2"):
        study.work(worker)
    study.work("ABAD", prefers="b")
    capsys.readouterr()
    study.command("extend")
    assert "1 sittings x" in capsys.readouterr().out and len(study.hits()) == 1
    study.command("extend", "--yes")
    assert len(study.hits()) == 2
    study.work("AW3", hit=1)
    study.command("extend", "--yes")
    assert "There is nothing to add" in capsys.readouterr().out


def test_a_study_is_closed_and_opened_again(study, capsys):
    study.launch("--yes")
    study.command("expire")
    assert study.turk.accept(study.hits()[0], "AW1")
    study.command("expire", "--yes")
    assert study.turk.accept(study.hits()[0], "AW2") is None
    study.command("resume", "--yes")
    assert study.turk.accept(study.hits()[0], "AW2")
    capsys.readouterr()


def test_a_budget_below_the_price_stops_everything(study):
    with pytest.raises(InputError, match=r"may cost 2\.70"):
        study.launch("--yes", "--budget", "2.69")
    assert not study.turk.hits


def test_an_account_with_too_little_money_creates_nothing(study):
    study.turk.available = Decimal("1.00")
    with pytest.raises(InputError, match=r"holds 1\.00 USD"):
        study.launch("--yes")
    assert not study.turk.hits and study.record() is None


def test_pairs_that_changed_after_the_launch_are_refused(study):
    study.launch("--yes")
    write_pairs(study.folder / "pairs.jsonl", reals=7)
    with pytest.raises(InputError, match="has changed since the launch"):
        study.launch("--yes")


def test_a_study_does_not_wander_from_the_sandbox_to_real_workers(study):
    study.launch("--yes")
    with pytest.raises(InputError, match="was launched with sandbox True, not False"):
        study.command("launch", "--mturk", "--public-url", study.url, "--live", "--yes")


def test_without_live_no_real_worker_is_reached(study, capsys):
    study.command("launch", "--mturk", "--public-url", study.url, "--yes")
    assert "the sandbox: no money, no real workers" in capsys.readouterr().out
    with pytest.raises(InputError, match="two places"):
        study.command("launch", "--mturk", "--public-url", study.url, "--live", "--sandbox")


def test_pay_below_the_least_is_refused_where_it_is_real(study):
    with pytest.raises(InputError, match=r"the pay is 3\.00 USD an hour, below 7\.25"):
        study.command("launch", "--mturk", "--public-url", study.url, "--live", "--yes")
    assert not study.turk.hits


def test_a_server_that_the_marketplace_may_not_frame_is_noticed(study, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", "https://elsewhere.example")
    with pytest.raises(InputError, match="turns the test worker away"):
        study.launch()


def test_a_server_that_is_not_ours_or_not_there_is_noticed(study):
    with pytest.raises(InputError, match="it is not our server"):
        study.command("launch", "--mturk", "--public-url", study.site)
    with pytest.raises(InputError, match="does not answer"):
        study.command("launch", "--mturk", "--public-url", "http://127.0.0.1:9")


def test_what_was_never_launched_cannot_be_settled(study):
    for command in ("pay", "extend", "expire"):
        with pytest.raises(InputError, match=r"not been launched on a marketplace\. Launch it: python -m crowd launch"):
            study.command(command)


def test_every_command_ends_with_a_command_that_can_be_typed_next(study, capsys):
    folder = study.folder
    walk = [
        ("launch", ["--mturk", "--sandbox", "--public-url", study.url, "--yes"], f"status {folder}"),
        ("pay", ["--bonus", "0.10"], f"pay {folder} --bonus 0.10 --yes"),
        ("pay", ["--yes"], f"export {folder}"),
        ("verify", [], f"status {folder}"),
        ("extend", ["--sittings", "2", "--days", "3"], f"extend {folder} --days 3 --sittings 2 --yes"),
        ("extend", ["--sittings", "2", "--yes"], f"status {folder}"),
        ("pause", [], f"resume {folder}"),
        ("resume", [], f"resume {folder} --yes"),
        ("resume", ["--yes"], f"status {folder}"),
        ("stop", [], f"expire {folder}"),
        ("expire", ["--mturk"], f"expire {folder} --mturk --yes"),
        ("expire", ["--yes"], f"pay {folder}"),
    ]
    for name, words, following in walk:
        study.command(name, *words)
        assert capsys.readouterr().out.endswith(f"\nNext: python -m crowd {following}\n"), name


def test_an_extension_below_its_price_is_refused_before_anything_is_added(study):
    study.launch("--yes")
    with pytest.raises(InputError, match=r"budget is 1\.00 USD, but this may cost 1\.80"):
        study.command("extend", "--sittings", "2", "--budget", "1.00", "--yes")
    assert len(study.hits()) == 1


# What went wrong once


def test_extend_right_after_launch_buys_nothing(study, capsys):
    study.launch("--yes")
    study.command("extend", "--yes")
    assert "3 sittings are needed, 3 places are open" in capsys.readouterr().out
    assert len(study.hits()) == 1 and len(study.turk.hits) == 1


def test_places_in_work_are_open_and_those_of_a_deleted_hit_are_not(study, capsys):
    study.launch("--yes")
    assert study.turk.accept(study.hits()[0], "AW1")
    study.command("extend", "--yes")
    assert len(study.turk.hits) == 1
    del study.turk.hits[study.hits()[0]]
    study.command("extend", "--yes")
    assert len(study.turk.hits) == 1 and sum(hit["MaxAssignments"] for hit in study.turk.hits.values()) == 3
    capsys.readouterr()


def test_stopped_extension_is_finished_first(study, capsys):
    study.launch("--yes")
    study.turk.available = Decimal("0.00")
    with pytest.raises(InputError, match=r"holds 0\.00 USD"):
        study.command("extend", "--sittings", "2", "--yes")
    study.turk.available, study.turk.refuses = Decimal("100.00"), {"CreateHITWithHITType"}
    with pytest.raises(InputError, match="MTurk is busy"):
        study.command("extend", "--sittings", "2", "--yes")
    study.turk.refuses = set()
    study.command("extend", "--sittings", "2", "--yes")
    assert sum(hit["MaxAssignments"] for hit in study.turk.hits.values()) == 5
    assert "2 places of an earlier command" in capsys.readouterr().out


def test_failing_stranger_stops_no_command(study, capsys):
    study.launch("--yes")
    name = study.work("AW1")
    Person(study.app, "mturk", "not-a-worker", "b", sitting="made-up", site=study.site).work()
    study.command("pay", "--yes")
    assert study.turk.assignments[name]["AssignmentStatus"] == "Approved"
    for command in ("extend", "resume"):
        study.command(command, "--yes")
    assert not study.turk.calls["AssociateQualificationWithWorker"]
    assert sum(vote.counted for vote in study.export()) == 6
    capsys.readouterr()


def test_one_payment_that_fails_stops_no_other(study, capsys):
    study.launch("--yes")
    names = [study.work(f"AW{n}") for n in range(3)]
    study.turk.assignments[names[1]]["refuse"] = True
    capsys.readouterr()
    study.command("pay", "--yes")
    said = capsys.readouterr().out
    assert said.count("approved   ") == 2 and f"refused        0.75  {names[1]}" in said
    assert [study.turk.assignments[name]["AssignmentStatus"] for name in names] == ["Approved", "Submitted", "Approved"]
    del study.turk.assignments[names[1]]["refuse"]
    study.command("pay", "--yes")
    assert {row["AssignmentStatus"] for row in study.turk.assignments.values()} == {"Approved"}


def test_a_deleted_hit_does_not_un_count_votes_that_were_verified_and_paid(study, monkeypatch, capsys):
    study.launch("--yes")
    for worker in ("AW1", "AW2", "AW3"):
        study.work(worker)
    study.command("pay", "--yes")
    study.turk.hits.clear()
    with monkeypatch.context() as later:
        later.setattr("time.time", lambda: 4e9)
        study.command("pay", "--yes")
        study.command("verify")
    assert sum(vote.counted for vote in study.export()) == 18
    capsys.readouterr()
    study.command("extend")
    assert "0 sittings are needed" in capsys.readouterr().out


def test_a_rejected_assignment_no_longer_counts(study, capsys):
    study.launch("--yes")
    name = study.work("AW1")
    study.command("verify")
    study.turk.assignments[name]["AssignmentStatus"] = "Rejected"
    study.command("verify")
    assert not any(vote.counted for vote in study.export()) and study.progress().waiting == 0
    capsys.readouterr()


def test_two_forged_visits_under_a_known_worker_id_change_nothing(study, monkeypatch, capsys):
    study.launch("--yes")
    study.work("AW1")
    study.command("pay", "--yes")
    for n in range(2):
        Person(study.app, "mturk", "AW1", "b", sitting=f"forged{n}", site=study.site).work()
    study.command("pay", "--yes")
    with monkeypatch.context() as later:
        later.setattr("time.time", lambda: 4e9)
        study.command("pay", "--yes")
    assert sum(vote.counted for vote in study.export()) == 6
    assert not any(study.turk.granted.values())
    capsys.readouterr()


def test_other_doors_of_a_server_for_mturk_are_shut(study, capsys):
    study.launch("--yes")
    for source in ("prolific", "local"):
        assert Person(study.app, source, "evil").arrive().status_code == 403
    capsys.readouterr()


def test_a_cap_is_kept_and_no_command_goes_beyond_it(study, capsys):
    study.launch("--yes", "--cap", "2.80")
    with pytest.raises(InputError, match=r"may cost 2\.80 in all, 2\.70 is spent or promised, and this is 0\.90 more"):
        study.command("extend", "--sittings", "1", "--yes")
    study.work("AW1")
    with pytest.raises(InputError, match="may cost 2"):
        study.command("pay", "--bonus", "0.50", "--yes")
    assert not study.turk.bonuses and not study.turk.calls["ApproveAssignment"]
    with pytest.raises(InputError, match=r"--cap is 1\.00, but 2\.70"):
        study.command("extend", "--sittings", "1", "--yes", "--cap", "1.00")
    study.command("pay", "--bonus", "0.50", "--cap", "4.00", "--yes")
    assert len(study.turk.bonuses) == 1
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--minutes", "-5"), "--minutes is -5; it must be a whole number, 1 or more"),
        (("--minutes", "2000"), "1440 or less"),
        (("--approval-rate", "950"), "--approval-rate is 950; it must be a whole number, 100 or less"),
        (("--approval-rate", "-1"), "0 or more"),
        (("--locale", "ENGLAND"), "names 'ENGLAND'; a country has two letters"),
        (("--locale", "UK"), "The United Kingdom is GB"),
        (("--days", "0"), "1 or more"),
        (("--pass-rate", "51"), "not a share above 0 and up to 1"),
        (("--budget", "-5"), "not an amount of money"),
    ],
)
def test_every_option_has_its_range(study, words, said):
    with pytest.raises(InputError, match=said):
        study.launch(*words)


def test_an_address_of_this_machine_is_no_live_address(study, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", "https://mturk.example.org")
    with pytest.raises(InputError, match="not an https:// address"):
        study.command("launch", "--mturk", "--live", "--public-url", study.url)
