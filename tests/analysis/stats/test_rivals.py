"""A claim that some trained model beats every rival: seldom made where it is false, made where it is true."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.stats.rivals import MeasuredModel, surest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
from sim_rivals import WORLDS, by_means, study


def measured(name, values, parts, architecture="a"):
    seeds = tuple(range(len(values))) if architecture else (None,)
    return MeasuredModel(name, architecture, seeds, np.array(values, float), np.array(parts, float))


@pytest.mark.parametrize("world", ["20 dialogues", "one architecture is unstable"])
def test_where_training_helps_nothing_a_claim_is_seldom_made_and_by_means_nearly_always(world):
    """True share .05 at most: of 100 studies 11 or more would have a chance of .01."""
    generator = np.random.default_rng(0)
    made = [study(WORLDS[world], 0.0, generator) for _ in range(100)]
    assert sum(surest(*one).p < 0.05 for one in made) <= 10
    assert sum(by_means(*one, generator) for one in made) > 80


def test_a_true_gain_is_found_with_few_seeds_and_more_surely_with_more():
    generator = np.random.default_rng(1)
    few, many = (
        sum(surest(*study(WORLDS["seeds differ much"], 10.0, generator, seeds)).p < 0.05 for _ in range(30))
        for seeds in (3, 5)
    )
    assert 10 < few < many


def test_p_is_below_the_level_where_the_simultaneous_interval_is_above_zero():
    generator = np.random.default_rng(2)
    found = [surest(*study(WORLDS["20 dialogues"], gain, generator)) for gain in (0, 3, 5, 8) for _ in range(10)]
    assert {one.p < 0.05 for one in found} == {True, False}
    assert all((one.p < 0.05) == (one.low > 0) for one in found)


def test_one_rival_that_is_better_forbids_the_claim_whatever_the_others_are():
    cells, rivals = study(WORLDS["20 dialogues"], 20.0, np.random.default_rng(3))
    assert surest(cells, rivals).p < 0.01
    better = replace(rivals[0], name="better", values=np.array([90.0]))
    found = surest(cells, [*rivals, better])
    assert (found.rival, found.p) == ("better", 1.0) and found.low < 0 and found.rivals == 7


def test_every_cell_more_makes_the_claim_harder():
    cells, rivals = study(WORLDS["20 dialogues"], 8.0, np.random.default_rng(4))
    one, ten = surest(cells[:1], rivals), surest([cells[0], *cells[2:]], rivals)
    assert ten.cell == one.cell and ten.p == pytest.approx(9 * one.p) and ten.low < one.low


def test_the_untrained_encoder_is_compared_seed_by_seed_and_another_architectures_is_not():
    """Each seed gains 2 points over its own start; across architectures the seeds' spread remains."""
    parts = np.zeros((3, 4))
    trained, start = measured("m last", [52, 62, 72.1], parts), measured("m untrained", [50, 60, 70], parts)
    assert surest([trained], [start]).p < 0.001
    assert surest([trained], [replace(start, architecture="other")]).p > 0.3


def test_nothing_is_claimed_from_one_seed_or_what_is_not_known():
    cells, rivals = study(WORLDS["20 dialogues"], 20.0, np.random.default_rng(5), seeds=1)
    assert surest(cells, rivals) is None and surest([], rivals) is None
    cells, rivals = study(WORLDS["20 dialogues"], 20.0, np.random.default_rng(5))
    unknown = [replace(one, parts=one.parts * np.nan) for one in rivals]
    assert surest(cells, unknown).p == 1
