"""A study's pairs from a table of answers: the tutorial's form and other people's."""

import csv
import json

import pandas as pd
import pytest

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.exchange.answer_tables import answer_table, sets_from_answers
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Candidate, Pair, ResponseSet, Utterance
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.dialogue.tables.reading import read_table

ROWS = [
    {"id": "q1", "kind": "real", "user": "Hi, you?", "ours": "Fine.", "theirs": "I am\nfine."},
    {"id": "q2", "kind": "real", "user": "Bye", "ours": "Bye!", "theirs": "Bye!"},
    {"id": "c1", "kind": "check", "user": "Open?", "ours": "Yes, till six.", "theirs": "six till yes"},
]


def written(path, rows):
    if path.suffix == ".xlsx":
        pd.DataFrame(rows).to_excel(path, index=False)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        with path.open("w", newline="") as handle:
            table = csv.DictWriter(handle, rows[0], delimiter=";")
            table.writeheader()
            table.writerows(rows)
    return path


def pairs(folder, rows, *options, name="answers.csv"):
    out = folder / "study" / "pairs.jsonl"
    out.unlink(missing_ok=True)
    file = written(folder / name, rows)
    assert dispatch("crowd", "", COMMANDS, ["pairs-from", str(file), "--out", str(out), *options]) == 0
    return read_records(out, Pair)


@pytest.mark.parametrize("name", ["answers.csv", "answers.xlsx", "answers.json"])
def test_one_row_a_context_in_any_form(tmp_path, name, capsys):
    made = pairs(tmp_path, ROWS, "--good", "ours", name=name)
    assert made[0] == Pair(
        pair="q1", item="q1:1", dialogue="q1", context=(Utterance("user", "Hi, you?"),), contrast="ours-theirs",
        a=Candidate("Fine.", "ours"), b=Candidate("I am\nfine.", "theirs"),
    )  # fmt: skip
    assert [(one.kind, one.answer, one.identical) for one in made[1:]] == [("real", None, True), ("check", "a", False)]
    said = capsys.readouterr().out
    assert "Read as: answers of ours, theirs (id=id, context=user, kind=kind)." in said
    assert "3 pairs from 3 contexts (2 real, 1 check; 1 with the same text)" in said


def test_one_row_an_answer_and_three_systems(tmp_path):
    talk = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "?"},
    ]
    rows = [{"item": f"d{k}", "prompt": talk, "model": model, "response": f"{model} {k}"}
            for k in range(2) for model in ("x", "y", "z")]  # fmt: skip
    made = pairs(tmp_path, rows, name="long.json")
    assert [one.pair for one in made[:3]] == ["d0|x|y", "d0|x|z", "d0|y|z"] and len(made) == 6
    assert made[0].item == "d0:3" and [one.speaker for one in made[0].context] == ["user", "system", "user"]
    assert [one.contrast for one in pairs(tmp_path, rows, "--systems", "x,z", name="long.json")] == ["x-z"] * 2


def changed(row, **more):
    return [{**one, **(more if number == row else {})} for number, one in enumerate(ROWS)]


@pytest.mark.parametrize(
    ("rows", "options", "sentence"),
    [
        (ROWS, [], r"answers.csv:5: a check needs its right answer .* --good ours"),
        (ROWS, ["--good", "mine"], "--good is 'mine', which is not one of ours, theirs"),
        (changed(1, id="q1"), ["--good", "ours"], r"answers.csv:4: id 'q1' a second time, after .*answers.csv:3"),
        (changed(0, ours=" "), ["--good", "ours"], r"answers.csv:3: ours is empty"),
        (changed(0, user=""), ["--good", "ours"], "user is empty; a rater must see"),
        (changed(0, kind="chat"), ["--good", "ours"], r"kind is 'chat'.*--columns kind=-"),
        ([{**one, "note": "x"} for one in ROWS], [], r"Candidates: ours, theirs, note\.[\s\S]*--systems ours,theirs"),
        (ROWS, ["--systems", "ours,nobody"], "no column 'nobody'"),
        ([{"prompt": "Hi", "response": "a"}], [], "the answers of one system at most .* Give a second file"),
        ([{"ours": "a", "theirs": "b"}], [], "no column for context"),
        ([{"prompt": "Hi", "system": "ours", "text": "a"}], [], "no column for id"),
        (ROWS, ["--columns", "user=x"], "'user', which is not one of id, context"),
    ],
)
def test_a_table_that_lacks_something_is_refused_in_a_sentence(tmp_path, rows, options, sentence):
    with pytest.raises(InputError, match=sentence):
        pairs(tmp_path, rows, *options)
    assert not (tmp_path / "study").exists()


