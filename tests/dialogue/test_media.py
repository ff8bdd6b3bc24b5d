"""Parts of texts, and the files that they name: read as people write them, known by what they hold, kept inside."""

import base64
import dataclasses
import json
import os

import pytest

from seedvote.dialogue import media
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.importing.answer_rows import read_answer_rows
from seedvote.dialogue.parts import parts_from
from seedvote.dialogue.records import Candidate, Pair, Part, Utterance

PNG = b"\x89PNG\r\n\x1a\n" + b"." * 40


def record(*parts):
    return Pair("p", "d:1", (), Candidate("x", "m", parts=parts), Candidate("y", "m"))


def test_text_may_be_a_list_of_parts_and_keeps_its_words(tmp_path):
    text = [
        "Look:",
        {"type": "image", "file": "gpt/a.png", "alt": "a map"},
        {"type": "tool_call", "name": "f", "arguments": "{}"},
    ]
    row = {"pair": "p", "item": "d:1", "context": [{"speaker": "u", "text": text}], "a": {"text": text, "model": "m"},
           "b": {"text": "plain", "model": "n"}}  # fmt: skip
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    (pair,) = read_records(path, Pair)
    assert pair.a.text == pair.context[0].text == "Look:\n[image: a map]\n[tool call: f({})]"  # and no name of a file
    assert pair.a.parts[1] == Part("image", file="gpt/a.png", alt="a map") and pair.b.parts is None
    write_records(path, [pair], signature="test", kind=Pair)
    assert read_records(path, Pair) == [pair]
    assert '"parts"' not in path.read_text(encoding="utf-8").split('"b": ')[1]


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"type": "image_url", "image_url": {"url": "a.png"}}, {"type": "image", "file": "a.png"}),
        ({"type": "input_image", "image_url": "a.png"}, {"type": "image", "file": "a.png"}),
        ({"type": "image", "image": "a.png"}, {"type": "image", "file": "a.png"}),
        ({"type": "video", "video": "a.mp4", "format": "mp4"}, {"type": "video", "file": "a.mp4"}),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
         {"type": "image", "file": "data:image/png;base64,AA=="}),
        ({"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
         {"type": "audio", "file": "data:;base64,AA=="}),
        ({"type": "output_text", "text": "hi", "annotations": []}, {"type": "text", "text": "hi"}),
        ({"type": "tool_use", "name": "f", "input": {"x": 1}},
         {"type": "tool_call", "name": "f", "arguments": '{"x": 1}'}),
        ({"type": "function", "function": {"name": "f", "arguments": "{}"}},
         {"type": "tool_call", "name": "f", "arguments": "{}"}),
        ({"type": "tool_result", "content": [{"type": "text", "text": "3"}]}, {"type": "tool_result", "text": "3"}),
    ],
)  # fmt: skip
def test_parts_of_other_tools_are_read_as_ours(value, part):
    assert parts_from([value], "x") == (part,)


def test_what_a_model_wrote_for_itself_is_no_part():
    assert parts_from([{"type": "reasoning", "reasoning": "hm"}, "yes"], "x") == ({"type": "text", "text": "yes"},)
    with pytest.raises(InputError, match="is not one of text, image, audio"):
        parts_from([{"type": "hologram"}], "x")


@pytest.mark.parametrize(
    ("name", "content", "part", "says"),
    [
        ("a.png", None, "image", "a.png cannot be read"),
        ("a.png", b"%PDF-1.7", "image", "not PNG, JPEG, GIF, WebP or AVIF"),
        ("a.png", b"<?xml version='1.0'?>\n<svg xmlns='...'>", "image", "is SVG, which can hold a script"),
        ("a.png", b"<script>alert(1)</script>", "image", "not PNG"),
        ("a.wav", PNG, "audio", "not WAV"),
        ("a.png", b"", "image", "not PNG"),
        ("../a.png", PNG, "image", "leads out of the folder"),
        ("/etc/hostname", None, "image", "leads out of the folder"),
        ("..\\a.png", None, "image", "leads out of the folder"),
        ("https://x.org/a.png", None, "image", "loads? nothing from elsewhere"),
        ("link/secret.png", None, "image", "leads out of the folder"),
        (".", None, "image", "leads out of the folder"),
        ("folder", None, "image", "is no file"),
    ],
)
def test_file_that_may_not_be_shown_is_refused_with_its_line(tmp_path, name, content, part, says):
    study, outside = tmp_path / "study", tmp_path / "outside"
    for folder in (study, outside, study / "folder"):
        folder.mkdir()
    (outside / "secret.png").write_bytes(PNG)
    (study / "link").symlink_to(outside)
    if content is not None:
        (study / name).write_bytes(content)
    with pytest.raises(InputError, match=f"pairs.jsonl:7: .*{says}"):
        media.with_hashes(record(Part(part, file=name)), study, "pairs.jsonl:7")


