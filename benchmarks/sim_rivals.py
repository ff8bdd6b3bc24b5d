"""How often "a trained encoder beats everything untrained" is claimed where it is not true, and where it is.

Prints a line for each world: the share of the studies with a claim, by two ways that are often taken, and by both of
ours. The worlds are those of tests/analysis/claims/rivals.py.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seedvote.analysis.stats.rivals import MeasuredModel, surest_anew, surest_as_trained
from tests.analysis.worlds import Rivalry

Models = Sequence[MeasuredModel]
WORLDS = {
    "3 seeds, no gain": Rivalry(),
    "3 seeds, gain 10": Rivalry(gain=10),
    "10 seeds, no gain": Rivalry(seeds=10),
    "10 seeds, gain 5": Rivalry(seeds=10, gain=5),
    "10 seeds, gain 10": Rivalry(seeds=10, gain=10),
    "10 seeds, one in ten collapses, gain 5": Rivalry(seeds=10, gain=5, law="collapsing"),
    "10 seeds, one in ten collapses, gain 10": Rivalry(seeds=10, gain=10, law="collapsing"),
    "5 seeds, one cell, gain 5": Rivalry(1, 1, seeds=5, gain=5),
    "5 seeds, one cell, gain 10": Rivalry(1, 1, seeds=5, gain=10),
}


def by_means(cells: Models, rivals: Models, _: np.random.Generator) -> bool:
    """The best cell's mean is above the best rival's."""
    return bool(max(cell.values.mean() for cell in cells) > max(rival.values.mean() for rival in rivals))


def by_bootstrap(cells: Models, rivals: Models, generator: np.random.Generator) -> bool:
    """The best cell against the best rival: the 95 % interval of a paired multi-bootstrap is above zero."""
    cell, rival = (max(models, key=lambda model: model.values.mean()) for models in (cells, rivals))
    return bool(np.quantile(_bootstrapped(cell, rival, generator), 0.025) > 0)


def _bootstrapped(
    cell: MeasuredModel, rival: MeasuredModel, generator: np.random.Generator, sets: int = 300
) -> np.ndarray:
    """Differences of drawn dialogues and seeds; one fewer than there are is drawn of each, as in the analysis."""
    seeds, dialogues = cell.parts.shape
    times = generator.multinomial(dialogues - 1, np.full(dialogues, 1 / dialogues), sets) / (dialogues - 1)
    of_seeds = generator.multinomial(seeds - 1, np.full(seeds, 1 / seeds), sets) / (seeds - 1)
    mine = cell.values + dialogues * times @ cell.parts.T
    return np.asarray((mine * of_seeds).sum(1) - (rival.values + dialogues * times @ rival.parts.T)[:, 0])


def with_new_seeds(cells: Models, rivals: Models, _: np.random.Generator) -> bool:
    """Ours: more than half of all trainings."""
    margin = surest_anew(cells, rivals)
    return margin is not None and margin.p < 0.05


def as_trained(cells: Models, rivals: Models, _: np.random.Generator) -> bool:
    """Ours: these very encoders, which may be better by the luck of their seeds."""
    margin = surest_as_trained(cells, rivals)
    return margin is not None and margin.p < 0.05


WAYS: dict[str, Callable[[Models, Models, np.random.Generator], bool]] = {
    "means": by_means,
    "best, bootstrap": by_bootstrap,
    "new seeds": with_new_seeds,
    "as trained": as_trained,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=400, help="studies a line (default 400)")
    args = parser.parse_args()
    print(f"| world | {' | '.join(WAYS)} |")
    for number, (name, world) in enumerate(WORLDS.items()):
        generator = np.random.default_rng(number)
        studies = [world.study(generator) for _ in range(args.studies)]
        shares = [np.mean([way(*study, generator) for study in studies]) for way in WAYS.values()]
        print(f"| {name} | {' | '.join(f'{share:.3f}' for share in shares)} |", flush=True)


if __name__ == "__main__":
    main()
