"""A crossed mixed logit: how far one typical rater and pair lean, and how much raters, dialogues and pairs differ.

    logit P(yes) = level + what this rater, dialogue and pair add, each N(0, its own SD squared)

The SDs are those of statsmodels' BinomialBayesMixedGLM (variational Bayes, with a normal prior of SD 1 on each log SD
and of SD 2 on the level). Its error of the level is not used: the mean-field approximation takes the level and the
raters' effects as independent, and is several times too narrow. Instead the error comes from the curvature of the joint
posterior at these SDs, where level and effects may trade off, with t degrees of freedom by the scarcest effective
number of clusters. What the default estimates is the share over all raters and pairs; the level is that of a typical
one, which is another number wherever raters differ. So both are given.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import spsolve
from scipy.special import expit, stdtrit

from seedvote.analysis.stats.intervals import kish
from seedvote.dialogue.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(25)
LEVEL_SD, LOG_SD = 2.0, 1.0  # of the priors


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CrossedLogit:
    """`typical`: share of one typical rater, dialogue and pair; `average`: of all of them, as the default estimates."""

    level: float  # log odds of the typical one
    se: float
    se_mean_field: float  # statsmodels' own, for comparison
    freedom: float
    typical: Estimate
    average: Estimate
    spreads: Mapping[str, float]  # SD of the log odds by what votes share
    converged: bool


def crossed_logit(yes: ArrayLike, by: Mapping[str, Ints]) -> CrossedLogit:
    """Fit to yes/no votes (n,); `by` names what they share (pair, rater, ... -> codes of the votes).

    A way that leaves every vote alone, or all together, adds nothing and is left out.
    """
    yes = np.asarray(yes, dtype=np.float64)
    ways = {
        name: codes for name, raw_codes in by.items() if 1 < (codes := _renumber_codes(raw_codes)).max() + 1 < len(yes)
    }
    if not ways:
        raise InputError("A mixed model needs votes that share raters, dialogues or pairs; these share none.")
    if yes.min() == yes.max():
        raise InputError("Every vote says the same, so a mixed model has nothing to take apart.")
    effects = sparse.hstack([_build_indicators(codes) for codes in ways.values()]).tocsr()
    way = np.repeat(np.arange(len(ways)), [int(codes.max()) + 1 for codes in ways.values()])
    level, se_mean_field, sds, mode, converged = _fit_variational(yes, effects, way)
    se = _curvature_error(level, mode, effects, sds[way])
    freedom = max(min(map(kish, ways.values())) - 1, 1.0)
    reach = float(stdtrit(freedom, 0.975)) * se
    scatter = float(np.sqrt((sds**2).sum()))
    ends = (level, level - reach, level + reach)
    return CrossedLogit(
        level=level,
        se=se,
        se_mean_field=se_mean_field,
        freedom=freedom,
        typical=Estimate(*(float(expit(end)) for end in ends)),
        average=Estimate(*(average_share(end, scatter) for end in ends)),
        spreads=dict(zip(ways, sds.tolist(), strict=True)),
        converged=converged,
    )


def average_share(level: float, scatter: float) -> float:
    """Share over everybody whose log odds are normal around `level` with this SD.

    >>> round(average_share(1.0, 0.0), 3), round(average_share(1.0, 2.0), 3)
    (0.731, 0.648)
    """
    return float((expit(level + scatter * NODES) @ WEIGHTS) / WEIGHTS.sum())


def _fit_variational(yes: Floats, effects: sparse.csr_matrix, way: Ints) -> tuple[float, float, Floats, Floats, bool]:
    """Level, its mean-field error, the SD by way, the effects, and whether the search ended well."""
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

    model = BinomialBayesMixedGLM(yes, np.ones((len(yes), 1)), effects, way, vcp_p=LOG_SD, fe_p=LEVEL_SD)
    size = 1 + int(way.max()) + 1 + len(way)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Its own search, BFGS, keeps a full matrix of all effects: minutes for the 2,000 pairs of a usual study.
        fit = model.fit_vb(mean=np.zeros(size), sd=np.full(size, 0.5), fit_method="L-BFGS-B")
    sds = np.exp(np.asarray(fit.vcp_mean))
    return float(fit.fe_mean[0]), float(fit.fe_sd[0]), sds, np.asarray(fit.vc_mean), not caught


def _curvature_error(level: float, mode: Floats, effects: sparse.csr_matrix, sds: Floats) -> float:
    """Error of the level from the inverse of the joint curvature of level and effects at fixed SDs."""
    chance = expit(level + effects @ mode)
    columns = sparse.hstack([sparse.csr_matrix(np.ones((len(chance), 1))), effects]).tocsr()
    prior = sparse.diags(np.concatenate([[1 / LEVEL_SD**2], 1 / sds**2]))
    curvature = (columns.T @ columns.multiply((chance * (1 - chance))[:, None]) + prior).tocsc()
    first = np.zeros(columns.shape[1])
    first[0] = 1.0
    return float(np.sqrt(spsolve(curvature, first)[0]))


def _renumber_codes(codes: Ints) -> Ints:
    return np.unique(codes, return_inverse=True)[1]


def _build_indicators(codes: Ints) -> sparse.csr_matrix:
    n = len(codes)
    return sparse.csr_matrix((np.ones(n), (np.arange(n), codes)), shape=(n, int(codes.max()) + 1))
