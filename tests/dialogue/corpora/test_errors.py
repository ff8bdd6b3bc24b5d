"""Wrong input to `python -m dialogue describe`: one clear sentence, exit code 2, no traceback."""

import gzip
import json
import subprocess
import sys
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedvote.dialogue.__main__ import COMMANDS
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch, exit_with

GOOD = json.dumps({"SNG1": {"log": [{"text": "hi", "metadata": {}}, {"text": "ho", "metadata": {}}]}}).encode()
LINE = json.dumps({"turns": ["a", "b"]}).encode()
SHARD = json.dumps([{"dialogue_id": "SNG1.json", "turns": [{"speaker": "USER"}]}]).encode()


def zipped(*names):
    def make(path):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, GOOD)

    return make


WRONG = {
    "truncated JSON": ({"data.json": GOOD[:-9]}, r"data.json is not whole JSON \(.*\). It may be cut off"),
    "wrong encoding": ({"data.json": "é".encode("latin-1")}, r"data.json is not UTF-8 text \(byte 0 is 0xe9\)"),
    "JSON nested without end": ({"data.json": b"[" * 100_000}, "data.json is not whole JSON"),
    "truncated gzip": ({"data.json.gz": gzip.compress(GOOD)[:-9]}, "data.json.gz cannot be unpacked"),
    "no xz at all": ({"data.json.xz": b"hello"}, "data.json.xz cannot be unpacked"),
    "no zip at all": ({"data.json.zip": b"hello"}, "data.json.zip is not a whole .zip file"),
    "a list that names strangers": (
        {"data.json": GOOD, "valListFile.txt": b"SNG1\nSNG7\n"},
        r"valListFile.txt names 1 dialogue\(s\) that data.json does not hold, e.g. SNG7",
    ),
    "an empty list": ({"data.json": GOOD, "testListFile.json": b"\n"}, "testListFile.json names no dialogue"),
    "a list cut off": ({"data.json": GOOD, "testListFile.json": b'["SNG1"'}, "testListFile.json is not whole JSON"),
    "an empty split": ({"val.json": b"{}", "test.json": GOOD}, "val.json holds no dialogue: an empty split"),
    "an empty split of lines": ({"valid.jsonl": b"\n", "test.jsonl": LINE}, "valid.jsonl holds no dialogue"),
    "nothing known": ({"notes.json": b"[1]", "readme.txt": b"hello"}, "holds no corpus. Known forms: MultiWOZ 2.0"),
    "nothing": ({}, "holds no corpus"),
    "two corpora": ({"data.json": GOOD, "test.jsonl": LINE}, r"holds 2 corpora at once \(multiwoz, text lines\)"),
    "a dialogue twice": ({"val.json": GOOD, "test.json": GOOD}, "dialogue SNG1 occurs 2 times"),
    "a turn without text": (
        {"data.json": b'{"SNG1": {"log": [{}]}}'},
        r"dialogue SNG1 does not have the form of MultiWOZ \(.*text",
    ),
    "a 2.2 turn without text": ({"dialogues_001.json": SHARD}, r"a dialogue does not have the form of MultiWOZ 2.2"),
    "a line cut off": ({"test.jsonl": LINE + b"\n" + LINE[:-3]}, "test.jsonl:2: not a JSON object"),
    "a line that is no object": ({"test.jsonl": LINE + b"\n1"}, r"test.jsonl:2: found '1'; every line must be"),
    "turns that are no texts": (
        {"test.jsonl": b'{"turns": [1]}'},
        "test.jsonl:1 does not have the form of dialogues as text .*a text is expected",
    ),
    "an unknown split": (
        {"a.jsonl": b'{"turns": ["a"], "split": "x"}'},
        "a.jsonl:1: split is 'x', which is not one of",
    ),
    "ParlAI without number": (
        {"train_self_original.txt": b"1 your persona: a\nx\ty"},
        "_original.txt:2: a line must beg",
    ),
    "ParlAI without answer": (
        {"train_self_original.txt": b"1 your persona: a\n2 hi"},
        "'hi' has no answer after a tab",
    ),
    "a chat without candidates": (
        {"valid.json": b'[{"personality": ["a"], "utterances": []}]'},
        r"valid.json\[0\] does not have the form of PersonaChat",
    ),
    "a broken database": ({"data.json": GOOD, "hotel_db.json": b"["}, "hotel_db.json is not whole JSON"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_clear_sentence_and_exit_code_2(tmp_path, capsys, case):
    contents, message = WRONG[case]
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    check_refused(tmp_path, capsys, message)


def check_refused(path, capsys, message):
    with pytest.raises(SystemExit) as stop:
        exit_with(lambda: dispatch("dialogue", "", COMMANDS, ["describe", str(path)]))
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1
    with pytest.raises(InputError, match=message):
        read_corpus(path)


@pytest.mark.parametrize(
    "name", ["../data.json", "/tmp/data.json", "a/../../data.json", "..\\data.json", "C:\\data.json"]
)
def test_a_zip_with_a_path_outside_itself_is_refused(tmp_path, capsys, name):
    path = tmp_path / "corpus.zip"
    zipped(name, "data.json")(path)
    check_refused(path, capsys, "corpus.zip holds .* a path outside the archive, so it was not read")


def test_a_zip_that_needs_a_password_or_is_damaged_inside_is_refused(tmp_path, capsys):
    path = tmp_path / "corpus.zip"
    zipped("data.json")(path)
    content = bytearray(path.read_bytes())
    content[content.index(GOOD) + 5] ^= 1
    path.write_bytes(content)
    check_refused(path, capsys, r"corpus.zip:data.json cannot be unpacked \(Bad CRC-32")


def test_a_path_that_is_not_there(tmp_path, capsys):
    check_refused(tmp_path / "none", capsys, "none is not there. Give a corpus.*, or make one: python -m dialogue toy ")
    check_refused(tmp_path / "none.zip", capsys, r"none.zip is not there. Give a corpus: .* \.xz file\.$")


@pytest.mark.parametrize("name", ["data.json", "data.json.gz", "corpus.zip"])
def test_a_file_that_may_not_be_read_is_not_called_broken(tmp_path, monkeypatch, capsys, name):
    path = tmp_path / name
    path.write_bytes(GOOD)

    def closed(*_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("seedvote.dialogue.corpora.sources.Path.read_bytes", closed)
    monkeypatch.setattr("seedvote.dialogue.corpora.sources.zipfile.ZipFile", closed)
    with pytest.raises(SystemExit):
        exit_with(lambda: dispatch("dialogue", "", COMMANDS, ["describe", str(path)]))
    assert capsys.readouterr().err.startswith(f"error: {path} cannot be used: Permission denied. ")


def test_the_same_through_the_real_command_line(tmp_path, pytestconfig):
    (tmp_path / "data.json").write_bytes(GOOD[:-9])
    command = [sys.executable, "-m", "dialogue", "describe", str(tmp_path)]
    done = subprocess.run(command, cwd=pytestconfig.rootpath, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and "Traceback" not in done.stderr


def test_a_split_that_does_not_exist_is_named(tmp_path):
    (tmp_path / "data.json").write_bytes(GOOD)
    with pytest.raises(InputError, match="'dev' is not a split; these are: train, valid, test"):
        read_corpus(tmp_path).split("dev")


# Good documents of every form; the property below replaces any one part of them.
USER = {"text": "hi", "metadata": {}, "dialog_act": {"Hotel-Inform": [["Area", "north"]]}}
SYSTEM = {"text": "ho", "metadata": {"hotel": {"book": {"booked": []}, "semi": {"area": "north"}}}, "dialog_act": {}}
STATE = {"slot_values": {"hotel-area": ["north"]}}
TURN = {"turn_id": "0", "speaker": "USER", "utterance": "hi", "frames": [{"state": STATE}]}
DOCUMENTS = {
    "data.json": {"SNG1": {"log": [USER, SYSTEM]}},
    "dialogues_001.json": [{"dialogue_id": "SNG1.json", "turns": [TURN]}],
    "train.json": {"train": [{"personality": ["a"], "utterances": [{"history": ["a"], "candidates": ["b", "c"]}]}]},
    "valid.jsonl": {"partner": ["a"], "self": ["b"], "turns": ["c", "d"]},
    "test.jsonl": {"split": "test", "id": "SNG1", "turns": ["a", "b"]},
}
SIDE_FILES = {
    "dialogue_acts.json": {"SNG1": {"1": {"Hotel-Request": [["Area", "?"]]}}},
    "dialog_acts.json": {"SNG1.json": {"0": {"dialog_act": {"Hotel-Inform": [["Area", "north"]]}}}},
}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
)


def places(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from places(part, (*path, key))


def replaced(value, path, by):
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], by)
    return copy


@settings(deadline=None)
@given(data=st.data(), by=ANYTHING, name=st.sampled_from(sorted(DOCUMENTS)), beside=st.sampled_from(sorted(SIDE_FILES)))
def test_with_any_part_replaced_a_corpus_is_read_or_refused_in_a_sentence(tmp_path_factory, data, by, name, beside):
    folder = tmp_path_factory.mktemp("corpus")
    contents = {name: DOCUMENTS[name], beside: SIDE_FILES[beside]}
    harmed = data.draw(st.sampled_from(sorted(contents)))
    path = data.draw(st.sampled_from(list(places(contents[harmed]))))
    contents[harmed] = replaced(contents[harmed], path, by)
    for file, content in contents.items():
        (folder / file).write_text(json.dumps(content))
    try:
        corpus = read_corpus(folder)
    except InputError as error:
        assert "\n" not in str(error)
    else:
        for turn in (turn for dialogue in corpus.dialogues for turn in dialogue.turns):
            assert isinstance(turn.text, str)
            assert all(isinstance(value, str) for value in (turn.belief or {}).values())
            assert all(isinstance(part, str) for pairs in (turn.acts or {}).values() for pair in pairs for part in pair)
