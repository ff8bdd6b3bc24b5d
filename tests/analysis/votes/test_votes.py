"""Reading votes from our files and from other tools'."""

import argparse
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedvote.analysis.arguments import READING, VOTES, add_options, read_votes_of
from seedvote.analysis.votes.votes import read_votes, votes_from_columns
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Vote

OURS = [
    Vote(pair="p1", rater="r1", choice="a", round=1, left="b", seconds=3.5, source="local", dialogue="d1"),
    Vote(pair="p1", rater="r2", choice="tie", round=2, left="a", source="local", dialogue="d1"),
    Vote(pair="p2", rater="r1", choice="b", round=1, dialogue="d2", identical=True),
    Vote(pair="p2", rater="r3", choice="tie", round=0, counted=False, dialogue="d2", rater_status="blocked"),
    Vote(pair="c1", rater="r3", choice="tie", round=1, kind="control", dialogue="d2"),
]
THEIRS = {"item": ["x", "x", "y", "y"], "label": ["left", "same", "right", "left"], "worker": [11, 12, 11, 13]}
MAPPED = {
    "columns": {"pair": "item", "choice": "label", "rater": "worker"},
    "values": {"left": "a", "right": "b", "same": "tie"},
}


def test_our_own_file_is_read_with_every_column(tmp_path):
    path = tmp_path / "votes.jsonl"
    write_records(path, OURS, signature="test", kind=Vote)
    votes = read_votes(path)
    assert [votes.pairs[code] for code in votes.pair] == ["p1", "p1", "p2"]
    assert [votes.raters[code] for code in votes.rater] == ["r1", "r2", "r1"]
    assert [votes.labels[code] for code in votes.choice] == ["a", "tie", "b"]
    assert votes.left.tolist() == [1, 0, -1]
    assert votes.seconds[0] == 3.5 and np.isnan(votes.seconds[1:]).all()
    assert votes.rounds == (1, 2)
    assert votes.identical.tolist() == [False, False, True]
    assert votes.source == {"local": 2, "imported": 1}
    assert votes.warnings == (
        "Left out: 1 vote on control pairs.",
        "Left out: 1 vote not counted (late, or of raters blocked or excluded).",
    )


def test_uncounted_and_control_votes_are_kept_on_request(tmp_path):
    path = tmp_path / "votes.jsonl"
    write_records(path, OURS, signature="test", kind=Vote)
    votes = read_votes(path, kinds=("real", "control"), uncounted=True)
    assert len(votes) == 5
    assert votes.warnings == ("Used too: 1 vote not counted (late, or of raters blocked or excluded).",)
    assert votes.counted.tolist() == [True, True, True, False, True]


@pytest.mark.parametrize(
    "name", ["votes.csv", "votes.csv.gz", "votes.jsonl", "votes.json", "votes.parquet", "votes.tsv"]
)
def test_another_tools_file_reads_the_same_in_every_format(tmp_path, name):
    path = tmp_path / name
    frame = pd.DataFrame(THEIRS)
    if "csv" in name:
        frame.to_csv(path, index=False)
    elif name.endswith("tsv"):
        frame.to_csv(path, index=False, sep="\t")
    elif name.endswith("parquet"):
        pq.write_table(pa.table({**THEIRS, "label": pa.array(THEIRS["label"]).dictionary_encode()}), path)
    else:
        frame.to_json(path, orient="records", lines=name.endswith("jsonl"))
    votes = read_votes(path, **MAPPED)
    assert votes.choice.tolist() == [0, 2, 1, 0]
    assert votes.pairs == ("x", "y") and votes.raters == ("11", "12", "13")
    assert votes.round is None and votes.rounds == () and votes.dialogue is None and votes.left is None


def test_columns_and_data_frames_read_like_files():
    for table in (THEIRS, pd.DataFrame(THEIRS)):
        votes = votes_from_columns(table, **MAPPED)
        assert votes.choice.tolist() == [0, 2, 1, 0] and votes.raters == ("11", "12", "13")


def test_any_label_set_is_taken_in_the_order_of_its_numbers_or_letters():
    votes = votes_from_columns({"pair": ["x"] * 4, "choice": ["10", "9", "2", "10"]}, labels="any")
    assert votes.labels == ("2", "9", "10") and votes.choice.tolist() == [2, 1, 0, 2]
    votes = votes_from_columns({"pair": ["x"] * 3, "choice": ["good", "bad", "good"]}, labels="any")
    assert votes.labels == ("bad", "good")


def test_selecting_keeps_the_meaning_of_codes():
    votes = votes_from_columns({**THEIRS, "contrast": ["s", "s", "t", "t"]}, **MAPPED, also=("contrast",))
    part = votes.select(votes.pair == 1)
    assert part.pairs == votes.pairs and part.pair.tolist() == [1, 1]
    assert part.rater.tolist() == [0, 2] and part.also["contrast"].tolist() == ["t", "t"]


