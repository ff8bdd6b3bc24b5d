"""What adaptive assignment saves and whether its intervals hold, in worlds whose truth is known; and a judge's help.

Each line is a world of systems before a crowd of unequal raters, with ties and shared dialogues: the error of the
answer after all votes of both designs, the part of the votes that the adaptive one saves at equal error, and the share
of intervals of single contrasts that hold the truth. With --judges the lines are judges of other accuracy, half of
whose errors are about systems: the error of a wrong best (averaged over all batches, and at the end) where verdicts
share out the votes, and where they correct the strengths, too.
With --coverage each line is a judge that the rule may believe: how often intervals hold the truth, and the fewest votes
that a comparison gets, in parts of its share of the floor.
With --keep FILE the studies of the first table are written to a file as they end, and those in it are not simulated
again: a run that was interrupted goes on.
Usage: python benchmarks/sim_adaptive.py [--judges | --coverage] [--studies N] [--keep FILE] [CELL ...]
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from seedvote.analysis.questions.replay import saved_part
from seedvote.analysis.stats.adaptive import PairPool, Rule, VoteLog, World, estimate_strengths, give_out, weigh_votes
from seedvote.analysis.stats.net_preference import net_estimate
from seedvote.dialogue.formulas.allocation import BATCHES, FLOOR, Aim

FEWEST_VOTES = 10  # of a contrast, for an interval that is looked at
MOST_CONTRASTS = 30  # looked at in each study


@dataclass(frozen=True)
class Cell:
    """One world, and how many votes its studies have."""

    world: World
    votes: int


def spaced(systems: int, span: float = 1.6) -> tuple[float, ...]:
    """Strengths at equal distances."""
    return tuple(np.linspace(span / 2, -span / 2, systems).tolist())


def close(systems: int) -> tuple[float, ...]:
    """Two systems ahead of many equal ones."""
    return (0.4, 0.2, *[0.0] * (systems - 2))


CELLS: Mapping[str, Cell] = {
    "2 systems": Cell(World((0.15, 0.0), dialogues=150, raters=60), 600),
    "8 spaced": Cell(World(spaced(8), dialogues=200, raters=80), 1600),
    "8 close": Cell(World(close(8), dialogues=200, raters=80), 1600),
    "8 equal": Cell(World((0.0,) * 8, dialogues=200, raters=80), 1600),
    "8 with 40 dialogues": Cell(World(spaced(8), dialogues=40, raters=80), 1600),
    "8 with 12 raters": Cell(World(spaced(8), dialogues=200, raters=12), 1600),
    "8 with many ties": Cell(World(spaced(8), dialogues=200, raters=80, threshold=1.8), 1600),
    "16 spaced": Cell(World(spaced(16, 2.4), dialogues=200, raters=120), 3200),
    "16 close": Cell(World(close(16), dialogues=200, raters=120), 3200),
    "60 spaced": Cell(World(spaced(60, 3.0), dialogues=100, raters=200), 9000),
}
RULES = {"even": None, "best": Aim("best"), "ranking": Aim("ranking")}


JUDGES = (0.2, 0.5, 0.65, 0.8)  # how often right; the first is an adversary


def errors_of(pool: PairPool, log: VoteLog, truth: np.ndarray, *, with_verdicts: bool = False) -> tuple[float, float]:
    """Whether another system than the best leads, and the share of two systems in the wrong order."""
    estimate = estimate_strengths(pool, log, with_verdicts=with_verdicts)
    i, j = np.triu_indices(len(truth), 1)
    differ = truth[i] != truth[j]
    wrong = ((estimate[i] - estimate[j]) * (truth[i] - truth[j]) <= 0)[differ]
    return float(truth[np.argmax(estimate)] < truth.max()), float(wrong.mean()) if differ.any() else 0.0


def covered(world: World, pool: PairPool, log: VoteLog, generator: np.random.Generator) -> list[bool]:
    """Whether the intervals of some contrasts hold the truth, first of all those of the system that leads."""
    contrast = pool.contrast[log.pair]
    weights = weigh_votes(contrast, log.pair, log.batch, log.score)
    leader = int(np.argmax(estimate_strengths(pool, log)))
    of_leader = np.flatnonzero((pool.first == leader) | (pool.second == leader))
    others = generator.permutation(np.setdiff1d(np.arange(len(pool.first)), of_leader))
    some = np.concatenate([of_leader[: MOST_CONTRASTS // 2], others[: MOST_CONTRASTS // 2]])
    inside = []
    for k, true in zip(some, world.truth(pool.first[some], pool.second[some]), strict=True):
        rows = contrast == k
        columns = {"dialogue": pool.dialogue[log.pair[rows]], "rater": log.rater[rows]}
        by = {name: np.unique(column, return_inverse=True)[1] for name, column in columns.items()}
        if rows.sum() < FEWEST_VOTES or min(codes.max() for codes in by.values()) < 2:
            continue
        low, high = net_estimate(log.score[rows], by=by, weights=weights[rows]).limits(0.025)
        inside.append(bool(low <= true <= high))
    return inside


def simulate_study(cell: Cell, rule: Rule, number: int) -> tuple[np.ndarray, list[bool]]:
    """(batches, 2) errors after each batch of one study, and whether intervals held at the end."""
    pool, truth = cell.world.pool(), np.array(cell.world.strengths)
    generator = np.random.default_rng([number, len(truth)])
    logs = list(give_out(pool, rule, cell.world.crowd(pool, generator), cell.votes, generator))
    errors = np.zeros((BATCHES, 2))
    for place in range(BATCHES):  # the twentieths of a study's votes, however many batches they were
        log = logs[math.ceil((place + 1) / BATCHES * len(logs)) - 1]
        errors[place] = errors_of(pool, log, truth)
    return errors, covered(cell.world, pool, logs[-1], generator)


def simulate(name: str, rule: str, studies: int, file: Path | None) -> tuple[np.ndarray, list[bool]]:
    """(studies, batches, 2) errors, and whether intervals held; of studies in the file, what it says of them."""
    lines = file.read_text().splitlines() if file and file.exists() else []
    rows = [row for row in map(json.loads, lines) if (row["cell"], row["rule"]) == (name, rule)]
    results = {row["study"]: (np.array(row["errors"]), row["inside"]) for row in rows}
    for number in range(studies):
        if number in results:
            continue
        errors, inside = results[number] = simulate_study(CELLS[name], Rule(RULES[rule]), number)
        if file:
            row = {"cell": name, "rule": rule, "study": number, "errors": errors.tolist(), "inside": inside}
            with file.open("a") as lines_file:
                lines_file.write(json.dumps(row) + "\n")
    return (
        np.array([results[number][0] for number in range(studies)]),
        [part for number in range(studies) for part in results[number][1]],
    )


def line(name: str, studies: int, file: Path | None) -> str:
    """One row of the table."""
    grid = np.arange(1, BATCHES + 1) / BATCHES
    results = {rule: simulate(name, rule, studies, file) for rule in RULES}
    even = results["even"][0].mean(0)
    parts = [name, f"{CELLS[name].votes:,}"]
    for rule, measure in (("best", 0), ("ranking", 1)):
        adaptive = results[rule][0].mean(0)[:, measure]
        saved = [saved_part(even[:, measure], adaptive, grid, place) for place in (BATCHES // 2 - 1, BATCHES - 1)]
        ends = f"{even[-1, measure]:.3f} / {adaptive[-1]:.3f}"
        parts += [ends, f"{saved[0]:.0%}, {saved[1]:.0%}" if even[-1, measure] else "-"]
    parts += [f"{np.mean(inside):.3f}" for _, inside in results.values()]
    return f"| {' | '.join(parts)} |"


def judge_lines(name: str, studies: int) -> list[str]:
    """The rows of a cell: no judge, and those of JUDGES; the mean and the standard error of each."""
    cell = CELLS[name]
    world, pool, truth = cell.world, cell.world.pool(), np.array(cell.world.strengths)
    errors: dict[str, list[np.ndarray]] = {}
    for k in range(studies):
        for judge in ("none", *JUDGES):
            generator = np.random.default_rng([k, len(truth)])
            responses = world.respond(generator)
            verdict = None
            if isinstance(judge, float):
                verdict = world.judge(pool, responses, judge, 0.5, np.random.default_rng([k, 1]))
            judged = replace(pool, verdict=verdict)
            crowd = world.crowd(pool, generator, responses)
            logs = list(give_out(judged, Rule(Aim("best")), crowd, cell.votes, generator))
            both = [[errors_of(judged, log, truth, with_verdicts=used)[0] for log in logs] for used in (False, True)]
            errors.setdefault(str(judge), []).append(
                np.array([part for row in both for part in (np.mean(row), row[-1])])
            )
    rows = []
    for judge, several in errors.items():
        means, spreads = np.mean(several, axis=0), np.std(several, axis=0) / np.sqrt(studies)
        rows.append(
            f"| {name} | {judge} | {' | '.join(f'{m:.3f} ({e:.3f})' for m, e in zip(means, spreads, strict=True))} |"
        )
    return rows


def verdicts_of(
    judge: str, world: World, pool: PairPool, responses: np.ndarray, generator: np.random.Generator
) -> np.ndarray | None:
    """What a judge of this kind says of these responses: the adversary is certain, and always for the worse system."""
    if judge == "adversarial":
        strengths = np.array(world.strengths)
        return np.asarray(np.sign(strengths[pool.second] - strengths[pool.first])[pool.contrast])
    accuracy = {"good": 0.8, "random": 0.5}.get(judge)
    return None if accuracy is None else world.judge(pool, responses, accuracy, 0.5, generator)


def coverage_lines(name: str, studies: int) -> list[str]:
    """The rows of a cell by judge: coverage with its standard error over studies, and the fewest votes."""
    cell, rows = CELLS[name], list[str]()
    world, pool = cell.world, cell.world.pool()
    for judge in ("none", "good", "random", "adversarial"):
        held, fewest = list[tuple[int, int]](), list[float]()
        for k in range(studies):
            generator, other = np.random.default_rng([k, len(world.strengths)]), np.random.default_rng([k, 1])
            responses = world.respond(generator)
            verdict = verdicts_of(judge, world, pool, responses, other)
            *_, log = give_out(
                replace(pool, verdict=verdict),
                Rule(Aim("best")),
                world.crowd(pool, generator, responses),
                cell.votes,
                generator,
            )
            inside = covered(world, pool, log, generator)
            held.append((sum(inside), len(inside)))
            fewest.append(np.bincount(pool.contrast[log.pair], minlength=len(pool.first)).min())
        inside, looked = np.array(held).T
        share = inside.sum() / looked.sum()
        error = np.sqrt(((inside - share * looked) ** 2).sum()) / looked.sum()
        part = np.array(fewest) / (FLOOR * cell.votes / len(pool.first))
        rows.append(f"| {name} | {judge} | {share:.3f} ({error:.3f}) | {part.mean():.2f}, {part.min():.2f} |")
    return rows


def main() -> None:
    """Print the table, line by line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="*", metavar="CELL", help=f"of {', '.join(CELLS)} (default: all)")
    parser.add_argument("--studies", type=int, default=200, help="studies a cell and rule (default 200)")
    parser.add_argument("--judges", action="store_true", help="judges that help, in place of the even design")
    parser.add_argument("--coverage", action="store_true", help="whether intervals hold, by judge")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="where studies are kept, to go on after a break")
    args = parser.parse_args()
    if args.coverage:
        print("| world | judge | coverage | fewest votes by floor: mean, least |\n|---|---|---|---|")
        for name in args.cells or ["8 spaced"]:
            print("\n".join(coverage_lines(name, args.studies)), flush=True)
        return
    if args.judges:
        print("| world | judge right | shared out: mean | end | and corrected: mean | end |\n|---|---|---|---|---|---|")
        for name in args.cells or ["8 spaced"]:
            print("\n".join(judge_lines(name, args.studies)), flush=True)
        return
    print("| world | votes | wrong best: even / adaptive | saved at half, all | wrong order: even / adaptive "
          "| saved at half, all | coverage even | best | ranking |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for name in args.cells or CELLS:
        print(line(name, args.studies, args.keep), flush=True)


if __name__ == "__main__":
    main()
