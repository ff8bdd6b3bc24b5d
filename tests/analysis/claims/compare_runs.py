"""Systems compared item by item from logs of evaluations."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seedvote.analysis.questions.compare_runs import answer
from seedvote.dialogue.importing.run_logs import RunLog, Score
from tests.analysis.claims.registry import Claim, each


@dataclass(frozen=True)
class Evaluation:
    """Two systems on the same items: clusters of documents, runs of each system, scores that are shares or numbers."""

    clusters: int = 60
    items: int = 240
    sizes: str = "equal"  # or zipf: cluster k holds a share proportional to 1 / k
    runs: tuple[int, int] = (1, 1)
    run_sd: tuple[float, float] = (0.0, 0.0)
    kind: str = "binary"  # or number
    equal_share: float = 0.0  # of the items, those on which both systems always score the same
    cluster_sd: float = 0.15  # of the difference
    difference: float = 0.1


def logs_of(world, generator):
    """The runs of both systems in one study."""
    shares = 1 / np.arange(1, world.clusters + 1) if world.sizes == "zipf" else np.ones(world.clusters)
    cluster = np.sort(generator.choice(world.clusters, world.items, p=shares / shares.sum()))
    effect = world.cluster_sd * (2 * generator.integers(0, 2, world.clusters) - 1)[cluster]
    level = generator.uniform(0.35, 0.65, world.items)
    same = generator.random(world.items) < world.equal_share
    common = generator.random(world.items) < level
    systems = {}
    for name, sign, runs, sd in zip("ab", (1, -1), world.runs, world.run_sd, strict=True):
        logs = []
        for number in range(runs):
            shift = sd * generator.standard_normal()
            mean = level + sign * (world.difference / 2 + effect / 2) + shift
            if world.kind == "binary":
                scores = np.where(same, common, generator.random(world.items) < np.clip(mean, 0, 1))
            else:
                scores = np.where(same, common, 5 * mean + generator.standard_normal(world.items))
            rows = [
                Score("t", "m", str(k), "1", float(value), "", {"document": str(cluster[k])}, "")
                for k, value in enumerate(scores)
            ]
            logs.append(RunLog(Path(f"{name}{number}"), "table", name, rows))
        systems[name] = logs
    return systems


def truth_of(world):
    scale = 1 if world.kind == "binary" else 5
    return scale * world.difference * (1 - world.equal_share)


@each
def covers(world, generator):
    (metric,) = answer(logs_of(world, generator), cluster="document").metrics
    one = metric.contrasts[0]
    sign = 1 if one.first == "a" else -1
    return one.low <= sign * truth_of(world) <= one.high


CELLS = {
    "60 documents": Evaluation(),
    "8 documents": Evaluation(clusters=8),
    "30 documents by Zipf": Evaluation(clusters=30, sizes="zipf"),
    "95 % of the items alike": Evaluation(equal_share=0.95),
    "95 % alike, 8 documents": Evaluation(equal_share=0.95, clusters=8),
    "numbers, 8 documents": Evaluation(kind="number", clusters=8),
    "2 runs each": Evaluation(runs=(2, 2), run_sd=(0.04, 0.04)),
    "3 runs each": Evaluation(runs=(3, 3), run_sd=(0.04, 0.04)),
    "3 runs each, one system unstable": Evaluation(runs=(3, 3), run_sd=(0.1, 0.01)),
    "5 and 2 runs, numbers": Evaluation(runs=(5, 2), run_sd=(0.04, 0.04), kind="number"),
    "1 run beside 5 unstable ones": Evaluation(runs=(1, 5), run_sd=(0.0, 0.1)),
    "10 runs each, 8 documents": Evaluation(runs=(10, 10), run_sd=(0.04, 0.04), clusters=8),
}


@dataclass(frozen=True)
class Training:
    """Two systems in a table with one row a run: no items."""

    runs: tuple[int, int] = (5, 5)
    sd: tuple[float, float] = (1.0, 1.0)
    kind: str = "normal"  # or skewed: an exponential tail below; or failing: one run in ten fails
    shared_sd: float = 0.0  # of what one seed does to both systems
    is_paired: bool = False
    difference: float = 1.0


def runs_of(world, generator):
    """A log for each run."""
    shared = world.shared_sd * generator.standard_normal(max(world.runs))
    systems = {}
    for name, shift, runs, sd in zip("ab", (world.difference, 0.0), world.runs, world.sd, strict=True):
        noise = generator.standard_normal(runs)
        if world.kind == "skewed":
            noise = 1 - generator.exponential(size=runs)
        if world.kind == "failing":
            noise = (generator.standard_normal(runs) - 4 * ((generator.random(runs) < 0.1) - 0.1)) / np.sqrt(2.44)
        scores = 20 + shift + shared[:runs] + sd * noise
        systems[name] = [
            RunLog(Path("runs.csv"), "table", name, [Score("runs", "bleu", "", "1", float(score), "", {}, "")],
                   told_apart="seed", run=str(seed))
            for seed, score in enumerate(scores)
        ]  # fmt: skip
    return systems


@each
def covers_over_seeds(world, generator):
    (metric,) = answer(runs_of(world, generator), paired=world.is_paired).metrics
    contrast = metric.contrasts[0]
    return contrast.low <= (1 if contrast.first == "a" else -1) * world.difference <= contrast.high


TRAININGS = {
    "2 runs each": Training(runs=(2, 2)),
    "3 runs each": Training(runs=(3, 3)),
    "5 runs each": Training(),
    "10 runs each": Training(runs=(10, 10)),
    "2 and 10 runs": Training(runs=(2, 10)),
    "2 and 10 runs, the few unstable": Training(runs=(2, 10), sd=(3.0, 0.5)),
    "3 and 30 runs": Training(runs=(3, 30)),
    "3 and 10 runs, the few unstable": Training(runs=(3, 10), sd=(3.0, 0.5)),
    "5 runs each, one system unstable": Training(sd=(3.0, 0.3)),
    "5 runs each, skewed": Training(kind="skewed"),
    "5 runs each, one in ten fails": Training(kind="failing"),
    "5 runs each, what a seed does is shared": Training(shared_sd=2.0),
    "3 runs each, paired by seed": Training(runs=(3, 3), shared_sd=2.0, is_paired=True),
    "5 runs each, paired by seed, skewed": Training(shared_sd=2.0, is_paired=True, kind="skewed"),
}

CLAIMS = (
    Claim(
        "compare-runs: the difference of two systems over training runs",
        "The 95 % interval of a difference between whole training runs holds the true one.",
        {"questions.compare_runs.RunContrast": "low high p p_holm", "questions.compare_runs.SystemScore": "low high"},
        TRAININGS,
        covers_over_seeds,
        0.95,
        0.93,
    ),
    Claim(
        "compare-runs: the difference of two systems",
        "The 95 % interval of a difference paired by item holds the true one.",
        {"questions.compare_runs.RunContrast": "low high p p_holm", "questions.compare_runs.SystemScore": "low high"},
        CELLS,
        covers,
        0.95,
        0.93,
    ),
)
