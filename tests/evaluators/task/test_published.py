"""Published numbers: Inform and Success of three systems to the dialogue, and joint goal accuracy of a tracker.

To evaluate 3,000 dialogues takes seconds, so that is in make test-slow; test_task.py holds each rule on a few turns.
"""

import gc
import json
import lzma
from collections import Counter

import numpy as np
import pytest

from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.evaluators.task.accuracy import compare_states
from seedvote.evaluators.task.evaluation import TaskRules, evaluate_systems
from seedvote.evaluators.task.predictions import read_predictions
from seedvote.evaluators.task.rates import DialogueOutcome, compute_rates, draw_weights, slot_rates, world_of
from seedvote.evaluators.task.success import active_domains, goal_reached, possible_rules

SETTINGS = TaskRules("test", None, "subset", "skip", "own", 0)
BAG = {"intent": [76.7, 85.2], "act": [24.0, 51.9]}  # accuracy and F1 of a bag of words, as docs/task.md has them


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


@pytest.mark.slow
def test_slots_of_a_tracker_add_up_to_the_stored_slot_accuracy(data):
    """Its slots by a plain count, and by `slot_rates`: of 30 slots, 23 are never filled and never wrong."""
    with lzma.open(data / "jga" / "t5_zeroshot_restaurant.json.xz") as handle:
        dialogues = {name: list(turns.values()) for name, turns in json.load(handle).items()}
    golden = json.loads((data / "jga" / "t5_zeroshot_restaurant.golden.json").read_text())
    outcomes = [
        DialogueOutcome(
            name, len(turns), None, [compare_states(turn["gt"], turn["pr"]) for turn in turns], np.empty((0, 10))
        )
        for name, turns in dialogues.items()
    ]
    draws = draw_weights(len(outcomes), generator=np.random.default_rng(0))
    slots = slot_rates(outcomes, draws)
    plain = Counter()
    for turn in (turn for turns in dialogues.values() for turn in turns):
        gold, given = turn["gt"].get("restaurant", {}), turn["pr"].get("restaurant", {})
        plain.update(slot for slot in gold if gold[slot] == given.get(slot))
    assert {name: round(slot.turns * slot.filled.value / 100) for name, slot in slots.items()} == {
        f"restaurant-{name}": n for name, n in plain.items()
    }
    assert len(slots) == 7
    assert round(100 - sum(100 - slot.everywhere.value for slot in slots.values()) / 30, 2) == golden["SA"]
    rates = compute_rates(outcomes, draws, slots=30)
    stored = [golden[name] for name in ("JGA", "SA", "AGA")]
    assert [round(rates[name].value, 2) for name in ("jga", "slot_accuracy", "goal_accuracy")] == stored


@pytest.mark.slow
def test_slots_of_published_systems_are_those_of_a_plain_count(found, given, world):
    """SOLOIST predicts no booking slot at all."""
    for predictions in given:
        system, filled, right = found[predictions.system], Counter(), Counter()
        for name, answers in predictions.dialogues.items():
            for gold, answer in zip(world.states[name], answers, strict=False):
                for domain, slots in gold.items():
                    for slot, value in slots.items():
                        filled[f"{domain}-{slot}"] += 1
                        right[f"{domain}-{slot}"] += answer.state.get(domain, {}).get(slot) == value
        assert {name: slot.turns for name, slot in system.slots.items() if slot.turns} == dict(filled)
        for name, turns in filled.items():
            assert system.slots[name].filled.value == pytest.approx(100 * right[name] / turns)
    booking = ("hotel-day", "hotel-people", "hotel-stay", "restaurant-time", "train-people")
    assert {found["soloist"].slots[name].filled.value for name in booking} == {0}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Label not")  # two acts of test do not occur in valid
def test_intents_and_acts_of_a_bag_of_words_are_those_of_scikit_learn(data, world, tmp_path):
    """Fitted on valid, scored on test: the user's words give the intents, and the acts of the reply worse."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score, f1_score
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer

    corpus = read_corpus(data / "multiwoz21_valtest")
    texts, names = {}, {}
    for split in ("valid", "test"):
        turns = [turn for one in corpus.split(split) for turn in one.turns]
        texts[split] = [turn.text for turn in turns[::2]]
        names[split] = {
            kind: [sorted(name.lower() for name in turn.acts or ()) for turn in turns[start::2]]
            for kind, start in (("intents", 0), ("acts", 1))
        }
    bag = TfidfVectorizer(ngram_range=(1, 2), min_df=3)
    fitted, tested = bag.fit_transform(texts["valid"]), bag.transform(texts["test"])
    predicted, expected = {}, {}
    for kind in ("intents", "acts"):
        labels = MultiLabelBinarizer().fit([*names["valid"][kind], *names["test"][kind]])
        rule = OneVsRestClassifier(LogisticRegression(C=10)).fit(fitted, labels.transform(names["valid"][kind]))
        given = rule.predict(tested)
        gold = labels.transform(names["test"][kind])
        kept = gold.any(1)
        predicted[kind] = [list(some) for some in labels.inverse_transform(given)]
        accuracy = accuracy_score(gold[kept], given[kept])
        expected[kind] = [100 * accuracy, 100 * f1_score(gold[kept], given[kept], average="micro")]
    turns = iter(zip(predicted["intents"], predicted["acts"], strict=True))
    path = tmp_path / "bag.json"
    path.write_text(
        json.dumps(
            {
                one.dialogue: [
                    {"response": "", "intents": intents, "acts": acts}
                    for _ in one.turns[::2]
                    for intents, acts in [next(turns)]
                ]
                for one in corpus.split("test")
            }
        )
    )
    rates = evaluate_systems([read_predictions(path)], world, SETTINGS).systems[0].rates
    for kind, task in (("intents", "intent"), ("acts", "act")):
        ours = [rates[f"{task}_accuracy"].value, rates[f"{task}_f1"].value]
        assert ours == pytest.approx(expected[kind])
        assert ours == pytest.approx(BAG[task], abs=0.5)
