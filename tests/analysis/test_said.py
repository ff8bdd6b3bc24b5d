"""Sentences that users stumbled over: each said as it is true, and each next command one that works."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.notebook import agreement, preference, ties
from seedvote.analysis.questions.planning.answer import answer as plan
from seedvote.analysis.questions.planning.showing import parts
from seedvote.analysis.showing.tables import MOST_ROWS, Table, write_markdown
from seedvote.analysis.stats.power import Assumptions
from seedvote.analysis.votes.systems import Contrast
from seedvote.analysis.votes.votes import votes_from_columns
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair
from seedvote.dialogue.shell.command_line import dispatch

pytestmark = pytest.mark.usefixtures("hasty_throughout")


def said(capsys, *words):
    assert dispatch("analysis", "", COMMANDS, [*map(str, words)]) == 0
    return capsys.readouterr().out


def table(choices, raters=5):
    return {
        "pair": [f"p{k // 3}" for k in range(len(choices))],
        "rater": [f"r{k * 7 % raters}" for k in range(len(choices))],
        "choice": choices,
    }


def written(path, choices):
    rows = zip(*table(choices).values(), strict=True)
    path.write_text("pair,rater,choice\n" + "".join(f"{','.join(row)}\n" for row in rows))
    return path


def test_a_single_vote_is_no_share():
    assert "The only vote is a tie." in str(ties(table(["tie"]), size=1, replace=True))
    assert "The only vote is no tie." in str(ties(table(["a"]), size=1, replace=True))


def test_sets_of_votes_that_are_all_the_same_have_a_dash():
    assert "0.0000" not in str(ties(table(["tie"] * 60), size=20))
    assert "All votes are the same" in str(ties(table(["tie"] * 60), size=20))


def test_after_one_vote_the_next_command_is_no_preference(tmp_path, capsys):
    assert said(capsys, "agreement", written(tmp_path / "votes.csv", ["a"])).endswith("Next: python -m analysis plan\n")


def test_of_very_many_running_comparisons_the_text_shows_some_and_json_all():
    votes = votes_from_columns(table(np.random.default_rng(0).choice(["a", "b", "tie"], 12).tolist()))
    many = [Contrast(f"s{k:02}", "t", votes) for k in range(40)]
    found = plan(many, assumed=Assumptions(0.35))
    (shown,) = [part for part in parts(found) if isinstance(part, Table) and "may stop" in part.caption]
    assert len(shown.rows) == MOST_ROWS and "of 40; --json and report.json have all" in shown.caption
    assert len(found.looks) == 40


def test_the_ranks_of_two_systems_are_those_of_their_net_preference():
    """Two systems have one comparison: its p decides the ranks, whatever the scale of strengths would say."""
    generator = np.random.default_rng(1)
    for share in (0.56, 0.57, 0.6):
        found = preference(table(generator.choice(["a", "b"], 240, p=[share, 1 - share]).tolist(), raters=60))
        net, ranks = found.document["net"], found.document["davidson"]["ranks"]
        first, second = sorted(ranks.values(), key=lambda one: one["rank"])
        assert (first["all_high"] < second["all_low"]) == (net["p"] < 0.05)
        assert found.document["davidson"]["wrong_order"][0]["p"] == net["p"] / 2


def test_items_of_pairs_jsonl_are_joined_on_request(tmp_path):
    sides = [Candidate(text=name, model=name, seed=None, checkpoint="last") for name in "xy"]
    pairs = [
        Pair(pair=f"p{k}", item=f"i{k // 4}", context=[], a=sides[0], b=sides[1], identical=False) for k in range(20)
    ]
    write_records(tmp_path / "pairs.jsonl", pairs, signature="p", kind=Pair)
    path = written(tmp_path / "votes.csv", np.random.default_rng(2).choice(["a", "b", "tie"], 60).tolist())
    for found in (ties(path, size=20, clusters="item+rater"), agreement(path, clusters="item+rater")):
        assert "clusters:item+rater" in found.document["signature"]
    assert "item" not in ties(path, size=20).document["signature"]
    assert json.dumps(preference(path, clusters="item+rater").document)


def test_busy_raters_leave_a_small_plan_less_than_one_cluster():
    found = plan([], assumed=Assumptions(0.35, per_rater=742, rater_icc=0.01))
    assert "known from less than one effective cluster." in " ".join(map(str, parts(found)))


def test_every_table_of_the_careful_answer_has_a_caption():
    votes = table(np.random.default_rng(0).choice(["a", "b", "tie"], 60).tolist(), raters=4)
    said_of = str(preference(votes, careful=True))
    assert "Careful answer: Bayesian" in said_of and "Careful answer: two systems at a time" in said_of
    assert write_markdown(Table(["a"], [["1"]])).startswith("| a |")


def test_no_signed_number_is_printed_as_minus_zero():
    """What rounds to zero is +0.000, never -0.000: Python's z, wherever a number is printed with its sign."""
    root = Path(__file__).resolve().parents[2]
    found = [
        f"{path.relative_to(root)}: {line.strip()}"
        for package in ("analysis", "evaluators", "probes") for path in sorted((root / package).rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines() if re.search(r":\+\.\d", line)
    ]  # fmt: skip
    assert not found
    assert f"{-0.0001:+z.3f}" == "+0.000"
