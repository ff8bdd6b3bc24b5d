"""The sampler: priors it must return where the data say nothing, posteriors that algebra gives, and its own alarm."""

import numpy as np
import pytest
from scipy import sparse

from seedvote.analysis.stats.paired.hamiltonian import Factor, Link, NormalEffects, hamiltonian_draws, split_r_hat


def two_levels(rows=24, groups=6, *, known=None):
    """A common level and six groups around it."""
    codes = np.arange(rows) % groups
    each = sparse.csr_matrix((np.ones(rows), (np.arange(rows), codes)), shape=(rows, groups))
    columns = sparse.hstack([sparse.csr_matrix(np.ones((rows, 1))), each]).tocsr()
    factors = (Factor("level", 0, 1, 1.0, 1.5), Factor("group", 1, 1 + groups, 1.0, known))
    links = (Link(0, 1, np.zeros(groups, np.int64)),)
    return NormalEffects(columns, np.zeros(rows), factors, links, np.ones(rows))


def test_without_information_the_draws_are_the_priors():
    """Each kind of step leaves the posterior as it is: an error in one shows as a spread that is no half-normal."""

    def nothing(eta):
        return np.zeros(eta.shape[1]), np.zeros_like(eta)

    found = hamiltonian_draws(
        two_levels(), nothing, generator=np.random.default_rng(0), chains=200, warm_up=60, draws=120
    )
    spread, level = found.spreads[:, :, 1], found.effects[:, :, 0]
    for seen, true in (
        (spread, np.sqrt(2 / np.pi)),
        (spread**2, 1.0),
        (level, 0.0),
        (level**2, 1.5**2),
        ((found.effects[:, :, 1] / spread) ** 2, 1.0),
    ):
        error = seen.mean(0).std() / np.sqrt(200)
        assert abs(seen.mean() - true) < 4 * error


def test_with_normal_data_the_draws_are_the_posterior_of_algebra():
    model, generator = two_levels(known=0.7), np.random.default_rng(1)
    seen = generator.normal(1.0, 1.0, 24)

    def normal(eta):
        apart = seen[:, None] - eta
        return -0.5 * (apart**2).sum(0), apart

    found = hamiltonian_draws(model, normal, generator=generator, chains=60, warm_up=60, draws=150)
    rows = model.rows.toarray()
    covariance = np.linalg.inv(rows.T @ rows + np.diag([1 / 1.5**2] + [1 / 0.7**2] * 6))
    effects = found.effects.reshape(-1, 7)
    assert effects.mean(0) == pytest.approx(covariance @ rows.T @ seen, abs=0.03)
    assert np.cov(effects.T) == pytest.approx(covariance, abs=0.03)
    assert 0.6 < found.accepted.mean() < 0.95


def test_the_same_seed_draws_the_same():
    def flat(eta):
        return np.zeros(eta.shape[1]), np.zeros_like(eta)

    one, other = (
        hamiltonian_draws(two_levels(), flat, generator=np.random.default_rng(5), chains=2, warm_up=5, draws=5)
        for _ in range(2)
    )
    assert np.array_equal(one.effects, other.effects) and np.array_equal(one.spreads, other.spreads)


def test_chains_that_disagree_or_drift_are_told():
    generator = np.random.default_rng(0)
    alike = generator.normal(size=(200, 8))
    assert split_r_hat(alike) < 1.02
    assert split_r_hat(alike + np.arange(8)) > 1.5
    assert split_r_hat(alike + np.linspace(0, 3, 200)[:, None]) > 1.15
    assert split_r_hat(np.ones((10, 2))) == 1.0
