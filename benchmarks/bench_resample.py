"""Crossed bootstrap by pair and rater against a numpy loop, and the analytic two-way interval on 2 million votes."""

import resource
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seedvote.analysis.stats.intervals import mean_interval
from seedvote.analysis.stats.resample import crossed_bootstrap

PAIRS, RATERS, EACH, SETS, LOOP_SETS = 2_000, 508, 3, 50_000, 5_000


def votes(pairs, raters):
    generator = np.random.default_rng(0)
    n = pairs * EACH
    return generator.random(n) < 0.35, np.repeat(np.arange(pairs), EACH), generator.integers(0, raters, n)


def coins(count, generator):
    return generator.integers(0, 2, count)


def drawn(count, generator):
    return np.bincount(generator.integers(0, count, count), minlength=count)


def numpy_loop(values, pair, rater, sets, draw):
    generator = np.random.default_rng(0)
    means = np.empty(sets)
    for i in range(sets):
        weights = draw(PAIRS, generator)[pair] * draw(RATERS, generator)[rater]
        means[i] = (weights @ values) / weights.sum()
    return means


def seconds(act):
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


if __name__ == "__main__":
    values, pair, rater = votes(PAIRS, RATERS)
    ours = min(
        seconds(lambda: crossed_bootstrap(values, pair, rater, sets=SETS, generator=np.random.default_rng(0)))
        for _ in range(5)
    )
    print(f"crossed bootstrap, {len(values):,} votes, {SETS:,} sets: {ours:.2f} s")
    for name, draw in (("the same weights (a coin a cluster)", coins), ("clusters drawn with replacement", drawn)):
        took = [seconds(lambda draw=draw: numpy_loop(values, pair, rater, LOOP_SETS, draw)) for _ in range(3)]
        loop = min(took) * SETS / LOOP_SETS
        print(f"  numpy loop, {name}: {loop:.2f} s, ours is {loop / ours:.1f} times faster (wanted: 5)")
    values, pair, rater = votes(666_667, 20_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    took = seconds(lambda: mean_interval(values, by={"pair": pair, "rater": rater}, share=True))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"two-way interval of {len(values):,} votes: {took:.2f} s (wanted: 2), {grown:,.0f} MiB more memory")
