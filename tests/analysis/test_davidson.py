"""Davidson's and Rao-Kupper's models against published fits, two other packages, a slow twin and known truth."""

import json
from pathlib import Path

import choix
import evalica
import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.stats import norm

from analysis.stats.davidson import FAR, bootstrap, clustered, fit, games, normal_draws
from dialogue.errors import InputError

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def golden(name):
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))


def votes(rows):
    """(a, b, wins of a, wins of b, ties) to one entry a vote."""
    a, b, choice = [], [], []
    for i, j, *numbers in rows:
        for outcome, number in enumerate(numbers):
            a += [i] * number
            b += [j] * number
            choice += [outcome] * number
    return np.array(a), np.array(b), np.array(choice)


def pudding():
    data = golden("davidson1970.json")
    a, b, choice = votes(data["rows"])
    return games([str(k) for k in range(1, 7)], a - 1, b - 1, choice, None), data["published"]


def baseball():
    data = golden("agresti2002.json")
    teams = sorted({row[0] for row in data["rows"]})
    a, b, choice = votes([(teams.index(home), teams.index(away), x, y, 0) for home, away, x, y in data["rows"]])
    return teams, a, b, choice, data["published"]


def simulated(count, seed, *, systems=5, model="davidson", tie=0.6, position=0.3, pairs=True):
    generator = np.random.default_rng(seed)
    strengths = np.linspace(-0.8, 0.8, systems)
    a = generator.integers(0, systems, count)
    b = (a + generator.integers(1, systems, count)) % systems
    left = generator.integers(-1, 2, count)
    d = strengths[a] - strengths[b] + position * np.select([left == 0, left == 1], [1, -1], 0)
    if model == "davidson":
        weight = np.stack([np.exp(d / 2), np.exp(-d / 2), np.full(count, np.exp(tie))])
    else:
        first, second = 1 / (1 + np.exp(tie - d)), 1 / (1 + np.exp(tie + d))
        weight = np.stack([first, second, 1 - first - second])
    edges = (weight / weight.sum(0)).cumsum(0)
    choice = (generator.random(count) > edges[:2]).sum(0)
    return strengths, [str(k) for k in range(systems)], a, b, choice, left


def log_likelihood(played, model, theta, position, tie):
    d = theta[played.a] - theta[played.b] + position * played.side
    if model == "davidson":
        weight = np.stack([np.exp(d / 2), np.exp(-d / 2), np.full(len(d), np.exp(tie))], 1)
        chances = weight / weight.sum(1, keepdims=True)
    else:
        first, second = 1 / (1 + np.exp(tie - d)), 1 / (1 + np.exp(tie + d))
        chances = np.stack([first, second, 1 - first - second], 1)
    return float((played.counts * np.log(chances)).sum())


def second_derivatives(loss, at, step=1e-3):
    moves = step * np.eye(len(at))
    return np.array(
        [
            [(loss(at + u + v) - loss(at + u - v) - loss(at - u + v) + loss(at - u - v)) / (4 * step**2) for v in moves]
            for u in moves
        ]
    )


def test_chocolate_pudding_of_davidson_1970():
    played, published = pudding()
    found = fit(played)
    worth = np.exp(found.strengths)
    nu = float(np.exp(found.parameters[found.tie]))
    # The paper stopped after seven steps, 2e-5 short of the maximum; to four digits both are the same.
    assert np.abs(worth / worth.sum() - published["strengths"]).max() < 2.1e-5
    assert (worth / worth.sum()).round(4).tolist() == np.round(published["strengths"], 4).tolist()
    assert abs(nu - published["tie"]) < 1e-5


