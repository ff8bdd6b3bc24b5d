"""Net preference and its tests: published examples, slow twins, error rates in simulation, and the command."""

import csv
import json
import math

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.questions.preference.answer import answer, led, prefer
from seedvote.analysis.questions.preference.showing import equivalence_sentences, parts
from seedvote.analysis.stats.net_preference import net_estimate, net_interval, tost
from seedvote.analysis.stats.sign_tests import position_test, sign_test, tie_index
from seedvote.analysis.votes.cautions import SAME_PAIRS
from seedvote.analysis.votes.systems import contrasts, fixed_sides, match
from seedvote.analysis.votes.votes import net_scores, read_votes, votes_from_columns
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.formulas.uncertainty import adjust_by_holm
from seedvote.dialogue.records import Candidate, Pair, Utterance, Vote
from seedvote.dialogue.shell.command_line import dispatch


def study(folder, *, pairs=240, seed=0, systems=3, gap=0.6):
    """A small study whose sides are drawn by chance: `m-0` is worst, `m-2` best; both kinds of controls."""
    generator = np.random.default_rng(seed)
    records, votes = [], []
    for k in range(pairs):
        kind, contrast = "real", "seeds"
        one, two = generator.choice(systems, 2, replace=False)
        if k % 6 == 4:
            kind, contrast, two = "control", "within-seed", one
        elif k % 6 == 5:
            kind, contrast, one = "control", "reference-random", 9
        a, b = (one, two) if generator.random() < 0.5 else (two, one)
        sides = [Candidate("x", "reference" if s == 9 else "m", None if s == 9 else int(s), "last") for s in (a, b)]
        records.append(
            Pair(f"p{k}", f"d{k}:1", [Utterance("user", "hi")], *sides, kind, dialogue=f"d{k // 2}", contrast=contrast)
        )
        for turn in range(3):
            d = gap * (a - b)
            weight = np.exp([d / 2, -d / 2, 0.1])
            choice = generator.choice(["a", "b", "tie"], p=weight / weight.sum())
            left = generator.choice(["a", "b"])
            rater = f"r{generator.integers(40)}"
            votes.append(Vote(f"p{k}", rater, choice, turn + 1, left, kind=kind, dialogue=f"d{k // 2}"))
    write_records(folder / "pairs.jsonl", records, signature="test", kind=Pair)
    write_records(folder / "votes.jsonl", votes, signature="test", kind=Vote)
    return folder / "votes.jsonl"


def columns(choice, **more):
    return votes_from_columns({"pair": [f"p{k}" for k in range(len(choice))], "choice": choice, **more})


def test_a_test_over_the_rounds_that_no_pair_has_all_of_is_not_printed():
    votes = columns(["a", "b", "tie"] * 20, round=[1, 2] * 30)
    found = answer(fixed_sides(votes), sets=2)
    assert found.rounds.pairs == 0
    assert not any("Ties by round" in str(part) for part in parts(found))
    both = votes_from_columns(
        {"pair": np.repeat(np.arange(30), 2), "choice": ["a", "tie", "b"] * 20, "round": [1, 2] * 30}
    )
    found = answer(fixed_sides(both), sets=2)
    assert SAME_PAIRS in found.warnings
    said = "\n".join(map(str, parts(found)))
    assert "over 30 pairs with a vote in every round." in said and "the votes name no rater" in said


def test_the_net_preference_counts_ties_in_its_denominator_only():
    votes = columns(["a"] * 30 + ["b"] * 10 + ["tie"] * 60)
    found = prefer(contrasts(fixed_sides(votes))[0], margin=None)
    assert found.net.value == pytest.approx(0.2)
    assert (found.sign.a, found.sign.b, found.sign.ties) == (30, 10, 60)
    assert found.equivalence is None
    assert found.net.se == pytest.approx(np.sqrt((0.4 - 0.04) / 99))


def test_the_leader_first_is_the_same_claim_seen_from_the_other_side():
    found = prefer(contrasts(fixed_sides(columns(["a"] * 10 + ["b"] * 30 + ["tie"] * 60)))[0], margin=0.3)
    turned = led(found)
    assert (turned.first, turned.second, turned.net.value) == ("b", "a", -found.net.value)
    assert (turned.net.low, turned.net.high) == (-found.net.high, -found.net.low)
    assert (turned.sign.a, turned.sign.b, turned.p) == (30, 10, found.p)
    assert (turned.equivalence.low, turned.equivalence.high) == (-found.equivalence.high, -found.equivalence.low)
    assert led(turned) is turned