def test_names_and_contents_that_browsers_would_stumble_over(tmp_path):
    for name in ("gpt:1.png", "a b ü😀.png", "%2e%2e.png", "-rf.png", "a?b#c.png"):
        (tmp_path / name).write_bytes(PNG)
        assert media.read_media(tmp_path, name, "image").kind == "image/png"
    with pytest.raises(InputError, match=r"ud800.png' is half a character"):
        media.read_media(tmp_path, "\ud800.png", "image")
    words = "WEBVTT\n\n00:00.000 --> 00:01.000\nGrüße"
    for content, says in ((words.encode("latin-1"), "is no UTF-8"), (words.encode("utf-16"), "is not WebVTT")):
        (tmp_path / "a.vtt").write_bytes(content)
        with pytest.raises(InputError, match=says):
            media.read_media(tmp_path, "a.vtt", "captions")
    assert media.kind_of(b"WEBVTTX", "captions") == media.kind_of(b"\0\0\0\x18ftypheic", "video") == ""
    matroska = b"\x1aE\xdf\xa3\x9fB\x86\x81\x01B\xf7\x81\x01B\xf2\x81\x04B\xf3\x81\x08B\x82"
    assert media.kind_of(matroska + b"\x88matroska", "video") == ""  # Firefox plays none
    assert media.kind_of(matroska + b"\x84webm", "video") == "video/webm"


def test_field_of_a_user_that_looks_like_a_part_is_none():
    body = {"pair": "p", "note": {"type": "image", "sha256": "x", "url": "../y"}, "a": {"parts": [
        {"type": "image", "file": "a.png", "sha256": "y"}]}}  # fmt: skip
    assert list(media.media_in_body(json.dumps(body))) == [("a.png", "image", "y")]


def test_large_file_is_refused(tmp_path):
    with (tmp_path / "a.png").open("wb") as file:
        file.write(PNG)
        file.truncate(media.LARGEST["image"] + 1)  # a file of holes takes no room
    with pytest.raises(InputError, match=r"10.0 MB; image may have 10"):
        media.read_media(tmp_path, "a.png", "image")


def test_hash_follows_the_content_and_not_the_name(tmp_path):
    for name in ("a.png", "b.jpg"):
        (tmp_path / name).write_bytes(PNG)
    one, two = (media.with_hashes(record(Part("image", file=name)), tmp_path, "x") for name in ("a.png", "b.jpg"))
    assert one.a.parts[0].sha256 == two.a.parts[0].sha256 != ""
    assert media.read_media(tmp_path, "b.jpg", "image").kind == "image/png"
    before, state = media.read_media(tmp_path, "a.png", "image"), (tmp_path / "a.png").stat()
    (tmp_path / "a.png").write_bytes(PNG[:-1] + b"!")
    os.utime(tmp_path / "a.png", ns=(state.st_atime_ns, state.st_mtime_ns))  # of the same size and time, as copies are
    assert media.read_media(tmp_path, "a.png", "image").sha256 != before.sha256
    plain = record(Part("text", "words"))
    assert media.with_hashes(plain, tmp_path, "x") is not None and media.with_hashes(Candidate("x", "m"), tmp_path, "x")


def test_images_of_chat_messages_come_into_the_study(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "cat.png").write_bytes(PNG)
    address = "data:image/png;base64," + base64.b64encode(PNG + b"2").decode()
    messages = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": "cat.png"}}],
        },
        {"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": address}}]},
    ]
    path = tmp_path / "in" / "ours.jsonl"
    path.write_text(json.dumps({"id": "1", "messages": messages}), encoding="utf-8")
    (row,), _ = read_answer_rows(path)
    assert row.context[0].text == "What?\n[image]" and row.text == "[image]"
    pair = Pair("p", "1:1", row.context, Candidate(row.text, "m", parts=row.parts), Candidate("no", "n"))
    brought = media.bring_files(pair, tmp_path / "study")
    names = [name for name, _, _ in media.media_of(brought)]
    assert len(set(names)) == 2 and all(name.startswith("media/") and name.endswith(".png") for name in names)
    assert (
        media.with_hashes(brought, tmp_path / "study", "x").context
        == media.with_hashes(dataclasses.replace(brought), tmp_path / "study", "y").context
    )
    messages[0]["content"][1]["image_url"]["url"] = "https://x.org/cat.png"
    path.write_text(json.dumps({"id": "1", "messages": messages}), encoding="utf-8")
    with pytest.raises(InputError, match=r"ours.jsonl:1: https://x.org/cat.png is an address"):
        read_answer_rows(path)


def test_contexts_of_words_alone_stay_what_they_are():
    assert Utterance("user", "Hi.").parts is None
    assert list(media.media_in_body('{"context": [{"text": "x", "parts": [{"type": "text", "text": "y"}]}]}')) == []
