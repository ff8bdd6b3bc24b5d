"""Ordinal mixed models: published estimates of clmm, a slow twin, statsmodels, and systems that raters cannot tell."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit
from statsmodels.miscmodels.ordinal_model import OrderedModel

from seedvote.analysis.questions.ratings.scores import FEW_RATINGS, MOST_RATINGS, _most_ratings, mixed_ratings
from seedvote.analysis.stats.crossed_design import _forms_of, design_of
from seedvote.analysis.stats.crossed_ordinal import _Surface, crossed_ordinal
from tests.analysis.claims.ratings import table_of
from tests.analysis.worlds import Panels

# Randall 1989: bitterness by nine judges, of cold and warm, without contact and with, two bottles each.
WINE = "23344455 12132354 23325544 32323253 23433333 32322454 11222323 22233334 12323244"
RATING = np.array([int(letter) for letter in WINE.replace(" ", "")]) - 1
WARM, CONTACT = (
    np.tile([*pattern], 9).astype(float) for pattern in ((0, 0, 0, 0, 1, 1, 1, 1), (0, 0, 1, 1, 0, 0, 1, 1))
)
TREATED = np.column_stack([WARM, CONTACT])
JUDGE, BOTTLE = np.repeat(np.arange(9), 8), np.tile(np.arange(8), 9)


def test_the_wine_has_the_published_estimates_of_clmm():
    """Christensen, R's ordinal: clmm(rating ~ temp + contact + (1 | judge), data = wine)."""
    fit = crossed_ordinal(RATING, TREATED, {"judge": JUDGE}, restricted=False)
    assert fit.effects == pytest.approx([3.0630, 1.8349], abs=1e-3)
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx([0.5954, 0.5125], abs=1e-3)
    assert fit.thresholds == pytest.approx([-1.6237, 1.5134, 4.2285, 6.0888], abs=1e-3)
    assert fit.variances == pytest.approx([1.279], abs=2e-3) and fit.log_likelihood == pytest.approx(-81.57, abs=0.01)
    assert fit.contrast(1, 0) == pytest.approx((3.0630, 0.5954), abs=1e-3)


def test_without_a_difference_of_judges_it_is_the_model_of_statsmodels():
    alone = OrderedModel(RATING, TREATED, distr="logit").fit(method="bfgs", disp=0)
    shuffled = {"nobody": np.random.default_rng(0).permutation(JUDGE)}
    fit = crossed_ordinal(RATING, TREATED, shuffled, restricted=False)
    assert fit.variances[0] < 1e-3 and fit.effects == pytest.approx(alone.params[:2], abs=5e-3)


def crossed_surface():
    design = design_of(RATING.astype(float), TREATED, {"judge": JUDGE, "bottle": BOTTLE}, 1)
    return _Surface(RATING, TREATED, design), np.array([-1.5, 1.0, 0.8, 0.5, 2.0, 1.0, 0.3, -0.4])


def test_the_slopes_are_those_of_the_likelihood():
    surface, at = crossed_surface()
    assert surface(at)[1] == pytest.approx(approx_fprime(at, lambda there: surface(there)[0], 1e-6), abs=2e-4)


def test_the_likelihood_is_that_of_a_slow_twin():
    """Every matrix dense, the mode by BFGS, the curvature by differences."""
    surface, at = crossed_surface()
    ends = np.concatenate([[-np.inf], np.cumsum([at[0], *np.exp(at[1:4])]), [np.inf]])
    variances = np.repeat(np.exp(at[6:]), [9, 8])

    def height(effects):
        predictor = TREATED @ at[4:6] + effects[:9][JUDGE] + effects[9:][BOTTLE]
        chance = expit(ends[RATING + 1] - predictor) - expit(ends[RATING] - predictor)
        return -np.log(chance).sum() + 0.5 * (effects**2 / variances).sum()

    mode = minimize(height, np.zeros(17), options={"gtol": 1e-7}).x
    curvature = np.array(
        [approx_fprime(mode, lambda u, k=k: approx_fprime(u, height, 1e-5)[k], 1e-4) for k in range(17)]
    )
    log_determinant = np.linalg.slogdet(curvature)[1] + np.log(variances).sum()
    assert surface(at)[0] == pytest.approx(height(mode) + 0.5 * log_determinant, abs=5e-3)


def test_forms_of_sparse_rows_are_those_of_dense_ones():
    """Rows with nothing, with few numbers and with many, each taken in its own way."""
    generator = np.random.default_rng(0)
    rows, matrix = generator.normal(size=(60, 40)), generator.normal(size=(40, 40))
    rows[generator.random(rows.shape) < np.repeat([1.0, 0.9, 0.2], 20)[:, None]] = 0.0
    forms = _forms_of(sparse.csr_array(rows), matrix)
    assert forms == pytest.approx(((rows @ matrix) * rows).sum(1))


def test_a_mode_found_from_the_last_inverse_is_that_of_a_fresh_surface():
    surface, at = crossed_surface()
    surface(at)
    elsewhere = at + np.array([0.5, -0.3, 0.2, 0.1, -1.0, 0.5, 1.2, -1.5])
    fresh = crossed_surface()[0]
    value, slopes = surface(elsewhere)
    assert value == pytest.approx(fresh(elsewhere)[0], abs=1e-9)
    assert slopes == pytest.approx(fresh(elsewhere)[1], abs=1e-6)


def test_five_thousand_ratings_are_fitted_where_few_levels_cross():
    """Items and what they add to a system are eliminated, or raters and what they add: the others cross."""
    most = []
    for raters in (100, 400):
        study = Panels(5, raters, 500, own=False).study(np.random.default_rng(0))
        factors = {name: study[name] for name in ("item", "rater")}
        factors |= {f"{name} by system": study[name] * 5 + study["system"] for name in ("item", "rater")}
        most.append(_most_ratings(factors))
    assert most == [MOST_RATINGS, FEW_RATINGS]


def test_a_restricted_variance_is_larger():
    """Nine judges rate one treatment each: three means are estimated from them."""
    own = np.eye(3)[JUDGE % 3][:, 1:]
    plain, restricted = (crossed_ordinal(RATING, own, {"judge": JUDGE}, restricted=way) for way in (False, True))
    assert restricted.variances[0] > 1.2 * plain.variances[0]
    assert restricted.covariance[0, 0] > plain.covariance[0, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "panels", [Panels(items=20, raters=9, steps=5), Panels(items=20, raters=8, steps=5, own=False)]
)
def test_the_interval_of_the_odds_holds_one_where_systems_are_equal(panels):
    generator, held = np.random.default_rng(1), []
    for _ in range(100):
        odds = mixed_ratings(table_of(panels, generator), "auto").differences[0].odds
        held.append(odds.low <= 1 <= odds.high)
    print(panels, np.mean(held))
    assert np.mean(held) >= 0.93 - 2.6 * np.sqrt(0.93 * 0.07 / 100)