def line(**values):
    return json.dumps({"pair": "p", "rater": "r", "choice": "a", "round": 1, **values}) + "\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "v.jsonl",
            line() + "\n" + line(choice="left"),
            r"v.jsonl:3: choice is 'left', which names the side .*--values a=left,b=right",
        ),
        (
            "v.jsonl",
            line(choice="right") + line(choice="left"),
            "response a always stood on the left, or always the.*--values a=left,b=right.*--values b=left,a=right",
        ),
        ("v.jsonl", line(choice="GPT"), r"--values a=\.\.\.,b=\.\.\.,tie=\.\.\..* \(found: 'GPT'\)\.$"),
        ("v.jsonl", line() + line(rater="s", round="one"), r"v.jsonl:2: round is 'one', which is not a whole number"),
        ("v.jsonl", line() + '{"pair": "p", "cho', r"v.jsonl:2: not a JSON object.*cut off"),
        ("v.jsonl", line() + "[1]\n", r"v.jsonl:2: found '\[1\]'; a JSON object is expected"),
        ("v.jsonl", line() + line(rater=None), r"v.jsonl:2: rater is empty"),
        ("v.jsonl", line() + line(rater="s", round=None), r"v.jsonl:2: round is empty"),
        ("v.jsonl", line() + line(rater="s", round=-1), r"v.jsonl:2: round is -1; give every vote 1, 2, ..."),
        ("v.json", "[1]", r"v.json: record 1: found '1'; a JSON object is expected"),
        ("v.json", line() + line(choice=3), r"v.json:2: choice is '3'"),
        ("v.jsonl", line() + line(rater="s", seconds="fast"), r"v.jsonl:2: seconds is 'fast', which is not a number"),
        ("v.jsonl", line() + '{"format" "version"\n', r"v.jsonl:2: not a JSON object"),
        ("v.jsonl", '{"format" "version"\n', r"v.jsonl:1: not a JSON object"),
        ("v.jsonl", '["format", "version"]\n', r"v.jsonl: record 1: found .* a JSON object is expected"),
        ("v.jsonl", "", r"v.jsonl is empty"),
        ("v.jsonl", '{"format": "pairs", "version": 1}\n' + line(), r"v.jsonl:1: a file of pairs was given"),
        ("v.jsonl", '{"format": "votes", "version": 9}\n' + line(), r"version 9 is not supported"),
        ("v.jsonl", '{"format": "votes", "version": 1}\n' + line(choice="x"), r"v.jsonl:2: choice is 'x'"),
        ("v.jsonl", '{"format": "votes", "version": 1}\n', r"v.jsonl holds no votes yet\."),
        ("v.jsonl", '{"item": "q", "label": "?"}\n', r"no column 'choice', which every vote needs.*--columns choice="),
        ("v.jsonl", line(kind="check"), r"no votes to analyse \(Left out: 1 vote on check pairs\)"),
        ("v.json", "[1, 2", r"v.json:1: not whole JSON"),
        ("v.csv", "pair,choice\np,a\n\np,left\n", r"v.csv:4: choice is 'left'"),
        ("v.csv", 'pair,choice,text\np,a,"two\nlines"\np,left,x\n', r"v.csv:4: choice is 'left'"),
        ("v.csv", "pair,choice,round\np,a,1\np,b,x\n", r"v.csv:3: round is 'x', which is not a whole number"),
        ("v.csv", "pair,choice,counted\np,a,maybe\n", r"counted is 'maybe', which is not true or false"),
        ("v.csv", "a,b\n1,2\n", r"no column 'choice', which every vote needs.*--columns choice="),
        ("v.csv", "pair,choice\np,\n", r"None of the 1 judgements can be used: 1 nothing was chosen"),
        ("v.csv", "pair,choice\n", r"holds no rows"),
        ("v.csv", "pair,choice\np,a,b\n", r"v.csv:2 cannot be read: it has 3 cells, and the header has 2"),
        ("v.csv", "", r"v.csv is empty"),
        ("v.csv", "pair,pair,choice\np,q,a\n", r"two columns called 'pair'; keep one"),
        ("v.csv", "pair,choice,round\np,a,1.5\n", r"v.csv:2: round is '1.5', which is not a whole number"),
        ("v.parquet", "no parquet", r"v.parquet cannot be read"),
    ],
)
def test_bad_input_gets_one_sentence_with_its_place(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_votes(path)


def test_a_file_that_may_not_be_read_says_so_in_the_systems_words(tmp_path, monkeypatch):
    (tmp_path / "v.csv").write_text("pair,choice\np,a\n")

    def closed(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("seedvote.dialogue.tables.reading.Path.read_bytes", closed)
    with pytest.raises(InputError, match=r"v.csv cannot be read: Permission denied\.$"):
        read_votes(tmp_path / "v.csv")


def test_files_that_cannot_be_opened_are_named(tmp_path):
    with pytest.raises(InputError, match=r"none.jsonl cannot be read: there is no such file"):
        read_votes(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match=r"no such file. Write it: python -m crowd export .*study\."):
        read_votes(tmp_path / "study" / "votes.jsonl")
    with pytest.raises(InputError, match=r"is a folder"):
        read_votes(tmp_path)
    latin = tmp_path / "latin.csv"
    latin.write_bytes("pair,choice\npä,a\n".encode("latin-1"))
    votes = read_votes(latin)  # as older spreadsheets write; said, since letters of another alphabet would be wrong
    assert votes.pairs == ("pä",) and votes.ledger.notes == ("Windows-1252, as it is no UTF-8",)
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes('{"pair": "pä", "choice": "a"}\n'.encode("latin-1"))
    assert read_votes(latin).ledger.notes == ("Windows-1252, as it is no UTF-8",)


def test_whole_numbers_may_be_written_with_a_point_as_data_frames_do(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("pair,choice,round\np,a,1.0\np,tie,2.0\n")
    assert read_votes(path).rounds == (1, 2)


def test_wrong_names_of_columns_are_named():
    with pytest.raises(InputError, match=r"'worker', which is not one of pair"):
        votes_from_columns(THEIRS, columns={"worker": "rater"})
    with pytest.raises(InputError, match=r"no column 'who'"):
        votes_from_columns(THEIRS, columns={**MAPPED["columns"], "rater": "who"})


def test_a_missing_column_is_asked_for_only_where_it_is_needed():
    votes = votes_from_columns({"pair": ["x"], "choice": ["tie"]})
    with pytest.raises(InputError, match=r"no rater column, and agreement needs it"):
        votes.need("rater", "agreement")
    with pytest.raises(InputError, match=r"No label is called tie"):
        _ = votes_from_columns({"pair": ["x"], "choice": ["1"]}, labels="any").tie


def test_the_command_line_names_columns_and_values(tmp_path):
    parser = argparse.ArgumentParser()
    add_options(parser, VOTES, *READING)
    pd.DataFrame(THEIRS).to_csv(tmp_path / "theirs.csv", index=False)
    names = ["--columns", "pair=item,choice=label,rater=worker", "--values", "a=left, b=right,tie=same"]
    votes = read_votes_of(parser.parse_args([str(tmp_path / "theirs.csv"), *names]))
    assert votes.choice.tolist() == [0, 2, 1, 0]
    with pytest.raises(InputError, match=r"--columns has 'item'; write OURS=THEIRS"):
        read_votes_of(parser.parse_args([str(tmp_path / "theirs.csv"), "--columns", "item"]))


def test_a_study_folder_stands_for_its_votes(tmp_path):
    parser = argparse.ArgumentParser()
    add_options(parser, VOTES, *READING)
    write_records(tmp_path / "votes.jsonl", OURS, signature="test", kind=Vote)
    assert len(read_votes_of(parser.parse_args([str(tmp_path)]))) == 3


def test_a_parquet_row_is_named_by_its_number(tmp_path):
    path = tmp_path / "votes.parquet"
    pq.write_table(pa.table({"pair": ["p", "p"], "choice": ["a", "left"]}), path)
    with pytest.raises(InputError, match=r"votes.parquet: row 2: choice is 'left'"):
        read_votes(path)


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ({"batch": ["batch3", "batch1"]}, ()),
        ({"batch": [1, 2]}, ()),  # without a propensity it is not of an adaptive study
        ({"propensity": [0.5, 0.2]}, ()),
        ({"batch": [1, 2], "propensity": [0.5, 7.0]}, ()),
        ({"batch": ["1", "2"], "propensity": ["0.5", "1"]}, ("batch", "propensity")),
        ({"device": ["Pixel 7", "iPad"]}, ()),
        ({"device": ["phone", "tablet"]}, ("device",)),
    ],
)
def test_columns_that_only_have_the_name_of_ours_weigh_and_part_nothing(more, kept, tmp_path):
    table = {"pair": ["p1", "p2"], "rater": ["r1", "r2"], "choice": ["a", "b"], **more}
    path = tmp_path / "votes.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    for votes in (votes_from_columns(table), read_votes(path), read_votes(path, labels="any")):
        values = {name: getattr(votes, name) for name in ("batch", "propensity", "device")}
        assert [name for name, column in values.items() if column is not None] == list(kept)
