"""The Bayesian hierarchical Davidson: calibrated by simulation, covering with few raters, and equal on easy votes."""

import numpy as np
import pytest
from scipy.stats import chi2

from seedvote.analysis.stats.intervals import mean_interval
from seedvote.analysis.stats.paired.bayes_davidson import (
    davidson_effects,
    davidson_likelihood,
    hierarchical_davidson,
    hierarchical_fit,
)
from seedvote.analysis.stats.paired.davidson import count_games, fit_model
from seedvote.analysis.stats.paired.hamiltonian import Drawn, hamiltonian_draws
from seedvote.dialogue.seeds import child_seed

SHARES = {"pair": (0.5, 0.5), "rater": (0.4, 0.7)}  # SDs of a system's strength and of log nu on the log scale


def design(systems, pairs, dialogues, raters, each, generator, *, pareto=True):
    """Who judged what: pairs in dialogues, raters of whom a few do most of the work."""
    one = generator.integers(0, systems, pairs)
    other = (one + generator.integers(1, systems, pairs)) % systems
    pair = np.repeat(np.arange(pairs), each)
    busy = generator.pareto(1.2, raters) + 1 if pareto else np.ones(raters)
    rater = np.unique(generator.choice(raters, len(pair), p=busy / busy.sum()), return_inverse=True)[1]
    by = {"dialogue": (np.arange(pairs) % dialogues)[pair], "pair": pair, "rater": rater}
    if dialogues == pairs:
        del by["dialogue"]
    return one[pair], other[pair], by


def choices(d, t, generator):
    """Votes by Davidson's law; arrays of any shape."""
    weight = np.stack([np.exp(d / 2), np.exp(-d / 2), np.exp(t)])
    return (generator.random(d.shape) > (weight / weight.sum(0)).cumsum(0)[:2]).sum(0)


def ranks_of_truth(systems, pairs, dialogues, raters, each, *, sets, seed, warm_up, thin, bins=10):
    """Simulation-based calibration (Talts et al. 2018): where the truth lies among `bins` - 1 draws, every chain a set.

    Truth and votes are drawn from the model's own priors, so every rank must come up equally often.
    """
    generator = np.random.default_rng(child_seed(seed, "calibration", systems, pairs))
    a, b, by = design(systems, pairs, dialogues, raters, each, generator)
    left = generator.integers(0, 2, len(a))
    model = davidson_effects(systems, a, b, left, by, ties=1 / 3)
    spread = np.array([np.full(sets, f.known) if f.known else np.abs(generator.normal(0, f.scale, sets))
                       for f in model.factors])  # fmt: skip
    place = np.repeat(np.arange(len(model.factors)), [f.last - f.first for f in model.factors])
    true = spread[place] * generator.standard_normal((len(place), sets))
    d, t = np.split(model.rows @ true, 2)
    likelihood = davidson_likelihood(choices(d, t, generator))
    drawn = hamiltonian_draws(
        model, likelihood, generator=generator, chains=sets, warm_up=warm_up, draws=thin * (bins - 1)
    )
    found = {}
    for k, factor in enumerate(model.factors):
        found[factor.name] = (drawn.effects[::thin, :, factor.first] < true[factor.first]).sum(0)
        if factor.known is None:
            found[f"SD of {factor.name}"] = (drawn.spreads[::thin, :, k] < spread[k]).sum(0)
    return found


def uneven(ranks, bins=10):
    """P of so uneven ranks, were they uniform."""
    counts, even = np.bincount(ranks, minlength=bins), len(ranks) / bins
    return float(chi2.sf(((counts - even) ** 2 / even).sum(), bins - 1))


@pytest.mark.slow
def test_the_posterior_is_calibrated_on_its_own_priors():
    found = ranks_of_truth(2, 12, 4, 5, 4, sets=150, seed=0, warm_up=80, thin=10)
    assert len(found) == 15
    assert min(uneven(ranks) for ranks in found.values()) > 0.05 / 15 / 5, {k: uneven(r) for k, r in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("systems", "dialogues"), [(2, 24), (2, 8), (5, 8)])
def test_the_posterior_is_calibrated_on_larger_designs(systems, dialogues):
    found = ranks_of_truth(systems, 24, dialogues, 6, 4, sets=1000, seed=1, warm_up=200, thin=25)
    for name, ranks in found.items():
        print(f"| {systems} | {dialogues} | {name} | {uneven(ranks):.3f} |")
    assert min(uneven(ranks) for ranks in found.values()) > 0.05 / len(found) / 5


