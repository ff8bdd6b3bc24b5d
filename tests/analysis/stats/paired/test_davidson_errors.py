"""Errors of Davidson's model: against statsmodels, two slow twins, and crowds whose strengths are known."""

from dataclasses import dataclass

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import stdtr
from scipy.stats import t

from seedvote.analysis.stats.intervals import kish
from seedvote.analysis.stats.net_preference import net_estimate
from seedvote.analysis.stats.paired.davidson import count_games, design_of, fit_model, predict_outcomes
from seedvote.analysis.stats.paired.davidson_errors import cluster_errors
from seedvote.analysis.stats.paired.rank_sets import rank_sets
from tests.analysis.stats.paired.test_davidson import simulated


def logistic(votes=1500, systems=4):
    """Votes without ties, their clusters, and the logistic regression on differences of indicators that they are."""
    _, names, a, b, choice, left = simulated(votes, 8, systems=systems, tie=-20.0)
    generator = np.random.default_rng(0)
    pair, rater = (
        np.arange(votes) // 3,
        generator.choice(40, votes, p=(weight := np.geomspace(1, 40, 40)) / weight.sum()),
    )
    x = np.zeros((votes, systems + 1))
    x[np.arange(votes), a] = 1
    x[np.arange(votes), b] -= 1
    x[:, systems] = np.select([left == 0, left == 1], [1, -1], 0)
    turn = np.zeros((systems + 1, systems))  # strengths sum to zero
    turn[:systems, : systems - 1] = np.vstack([np.eye(systems - 1), -np.ones(systems - 1)])
    turn[systems, systems - 1] = 1
    model = sm.Logit((choice == 0).astype(int), x @ turn).fit(disp=0, tol=1e-12)
    return count_games(names, a, b, choice, left), model, turn, {"pair": pair, "rater": rater}


def adjusted(model, codes):
    """The jackknife of Bell and McCaffrey (2002) in the space of observations, weighted as the logistic regression."""
    x, chance = model.model.exog, model.predict()
    root, bread = np.sqrt(chance * (1 - chance)), np.linalg.inv(-model.model.hessian(model.params))
    sums = []
    for g in np.unique(codes):
        rows = codes == g
        weighted = root[rows, None] * x[rows]
        residual = (model.model.endog[rows] - chance[rows]) / root[rows]
        sums.append(weighted.T @ np.linalg.solve(np.eye(rows.sum()) - weighted @ bread @ weighted.T, residual))
    return bread @ np.transpose(sums) @ np.array(sums) @ bread * (1 - 1 / len(sums))


@pytest.mark.parametrize("way", ["pair", "rater"])
def test_clustered_covariance_is_the_statsmodels_sandwich(way):
    played, model, turn, by = logistic()
    options = {"groups": by[way], "use_correction": False}
    theirs = model.model.fit(disp=0, tol=1e-12, cov_type="cluster", cov_kwds=options).cov_params()
    found = cluster_errors(played, fit_model(played), {way: by[way]})
    assert np.diag(found.covariance) == pytest.approx(np.diag(turn @ theirs @ turn.T), rel=0.3)
    assert np.trace(found.covariance) > np.trace(turn @ theirs @ turn.T)
    assert found.covariance == pytest.approx(turn @ adjusted(model, by[way]) @ turn.T, abs=1e-7)


def test_two_ways_are_added_and_their_crossing_is_taken_away():
    played, model, turn, by = logistic()
    one_way = [turn @ adjusted(model, codes) @ turn.T for codes in by.values()]
    both = one_way[0] + one_way[1] - turn @ adjusted(model, by["pair"] * 1000 + by["rater"]) @ turn.T
    found = cluster_errors(played, fit_model(played), by)
    assert found.covariance == pytest.approx(both, abs=1e-7)
    assert found.errors**2 == pytest.approx(np.max([np.diag(part) for part in (both, *one_way)], axis=0), abs=1e-7)
    assert found.freedom == pytest.approx(kish(by["rater"]) - 1) and found.freedom < 30  # of 40 raters of unequal work


