"""The rehearsal, walked through as somebody would who has a file of pairs and nothing else."""

import os

import pytest

from seedvote.crowd.__main__ import COMMANDS
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.marketplaces.study import write_pairs


@pytest.fixture
def folder(tmp_path):
    write_pairs(tmp_path / "pairs.jsonl", reals=6)
    (tmp_path / "hit.toml").write_text("pairs_per_sitting = 3\nlater_checks = 2\nmax_failures = 2\n")
    return tmp_path


def launch(folder, *words):
    return dispatch("crowd", "", COMMANDS, ["launch", str(folder), *words])


def test_rehearsal_shows_arrivals_returns_and_pay(folder, capsys):
    before = {name for name in os.environ if name.startswith("PROLIFIC")}
    launch(folder, "--prolific", "--rehearse", "--minutes", "6", "--screen-out-pay", "0.20")
    said = capsys.readouterr().out
    for sentence in (
        "hit.toml does not say the pay, so this rehearsal pays 0.80 USD a sitting",
        "does not consent, and returns the place        returned",
        "Prolific times out     timed-out",
        "fails the checks after",
        "screened out",
        "Votes: 18 of 18 count, 0 wait for Prolific.",
        "on its way     0.20",
        "approved       0.80",
        "partial        0.20",
        "No account was asked and nobody was paid.",
    ):
        assert sentence in said, sentence
    for command in ("launch", "verify", "extend", "pay", "payments", "status"):
        assert f"$ python -m crowd {command} {folder}/rehearsal" in said
    assert said.endswith("--screen-out-pay 0.20 --prolific --minutes 6 --public-url https://YOUR.SERVER\n")
    assert not (folder / "crowd.sqlite").exists() and (folder / "rehearsal" / "crowd.sqlite").exists()
    assert {name for name in os.environ if name.startswith("PROLIFIC")} == before
    launch(folder, "--prolific", "--rehearse", "--minutes", "6")  # again, from the beginning
    capsys.readouterr()


def test_a_rehearsal_is_of_prolific_and_says_what_a_launch_would(folder, capsys):
    with pytest.raises(InputError, match="--rehearse is for --prolific"):
        launch(folder, "--panel", "--rehearse")
    (folder / "hit.toml").write_text("pay_per_sitting = 0.10\ncurrency = 'USD'\n")
    with pytest.raises(InputError, match=r"below 8\.00"):
        launch(folder, "--prolific", "--rehearse")
    capsys.readouterr()
