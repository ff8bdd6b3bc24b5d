"""Dialogues without labels, in the forms in which people have them."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedvote.dialogue.corpora.plain_text import is_plain_text
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


def in_dataset_folder(rows, path):
    """As `Dataset.save_to_disk` lays it: a stream of Arrow batches, in a folder named like its split."""
    table = pa.Table.from_pylist(rows)
    path.parent.mkdir(parents=True)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    (path.parent / "state.json").write_text('{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}')
    (path.parent / "dataset_info.json").write_text('{"features": {}, "splits": null}')


@pytest.mark.parametrize("packing", ["arrow", "parquet"])
def test_a_folder_of_datasets_is_read_whatever_its_packing(tmp_path, packing):
    short = [{"role": "user", "content": "x", "name": "n"}, {"role": "assistant", "content": "y"}]
    rows = [{"messages": told(("user", "assistant"), "role", "content"), "id": "first"}, {"messages": short}]
    for split in ("train", "validation", "test"):
        some = [row | {"id": f"{split}-{n}"} if "id" in row else row for n, row in enumerate(rows)]
        if packing == "arrow":
            in_dataset_folder(some, tmp_path / split / "data-00000-of-00001.arrow")
        else:
            pq.write_table(pa.Table.from_pylist(some), tmp_path / f"{split}-00000-of-00001.parquet")
    corpus = read_corpus(tmp_path)
    assert {one.split for one in corpus.dialogues} == {"train", "valid", "test"} and len(corpus.dialogues) == 6
    first = next(one for one in corpus.dialogues if one.dialogue == "train-0")
    assert [(turn.speaker, turn.text) for turn in first.turns] == TEXTS
    broken = next(tmp_path.rglob("*.arrow" if packing == "arrow" else "*.parquet"))
    broken.write_bytes(broken.read_bytes()[:40])
    with pytest.raises(InputError, match=r"cannot be read as a table .* It may be cut off"):
        read_corpus(tmp_path)


@pytest.mark.slow
def test_what_the_library_datasets_saves_is_read(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = [{"id": f"d{n}", "dialog": [f"hello {n}", "yes?"]} for n in range(3)]
    parts = {
        split: datasets.Dataset.from_list(rows[n : n + 1]) for n, split in enumerate(("train", "validation", "test"))
    }
    datasets.DatasetDict(parts).save_to_disk(tmp_path / "folder")
    corpus = read_corpus(tmp_path / "folder")
    assert [(one.dialogue, one.split) for one in corpus.dialogues] == [("d2", "test"), ("d0", "train"), ("d1", "valid")]
    assert [turn.text for turn in corpus.split("train")[0].turns] == ["hello 0", "yes?"]


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


@pytest.mark.parametrize(("line", "is_one"), [
    ({"turns": ["a", "b"]}, True),
    ({"turns": ["a", "b"], "id": 1}, True),
    ({"turns": "a"}, False),
    ({"other": ["a", "b"]}, False),
    ({"dialog": [{"frames": [], "speaker": "USER", "utterance": "a"}]}, False),
    *(({"dialog": ["a", "b"], mark: ["I ski."]}, False) for mark in ("self", "partner", "personality")),
    (["a", "b"], True),
    ([{"role": "user", "content": "a"}], True),
    ([], False), ([1], False), ("a", False),
])  # fmt: skip
def test_what_counts_as_dialogues_of_text(line, is_one):
    assert is_plain_text(line) is is_one
