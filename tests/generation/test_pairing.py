"""Pairs that differ in the seed alone, controls of known relation, checks whose answer is obvious."""

from collections import Counter

import pytest

from seedvote.dialogue.corpora.examples import Example, iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Candidate, Dialogue, Pair, Response, Turn, Utterance
from seedvote.dialogue.tokens import normalize, telling_words, tokenize
from seedvote.generation.pairing import (
    against_reference,
    answers_of,
    choose_contexts,
    people_pairs,
    preview_page,
    real_pairs,
    sanity_checks,
    seed_bleus,
    system_pairs,
    within_seed,
    write_page,
)


def dialogue(n):
    turns = [Turn(("user", "system")[t % 2], f"dialogue {n} says w{t} and {n * t}") for t in range(6)]
    return Dialogue(f"d{n}", "test", turns)


EXAMPLES = {e.item: e for e in iterate_examples(dialogue(n) for n in range(20))}


def response(item, seed, draw=0, text=None, decoding="nucleus:0.9", model="m"):
    return Response(
        item, model, seed, "last", text or f"{model} {seed} {draw} {item}", -1.0, decoding, extra={"draw": draw}
    )


RESPONSES = [response(item, seed, draw) for item in EXAMPLES for seed in (0, 1, 2) for draw in (0, 1)]
ANSWERS = answers_of(RESPONSES, "m", "nucleus:0.9")


def test_all_pairs_of_seeds_get_their_share_and_no_context_comes_twice():
    pairs = real_pairs(ANSWERS, EXAMPLES, 30, seed=0)
    assert Counter(pair.contrast for pair in pairs) == {"m:0-1": 10, "m:0-2": 10, "m:1-2": 10}
    assert len({pair.item for pair in pairs}) == 30
    assert all({pair.a.seed, pair.b.seed} == set(map(int, pair.contrast[2:].split("-"))) for pair in pairs)


def test_more_pairs_than_contexts_take_other_seeds_for_the_same_context():
    pairs = real_pairs(ANSWERS, EXAMPLES, 1000, seed=0)
    assert len(pairs) == 60 * 3
    assert len({(pair.item, pair.contrast) for pair in pairs}) == 60 * 3
    assert len({pair.pair for pair in pairs}) == 60 * 3


def test_seeds_meet_a_named_system_as_often_as_a_seed():
    baseline = answers_of([response(i, None, model="unigram") for i in EXAMPLES], "unigram", "nucleus:0.9")
    pairs = real_pairs(ANSWERS, EXAMPLES, 60, seed=0, against=baseline)
    names = ("m:0-1", "m:0-2", "m:1-2", "m-unigram:0", "m-unigram:1", "m-unigram:2")
    assert Counter(pair.contrast for pair in pairs) == dict.fromkeys(names, 10)
    met = [{(side.model, side.seed) for side in (pair.a, pair.b)} for pair in pairs if "unigram" in pair.contrast]
    assert {seed for sides in met for model, seed in sides if model == "m"} == {0, 1, 2}
    assert all(("unigram", None) in sides for sides in met)


def other(seeds):
    return answers_of([response(i, s, model="other") for i in EXAMPLES for s in seeds], "other", "nucleus:0.9")


@pytest.mark.parametrize(
    ("seeds", "contrasts"),
    [
        ((0, 1, 2), {(0, 0), (1, 1), (2, 2)}),
        ((1, 2, 7), {(1, 1), (2, 2)}),
        ((8, 9), {(s, t) for s in (0, 1, 2) for t in (8, 9)}),
        ((None,), {(0, None), (1, None), (2, None)}),
    ],
)
def test_two_systems_meet_under_the_seeds_that_both_have_else_under_all(seeds, contrasts):
    pairs = system_pairs(ANSWERS, other(seeds), EXAMPLES, 60, seed=0)
    found = Counter()
    for pair in pairs:
        sides = {side.model: side.seed for side in (pair.a, pair.b)}
        found[sides["m"], sides["other"]] += 1
        assert pair.contrast.startswith("m-other:")
    assert set(found) == contrasts
    assert max(found.values()) - min(found.values()) <= 1
    assert len({pair.pair for pair in pairs}) == len({pair.item for pair in pairs}) == 60
    assert 15 < sum(pair.a.model == "m" for pair in pairs) < 45


def test_every_seed_meets_what_people_said_to_the_same_context():
    pairs = people_pairs(ANSWERS, EXAMPLES, 30, seed=0)
    assert Counter(pair.contrast for pair in pairs) == {f"m-reference:{seed}-people": 10 for seed in (0, 1, 2)}
    for pair in pairs:
        people, model = sorted((pair.a, pair.b), key=lambda side: side.model != "reference")
        assert pair.kind == "real" and people.text == normalize(EXAMPLES[pair.item].target.text)
        assert model.text.endswith(pair.item)
    assert 5 < sum(pair.a.model == "reference" for pair in pairs) < 25


def test_systems_that_answered_different_contexts_cannot_be_paired():
    apart = {(0, 0): {"elsewhere:1": response("elsewhere:1", 0)}}
    with pytest.raises(InputError, match="No context was answered by all"):
        system_pairs(ANSWERS, apart, EXAMPLES, 5, seed=0)


def test_the_lower_seed_is_on_either_side_about_as_often():
    pairs = real_pairs(ANSWERS, EXAMPLES, 1000, seed=0)
    assert 60 < sum(pair.a.seed < pair.b.seed for pair in pairs) < 120


