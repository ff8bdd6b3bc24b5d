"""Claims that some trained model beats every rival: seldom made where they are false, made where they are true."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, t

from seedvote.analysis.stats.rivals import MeasuredModel, seeds_to_claim, surest_anew, surest_as_trained
from tests.analysis.worlds import Rivalry


def measured(name, values, parts, architecture="a"):
    seeds = tuple(range(len(values))) if architecture else (None,)
    return MeasuredModel(name, architecture, seeds, np.array(values, float), np.array(parts, float))


def alone(generator, *, seeds=5, above=10.0, dialogues=40):
    """One cell and one rival without seeds."""
    cells, rivals = Rivalry(1, 1, seeds, dialogues, gain=above, rivals=1).study(generator)
    return cells[0], rivals[0]


def p_of_seeds(cell, rival):
    """Every seed's one-sided p over dialogues, by hand."""
    parts = cell.parts - rival.parts
    dialogues = parts.shape[1]
    errors = np.sqrt(dialogues / (dialogues - 1) * (parts**2).sum(1))
    return t.sf((cell.values - rival.values) / errors, dialogues - 1)


def test_all_seeds_must_be_above_where_they_are_few_and_both_errors_add_up():
    for seed in range(10):
        cell, rival = alone(np.random.default_rng(seed))
        assert surest_anew([cell], [rival]).p == pytest.approx(min(1, 0.5**5 + p_of_seeds(cell, rival).max()))


def test_of_many_seeds_some_may_fail():
    """Of 12 seeds 10 suffice: P(Bin(12, 1/2) >= 10) = .0193 leaves half of .05 to the dialogues."""
    cell, rival = alone(np.random.default_rng(0), seeds=12, above=30.0)
    worse = replace(cell, values=np.append(cell.values[:10], [0.0, 0.0]))
    found = surest_anew([worse], [rival])
    assert found.p == pytest.approx(binom.sf(9, 12, 0.5) + 3 * np.sort(p_of_seeds(worse, rival))[9]) and found.low > 0
    assert surest_anew([replace(cell, values=np.append(cell.values[:9], [0.0] * 3))], [rival]).p > 0.5


def test_the_fewest_seeds_that_can_show_anything():
    generator = np.random.default_rng(1)
    for cells in (1, 2, 10, 24):
        seeds = seeds_to_claim(cells)
        for number in (seeds - 1, seeds):
            study = Rivalry(cells, 1, number, gain=0.0, sd=0.1, sd_run=0.1, sd_dialogue=0.1).study(generator)
            far = [replace(rival, values=rival.values - 40) for rival in study[1]]
            assert (surest_anew(study[0], far).p < 0.05) == (number == seeds)


def test_as_trained_it_is_t_over_dialogues_times_the_cells():
    cells, rivals = Rivalry(seeds=3, gain=3.0).study(np.random.default_rng(2))
    best = []
    for cell in cells:
        each = []
        for rival in rivals:
            parts = cell.parts.mean(0) - rival.parts.mean(0)
            error = np.sqrt(100 / 99 * parts @ parts)
            each.append(t.sf((cell.values.mean() - rival.values.mean()) / error, 99))
        best.append(max(each))
    found = surest_as_trained(cells, rivals)
    assert found.p == pytest.approx(min(1, 10 * min(best))) and (found.cells, found.rivals) == (10, 6)


@pytest.mark.parametrize("claim", [surest_anew, surest_as_trained])
def test_rival_p_agrees_with_the_simultaneous_interval(claim):
    generator = np.random.default_rng(3)
    found = [claim(*Rivalry(2, 1, 10, gain=gain).study(generator)) for gain in (0, 3, 5, 8) for _ in range(10)]
    assert {margin.p < 0.05 for margin in found} == {True, False}
    assert all((margin.p < 0.05) == (margin.low > 0) for margin in found)


@pytest.mark.parametrize("claim", [surest_anew, surest_as_trained])
def test_one_better_rival_forbids_the_claim(claim):
    cells, rivals = Rivalry(seeds=10, gain=20.0).study(np.random.default_rng(4))
    assert claim(cells, rivals).p < 0.05
    better = replace(rivals[0], name="better", values=np.array([90.0]))
    found = claim(cells, [*rivals, better])
    assert (found.rival, found.p) == ("better", 1.0) and found.low < 0 and found.rivals == 7


def test_every_cell_more_makes_the_claim_harder():
    cells, rivals = Rivalry(gain=8.0).study(np.random.default_rng(5))
    one, nine = surest_as_trained(cells[:1], rivals), surest_as_trained([cells[0], *cells[2:]], rivals)
    assert nine.cell == one.cell and nine.p == pytest.approx(9 * one.p) and nine.low < one.low


def test_untrained_encoder_is_compared_by_seed():
    """Each seed gains 2 points over its own start; across architectures the seeds overlap."""
    parts, starts = np.zeros((6, 4)), np.array([50, 60, 70, 80, 55, 65.0])
    trained, start = measured("m last", starts + 2, parts), measured("m untrained", starts, parts)
    assert surest_anew([trained], [start]).p == pytest.approx(0.5**6)
    assert surest_anew([trained], [replace(start, architecture="other")]).p == 1
    apart = replace(start, architecture="other", values=starts - 90)
    assert surest_anew([trained], [apart]).p == pytest.approx(2 * 0.5**6)


def test_baseline_beats_trainings_or_these_encoders():
    cell, rival = alone(np.random.default_rng(6), seeds=6, above=-30.0)
    assert surest_anew([rival], [cell]).p == pytest.approx(0.5**6, abs=1e-4)
    assert surest_as_trained([rival], [cell]).p < 1e-6


def test_nothing_is_claimed_from_one_seed_or_what_is_not_known():
    cells, rivals = Rivalry(seeds=1, gain=20.0).study(np.random.default_rng(7))
    assert surest_anew(cells, rivals) is None and surest_as_trained(cells, rivals).p < 0.01
    assert surest_anew([], rivals) is surest_as_trained(cells, []) is None
    cells, rivals = Rivalry(seeds=10, gain=20.0).study(np.random.default_rng(7))
    unknown = [replace(rival, parts=rival.parts * np.nan) for rival in rivals]
    assert surest_anew(cells, unknown).p == surest_as_trained(cells, unknown).p == 1
    short = [replace(model, parts=model.parts[:, :1]) for model in cells]
    assert surest_as_trained(short, [replace(model, parts=model.parts[:, :1]) for model in rivals]) is None
