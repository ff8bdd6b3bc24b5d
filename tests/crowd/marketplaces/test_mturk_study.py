"""A whole study on Mechanical Turk: launch, workers, settlement, over HTTP against the endpoint on this machine."""

from decimal import Decimal

import boto3
import pytest

from crowd.__main__ import COMMANDS
from crowd.exchange import exporting
from crowd.marketplaces import settling
from crowd.rating.assignment import AssignmentRules
from crowd.study_folder import opened
from dialogue.command_line import dispatch
from dialogue.errors import InputError
from dialogue.files import read_json
from tests.crowd.marketplaces.mturk_endpoint import serve
from tests.crowd.marketplaces.study import Person, make_study, served, write_pairs


class Study:
    """A study that is served, and the marketplace beside it."""

    def __init__(self, folder, app, url, turk, site):
        self.folder, self.app, self.url, self.turk, self.site = folder, app, url, turk, site

    def command(self, name, *arguments):
        return dispatch("crowd", "", COMMANDS, [name, str(self.folder), *arguments])

    def launch(self, *arguments):
        return self.command("launch", "--mturk", "--sandbox", "--public-url", self.url, *arguments)

    def hits(self):
        return [hit["hit"] for hit in read_json(self.folder / "mturk.json")["hits"]]

    def work(self, worker, prefers="a", hit=0, hand_in=True):
        """Accept a HIT, work through the sitting, hand the form in."""
        assignment = self.turk.accept(self.hits()[hit], worker)
        person = Person(self.app, "mturk", worker, prefers, sitting=assignment, site=self.site)
        person.work()
        if hand_in:
            assert self.turk.submit({"assignmentId": assignment, "answers": "8"})
        return assignment

    def export(self):
        with opened(self.folder, None) as store, store.read() as connection:
            return exporting.export(connection, votes_per_pair=3).votes


@pytest.fixture
def study(tmp_path, monkeypatch):
    server = serve()
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "example")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    app = make_study(tmp_path, sites=(server.url,), pay_per_sitting=0.75)
    with served(app) as url:
        yield Study(tmp_path, app, url, server.turk, server.url)
    app.extensions["desk"].store.close()
    server.shutdown()
    server.server_close()


def test_without_yes_the_price_is_printed_and_nothing_is_created(study, capsys):
    study.launch()
    said = capsys.readouterr().out
    assert "3 sittings x (0.75 reward + 0.15 fee) = 2.70 USD at most" in said and "Nothing was created" in said
    again = f"python -m crowd launch {study.folder} --mturk --public-url {study.url} --sandbox --yes"
    assert said.endswith(f"Next: {again}\n")
    assert not study.turk.calls["CreateHITWithHITType"] and not (study.folder / "mturk.json").exists()


def test_a_study_from_launch_to_verified_votes(study, capsys):
    study.launch("--yes")
    for worker in ("AW1", "AW2", "AW3"):
        study.work(worker)
    assert {vote.extra["verified"] for vote in study.export()} == {False}
    capsys.readouterr()
    study.command("pay")
    assert "3 sittings x (0.75" in capsys.readouterr().out
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


def test_a_worker_that_the_marketplace_does_not_know_is_not_counted_in_the_end(study, monkeypatch, capsys):
    study.launch("--yes")
    study.work("AW1")
    Person(study.app, "mturk", "AFORGED", sitting="A" * 30, site=study.site).work()
    study.command("pay", "--yes")
    assert sum(vote.counted for vote in study.export()) == 12, "its time is not over yet"
    with monkeypatch.context() as later:
        later.setattr("time.time", lambda: 4e9)
        study.command("pay", "--yes")
    assert "set 6 votes aside" in capsys.readouterr().out
    counted = [vote for vote in study.export() if vote.counted]
    assert len(counted) == 6 and all(vote.extra["verified"] for vote in counted)
    for worker in ("AW2", "AW3"):
        study.work(worker)
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
    study.command("extend")
    assert "1 sittings" in capsys.readouterr().out and len(study.hits()) == 1
    study.command("extend", "--yes")
    assert len(study.hits()) == 2
    study.work("AW3", hit=1)
    study.command("extend", "--yes")
    assert "Every pair has its votes" in capsys.readouterr().out


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
    assert not study.turk.hits and not (study.folder / "mturk.json").exists()


def test_pairs_that_changed_after_the_launch_are_refused(study):
    study.launch("--yes")
    write_pairs(study.folder / "pairs.jsonl", reals=7)
    with pytest.raises(InputError, match="has changed since the launch"):
        study.launch("--yes")


def test_a_study_does_not_wander_from_the_sandbox_to_real_workers(study):
    study.launch("--yes")
    with pytest.raises(InputError, match="was launched with sandbox True, not False"):
        study.command("launch", "--mturk", "--public-url", study.url, "--yes")


def test_a_server_that_the_marketplace_may_not_frame_is_noticed(study, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", "https://elsewhere.example")
    with pytest.raises(InputError, match="does not let https://workersandbox"):
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


def test_votes_are_taken_back_from_the_pool_once(study):
    study.launch("--yes")
    study.work("AW1", hand_in=False)
    with opened(study.folder, None) as store:
        for expected in (6, 0):
            with store.write() as connection:
                stale = settling.visits(connection, "mturk")
                assert settling.set_aside(connection, stale, AssignmentRules(), 0.0) == expected


def test_every_command_ends_with_a_command_that_can_be_typed_next(study, capsys):
    folder = study.folder
    walk = [
        ("launch", ["--mturk", "--sandbox", "--public-url", study.url, "--yes"], f"status {folder}"),
        ("pay", ["--bonus", "0.10"], f"pay {folder} --bonus 0.10 --yes"),
        ("pay", ["--yes"], f"export {folder}"),
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
