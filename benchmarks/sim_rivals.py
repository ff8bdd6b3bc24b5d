"""How often "a trained encoder beats everything untrained" is claimed where it is not true, and where it is.

Five architectures at two checkpoints make ten cells, whose seeds agree to .8; three seeds each; few dialogues; six
rivals without seeds, of which `alike` are as good as the trained encoders are in truth, and the others worse. Prints a
line for each world: the share of the studies with a claim, by four ways.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from analysis.stats.rivals import MeasuredModel, surest

ARCHITECTURES, CHECKPOINTS, SHARED = 5, 2, 0.8
WORLDS = {  # SDs in points: of seeds (each architecture), of a dialogue, of a seed on a dialogue; dialogues; alike
    "seeds differ much": ((2, 2, 2, 2, 2), 10, 5, 100, 1),
    "one architecture is unstable": ((0.5, 0.5, 0.5, 0.5, 8), 10, 5, 100, 1),
    "seeds hardly differ": ((0.2,) * 5, 20, 10, 100, 1),
    "20 dialogues": ((1, 1, 1, 1, 1), 10, 5, 20, 1),
    "three rivals alike": ((1, 1, 1, 1, 1), 10, 5, 20, 3),
}


def study(
    world: tuple[tuple[float, ...], float, float, int, int], gain: float, generator: np.random.Generator, seeds: int = 3
) -> tuple[list[MeasuredModel], list[MeasuredModel]]:
    """Cells, of which those of the first architecture are better by `gain`, and rivals."""
    sds, by_dialogue, by_both, dialogues, alike = world
    hard = generator.normal(0, by_dialogue * 0.7, dialogues)
    cells, rivals = [], []
    for number, sd in enumerate(sds):
        common = generator.normal(0, sd * SHARED**0.5, seeds)
        for checkpoint in range(CHECKPOINTS):
            effect = common + generator.normal(0, sd * (1 - SHARED) ** 0.5, seeds) + (gain if number == 0 else 0)
            own = generator.normal(0, by_dialogue * 0.7, dialogues)
            scores = 50 + effect[:, None] + hard + own + generator.normal(0, by_both, (seeds, dialogues))
            cells.append(_measured(f"{number} {checkpoint}", str(number), scores))
    for number in range(6):
        level = 50 if number < alike else 40
        rivals.append(
            _measured(f"b{number}", "", level + hard + generator.normal(0, by_dialogue * 0.7, dialogues)[None])
        )
    return cells, rivals


def _measured(name: str, architecture: str, scores: np.ndarray) -> MeasuredModel:
    values = scores.mean(1)
    seeds = tuple(range(len(values))) if architecture else (None,)
    return MeasuredModel(name, architecture, seeds, values, (scores - values[:, None]) / scores.shape[1])


def by_means(cells: list[MeasuredModel], rivals: list[MeasuredModel], _: np.random.Generator) -> bool:
    """The best cell's mean is above the best rival's."""
    return bool(max(one.values.mean() for one in cells) > max(one.values.mean() for one in rivals))


def best_by_bootstrap(cells: list[MeasuredModel], rivals: list[MeasuredModel], generator: np.random.Generator) -> bool:
    """The best cell against the best rival: the 95 % interval of a paired multi-bootstrap is above zero."""
    cell, rival = (max(some, key=lambda one: one.values.mean()) for some in (cells, rivals))
    return bool(np.quantile(_bootstrapped(cell, rival, generator), 0.025) > 0)


def largest_by_bootstrap(
    cells: list[MeasuredModel], rivals: list[MeasuredModel], generator: np.random.Generator
) -> bool:
    """The multi-bootstrap again, with the largest studentised difference over all cells as its statistic."""
    rival = max(rivals, key=lambda one: one.values.mean())
    state = generator.bit_generator.state
    drawn, found = [], []
    for cell in cells:
        generator.bit_generator.state = state  # the same dialogues and seeds for every cell
        draws = _bootstrapped(cell, rival, generator)
        value = float(cell.values.mean() - rival.values.mean())
        drawn.append((draws - value) / draws.std())
        found.append(value / draws.std())
    return bool(max(found) > np.quantile(np.max(drawn, 0), 0.95))


def _bootstrapped(
    cell: MeasuredModel, rival: MeasuredModel, generator: np.random.Generator, sets: int = 300
) -> np.ndarray:
    """Differences of drawn dialogues and seeds; one fewer than there are is drawn of each, as in the analysis."""
    seeds, dialogues = cell.parts.shape
    times = generator.multinomial(dialogues - 1, np.full(dialogues, 1 / dialogues), sets) / (dialogues - 1)
    of_seeds = generator.multinomial(seeds - 1, np.full(seeds, 1 / seeds), sets) / (seeds - 1)
    mine = cell.values + dialogues * times @ cell.parts.T
    return np.asarray((mine * of_seeds).sum(1) - (rival.values + dialogues * times @ rival.parts.T)[:, 0])


def by_rivals(cells: list[MeasuredModel], rivals: list[MeasuredModel], _: np.random.Generator) -> bool:
    """Ours: below .05, all cells and all rivals allowed for."""
    found = surest(cells, rivals)
    return found is not None and found.p < 0.05


WAYS: dict[str, Callable[[list[MeasuredModel], list[MeasuredModel], np.random.Generator], bool]] = {
    "means": by_means,
    "best, bootstrap": best_by_bootstrap,
    "max, bootstrap": largest_by_bootstrap,
    "ours": by_rivals,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=600, help="where there is no gain; elsewhere a third of it")
    args = parser.parse_args()
    print(f"{'world':<30} {'gain':>5} {'seeds':>5} " + " ".join(f"{way:>16}" for way in WAYS))
    for gain, seeds in ((0.0, 3), (5.0, 3), (10.0, 3), (5.0, 5)):
        for name, world in WORLDS.items():
            generator = np.random.default_rng([len(name), int(gain), seeds])
            studies = args.studies if not gain else args.studies // 3
            made = [study(world, gain, generator, seeds) for _ in range(studies)]
            shares = [np.mean([way(*one, generator) for one in made]) for way in WAYS.values()]
            print(f"{name:<30} {gain:>5g} {seeds:>5} " + " ".join(f"{share:>16.3f}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