def test_report_names_the_margin_that_would_be_met():
    some = prefer(contrasts(fixed_sides(columns(["a"] * 60 + ["b"] * 30 + ["tie"] * 60)))[0], margin=None)
    none = prefer(contrasts(fixed_sides(columns(["a"] * 60)))[0], margin=None)
    least = math.ceil(100 * some.claimable)
    assert f"would have been met at {least} points or more." in equivalence_sentences([some])[0]
    net = net_estimate(np.repeat([1.0, -1.0, 0.0], (60, 30, 60)), by={})
    assert tost(net, least / 100).equivalent  # also where .0f rounds down
    assert "Only 1 of 2 comparisons could have met one." in equivalence_sentences([some, none])[0]
    assert "These votes could meet none." in equivalence_sentences([none])[0]


def test_no_interval_reaches_beyond_what_a_net_preference_can_be():
    votes = votes_from_columns({"pair": ["p", "q", "r"], "choice": ["a", "a", "b"]})
    (contrast,) = contrasts(fixed_sides(votes))
    found = prefer(contrast, margin=0.5)
    assert -1 <= found.net.low < 1 / 3 < found.net.high <= 1
    assert -1 <= found.equivalence.low < found.equivalence.high <= 1


def test_the_sign_test_of_fisher_on_darwins_maize():
    """Fisher 1935, The design of experiments, section 21: 13 of 15 pairs of plants differ the same way."""
    found = sign_test(np.array([0] * 13 + [1] * 2 + [2] * 5))
    assert found.p == pytest.approx(2 * (1 + 15 + 105) / 2**15)
    assert sign_test(np.array([2, 2])).p == 1.0


def test_left_against_right_uses_decisive_votes_with_a_known_side():
    choice, left = np.array([0, 0, 1, 1, 2, 0]), np.array([0, 1, 1, 1, 0, -1])
    found = position_test(choice, left)
    assert (found.a, found.b, found.ties) == (3, 1, 1)


def test_holms_adjustment_is_its_definition(monkeypatch):
    """Holm 1979: the k-th smallest of m is multiplied by m - k + 1, and none falls below one before it, or above 1."""
    assert adjust_by_holm(np.array([0.01, 0.04, 0.03, 0.2, 0.005])) == pytest.approx([0.04, 0.09, 0.09, 0.2, 0.025])
    assert adjust_by_holm(np.array([0.7, 0.6])) == pytest.approx([1.0, 1.0])
    assert adjust_by_holm(np.array([0.03])) == pytest.approx([0.03]) and adjust_by_holm(np.array([])).tolist() == []
    monkeypatch.setattr("gc.collect", lambda *_: 0)  # statsmodels' calls of it take long
    rng = np.random.default_rng(0)
    for values in (np.array([0.2, np.nan, 0.01]), *(rng.integers(0, 30, n) / 100 for n in range(1, 40))):
        np.testing.assert_array_equal(adjust_by_holm(values), multipletests(values, method="holm")[1])


def test_the_tie_index_is_fiellers_ratio():
    found = tie_index((0.4, 0.01), (0.2, 0.01), (0.6, 0.01))
    assert found.value == pytest.approx(0.5)
    generator = np.random.default_rng(0)
    o, d, s = (generator.normal(m, 0.01, 400_000) for m in (0.4, 0.2, 0.6))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile((o - d) / (s - d), [0.025, 0.975])), abs=0.002)
    assert tie_index((0.4, 0.05), (0.39, 0.05), (0.41, 0.05)).low == -np.inf


def test_sides_drawn_by_chance_are_turned_back_to_their_systems(tmp_path):
    votes = read_votes(study(tmp_path), kinds=("real", "control"))
    matches = match(votes, tmp_path / "pairs.jsonl")
    found = contrasts(matches)
    assert matches.systems == ("m-0", "m-1", "m-2")
    assert [(c.first, c.second) for c in found] == [("m-0", "m-1"), ("m-0", "m-2"), ("m-1", "m-2")]
    assert sum(len(c.votes) for c in found) == len(matches.votes) == 160 * 3
    assert set(matches.controls) == {"within-seed", "reference-random"}
    nets = [prefer(c, margin=0.1).net.value for c in found]
    assert nets[1] < min(nets[0], nets[2]) < 0


