"""The one rule by which votes are clustered, and how often the default intervals hold the truth.

The slow test prints the table.
"""

import numpy as np
import pytest

from seedvote.analysis import arguments
from seedvote.analysis.questions.preference.answer import prefer
from seedvote.analysis.stats.intervals import mean_interval
from seedvote.analysis.votes.clusters import CLUSTERINGS, clusters_of
from seedvote.analysis.votes.systems import contrasts, fixed_sides, match
from seedvote.analysis.votes.votes import votes_from_columns
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Candidate, Pair
from tests.analysis.worlds import Crowd

GRID = [
    *(Crowd(200, raters=raters) for raters in (5, 10, 50, 500)),
    *(Crowd(200, raters=raters, work="pareto") for raters in (10, 50, 500)),
    Crowd(667, raters=50, work="pareto"),
    Crowd(200, raters=50, work="pareto", sd_rater=0.7, sd_habit=0.72),
    Crowd(667, raters=50, work="log-normal", sd_rater=0.7, sd_habit=0.72),
    *(Crowd(40, 5, sd_dialogue=sd, work=work) for sd in (0.5, 1.0) for work in ("even", "pareto")),
    Crowd(40, 5, sd_dialogue=1.0, work="pareto", raters=10),
    *(Crowd(10, 20, sd_dialogue=sd, work=work) for sd in (0.5, 1.0) for work in ("even", "pareto")),
    Crowd(10, 20, sd_dialogue=1.0, work="pareto", raters=10),
]
TINY = [Crowd(100, raters=3), Crowd(12, raters=12), Crowd(30, raters=30, votes_each=1)]


def drawn(**more):
    """Twelve votes: four pairs, three raters; more columns by name."""
    table = {"pair": [f"p{k // 3}" for k in range(12)], "rater": [f"r{k % 3}" for k in range(12)],
             "choice": ["a", "b", "tie", "tie"] * 3, "round": [1 + k % 3 for k in range(12)]}  # fmt: skip
    return votes_from_columns({**table, **more})


def test_the_flag_names_what_the_rule_knows():
    assert arguments.CLUSTERS.choices == CLUSTERINGS


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
    assert list(clusters_of(drawn(**more))) == ways


def test_what_is_asked_for_by_name_must_be_there():
    assert list(clusters_of(drawn(), "pair")) == ["pair"]
    assert clusters_of(drawn(), "vote") == {}
    with pytest.raises(InputError, match=r"no dialogue column, and --clusters dialogue\+rater needs it"):
        clusters_of(drawn(), "dialogue+rater")
    with pytest.raises(InputError, match="needs two raters or more; the votes have one"):
        clusters_of(drawn(rater=["r"] * 12), "rater")
    assert list(clusters_of(drawn(rater=["r"] * 12), "pair+rater", part=True)) == ["pair"]
    with pytest.raises(InputError, match="--clusters is 'seed'; write one of auto"):
        clusters_of(drawn(), "seed")


def test_a_part_of_the_votes_is_clustered_by_itself():
    """Ten dialogues with two pairs each, of which a contrast has but one: by pair there."""
    table = drawn(dialogue=[f"d{k // 6}" for k in range(12)])
    assert list(clusters_of(table.select(np.isin(table.pair, [0, 2])))) == ["pair", "rater"]


def test_pairs_lend_their_dialogue_to_votes_that_name_none(tmp_path):
    sides = [Candidate(text=name, model=name, seed=0, checkpoint="last") for name in ("x", "y")]
    pairs = {f"p{k}": Pair(f"p{k}", f"i{k}", [], *sides, dialogue=f"d{k // 2}") for k in range(4)}
    matches = match(drawn(), tmp_path / "pairs.jsonl", pairs)
    assert list(clusters_of(matches.votes)) == ["dialogue", "rater"]


def held(crowd, studies, *, clusters="auto", seed=7):
    """Shares of studies whose intervals of ties and of net preference hold the truth."""
    generator, (ties, net) = np.random.default_rng(seed), crowd.truth()
    found = np.zeros(2)
    for _ in range(studies):
        study = crowd.study(generator)
        names = {name: [f"{name}{code}" for code in study[name]] for name in ("pair", "dialogue", "rater")}
        choice = np.select([study["score"] > 0, study["score"] < 0], ["a", "b"], "tie")
        votes = votes_from_columns({**names, "choice": choice})
        share = mean_interval(votes.tie, by=clusters_of(votes, clusters), share=True)
        (contrast,) = contrasts(fixed_sides(votes))
        score = prefer(contrast, margin=None, clusters=clusters).net
        found += share.low <= ties <= share.high, score.low <= net <= score.high
    return found / studies


@pytest.mark.slow
def test_default_clusters_cover_dependent_dialogues():
    crowd = Crowd(10, 20, sd_dialogue=1.0, work="pareto", raters=50)
    assert (held(crowd, 150) > 0.9).all()
    assert (held(crowd, 150, clusters="pair+rater") < [0.85, 0.7]).all()


def test_p_below_5_percent_agrees_with_interval_at_zero():
    generator = np.random.default_rng(2)
    for size in range(60):
        study = Crowd(3 + size % 9, 1 + size % 3, raters=4 + size % 7, centre=0.5).study(generator)
        names = {name: [str(code) for code in study[name]] for name in ("pair", "dialogue", "rater")}
        votes = votes_from_columns({**names, "choice": np.array(["a", "tie", "b"])[1 - study["score"].astype(int)]})
        for contrast in contrasts(fixed_sides(votes)):
            found = prefer(contrast, margin=None)
            assert (found.p < 0.05) == (not found.net.low <= 0 <= found.net.high)


@pytest.mark.parametrize("clusters", [2, 3, 5, 6, 7, 20])
@pytest.mark.parametrize("score", ["a", "b", "tie"])
def test_p_agrees_with_the_interval_where_all_votes_are_alike(clusters, score):
    pair = [f"p{k}" for k in range(clusters)]
    (contrast,) = contrasts(fixed_sides(votes_from_columns({"pair": pair, "choice": [score] * clusters})))
    found = prefer(contrast, margin=None)
    assert found.p == (1.0 if score == "tie" else pytest.approx(min(1.0, 2 * 0.5**clusters)))
    assert (found.p < 0.05) == (not found.net.low <= 0 <= found.net.high)


@pytest.mark.slow
@pytest.mark.parametrize("crowd", [*GRID, *TINY], ids=str)
def test_the_default_intervals_cover(crowd):
    ties, net = held(crowd, 1500)
    c = crowd
    print(f"\n| {c.dialogues} x {c.pairs_each} x {c.votes_each} | {c.raters}, {c.work} | {c.sd_dialogue:g} | "
          f"{c.sd_rater:g}, {c.sd_habit:g} | {ties:.3f} | {net:.3f} |")  # fmt: skip
    low, high = (0.92, 1.0) if crowd in TINY else (0.92, 0.98) if crowd.raters <= 10 else (0.93, 0.97)
    error = 2 * np.sqrt(0.95 * 0.05 / 1500)  # of the simulation itself
    assert low - error <= min(ties, net) and max(ties, net) <= high + error