def test_the_same_seed_makes_the_same_pairs_and_another_one_others():
    assert real_pairs(ANSWERS, EXAMPLES, 20, seed=0) == real_pairs(ANSWERS, EXAMPLES, 20, seed=0)
    assert real_pairs(ANSWERS, EXAMPLES, 20, seed=0) != real_pairs(ANSWERS, EXAMPLES, 20, seed=1)


def test_contexts_are_stratified_by_turn():
    items = [f"d{n}:{t}" for n in range(50) for t in (1, 3, 5)]
    turns = Counter(item.rpartition(":")[2] for item in choose_contexts(items, 30, seed=0))
    assert set(turns.values()) == {10}
    assert len(set(choose_contexts(items, 30, seed=0))) == 30


def test_within_seed_controls_are_two_draws_of_one_seed():
    pairs = within_seed(ANSWERS, EXAMPLES, 9, seed=0)
    assert len(pairs) == 9
    assert all(pair.a.seed == pair.b.seed and pair.a.text != pair.b.text for pair in pairs)
    assert Counter(pair.a.seed for pair in pairs) == {0: 3, 1: 3, 2: 3}
    assert {pair.kind for pair in pairs} == {"control"}


def test_without_a_second_draw_there_are_no_within_seed_controls():
    assert within_seed({key: part for key, part in ANSWERS.items() if key[1] == 0}, EXAMPLES, 9, seed=0) == []


def test_a_random_response_comes_from_another_dialogue():
    for pair in against_reference(ANSWERS, EXAMPLES, 12, seed=0, stray=True):
        stray = pair.a if pair.a.model == "m" else pair.b
        assert stray.text.split()[-1].split(":")[0] != pair.dialogue
    for pair in against_reference(ANSWERS, EXAMPLES, 12, seed=0, stray=False):
        assert {pair.a.model, pair.b.model} == {"reference", "m"}


def test_identical_responses_are_flagged():
    same = answers_of([response("d0:1", s, text="same") for s in (0, 1)], "m", "nucleus:0.9")
    (pair,) = real_pairs(same, EXAMPLES, 1, seed=0)
    assert pair.identical


def test_the_steadiest_architecture_comes_first():
    def answers(model, every):
        return [
            response(e.item, seed, text="no" if n % every[seed] else e.target.text, decoding="greedy", model=model)
            for n, e in enumerate(EXAMPLES.values())
            for seed in (0, 1)
        ]

    found = seed_bleus([*answers("wild", (2, 3)), *answers("steady", (3, 3))], EXAMPLES)
    assert [spread.model for spread in found] == ["steady", "wild"]
    assert found[0].sd == 0 < found[1].sd


def test_one_seed_alone_makes_no_pairs():
    with pytest.raises(InputError, match="with at least two seeds"):
        seed_bleus([response("d0:1", 0)], EXAMPLES)
    with pytest.raises(InputError, match="No context was answered by two seeds"):
        real_pairs(answers_of([response("d0:1", 0)], "m", "nucleus:0.9"), EXAMPLES, 5, seed=0)


@pytest.fixture(scope="module")
def held_out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    write_toy(folder, 400, seed=0)
    return list(iterate_examples(read_corpus(folder).split("valid")))


def test_checks_are_right_on_either_side_equally_often_and_of_both_kinds(held_out):
    checks = sanity_checks(held_out, 20, seed=0)
    assert Counter(check.answer for check in checks) == {"a": 10, "b": 10}
    assert Counter((check.contrast, check.answer) for check in checks) == dict.fromkeys(
        [("scrambled", "a"), ("scrambled", "b"), ("off-topic", "a"), ("off-topic", "b")], 5
    )
    assert len({check.dialogue for check in checks}) == 20


def test_the_right_side_is_the_reference_and_takes_up_the_context(held_out):
    known = {example.item: example for example in held_out}
    for check in sanity_checks(held_out, 20, seed=0):
        good, bad = (check.a, check.b) if check.answer == "a" else (check.b, check.a)
        assert good.text == normalize(known[check.item].target.text)
        assert telling_words(good.text) & telling_words(check.context[-1].text)
        if check.contrast == "scrambled":
            assert sorted(tokenize(bad.text)) == sorted(tokenize(good.text))
        else:
            assert not telling_words(bad.text) & set().union(*(telling_words(u.text) for u in check.context))


def test_a_corpus_without_telling_answers_gives_no_check():
    dull = Example("d:1", Dialogue("d", "valid", [Turn("user", "hi"), Turn("system", "yes")]), 1)
    assert sanity_checks([dull], 5, seed=0) == []


def test_page_of_pairs_shows_texts_and_right_answers(held_out):
    checks = sanity_checks(held_out, 4, seed=0)
    nasty = real_pairs(
        answers_of([response("d0:1", s, text="<script>x</script>") for s in (0, 1)], "m", "nucleus:0.9"),
        EXAMPLES,
        1,
        seed=0,
    )
    text = preview_page([*checks, *nasty], "recipe:<here>")
    assert "<script" not in text
    assert text.count("&lt;script&gt;x&lt;/script&gt;") == 2
    assert text.count("<article") == 5
    assert text.count("correct") == 4
    assert "recipe:&lt;here&gt;" in text
    assert "identical responses" in text


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_page_of_pairs_is_no_wider_than_the_screen(chromium, tmp_path, width):
    long = "word" * 60
    pair = Pair("p1", "d1:1", [Utterance("user", long)], Candidate(long, "hred", 0, "last"), Candidate("no", "hred", 1))
    write_page(tmp_path / "pairs.html", [pair], "model:hred|" + "x" * 200)
    page = chromium.new_page(viewport={"width": width, "height": 844})
    page.goto((tmp_path / "pairs.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator('meta[name="viewport"]').count() == 1
    page.close()
