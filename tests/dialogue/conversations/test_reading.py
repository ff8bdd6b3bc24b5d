"""Conversations as people keep them, with who held them and about what; what is missing is told with its line."""

import json

import pytest

from seedvote.dialogue.conversations.reading import read_conversations
from seedvote.dialogue.errors import InputError

MESSAGES = {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"},
                         {"role": "assistant", "content": "Hello"}]}  # fmt: skip
SHAREGPT = {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]}
NAMED = {"dialogue": [{"speaker": "ann", "text": "Hi"}, {"speaker": "bob", "text": "Hello"}]}
TEXTS = {"turns": ["Hi", "Hello"]}


def file(folder, *lines, name="ours.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def read(path, judged="system", **stated):
    return read_conversations(path, stated=stated, judged=judged)


@pytest.mark.parametrize("line", [MESSAGES, SHAREGPT, NAMED, TEXTS, ["Hi", "Hello"]])
def test_every_form_is_read_alike(tmp_path, line):
    (one,) = read(file(tmp_path, line))
    assert [(turn.speaker, turn.text) for turn in one.turns] == [("user", "Hi"), ("system", "Hello")]
    assert (one.system, one.seed, one.goal, one.speaker) == ("ours", None, "", "system")
    assert read(file(tmp_path, line), judged="user")[0].speaker == "user"


def test_reading_takes_usual_or_given_field_names(tmp_path):
    usual = {**TEXTS, "model": "gru", "seed": 2, "checkpoint": "last", "topic_id": 7}
    own = {**TEXTS, "bot": "lstm", "run": 0, "task": "hotel"}
    (one,) = read(file(tmp_path, usual))
    assert (one.system, one.seed, one.checkpoint, one.goal) == ("gru", 2, "last", "7")
    (one,) = read(file(tmp_path, own), system="bot", seed="run", goal="task")
    assert (one.system, one.seed, one.goal) == ("lstm", 0, "hotel")
    (one,) = read_conversations(file(tmp_path, usual), "mine", stated={}, judged="system")
    assert one.system == "mine"


def test_a_whole_list_and_a_published_corpus_are_read_too(tmp_path):
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps([MESSAGES, SHAREGPT]))
    assert [one.system for one in read(path)] == ["theirs", "theirs"]
    chat = tmp_path / "people.txt"
    chat.write_text("1 your persona: i like tea.\n2 hi\thello\n3 how are you ?\tfine .\n")
    (one,) = read(chat, judged="self")
    assert one.system == "people" and len(one.turns) == 4 and one.speaker == "self"


@pytest.mark.parametrize(
    ("line", "stated", "says"),
    [
        ({"turns": ["Hi"]}, {}, "ours.jsonl:2: system says nothing"),
        ({"messages": []}, {}, "ours.jsonl:2: system says nothing, .*speakers: none"),
        ({"text": "Hi"}, {}, "ours.jsonl:2 is no conversation"),
        ({**TEXTS, "goal": {"hotel": 1}}, {}, "ours.jsonl:2: goal is .*--columns goal=..."),
        ({**TEXTS, "seed": "zero"}, {}, "ours.jsonl:2: seed is 'zero', which is not a whole number"),
        ({**TEXTS, "seed": True}, {}, "not a whole number"),
        (TEXTS, {"goal": "task"}, "ours.jsonl:1 has no task"),
        (TEXTS, {"goals": "task"}, "'goals', which is not one of system, goal, seed, checkpoint"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path, line, stated, says):
    with pytest.raises(InputError, match=says):
        read(file(tmp_path, TEXTS, line), **stated)
