"""A whole study on Prolific: draft, participants, settlement, over HTTP against the endpoint on this machine."""

import pytest

from crowd.__main__ import COMMANDS
from crowd.exchange import exporting
from crowd.study_folder import opened
from dialogue.command_line import dispatch
from dialogue.errors import InputError
from dialogue.files import read_json
from tests.crowd.marketplaces.prolific_endpoint import serve
from tests.crowd.marketplaces.study import Person, make_study, served


class Study:
    """A study that is served, and Prolific beside it."""

    def __init__(self, folder, app, url, prolific):
        self.folder, self.app, self.url, self.prolific = folder, app, url, prolific

    def command(self, name, *arguments):
        return dispatch("crowd", "", COMMANDS, [name, str(self.folder), *arguments])

    def launch(self, *arguments):
        return self.command("launch", "--prolific", "--public-url", self.url, *arguments)

    def publish(self):
        """What the researcher does on Prolific's page."""
        self.study = read_json(self.folder / "prolific.json")["study"]
        self.prolific.studies[self.study]["status"] = "ACTIVE"

    def work(self, participant, prefers="a"):
        """Take a place, work through the sitting, go back with the code of the last page."""
        submission = self.prolific.join(self.study, participant)
        person = Person(self.app, "prolific", participant, prefers, sitting=submission)
        person.work()
        code = person.end().split("complete?cc=")[1].split('"')[0]
        self.prolific.complete(submission, code)
        return submission

    def votes(self):
        with opened(self.folder, None) as store, store.read() as connection:
            return exporting.export(connection, votes_per_pair=3).votes


@pytest.fixture
def study(tmp_path, monkeypatch):
    server = serve()
    monkeypatch.setenv("PROLIFIC_API_URL", server.url)
    monkeypatch.setenv("PROLIFIC_TOKEN", "example")
    app = make_study(tmp_path, pay_per_sitting=1.5, currency="GBP")
    with served(app) as url:
        yield Study(tmp_path, app, url, server.prolific)
    app.extensions["desk"].store.close()
    server.shutdown()
    server.server_close()


def test_without_yes_no_draft_is_made(study, capsys):
    study.launch("--fee-percent", "33.3")
    said = capsys.readouterr().out
    assert "3 sittings x (1.50 reward + 0.4995 fee) = 6.00 GBP at most" in said and "Nothing was created" in said
    assert not study.prolific.studies


def test_a_study_from_draft_to_verified_votes(study, capsys):
    study.launch("--yes")
    study.publish()
    assert study.prolific.studies[study.study]["total_available_places"] == 3
    submissions = [study.work(f"p{n}") for n in range(3)]
    assert {study.prolific.submissions[name]["study_code"] for name in submissions} == {"CDONE"}
    study.command("pay", "--bonus", "0.20")
    assert study.prolific.paid == [] and "3 x 0.20" in capsys.readouterr().out
    for _ in range(2):
        study.command("pay", "--bonus", "0.20", "--yes")
    assert {row["status"] for row in study.prolific.submissions.values()} == {"APPROVED"}
    assert study.prolific.paid == [f"{name},0.20" for name in submissions]
    assert len(study.votes()) == 18 and all(vote.counted and vote.extra["verified"] for vote in study.votes())


def test_who_is_screened_out_is_approved_for_what_was_done(study, capsys):
    study.launch("--yes")
    study.publish()
    submission = study.work("p0", prefers="b")
    assert study.prolific.submissions[submission]["study_code"] == "COUT"
    study.command("pay", "--yes")
    assert study.prolific.submissions[submission]["status"] == "APPROVED"
    study.command("extend", "--sittings", "1", "--yes")
    assert study.prolific.studies[study.study]["total_available_places"] == 4
    capsys.readouterr()


def test_recruiting_is_stopped_and_started_again(study, capsys):
    study.launch("--yes")
    study.publish()
    study.command("expire", "--yes")
    assert study.prolific.join(study.study, "p0") is None
    study.command("resume", "--yes")
    assert study.prolific.join(study.study, "p0")
    capsys.readouterr()


def test_an_interrupted_launch_makes_no_second_draft(study, capsys):
    study.launch("--yes")
    record = read_json(study.folder / "prolific.json")
    (study.folder / "prolific.json").write_text(str(record | {"study": ""}).replace("'", '"'))
    study.launch("--yes")
    assert read_json(study.folder / "prolific.json") == record and len(study.prolific.studies) == 1
    capsys.readouterr()


def test_a_budget_needs_the_accounts_fee(study):
    with pytest.raises(InputError, match="--budget needs --fee-percent"):
        study.launch("--budget", "10")
    with pytest.raises(InputError, match=r"may cost 6\.43"):
        study.launch("--budget", "6", "--fee-percent", "42.8", "--yes")
    assert not study.prolific.studies


def test_a_study_on_two_marketplaces_asks_which(study, capsys):
    study.launch("--yes")
    (study.folder / "mturk.json").write_text("{}")
    with pytest.raises(InputError, match="add --mturk or --prolific"):
        study.command("expire")
    study.command("expire", "--prolific")
    capsys.readouterr()
