"""Dialogues without labels, in the forms in which people have them."""

import json

import pytest

from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError

TEXTS = [("user", "hello"), ("system", "yes?"), ("user", "a [bold] word"), ("system", "bye")]


def told(speakers, name, content):
    return [{name: speakers[role == "system"], content: text} for role, text in TEXTS]


FORMS = {
    "messages": {"messages": told(("user", "assistant"), "role", "content")},
    "share gpt": {"conversations": told(("human", "gpt"), "from", "value")},
    "speaker and text": {"turns": told(("USER", "SYSTEM"), "speaker", "text")},
    "names": {"dialogue": told(("Ann", "Bob"), "speaker", "utterance")},
    "one name is known": {"dialog": told(("Ann", "Agent"), "name", "text")},
    "a list of objects": told(("user", "assistant"), "role", "content"),
    "a list of texts": [text for _, text in TEXTS],
}


@pytest.mark.parametrize("packing", ["lines", "document"])
@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_same_dialogues(tmp_path, form, packing):
    rows = [FORMS[form], FORMS[form]]
    if isinstance(rows[0], dict):
        rows = [{**rows[0], "id": "first"}, rows[1]]
    path = tmp_path / ("test.jsonl" if packing == "lines" else "test.json")
    path.write_text("\n".join(map(json.dumps, rows)) if packing == "lines" else json.dumps(rows))
    corpus = read_corpus(path)
    names = ["first" if isinstance(rows[0], dict) else "test-0", "test-1"]
    assert [one.dialogue for one in corpus.dialogues] == names and corpus.version == "text"
    for one in corpus.dialogues:
        assert one.split == "test" and [turn.speaker for turn in one.turns] == [speaker for speaker, _ in TEXTS]
        expected = [text.replace("[", "").replace("]", "") if "texts" in form else text for _, text in TEXTS]
        assert [turn.text for turn in one.turns] == expected


def test_what_an_operator_or_a_tool_says_is_no_turn_and_is_counted(tmp_path):
    roles = ["system", "user", "assistant", "tool", "assistant"]
    messages = [{"role": role, "content": f"{role} {n}"} for n, role in enumerate(roles)]
    (tmp_path / "train.jsonl").write_text(json.dumps({"messages": messages}))
    corpus = read_corpus(tmp_path / "train.jsonl")
    assert [(turn.speaker, turn.text) for turn in corpus.dialogues[0].turns] == [
        ("user", "user 1"), ("system", "assistant 2"), ("system", "assistant 4"),
    ]  # fmt: skip
    assert corpus.version == "text, 2 messages of operators and tools left out"


@pytest.mark.parametrize(("turns", "sentence"), [
    ([{"role": "user", "content": "a"}, {"role": "assistant", "content": None}], "a text is expected, found 'None'"),
    ([{"speaker": name, "text": "a"} for name in ("Ann", "Bob", "Cy")], r"a third speaker, 'Cy', after 'Ann', 'Bob'"),
    ([{"speaker": "Ann", "text": "a"}, "b"], "does not have the form of dialogues as text"),
])  # fmt: skip
def test_what_is_no_dialogue_of_two_is_refused_with_its_place(tmp_path, turns, sentence):
    good = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, [good, {"messages": turns}])))
    with pytest.raises(InputError, match=f"train.jsonl:2.*{sentence}"):
        read_corpus(tmp_path / "train.jsonl")
