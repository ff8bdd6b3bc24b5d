"""Two formulas of the dashboard, written again because the server loads neither numpy nor SciPy, are the analysis's."""

import numpy as np
import pytest

from seedvote.analysis.stats.intervals import mean_interval
from seedvote.analysis.stats.laws import hypergeometric_law
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.votes import votes_from_columns
from seedvote.crowd.watching.overview import Gathered
from seedvote.crowd.watching.share_interval import ClusterCounts, law_of_ties, share_interval


@pytest.mark.parametrize(("votes", "ties", "drawn"), [(1, 0, 1), (1, 1, 1), (10, 0, 4), (10, 10, 4), (10, 5, 10)])
def test_the_law_of_ties_at_the_edges(votes, ties, drawn):
    law = hypergeometric_law(votes, ties, drawn).probability
    np.testing.assert_allclose(law_of_ties(votes, ties, drawn), law, atol=1e-12)


def test_the_law_of_ties_in_a_set_drawn_without_replacement():
    rng = np.random.default_rng(3)
    for _ in range(100):
        votes = int(rng.integers(1, 3000))
        ties, drawn = int(rng.integers(0, votes + 1)), int(rng.integers(1, votes + 1))
        law = hypergeometric_law(votes, ties, drawn).probability
        np.testing.assert_allclose(law_of_ties(votes, ties, drawn), law, atol=1e-11)


def votes_drawn(seed):
    """(pair, rater, tie, dialogue) of a small study; nobody judges a pair twice, some raters do nearly all the work."""
    generator = np.random.default_rng(seed)
    pairs, raters = int(generator.choice([1, 2, 3, 12, 60])), int(generator.choice([1, 2, 5, 20]))
    work = generator.pareto(0.7, raters) if seed % 2 else np.ones(raters)
    takes = generator.random((pairs, raters)) < np.minimum(1, 3 * work / work.sum())
    takes[0, 0] = True
    pair, rater = np.nonzero(takes)
    love = generator.choice([0.0, 1.0, 0.3], p=[0.1, 0.1, 0.8]) + generator.normal(0, 0.3 * (seed % 3), raters)
    dialogue = pair // int(generator.choice([1, 2, 5, 100]))
    return pair, rater, (generator.random(len(pair)) < love[rater]).astype(int), dialogue


def counts_by(codes, ties):
    counts = ClusterCounts()
    for code in np.unique(codes):
        counts.add(int(ties[codes == code].sum()), int((codes == code).sum()))
    return counts


def gathered(pair, rater, ties, dialogue):
    """What the dashboard sums while it reads the votes."""
    found = Gathered(single=counts_by(np.arange(len(ties)), ties), together=counts_by(dialogue * 1000 + rater, ties))
    for code in np.unique(pair):
        at = pair == code
        found.add(str(dialogue[at][0]), int(ties[at].sum()), int(at.sum()))
    return found


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 400), marks=pytest.mark.slow)], ids=str)
def test_the_dashboards_interval_of_ties_is_that_of_the_analysis(seeds):
    for seed in seeds:
        pair, rater, ties, dialogue = votes_drawn(seed)
        sums = gathered(pair, rater, ties, dialogue)
        by = {sums.name: sums.counts, "rater": counts_by(rater, ties)}
        ours = share_interval(int(ties.sum()), len(ties), by, sums.cells)
        if len(ties) < 2:
            assert ours is None
            continue
        columns = {"pair": pair.astype(str), "rater": rater.astype(str), "dialogue": dialogue.astype(str)}
        votes = votes_from_columns({**columns, "choice": np.where(ties, "tie", "a")})
        theirs = mean_interval(ties, by=clusters_of(votes), share=True)
        assert ours.unit == theirs.unit
        found, expected = ((x.se, x.df, x.low, x.high) for x in (ours, theirs))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), seed
