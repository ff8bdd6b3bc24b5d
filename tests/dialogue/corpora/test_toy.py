"""The generated corpora: the same for the same seed, annotated as the real ones, and true to their own databases."""

import doctest
import json
import random
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from seedvote.dialogue.__main__ import COMMANDS
from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.toy import phrases as toy_phrases
from seedvote.dialogue.corpora.toy import world as toy_world
from seedvote.dialogue.corpora.toy import write as toy
from seedvote.dialogue.corpora.toy.conversations import ASKED_FIRST, PLANNED, follow_plan, make_plan
from seedvote.dialogue.corpora.toy.talk import Talk
from seedvote.dialogue.corpora.toy.world import find_matches, make_databases
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch

DOMAINS = {"attraction", "bus", "hospital", "hotel", "restaurant", "taxi", "train"}
WORD = re.compile(r"[\w:']+|[^\w\s]")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("toy")
    toy.write_toy(path, 600, seed=0)
    return read_corpus(path)


@pytest.fixture(scope="module")
def chats(tmp_path_factory):
    path = tmp_path_factory.mktemp("chats")
    toy.write_toy(path, 300, seed=0, kind="personachat")
    return read_corpus(path)


def exchanges(corpus):
    """User turn, system turn, for every exchange."""
    return ((example.context[-1], example.target) for example in iterate_examples(corpus.dialogues))


@pytest.mark.parametrize("module", [toy_phrases, toy_world])
def test_examples_in_the_docstrings(module):
    assert doctest.testmod(module).failed == 0


def test_it_reads_as_multiwoz_2_1_with_splits_and_databases(corpus):
    assert (corpus.name, corpus.version) == ("multiwoz", "2.1 (generated)")
    assert [len(corpus.split(name)) for name in ("train", "valid", "test")] == [480, 60, 60]
    assert set(corpus.databases) == DOMAINS
    first = next(iterate_examples(corpus.dialogues))
    assert first.item == "TOY00000:1"
    assert all(user.belief is not None and user.acts for user, _ in exchanges(corpus))
    assert all(system.acts for _, system in exchanges(corpus))


@pytest.mark.parametrize(
    ("kind", "file"), [("multiwoz", "data.json"), ("plans", "data.json"), ("personachat", "train.jsonl")]
)
def test_toy_bytes_follow_from_the_seed(tmp_path, kind, file):
    for name, dialogues, seed in (("a", 20, 0), ("again", 20, 0), ("more", 40, 0), ("other", 20, 1)):
        toy.write_toy(tmp_path / name, dialogues, seed=seed, kind=kind)
    content = {name: (tmp_path / name / file).read_bytes() for name in ("a", "again", "more", "other")}
    assert content["a"] == content["again"] != content["other"]
    shorter, longer = read_corpus(tmp_path / "a"), read_corpus(tmp_path / "more")
    for split in ("train", "valid", "test"):
        assert longer.split(split)[: len(shorter.split(split))] == shorter.split(split)


@pytest.mark.parametrize("seed", range(20))
def test_only_the_order_of_words_says_which_plan_comes_first(seed):
    """The other way round the same is said in the same words, and the system asks about the other thing."""
    first, second = make_plan(rng=random.Random(seed))
    other = replace(second, info={ASKED_FIRST[second.domain]: "any"})
    turns = []
    for goals in ((first, second), (other, first)):
        talk = Talk(random.Random(seed))
        follow_plan(talk, *goals)
        turns.append([turn["text"] for turn in talk.log])
        assert [*talk.log[1]["dialog_act"]] == [f"{goals[0].title}-Request"]
        assert {domain for domain in PLANNED if talk.active(domain)} == {goals[0].domain}
    (user, _, answer, done), (user_too, *_) = turns
    assert user != user_too and sorted(re.findall(r"\w+", user)) == sorted(re.findall(r"\w+", user_too))
    assert first.info[ASKED_FIRST[first.domain]] in answer.lower() and first.domain in done and second.domain in done


def test_a_corpus_too_small_for_three_splits_is_refused(tmp_path):
    with pytest.raises(InputError, match="9 dialogues would leave a split empty; write 10 or more"):
        toy.write_toy(tmp_path, 9, seed=0)


