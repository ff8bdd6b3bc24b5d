"""Crossed random effects: the levels of all factors, and the inverse of Henderson's equations (1950) for them.

The levels of the factors that lie within the finest clusters (an item with its systems, say) are eliminated block by
block, so that only the levels of the others make a dense matrix; statsmodels' MixedLM inverts one for all ratings where
factors cross.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import ldl
from scipy.linalg.lapack import dpotri

from seedvote.analysis.stats.intervals import count_groups, cross_codes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
AT_ONCE = 2_000_000  # numbers held at once


@dataclass(frozen=True, eq=False)
class CrossedDesign:
    """Ratings and levels; levels of the first factors are eliminated in blocks, those of the others are dense."""

    y: Floats  # (n,)
    x: Floats  # (n, p)
    z: sparse.csr_array  # (n, levels)
    crossings: sparse.csr_array  # Z'Z
    levels: Ints  # (factors,)
    blocks: tuple[Ints, ...]  # (blocks, size) levels, for every size that occurs

    @property
    def eliminated(self) -> int:
        """How many levels are eliminated."""
        return sum(block.size for block in self.blocks)


@dataclass(frozen=True, eq=False)
class CrossedInverse:
    """(Z'Z + 1/ratios)^-1 as blocks, dense part and what joins them."""

    blocks: sparse.csr_array  # (E, E)
    joined: sparse.csr_array  # (E, K): blocks times the crossings of both parts
    dense: Floats  # (K, K)
    log_determinant: float

    def times(self, sides: Floats) -> Floats:
        """The inverse times sides (levels, k)."""
        cut = self.joined.shape[0]
        lower = self.dense @ (sides[cut:] - self.joined.T @ sides[:cut])
        return np.concatenate([self.blocks @ sides[:cut] - self.joined @ lower, lower])

    def leverages(self, z: sparse.csr_array) -> Floats:
        """The diagonal (n,) of z times the inverse times z'."""
        cut = self.joined.shape[0]
        inner, outer = z[:, :cut], sparse.csr_array(z[:, cut:] - z[:, :cut] @ self.joined)
        within = np.asarray((inner @ self.blocks).multiply(inner).sum(1)).ravel()
        return np.asarray(within + _forms_of(outer, self.dense))

    def diagonal(self) -> Floats:
        """Its diagonal (levels,)."""
        return np.concatenate([self.blocks.diagonal() + _forms_of(self.joined, self.dense), np.diag(self.dense)])


def _forms_of(rows: sparse.csr_array, matrix: Floats) -> Floats:
    """The diagonal (n,) of rows times the matrix times rows', from the few numbers of each row where they are few."""
    sizes, forms = np.diff(rows.indptr), np.zeros(rows.shape[0])
    for size in np.unique(sizes[sizes > 0]).tolist():
        same = np.flatnonzero(sizes == size)
        is_sparse = 5 * size < len(matrix)
        cells = size**2 if is_sparse else 2 * len(matrix)
        for some in np.array_split(same, -(-len(same) * cells // AT_ONCE)):
            if is_sparse:
                at = rows.indptr[some][:, None] + np.arange(size)
                columns, values = rows.indices[at], rows.data[at]
                times = matrix[columns[:, :, None], columns[:, None, :]] @ values[:, :, None]
                forms[some] = (times[:, :, 0] * values).sum(1)
            else:
                dense = rows[some].toarray()
                forms[some] = ((dense @ matrix) * dense).sum(1)
    return forms


def cheapest_factors(factors: Mapping[str, Ints]) -> tuple[str, ...]:
    """The factors to eliminate, that within which all lie first: those that leave the least work."""
    levels = {name: count_groups(codes) for name, codes in factors.items()}
    best: tuple[str, ...] = ()
    least = float(sum(levels.values())) ** 3
    for first, codes in factors.items():
        inside = [name for name in factors if count_groups(cross_codes([codes, factors[name]])) == levels[name]]
        sizes = sum(_levels_within(codes, factors[name]) for name in inside)
        work = float((np.asarray(sizes, dtype=float) ** 3).sum())
        work += float(sum(number for name, number in levels.items() if name not in inside)) ** 3
        if work < least:
            best, least = (first, *(name for name in inside if name != first)), work
    return best


def _levels_within(outer: Ints, inner: Ints) -> Ints:
    """How many levels of `inner` each level of `outer` holds."""
    _, place = np.unique(inner, return_index=True)
    return np.bincount(outer[place], minlength=int(outer.max()) + 1)


def design_of(y: Floats, x: Floats, factors: Mapping[str, Ints], eliminated: int) -> CrossedDesign:
    parts, levels = [], []
    owners: list[Ints] = []  # the block of every level that is eliminated
    first = next(iter(factors.values()), None)
    for codes in factors.values():
        _, place, own = np.unique(codes, return_index=True, return_inverse=True)
        parts.append(sparse.csr_array((np.ones(len(y)), (np.arange(len(y)), own)), shape=(len(y), len(place))))
        levels.append(len(place))
        if first is not None and len(levels) <= eliminated:
            owners.append(first[place])
    z = sparse.csr_array(sparse.hstack(parts)) if parts else sparse.csr_array((len(y), 0))
    owner = np.concatenate(owners) if owners else np.zeros(0, np.int64)
    return CrossedDesign(
        y, x, z, sparse.csr_array(z.T @ z), np.array(levels, dtype=np.int64), tuple(_split_blocks(owner))
    )


def _split_blocks(owner: Ints) -> Sequence[Ints]:
    order = np.argsort(owner, kind="stable")
    _, starts, sizes = np.unique(owner[order], return_index=True, return_counts=True)
    return [order[starts[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes)]


def inverse_of(design: CrossedDesign, ratios: Floats) -> CrossedInverse | None:
    """None where the covariance of the ratings would not be positive with these variance ratios (levels,)."""
    matrix = sparse.csr_array(design.crossings + sparse.diags_array(1 / ratios))
    cut, level, negative = design.eliminated, 0.0, 0
    rows, columns, values = [], [], []
    upper = matrix[:cut, :cut]
    for block in design.blocks:
        at = np.broadcast_to(block[:, :, None], (*block.shape, block.shape[1])).ravel()
        to = np.broadcast_to(block[:, None, :], (*block.shape, block.shape[1])).ravel()
        part = np.asarray(upper[at, to]).reshape(*block.shape, block.shape[1])
        level += float(np.linalg.slogdet(part)[1].sum())
        if (ratios[block] < 0).any():
            negative += int((np.linalg.eigvalsh(part) < 0).sum())
        rows.append(at)
        columns.append(to)
        values.append(np.linalg.inv(part).ravel())
    joint = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))) if rows else None
    blocks = sparse.csr_array(joint, shape=(cut, cut)) if joint else sparse.csr_array((cut, cut))
    across = matrix[:cut, cut:]
    joined = sparse.csr_array(blocks @ across)
    dense = (matrix[cut:, cut:] - across.T @ joined).toarray()
    try:
        lower, own_level, own_negative = _invert_matrix(dense, bool((ratios < 0).any()))
    except np.linalg.LinAlgError:
        return None
    if negative + own_negative != int((ratios < 0).sum()):
        return None
    level += own_level + float(np.log(np.abs(ratios)).sum())
    return CrossedInverse(blocks, joined, lower, level)


def _invert_matrix(matrix: Floats, indefinite: bool) -> tuple[Floats, float, int]:
    """Inverse and log of the absolute determinant of a symmetric matrix, and how many eigenvalues are below zero."""
    if not matrix.size:
        return matrix, 0.0, 0
    if not indefinite:
        root = np.linalg.cholesky(matrix)
        lower = np.tril(dpotri(root, lower=1)[0])
        return lower + np.tril(lower, -1).T, 2 * float(np.log(np.diag(root)).sum()), 0
    _, pivots, _ = ldl(matrix)  # of as many signs as the matrix (Sylvester's law of inertia)
    values = np.linalg.eigvalsh(pivots) if np.diag(pivots, 1).any() else np.diag(pivots)
    return np.asarray(np.linalg.inv(matrix)), float(np.log(np.abs(values)).sum()), int((values < 0).sum())
