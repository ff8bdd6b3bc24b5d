"""How fast the probes' logistic regression is, beside scikit-learn at its best and beside the bare matrix products.

    python benchmarks/bench_probes.py            14,000 x 256 states, 265 labels; scikit-learn on every 5th, times 5
    python benchmarks/bench_probes.py --full     56,000 x 256 states, 1,060 labels; scikit-learn on every 20th, times 20
    python benchmarks/bench_probes.py --rounds 3 the first, scikit-learn at its defaults alone, in turns
    python benchmarks/bench_probes.py --clock    by the clock on all cores, ours in threads, scikit-learn in processes
    python benchmarks/bench_probes.py --suite 1  all 16 MultiWOZ tasks at full size for one representation: time, memory
    python benchmarks/bench_probes.py --suite 4  for four representations, one process of one thread a core
    python benchmarks/bench_probes.py --together four checkpoints in one solve and one after the other, at three sizes

States are mixtures of 40 latent factors with noise, labels thresholds of such mixtures with a long tail of shares, so
that some are learnable and the rare ones nearly separable. Times are processor time of one thread on each side: more
threads make scikit-learn slower. Its solvers are lbfgs, at its defaults and to a gradient of 1e-7, and the one by
Newton's method. A gap is the objective's excess over the best that either side found, as a share of it.
"""

import argparse
import multiprocessing
import os
import resource
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import threadpoolctl
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seedvote.dialogue.jobs import cores
from seedvote.probes.classifiers import logistic
from seedvote.probes.classifiers.logistic import fit_features
from seedvote.probes.tasks.labels import Labels

SUITE_ONE = (5, 2, 6, 8, 7, 10, 20, 32)
SUITE_MANY = (8, 11, 37, 1060, 37, 1060, 29, 1309)


def factors(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 40)).astype(np.float32)