def test_clusters_count_with_their_degrees_of_freedom():
    played, *_, by = logistic()
    found = cluster_errors(played, fit_model(played), by)
    f = [kish(codes) - 1 for codes in by.values()]
    parts = [np.diag(part) for part in found.one_way]
    own = np.maximum(found.errors**4 / (parts[0] ** 2 / f[0] + parts[1] ** 2 / f[1]), min(f))
    assert own.max() > 1.2 * found.freedom  # else the test would hold for the fewest, too
    for k, (value, error) in enumerate(zip(found.parameters, found.errors, strict=True)):
        assert found.interval(k)[1] == pytest.approx(value + t.ppf(0.975, own[k]) * error)
    alone = cluster_errors(played, fit_model(played), {"rater": by["rater"]})
    reach = t.ppf(0.975, f[1]) * alone.errors[0]
    assert alone.interval(0) == pytest.approx((alone.parameters[0] - reach, alone.parameters[0] + reach))
    chance = stdtr(f[1], -abs(alone.strengths[0] - alone.strengths[1]) / alone.apart[0, 1])
    assert alone.wrong_order(np.array([0, 1]), np.array([1, 0])).min() == pytest.approx(chance)


def test_two_systems_differ_by_strength_as_by_preference():
    """One rule: the strengths of two systems are their net preference on another scale, by the same clusters."""
    apart = 0
    for seed in range(30):
        played, by = Crowd(12, "pareto", dialogues=15, strengths=(0.0, 0.45)).votes(np.random.default_rng(seed))
        found = cluster_errors(played, fit_model(played), by)
        net = net_estimate(np.select([played.code % 3 == 0, played.code % 3 == 1], [1.0, -1.0], 0.0), by=by)
        low, high = found.interval(0)
        assert len(found.counted) == 2 and net.df >= found.freedom - 1e-9
        apart += (low * high > 0) != (net.p < 0.05)
    assert apart <= 3  # only where the scale itself decides


