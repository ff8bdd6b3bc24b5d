"""Davidson's and Rao-Kupper's models against published fits, two other packages, a slow twin and known truth."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from seedvote.analysis.stats.paired import davidson
from seedvote.analysis.stats.paired.davidson import (
    count_games,
    design_of,
    find_group_of,
    find_linked_groups,
    fit_model,
    refit_strengths,
)
from seedvote.dialogue.errors import InputError

GOLDEN = Path(__file__).resolve().parents[3] / "golden"


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
    return count_games([str(k) for k in range(1, 7)], a - 1, b - 1, choice, None), data["published"]


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
    found = fit_model(played)
    worth = np.exp(found.strengths)
    nu = float(np.exp(found.parameters[found.tie]))
    # The paper stopped after seven steps, 2e-5 short of the maximum; to four digits both are the same.
    assert np.abs(worth / worth.sum() - published["strengths"]).max() < 2.1e-5
    assert (worth / worth.sum()).round(4).tolist() == np.round(published["strengths"], 4).tolist()
    assert abs(nu - published["tie"]) < 1e-5


def test_baseball_of_agresti_2002_without_ties_and_with_the_home_advantage():
    teams, a, b, choice, published = baseball()
    found = fit_model(count_games(teams, a, b, choice, None))
    against = dict(zip(teams, (found.strengths - found.strengths[teams.index("Baltimore")]).round(2), strict=True))
    assert {team: against[team] for team in published["plain"]} == published["plain"]
    assert found.tie is None
    assert found.position is None
    home = fit_model(count_games(teams, a, b, choice, np.zeros(len(a), int)))
    assert round(float(home.parameters[home.position]), 3) == published["home"]


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_without_ties_davidson_is_bradley_terry(model):
    import choix
    import evalica

    teams, a, b, choice, _ = baseball()
    found = fit_model(count_games(teams, a, b, choice, None), model)
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
    played = count_games(systems, a, b, choice, left)
    found = fit_model(played, model)

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
    found = fit_model(count_games(systems, a, b, choice, left), model)
    assert found.strengths == pytest.approx(strengths, abs=4 * found.errors[0])
    assert found.parameters[found.position] == pytest.approx(0.3, abs=4 * found.errors[found.position])
    assert found.parameters[found.tie] == pytest.approx(tie, abs=4 * found.errors[found.tie])


def test_swapping_a_and_b_in_any_vote_changes_nothing():
    _, systems, a, b, choice, left = simulated(500, 4)
    swap = np.random.default_rng(0).random(500) < 0.5
    swapped = count_games(
        systems,
        np.where(swap, b, a),
        np.where(swap, a, b),
        np.where(swap & (choice < 2), 1 - choice, choice),
        np.where(swap & (left >= 0), 1 - left, left),
    )
    one, other = fit_model(count_games(systems, a, b, choice, left)), fit_model(swapped)
    assert one.parameters == pytest.approx(other.parameters, abs=1e-9)


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_sparse_weights_and_a_fit_of_nearly_the_same_votes_change_nothing(monkeypatch, model):
    _, systems, a, b, choice, left = simulated(300, 4, model=model)
    more, played = (count_games(systems, a[:n], b[:n], choice[:n], left[:n]) for n in (300, 290))
    nearby, found = fit_model(more, model), fit_model(played, model)
    reduced = replace(
        more, counts=more.counts - np.bincount(more.code[290:], minlength=more.counts.size).reshape(-1, 3)
    )
    assert refit_strengths(reduced, nearby, design_of(more)) == pytest.approx(found.strengths, abs=1e-8)
    monkeypatch.setattr(davidson, "SMALL", 0)
    sparse = fit_model(played, model)
    assert sparse.parameters == pytest.approx(found.parameters, abs=1e-9)
    assert sparse.covariance == pytest.approx(found.covariance, abs=1e-9)


def test_chance_of_a_wrong_order_follows_the_error():
    _, systems, a, b, choice, left = simulated(2000, 9, systems=3)
    found = fit_model(count_games(systems, a, b, choice, left))
    wrong = found.wrong_order(*np.indices((3, 3)))
    assert np.diag(wrong).tolist() == [0.5, 0.5, 0.5]
    assert wrong + wrong.T == pytest.approx(np.ones((3, 3)))
    variance = found.covariance[0, 0] + found.covariance[1, 1] - 2 * found.covariance[0, 1]
    assert wrong[1, 0] == pytest.approx(norm.sf((found.strengths[1] - found.strengths[0]) / np.sqrt(variance)))
    low, high = found.interval(0)
    assert high - low == pytest.approx(2 * 1.959964 * found.errors[0], rel=1e-6)


def test_votes_without_a_finite_estimate_are_refused_in_a_sentence():
    a, b, choice = votes([(0, 1, 5, 0, 0), (1, 2, 3, 3, 1)])
    with pytest.raises(InputError, match="x never met, or always won or always lost"):
        fit_model(count_games(["x", "y", "z"], a, b, choice, None))
    with pytest.raises(InputError, match="All votes are ties"):
        fit_model(count_games(["x", "y"], *votes([(0, 1, 0, 0, 9)]), None))


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_winner_of_all_needs_a_third_system_for_strength(model):
    """Of two systems, a longer lead and more readiness to tie explain such votes ever better; a third says how ready
    raters are to tie."""
    won = [(0, 1, 20, 0, 10)]
    with pytest.raises(InputError, match="one system won all votes but ties"):
        fit_model(count_games(["x", "y"], *votes(won), None), model)
    played = count_games(["x", "y", "z"], *votes([*won, (1, 2, 10, 10, 10)]), None)
    three = fit_model(played, model)
    assert np.abs(three.parameters).max() < 5 and three.strengths[0] > max(three.strengths[1:])
    for move in (-0.01, 0.01):  # the maximum, not where the steps were cut
        moved = three.strengths + move * np.array([2, -1, -1])
        assert log_likelihood(played, model, moved, 0.0, three.parameters[three.tie]) < three.log_likelihood


def test_a_side_of_the_page_that_always_won_has_no_finite_estimate():
    a, b = np.array([0, 0, 1, 1] * 5), np.array([1, 1, 0, 0] * 5)
    left = np.array([0, 1] * 10)
    with pytest.raises(InputError, match="One side of the page"):
        fit_model(count_games(["x", "y"], a, b, left, left))


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_effects_of_covariates_are_those_a_general_optimiser_finds(model):
    _, names, a, b, choice, left = simulated(600, 3, systems=3, model=model)
    generator = np.random.default_rng(1)
    values = generator.integers(-2, 3, (600, 2)).astype(float)
    choice = np.where(generator.random(600) < 0.3, (values[:, 0] < 0).astype(int), choice)  # they matter
    fit = fit_model(count_games(names, a, b, choice, left, values), model)

    def loss(theta):
        strengths = np.append(theta[:2], -theta[:2].sum())
        side = theta[2] * np.select([left == 0, left == 1], [1, -1], 0)
        d = strengths[a] - strengths[b] + side + values @ theta[4:]
        if model == "davidson":
            weights = np.exp(np.stack([d / 2, -d / 2, np.full(600, theta[3])]))
            chances = weights / weights.sum(0)
        else:
            first, second = 1 / (1 + np.exp(theta[3] - d)), 1 / (1 + np.exp(theta[3] + d))
            chances = np.stack([first, second, 1 - first - second])
        return -np.log(chances[choice, np.arange(600)]).sum()

    start = [0, 0, 0, 0.5, 0, 0]
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-6}).x
    assert fit.parameters[[0, 1, 3, 4, 5, 6]] == pytest.approx(best, abs=1e-4)
    assert len(fit.parameters) == 7 and abs(fit.parameters[5]) > 0.1


def test_a_covariate_turns_with_the_sides():
    _, names, a, b, choice, left = simulated(400, 5, systems=3)
    values = np.random.default_rng(0).normal(size=(400, 1)).round(1)
    flip = np.arange(400) % 2 == 0
    turned = count_games(
        names, np.where(flip, b, a), np.where(flip, a, b), np.where(flip & (choice < 2), 1 - choice, choice),
        np.where(flip & (left >= 0), 1 - left, left), np.where(flip[:, None], -values, values),
    )  # fmt: skip
    plain = fit_model(count_games(names, a, b, choice, left, values))
    assert fit_model(turned).parameters == pytest.approx(plain.parameters, abs=1e-8)


def test_the_group_of_one_system_is_that_among_all_groups():
    generator = np.random.default_rng(0)
    for systems in (2, 4, 9):
        for votes in (systems // 2, systems, 2 * systems):
            a = generator.integers(0, systems, votes)
            b = (a + generator.integers(1, systems, votes)) % systems
            played = count_games(range(systems), a, b, generator.choice(3, votes, p=[0.45, 0.45, 0.1]), None)
            groups = find_linked_groups(played)
            assert all((find_group_of(k, played) == (groups == groups[k])).all() for k in range(systems))