def test_one_vote_is_turned_by_hand():
    votes = votes_from_columns(
        {"pair": ["p", "q"], "rater": ["r", "r"], "choice": ["a", "a"], "round": [1, 1], "left": ["a", "b"]}
    )
    matches = fixed_sides(votes)
    turned = type(matches)(("s", "t"), votes, np.array([1, 0]), np.array([0, 1]), {})
    (found,) = contrasts(turned)
    assert found.votes.choice.tolist() == [1, 0]
    assert found.votes.left.tolist() == [1, 1]
    assert net_scores(found.votes.choice).tolist() == [-1, 1]


def test_votes_on_unknown_pairs_are_refused(tmp_path):
    votes = read_votes(study(tmp_path))
    write_records(tmp_path / "other.jsonl", [], signature="test", kind=Pair)
    with pytest.raises(InputError, match="does not hold pair"):
        match(votes, tmp_path / "other.jsonl")


def test_the_same_model_and_seed_from_two_checkpoints_are_two_systems(tmp_path):
    sides = [Candidate("x", "m", 0, checkpoint) for checkpoint in ("untrained", "last")]
    pairs = [Pair(f"p{k}", "d:1", [], *sides) for k in range(2)]
    write_records(tmp_path / "pairs.jsonl", pairs, signature="test", kind=Pair)
    votes = votes_from_columns({"pair": ["p0", "p1"], "choice": ["a", "b"]})
    assert match(votes, tmp_path / "pairs.jsonl").systems == ("m-0@last", "m-0@untrained")


@pytest.fixture
def preference(capsys):
    def run(*words):
        assert dispatch("analysis", "", COMMANDS, ["preference", *map(str, words)]) == 0
        return capsys.readouterr().out

    return run


@pytest.mark.usefixtures("drawn")
def test_the_command_on_a_study(tmp_path, preference):
    votes = study(tmp_path, gap=1.0)
    found = json.loads(preference(tmp_path, "--margin", 0.2, "--sets", 200, "--json", "-"))
    assert set(found["net"]) >= {"value", "se", "low", "high"}
    assert 0 <= found["sign_test"]["p"] <= 1
    assert found["tost"]["p"] > 0.05
    assert list(found["davidson"]["strengths"]) == ["m-2", "m-1", "m-0"]
    assert {"value", "low", "high", "se"} == set(found["davidson"]["tie"]) == set(found["davidson"]["position"])
    assert found["davidson"]["ranks"]["m-2"]["high"] <= 2
    assert found["tie_index"]["same"] > found["tie_index"]["different"]
    assert found["rounds"]["pairs"] == 160
    text = preference(
        votes, "--model", "rao-kupper", "--clusters", "rater", "--sets", 50, "--figure", tmp_path / "rank"
    )
    assert (tmp_path / "rank.png").stat().st_size > 5000
    for words in (
        "Rao and Kupper",
        "No equivalence margin was stated (--margin)",
        "Ties by round:",
        "The same raters",
        "The left response was chosen",
    ):
        assert words in text
    index = found["tie_index"]
    assert ("Tie index" in text) == (index["low"] >= 0 and index["high"] <= 1)


def test_command_without_pairs_states_its_assumptions(tmp_path, preference):
    path = tmp_path / "votes.csv"
    with path.open("w", newline="") as handle:
        rows = [[f"p{k % 30}", ["a", "b", "tie"][k % 3]] for k in range(90)]
        csv.writer(handle).writerows([["pair", "choice"], *rows])
    text = preference(path, "--margin", 0.5)
    assert "No pairs.jsonl holds these pairs" in text
    assert "name no rater" in text
    assert "are equivalent within 50 points" in text


def test_one_rater_alone_is_said_and_not_refused(tmp_path, preference):
    path = tmp_path / "votes.csv"
    path.write_text("pair,rater,choice\n" + "".join(f"p{k},me,{'aab'[k % 3]}\n" for k in range(30)))
    assert "All votes are from one rater" in preference(path)
    path.write_text("pair,rater,choice,round\n" + "".join(f"p,me,{'aab'[k % 3]},{k + 1}\n" for k in range(30)))
    assert "clusters:vote" in preference(path)


