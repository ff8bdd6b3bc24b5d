"""Sets of responses: every system in one order, every combination in turn, checks whose answer is known."""

from collections import Counter

import pytest

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue, Response, Turn
from seedvote.dialogue.validity import complaint
from seedvote.generation.pairing import response_sets, sanity_checks, sets_of_checks, systems_of

WORDS = ["museum", "restaurant", "hospital", "airport", "library", "theatre", "station", "harbour", "castle", "market"]


def talk(number):
    word = WORDS[number % 10] + "abcdefghij"[number // 10]
    turns = [Turn("user", f"where is the {word} today please"), Turn("system", f"the {word} is on the way to us")]
    return Dialogue(f"d{number}", "valid", turns * 2)


KNOWN = {one.item: one for one in iterate_examples([talk(n) for n in range(30)])}


def said(systems=4, same=()):
    def answer(name, item):
        text = "the same" if item in same and name in ("m0", "m1") else f"{name} says {item}"
        return Response(item, name, None, "last", text)

    return {f"m{n}": {item: answer(f"m{n}", item) for item in KNOWN} for n in range(systems)}


def test_all_systems_stand_in_every_set_in_one_order():
    sets = response_sets(said(), KNOWN, 10, 4, seed=0)
    assert len(sets) == 10 == len({one.item for one in sets}) == len({one.set for one in sets})
    assert {tuple(r.model for r in one.responses) for one in sets} == {("m0", "m1", "m2", "m3")}
    assert not any(map(complaint, sets))


def test_sets_hold_every_combination_equally_often():
    pairs = Counter(tuple(r.model for r in one.responses) for one in response_sets(said(), KNOWN, 12, 2, seed=0))
    assert len(pairs) == 6 and set(pairs.values()) == {2}
    alone = response_sets(said(), KNOWN, 5, 1, seed=0)
    assert Counter((one.item, one.responses[0].model) for one in alone).most_common(1)[0][1] == 1 and len(alone) == 20


def test_sets_leave_out_identical_responses_on_request():
    items = list(KNOWN)
    same = items[: len(items) // 2]
    kept = response_sets(said(same=same), KNOWN, len(items), 4, seed=0, distinct=True)
    assert {one.item for one in kept} == set(items) - set(same)
    two = response_sets(said(2, same=same), KNOWN, len(items), 2, seed=0)
    assert {one.item for one in two if one.identical} == set(same) and not any(map(complaint, two))
    with pytest.raises(InputError, match="--distinct"):
        response_sets(said(2, same=items), KNOWN, 3, 2, seed=0, distinct=True)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_checks_ask_for_the_reference_whatever_its_place(size):
    checks = sanity_checks(list(KNOWN.values()), 8, seed=0)
    found = sets_of_checks(checks, size, seed=0)
    assert len(found) == len(checks) == 8 and not any(map(complaint, found))
    for one in found:
        word, _, index = one.answer.partition(":")
        models = [response.model for response in one.responses]
        assert len(models) == size == len({response.text for response in one.responses})
        assert (models[int(index)] == "reference") == (word in ("best", "high"))
        assert models.count("reference") == (word in ("best", "high"))
    if size == 1:
        assert Counter(one.answer for one in found) == {"low:0": 4, "high:0": 4}
    else:
        assert len({one.answer for one in found}) > 1


def test_too_few_checks_for_large_sets_are_told():
    with pytest.raises(InputError, match="3 checks are too few for sets of 6"):
        sets_of_checks(sanity_checks(list(KNOWN.values()), 3, seed=0), 6, seed=0)


def test_the_systems_are_every_model_under_every_seed():
    answers = {"a": {(1, 0): {}, (0, 0): {}, (0, 1): {}}, "b": {(-1, 0): {}}}
    assert list(systems_of(answers)) == ["a-0", "a-1", "b"]
