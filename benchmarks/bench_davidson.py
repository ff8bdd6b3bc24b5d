"""Davidson's model: 10 systems, 1,000,000 votes, 1,000 bootstrap sets of whole pairs.

Bar: under 2 s after reading. The alternative draws pairs with numpy and fits each set by scipy's BFGS on cell counts;
three of its sets are timed. Equal estimates of the point fit are checked first.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from analysis.stats.davidson import Games, bootstrap, fit, games

SYSTEMS, VOTES, SETS, SEED, BAR = 10, 1_000_000, 1000, 0, 2.0


def votes(generator: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Three votes a pair, sides drawn by chance, about a third of ties."""
    pairs = VOTES // 3 + 1
    pair = np.repeat(np.arange(pairs), 3)[:VOTES]
    a = generator.integers(0, SYSTEMS, pairs)
    b = (a + generator.integers(1, SYSTEMS, pairs)) % SYSTEMS
    a, b, left = a[pair], b[pair], generator.integers(0, 2, VOTES)
    strength = np.linspace(-0.5, 0.5, SYSTEMS)
    d = strength[a] - strength[b] + np.where(left == 0, 0.1, -0.1)
    weight = np.stack([np.exp(d / 2), np.exp(-d / 2), np.ones(VOTES)])
    choice = (generator.random(VOTES) > (weight / weight.sum(0)).cumsum(0)[:2]).sum(0)
    return pair, a, b, choice, left


def plain_fit(played: Games) -> np.ndarray:
    """Strengths by a general optimiser."""

    def loss(free: np.ndarray) -> float:
        strength = np.append(free[: SYSTEMS - 1], -free[: SYSTEMS - 1].sum())
        d = strength[played.a] - strength[played.b] + free[-2] * played.side
        logs = np.stack([d / 2, -d / 2, np.full_like(d, free[-1])], axis=1)
        logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
        return -float((played.counts * logs).sum()) / VOTES

    best = minimize(loss, np.zeros(SYSTEMS + 1), method="BFGS", options={"gtol": 1e-8}).x
    return np.append(best[: SYSTEMS - 1], -best[: SYSTEMS - 1].sum())


def main() -> None:
    """Time both, print the ratio, fail over the bar."""
    generator = np.random.default_rng(SEED)
    pair, *columns = votes(generator)
    names = [str(k) for k in range(SYSTEMS)]
    began = time.perf_counter()
    played = games(names, *columns)
    found = bootstrap(played, fit(played), pair, sets=SETS, generator=generator)
    ours = time.perf_counter() - began
    assert np.allclose(found.strengths, plain_fit(played), atol=1e-4)
    began = time.perf_counter()
    for _ in range(3):
        drawn = generator.integers(0, pair.max() + 1, pair.max() + 1)
        rows = (3 * drawn[:, None] + np.arange(3)).ravel()
        plain_fit(games(names, *(column[rows[rows < VOTES]] for column in columns)))
    plain = (time.perf_counter() - began) / 3 * SETS
    print(f"{VOTES:,} votes, {SYSTEMS} systems, {SETS} sets: {ours:.2f} s (bar {BAR:g} s)")
    print(f"numpy draws and scipy BFGS, 3 sets timed: {plain:.0f} s for {SETS} sets, {plain / ours:.0f} times as long")
    sys.exit("over the bar" if ours > BAR else 0)


if __name__ == "__main__":
    main()
