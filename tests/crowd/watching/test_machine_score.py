"""One score for programs: what it finds, whom it leaves alone, and that no single way is enough."""

import math
import random
import statistics

import pytest
from scipy import stats

from benchmarks.sim_machines import PEOPLE, PROGRAMS, WORLDS, study
from seedvote.crowd.watching.signals import (
    FEWEST_RATERS,
    STANDS_OUT,
    Behaviour,
    _student_tail,
    machine_scores,
)

USUAL = Behaviour(
    pace=4.0, with_length=0.4, spread=0.5, bits=1.5, likeness=0.5, answers=25, left=0.1, copied=0.0, pasted=0.0
)
SIGNS = {
    "time": {"pace": 0.2, "with_length": -0.2, "spread": 0.02},
    "answers": {"bits": 0.0, "likeness": 1e-6},
    "page": {"left": 1.0, "copied": 1.0, "pasted": 1.0},
}


def crowd(seed=0, number=20):
    rng = random.Random(seed)
    return {
        f"r{n}": Behaviour(
            4.0 * math.exp(rng.gauss(0, 0.3)), rng.gauss(0.4, 0.15), 0.5 * math.exp(rng.gauss(0, 0.2)),
            min(1.58, rng.gauss(1.5, 0.05)), rng.random(), 25, rng.betavariate(1, 8), 0.0, 0.0,
        )
        for n in range(number)
    }  # fmt: skip


def score_of(**signs):
    return machine_scores({**crowd(), "x": Behaviour(**{**vars_of(USUAL), **signs})})["x"]


def vars_of(one):
    return {name: getattr(one, name) for name in one.__slots__}


@pytest.mark.parametrize("way", SIGNS)
def test_one_way_alone_never_stands_out_however_strong(way):
    score = score_of(**SIGNS[way])
    assert getattr(score, way) == pytest.approx(2.0, abs=0.3) and score.points < STANDS_OUT


@pytest.mark.parametrize("ways", [("time", "answers"), ("time", "page"), ("answers", "page"), tuple(SIGNS)])
def test_two_ways_together_do(ways):
    assert score_of(**{name: value for way in ways for name, value in SIGNS[way].items()}).points > STANDS_OUT - 0.5


def test_the_rest_is_usual_and_a_slow_even_rater_has_no_point_for_time():
    assert score_of().points < 1
    slow = score_of(pace=20.0, with_length=0.0, spread=0.05, left=1.0)
    assert slow.time == 0.0 and not slow.stands_out


def test_machine_score_needs_enough_raters():
    few = dict(list(crowd().items())[: FEWEST_RATERS - 1])
    assert machine_scores(few) == {}
    unknown = {
        name: Behaviour(one.pace, one.with_length, one.spread, one.bits, None, 25) for name, one in crowd().items()
    }
    assert {score.page for score in machine_scores(unknown).values()} == {0.0}
    nothing = dict.fromkeys("abcdefgh", Behaviour(None, None, None, 0.0, None, 0))
    assert {score.points for score in machine_scores(nothing).values()} <= {-math.log10(0.5)}


def test_a_third_of_programs_does_not_hide_the_others():
    raters = crowd()
    program = Behaviour(**{**vars_of(USUAL), **SIGNS["time"], **SIGNS["page"]})
    raters |= {f"p{n}": program for n in range(8)}
    scores = machine_scores(raters)
    assert statistics.fmean(scores[f"p{n}"].stands_out for n in range(8)) == 1
    assert not any(scores[name].stands_out for name in crowd())


def test_the_distribution_is_students_with_three_degrees_of_freedom():
    for value in (-20, -3.2, -1, 0, 0.7, 4, 30):
        assert _student_tail(value, 0.0, 1.0) == pytest.approx(stats.t.cdf(value, 3), abs=1e-12)
    assert _student_tail(5.0, 1.0, 2.0) == pytest.approx(stats.t.cdf(2.0, 3))


def rate(kind, *, page, studies=12):
    """How often this kind of rater stands out by the score, over every second world of 10 raters."""
    found = []
    for n, world in enumerate(WORLDS):
        if world["raters"] == 10:
            rng = random.Random(f"test {n} {page}")
            found += [study(rng, kind, page=page, **world)[0] for _ in range(studies)]
    return statistics.fmean(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", PEOPLE)
def test_people_hardly_ever_stand_out_with_whatever_tool(name):
    """The whole grid is in benchmarks/sim_machines.py; docs/crowd.md has its table."""
    assert rate(PEOPLE[name], page=True) <= 0.04


def test_machine_score_finds_pasting_raters():
    assert rate(PROGRAMS["a person who pastes each pair into a chat"], page=True) > 0.4
