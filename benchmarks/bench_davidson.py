"""Rankings of many systems: strengths with clustered errors and rank sets, and a whole report, beside other tools.

    python benchmarks/bench_davidson.py

An arena of 60 systems with 8,931 votes, as public ones are: systems and raters differ widely in votes. Beside ours run
evalica's Bradley-Terry with its bootstrap, and the bootstrap of arena leaderboards: scikit-learn's logistic regression
on resampled votes. Both take votes as independent and a tie as half a win, so they do less; 100 samples are timed, and
evalica's point estimates must rank as ours do. Then 300 systems with 100,000 votes, and 1,000,000 votes of 10 systems.
At last the report of the arena, in a process of its own. Bars: the report below 30 s, and the ranking below the time
of evalica's 100 samples.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import evalica
import numpy as np
import threadpoolctl
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from large_studies import Arena, arena, write_arena  # noqa: E402 (the checkout is not installed)

from seedvote.analysis.stats.paired.davidson import Fit, count_games, fit_model  # noqa: E402
from seedvote.analysis.stats.paired.davidson_errors import cluster_errors  # noqa: E402
from seedvote.analysis.stats.paired.rank_sets import rank_sets  # noqa: E402

SAMPLES, SETS, BAR = 100, 5000, 30.0


def seconds(act: Callable[[], object]) -> tuple[float, object]:
    """CPU seconds of this process, and what came of them."""
    began = time.process_time()
    found = act()
    return time.process_time() - began, found


def ours(votes: Arena, sets: int = SETS) -> Fit:
    """Strengths, errors by dialogue and rater, and rank sets."""
    played = count_games(votes.names, votes.a, votes.b, votes.choice, votes.left)
    found = cluster_errors(played, fit_model(played), {"dialogue": votes.dialogue, "rater": votes.rater})
    of = slice(len(votes.names))
    rank_sets(found.strengths, found.covariance[of, of], found.apart, found.ways_apart, sets=sets,
              generator=np.random.default_rng(0))  # fmt: skip
    return found


def of_evalica(votes: Arena) -> dict[str, float]:
    """Its Bradley-Terry scores with percentile intervals of resampled votes."""
    xs, ys = ([votes.names[k] for k in side] for side in (votes.a, votes.b))
    winners = [(evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw)[k] for k in votes.choice]
    found = evalica.bootstrap(evalica.bradley_terry, xs, ys, winners, n_resamples=SAMPLES,
                              bootstrap_method="percentile", random_state=0)  # fmt: skip
    return dict(found.result.scores)


def of_arena(votes: Arena) -> np.ndarray:
    """Logistic regression on resampled votes; a tie is one win of each side, at half the weight."""
    generator, n = np.random.default_rng(0), len(votes.a)
    x = np.zeros((2 * n, len(votes.names)), np.float32)
    for rows in (np.arange(n), n + np.arange(n)):
        x[rows, votes.a], x[rows, votes.b] = 1, -1
    won = np.concatenate([votes.choice != 1, votes.choice == 0])
    half = np.where(votes.choice == 2, 0.5, 1.0) * np.array([[1.0], [1.0]])
    half[1, votes.choice != 2] = 0  # a decisive vote stands once
    found = []
    for _ in range(SAMPLES):
        times = np.bincount(generator.integers(0, n, n), minlength=n)
        weight = (half * times).ravel()
        model = LogisticRegression(fit_intercept=False, C=1e6, max_iter=1000)
        found.append(model.fit(x[weight > 0], won[weight > 0], sample_weight=weight[weight > 0]).coef_[0])
    return np.array(found)


def report() -> tuple[float, float]:
    """CPU seconds and peak memory in MB of the report of the arena, in its own process."""
    with tempfile.TemporaryDirectory() as folder:
        write_arena(Path(folder), arena(60, 8931, 1200))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        alone = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        subprocess.run([sys.executable, "-m", "analysis", "report", folder], cwd=ROOT, env=alone, check=True,
                       capture_output=True)  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss / 1024


def main() -> None:
    """Time all on one thread, print the ratios, fail over a bar."""
    with threadpoolctl.threadpool_limits(1):
        failed = compared()
    sys.exit(failed)


def compared() -> str | int:
    """What is over its bar; 0 for nothing."""
    votes = arena(60, 8931, 1200)
    mine, found = seconds(lambda: ours(votes))
    theirs, scores = seconds(lambda: of_evalica(votes))
    leaderboard, _ = seconds(lambda: of_arena(votes))
    assert isinstance(found, Fit) and isinstance(scores, dict)
    agreed = float(spearmanr(found.strengths, [scores[name] for name in votes.names]).statistic)
    assert agreed > 0.95, f"evalica ranks otherwise: rank correlation {agreed:.3f}"
    print(f"60 systems, 8,931 votes: ours {mine:.2f} s with errors by dialogue and rater and {SETS:,} draws of ranks")
    print(f"  evalica, {SAMPLES} samples of votes: {theirs:.2f} s, {theirs / mine:.1f} times as long")
    print(
        f"  leaderboard's logistic regression, {SAMPLES} samples: {leaderboard:.1f} s, {leaderboard / mine:.0f} times"
    )
    for systems, number, raters in ((300, 100_000, 10_000), (10, 1_000_000, 50_000)):
        many = arena(systems, number, raters)
        took, _ = seconds(lambda many=many: ours(many, 1000))
        print(f"{systems} systems, {number:,} votes, {raters:,} raters: {took:.1f} s with 1,000 draws of ranks")
    took, memory = report()
    print(f"report of the arena: {took:.1f} s (bar {BAR:g} s), {memory:.0f} MB, {took / leaderboard:.2f} times the "
          f"leaderboard's bootstrap alone")  # fmt: skip
    return "over the bar" if took > BAR or mine > theirs else 0


if __name__ == "__main__":
    main()