def test_only_ties_leave_no_strengths_but_everything_else(tmp_path, preference):
    path = tmp_path / "votes.csv"
    path.write_text("pair,choice\n" + "".join(f"p{k},tie\n" for k in range(20)))
    found = json.loads(preference(path, "--margin", 0.1, "--json", "-"))
    assert found["davidson"] is None
    assert any("All votes are ties" in warning for warning in found["warnings"])
    assert found["tost"]["p"] == pytest.approx(0.9**20) and not found["tost"]["equivalent"]
    assert found["net"]["high"] == -found["net"]["low"] == pytest.approx(1 - 0.025 ** (1 / 20))
    path.write_text("pair,choice\n" + "".join(f"p{k},tie\n" for k in range(29)))
    assert json.loads(preference(path, "--margin", 0.1, "--json", "-"))["tost"]["equivalent"]


def test_a_system_that_always_won_has_a_bound_and_no_certainty(tmp_path, preference):
    path = tmp_path / "votes.csv"
    path.write_text("pair,choice\n" + "".join(f"p{k},b\n" for k in range(20)))
    net = json.loads(preference(path, "--json", "-"))["net"]
    assert net["low"] == -1 and net["high"] == pytest.approx(-1 + 2 * (1 - 0.025 ** (1 / 20)))
    with pytest.raises(InputError, match=r"--margin is 1; it is a net preference between 0 and 1\."):
        preference(path, "--margin", 1)


def test_pairs_beside_the_votes_that_are_not_theirs_are_left_alone(tmp_path, preference):
    study(tmp_path, pairs=4)
    path = tmp_path / "others.csv"
    path.write_text("pair,choice\n" + "".join(f"q{k},{'ab'[k % 2]}\n" for k in range(20)))
    found = json.loads(preference(path, "--json", "-"))
    assert found["systems"] == ["a", "b"]
    assert "No pairs.jsonl holds these pairs" in found["warnings"][0]
    with pytest.raises(InputError, match="does not hold pair 'q0'"):
        preference(path, "--pairs", tmp_path / "pairs.jsonl")


def crowd(generator, *, pairs=200, raters=60, rater_sd=0.3, pair_sd=0.2, shift=0.0):
    """Votes of a crowd whose raters and pairs differ; the net preference's truth is `shift` (up to clipping)."""
    pair = np.repeat(np.arange(pairs), 3)
    rater = np.concatenate([generator.choice(raters, 3, replace=False) for _ in range(pairs)])
    lean = shift + generator.normal(0, rater_sd, raters)[rater] + generator.normal(0, pair_sd, pairs)[pair]
    u = generator.random(pair.size)
    tie = 0.35
    first = (1 - tie) * np.clip(0.5 + lean / (2 * (1 - tie)), 0, 1)
    return pair, rater, np.where(u < tie, 0.0, np.where(u < tie + first, 1.0, -1.0))


@pytest.mark.slow
def test_clustered_interval_of_net_preference_covers():
    covered = np.zeros(2)
    for seed in range(1000):
        pair, rater, score = crowd(np.random.default_rng(seed))
        for k, by in enumerate(({"pair": pair, "rater": rater}, {})):
            found = net_interval(score, by=by)
            covered[k] += found.low <= 0 <= found.high
    print(covered / 1000)
    assert 0.93 <= covered[0] / 1000 <= 0.97
    assert covered[1] / 1000 < 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("raters", "power"), [(40, 0.57), (60, 0.71), (150, 0.9)])
def test_tost_claims_equivalence_at_the_margin_in_5_percent(raters, power):
    scatter = np.random.default_rng(0).normal(0.15, np.hypot(0.3, 0.2), 10**6)
    margin = float(np.clip(scatter, -0.65, 0.65).mean())  # the true net preference of this crowd
    claims = np.zeros(3)
    for seed in range(1000):
        pair, rater, score = crowd(np.random.default_rng(seed), raters=raters, shift=0.15)
        for k, by in enumerate(({"pair": pair, "rater": rater}, {})):
            claims[k] += tost(net_estimate(score, by=by), margin).equivalent
        pair, rater, score = crowd(np.random.default_rng(seed), raters=raters)
        claims[2] += tost(net_estimate(score, by={"pair": pair, "rater": rater}), margin).equivalent
    print(raters, claims / 1000)
    assert claims[0] / 1000 <= 0.05 + 0.015
    assert claims[2] / 1000 == pytest.approx(power, abs=0.04)
