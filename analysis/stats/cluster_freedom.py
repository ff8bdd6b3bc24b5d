"""Degrees of freedom of the jackknifed variance of a mean over clusters of unequal size.

Satterthwaite (1946) by way of Bell and McCaffrey (2002): the variance is a quadratic form in the clusters' sums, whose
variances give its freedom. They are estimated within and between clusters, so that a few large documents count as few
only as far as their items hang together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST = 2000  # clusters; with more the table of squares outgrows a laptop, and the freedom is hardly below their number


def cluster_freedom(values: Floats, codes: Ints) -> float:
    """Degrees of freedom of the variance of the mean of `values` (n,) in clusters `codes` (n,), at least 1.

    >>> round(cluster_freedom(np.tile([0.0, 1.0], 10), np.repeat(np.arange(5), 4)), 6)
    4.0
    """
    _, place, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    clusters, n = len(sizes), len(values)
    if clusters > MOST:
        return float(clusters - 1)
    within, between = _estimate_variances(values, place, sizes)
    variance = sizes * within + sizes**2 * between
    if not variance.any():
        variance = sizes.astype(float)
    weights = sizes / n
    residual = np.diag(variance) - np.outer(weights, variance) - np.outer(variance, weights)
    residual += np.outer(weights, weights) * variance.sum()
    scale = 1 / (n - sizes)
    form = residual * np.outer(scale, scale)
    return float(max(np.trace(form) ** 2 / (form**2).sum(), 1.0))


def _estimate_variances(values: Floats, place: Ints, sizes: Ints) -> tuple[float, float]:
    """Of an item within its cluster, and of a cluster's effect, by the analysis of variance; none is below 0."""
    clusters, n = len(sizes), len(values)
    means = np.bincount(place, values) / sizes
    inside = float(((values - means[place]) ** 2).sum())
    outside = float((sizes * (means - values.mean()) ** 2).sum()) / (clusters - 1)
    if n == clusters:
        return outside, 0.0
    within = inside / (n - clusters)
    size = (n - (sizes**2).sum() / n) / (clusters - 1)
    return within, max(outside - within, 0.0) / size
