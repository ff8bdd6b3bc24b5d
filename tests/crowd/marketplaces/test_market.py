"""The table of marketplaces: what follows from a row, and that a new one needs nothing but a row."""

import argparse
import dataclasses
from typing import get_args

import pytest

from seedvote.crowd import arguments
from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.exchange.exporting import HERE
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.hit.tables import PanelDoor
from seedvote.crowd.marketplaces import market
from seedvote.crowd.marketplaces.options import LaunchOptions, option, wordings
from seedvote.crowd.rating.leasing import Step
from seedvote.crowd.store.launches import write_record
from seedvote.crowd.study_folder import opened
from seedvote.crowd.web.entrance import way_back
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Source
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.marketplaces.study import make_study


@dataclasses.dataclass(frozen=True, slots=True)
class FairOptions(LaunchOptions):
    stalls: int = option(3, "stalls at the fair (default: 3)", least=1, commands=("launch", "resume"))


class Fair:
    """A marketplace that takes down what is asked of it."""

    title, source = "The fair", "fair"

    def __init__(self, options, store):
        self.options = options

    def allow_entry(self):
        return f"{self.options.stalls} stalls are open."

    def stop_entry(self):
        return "The fair is over."

    def close_to(self, workers):
        raise AssertionError(workers)

    def list_tasks(self):
        return []


class FairEntrance:
    source = "fair"

    def read_arrival(self, query):
        return None

    def find_way_out(self, visit, place):
        return None

    def find_refusal_way(self, visit):
        return None


@pytest.fixture
def table(monkeypatch):
    """The table with a fourth row, and nothing else changed."""
    row = market.Marketplace(
        "fair", "The fair", "a stall", FairOptions, Fair, market=Fair, entrance=lambda *_: FairEntrance()
    )
    rows = (*market.MARKETPLACES, row)
    for module in (market, arguments):
        monkeypatch.setattr(module, "MARKETPLACES", rows)
    return rows


@pytest.fixture
def folder(tmp_path):
    store = make_study(tmp_path).extensions["desk"].store
    with store.write() as connection:
        write_record(connection, "fair", {})
    store.close()
    return tmp_path


def crowd(*words):
    return dispatch("crowd", "", COMMANDS, [str(word) for word in words])


def parser(command, add=arguments.add_launched):
    made = argparse.ArgumentParser()
    add(made, command) if add is arguments.add_launched else add(made)
    return made


def test_every_source_of_a_vote_is_here_or_in_the_table():
    assert [row.source for row in market.MARKETPLACES] == ["mturk", "prolific", "panel", "mephisto"]
    assert {row.source for row in market.MARKETPLACES} | set(HERE) == set(get_args(Source))


def test_options_of_two_marketplaces_never_share_a_name():
    own = [set(wordings(row.options)) - set(wordings(LaunchOptions)) for row in market.MARKETPLACES]
    assert sum(map(len, own)) == len(set().union(*own))


def test_a_new_row_brings_its_flag_and_options(table):
    made = parser("launch", arguments.add_launch).parse_args(["runs/x", "--fair", "--stalls", "5"])
    assert arguments.chosen(made)[0].title == "The fair"
    assert arguments.options_of(made, FairOptions).stalls == 5
    assert "--stalls" not in parser("expire").format_help() and "--fair" in parser("expire").format_help()


def test_a_new_row_brings_its_entrance_and_knows_its_launches(table, folder):
    assert isinstance(market.usual_entrances(Hit(), "")[-1], FairEntrance)
    with opened(folder, None) as store:
        assert [row.source for row in market.launched_on(store)] == ["fair"]


def test_commands_work_on_a_new_row_and_end_with_the_next_command(table, folder, capsys):
    crowd("resume", folder, "--stalls", "9")
    assert capsys.readouterr().out.endswith(
        f"Add --yes to let The fair send raters again.\nNext: python -m crowd resume {folder} --stalls 9 --yes\n"
    )
    crowd("resume", folder, "--stalls", "9", "--yes")
    assert capsys.readouterr().out.endswith(f"9 stalls are open.\nNext: python -m crowd status {folder}\n")
    crowd("expire", folder, "--yes")
    assert capsys.readouterr().out == f"The fair is over.\nNext: python -m crowd pay {folder}\n"


def test_a_wrong_option_changes_nothing(table, folder, capsys):
    crowd("stop", folder)
    assert capsys.readouterr().out.endswith(f"Next: python -m crowd expire {folder}\n")
    with pytest.raises(InputError, match="--stalls is 0; it must be a whole number, 1 or more"):
        crowd("resume", folder, "--stalls", "0")
    crowd("status", folder)
    assert "stopped" in capsys.readouterr().out


def test_what_was_typed_is_typed_again_without_defaults():
    typed = [
        "runs/my study",
        "--mturk",
        "--days",
        "7",
        "--locale",
        "US",
        "--budget",
        "12.50",
        "--database",
        "sqlite://",
    ]
    made = parser("launch", arguments.add_launch).parse_args([*typed, "--port", "0", "--yes"])
    assert arguments.again(made) == [
        *("runs/my study", "--mturk", "--budget", "12.50", "--locale", "US", "--port", "0", "--database", "sqlite://")
    ]


def test_entrances_leave_each_others_visitors_alone():
    for row in market.MARKETPLACES:
        if row.entrance:
            entrance = row.entrance(Hit(panel=PanelDoor("C")), "https://www.mturk.com")
            assert entrance.read_arrival({"rater": "r"}) is None
            visit = {"source": "local", "sitting": "1", "worker": "r"}
            assert entrance.source == row.source and way_back([entrance], visit, Step("done", done=1)) is None


def test_a_marketplace_that_pays_by_itself_says_so(tmp_path):
    with pytest.raises(InputError, match="Mephisto pays its workers by itself"):
        market.MARKETPLACES[-1].open_market(LaunchOptions(tmp_path), None)


@pytest.mark.parametrize("command", ["pay", "verify", "extend"])
def test_a_run_through_mephisto_is_told_who_settles_it(tmp_path, command):
    make_study(tmp_path).extensions["desk"].store.close()
    (tmp_path / "mephisto").mkdir()
    with pytest.raises(InputError, match="launched through Mephisto, which keeps its own books"):
        crowd(command, tmp_path)


def test_serve_names_the_sites_that_may_frame_the_page(monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL_MTURK", raising=False)
    made = argparse.ArgumentParser()
    arguments.add_sites(made)
    assert arguments.sites_of(made.parse_args([])) == ()
    assert arguments.sites_of(made.parse_args(["--mturk", "live"]))[0] == "https://www.mturk.com"
