"""Every kind: what must stay stays to the letter, doses are nested, and nothing but the dose makes a difference."""

import random
import re
from itertools import pairwise

import pytest

from seedvote.dialogue.conditions import condition_parts, folder_name
from seedvote.dialogue.corpora.multiwoz import write_multiwoz
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.domains.database import DomainTable
from seedvote.dialogue.domains.spelling import delexicalize_turn
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue, Turn
from seedvote.evaluators.perturbing.entities import extend_databases, invented_names, with_unseen
from seedvote.evaluators.perturbing.kinds import KINDS, OUTSIDE, Means, conditions_of
from seedvote.evaluators.perturbing.material import COMMON, Protector, Span, UserTurns, is_intact
from seedvote.evaluators.perturbing.typos import mistype_turn, mistype_word
from seedvote.evaluators.perturbing.wording import Paraphraser, lengthen_turn, read_rewrites, simplify_turn
from seedvote.evaluators.task.accuracy import gold_states
from seedvote.evaluators.task.predictions import Predictions, SystemKey, read_answer
from seedvote.evaluators.task.rates import World, dialogue_outcomes
from seedvote.evaluators.task.success import active_domains, read_goals

DOSES, RATES = [0.0, 0.1, 0.5, 0.8, 1.0], [0.0, 0.1, 0.2, 0.3]
BY_TURN = [kind for kind in KINDS if kind not in ("speech", "entities")]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy") / "corpus"
    write_toy(folder, dialogues=200, seed=0)
    return read_corpus(folder)


