"""The crossed mixed logit: equal to the default on easy votes, and an error that statsmodels' own falls short of."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from seedvote.analysis.notebook import ties
from seedvote.analysis.stats.intervals import mean_interval
from seedvote.analysis.stats.mixed import average_share, crossed_logit
from seedvote.analysis.stats.paired.hamiltonian import Factor, Link, NormalEffects, hamiltonian_draws
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import child_seed


def crossed_ties(pairs, raters, *, pair_sd, rater_sd, level=-0.75, seed=0, pareto=False):
    """Ties of three raters a pair, whose log odds add up a pair's and a rater's effect."""
    generator = np.random.default_rng(child_seed(seed, "mixed", pairs, raters, pareto))
    pair = np.repeat(np.arange(pairs), 3)
    busy = generator.pareto(1.2, raters) + 1 if pareto else np.ones(raters)
    rater = np.unique(generator.choice(raters, len(pair), p=busy / busy.sum()), return_inverse=True)[1]
    felt = level + generator.normal(0, pair_sd, pairs)[pair] + generator.normal(0, rater_sd, raters)[rater]
    return generator.random(len(pair)) < expit(felt), {"pair": pair, "rater": rater}


def test_on_balanced_easy_votes_it_agrees_with_the_default():
    yes, by = crossed_ties(150, 30, pair_sd=0.1, rater_sd=0.1)
    found, default = crossed_logit(yes, by), mean_interval(yes, by=by, share=True)
    assert found.average.value == pytest.approx(default.value, abs=0.01)
    assert found.average.high - found.average.low == pytest.approx(default.high - default.low, rel=0.25)
    assert found.converged and set(found.spreads) == {"pair", "rater"}
    assert crossed_logit(yes, by) == found, "no random start"


def test_mixed_error_is_that_of_the_full_posterior():
    """The same model with the same spreads, drawn by the sampler: only there do level and raters trade off."""
    yes, by = crossed_ties(60, 8, pair_sd=0.6, rater_sd=1.0, seed=1)
    found = crossed_logit(yes, by)
    columns, factors, links, first = [np.ones((len(yes), 1))], [Factor("level", 0, 1, 1.0, 2.0)], [], 1
    for name, codes in by.items():
        size = int(codes.max()) + 1
        columns.append(np.eye(size)[codes])
        factors.append(Factor(name, first, first + size, 1.0, found.spreads[name]))
        links.append(Link(0, len(factors) - 1, np.zeros(size, np.int64)))
        first += size
    rows = sparse.csr_matrix(np.hstack(columns))
    model = NormalEffects(rows, np.zeros(len(yes)), tuple(factors), tuple(links), np.full(len(yes), 0.2))

    def likelihood(eta):
        return (np.where(yes[:, None], eta, 0) - np.logaddexp(0, eta)).sum(0), yes[:, None] - expit(eta)

    drawn = hamiltonian_draws(
        model, likelihood, generator=np.random.default_rng(0), chains=20, warm_up=60, draws=100
    ).effects[:, :, 0]
    assert found.level == pytest.approx(drawn.mean(), abs=0.15)
    assert found.se == pytest.approx(drawn.std(), rel=0.15)
    assert found.se_mean_field < 0.6 * found.se


@pytest.mark.slow
@pytest.mark.parametrize("pareto", [False, True])
@pytest.mark.parametrize(("pairs", "raters"), [(100, 10), (200, 40)])
def test_coverage_of_the_share_over_everybody(pairs, raters, pareto):
    truth, level, held = average_share(-0.75, np.hypot(0.6, 1.0)), -0.75, np.empty((200, 6))
    for k in range(len(held)):
        yes, by = crossed_ties(pairs, raters, pair_sd=0.6, rater_sd=1.0, seed=k, pareto=pareto)
        found, default = crossed_logit(yes, by), mean_interval(yes, by=by, share=True)
        mean_field = abs(found.level - level) < 1.96 * found.se_mean_field
        for place, one in ((0, found.average), (2, default)):
            held[k, place : place + 2] = one.low < truth < one.high, one.high - one.low
        held[k, 4:] = mean_field, found.se / found.se_mean_field
    print(f"| {raters} | {'Pareto' if pareto else 'even'} | " + " | ".join(f"{x:.3f}" for x in held.mean(0)) + " |")
    assert held[:, 0].mean() > 0.92 and held[:, 4].mean() < 0.75


def test_typical_share_is_further_from_a_half():
    yes, by = crossed_ties(60, 12, pair_sd=0.6, rater_sd=1.5, level=-1.5, seed=2)
    found = crossed_logit(yes, by)
    assert found.typical.value < found.average.value < 0.5
    assert found.average.low < found.average.value < found.average.high


def test_votes_without_anything_to_take_apart_are_refused():
    with pytest.raises(InputError, match="share none"):
        crossed_logit([True, False, True], {"pair": np.arange(3), "rater": np.zeros(3, np.int64)})
    with pytest.raises(InputError, match="Every vote says the same"):
        crossed_logit(np.ones(6), {"pair": np.arange(6) // 2})


def test_ties_print_the_mixed_share_only_when_asked():
    yes, by = crossed_ties(30, 10, pair_sd=0.5, rater_sd=0.5, seed=3)
    votes = {
        "pair": [f"p{k}" for k in by["pair"]],
        "rater": [f"r{k}" for k in by["rater"]],
        "choice": np.where(yes, "tie", "a").tolist(),
    }
    assert ties(votes, size=20).document["mixed"] is None and "mixed logit" not in str(ties(votes, size=20))
    asked = ties(votes, size=20, mixed=True)
    found = asked.document["mixed"]
    assert f"The mixed logit gives {100 * found['average']['value']:.1f} %" in str(asked)
    assert f"{100 * found['typical']['value']:.1f} %" in str(asked)
    assert {k: v for k, v in asked.document.items() if k != "mixed"} == {
        k: v for k, v in ties(votes, size=20).document.items() if k != "mixed"
    }


def test_ties_that_no_mixed_logit_can_take_apart_keep_every_other_number():
    votes = {"pair": [f"p{k // 2}" for k in range(12)], "rater": [f"r{k % 4}" for k in range(12)]}
    votes |= {"choice": ["tie"] * 12}
    found = ties(votes, size=6, mixed=True)
    assert "There is no mixed logit. Every vote says the same" in str(found)
    assert found.document["mixed"] is None and found.document["pooled"] == ties(votes, size=6).document["pooled"]
