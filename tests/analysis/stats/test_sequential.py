"""Stopping at any time: Ville's bound in simulation, martingales by hand, known formulas."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import nct, norm, t

from seedvote.analysis.questions.planning.stopping import look
from seedvote.analysis.stats.intervals import mean_interval
from seedvote.analysis.stats.sequential import bet_on_mean, look_by_mixture, mixture_reach, pick_unshared, trusted_error
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.votes import net_scores
from seedvote.dialogue.errors import InputError
from tests.analysis.growing_study import Crowd, contrast, grown, path, ruled_out


def ternary(generator, count, net=0.0, ties=0.35):
    return generator.choice([1.0, -1.0, 0.0], count, p=[(1 - ties + net) / 2, (1 - ties - net) / 2, ties])


def test_mixture_is_the_averaged_likelihood_ratio_of_t():
    estimate, se, scale, clusters = 0.11, 0.05, 0.16, 30
    held = np.hypot(se, 1 / clusters)  # one more rater of another mind is in it
    seen, freedom, spread = estimate / held, clusters - 1, scale / held
    ratio = quad(lambda d: nct.pdf(seen, freedom, d) / t.pdf(seen, freedom) * norm.pdf(d, 0, spread), -20, 20)[0]
    assert look_by_mixture(estimate, se, clusters=clusters, scale=scale).e == pytest.approx(ratio)


def test_with_many_clusters_the_mixture_is_robbins():
    weight = (0.16 / 0.05) ** 2
    robbins = np.sqrt((1 + weight) / weight * (2 * np.log(20) + np.log1p(weight)))
    assert mixture_reach(weight, 1e7, 0.05) == pytest.approx(robbins, rel=1e-5)
    assert mixture_reach(weight, 1e7, 0.05) > norm.ppf(0.975)
    assert mixture_reach(weight, 19.0, 0.05) > robbins
    assert mixture_reach(weight, 2.0, 0.05) == np.inf


def test_the_interval_holds_exactly_the_values_that_are_not_ruled_out():
    now = look_by_mixture(0.1, 0.05, clusters=40, scale=0.16)
    for edge in (now.low, now.high):
        assert look_by_mixture(0.1 - edge, 0.05, clusters=40, scale=0.16).e == pytest.approx(20)


def test_the_error_holds_one_more_rater_of_another_mind():
    """One more rater of another mind among twenty moves the mean by about 1/20."""
    assert trusted_error(0.0, 20) == 0.05
    assert trusted_error(0.12, 20) == pytest.approx(0.13)
    assert trusted_error(0.2, 1e6) == pytest.approx(0.2)
    unanimous = look_by_mixture(1.0, 0.0, clusters=20, scale=0.16)
    assert unanimous.e > 20 and 0.5 < unanimous.low < 0.9 and unanimous.high == 1
    assert look_by_mixture(1.0, 0.0, clusters=4, scale=0.16).e < 20


def test_look_keeps_its_estimate_and_error():
    now = look_by_mixture(-0.3, 0.05, clusters=40, scale=0.16)
    assert (now.estimate, now.se) == (-0.3, pytest.approx(np.hypot(0.05, 1 / 40)))
    assert now.low < now.estimate < now.high < 0 and now.e > 20


def test_capital_is_a_martingale_under_a_fair_game():
    """One step from any history: the mean over the outcomes of the new e is the old e."""
    history = [1.0, 0.0, -1.0, 1.0, 1.0]
    for steps in range(1, 5):
        before = bet_on_mean(np.array(history[:steps])).e[-1]
        after = [bet_on_mean(np.array([*history[:steps], x])).e[-1] for x in (1.0, -1.0, 0.0)]
        assert 0.3 * after[0] + 0.3 * after[1] + 0.4 * after[2] == pytest.approx(before)


def test_capital_is_that_of_the_published_bet():
    """Waudby-Smith and Ramdas (2024), equations 13 to 15 and the hedged capital, in a plain loop."""
    values = ternary(np.random.default_rng(6), 60, net=0.3)
    up = down = 1.0
    total, squares, e = 0.5, 0.25, []
    spread = 0.25
    for n, x in enumerate((values + 1) / 2, 1):
        stake = min(np.sqrt(2 * np.log(2 / 0.05) / (spread * n * np.log(n + 1))), 0.5 / 0.5)
        up, down = up * (1 + stake * (x - 0.5)), down * (1 - stake * (x - 0.5))
        e.append((up + down) / 2)
        total += x
        squares += (x - total / (n + 1)) ** 2
        spread = squares / (n + 1)
    assert bet_on_mean(values).e == pytest.approx(e)


def test_bet_votes_share_nothing_and_stay_fixed():
    generator = np.random.default_rng(5)
    rater, dialogue = generator.integers(0, 40, 500), generator.integers(0, 60, 500)
    taken = pick_unshared([rater, dialogue])
    assert len(np.unique(rater[taken])) == len(np.unique(dialogue[taken])) == len(taken) > 20
    for left_out in set(range(500)) - set(taken.tolist()):
        earlier = taken[taken < left_out]
        assert rater[left_out] in rater[earlier] or dialogue[left_out] in dialogue[earlier]
    early = pick_unshared([rater[:90], dialogue[:90]])
    assert np.array_equal(early, taken[: len(early)])


def test_peeking_every_time_errs_in_5_percent():
    generator = np.random.default_rng(0)
    paths = [bet_on_mean(ternary(generator, 400), grid=41) for _ in range(300)]
    assert np.mean([path.stop is not None for path in paths]) <= 0.05
    assert np.mean([(path.low > 0).any() or (path.high < 0).any() for path in paths]) <= 0.05


def test_a_real_preference_is_found_and_the_interval_closes_on_it():
    path = bet_on_mean(ternary(np.random.default_rng(1), 3000, net=0.2))
    assert path.stop is not None
    assert path.low[-1] < 0.2 < path.high[-1]
    assert path.high[-1] - path.low[-1] < 0.15
    assert path.low[0] == -1
    assert path.high[0] == 1


def test_betting_in_blocks_is_betting_at_once(monkeypatch):
    values = ternary(np.random.default_rng(3), 500, net=0.1)
    whole = bet_on_mean(values)
    monkeypatch.setattr("seedvote.analysis.stats.sequential.BETTING_BLOCK", 7)
    parts = bet_on_mean(values)
    for name in ("e", "low", "high"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name))


def test_what_cannot_be_bet_on_is_refused():
    with pytest.raises(InputError, match="all between -1 and 1"):
        bet_on_mean(np.array([0.0, 2.0]))


@pytest.mark.slow
@pytest.mark.parametrize("net", [0.0, 0.1])
def test_the_betting_interval_covers_at_all_times(net):
    generator = np.random.default_rng(2)
    missed = 0
    for _ in range(2000):
        path = bet_on_mean(ternary(generator, 1000, net=net), grid=201)
        missed += bool(((path.low > net) | (path.high < net)).any())
    print(net, missed / 2000)
    assert missed / 2000 <= 0.05


CROWDS = (
    Crowd(60, 900, per_dialogue=5, dialogue_sd=0.7, work="pareto"),
    Crowd(20, 600, per_dialogue=5, dialogue_sd=0.7, lean=0.8, arrival="sittings"),
)


@pytest.mark.parametrize("crowd", CROWDS)
def test_the_path_of_the_simulations_is_that_of_the_analysis(crowd):
    study = grown(crowd, np.random.default_rng(4))
    seen = path(study)
    stops = ruled_out(seen)
    for n in (40, 150, 333, crowd.votes):
        votes = contrast(study, n).votes
        net = mean_interval(net_scores(votes.choice), by=clusters_of(votes))
        assert (net.value, net.se) == pytest.approx((seen.net[n - 1], seen.se[n - 1]))
        now = look(contrast(study, n), difference=0.16, alpha=0.05)
        assert now.clusters == pytest.approx(seen.clusters[n - 1])
        assert (now.verdict == "preferred") == stops[n - 1]


def false_stops(crowd, studies, scales=(0.16,), seed=0):
    """The share of studies in which some look, of one after every vote, rules out the truth (no preference)."""
    generator = np.random.default_rng(seed)
    paths = (path(grown(crowd, generator)) for _ in range(studies))
    return np.mean([[ruled_out(seen, scale=scale).any() for scale in scales] for seen in paths], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("crowd", [Crowd(20, 600, work="lognormal"), Crowd(40, 480, per_dialogue=4, dialogue_sd=0.7)])
def test_looks_after_every_vote_stop_few_null_studies(crowd):
    assert false_stops(crowd, 250) <= 0.05


def test_agreeing_raters_stop_few_studies():
    """Without one more rater of another mind in the error .10 of these studies stop."""
    assert false_stops(Crowd(30, 1200, devoted=0.1, arrival="sittings"), 150) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("crowd", [Crowd(40, 800, work="lognormal"), Crowd(30, 600, arrival="sittings")])
def test_exact_bet_errs_in_5_percent_of_crowds(crowd):
    generator = np.random.default_rng(7)
    stops = 0
    for _ in range(200):
        study = grown(crowd._replace(per_dialogue=4, dialogue_sd=0.7), generator)
        taken = pick_unshared([study.dialogue, study.rater])
        stops += bet_on_mean(study.score[taken], grid=3).stop is not None
    assert stops / 200 <= 0.05


GRID = [
    Crowd(raters, max(12 * raters, 720), per_dialogue=per_dialogue, dialogue_sd=sd, work=work, arrival=arrival)
    for raters in (10, 20, 50, 100)
    for per_dialogue, sd in ((1, 0.0), (10, 0.7))
    for work in ("even", "pareto", "lognormal")
    for arrival in ("mixed", "sittings")
]
DEVOTED = [
    Crowd(raters, 60 * raters, devoted=share, arrival=arrival)
    for raters in (20, 40, 60)
    for share in (0.05, 0.1, 0.2)
    for arrival in ("mixed", "sittings")
]


@pytest.mark.slow
@pytest.mark.parametrize("crowd", GRID)
def test_a_look_after_every_vote_errs_in_at_most_five_percent_of_studies(crowd):
    rates = false_stops(crowd, 1000, scales=(0.05, 0.16, 0.5))
    print(crowd.raters, crowd.per_dialogue, crowd.work, crowd.arrival, rates)
    assert (rates <= 0.05 + 0.014).all()  # two Monte-Carlo errors


@pytest.mark.slow
@pytest.mark.parametrize("crowd", DEVOTED)
def test_few_devoted_raters_who_did_not_come_yet_do_not_deceive(crowd):
    """Until one of them comes, all raters agree; without trusted_error up to .15 of studies stop."""
    rates = false_stops(crowd, 700, scales=(0.05, 0.16, 0.5))
    print(crowd.raters, crowd.devoted, crowd.arrival, rates)
    assert (rates <= 0.05).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "crowd", [Crowd(30, 900, lean=1.0, work="lognormal"), Crowd(50, 900, lean=0.5, per_dialogue=5)]
)
def test_the_always_valid_interval_covers_a_real_preference_at_all_times(crowd):
    generator = np.random.default_rng(1)
    truth = np.mean([grown(crowd, generator).score.mean() for _ in range(4000)])
    missed = np.mean([ruled_out(path(grown(crowd, generator)), truth=truth).any() for _ in range(1000)])
    print(crowd, truth, missed)
    assert missed <= 0.05 + 0.014