def test_rows_without_an_id_are_numbered(tmp_path, capsys):
    rows = [{"prompt": "Hi", "ours": f"a{n}", "theirs": "b"} for n in range(2)]
    assert [pair.pair for pair in pairs(tmp_path, rows)] == ["row 1", "row 2"]
    assert "id=number of the row" in capsys.readouterr().out


def test_pairs_that_are_there_are_not_overwritten(tmp_path):
    pairs(tmp_path, ROWS, "--good", "ours")
    words = ["pairs-from", str(tmp_path / "answers.csv"), "--out", str(tmp_path / "study" / "pairs.jsonl")]
    with pytest.raises(InputError, match="already exists"):
        dispatch("crowd", "", COMMANDS, words)


TABLE = """id,context,ours,theirs,third,kind,answer
1,Where is it?,Here.,There.,Here.,real,
2,Who are you?,Me.,You.,They.,real,
3,How far?,Five miles.,Blue.,Red.,check,
4,How long?,Five hours.,Green.,Pink.,check,theirs
5,How late?,At five.,Round.,Flat.,check,2>0
"""


@pytest.fixture
def answers(tmp_path):
    (tmp_path / "answers.csv").write_text(TABLE)
    return answer_table(read_table(tmp_path / "answers.csv"), {}, ["ours", "theirs", "third"])


def test_a_row_is_one_set_of_all_its_systems(answers):
    sets = sets_from_answers(answers, "ours")
    assert [one.set for one in sets] == ["1", "2", "3", "4", "5"]
    assert {tuple(r.model for r in one.responses) for one in sets} == {("ours", "theirs", "third")}
    assert [one.answer for one in sets] == [None, None, "best:0", "best:1", "2>0"]


def test_an_answer_alone_is_a_set_and_its_check_is_high_or_low(answers):
    sets = {one.set: one for one in sets_from_answers(answers, "ours", alone=True) if "5" not in one.set}
    assert len(sets) == 12 and all(len(one.responses) == 1 for one in sets.values())
    asked = {name: one.answer for name, one in sets.items() if one.kind == "check"}
    assert asked == {"3|ours": "high:0", "3|theirs": "low:0", "3|third": "low:0",
                     "4|ours": "low:0", "4|theirs": "high:0", "4|third": "low:0"}  # fmt: skip


def test_a_check_without_an_answer_and_an_unknown_system_are_refused(answers):
    with pytest.raises(InputError, match=r"answers.csv:4: a check needs its right answer"):
        sets_from_answers(answers)
    with pytest.raises(InputError, match="--good is 'nobody'"):
        sets_from_answers(answers, "nobody")


def test_the_command_writes_what_the_server_reads(tmp_path):
    (tmp_path / "answers.csv").write_text(TABLE)
    out = tmp_path / "response_sets.jsonl"
    words = ["pairs-from", str(tmp_path / "answers.csv"), "--out", str(out), "--systems", "ours,theirs,third"]
    assert dispatch("crowd", "", {"pairs-from": ""}, [*words, "--good", "ours", "--together"]) == 0
    assert len(read_records(out, ResponseSet)) == 5