def states(hidden: np.ndarray, width: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    mixed = hidden @ rng.standard_normal((40, width)).astype(np.float32) * 0.3
    return np.tanh(mixed + 0.3 * rng.standard_normal(mixed.shape, dtype=np.float32))


def scores(hidden: np.ndarray, labels: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    signal = hidden @ rng.standard_normal((40, labels)).astype(np.float32) * 0.4
    return signal + 0.8 * rng.standard_normal(signal.shape, dtype=np.float32)


def long_tail(hidden: np.ndarray, labels: int, seed: int) -> np.ndarray:
    """Labels whose share falls from 40 % like rank^-0.8, none with fewer than three examples."""
    score = scores(hidden, labels, seed)
    share = np.maximum(0.4 * np.arange(1, labels + 1) ** -0.8, 3 / len(hidden))
    return np.stack([score[:, k] > np.quantile(score[:, k], 1 - share[k]) for k in range(labels)], 1)


def as_labels(matrix: np.ndarray, *, many: bool) -> Labels:
    _, columns = np.nonzero(matrix)
    names = tuple(map(str, range(matrix.shape[1])))
    starts = np.cumsum([0, *matrix.sum(1)])
    return Labels("Bench", many, names, starts, columns.astype(np.int32), np.zeros(len(matrix), np.int32), 0)


clock = time.perf_counter


def timed(work):
    start = clock()
    result = work()
    return result, clock() - start


def product_time(n: int, width: int, labels: int, kind: torch.dtype = torch.float32) -> float:
    """Seconds of the two products of one pass, W X' and P X, in the solver's blocks."""
    x, w = torch.randn(n, width, dtype=kind), torch.randn(labels, width, dtype=kind)
    blocks, total = x.split(logistic._CPU_BLOCK), torch.zeros_like(w)
    return min(timed(lambda: [total.addmm_(w @ block.T, block) for block in blocks])[1] for _ in range(5))


def objective(x: np.ndarray, y: np.ndarray, weights: np.ndarray, intercept: float) -> float:
    margin = np.where(y, 1, -1) * (x @ weights + intercept)
    return float(np.logaddexp(0, -margin).sum() + weights @ weights / 2)


def one_fit(x: np.ndarray, how: dict, y: np.ndarray) -> LogisticRegression:
    return LogisticRegression(**how).fit(x, y)


def alone() -> None:
    """One thread in this process."""
    threadpoolctl.threadpool_limits(1)
    warnings.simplefilter("ignore", ConvergenceWarning)


def by_scikit_learn(x: np.ndarray, targets: list[np.ndarray], how: dict) -> tuple[list[LogisticRegression], float]:
    """Every label's fit, and the seconds: one after the other, or by the clock in one process of one thread a core."""
    if clock is time.process_time:
        return timed(lambda: [one_fit(x, how, y) for y in targets])
    with ProcessPoolExecutor(cores(), multiprocessing.get_context("fork"), initializer=alone) as pool:
        list(pool.map(abs, range(cores())))  # begun before the clock
        return timed(lambda: list(pool.map(partial(one_fit, x, how), targets)))


SOLVERS: dict[str, dict] = {
    "its defaults": {},
    "lbfgs to a gradient of 1e-7": {"tol": 1e-7, "max_iter": 100_000},
    "Newton's method to 1e-7": {"solver": "newton-cholesky", "tol": 1e-7, "max_iter": 1000},
}


def many_labels(n: int, width: int, count: int, every: int, solvers: dict[str, dict] = SOLVERS) -> None:
    hidden = factors(n, 0)
    x, y = states(hidden, width, 1), long_tail(hidden, count, 2)
    print(f"\n{n:,} x {width}, {count:,} labels against the rest (scikit-learn fits {len(range(0, count, every)):,})")

    def ours():
        axes = fit_features(x)
        features = axes.apply(x)
        return axes, logistic.fit_logistic(features, axes, as_labels(y, many=True))

    (_, fit), seconds = timed(ours)
    limit = product_time(n, width, count) * fit.passes.sum() / count
    print(f"  ours {seconds:.1f} s, all {fit.converged.mean():.0%} converged; products alone {limit:.1f} s "
          f"({seconds / limit:.2f} times the machine's limit)")  # fmt: skip
    if torch.ops.mkldnn._is_mkldnn_bf16_supported():
        half = product_time(n, width, count, torch.bfloat16) * fit.passes.sum() / count
        print(f"  the products in bfloat16, without conversions: {half:.1f} s")
    scaled = StandardScaler().fit_transform(x.astype(np.float64))
    for name, how in solvers.items():
        worst_ours, worst_theirs = 0.0, 0.0
        columns = range(0, count, every)
        models, taken = by_scikit_learn(scaled, [y[:, column] for column in columns], how)
        for column, model in zip(columns, models, strict=True):
            theirs = objective(scaled, y[:, column], model.coef_[0], model.intercept_[0])
            mine = fit.objective[column]
            best = min(theirs, mine)
            worst_ours, worst_theirs = max(worst_ours, mine / best - 1), max(worst_theirs, theirs / best - 1)
        share = count / len(range(0, count, every))
        how = "measured in full" if every == 1 else f"{taken:.1f} s extrapolated x{share:.0f}"
        print(f"  scikit-learn, {name}: {taken * share:.1f} s ({how}): ratio {taken * share / seconds:.1f}; "
              f"largest gap {worst_theirs:.1e}, ours {worst_ours:.1e}")  # fmt: skip


def one_label(n: int, width: int, classes: int, tolerances: tuple[float, ...] = (1e-4, 1e-5, 1e-6)) -> None:
    hidden = factors(n, 3)
    x, target = states(hidden, width, 4), scores(hidden, classes, 5).argmax(1)
    labels = as_labels(np.eye(classes, dtype=bool)[target], many=False)
    print(f"\n{n:,} x {width}, one of {classes} labels, features made beforehand on both sides")
    axes = fit_features(x)
    features = axes.apply(x)
    fit, seconds = timed(lambda: logistic.fit_logistic(features, axes, labels))
    scaled = StandardScaler().fit_transform(x.astype(np.float64))
    found = []
    for tolerance in tolerances:
        model = LogisticRegression(max_iter=10_000, tol=tolerance)
        _, taken = timed(lambda model=model: model.fit(scaled, target))
        chance = model.predict_log_proba(scaled)[np.arange(n), target]
        found.append((tolerance, taken, (model.coef_**2).sum() / 2 - chance.sum()))
    best = min(fit.objective[0], *(value for *_, value in found))
    print(f"  ours {seconds:.2f} s, {fit.passes[0]} passes, gap {fit.objective[0] / best - 1:.1e}")
    for tolerance, taken, value in found:
        print(f"  scikit-learn's lbfgs to a gradient of {tolerance:g}: {taken:.2f} s, gap {value / best - 1:.1e}: "
              f"ratio {taken / seconds:.1f}")  # fmt: skip


def all_tasks(hidden: np.ndarray, most: int = 1309) -> list[Labels]:
    """As many tasks and labels as MultiWOZ has, without those of more than `most` labels."""
    one = [as_labels(np.eye(k, dtype=bool)[scores(hidden, k, k).argmax(1)], many=False) for k in SUITE_ONE]
    return one + [as_labels(long_tail(hidden, k, k), many=True) for k in SUITE_MANY if k <= most]


def suite(representation: int, threads: int) -> str:
    """Fit all 16 tasks for one representation, with so many threads."""
    torch.set_num_threads(threads)
    n, width = 56_000, 256
    hidden = factors(n, 6)
    x, tasks = states(hidden, width, 7 + representation), all_tasks(hidden)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    started = time.perf_counter(), time.process_time()
    axes = fit_features(x)
    features = axes.apply(x)
    fits = [logistic.fit_logistic(features, axes, labels) for labels in tasks]
    wall, processor = time.perf_counter() - started[0], time.process_time() - started[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    columns = sum(SUITE_ONE) + sum(SUITE_MANY)
    return (f"  representation {representation}: {n:,} x {width}, 16 tasks, {columns:,} columns, {threads} threads: "
            f"{wall:.1f} s, {processor:.1f} s of processor time, peak {peak:.2f} GiB ({before:.2f} with the data "
            f"alone), all converged: {all(fit.converged.all() for fit in fits)}")  # fmt: skip


def one_by_one(given: list[tuple], tasks: list[Labels]) -> list[list[logistic.LogisticFit]]:
    return [[logistic.fit_logistic(*one, labels) for one in given] for labels in tasks]


def in_one_solve(given: list[tuple], tasks: list[Labels]) -> list[list[logistic.LogisticFit]]:
    return [logistic.fit_all([logistic.FitTask(*one, labels) for one in given]) for labels in tasks]


def together(checkpoints: int = 4) -> None:
    """Several checkpoints in one solve a task, and one after the other."""
    for n, width, most in ((2_500, 64, 60), (7_000, 96, 60), (7_000, 96, 1309), (56_000, 256, 60)):
        hidden = factors(n, 6)
        tasks, given = all_tasks(hidden, most), []
        for number in range(checkpoints):
            x = states(hidden, width, 7 + number)
            axes = fit_features(x)
            given.append((axes.apply(x), axes))
        singly, alone = timed(partial(one_by_one, given, tasks))
        at_once, joined = timed(partial(in_one_solve, given, tasks))
        pairs = [pair for task in zip(singly, at_once, strict=True) for pair in zip(*task, strict=True)]
        same = all(torch.equal(one.weights, other.weights) for one, other in pairs)
        print(f"  {checkpoints} x {n:,} x {width}, {len(tasks)} tasks of up to {max(len(t.classes) for t in tasks):,} "
              f"labels: one after the other {alone:.2f} s, together {joined:.2f} s: {alone / joined:.2f} times; "
              f"the same weights to the bit: {same}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--suite", type=int, metavar="N", help="representations to fit all tasks on")
    parser.add_argument("--rounds", type=int, metavar="N", help="so many, with scikit-learn at its defaults alone")
    parser.add_argument("--together", action="store_true", help="several checkpoints in one solve")
    parser.add_argument(
        "--clock", action="store_true", help="by the clock, on all cores of a machine without other work"
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if not args.clock:
        global clock
        clock = time.process_time
        torch.set_num_threads(1)
        threadpoolctl.threadpool_limits(1)
    by = "the clock" if args.clock else "processor time"
    print(f"by {by}, {torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if args.together:
        together()
        return
    if args.suite == 1:
        print(suite(0, torch.get_num_threads()))
        return
    if args.suite:
        start = time.perf_counter()
        with ProcessPoolExecutor(min(args.suite, cores()), multiprocessing.get_context("spawn")) as pool:
            print("\n".join(pool.map(suite, range(args.suite), [1] * args.suite)))
        print(f"  together {time.perf_counter() - start:.1f} s, with making the data")
        return
    n, count, every = (56_000, 1060, 20) if args.full else (14_000, 265, 5)
    for _ in range(args.rounds or 0):
        many_labels(n, 256, count, every, {"its defaults": {}})
        one_label(n, 256, 20, (1e-4,))
    if not args.rounds:
        many_labels(n, 256, count, every)
        one_label(n, 256, 20)


if __name__ == "__main__":
    main()
