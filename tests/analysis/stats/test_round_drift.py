"""Rounds within raters: the formula against a slow twin, votes that tell nothing, and rounds of other raters."""

import csv

import numpy as np
import pytest
from scipy.stats import f

from seedvote.analysis.stats.round_drift import round_drift
from tests.analysis.worlds import Arrivals


def of(study):
    return round_drift(study["pair"], study["round"], study["rater"], study["tie"])


def test_it_is_the_sum_of_raters_scores_by_their_own_variance():
    study = Arrivals(raters=12, pairs=50).study(np.random.default_rng(0))
    scores, known = [], []
    for rater in range(12):
        at = study["rater"] == rater
        ties = study["tie"][at] - study["tie"][at].mean()
        among = np.stack([study["round"][at] == k for k in (1, 2)], 1).astype(float)
        among -= among.mean(0)
        scores.append(ties @ among)
        known.append((among**2).sum())
    scores, known = np.array(scores), np.array(known)
    w = scores.sum(0) @ np.linalg.inv(scores.T @ scores) @ scores.sum(0)
    raters = known.sum() ** 2 / (known**2).sum()
    found = of(study)
    assert found.effective == pytest.approx(raters) and found.freedom == (2, pytest.approx(raters - 2))
    assert found.statistic == pytest.approx(w / (raters - w) * (raters - 2) / 2)
    assert found.p == pytest.approx(f.sf(found.statistic, 2, raters - 2))
    shares = [study["tie"][study["round"] == k].mean() for k in range(3)]
    assert (found.shares, found.pairs, found.raters) == (pytest.approx(tuple(shares)), 50, 12)


def test_rounds_that_are_orders_of_arrival_have_no_p(shared):
    """No rater changed: habits differ, and each rater came once. Cochran's Q says p < .0001."""
    with (shared / "data" / "claims" / "cochran_null.csv").open() as handle:
        rows = [*csv.DictReader(handle)]
    code = {name: np.unique([row[name] for row in rows], return_inverse=True)[1] for name in ("pair", "rater", "round")}
    found = round_drift(code["pair"], code["round"], code["rater"], np.array([row["choice"] == "tie" for row in rows]))
    assert found.p is None and (found.raters, found.everybody, found.pairs) == (2, 10, 200)
    assert found.shares == pytest.approx((0.475, 0.255, 0.285))


def test_votes_without_raters_or_without_whole_pairs_have_no_test():
    pair, round = np.repeat(np.arange(50), 2), np.tile([1, 2], 50)
    nobody = round_drift(pair, round, None, pair % 2 == 0)
    assert (nobody.p, nobody.everybody, nobody.shares) == (None, 0, (0.5, 0.5))
    lone = round_drift(np.arange(4), np.array([1, 2, 1, 2]), np.arange(4), np.ones(4, bool))
    assert (lone.pairs, lone.p, lone.shares) == (0, None, (0.0, 0.0))


def test_raters_who_never_answer_differently_did_not_change():
    study = Arrivals().study(np.random.default_rng(1))
    for tie in (np.ones(600, bool), study["rater"] % 2 == 0):
        found = of({**study, "tie": tie})
        assert (found.statistic, found.p) == (0.0, 1.0)


def test_drift_of_raters_is_found_and_crowd_change_not():
    generator = np.random.default_rng(2)
    drifting = [of(Arrivals(drift=1.0).study(generator)).p for _ in range(40)]
    replaced = [of(Arrivals(work="window", sd_habit=0.8).study(generator)).p for _ in range(100)]
    assert np.mean(np.array(drifting) < 0.05) > 0.7 and np.mean(np.array(replaced) < 0.05) < 0.12


def test_a_pair_judged_twice_in_a_round_does_not_count():
    study = Arrivals(raters=12, pairs=50).study(np.random.default_rng(3))
    more = {name: np.append(values, values[:1]) for name, values in study.items()}
    assert of(more).pairs == 49
