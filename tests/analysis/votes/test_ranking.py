"""Which systems have a rank: those that wins and losses link, judged in several clusters; the others by name."""

import numpy as np
import pytest

from seedvote.analysis.questions.preference.showing import RANKING_HEAD, explain_ranking, ranking_table
from seedvote.analysis.votes.ranking import ranking_of
from seedvote.analysis.votes.systems import Matches
from seedvote.analysis.votes.votes import votes_from_columns


def matches(rows, **more):
    """One vote a row: first system, second system, choice, rater."""
    names = sorted({name for row in rows for name in row[:2]})
    table = {"pair": [f"p{k}" for k in range(len(rows))], "choice": [row[2] for row in rows],
             "rater": [row[3] for row in rows], **more}  # fmt: skip
    a, b = (np.array([names.index(row[side]) for row in rows]) for side in (0, 1))
    return Matches(tuple(names), votes_from_columns(table), a, b, {})


def ranked(rows, clusters="auto", **more):
    return ranking_of(matches(rows, **more), "davidson", clusters, 500, np.random.default_rng(0))


LINKED = [("m", "n", choice, f"r{k % 5}") for k, choice in enumerate("aababaabtb".replace("t", "a") * 3)]


def test_a_system_that_only_won_is_named_and_the_others_are_ranked():
    found, refusal = ranked([*LINKED, *[("top", name, "a", f"r{k}") for k, name in enumerate("mnmn")]])
    assert refusal == ""
    assert [one.system for one in found.systems] == ["m", "n"]
    (left_out,) = found.unranked
    assert (left_out.system, left_out.votes) == ("top", 4)
    assert left_out.reason == "it won every vote against the ranked systems"
    assert found.systems[0].votes == 32  # with those against the system that is not ranked
    alone, _ = ranked(LINKED)
    assert alone.systems[0].strength == found.systems[0].strength


def test_systems_that_only_lost_or_never_met_the_others_are_named():
    rows = [
        *LINKED,
        *[("m", "low", "a", f"r{k}") for k in range(3)],
        *[("u", "v", "ab"[k % 2], "r1") for k in range(4)],
    ]
    found, _ = ranked(rows)
    assert {one.system: one.reason for one in found.unranked} == {
        "low": "it lost every vote against the ranked systems",
        "u": "all its votes are by one rater",
        "v": "all its votes are by one rater",
    }
    found, _ = ranked([*LINKED, *[("u", "v", "ab"[k % 2], f"r{k}") for k in range(4)], ("m", "x", "a", "r0"),
                       ("x", "n", "a", "r1")])  # fmt: skip
    assert {one.system: one.reason for one in found.unranked} == dict.fromkeys("uv", "it never met the ranked systems")
    assert sorted(one.system for one in found.systems) == ["m", "n", "x"]


def test_one_rater_or_one_dialogue_says_nothing_about_others():
    rows = [*LINKED, *[(("m", "n")[k % 2], "new", "ab"[k // 2 % 2], "r0") for k in range(8)]]
    found, _ = ranked(rows)
    assert [(one.system, one.reason) for one in found.unranked] == [("new", "all its votes are by one rater")]
    spread = [row if row[1] != "new" else (*row[:3], f"r{k % 4}") for k, row in enumerate(rows)]
    assert not ranked(spread)[0].unranked
    dialogues = ["d0" if row[1] == "new" else f"d{1 + k % 6}" for k, row in enumerate(rows)]
    found, _ = ranked(spread, dialogue=dialogues)
    assert [one.reason for one in found.unranked] == ["all its votes are on one dialogue"]
    assert not ranked(spread, "rater", dialogue=dialogues)[0].unranked


def test_leaving_one_out_may_cut_off_the_next():
    """`last` is linked only through `new`, whose votes are all by one rater."""
    rows = [*LINKED, *[("m", "new", "ab"[k % 2], "r0") for k in range(4)],
            *[("new", "last", "ab"[k % 2], "r0") for k in range(2)]]  # fmt: skip
    found, _ = ranked(rows)
    assert [one.system for one in found.unranked] == ["last", "new"]


def test_where_nobody_can_be_ranked_the_reason_is_given():
    found, refusal = ranked([("a", "b", "a", "r0"), ("a", "b", "a", "r1")])
    assert found is None and "never met, or always won or always lost" in refusal
    found, refusal = ranked(
        [("a", "b", "a", "r0"), ("b", "c", "b", "r1"), ("a", "b", "b", "r0"), ("c", "b", "b", "r1")]
    )
    assert found is None
    assert "There are no two systems to rank" in refusal and "a: all its votes are by one rater" in refusal
    found, refusal = ranked(LINKED, "dialogue")
    assert found is None and "no dialogue column" in refusal


def test_separated_systems_are_told_why_no_ranking():
    found, refusal = ranked([("m", "n", "a" if k % 3 else "tie", f"r{k % 5}") for k in range(30)])
    assert found is None and "one system won all votes but ties" in refusal
    rows = [("m", "n", "b" if k % 2 else "tie", f"r{k % 5}") for k in range(20)]
    third, _ = ranked([*rows, *[("n", "o", ("a", "b", "tie")[k % 3], f"r{k % 5}") for k in range(30)]])
    assert [one.system for one in third.systems][-1] == "m" and not third.unranked
    assert all(np.isfinite([one.strength.low, one.strength.high]).all() for one in third.systems)


def test_unranked_systems_have_a_dash_and_a_reason():
    found, _ = ranked([*LINKED, *[("top", name, "a", f"r{k}") for k, name in enumerate("mnmn")]])
    rows = ranking_table(found).rows
    assert all(len(row) == len(RANKING_HEAD) for row in rows)
    assert rows[-1] == ("-", "top", "4", *["-"] * 6)
    assert "Not ranked, because it won every vote against the ranked systems: top." in list(explain_ranking(found))


def test_simultaneous_sets_hold_the_marginal_ones():
    generator = np.random.default_rng(3)
    rows = [(f"s{i}", f"s{j}", generator.choice(["a", "b", "tie"]), f"r{generator.integers(12)}")
            for _ in range(400) for i, j in [sorted(generator.choice(8, 2, replace=False))]]  # fmt: skip
    found, _ = ranked(rows)
    assert [one.rank for one in found.systems] == list(range(1, 9))
    for one in found.systems:
        assert one.all_low <= one.rank_low <= one.rank <= one.rank_high <= one.all_high
    assert max(one.all_high - one.all_low for one in found.systems) >= 4  # pure chance leaves most ranks open


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_both_models_rank(model):
    found, _ = ranking_of(matches(LINKED), model, "auto", 50, np.random.default_rng(0))
    assert found.model == model and found.sets == 50 and found.freedom == pytest.approx(4.0)
