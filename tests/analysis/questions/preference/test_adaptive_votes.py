"""Votes of an adaptive study: weighed where pairs came up with different probabilities, else counted plainly."""

import itertools

import numpy as np
import pytest

from seedvote.analysis import notebook
from seedvote.analysis.stats.adaptive import weigh_votes
from seedvote.analysis.stats.paired.davidson import count_games, fit_model
from seedvote.analysis.stats.paired.davidson_errors import cluster_errors
from seedvote.analysis.stats.paired.reversal import reverse_leader

SYSTEMS = ("one", "two", "three")


def made_votes(gets_more=lambda n, differ: differ or n % 3 == 0, seed=0, dialogues=12):
    """Two votes on every pair, and a third in the next batch on some, as columns."""
    generator, rows = np.random.default_rng(seed), []
    for n, (a, b) in itertools.product(range(dialogues), itertools.combinations(SYSTEMS, 2)):
        choices = generator.choice(["a", "b", "tie"], 3, p=[0.5, 0.3, 0.2])
        number = 3 if gets_more(n, choices[0] != choices[1]) else 2
        rows += [(f"{n}{a}{b}", f"d{n}", a, b, f"r{(n + k) % 11}", choices[k], 1 + k // 2, 0.4) for k in range(number)]
    names = ("pair", "dialogue", "system_a", "system_b", "rater", "choice", "batch", "propensity")
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def preference(votes):
    return notebook.preference(votes, careful=False, sets=50)


def without(votes, *names):
    return {name: column for name, column in votes.items() if name not in names}


@pytest.mark.parametrize("gets_more", [lambda n, differ: False, lambda n, differ: True])
def test_votes_are_counted_plainly_where_no_pair_got_more_by_its_answers(gets_more):
    votes = made_votes(gets_more)
    found, plain = preference(votes).document, preference(without(votes, "batch", "propensity")).document
    assert found["contrasts"] == plain["contrasts"] and found["davidson"] == plain["davidson"]


def test_further_votes_are_weighed_within_their_comparison():
    votes = made_votes()
    found = preference(votes).document
    number = len(votes["pair"])
    for row in found["contrasts"]:
        rows = [
            k for k in range(number) if {votes["system_a"][k], votes["system_b"][k]} == {row["first"], row["second"]}
        ]
        score = np.array([{"a": 1, "b": -1, "tie": 0}[votes["choice"][k]] for k in rows])
        score = score * np.array([1 if votes["system_a"][k] == row["first"] else -1 for k in rows])
        pair, batch, answer = (np.array([votes[name][k] for k in rows]) for name in ("pair", "batch", "choice"))
        weights = weigh_votes(np.zeros(len(rows), int), np.unique(pair, return_inverse=True)[1], batch, answer)
        assert row["net"]["value"] == pytest.approx(np.average(score, weights=weights))
        assert row["net"]["low"] < row["net"]["value"] < row["net"]["high"]
    plain = preference(without(votes, "batch", "propensity")).document
    assert found["contrasts"] != plain["contrasts"] and found["davidson"] != plain["davidson"]


def test_votes_without_a_probability_count_one():
    votes = made_votes()
    votes["propensity"] = [None] * len(votes["pair"])
    found, plain = preference(votes).document, preference(without(votes, "batch", "propensity")).document
    assert found["contrasts"] == plain["contrasts"]


def test_it_is_said_how_pairs_were_chosen_and_what_an_even_design_takes():
    votes = made_votes(lambda n, differ: True)
    few = [k for k in range(108) if votes["system_b"][k] == "two" or k < 54]
    warnings = preference({name: [column[k] for k in few] for name, column in votes.items()}).document["warnings"]
    assert "Pairs were chosen adaptively, in 2 batches." in warnings
    assert any("An even design takes 108 votes to give each of 3 comparisons as many; this one took 72." in w
               for w in warnings)  # fmt: skip
    assert not any("adaptively" in w for w in preference(without(votes, "batch", "propensity")).document["warnings"])


def test_a_vote_that_weighs_two_is_two_votes_of_its_cluster():
    generator = np.random.default_rng(1)
    a, b = generator.integers(0, 3, 200), generator.integers(1, 3, 200)
    b = (a + b) % 3
    choice, left, rater = generator.integers(0, 3, 200), generator.integers(0, 2, 200), generator.integers(0, 20, 200)
    weight = generator.integers(1, 4, 200)
    rows = np.repeat(np.arange(200), weight)
    weighed = count_games(SYSTEMS, a, b, choice, left, weight=weight.astype(float))
    doubled = count_games(SYSTEMS, a[rows], b[rows], choice[rows], left[rows])
    assert weighed.counts == pytest.approx(doubled.counts)
    fits = [
        cluster_errors(games, fit_model(games), {"rater": codes})
        for games, codes in ((weighed, rater), (doubled, rater[rows]))
    ]
    assert fits[0].parameters == pytest.approx(fits[1].parameters)
    assert fits[0].covariance == pytest.approx(fits[1].covariance, abs=1e-9)
    reversals = [
        reverse_leader(games, "davidson", {"rater": codes})[0].fewest
        for games, codes in ((weighed, rater), (doubled, rater[rows]))
    ]
    assert reversals[0] == reversals[1]