def test_toy_finishes_a_partial_corpus_and_overwrites_none(tmp_path):
    assert toy.write_toy(tmp_path, 10, seed=0)
    content = (tmp_path / "data.json").read_bytes()
    written = (tmp_path / "data.json").stat().st_mtime_ns
    assert not toy.write_toy(tmp_path, 10, seed=0)
    assert (tmp_path / "data.json").stat().st_mtime_ns == written
    recipe = (tmp_path / "recipe.json").read_text()
    (tmp_path / "recipe.json").write_text(recipe.replace("true", "false"))
    (tmp_path / "data.json").unlink()
    assert toy.write_toy(tmp_path, 10, seed=0)
    assert (tmp_path / "data.json").read_bytes() == content
    with pytest.raises(InputError, match=r"holds another corpus \(corpus:toy\|kind:multiwoz\|dialogues:10\|seed:0"):
        toy.write_toy(tmp_path, 10, seed=1)
    (tmp_path / "recipe.json").unlink()
    with pytest.raises(InputError, match="holds files that are no generated corpus"):
        toy.write_toy(tmp_path, 10, seed=0)


def test_every_probe_task_has_several_labels_and_every_domain_occurs(corpus):
    labels = {
        name: Counter() for name in ("domains", "repeats", "repeated", "recent", "all", "topics", "acts", "entities")
    }
    for dialogue in corpus.dialogues:
        before = {}
        for example in iterate_examples([dialogue]):
            now = example.context[-1].belief
            domains = {path.split("-")[0] for path in now}
            repeated = [leaf for leaf, uses in Counter(path.rpartition("-")[2] for path in now).items() if uses > 1]
            labels["domains"][len(domains)] += 1
            labels["topics"].update(domains)
            labels["repeats"][len(repeated)] += 1
            labels["repeated"].update(repeated)
            labels["recent"][len(now.keys() - before.keys())] += 1
            labels["all"][len(now)] += 1
            labels["acts"][next(iter(example.target.acts))] += 1
            labels["entities"].update({slot for pairs in example.target.acts.values() for slot, _ in pairs})
            before = now
    assert set(labels["topics"]) == DOMAINS
    assert set(labels["domains"]) >= {0, 1, 2, 3, 4}
    assert set(labels["repeats"]) >= {0, 1, 2, 3}
    assert set(labels["repeated"]) >= {
        "area",
        "day",
        "departure",
        "destination",
        "name",
        "people",
        "pricerange",
        "type",
    }
    assert set(labels["recent"]) >= {0, 1, 2, 3, 4}
    assert set(labels["all"]) >= set(range(13))
    assert len(labels["acts"]) >= 25
    assert len(labels["entities"]) >= 20


