"""Studies of many systems: tables that can be read, contrasts without an interval, and no cost that grows too fast."""

import json
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.questions.preference.answer import answer
from seedvote.analysis.questions.preference.showing import best_of, preferred
from seedvote.analysis.showing.tables import MOST_ROWS, Table, in_short, write_latex, write_markdown
from seedvote.analysis.votes.inputs import matches_of
from seedvote.analysis.votes.systems import Matches
from seedvote.analysis.votes.votes import votes_from_columns
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Vote
from seedvote.dialogue.shell.command_line import dispatch

pytestmark = pytest.mark.usefixtures("hasty_throughout")

SYSTEMS = 12


@pytest.fixture
def arena(tmp_path):
    """66 contrasts: of those with the last system one vote each, of the first two systems all votes by one rater."""
    generator = np.random.default_rng(0)
    pairs, votes = [], []
    for one, two in combinations(range(SYSTEMS), 2):
        for k in range(1 if two == SYSTEMS - 1 else 4 + (one + two) % 5):
            name = f"p{len(pairs)}"
            sides = [Candidate("x", f"s{system:02}") for system in (one, two)]
            pairs.append(Pair(name, f"d{len(pairs)}:1", [], *sides, dialogue=f"d{len(pairs) // 2}"))
            rater = "r0" if (one, two) == (0, 1) else f"r{generator.integers(15)}"
            choice = ("a", "b", "tie")[generator.integers(3)]
            votes.append(Vote(name, rater, choice, 1, "ab"[k % 2], dialogue=pairs[-1].dialogue))
    write_records(tmp_path / "pairs.jsonl", pairs, signature="test", kind=Pair)
    write_records(tmp_path / "votes.jsonl", votes, signature="test", kind=Vote)
    return tmp_path


@pytest.fixture
def say(capsys):
    def run(*words):
        assert dispatch("analysis", "", COMMANDS, [*map(str, words)]) == 0
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("low", [0.01, -0.01])
def test_a_largest_difference_that_leaves_out_zero_alone_is_said_to_be_chance(low):
    nets = [SimpleNamespace(value=0.1, low=low, high=0.2), SimpleNamespace(value=0.02, low=-0.1, high=0.1)]
    rows = [SimpleNamespace(first="one", second=other, net=net) for other, net in zip("ab", nets, strict=True)]
    found = preferred(SimpleNamespace(led=rows, adjusted=(0.07, 0.6), shown=(False, False), fixed=(), over_raters=()))
    assert found[0] == "No preference was shown in any of 2 comparisons of two systems."
    assert found[2:] == (["Corrected for 2 comparisons it may be chance (p = 0.0700, Holm)."] if low > 0 else [])
    assert ("this comparison alone" in found[1]) == (low > 0)


def test_the_most_voted_contrasts_are_shown_and_json_has_all(arena, say):
    found = json.loads(say("preference", arena, "--json", "-"))
    assert len(found["contrasts"]) == 66
    reasons = {(row["first"], row["second"]): row["reason"] for row in found["contrasts"] if row["net"] is None}
    assert reasons.pop(("s00", "s01")) == "one rater"
    assert reasons == {(f"s{k:02}", "s11"): "1 vote" for k in range(11)}
    text = say("preference", arena)
    assert "Shown are the 30 comparisons with the most votes of 66; --json and report.json have all" in text
    shown = [line.split() for line in text.split("Shown are")[1].splitlines()[2 : 2 + MOST_ROWS]]
    numbers = [int(row[3]) for row in shown]
    assert numbers == sorted(numbers, reverse=True) and len(numbers) == MOST_ROWS
    votes = sorted((row["votes"] for row in found["contrasts"]), reverse=True)
    assert numbers == votes[:MOST_ROWS]
    assert "(one rater: s00 and s01; 1 vote: 11 comparisons)" in text
    assert text.index("95 % ranks") < text.index("Shown are")  # of many systems the ranking is the answer


def test_a_margin_is_answered_in_one_sentence(arena, say):
    text = say("preference", arena, "--margin", 0.2)
    assert "of 54 comparisons are equivalent within 20 points" in text
    say("report", arena, "--margin", 0.2)
    assert "of 54 comparisons are equivalent within 20 points" in (arena / "report.html").read_text()


def test_the_page_folds_the_long_tables_and_the_paper_leaves_them_out(arena, say):
    say("report", arena)
    page, written, paper = ((arena / f"report.{suffix}").read_text() for suffix in ("html", "md", "tex"))
    assert "<details><summary>Table 3. All 66 comparisons</summary>" in page
    assert page.count("<details>") == 2  # the contrasts, and the orders of architectures
    assert page.count("s00 against s01") + page.count("s01 against s00") == 1  # 4 votes: among all, not the first
    for short in (written, paper):
        assert "All 66" not in short and "Shown are the 30 comparisons with the most votes of 66" in short
    assert "Ranking by Davidson" in page and "Ranking by Davidson" in paper
    assert page.index("Ranks that the votes leave open") < page.index("Net preference with its 95")
    assert "the 30 comparisons with the most votes, of 54" in page