@pytest.fixture(scope="module")
def means(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chats") / "corpus"
    write_toy(folder, dialogues=20, seed=0, kind="personachat")
    return Means(read_corpus(folder), "chats")


@pytest.fixture(scope="module")
def found(corpus, means):
    material = UserTurns(corpus, "test", 0)
    return {kind: list(conditions_of(material, kind, RATES if kind == "speech" else DOSES, means)) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_at_dose_0_every_turn_is_as_it_was(found, corpus, kind):
    first = found[kind][0]
    assert tuple(first.dialogues) == corpus.split("test") and first.databases == corpus.databases
    assert (first.changed, first.errors) == ([], 0)


@pytest.mark.parametrize("kind", KINDS)
def test_doses_are_nested(found, kind):
    steps = [{turn.item: turn.after for turn in one.changed} for one in found[kind]]
    for few, more in pairwise(steps):
        assert few.keys() <= more.keys() and len(few) < len(more)
        if kind != "speech":
            assert few.items() <= more.items()


@pytest.mark.parametrize("kind", BY_TURN)
def test_perturbing_keeps_protected_values(found, corpus, kind):
    for one in found[kind]:
        assert one.kept == one.held
        for before, after in zip(corpus.split("test"), one.dialogues, strict=True):
            assert (before.goal, before.dialogue) == (after.goal, after.dialogue)
            for old, new in zip(before.turns, after.turns, strict=True):
                assert (old.belief, old.booked) == (new.belief, new.booked)
                assert old == new or old.speaker == "user"
                for value in set((old.belief or {}).values()) - COMMON:
                    if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", old.text.lower()):
                        assert re.search(rf"(?<!\w){re.escape(value)}(?!\w)", new.text.lower()), (old.text, new.text)


@pytest.mark.parametrize("kind", KINDS)
def test_the_share_of_changed_turns_is_the_dose(found, kind):
    if kind in BY_TURN:
        for one in found[kind]:
            assert (len(one.changed) + one.unchanged) / one.turns == pytest.approx(one.dose, abs=0.12)
        assert found[kind][-1].unchanged <= 0.2 * found[kind][-1].turns


def test_another_seed_changes_other_turns_and_the_same_seed_the_same(corpus):
    def items(seed):
        (one,) = conditions_of(UserTurns(corpus, "test", seed), "typos", [0.5], Means())
        return {turn.item: turn.after for turn in one.changed}

    assert items(0) == items(0) and items(0).keys() != items(1).keys()


def test_kinds_change_the_same_turns(found):
    chosen = {kind: {turn.item for turn in found[kind][1].changed} for kind in ("typos", "verbose", "outside")}
    assert chosen["typos"] == chosen["verbose"] == chosen["outside"]


def test_foreign_talk_is_marked_and_stands_beside_what_was_said(found):
    one = found["outside"][2]
    turns = {f"{d.dialogue}:{n + 1}": turn for d in one.dialogues for n, turn in enumerate(d.turns)}
    for change in one.changed:
        assert OUTSIDE in turns[change.item].acts and change.before in change.after
    assert sum(OUTSIDE in (turn.acts or {}) for turn in turns.values()) == len(one.changed)


def oracle_rates(dialogues, databases):
    """Inform and Success of a system that is told everything."""
    gold = gold_states(dialogues)
    told = {}
    for dialogue in dialogues:
        replies = [turn for turn in dialogue.turns if turn.speaker != "user"]
        states = gold[dialogue.dialogue.lower()]
        told[dialogue.dialogue.lower()] = [
            read_answer({"response": delexicalize_turn(turn), "state": dict(state)}, "x", {})
            for turn, state in zip(replies, states, strict=True)
        ]
    predictions = Predictions(SystemKey("oracle"), told)
    tables = {name: DomainTable(rows) for name, rows in databases.items() if isinstance(rows, list)}
    world = World(read_goals(dialogues), tables, gold, {})
    met = [one.reached for one in dialogue_outcomes(predictions, active_domains(predictions, "state"), world)]
    return [sum(getattr(one, name) for one in met) / len(met) for name in ("inform", "success")]


def test_goals_with_unseen_entities_can_still_be_met(found):
    for one in found["entities"]:
        assert oracle_rates(one.dialogues, one.databases) == [1.0, 1.0]


def test_unseen_entities_stand_nowhere_in_the_corpus_and_are_consistent(corpus):
    texts = [turn.text for dialogue in corpus.dialogues for turn in dialogue.turns]
    names = invented_names(corpus.databases, texts, seed=0)
    assert names == invented_names(corpus.databases, texts, seed=0) != invented_names(corpus.databases, texts, seed=1)
    assert len(set(names.values())) == len(names)
    every = " ".join(texts).lower()
    assert not any(re.search(rf"\b{name.split()[0]}\b", every) for name in names.values())
    for dialogue in corpus.split("test"):
        new, used, _ = with_unseen(dialogue, names)
        for old, turn in zip(dialogue.turns, new.turns, strict=True):
            for value in used:
                assert not re.search(rf"(?<!\w){re.escape(value)}(?!\w)", turn.text.lower())
                assert value not in (turn.belief or {}).values()
            assert (old.belief or {}).keys() == (turn.belief or {}).keys()
        assert not set(used) & {value for wish in new.goal.values() for value in wish.get("info", {}).values()}


def test_articles_capitals_and_names_within_names_are_minded():
    turn = Turn("user", "An Indian meal at India House, or an indian snack.", {"restaurant-semi-food": "indian"})
    names = {"indian": "velmar", "india house": "orsk house"}
    new, used, absent = with_unseen(Dialogue("d", "test", (turn,)), names)
    assert new.turns[0].text == "A Velmar meal at India House, or a velmar snack."
    assert (used, absent) == ({"indian": "velmar"}, 0)
    late = Turn("user", "That one.", {"restaurant-semi-name": "india house"})
    kept, used, absent = with_unseen(Dialogue("d", "test", (late,)), names)
    assert (kept.turns[0], used, absent) == (late, {}, 1)


def test_databases_gain_a_row_for_every_way_of_replacing():
    rows = [{"departure": "a town", "destination": "b town", "id": "1"}, {"departure": "c town", "destination": "d"}]
    more = extend_databases({"train": rows, "taxi": {"colour": ["red"]}}, {"a town": "x", "b town": "y"})
    assert more["taxi"] == {"colour": ["red"]}
    assert [(row["departure"], row["destination"]) for row in more["train"][2:]] == [
        ("x", "b town"), ("a town", "y"), ("x", "y"),
    ]  # fmt: skip


def pieces(text):
    """`[north]` is protected."""
    return [Span(part, bool(n % 2)) for n, part in enumerate(re.split(r"\[|\]", text)) if part]


def test_typos_change_words_and_nothing_else():
    for n in range(300):
        told = mistype_turn(pieces("I want a [cheap] place in the [north], please."), rng=random.Random(n))
        assert "cheap" in told and "north" in told and told != "I want a cheap place in the north, please."
    assert mistype_turn(pieces("[12:15]?"), rng=random.Random(0)) == "12:15?"
    assert all(
        mistype_word(word, rng=random.Random(n)) != word for word in ("ok", "aa", "please", "I") for n in range(200)
    )


def test_more_words_and_fewer_words():
    said = lengthen_turn(pieces("I want a place in the [north]."), rng=random.Random(3))
    assert "north" in said and len(said.split()) > 9
    assert lengthen_turn([], rng=random.Random(0)) == ""
    assert (
        simplify_turn(pieces("Hello, I am looking for a [cheap] hotel in the [north], please."))
        == "cheap hotel in north."
    )
    assert simplify_turn(pieces("I want to book it for [3] people.")) == "book it for 3 people."
    assert simplify_turn(pieces("It is not [Tuesday], do not book it.")) == "It's not Tuesday, don't book it."
    assert simplify_turn(pieces("Please!")) == ""
    assert simplify_turn(pieces("It is [cheap] , I think .")) == "It's cheap , I think ."  # signs stay apart
    assert simplify_turn(pieces("Cambridge , in August .")) == ""  # nothing but spaces would differ
    assert simplify_turn(pieces("Any area is fine, thanks for all of your help.")) == "Any area is fine."
    assert (
        simplify_turn(pieces("Can you help me with that?"))
        == simplify_turn(pieces("What was there for a few people?"))
        == ""
    )


def wish(text, *acts):
    return Turn("user", text, {}, {"Hotel-Inform": acts})


NORTH, SOUTH, CHEAP = ("Area", "north"), ("Area", "south"), ("Price", "cheap")


def test_a_turn_is_told_as_another_user_said_the_same_with_its_own_values():
    turns = [
        wish("I want a cheap hotel in the north.", NORTH, CHEAP),
        wish("A hotel in the north, cheap please.", CHEAP, NORTH),
    ]
    protector = Protector(["north", "cheap", "south"])
    paraphraser = Paraphraser([Dialogue("d", "train", turns)], protector)
    asked = wish("I want a cheap hotel in the south.", SOUTH, CHEAP)
    text = paraphraser.told_anew(asked, protector.cut_pieces(asked.text), protector, rng=random.Random(0))
    assert text == "A hotel in the south, cheap please."
    thanks = Turn("user", "Thank you, I need a taxi.", {}, {"general-thank": [("none", "none")]})
    text = paraphraser.told_anew(thanks, [Span(thanks.text, False)], protector, rng=random.Random(0))
    assert text == "Thanks, I require a taxi."


@pytest.mark.parametrize(
    "other",
    [
        "Is there a cheap hotel in the north?",  # asks
        "I want no cheap hotel in the north.",  # denies
        "Yes, I want a cheap hotel in the north.",  # answers
        "I want a cheap hotel in the north and its travel time.",  # wants more
        "Somewhere cheap up north.",  # does not say what
        "I want a cheap hotel to the north.",  # in another direction
    ],
)
def test_no_wording_takes_the_place_of_a_turn_that_says_something_else(other):
    """The annotated acts are the same in all of them."""
    protector = Protector(["north", "cheap"])
    paraphraser = Paraphraser([Dialogue("d", "train", [wish(other, NORTH, CHEAP)])], protector)
    asked = wish("I want a cheap hotel in the north.", NORTH, CHEAP)
    text = paraphraser.told_anew(asked, protector.cut_pieces(asked.text), protector, rng=random.Random(0))
    assert text == "I would like a cheap hotel in the north."


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Okay, thank you very much. Bye!", "All right, thanks a lot. Goodbye!"),
        ("What is the phone number?", "Could you tell me the telephone number?"),
        ("CAN I GET the address", "MAY I HAVE the address"),
        ("It does n't need a pool, a book or thank yous", "It does n't need a pool, a book or thank yous"),
        ("Can you book a table? The train leaves after 9.", "Could you reserve a table? The train departs after 9."),
    ],
)
def test_phrases_are_exchanged_for_others_that_mean_the_same(before, after):
    turn = Turn("user", before, {}, {"general-thank": [("none", "none")]})
    text = Paraphraser([], Protector([])).told_anew(turn, [Span(before, False)], Protector([]), rng=random.Random(0))
    assert text == after