def test_baseball_of_agresti_2002_without_ties_and_with_the_home_advantage():
    teams, a, b, choice, published = baseball()
    found = fit(games(teams, a, b, choice, None))
    against = dict(zip(teams, (found.strengths - found.strengths[teams.index("Baltimore")]).round(2), strict=True))
    assert {team: against[team] for team in published["plain"]} == published["plain"]
    assert found.tie is None
    assert found.position is None
    home = fit(games(teams, a, b, choice, np.zeros(len(a), int)))
    assert round(float(home.parameters[home.position]), 3) == published["home"]


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_without_ties_both_models_are_bradley_terry_as_two_other_packages_fit_it(model):
    teams, a, b, choice, _ = baseball()
    found = fit(games(teams, a, b, choice, None), model)
    winner, loser = np.where(choice == 0, a, b), np.where(choice == 0, b, a)
    theirs = choix.opt_pairwise(len(teams), list(zip(winner.tolist(), loser.tolist(), strict=True)), tol=1e-12)
    assert found.strengths == pytest.approx(theirs - theirs.mean(), abs=1e-4)
    scores = evalica.bradley_terry(
        [teams[k] for k in a], [teams[k] for k in b], [evalica.Winner.X if c == 0 else evalica.Winner.Y for c in choice]
    ).scores
    logs = np.log([scores[team] for team in teams])
    assert found.strengths == pytest.approx(logs - logs.mean(), abs=1e-3)


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_the_fit_is_the_maximum_that_a_general_optimiser_finds(model):
    _, systems, a, b, choice, left = simulated(800, 1, systems=4, model=model)
    played = games(systems, a, b, choice, left)
    found = fit(played, model)

    def loss(free):
        theta = np.append(free[:3], -free[:3].sum())
        return -log_likelihood(played, model, theta, free[3], free[4])

    best = minimize(loss, [0, 0, 0, 0, 0.5], method="BFGS", options={"gtol": 1e-6})
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-8)
    assert found.strengths[:3] == pytest.approx(best.x[:3], abs=1e-4)
    assert found.parameters[[found.position, found.tie]] == pytest.approx(best.x[3:], abs=1e-4)
    curve = np.linalg.inv(second_derivatives(loss, best.x))
    assert np.diag(found.covariance)[:3] == pytest.approx(np.diag(curve)[:3], rel=0.05)


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_parameters_are_recovered_at_35_percent_ties(model):
    tie = 0.05 if model == "davidson" else 0.75
    strengths, systems, a, b, choice, left = simulated(200_000, 3, model=model, tie=tie)
    assert 0.30 < (choice == 2).mean() < 0.36
    found = fit(games(systems, a, b, choice, left), model)
    assert found.strengths == pytest.approx(strengths, abs=4 * found.errors[0])
    assert found.parameters[found.position] == pytest.approx(0.3, abs=4 * found.errors[found.position])
    assert found.parameters[found.tie] == pytest.approx(tie, abs=4 * found.errors[found.tie])


def test_swapping_a_and_b_in_any_vote_changes_nothing():
    _, systems, a, b, choice, left = simulated(500, 4)
    swap = np.random.default_rng(0).random(500) < 0.5
    swapped = games(
        systems,
        np.where(swap, b, a),
        np.where(swap, a, b),
        np.where(swap & (choice < 2), 1 - choice, choice),
        np.where(swap & (left >= 0), 1 - left, left),
    )
    one, other = fit(games(systems, a, b, choice, left)), fit(swapped)
    assert one.parameters == pytest.approx(other.parameters, abs=1e-9)


