"""BLEU by sacrebleu, rates of oracles and of fools on the built-in corpus, intervals by simulation, ranks."""

import random
from collections import Counter

import numpy as np
import pytest
import sacrebleu

from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.domains.spelling import delexicalize_turn
from seedvote.evaluators.task.accuracy import compare_states, gold_states
from seedvote.evaluators.task.evaluation import TaskRules, evaluate_systems
from seedvote.evaluators.task.predictions import Predictions, SystemKey, comparable_id, read_answer
from seedvote.evaluators.task.rates import (
    DialogueOutcome,
    bleu4,
    compute_rates,
    count_ngrams,
    draw_weights,
    rank_by_draws,
    replace_placeholders,
    tokenize_13a,
    world_of,
)
from seedvote.evaluators.task.success import Reached
from tests.evaluators.toys import held_out_toy

SETTINGS = TaskRules("test", None, "subset", "skip", "own", 0)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return held_out_toy(tmp_path_factory.mktemp("toy"), 300)


@pytest.fixture(scope="module")
def dialogues(corpus):
    return read_corpus(corpus).split("test")


@pytest.fixture(scope="module")
def world(corpus):
    return world_of(corpus, None, "test", None)


def agent(dialogues, speak, name="agent", states=True):
    """Predictions of somebody who says `speak(turn, state)` at each system turn of the test split."""
    gold = gold_states(dialogues)
    found = {}
    for dialogue in dialogues:
        key = comparable_id(dialogue.dialogue)
        replies = [turn for turn in dialogue.turns if turn.speaker != "user"]
        said = [speak(turn, state) for turn, state in zip(replies, gold[key], strict=True)]
        raw = [{"response": text, **({"state": state} if states else {})} for text, state in said]
        found[key] = [read_answer(one, "here", Counter()) for one in raw]
    return Predictions(SystemKey(name), found, {})


def oracle(turn, state):
    return delexicalize_turn(turn), state


def test_an_oracle_reaches_every_goal_of_the_built_in_corpus(dialogues, world):
    system = evaluate_systems([agent(dialogues, oracle)], world, SETTINGS).systems[0]
    assert {name: rate.value for name, rate in system.rates.items() if name != "combined"} == {
        name: pytest.approx(100) for name in system.rates if name != "combined"
    }
    assert system.rates["combined"].value == pytest.approx(200)


def test_an_agent_without_states_is_told_those_of_the_corpus(dialogues, world):
    system = evaluate_systems([agent(dialogues, oracle, states=False)], world, SETTINGS).systems[0]
    assert system.states == "annotated" and system.rates["success"].value == 100
    assert "jga" not in system.rates  # it tracked nothing itself


def test_a_silent_agent_succeeds_only_where_nothing_had_to_be_told(dialogues, world):
    system = evaluate_systems([agent(dialogues, lambda turn, state: ("ok .", {}))], world, SETTINGS).systems[0]
    nothing = [
        all(not goal.asked for goal in wanted.domains.values())
        and all("name" in goal.wanted or name in ("taxi", "hospital", "train", "bus")
                for name, goal in wanted.domains.items())
        for wanted in world.goals.values()
    ]  # fmt: skip
    assert system.rates["success"].value == pytest.approx(100 * np.mean(nothing))
    assert system.rates["success"].value < 25
    empty = [not state for states in world.states.values() for state in states]
    assert system.rates["jga"].value == pytest.approx(100 * np.mean(empty))


def test_a_babbling_agent_informs_but_seldom(dialogues, world):
    draw = random.Random(0)
    areas = ("north", "south", "east", "west", "centre")

    def babble(turn, state):
        return "[value_name] [value_phone]", {"hotel": {"area": draw.choice(areas), "stars": draw.choice("12345")}}

    system = evaluate_systems([agent(dialogues, babble)], world, SETTINGS).systems[0]
    assert system.rates["success"].value < 25
    wanting = {
        name
        for name, wanted in world.goals.items()
        if any("name" not in goal.wanted and d not in ("taxi", "hospital", "train", "bus", "hotel")
               for d, goal in wanted.domains.items())
    }  # fmt: skip
    reached = [one.reached.inform for one in system.outcomes if one.dialogue in wanting]
    assert len(reached) > 10 and not any(reached)  # where something had to be found, chance finds nothing


