"""Variance components of pair and rater on 1,000,000 votes: one pass each, beside statsmodels' REML on a small part.

REML of crossed effects needs a matrix of all levels, so statsmodels gets 600 votes; the ratio is by vote. Memory is the
peak that tracemalloc sees.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from seedvote.analysis.stats.components import estimate_components

VOTES, SMALL, SEED = 1_000_000, 600, 0
TERMS = [("pair",), ("rater",)]


def crowd(votes: int, raters: int, generator: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Three votes a pair; variances .25 (pair), .16 (rater), 1."""
    pair, rater = np.arange(votes) // 3, generator.integers(0, raters, votes)
    score = generator.normal(0, 0.5, votes)[pair] + generator.normal(0, 0.4, raters)[rater]
    return score + generator.normal(0, 1, votes), {"pair": pair, "rater": rater}


def ours(votes: int, raters: int, generator: np.random.Generator) -> float:
    """Seconds for the point estimates, the best of three."""
    score, factors = crowd(votes, raters, generator)
    times = []
    for _ in range(3):
        began = time.perf_counter()
        estimate_components(score, factors, TERMS, generator=generator, sets=0)
        times.append(time.perf_counter() - began)
    return min(times)


def reml(votes: int, raters: int, generator: np.random.Generator) -> float:
    """Seconds for statsmodels on so many votes."""
    import pandas as pd
    import statsmodels.api as sm

    score, factors = crowd(votes, raters, generator)
    frame = pd.DataFrame({"score": score, **factors, "one": 1})
    formulas = {name: f"0 + C({name})" for name in factors}
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sm.MixedLM.from_formula("score ~ 1", groups="one", vc_formula=formulas, data=frame).fit()
    return time.perf_counter() - began


def main() -> None:
    """Time, peak memory, ratio."""
    generator = np.random.default_rng(SEED)
    small, large = ours(VOTES // 10, 2_000, generator), ours(VOTES, 20_000, generator)
    score, factors = crowd(VOTES, 20_000, generator)
    tracemalloc.start()
    estimate_components(score, factors, TERMS, generator=generator, sets=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    theirs = reml(SMALL, 60, generator)
    growth, ratio, bytes_each = large / small, theirs / SMALL / (large / VOTES), peak / VOTES
    print(f"{VOTES:,} votes: {large:.2f} s, {growth:.1f} times a tenth of them; peak {bytes_each:.0f} bytes a vote")
    print(f"statsmodels REML on {SMALL} votes: {theirs:.2f} s, {ratio:,.0f} times as long a vote")


if __name__ == "__main__":
    main()