def test_the_clustered_covariance_is_the_sandwich_of_statsmodels():
    """Without ties the model is a logistic regression on the difference of the systems' indicators."""
    _, systems, a, b, choice, left = simulated(1500, 8, systems=4, tie=-20.0)
    generator = np.random.default_rng(0)
    pair, rater = np.arange(1500) // 3, generator.integers(0, 40, 1500)
    played = games(systems, a, b, choice, left)
    x = np.zeros((1500, 5))
    x[np.arange(1500), a] = 1
    x[np.arange(1500), b] -= 1
    x[:, 4] = np.select([left == 0, left == 1], [1, -1], 0)
    basis = np.vstack([np.eye(3), -np.ones(3)])
    model = sm.Logit((choice == 0).astype(int), np.column_stack([x[:, :4] @ basis, x[:, 4]])).fit(disp=0, tol=1e-12)
    turn = np.zeros((5, 4))
    turn[:4, :3], turn[4, 3] = basis, 1
    bread = np.linalg.inv(-model.model.hessian(model.params))
    scores = model.model.score_obs(model.params)

    def middle(codes):
        sums = np.array([scores[codes == g].sum(0) for g in np.unique(codes)])
        return sums.T @ sums * len(sums) / (len(sums) - 1)

    options = {"groups": pair, "use_correction": False}
    robust = model.model.fit(disp=0, tol=1e-12, cov_type="cluster", cov_kwds=options)
    one = robust.cov_params() * 500 / 499
    found = clustered(played, fit(played), {"pair": pair})
    assert found.covariance == pytest.approx(turn @ one @ turn.T, abs=1e-7)
    assert found.freedom == 499
    both = bread @ (middle(pair) + middle(rater) - middle(pair * 1000 + rater)) @ bread
    found = clustered(played, fit(played), {"pair": pair, "rater": rater})
    assert found.covariance == pytest.approx(turn @ both @ turn.T, abs=1e-7)
    assert found.freedom == 39


