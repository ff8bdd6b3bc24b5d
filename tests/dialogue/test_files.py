"""Record files: whole or absent, every complaint a sentence."""

import dataclasses
import errno
import json
import os
import re
import socket
import stat
import threading

import pytest

from seedvote.dialogue.__main__ import COMMANDS
from seedvote.dialogue.commands.format import format_document
from seedvote.dialogue.errors import InputError, unusable
from seedvote.dialogue.files import (
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
from seedvote.dialogue.records import Candidate, Pair, Response, Utterance, Vote
from seedvote.dialogue.shell.command_line import dispatch, exit_with
from seedvote.dialogue.validity import FORMATS, singular

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


def test_record_as_json_leaves_out_empty_values_only():
    """Against the slow way through dataclasses.asdict."""
    odd = dataclasses.replace(PAIR, extra={"colour": {"hue": [1, 0.5, None, True]}})
    told = Response("d1:1", "m", 0, "last", "yes .", -1.5, state={"hotel": {"area": "north"}}, domains=("hotel",))
    for record in (PAIR, odd, told, dataclasses.replace(told, state=None, domains=None)):
        found, slow = as_json(record), dataclasses.asdict(record)
        extra = slow.pop("extra")
        assert not any(slow[name] for name in slow.keys() - found.keys())
        for part in (slow.get("a", {}), slow.get("b", {})):
            assert not any(part.pop(name) for name in ("turns", "speaker", "parts") if part)  # of conversations
        assert not any(line.pop("parts") for line in slow.get("context", ()))
        same = {name: value for name, value in slow.items() if name in found}
        assert json.loads(json.dumps(found)) == json.loads(json.dumps({**extra, **same}))


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
        ({"seconds": 10**400}, "seconds is 1000.*, which is not a number"),
    ],
)
def test_a_bad_line_is_one_clear_sentence(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        read_records(line(tmp_path / "votes.jsonl", **changes), Vote)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"pair": "p1", "ra', "votes.jsonl:1: not a JSON object .* cut off"),
        (b"pair,rater\np1,r1\n", "votes.jsonl:1: not a JSON object .* Every line must be one"),
        (b'{"pair": ' + b"[" * 100_000, "votes.jsonl:1: .* nested too deeply"),
        (b'{"format": "votes", "version": 1}\n{"pair": "\xe9"}\n', "votes.jsonl:2: not UTF-8"),
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

    monkeypatch.setattr("seedvote.dialogue.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left") as refused, atomic(tmp_path / "file.txt") as handle:
        handle.write("new")
    assert refused.value.filename == str(tmp_path / "file.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def special(kind, path):
    """Something that is not a regular file, without the rights that a device node would need."""
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    elif kind == "folder":
        path.mkdir()
    elif kind == "link to itself":
        path.symlink_to(path)
    return path


@pytest.mark.parametrize("kind", ["socket", "folder", "link to itself"])
def test_what_is_no_regular_file_is_never_replaced(tmp_path, kind):
    path = special(kind, tmp_path / "x")
    before = path.lstat()
    with pytest.raises(OSError, match=re.escape(str(path))), atomic(path) as handle:
        handle.write("new")
    assert (path.lstat().st_mode, path.lstat().st_ino) == (before.st_mode, before.st_ino)
    assert list(tmp_path.iterdir()) == [path]


def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    before = os.lstat("/dev/null")
    for mode, text in (("w", "text"), ("wb", b"bytes")):
        with atomic("/dev/null", mode) as handle:
            handle.write(text)
    write_json("/dev/null", {})
    assert os.lstat("/dev/null").st_ino == before.st_ino and stat.S_ISCHR(os.lstat("/dev/null").st_mode)
    with pytest.raises(OSError, match=r"No space left.*'/dev/full'"):
        write_json("/dev/full", {})
    assert stat.S_ISCHR(os.lstat("/dev/full").st_mode)


def test_a_pipe_gets_what_is_written_and_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_json(tmp_path / "pipe", {"a": 1})
    reader.join()
    assert json.loads(read[0]) == {"a": 1} and stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)


def test_a_link_stays_a_link_and_what_it_leads_to_is_replaced_or_made(tmp_path):
    (tmp_path / "far").mkdir()
    for name in ("there", "not yet"):
        link, target = tmp_path / f"link {name}", tmp_path / "far" / name
        if name == "there":
            target.write_text("old")
        link.symlink_to(target)
        write_json(link, {"new": True})
        assert link.is_symlink() and not target.is_symlink() and read_json(target) == {"new": True}


@pytest.mark.parametrize(
    ("at", "where"),
    [
        ("text", r"1: b\.text"),
        ("context", r"1: context\[0\]\.text"),
        ("extra", r"1: colour"),
        ("pair", r"1: pair"),
    ],
)
def test_half_a_character_is_named_with_its_line_and_field(tmp_path, at, where):
    value = as_json(PAIR)
    if at == "text":
        value["b"]["text"] = "so \ud83d half"
    elif at == "context":
        value["context"][0]["text"] = "\udc00"
    else:
        value["colour" if at == "extra" else "pair"] = "\ud800"
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(value) + "\n")
    with pytest.raises(InputError, match=rf"pairs\.jsonl:{where} holds half a character \(\\u(d83d|dc00|d800)\)"):
        read_records(path, Pair)


def test_whole_characters_and_spelled_out_escapes_are_no_halves(tmp_path):
    path = tmp_path / "pairs.jsonl"
    pair = dataclasses.replace(PAIR, a=Candidate("\U0001f600 and \\ud83d", "m"))
    path.write_text(json.dumps(as_json(pair)) + "\n")  # the emoji as two escapes
    assert read_records(path, Pair) == [pair]


def test_half_a_character_is_not_written_either(tmp_path):
    half = dataclasses.replace(PAIR, a=Candidate("\ud83d", "m"))
    with pytest.raises(InputError, match=r"pairs, record 2 holds half a character \(\\ud83d\)"):
        write_records(tmp_path / "pairs.jsonl", [PAIR, half], signature="x", kind=Pair)
    assert not list(tmp_path.iterdir())


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

    monkeypatch.setattr("seedvote.dialogue.files.os.fsync", full)
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


def test_every_example_of_docs_format_is_read_as_it_stands_there(tmp_path, pytestconfig):
    text = (pytestconfig.rootpath / "docs" / "format.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^## (\w+)[^\n]*\n(?:(?!^## )[^\n]*\n)*?```json\n(.*?)```", text, re.M | re.S))
    assert set(shown) == {singular(kind) for kind in FORMATS}
    for kind in FORMATS:
        value = json.loads(shown[singular(kind)])
        path = tmp_path / f"{FORMATS[kind]}.jsonl"
        path.write_text(json.dumps(value) + "\n", encoding="utf-8")
        (record,) = read_records(path, kind)
        assert not record.extra and value.items() <= json.loads(json.dumps(as_json(record))).items()
