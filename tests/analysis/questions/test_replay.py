"""Replays of studies whose votes were made: what is counted, what is compared, and what is refused."""

import itertools
import json

import numpy as np
import pytest

from seedvote.analysis.notebook import replay
from seedvote.analysis.questions.replay import saved_part
from seedvote.analysis.showing.tables import Table
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Verdict

STRENGTHS = {"one": 0.9, "two": 0.0, "three": -0.1, "four": -0.2}


def made_votes(dialogues=40, votes_each=3, strengths=STRENGTHS, seed=0):
    """Every two systems on every dialogue, with noise, as columns."""
    generator, rows = np.random.default_rng(seed), []
    for n, (a, b), k in itertools.product(range(dialogues), itertools.combinations(strengths, 2), range(votes_each)):
        gap = strengths[a] - strengths[b] + generator.normal()
        choice = "tie" if abs(gap) < 0.4 else "a" if gap > 0 else "b"
        rows.append((f"{n}-{a}-{b}", f"d{n}", a, b, f"r{(n + k) % 17}", choice))
    names = ("pair", "dialogue", "system_a", "system_b", "rater", "choice")
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


VOTES = made_votes()


def test_both_designs_reach_the_answer_of_all_votes():
    result = replay(VOTES, replays=12)
    document = result.document
    assert document["conclusion"] == "one leads" and document["votes"] == 720 and document["pairs"] == 240
    for design in ("even", "adaptive"):
        curve = document[design]
        assert curve["errors"][-1] == 0 and curve["enough"] < 720 and len(curve["votes"]) == len(curve["errors"])
    assert "All 720 votes say: one leads." in [str(part) for part in result.parts]
    json.dumps(document)


def test_the_same_seed_replays_the_same_designs():
    first, second, other = (replay(VOTES, aim="ranking", replays=2, seed=seed).document for seed in (1, 1, 2))
    assert first == second
    assert all(first[design]["errors"] != other[design]["errors"] for design in ("even", "adaptive"))


def test_the_adaptive_design_saves_votes_where_one_rival_is_close():
    close = made_votes(60, strengths={"one": 0.3, "two": 0.15, "x": -0.6, "y": -0.7, "z": -0.8, "w": -0.9})
    document = replay(close, replays=16, seed=1).document
    halves = [(row["votes"], row["value"]) for row in document["savings"]]
    assert np.mean([value for _, value in halves]) > 0.1


def test_the_ranking_counts_every_two_systems():
    result = replay(VOTES, aim="ranking", replays=10)
    assert result.document["conclusion"].startswith("one > ")
    assert 0 < result.document["even"]["errors"][0] < 1
    assert any("of its order" in str(part) for part in result.parts)


def test_two_systems_may_be_asked_about_alone():
    better = replay(VOTES, aim="better", systems=["one", "four"], replays=5).document
    assert better["question"] == "whether one is better than four" and better["conclusion"] == "one leads four"
    alike = replay(VOTES, aim="alike", systems=["two", "three"], margin=0.3, replays=5).document
    assert alike["conclusion"] == "two and three are within 0.3"


def write_verdicts(path, seed, right=1.0):
    """A judge that names the system with the higher strength, with the noise of a single vote; or the lower one."""
    generator, ruled = np.random.default_rng(seed), []
    for n, (a, b) in itertools.product(range(40), itertools.combinations(STRENGTHS, 2)):
        gap = right * (STRENGTHS[a] - STRENGTHS[b]) + generator.normal()
        ruled += [Verdict(f"{n}-{a}-{b}", "j", order, "a" if gap > 0 else "b") for order in ("ab", "ba")]
    write_records(path, ruled, signature="test", kind=Verdict)
    return path


def test_a_judge_is_replayed_beside_both_designs_which_stay_the_same(tmp_path):
    alone = replay(VOTES, aim="ranking", replays=8)
    helped = replay(VOTES, aim="ranking", replays=8, judge=write_verdicts(tmp_path / "verdicts.jsonl", 1))
    for name in ("even", "adaptive", "savings"):
        assert helped.document[name] == alone.document[name]
    assert alone.document["judged"] is None and helped.document["judged"]["errors"][-1] < 0.2
    assert helped.document["judged"]["errors"] != helped.document["adaptive"]["errors"]
    said = [str(part) for part in helped.parts]
    assert any("by the adaptive design with the judge" in part for part in said) and any(
        "verdicts:240" in part for part in said
    )
    assert "Votes saved by the judge" in str([part for part in helped.parts if isinstance(part, Table)][-1])
    write_records(other := tmp_path / "other.jsonl", [Verdict("p", "j", "ab", "a")], signature="t", kind=Verdict)
    with pytest.raises(InputError, match="no usable verdict on a pair of these votes"):
        replay(VOTES, judge=other)


def test_what_cannot_be_replayed_is_refused():
    for options, says in (
        ({"aim": "better"}, "is about two systems"),
        ({"aim": "better", "systems": ["one", "nobody"]}, "names nobody, which is not one of"),
        ({"systems": ["one", "two"]}, "belongs to --aim better"),
        ({"floor": 0.0}, "--floor is 0"),
        ({"replays": 1}, "--replays must be 2"),
    ):
        with pytest.raises(InputError, match=says):
            replay(VOTES, **options)


def test_votes_without_systems_or_dialogues_are_of_two_systems_and_their_pairs():
    alone = {name: VOTES[name] for name in ("pair", "rater", "choice")}
    document = replay(alone, replays=4).document
    assert list(document["systems"]) == ["a", "b"] and any("a and b" in warning for warning in document["warnings"])


def test_a_saving_is_read_off_both_curves_where_their_errors_are_equal():
    grid = np.array([0.25, 0.5, 0.75, 1.0])
    even, adaptive = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.3, 0.1, 0.1, 0.0])
    assert saved_part(even, adaptive, grid, 3) == pytest.approx(0.5)
    assert saved_part(even, adaptive, grid, 2) == pytest.approx(1 - 0.375 / 0.75)
    assert saved_part(adaptive, even, grid, 3) == 0.0  # never reached within the study


def test_tables_and_figure_show_the_savings():
    result = replay(VOTES, aim="ranking", replays=6)
    tables = [part for part in result.parts if isinstance(part, Table)]
    assert len(tables) == 2 and len(tables[1].rows) == len(result.document["savings"])
    assert "" in result.plot().figures
