"""Dawid and Skene's EM on 1,000,000 votes: ours beside crowd-kit's, and beside numpy.add.at in the plainest way.

crowd-kit is used where it is installed (pip install crowd-kit); the plain version always runs. Every version does the
same number of EM steps, and all posteriors must agree.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from seedvote.analysis.stats.between_raters.dawid_skene import dawid_skene

VOTES, RATERS, LABELS, STEPS, SEED = 1_000_000, 20_000, 3, 20, 0


def votes(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three votes an item by raters who are right in 40 to 95 % of their votes."""
    items = VOTES // 3 + 1
    truth = generator.integers(0, LABELS, items)
    item = np.repeat(np.arange(items), 3)[:VOTES]
    rater = generator.integers(0, RATERS, VOTES)
    right = generator.random(VOTES) < generator.uniform(0.4, 0.95, RATERS)[rater]
    return item, rater, np.where(right, truth[item], generator.integers(0, LABELS, VOTES))


def plain(item: np.ndarray, rater: np.ndarray, label: np.ndarray) -> np.ndarray:
    """The same steps with numpy.add.at on dense tables."""
    posterior = np.zeros((item.max() + 1, LABELS))
    np.add.at(posterior, (item, label), 1.0)
    posterior /= posterior.sum(1, keepdims=True)
    for _ in range(STEPS):
        table = np.zeros((RATERS, LABELS, LABELS))
        np.add.at(table, (rater, label), posterior[item])
        table /= np.maximum(table.sum(1, keepdims=True), 1e-300)
        joint = np.tile(np.log(posterior.mean(0)), (len(posterior), 1))
        np.add.at(joint, item, np.log(np.maximum(table, 1e-300))[rater, label])
        posterior = np.exp(joint - joint.max(1, keepdims=True))
        posterior /= posterior.sum(1, keepdims=True)
    return posterior


def crowd_kit(item: np.ndarray, rater: np.ndarray, label: np.ndarray) -> np.ndarray | None:
    """crowd-kit's class, or None where it is not installed."""
    try:
        import pandas as pd
        from crowdkit.aggregation import DawidSkene
    except ImportError:
        return None
    frame = pd.DataFrame({"task": item, "worker": rater, "label": label})
    shares = DawidSkene(n_iter=STEPS, tol=0).fit_predict_proba(frame)
    return shares.sort_index()[list(range(LABELS))].to_numpy()


def main() -> None:
    """Time all versions and print the ratios."""
    columns = votes(np.random.default_rng(SEED))
    began = time.perf_counter()
    found = dawid_skene(*columns, LABELS, max_steps=STEPS, tolerance=-1)
    ours = time.perf_counter() - began
    print(f"{VOTES:,} votes, {STEPS} steps: {ours:.2f} s")
    for name, version in (("numpy.add.at", plain), ("crowd-kit", crowd_kit)):
        began = time.perf_counter()
        posterior = version(*columns)
        seconds = time.perf_counter() - began
        if posterior is None:
            print(f"{name}: not installed")
            continue
        agree = float((posterior.argmax(1) == found.posterior.argmax(1)).mean())
        print(f"{name}: {seconds:.2f} s, {seconds / ours:.1f} times as long; same label on {agree:.2%} of the items")


if __name__ == "__main__":
    main()