def coverage(raters, pairs, dialogues, *, sets, seed, gap=0.4, pareto=True, warm_up=150, draws=250):
    """Share of 95 % intervals that hold the truth, and their mean width, for net preference and ties of new raters.

    Rows: careful net, careful ties, default net, default ties. Every chain has votes of its own on one design.
    """
    generator = np.random.default_rng(child_seed(seed, "few raters", raters, pairs, dialogues))
    _, _, by = design(2, pairs, dialogues, raters, 3, generator, pareto=pareto)
    n = 3 * pairs
    d, t = np.full((n, sets), gap), np.full((n, sets), 0.1)
    scatter = {**SHARES, "dialogue": (0.3, 0.5)} if "dialogue" in by else SHARES
    for name, (taste, ties) in scatter.items():
        levels = (int(by[name].max()) + 1, sets)
        d += np.sqrt(2) * generator.normal(0, taste, levels)[by[name]]
        t += generator.normal(0, ties, levels)[by[name]]
    choice = choices(d, t, generator)
    apart = gap + np.sqrt(2 * sum(s**2 for s, _ in scatter.values())) * generator.standard_normal(1_000_000)
    level = 0.1 + np.sqrt(sum(s**2 for _, s in scatter.values())) * generator.standard_normal(1_000_000)
    everybody = choices(apart, level, generator)
    truth = np.array([(everybody == 0).mean() - (everybody == 1).mean(), (everybody == 2).mean()])
    zeros = np.zeros(n, np.int64)
    model = davidson_effects(2, zeros, zeros + 1, None, by, ties=1 / 3)
    drawn = hamiltonian_draws(
        model, davidson_likelihood(choice), generator=generator, chains=sets, warm_up=warm_up, draws=draws
    )
    clusters = {name: by[name] for name in (("dialogue" if "dialogue" in by else "pair"), "rater")}
    held = np.empty((sets, 4, 2))
    for k in range(sets):
        own = Drawn(drawn.effects[:, [k]], drawn.spreads[:, [k]], drawn.accepted[[k]])
        chances = hierarchical_fit(("x", "y"), model, own).outcome(0, 1)
        ends = [np.quantile(part, [0.025, 0.975]) for part in (chances[:, 0] - chances[:, 1], chances[:, 2])]
        score = np.array([1.0, -1.0, 0.0])[choice[:, k]]
        for values, share in ((score, False), (choice[:, k] == 2, True)):
            plain = mean_interval(values, by=clusters, share=share)
            ends.append(np.array([max(plain.low, -1.0), min(plain.high, 1.0)]))
        for row, (low, high) in enumerate(ends):
            held[k, row] = low <= truth[row % 2] <= high, high - low
    return held.mean(0)


@pytest.mark.slow
def test_bayes_covers_with_five_uneven_raters():
    """Five raters of whom one gave most votes are worth little more than one: the default's interval says nothing."""
    found = coverage(5, 40, 40, sets=60, seed=3, warm_up=100, draws=120)
    assert (found[:2, 0] > 0.88).all()
    assert (found[:2, 1] < 0.75 * found[2:, 1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("pareto", [True, False])
@pytest.mark.parametrize(("raters", "pairs", "dialogues"), [(5, 60, 60), (5, 100, 20), (8, 100, 100), (10, 100, 20)])
def test_coverage_with_five_to_ten_raters(raters, pairs, dialogues, pareto):
    found = np.mean([coverage(raters, pairs, dialogues, sets=100, seed=k, pareto=pareto) for k in range(4)], axis=0)
    text = " | ".join(f"{held:.3f} ({width:.2f})" for held, width in found)
    print(f"| {raters} | {pairs} | {dialogues} | {'Pareto' if pareto else 'even'} | {text} |")
    assert (found[:2, 0] > 0.92).all()


def test_bayes_agrees_with_the_default_on_many_votes():
    generator = np.random.default_rng(4)
    a, b, by = design(3, 150, 150, 40, 3, generator, pareto=False)
    strength = np.array([0.5, 0.0, -0.5])
    choice = choices(strength[a] - strength[b], np.zeros(len(a)), generator)
    careful = hierarchical_davidson("xyz", a, b, choice, None, by, generator=generator, chains=12, draws=80)
    default = fit_model(count_games("xyz", a, b, choice, None))
    assert careful.r_hat < 1.1
    assert careful.averaged.mean(0) == pytest.approx(default.strengths, abs=0.05)
    assert careful.averaged.std(0) == pytest.approx(default.errors[:3], rel=0.3)
    apart = default.strengths[0] - default.strengths[2]
    weight = np.exp([apart / 2, -apart / 2, default.parameters[default.tie]])
    assert careful.outcome(0, 2).mean(0) == pytest.approx(weight / weight.sum(), abs=0.02)
    assert (np.diff(careful.ranks.mean(0)) > 0).all()


def test_bayes_gives_a_winner_of_all_a_finite_strength():
    a, b = np.array([0, 0, 0, 1, 1, 2] * 2), np.array([1, 1, 2, 2, 2, 1] * 2)
    choice = np.array([0, 0, 0, 0, 1, 0] * 2)  # x won all of its games
    by = {"rater": np.arange(12) % 3}
    found = hierarchical_davidson(
        "xyz", a, b, choice, None, by, generator=np.random.default_rng(0), chains=8, warm_up=60, draws=60
    )
    assert found.tie is None and found.position is None and set(found.spreads) == {"rater taste"}
    assert np.isfinite(found.averaged).all() and (found.ranks[:, 0] == 1).mean() > 0.7
    assert found.outcome(0, 1)[:, 2].max() < 1e-10


def test_the_average_vote_is_nearer_to_no_preference_than_the_typical_one():
    generator = np.random.default_rng(2)
    a, b, by = design(2, 40, 40, 6, 3, generator)
    choice = choices(np.where(a == 0, 1.0, -1.0), np.zeros(len(a)), generator)
    found = hierarchical_davidson("xy", a, b, choice, None, by, generator=generator, chains=8, warm_up=60, draws=60)
    assert abs(found.averaged[:, 0].mean()) < abs(found.strengths[:, 0].mean())
    assert found.outcome(0, 1).sum(1) == pytest.approx(np.ones(480))
    both = found.outcome(0, 1)[:, :2], found.outcome(1, 0)[:, 1::-1]
    assert both[0] == pytest.approx(both[1])


def test_groups_of_one_vote_or_one_group_add_nothing():
    a, b = np.zeros(6, np.int64), np.ones(6, np.int64)
    by = {"pair": np.arange(6), "rater": np.zeros(6, np.int64)}
    factors = davidson_effects(2, a, b, None, by, ties=1 / 3).factors
    assert [(f.name, f.known) for f in factors] == [("strength", 1.0), ("tie", 1.5)]
