"""Verified and unverified votes stand apart, and are pooled by nobody who has not said so."""

import json

import numpy as np
import pytest

from seedvote.analysis import notebook
from seedvote.analysis.votes.study import read_study
from seedvote.analysis.votes.votes import read_votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair
from seedvote.dialogue.shell.command_line import dispatch
from tests.house.typed import typed

pytestmark = pytest.mark.usefixtures("hasty_throughout")


def vote(pair, rater, choice, *, round=1, counted=True, **more):
    row = {"pair": pair, "rater": rater, "choice": choice, "round": round, "source": "prolific", "counted": counted}
    return row | {"kind": "real", "dialogue": pair, "left": "a", "rater_status": "passed"} | more


def rows(pairs=12):
    """A third of the votes each: confirmed, waiting for the marketplace, taken back by it."""
    for n in range(pairs):
        for k, name in enumerate(("r1", "r2", "r3")):
            yield vote(f"p{n}", name, "ab"[(n + k) % 2] if k else "a", round=k + 1, verified=True, waiting=False)
        yield vote(f"p{n}", "w", "tie", round=0, counted=False, verified=False, waiting=True)
        yield vote(f"p{n}", "x", "b", round=0, counted=False, verified=False, waiting=False)


def write(folder, votes):
    path = folder / "votes.jsonl"
    lines = [{"format": "votes", "version": 1, "signature": "test"}, *votes]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def path(tmp_path):
    return write(tmp_path, rows())


def test_without_a_word_only_verified_votes_are_read_and_both_are_told(path):
    votes = read_votes(path)
    assert len(votes) == 36 and not votes.tie.any()
    said = " ".join(votes.warnings)
    assert "Verified: 36 votes, a 66.7%, b 33.3%." in said
    assert "Not verified (of visits that no marketplace has confirmed): 12 votes, tie 100.0%, left out." in said
    assert votes.ledger.excluded["of visits that no marketplace has confirmed"] == 24
    assert "not counted (late" not in said  # the reason is the marketplace, not the rater


def test_only_and_with_select_votes_never_undone(path):
    alone, both = read_votes(path, unverified="only"), read_votes(path, unverified="with")
    assert len(alone) == 12 and alone.tie.all() and set(alone.round) == {1} and alone.in_round.all()
    assert len(both) == 48 and both.tie.sum() == 12
    assert sorted(both.round[both.pair == 0]) == [1, 2, 3, 4]
    assert "which are used too" in " ".join(both.warnings) and "which alone are used" in " ".join(alone.warnings)
    assert len(read_votes(path, unverified="out")) == 36


def test_what_would_be_pooled_unasked_is_refused(tmp_path, path):
    with pytest.raises(InputError, match=r"24 votes would be counted of visits .* Add --unverified out"):
        read_votes(path, uncounted=True)
    assert len(read_votes(path, uncounted=True, unverified="out")) == 36
    older = write(tmp_path, [vote(f"p{n}", "r", "a", verified=n % 2 == 0) for n in range(8)])  # counted, not confirmed
    for ask in (read_votes, notebook.preference, notebook.ties, lambda one: read_study(one.parent)):
        with pytest.raises(InputError, match="4 votes would be counted"):
            ask(older)
    assert len(read_votes(older, unverified="only")) == 4 and len(read_votes(older, unverified="with")) == 8


def test_votes_of_whom_no_marketplace_sent_are_not_asked_for_its_word(tmp_path):
    mixed = [vote("p1", "r", "a", verified=True), vote("p2", "s", "b", source="local")]
    assert len(read_votes(write(tmp_path, mixed))) == 2
    with pytest.raises(InputError, match="so --unverified only leaves nothing"):
        read_votes(write(tmp_path, mixed[1:]), unverified="only")


def test_rounds_are_numbered_pair_by_pair_however_the_votes_are_mixed(tmp_path):
    order = np.random.default_rng(0).permutation(60)
    votes = [vote(f"p{n % 12}", f"r{n}", "a", round=0, counted=False, verified=False, waiting=True) for n in order]
    read = read_votes(write(tmp_path, votes), unverified="only")
    for pair in range(12):
        assert list(read.round[read.pair == pair]) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("command", ["preference", "report", "ties"])
def test_the_commands_print_both_and_take_the_wish(tmp_path, path, capsys, command):
    from seedvote.analysis.__main__ import COMMANDS

    small = ["--size", "8", "--replace"] if command == "ties" else []
    dispatch("analysis", "", COMMANDS, [command, str(path), *small])
    assert "Verified: 36 votes" in " ".join(capsys.readouterr().out.split())
    dispatch("analysis", "", COMMANDS, [command, str(path), "--unverified", "with", *small])
    assert "which are used too" in " ".join(capsys.readouterr().out.split())


def test_preference_shows_unverified_votes_by_system(tmp_path):
    """Sides are drawn by chance, so that shares of a and b say nothing of the systems."""
    ours, theirs = Candidate("x", "ours"), Candidate("y", "theirs")
    pairs = [
        Pair(f"p{n}", f"p{n}:1", (), *((ours, theirs), (theirs, ours))[n % 2], dialogue=f"p{n}") for n in range(12)
    ]
    write_records(tmp_path / "pairs.jsonl", pairs, signature="p", kind=Pair)
    likes_ours = [vote(f"p{n}", f"w{n % 4}", "ab"[n % 2] if n % 3 else "tie", round=0, counted=False, verified=False,
                       waiting=True) for n in range(12)]  # fmt: skip
    write(tmp_path, [*(one for one in rows() if one["verified"]), *likes_ours])
    found = notebook.preference(tmp_path)
    only = notebook.preference(tmp_path, unverified="only").document
    (alone,) = found.document["unverified"]
    net = only["contrasts"][0]["net"]
    assert (alone["net"], alone["low"], alone["high"]) == (net["value"], net["low"], net["high"]) and net["value"] > 0.6
    assert (alone["for_first"], alone["for_second"], alone["ties"]) == (8, 0, 4)
    assert "Unverified votes alone, ours against theirs: 8 for ours, 0 for theirs, 4 ties; net" in str(found)
    assert only["unverified"] == [] == notebook.preference(write(tmp_path, list(rows())[:3])).document["unverified"]
    write(tmp_path, [*(one for one in rows() if one["verified"]), *likes_ours])
    assert not typed("analysis", "report", tmp_path).returncode
    assert json.loads((tmp_path / "report.json").read_text())["preference"]["unverified"] == [alone]
    assert "Unverified votes alone" in (tmp_path / "report.html").read_text()