def test_the_chance_of_a_wrong_order_comes_from_the_difference_and_its_error():
    _, systems, a, b, choice, left = simulated(2000, 9, systems=3)
    found = fit(games(systems, a, b, choice, left))
    wrong = found.wrong_order
    assert np.diag(wrong).tolist() == [0.5, 0.5, 0.5]
    assert wrong + wrong.T == pytest.approx(np.ones((3, 3)))
    variance = found.covariance[0, 0] + found.covariance[1, 1] - 2 * found.covariance[0, 1]
    assert wrong[1, 0] == pytest.approx(norm.sf((found.strengths[1] - found.strengths[0]) / np.sqrt(variance)))
    low, high = found.interval(0)
    assert high - low == pytest.approx(2 * 1.959964 * found.errors[0], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("raters", [40, 150])
def test_strengths_of_a_crowd_with_a_third_of_ties_are_covered(raters):
    """Raters lean (SD .6 on the log scale, a side of the page), pairs differ (SD .8): clustered intervals hold."""
    strengths, covered, alone, studies = np.array([-0.4, 0.0, 0.4]), 0, 0, 600
    truth = population_strengths(strengths)
    for seed in range(studies):
        generator = np.random.default_rng(seed)
        a, b, choice, left, pair, rater = leaning_crowd(generator, strengths, raters=raters)
        played = games(["x", "y", "z"], a, b, choice, left)
        plain = fit(played)
        honest = clustered(played, plain, {"pair": pair, "rater": rater})
        (low, high), (near, far) = honest.interval(2), plain.interval(2)
        covered, alone = covered + (low <= truth[2] <= high), alone + (near <= truth[2] <= far)
    print(raters, covered / studies, alone / studies)
    assert 0.92 < covered / studies < 0.98


def leaning_crowd(generator, strengths, *, raters, pairs=400, lean=0.6, pair_sd=0.8):
    first = generator.integers(0, 3, pairs)
    second = (first + generator.integers(1, 3, pairs)) % 3
    pair = np.repeat(np.arange(pairs), 3)
    rater = np.concatenate([generator.choice(raters, 3, replace=False) for _ in range(pairs)])
    a, b, left = first[pair], second[pair], generator.integers(0, 2, pair.size)
    d = strengths[a] - strengths[b] + generator.normal(0, pair_sd, pairs)[pair]
    d = d + generator.normal(0, lean, raters)[rater] * np.where(left == 0, 1, -1)
    weight = np.stack([np.exp(d / 2), np.exp(-d / 2), np.ones(d.size)])
    choice = (generator.random(d.size) > (weight / weight.sum(0)).cumsum(0)[:2]).sum(0)
    return a, b, choice, left, pair, rater


def population_strengths(strengths):
    """What the model converges to on this crowd: its fit to a million votes, each of its own pair and rater."""
    size, generator = 1_000_000, np.random.default_rng(99)
    a = generator.integers(0, 3, size)
    b = (a + generator.integers(1, 3, size)) % 3
    left = generator.integers(0, 2, size)
    d = strengths[a] - strengths[b] + generator.normal(0, 0.8, size) + generator.normal(0, 0.6, size)
    weight = np.stack([np.exp(d / 2), np.exp(-d / 2), np.ones(size)])
    choice = (generator.random(size) > (weight / weight.sum(0)).cumsum(0)[:2]).sum(0)
    return fit(games(["x", "y", "z"], a, b, choice, left)).strengths


def test_the_bootstrap_by_vote_has_the_spread_of_the_information():
    _, systems, a, b, choice, left = simulated(3000, 5)
    played = games(systems, a, b, choice, left)
    drawn = bootstrap(played, fit(played), None, sets=600, generator=np.random.default_rng(0))
    assert drawn.draws.shape == (600, 7)
    assert drawn.draws.std(0) == pytest.approx(drawn.errors, rel=0.15)
    assert drawn.ranks.shape == (600, 5)
    assert drawn.ranks.mean(0).argmin() == 4
    assert drawn.unbounded == 0


@pytest.mark.parametrize("equal", [True, False])
def test_the_cluster_bootstrap_equals_drawing_clusters_one_by_one(equal):
    _, systems, a, b, choice, left = simulated(300, 6, systems=3)
    generator = np.random.default_rng(1)
    cluster = np.arange(300) // 3 if equal else generator.integers(0, 60, 300) + 5
    played = games(systems, a, b, choice, left)
    found = fit(played)
    fast = bootstrap(played, found, cluster, sets=800, generator=generator).draws
    names, slow = np.unique(cluster), []
    members = {name: np.flatnonzero(cluster == name) for name in names}
    for _ in range(300):
        rows = np.concatenate([members[name] for name in generator.choice(names, len(names))])
        slow.append(fit(games(systems, a[rows], b[rows], choice[rows], left[rows])).parameters)
    assert fast.mean(0) == pytest.approx(np.mean(slow, 0), abs=0.05)
    assert fast.std(0) == pytest.approx(np.std(slow, 0), rel=0.15)


def test_normal_draws_have_the_covariance_and_keep_the_strengths_at_zero_in_sum():
    _, systems, a, b, choice, left = simulated(3000, 7)
    found = normal_draws(fit(games(systems, a, b, choice, left)), sets=20_000, generator=np.random.default_rng(0))
    assert np.cov(found.draws.T) == pytest.approx(found.covariance, abs=2e-4)
    assert found.draws[:, :5].sum(1) == pytest.approx(np.zeros(20_000), abs=1e-6)


def test_sets_in_which_a_system_never_lost_are_counted_not_hidden():
    a, b, choice = votes([(0, 1, 6, 1, 0), (1, 2, 3, 3, 1), (0, 2, 4, 1, 1)])
    played = games(["x", "y", "z"], a, b, choice, None)
    drawn = bootstrap(played, fit(played), None, sets=200, generator=np.random.default_rng(0))
    assert drawn.unbounded > 0
    assert (np.abs(drawn.draws) > FAR).any(1).sum() == drawn.unbounded
    assert np.isfinite(drawn.draws).all()


def test_votes_without_a_finite_estimate_are_refused_in_a_sentence():
    a, b, choice = votes([(0, 1, 5, 0, 0), (1, 2, 3, 3, 1)])
    with pytest.raises(InputError, match="x never met, or always won or always lost"):
        fit(games(["x", "y", "z"], a, b, choice, None))
    with pytest.raises(InputError, match="All votes are ties"):
        fit(games(["x", "y"], *votes([(0, 1, 0, 0, 9)]), None))


def test_a_side_of_the_page_that_always_won_has_no_finite_estimate():
    a, b = np.array([0, 0, 1, 1] * 5), np.array([1, 1, 0, 0] * 5)
    left = np.array([0, 1] * 10)
    with pytest.raises(InputError, match="One side of the page"):
        fit(games(["x", "y"], a, b, left, left))