def test_the_headline_names_a_leader_only_where_there_may_be_one(arena):
    matches, known = matches_of(arena, None)
    found = answer(matches, known=known, sets=200)
    assert found.ranking is not None
    first, *others = found.ranking.systems
    for best in (1, 2, len(others)):  # as many others may be the best; at last all
        systems = (replace(first, all_low=1), *(replace(one, all_low=1 + (k >= best)) for k, one in enumerate(others)))
        said = " ".join(best_of(replace(found, ranking=replace(found.ranking, systems=systems))))
        assert (first.system in said) == (best < len(others))
        assert others[0].system in said or best == len(others)
    alone = tuple(replace(one, all_low=1 if one is first else 2) for one in found.ranking.systems)
    (sentence,) = best_of(replace(found, ranking=replace(found.ranking, systems=alone)))
    assert f"{first.system} is the best of {len(alone)} systems" in sentence


def test_compare_shows_the_closest_orders(arena, say):
    text = say("compare", arena)
    assert "Shown are the 30 orders with the smallest difference of 66" in text
    assert "One seed each of 12 architectures" in text
    assert len(json.loads(say("compare", arena, "--json", "-"))["orders"]) == 66


def test_contrasts_of_one_vote_each_do_not_end_a_ranking(tmp_path, say):
    """Every two of eight systems met once: no contrast has an interval, the ranking has."""
    rows = list(combinations(range(8), 2))
    generator = np.random.default_rng(1)
    pairs = [Pair(f"p{k}", f"i{k}", [], Candidate("x", f"s{one}"), Candidate("x", f"s{two}"))
             for k, (one, two) in enumerate(rows)]  # fmt: skip
    votes = [Vote(f"p{k}", f"r{k % 6}", ("a", "b", "tie")[generator.integers(3)], 1) for k in range(len(rows))]
    write_records(tmp_path / "pairs.jsonl", pairs, signature="test", kind=Pair)
    write_records(tmp_path / "votes.jsonl", votes, signature="test", kind=Vote)
    found = json.loads(say("preference", tmp_path, "--json", "-"))
    assert found["net"] is None and {row["reason"] for row in found["contrasts"]} == {"1 vote"}
    assert len(found["davidson"]["ranks"]) + len(found["davidson"]["unranked"]) == 8
    say("report", tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["preference"] == found
    assert "No two systems were compared often enough for an interval." in report["findings"]
    assert report["title"] == "Which of 8 systems is preferred?"


def test_contrasts_in_one_cluster_are_named_by_it():
    rows = [("a", "r0", "d0"), ("b", "r1", "d0"), ("a", "r2", "d0")] * 2 + [("a", "r0", "d1"), ("b", "r1", "d2")] * 4
    table = {"pair": [f"p{k}" for k in range(14)], "choice": [row[0] for row in rows],
             "rater": [row[1] for row in rows], "dialogue": [row[2] for row in rows]}  # fmt: skip
    first, second = np.array([0] * 6 + [1] * 8), np.array([1] * 6 + [2] * 8)
    matches = Matches(("x", "y", "z"), votes_from_columns(table), first, second, {})
    (lone,) = answer(matches, sets=50).untested
    assert (lone.first, lone.second, lone.votes, lone.reason) == ("x", "y", 6, "one dialogue")
    assert lone.net == pytest.approx(1 / 3)
    assert not answer(matches, clusters="rater", sets=50).untested


class Counted:
    """A cell that counts how often it is written."""

    def __init__(self):
        self.times = 0

    def __str__(self):
        self.times += 1
        return "1.5"


def test_a_long_table_writes_every_cell_as_often_as_a_short_one():
    times = []
    for rows in (3, 60):
        cells = [[Counted(), Counted()] for _ in range(rows)]
        table = Table(("one", "two"), cells, "Numbers")
        for write in (str, Table.html, write_markdown, lambda table: write_latex([table], recipe="r")):
            write(table)
        times.append({cell.times for row in cells for cell in row})
    assert times[0] == times[1] and max(times[0]) < 10


def test_a_table_of_thirty_rows_stays_whole():
    table = Table(("n",), [[n] for n in range(MOST_ROWS)], "Numbers")
    assert in_short(table, "numbers", "nearest to zero") == (table,)
    short, every = in_short(Table(("n",), [[n] for n in range(MOST_ROWS + 1)]), "numbers", "nearest to zero")
    assert len(short.rows) == MOST_ROWS and short.caption.startswith("Shown are") and not short.folded
    assert len(every.rows) == MOST_ROWS + 1 and every.folded
