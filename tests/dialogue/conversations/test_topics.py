"""Topics: read from text or JSON Lines, paired so that every contrast comes as often, with checks of other subjects."""

from collections import Counter

import pytest

from seedvote.dialogue.conversations.reading import RatedConversation
from seedvote.dialogue.conversations.topics import read_topics, topic_checks, topic_pairs
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Pair, Utterance


@pytest.fixture
def topics(tmp_path):
    path = tmp_path / "topics.txt"
    path.write_text("".join(f"Topic number {n}\n\n" for n in range(6)), encoding="utf-8")
    return read_topics(path)


def talks(n=8):
    turns = [Utterance("user", "Hello."), Utterance("system", "")]
    return [RatedConversation("w", str(k), [turns[0], Utterance("system", f"Reply {k}.")], "system", "s")
            for k in range(n)]  # fmt: skip


def test_lines_of_text_are_topics_with_items_of_their_own(topics):
    assert [topic.topic for topic in topics] == [f"Topic number {n}" for n in range(6)]
    assert len({topic.item for topic in topics}) == 6


def test_json_lines_may_say_more(tmp_path):
    path = tmp_path / "topics.jsonl"
    path.write_text('{"item": "i", "dialogue": "d", "context": [{"speaker": "user", "text": "Hi."}]}\n')
    (topic,) = read_topics(path)
    assert (topic.item, topic.dialogue, topic.topic) == ("i", "d", "")
    assert topic.context == (Utterance("user", "Hi."),)


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"topic": 3}', "{}", '{"topic": "a", "context": ["Hi."]}', '{"topic": "a", "context": [{}]}']
)
def test_a_line_that_is_no_topic_is_named(tmp_path, line):
    path = tmp_path / "topics.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=r"topics\.jsonl:1"):
        read_topics(path)


def test_every_contrast_comes_as_often_and_every_topic_once_in_each(topics):
    pairs = topic_pairs(topics, ["a", "b", "c"], seed=0)
    assert Counter(pair.contrast for pair in pairs) == {"a-b": 6, "a-c": 6, "b-c": 6}
    assert Counter(pair.item for pair in pairs) == {topic.item: 3 for topic in topics}
    few = topic_pairs(topics, ["a", "b", "c"], 7, seed=0)
    assert set(Counter(pair.contrast for pair in few).values()) == {2, 3}
    assert {pair.a.model for pair in pairs} == {"a", "b", "c"}  # sides are drawn


def test_checks_have_one_system_and_one_played_side_and_are_read_back(topics, tmp_path):
    checks = topic_checks(topics, talks(), "a", 8, 3, seed=0)
    assert Counter(check.answer for check in checks) == {"a": 4, "b": 4}
    for check in checks:
        good, wrong = (check.a, check.b) if check.answer == "a" else (check.b, check.a)
        assert (good.model, good.text, good.turns) == ("a", "", None)
        assert len(wrong.turns) == 3
        assert len({turn.text for turn in wrong.turns}) == 3
    assert len({check.pair for check in checks}) == 8
    write_records(tmp_path / "pairs.jsonl", checks, signature="t", kind=Pair)
    assert list(read_records(tmp_path / "pairs.jsonl", Pair)) == checks
    with pytest.raises(InputError, match="needs 9"):
        topic_checks(topics, talks(), "a", 1, 9, seed=0)
