"""Responses that name their own model are found, and only those."""

import json
import subprocess
from pathlib import Path

import pytest

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.rating.leaks import find_leaks
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Utterance
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.study import make_pairs
from tests.house.warm import SERVING, warm

ROOT = Path(__file__).resolve().parents[3]


def pair(text, model, name="p"):
    return Pair(
        name, "d:1", (Utterance("user", f"Are you {model}?"),), Candidate(text, model), Candidate("No.", "other")
    )


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("I am HRED, nice to meet you", "hred"),
        ("as a Seq2Seq attn model I", "seq2seq-attn"),
        ("(gpt-4o)", "gpt_4o"),
        ("ich bin Käthe.", "käthe"),
        ("c++ speaking", "c++"),
    ],
)
def test_a_response_that_names_its_model_is_found(text, model):
    (found,) = find_leaks([pair(text, model)])
    assert (found.pair, found.model) == ("p", model) and found.excerpt in " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "model"),
    [("a shredded carrot", "hred"), ("hredder", "hred"), ("me too", "m"), ("other words", "hred"), ("", "hred")],
)
def test_a_name_inside_a_word_or_of_another_model_or_too_short_is_not(text, model):
    assert list(find_leaks([pair(text, model)])) == []


def test_a_corpus_may_say_reference():
    """The reply of a person to "may I have the reference number?"; its "model" is called reference."""
    words = Candidate("Your reference is VY31.", "reference", None, "reference")
    one = Pair("p", "d:1", (Utterance("user", "Booked?"),), words, Candidate("No.", "hred", 0))
    assert list(find_leaks([one])) == []


def test_the_command_names_each_and_serve_warns(tmp_path, capsys):
    made = [*make_pairs(4, checks=8), pair("I am hred and I can help.", "hred", "tell-tale")]
    write_records(tmp_path / "pairs.jsonl", made, signature="test", kind=Pair)
    assert dispatch("crowd", "", COMMANDS, ["lint", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "tell-tale: a response names its model hred: I am hred and I can help." in told and "1 of the 26" in told
    command = [*warm(SERVING), "-m", "crowd", "serve", str(tmp_path), "--port", "0", "--stop-with-stdin", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.startswith(
        "warning: 1 response names its own model, e.g. in pair tell-"
    )
    assert done.stderr.rstrip().endswith(f"python -m crowd lint {tmp_path}")


def test_a_clean_study_is_told_so(tmp_path, capsys):
    write_records(tmp_path / "pairs.jsonl", make_pairs(4), signature="test", kind=Pair)
    assert dispatch("crowd", "", COMMANDS, ["lint", str(tmp_path)]) == 0
    assert "0 of the 8 responses" in capsys.readouterr().out


def test_half_a_character_is_refused_with_a_sentence(tmp_path):
    value = {
        "pair": "p",
        "item": "d:1",
        "context": [],
        "a": {"text": "\ud83d", "model": "m"},
        "b": {"text": "b", "model": "m"},
    }
    (tmp_path / "pairs.jsonl").write_text(json.dumps(value) + "\n")
    command = [*warm(SERVING), "-m", "crowd", "serve", str(tmp_path), "--port", "0", "--stop-with-stdin"]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 2 and "pairs.jsonl:1: a.text holds half a character (\\ud83d)" in done.stderr
    assert "Traceback" not in done.stderr
