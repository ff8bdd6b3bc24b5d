"""Votes until the best of several systems is known: the world that is simulated, and what is counted."""

import json

import numpy as np
import pytest

from seedvote.analysis.notebook import plan
from seedvote.analysis.questions.planning import stopping
from seedvote.analysis.questions.planning.stopping import make_world, plan_decision
from seedvote.analysis.stats.power import Assumptions
from seedvote.dialogue.errors import InputError

CROWD = Assumptions(0.35, 2, 30, 0.2, 0.05, rater_cv=0.5)


@pytest.fixture(autouse=True)
def few_studies(monkeypatch):
    monkeypatch.setattr(stopping, "STUDIES", 6)
    monkeypatch.setattr(stopping, "LOOKS", 8)


def test_the_world_has_the_ties_the_difference_and_the_correlations_of_the_plan():
    world = make_world(4, CROWD, 0.25, 2000)
    first, second = np.array([0, 1, 0]), np.array([1, 2, 2])
    near, also_near, far = world.truth(first, second)
    assert near == pytest.approx(0.25, abs=1e-6) and also_near == pytest.approx(near) and far > 1.5 * near
    assert world.ties(0.0) == pytest.approx(0.35, abs=1e-6) and len(world.strengths) == 4
    total = 1 + 2 * world.sd_dialogue**2 + 2 * world.sd_rater**2
    assert 2 * world.sd_dialogue**2 / total == pytest.approx(0.2)
    assert 2 * world.sd_rater**2 / total == pytest.approx(0.05)


def test_a_clear_best_is_known_early_and_equal_systems_hardly_ever():
    generator = np.random.default_rng(0)
    clear = plan_decision(3, CROWD, 0.5, 1600, alpha=0.05, generator=generator)
    even, adaptive = clear.designs
    assert (even.design, adaptive.design) == ("even", "adaptive")
    assert even.stopped == adaptive.stopped == 1.0 and even.wrong == adaptive.wrong == 0.0
    assert all(votes <= 1600 for design in clear.designs for votes in design.votes)
    equal = plan_decision(3, CROWD, 0.001, 300, alpha=0.05, generator=generator)
    assert all(design.stopped <= 1 / 3 and design.votes[-1] is None for design in equal.designs)


def test_the_plan_shows_votes_raters_and_money():
    result = plan(adaptive=3, most=800, difference=0.5, price=0.1, per_rater=30)
    found = result.document["decision"]
    assert found["systems"] == 3 and [row["design"] for row in found["designs"]] == ["even", "adaptive"]
    text = "\n".join(map(str, result.parts))
    assert "Votes until the best of 3 systems is known" in text and "$" in text
    assert "adaptive:3|most:800" in text
    json.dumps(result.document)
    assert plan().document["decision"] is None


def test_one_system_has_no_best():
    with pytest.raises(InputError, match="--adaptive is 1; it plans for 2 to 20 systems"):
        plan(adaptive=1)