def test_it_is_small_enough_for_a_small_model(corpus):
    lengths = [len(WORD.findall(turn.text)) for dialogue in corpus.dialogues for turn in dialogue.turns]
    words = {
        word for dialogue in corpus.dialogues for turn in dialogue.turns for word in WORD.findall(turn.text.lower())
    }
    assert 600 <= len(words) <= 1000
    assert 5 <= sum(lengths) / len(lengths) <= 18
    assert sorted(lengths)[len(lengths) * 95 // 100] <= 20


def test_one_state_has_several_replies(corpus):
    replies = {}
    for user, system in exchanges(corpus):
        if list(user.acts) == ["general-thank"]:
            replies.setdefault("thanks", set()).add(system.text)
        if "Restaurant-Inform" in user.acts and len(user.belief) == 1:
            replies.setdefault(tuple(user.belief.items()), set()).add(tuple(system.acts))
    assert len(replies["thanks"]) > 20
    assert sum(len(found) > 1 for found in replies.values()) > 5


def test_the_belief_changes_only_by_what_the_user_says_or_agrees_to(corpus):
    for dialogue in corpus.dialogues:
        before = {}
        for example in iterate_examples([dialogue]):
            user = example.context[-1]
            told = {value for pairs in user.acts.values() for _, value in pairs}
            for path, value in user.belief.items():
                assert before.get(path) == value or value in told or path.endswith("-name"), (dialogue.dialogue, path)
            assert before.keys() <= user.belief.keys()
            before = user.belief


def test_what_the_acts_say_stands_in_the_text(corpus):
    yes_or_no = {"Internet", "Parking", "none"}
    for _, system in exchanges(corpus):
        for slot, value in (pair for pairs in system.acts.values() for pair in pairs):
            if slot not in yes_or_no and value != "?" and not (slot == "Choice" and value == "1"):
                assert value in system.text.lower(), (system.text, slot, value)


def test_toy_offers_places_that_fit_the_wishes(corpus):
    offers = 0
    for user, system in exchanges(corpus):
        for act, pairs in system.acts.items():
            domain = act.split("-")[0].lower()
            if not act.endswith(("-Recommend", "-Select")) or domain == "train":
                continue
            wishes = {
                path.split("-")[2]: value for path, value in user.belief.items() if path.startswith(f"{domain}-semi-")
            }
            wishes.pop("name", None)
            fitting = {row["name"] for row in find_matches(domain, wishes)}
            assert {name for slot, name in pairs if slot == "Name"} <= fitting
            offers += 1
    assert offers > 200


def test_values_are_carried_from_one_domain_to_another(corpus):
    carried = [
        user
        for user, _ in exchanges(corpus)
        if re.search(r"taxi .*to the (hotel|restaurant|attraction)\b", user.text)
        and user.belief["taxi-semi-destination"]
        in {user.belief.get(f"{kind}-semi-name") for kind in ("hotel", "restaurant", "attraction")}
    ]
    same = [user for user, _ in exchanges(corpus) if "same" in user.text]
    assert len(carried) > 10
    assert len(same) > 20
    for user in same:
        told = {(slot, value) for pairs in user.acts.values() for slot, value in pairs}
        days = [value for path, value in user.belief.items() if path.endswith("-day")]
        people = [value for path, value in user.belief.items() if path.endswith("-people")]
        assert any(("Day", day) in told for day in days) or any(("People", n) in told for n in people)


def test_refusals_corrections_chit_chat_and_bookings_occur(corpus):
    acts = Counter(act for _, system in exchanges(corpus) for act in system.acts)
    assert min(acts[act] for act in ("Restaurant-NoOffer", "Hotel-NoOffer", "Train-NoOffer", "Booking-NoBook")) > 3
    changes = 0
    for dialogue in corpus.dialogues:
        beliefs = [turn.belief for turn in dialogue.turns if turn.belief is not None]
        changes += sum(a[path] != b[path] for a, b in pairwise(beliefs) for path in a)
    assert changes > 50
    assert any("birthday" in user.text for user, _ in exchanges(corpus))


def test_a_booking_stands_in_the_metadata_and_never_in_the_belief():
    raw = next(raw for raw in toy.generate_dialogues(100, seed=0) if "Booking-Book" in str(raw["log"]))
    booked = [section["book"]["booked"] for turn in raw["log"] for section in turn["metadata"].values()]
    assert any(booked)
    assert {"info", "book", "reqt"} <= next(goal for goal in raw["goal"].values() if goal).keys()


def test_names_phones_and_lines_are_unique():
    for domain in ("attraction", "hotel", "restaurant"):
        assert len({row["name"] for row in make_databases()[domain]}) == len(make_databases()[domain])
    assert len({(row["trainID"], row["day"]) for row in make_databases()["train"]}) == len(make_databases()["train"])
    assert all(row["leaveAt"] < row["arriveBy"] for kind in ("train", "bus") for row in make_databases()[kind])


def test_every_sentence_can_be_said_by_its_corpus(corpus):
    plans = [turn["text"] for raw in toy.generate_dialogues(100, seed=0, kind="plans") for turn in raw["log"]]
    said = " ".join([*(turn.text for dialogue in corpus.dialogues for turn in dialogue.turns), *plans])
    assert "{" not in said and "[" not in said and "  " not in said
    used = [
        key for key, templates in toy_phrases.PHRASES.items() if any(_fixed(template) in said for template in templates)
    ]
    assert set(toy_phrases.PHRASES) == set(used)


def _fixed(template):
    """The longest run of plain words in a template."""
    return max((part.strip() for part in re.split(r"\[[^]]*]|\{[^}]*}", template)), key=len)


def test_persona_chats_alternate_and_speak_of_the_personas(chats):
    assert (chats.name, chats.version) == ("personachat", "JSON (generated)")
    assert [len(chats.split(name)) for name in ("train", "valid", "test")] == [240, 30, 30]
    for dialogue in chats.dialogues:
        assert all(4 <= len(persona) <= 5 for persona in dialogue.persona.values())
        assert [turn.speaker for turn in dialogue.turns[:4]] == ["partner", "self", "partner", "self"]
        assert 10 <= len(dialogue.turns) <= 16
    words = {word for dialogue in chats.dialogues for turn in dialogue.turns for word in turn.text.split()}
    assert 300 <= len(words) <= 1000


def test_the_commands_write_and_describe(tmp_path, capsys):
    assert dispatch("dialogue", "", COMMANDS, ["toy", str(tmp_path), "--dialogues", "20", "--seed", "7"]) == 0
    assert "20 dialogues written to" in capsys.readouterr().out
    assert dispatch("dialogue", "", COMMANDS, ["describe", str(tmp_path)]) == 0
    table = capsys.readouterr().out
    assert re.search(r"multiwoz 2.1 \(generated\)\n.*train.*valid.*test.*all\ndialogues +16 +2 +2 +20\n", table)
    assert "databases" in table
    assert dispatch("dialogue", "", COMMANDS, ["describe", str(tmp_path), "--json"]) == 0
    for_programs, for_people = capsys.readouterr()
    assert json.loads(for_programs)["splits"]["train"]["dialogues"] == 16
    assert for_people.startswith("Next: python -m generation train ")
