"""Where ties are: traits of pairs, in thirds, and what is left out where nothing can be said."""

import numpy as np
import pytest

from seedvote.analysis.questions.ties.difficulty import AGREEMENT, CLOSENESS, CONTEXT, closeness, tie_traits
from seedvote.analysis.stats.disparity import share_ratio
from seedvote.analysis.votes.votes import votes_from_columns
from seedvote.dialogue.records import Candidate, Pair, Utterance


def study(pairs, difficulty=None):
    """Ties on close texts alone; three votes a pair by 30 raters."""
    generator = np.random.default_rng(0)
    records, rows = {}, []
    for k in range(pairs):
        common = k % 5
        texts = [" ".join(["same"] * common + [f"{side}{n}" for n in range(4 - common)]) for side in "ab"]
        extra = {} if difficulty is None else {"difficulty": difficulty(k)}
        context = (Utterance("user", "word " * int(generator.integers(1, 40))),)
        sides = (Candidate(text, side) for text, side in zip(texts, "ab", strict=True))
        records[f"p{k}"] = Pair(f"p{k}", f"i{k}", context, *sides, extra=extra)
        for vote in range(3):
            tie = generator.random() < 0.1 + 0.2 * common
            rows.append((f"p{k}", f"r{(7 * k + vote) % 30}", "tie" if tie else generator.choice(["a", "b"])))
    pair, rater, choice = zip(*rows, strict=True)
    return votes_from_columns({"pair": pair, "rater": rater, "choice": choice}), records


def test_ties_go_with_the_trait_that_makes_them_and_with_no_other():
    votes, pairs = study(200, difficulty=lambda k: k % 7)
    traits = {trait.name: trait for trait in tie_traits(votes, pairs, "auto")}
    assert list(traits) == [CONTEXT, CLOSENESS, AGREEMENT, "difficulty"]
    close = traits[CLOSENESS]
    assert close.p_holm < 1e-4 and close.ratio.low > 1.5
    assert min(traits[CONTEXT].p_holm, traits["difficulty"].p_holm) > 0.05
    low, high = close.thirds[0], close.thirds[-1]
    assert close.ratio.value == pytest.approx(high.ties.value / low.ties.value)
    assert low.most < high.least and close.thirds[0].votes + close.thirds[1].votes + close.thirds[2].votes == 600


def test_traits_that_votes_cannot_tell_apart_are_left_out():
    votes, pairs = study(200, difficulty=lambda k: 3)
    assert "difficulty" not in [trait.name for trait in tie_traits(votes, pairs, "auto")]
    few, few_pairs = study(12)
    assert tie_traits(few, few_pairs, "auto") == ()
    assert [trait.name for trait in tie_traits(votes, {}, "auto")] == [AGREEMENT]


def test_agreement_counts_the_other_raters_alone():
    """Two raters who choose the same response agree on the third one's vote; with their own vote all would."""
    choice = [*["a", "a", "tie"] * 40, *["a", "b", "b"] * 40]
    votes = votes_from_columns({"pair": [f"p{k // 3}" for k in range(240)], "choice": choice})
    (trait,) = tie_traits(votes, {}, "auto") or [None]
    # Where the other two agree: all 40 ties, and 40 votes for a against two for b.
    assert trait is None or trait.thirds[-1].ties.value == pytest.approx(40 / 80)


def test_a_ratio_needs_hits_on_both_sides():
    inside = np.arange(100) < 50
    pair = np.arange(100) // 2
    assert share_ratio(np.arange(100) < 20, inside, {"pair": pair}) is None
    ratio = share_ratio(np.arange(100) % 5 == 0, inside, {"pair": pair})
    assert ratio.value == 1 and ratio.low < 1 < ratio.high and ratio.p == 1


def test_closeness_is_the_same_whichever_text_comes_first():
    assert closeness("a b c", "c b") == closeness("c b", "a b c") == pytest.approx(4 / 5)
    assert (closeness("", ""), closeness("a", "b"), closeness("A b", "a B")) == (1, 0, 1)
