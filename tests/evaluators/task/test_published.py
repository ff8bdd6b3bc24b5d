"""Published numbers: Inform and Success of three systems to the dialogue, and joint goal accuracy of a tracker.

To evaluate 3,000 dialogues takes seconds, so that is in make test-slow; test_task.py holds each rule on a few turns.
"""

import gc
import json
import lzma

import pytest

from seedvote.evaluators.task.evaluation import TaskRules, evaluate_systems
from seedvote.evaluators.task.predictions import read_predictions
from seedvote.evaluators.task.rates import world_of
from seedvote.evaluators.task.states import compare_states
from seedvote.evaluators.task.success import active_domains, goal_reached, possible_rules

SETTINGS = TaskRules("test", None, "subset", "skip", "own", 0)


@pytest.fixture(scope="module")
def data(shared):
    return shared / "data"


@pytest.fixture(scope="module", autouse=True)
def kept():
    """All that is read here lives to the end: to look through it for garbage took a third of the time."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def world(data):
    return world_of(data / "multiwoz21_valtest", data / "multiwoz_db", "test", None)


@pytest.fixture(scope="module")
def golden(data):
    return json.loads((data / "multiwoz_predictions" / "golden.json").read_text())


@pytest.fixture(scope="module")
def given(data):
    return [
        read_predictions(data / "multiwoz_predictions" / f"{name}.json.xz") for name in ("labes", "damd", "soloist")
    ]


@pytest.fixture(scope="module")
def found(given, world):
    return {system.name: system for system in evaluate_systems(given, world, SETTINGS).systems}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["labes", "damd", "soloist"])
def test_inform_and_success_are_those_of_the_leaderboard(name, found, golden):
    system, published = found[name], golden["systems"][name]
    assert round(system.rates["inform"].value, 1) == published["published_inform"]
    assert round(system.rates["success"].value, 1) == published["published_success"]
    assert (len(system.outcomes), system.rule) == (published["dialogues"], published["domains"])
    each = {one.dialogue: [int(one.reached.inform), int(one.reached.success)] for one in system.outcomes}
    assert each == golden["per_dialogue"][name]


@pytest.mark.slow
def test_dialogues_that_were_left_out_may_count_as_failed(found, golden):
    system = found["labes"]
    assert len(system.missing) == 56
    assert round(system.if_missing_fail[1], 1) == golden["systems"]["labes"]["success_if_missing_fail"]
    assert found["soloist"].if_missing_fail is None


@pytest.mark.slow
def test_the_rule_of_active_domains_moves_success_by_five_points(given, found, world):
    soloist = given[2]
    assert possible_rules(soloist) == ("slots", "state")
    assert [round(one, 1) for one in found["soloist"].otherwise["state"]] == [81.7, 67.1]
    active = active_domains(soloist, "state")
    met = [
        goal_reached(world.goals[name], said, active[name], world.tables) for name, said in soloist.dialogues.items()
    ]
    assert round(100 * sum(one.success for one in met) / len(met), 1) == 67.1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["labes", "damd", "soloist"])
def test_intervals_are_those_of_an_independent_bootstrap(name, found, golden):
    for rate in ("inform", "success"):
        ours, theirs = found[name].rates[rate], golden["systems"][name][f"{rate}_95"]
        assert abs(ours.low - theirs[0]) < 0.6 and abs(ours.high - theirs[1]) < 0.6


@pytest.mark.slow
def test_bleu_by_the_corpus_own_acts_is_near_the_published_one(found, golden):
    for name, system in found.items():
        assert abs(system.rates["bleu"].value - golden["systems"][name]["published_bleu"]) < 0.3


def test_joint_goal_accuracy_and_its_relatives_are_those_that_were_stored(data):
    with lzma.open(data / "jga" / "t5_zeroshot_restaurant.json.xz") as handle:
        turns = [turn for dialogue in json.load(handle).values() for turn in dialogue.values()]
    golden = json.loads((data / "jga" / "t5_zeroshot_restaurant.golden.json").read_text())
    found = [compare_states(turn["gt"], turn["pr"]) for turn in turns]
    n = len(found)
    assert round(100 * sum(one.joint for one in found) / n, 2) == golden["JGA"]
    assert round(100 - 100 * sum(one.wrong for one in found) / n / 30, 2) == golden["SA"]
    filled = [one.goal_accuracy for one in found if one.goal_accuracy is not None]
    assert round(100 * sum(filled) / len(filled), 2) == golden["AGA"]