def test_venues_drawn_one_by_one_are_never_fewer_than_none_and_vary(dialogues, world):
    settings = TaskRules("test", None, "sampled", "skip", "own", 0)
    draw = random.Random(1)

    def vague(turn, state):
        return delexicalize_turn(turn), {name: dict(list(s.items())[: draw.randint(0, 2)]) for name, s in state.items()}

    system = evaluate_systems([agent(dialogues, vague)], world, settings).systems[0]
    assert system.sampled.inform >= system.rates["inform"].value  # one row of many fits more often than all of them
    assert system.sampled.inform_sd > 0


def test_bleu_is_sacrebleus(corpus):
    draw = random.Random(0)
    words = ["the", "[hotel_name]", "[value_area]", ",", "3.50", ".", "yes", "?", "a-b", "10-12", "it's", "&amp;"]
    texts = [" ".join(draw.choices(words, k=draw.randint(0, 12))) for _ in range(80)]
    pairs = [(replace_placeholders(a), replace_placeholders(b)) for a, b in zip(texts[:40], texts[40:], strict=True)]
    for size in (1, 3, 40):
        part = pairs[:size]
        theirs = sacrebleu.corpus_bleu([a for a, _ in part], [[b for _, b in part]], force=True).score
        assert bleu4(np.sum([count_ngrams(a, b) for a, b in part], 0)) == pytest.approx(theirs, abs=1e-9)
    assert tokenize_13a("it costs 4.50, ok?") == ["it", "costs", "4.50", ",", "ok", "?"]


def test_states_are_counted_as_the_words_say():
    gold = {"hotel": {"area": "north", "stars": "4", "people": "2"}}
    turn = compare_states(gold, {"hotel": {"area": "north", "stars": "dontcare"}, "train": {"day": "monday"}})
    assert (turn.tp, turn.fp, turn.fn, turn.wrong, turn.wanted) == (1, 2, 2, 3, 3)
    assert not turn.joint and compare_states(gold, gold).joint and compare_states({}, {}).joint
    assert compare_states({}, {"hotel": {"area": "dontcare"}}).dontcare_as_none
    assert compare_states(gold, {"hotel": {"area": "north", "stars": "4"}}).without_booking
    assert compare_states({"hotel": {"name": "the acorn"}}, {"hotel": {"name": "acorn"}}).fuzzy
    train = {"train": {"day": "monday", "people": "1"}}
    assert not compare_states(train, {"train": {"people": "1"}}).without_booking  # a train's day is searched for


def of(inform, success=None):
    met = Reached(bool(inform), bool(inform if success is None else success), {}, {})
    return DialogueOutcome("d", 1, met, (), np.empty((0, 10)))


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say():
    """150 dialogues of a world in which .62 succeed, 400 times: binomial, so the truth is known."""
    generator, held = np.random.default_rng(0), 0
    for _ in range(400):
        found = [of(one) for one in generator.random(150) < 0.62]
        rate = compute_rates(found, draw_weights(150, generator=generator, draws=300), slots=30)["success"]
        held += rate.low <= 62 <= rate.high
    assert 0.92 <= held / 400 <= 0.97


def test_systems_that_do_not_differ_share_their_ranks():
    generator = np.random.default_rng(0)
    hard = generator.random(400)
    drawn = draw_weights(400, generator=generator)
    chance = {"good": 0.2, "same": 0.21, "bad": 0.5}
    scores = {
        name: compute_rates([of(one) for one in hard > limit], drawn, slots=30)["reach"]
        for name, limit in chance.items()
    }
    order = {place.system: place for place in rank_by_draws(scores)}
    assert [place.system for place in rank_by_draws(scores)] == ["good", "same", "bad"]
    assert (order["bad"].best, order["bad"].worst) == (3, 3) and order["bad"].p is None
    assert order["same"].p < 0.001
    # Paired: two systems that fail on the same dialogues but four differ by what those four say.
    assert order["good"].step == pytest.approx(100 * np.mean((hard > 0.2) != (hard > 0.21)))
    assert order["good"].step_low >= 0
