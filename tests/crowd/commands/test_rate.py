"""From the answers of two systems to a page and links: what is written, what is refused, and that `Next` runs."""

import json
import re
import shlex

import pytest

from seedvote.crowd.study_folder import hit_of, prepare_study
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Pair
from seedvote.dialogue.shell.command_line import dispatch
from tests.house.doc_blocks import parse
from tests.house.typed import typed


@pytest.fixture
def files(tmp_path):
    for who in ("ours", "theirs"):
        rows = [{"prompt": f"Question {k}?", "response": f"{who} says at length that {k} is right"} for k in range(9)]
        (tmp_path / f"{who}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [tmp_path / "ours.jsonl", f"others={tmp_path / 'theirs.jsonl'}"]


def test_it_writes_a_study_that_the_server_takes(files, tmp_path):
    study = tmp_path / "study"
    done = typed("crowd", "rate", *files, "--out", study, "--prepare")
    assert done.returncode == 0, done.stderr
    assert "Read: answers of ours, others to 9 contexts." in done.stdout
    assert f"{study}: 9 pairs (0 with the same text) and 8 hidden checks." in done.stdout
    kinds = [pair.kind for pair in read_records(study / "pairs.jsonl", Pair)]
    assert (kinds.count("real"), kinds.count("check")) == (9, 8)
    prepare_study(study, None, hit_of(study, None, None), None, seed=0, simulated=False, tell=print)
    following = re.search(r"^Next: (.*)$", done.stdout, re.M)[1]
    assert parse(following).invite == 5 and "0.0.0.0" not in following
    again = typed("crowd", "rate", *files, "--out", study, "--prepare")
    assert again.returncode == 0 and again.stdout == done.stdout


def test_another_study_in_the_same_folder_is_refused(files, tmp_path):
    typed("crowd", "rate", *files, "--out", tmp_path / "study", "--prepare")
    other = typed("crowd", "rate", *files, "--out", tmp_path / "study", "--prepare", "--checks", 2)
    assert other.returncode == 2 and "holds other pairs. Name another study: --out" in other.stderr


@pytest.mark.parametrize("words", [["--systems", "a,b"], ["--good", "ours"]])
def test_options_of_one_table_are_refused_for_several_files(files, tmp_path, words):
    done = typed("crowd", "rate", *files, "--out", tmp_path / "study", "--prepare", *words)
    assert done.returncode == 2 and f"{words[0]} is for one table" in done.stderr


def test_the_next_command_of_pairs_from_is_one_that_the_server_takes(tmp_path):
    """Without a single check: the rules that come with the pairs say so."""
    table = tmp_path / "answers.csv"
    table.write_text("id,user,ours,theirs\nq1,Is it open?,Yes it is.,No.\nq2,How far?,A mile.,Far.\n")
    done = typed("crowd", "pairs-from", table, "--out", tmp_path / "study" / "pairs.jsonl")
    assert done.returncode == 0, done.stderr
    words = shlex.split(re.search(r"^Next: (.*)$", done.stdout, re.M)[1])
    assert words[:4] == ["python", "-m", "crowd", "serve"]
    study = tmp_path / "study"
    prepare_study(study, None, hit_of(study, None, None), None, seed=0, simulated=False, tell=print)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (
            [{"prompt": f"Where is {n}?", "response": f"There, {n}."} for n in range(9)],
            "the same answer to every prompt",
        ),
        ([{"prompt": f"Where is {n}?", "response": ""} for n in range(9)], "theirs.jsonl holds prompts and no answer"),
        ([{"custom_id": str(n), "response": "Here."} for n in range(9)], "the id '0' alone says what was asked"),
    ],
    ids=["same", "empty", "ids"],
)
def test_answers_that_nobody_can_compare_are_refused(other, sentence, tmp_path):
    ours = [{"prompt": f"Where is {n}?", "response": f"There, {n}."} for n in range(9)]
    for name, rows in (("ours", ours), ("theirs", other)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["rate", str(tmp_path / "ours.jsonl"), str(tmp_path / "theirs.jsonl"), "--out", str(tmp_path / "study")]
    with pytest.raises(InputError, match=sentence):
        dispatch("crowd", "", {"rate": ""}, [*words, "--prepare"])
    assert not (tmp_path / "study").exists()
