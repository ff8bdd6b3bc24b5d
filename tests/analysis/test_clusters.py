"""The one rule by which votes are clustered."""

import numpy as np
import pytest

from analysis import arguments
from analysis.reading.clusters import CLUSTERINGS, clusters_of
from analysis.reading.systems import match
from analysis.reading.votes import votes_from_columns
from dialogue.errors import InputError
from dialogue.records import Candidate, Pair


def votes(**more):
    """Twelve votes: four pairs, three raters; more columns by name."""
    table = {"pair": [f"p{k // 3}" for k in range(12)], "rater": [f"r{k % 3}" for k in range(12)],
             "choice": ["a", "b", "tie", "tie"] * 3}  # fmt: skip
    return votes_from_columns({**table, **more})


def test_the_flag_names_what_the_rule_knows():
    assert arguments.CLUSTERINGS == CLUSTERINGS


@pytest.mark.parametrize(
    ("more", "ways"),
    [
        ({}, ["pair", "rater"]),
        ({"dialogue": [f"d{k // 6}" for k in range(12)]}, ["dialogue", "rater"]),
        ({"dialogue": [f"d{k // 3}" for k in range(12)]}, ["pair", "rater"]),  # one pair a dialogue
        ({"dialogue": ["d"] * 12}, ["pair", "rater"]),  # one dialogue has no spread to see
        ({"item": [f"i{k // 6}" for k in range(12)]}, ["item", "rater"]),
        ({"item": [f"i{k // 6}" for k in range(12)], "dialogue": [f"d{k // 6}" for k in range(12)]},
         ["dialogue", "rater"]),
        ({"item": [f"i{k}" for k in range(12)]}, ["pair", "rater"]),  # finer than pairs: the pairs hang together still
        ({"rater": ["r"] * 12}, ["pair"]),
        ({"rater": ["r"] * 12, "pair": ["p"] * 12}, []),
    ],
)  # fmt: skip
def test_what_hangs_together(more, ways):
    assert list(clusters_of(votes(**more))) == ways


def test_what_is_asked_for_by_name_must_be_there():
    assert list(clusters_of(votes(), "pair")) == ["pair"]
    assert clusters_of(votes(), "vote") == {}
    with pytest.raises(InputError, match=r"no dialogue column, and --clusters dialogue\+rater needs it"):
        clusters_of(votes(), "dialogue+rater")
    with pytest.raises(InputError, match="needs two raters or more; the votes have one"):
        clusters_of(votes(rater=["r"] * 12), "rater")
    with pytest.raises(InputError, match="--clusters is 'seed'; write one of auto"):
        clusters_of(votes(), "seed")


def test_a_part_of_the_votes_is_clustered_by_itself():
    """Ten dialogues with two pairs each, of which a contrast has but one: by pair there."""
    table = votes(dialogue=[f"d{k // 6}" for k in range(12)])
    assert list(clusters_of(table.select(np.isin(table.pair, [0, 2])))) == ["pair", "rater"]


def test_pairs_lend_their_dialogue_to_votes_that_name_none(tmp_path):
    sides = [Candidate(text=name, model=name, seed=0, checkpoint="last") for name in ("x", "y")]
    pairs = {f"p{k}": Pair(f"p{k}", f"i{k}", [], *sides, dialogue=f"d{k // 2}") for k in range(4)}
    matches = match(votes(), tmp_path / "pairs.jsonl", pairs)
    assert list(clusters_of(matches.votes)) == ["dialogue", "rater"]