def test_the_cells_of_a_cluster_may_outnumber_the_parameters_or_not():
    """Both ways to one matrix: of large clusters the parameters are decomposed, of small ones the cells."""
    _, names, a, b, choice, left = simulated(900, 2, systems=7)
    rater = np.minimum(np.arange(900) // 3, 60)  # one rater with four fifths of the votes, sixty with three
    played = count_games(names, a, b, choice, left)
    found = fit_model(played)
    quick = cluster_errors(played, found, {"rater": rater}).covariance
    assert quick == pytest.approx(slow_sandwich(played, found, rater), abs=1e-10)


def slow_sandwich(played, found, cluster):
    """The same cluster by cluster on dense matrices of parameters, every vote by itself."""
    design = design_of(played)
    chances, by_d, by_t = predict_outcomes(found.model, found.parameters, design)
    slopes = by_d[:, :, None] * design.weights.toarray()[:, None, :]
    slopes[:, :, design.tie] = by_t
    values, vectors = np.linalg.eigh(found.covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    middle = np.zeros_like(root)
    for one in np.unique(cluster):
        codes = played.code[cluster == one]
        told = np.einsum("vk,vki,vkj->ij", chances[codes // 3], slopes[codes // 3], slopes[codes // 3])
        step = np.linalg.solve(np.eye(len(root)) - root @ told @ root, root @ slopes[codes // 3, codes % 3].sum(0))
        middle += np.outer(step, step)
    return root @ middle @ root * (1 - 1 / len(np.unique(cluster)))


@dataclass(frozen=True)
class Crowd:
    """Systems judged on dialogues that favour some of them, by raters who favour some, a side of the page, and ties."""

    raters: int
    work: str = "even"  # even or pareto
    dialogues: int = 60
    pairs: int = 5  # of a dialogue
    sd_dialogue: float = 0.5
    strengths: tuple[float, ...] = (-0.4, 0.0, 0.4)
    lean: float = 0.6
    taste: float = 0.4
    habit: float = 0.7

    def votes(self, generator, size=None):
        """One study; with a size so many votes, each of its own dialogue and rater: the population."""
        k, each = len(self.strengths), self.pairs * 3
        dialogue = np.arange(size) if size else np.repeat(np.arange(self.dialogues), each)
        work = np.ones(self.raters) if self.work == "even" else generator.pareto(1.16, self.raters) + 1
        rater = np.arange(size) if size else generator.choice(self.raters, len(dialogue), p=work / work.sum())
        meetings = len(dialogue) if size else len(dialogue) // 3
        a = generator.integers(0, k, meetings)
        b = (a + generator.integers(1, k, meetings)) % k
        a, b = (part if size else np.repeat(part, 3) for part in (a, b))
        left = generator.integers(0, 2, len(a))

        def apart(sd, of):
            favour = generator.normal(0, sd, (of.max() + 1, k))
            return favour[of, a] - favour[of, b]

        def effect(sd, of):
            return generator.normal(0, sd, of.max() + 1)[of]

        strength = np.array(self.strengths)
        d = strength[a] - strength[b] + apart(self.sd_dialogue, dialogue) + apart(self.taste, rater)
        d = d + effect(self.lean, rater) * np.where(left == 0, 1, -1)
        tie = effect(self.habit, rater) + effect(self.sd_dialogue, dialogue)
        weight = np.stack([np.exp(d / 2), np.exp(-d / 2), np.exp(tie)])
        choice = (generator.random(len(d)) > (weight / weight.sum(0)).cumsum(0)[:2]).sum(0)
        return count_games([str(s) for s in range(k)], a, b, choice, left), {"dialogue": dialogue, "rater": rater}

    def truth(self):
        """What the model converges to: strengths shrink, since it knows no dialogues and raters."""
        return fit_model(self.votes(np.random.default_rng(99), 400_000)[0]).parameters

    def coverage(self, studies):
        """Share of studies in which each parameter lies in its interval; then of the rank sets, of all and of one."""
        truth, inside = self.truth(), []
        true = np.array(self.strengths)
        best, worst = 1 + (true > true[:, None]).sum(1), (true >= true[:, None]).sum(1)
        for seed in range(studies):
            played, by = self.votes(np.random.default_rng(seed))
            found = cluster_errors(played, fit_model(played), by)
            ends = np.array([found.interval(k) for k in range(len(truth))])
            k = len(true)
            ranks = rank_sets(found.strengths, found.covariance[:k, :k], found.apart, found.ways_apart, sets=500,
                              generator=np.random.default_rng(seed))  # fmt: skip
            every = (ranks.all_low <= best) & (ranks.all_high >= worst)
            own = (ranks.low <= best) & (ranks.high >= worst)
            covered = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
            inside.append([covered[:k].mean(), *covered[k:], every.all(), own.mean()])
        return np.mean(inside, 0)


@pytest.mark.slow
def test_strengths_of_thirty_unequal_raters_are_covered():
    strengths, position, tie, every, _ = Crowd(30, "pareto").coverage(120)
    assert min(strengths, position, tie) > 0.9 and every > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("sd_dialogue", [0.5, 1.0])
@pytest.mark.parametrize("work", ["even", "pareto"])
@pytest.mark.parametrize("raters", [10, 30, 100])
def test_strengths_ties_and_ranks_of_a_crowd_are_covered(raters, work, sd_dialogue):
    near = Crowd(raters, work, sd_dialogue=sd_dialogue, strengths=(-0.3, -0.3, 0.0, 0.1, 0.5))
    found = near.coverage(500)
    print(raters, work, sd_dialogue, found.round(3))
    low, high = (0.92, 0.98) if raters == 10 else (0.93, 0.97)
    assert all(low - 0.02 <= share <= high + 0.015 for share in found[:3])
    assert min(found[3:]) >= 0.93