def test_protected_spans_are_the_longest_and_whole_words():
    protector = Protector(["acorn guest house", "acorn", "b&b", "north", "yes"])
    text = "Yes, the Acorn Guest House (a b&b) in the north, not northern, at 12:15 or £4.50, two nights"
    held = [text[a:b] for a, b in protector.find_spans(text)]
    assert held == ["Acorn Guest House", "b&b", "north", "12:15", "£4.50", "two"]
    assert [text[a:b] for a, b in protector.find_spans("Yes", ["yes"])] == ["Yes"]
    assert is_intact(pieces("[north] and [north]"), "north, north") and not is_intact(
        pieces("[north] [north]"), "north"
    )
    assert protector.find_spans("İstanbul NORTH") == []  # small letters are more: places would be wrong


def test_a_corpus_is_written_and_read_back_equal(corpus, tmp_path):
    write_multiwoz(tmp_path / "again", corpus.dialogues, corpus.databases)
    again = read_corpus(tmp_path / "again")
    assert again.dialogues == corpus.dialogues and again.databases == corpus.databases and again.digest == corpus.digest
    with pytest.raises(InputError, match="must take turns"):
        write_multiwoz(tmp_path / "odd", [Dialogue("d", "test", (Turn("system", "hi"),))], {})


def test_names_of_conditions():
    assert folder_name("typos", 0.1, 2) == "typos@0.1-2"
    assert condition_parts("typos@0.1-2") == ("typos", 0.1, 2) and condition_parts("") is None
    assert condition_parts("decoding@high") is None


@pytest.mark.parametrize("line", ["{", '{"item": 3, "text": "x"}', "[" * 5000 + "]" * 5000])
def test_a_line_that_is_no_rewrite_is_named(tmp_path, line):
    path = tmp_path / "rewrites.jsonl"
    path.write_text('{"item": "a:1", "text": "hi"}\n' + line + "\n")
    with pytest.raises(InputError, match=r"rewrites\.jsonl:2: expected"):
        read_rewrites(path)
