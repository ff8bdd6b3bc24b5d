"""Record files: whole or absent, every complaint a sentence."""

import errno
import json
import os

import pytest

from dialogue.__main__ import COMMANDS
from dialogue.command_line import dispatch, exit_with
from dialogue.commands.format import format_document
from dialogue.errors import InputError, unusable
from dialogue.files import (
    as_json,
    atomic,
    clear_halves,
    read_header,
    read_json,
    read_records,
    temporary_name,
    write_json,
    write_records,
)
from dialogue.records import Candidate, Pair, Utterance, Vote

PAIR = Pair(
    pair="p1",
    item="d1:1",
    context=(Utterance("user", "a <unk> & 'tea' \u2028?"),),
    a=Candidate("yes .", "seq2seq", 0, "last"),
    b=Candidate("no .", "seq2seq", 1, "last"),
    extra={"colour": "red"},
)


def line(path, **changes):
    vote = {"pair": "p1", "rater": "r1", "choice": "tie", "round": 1} | changes
    path.write_text(json.dumps({k: v for k, v in vote.items() if v is not ...}) + "\n", encoding="utf-8")
    return path


def test_records_come_back_as_they_were_with_unknown_fields_kept(tmp_path):
    path = tmp_path / "pairs.jsonl"
    write_records(path, [PAIR], signature="pairs:1|v:0", kind=Pair)
    assert read_records(path, Pair) == [PAIR]
    assert read_header(path) == {"format": "pairs", "version": 1, "signature": "pairs:1|v:0"}
    assert json.loads(path.read_text().split("\n")[1])["colour"] == "red"
    assert as_json(PAIR)["colour"] == "red"


def test_a_file_without_header_is_read_and_says_so(tmp_path):
    path = line(tmp_path / "votes.jsonl")
    assert read_header(path) == {}
    assert read_records(path, Vote)[0].counted


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"choice": "left"}, r"votes.jsonl:1: choice is 'left', which is not one of a, b, tie. .*--values a=left"),
        ({"round": "one"}, "round is 'one', which is not a whole number"),
        ({"round": True}, "round is True, which is not a whole number"),
        ({"rater": ...}, "rater missing; a vote needs it. Found: pair, choice, round"),
        ({"seconds": "x"}, "seconds is 'x', which is not a number"),
    ],
)
def test_a_bad_line_is_one_clear_sentence(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        read_records(line(tmp_path / "votes.jsonl", **changes), Vote)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"pair": "p1", "ra', "votes.jsonl:1: not a JSON object .* cut off"),
        (b"[1]\n", r"found \[1\]; every line must be a JSON object"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b'{"format": "pairs", "version": 1}\n', "a file of pairs was given where votes are expected"),
        (b'{"format": "votes", "version": 9}\n', "version 9 is not supported"),
    ],
)
def test_a_file_that_is_something_else_is_refused(tmp_path, content, message):
    path = tmp_path / "votes.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_records(path, Vote)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none.jsonl cannot be read: No such file"):
        read_records(tmp_path / "none.jsonl", Vote)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic(path) as handle:
        handle.write("new")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_the_system_refuses_is_told_of_the_file_that_people_know(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as refused, atomic(tmp_path / "folder") as handle:
        handle.write("new")
    assert refused.value.filename == str(tmp_path / "folder")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("dialogue.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left") as refused, atomic(tmp_path / "file.txt") as handle:
        handle.write("new")
    assert refused.value.filename == str(tmp_path / "file.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    ("number", "step"),
    [
        (errno.EACCES, "Permission denied. Name a place that you may use, or change its permissions."),
        (errno.ENOSPC, "No space left on device. Make room and run the same command again to go on."),
        (errno.ENOTDIR, "Not a directory. Check the path."),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence_with_the_next_step(number, step, capsys):
    def refused():
        raise OSError(number, os.strerror(number), "runs/votes.jsonl")

    with pytest.raises(SystemExit) as stop:
        exit_with(refused)
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"error: runs/votes.jsonl cannot be used: {step}\n"


def test_docs_format_is_current(pytestconfig, capsys):
    current = (pytestconfig.rootpath / "docs" / "format.md").read_text(encoding="utf-8")
    assert current == format_document(), "run: python -m dialogue format > docs/format.md"
    assert dispatch("dialogue", "", COMMANDS, ["format"]) == 0
    document, for_people = capsys.readouterr()
    assert document == current and for_people.startswith("Next: python -m dialogue ")


def test_a_disk_that_is_full_is_said_with_the_name_of_the_file(tmp_path, monkeypatch):
    path = tmp_path / "old.json"
    write_json(path, {"kept": True})

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("dialogue.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_json(path, {"kept": False})
    assert unusable(caught.value) == (
        f"{path} cannot be used: No space left on device. Make room and run the same command again to go on."
    )
    assert list(tmp_path.iterdir()) == [path]
    assert read_json(path) == {"kept": True}


def test_what_killed_attempts_left_is_cleared_and_nothing_else(tmp_path):
    path, others = (
        tmp_path / "a[1].npy",
        [tmp_path / ".a1.npy.host.7.tmp", tmp_path / "a[1].npy", tmp_path / ".b.7.tmp"],
    )
    halves = [tmp_path / ".a[1].npy.host.7.tmp", temporary_name(path)]
    for file in [*others, *halves]:
        file.touch()
    clear_halves(path)
    assert sorted(tmp_path.iterdir()) == sorted(others)
