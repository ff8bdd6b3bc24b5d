"""`seedvote read FILE`: what every column and word was taken for, without an analysis."""

import json

import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from tests.dialogue.importing.layouts import LAYOUTS, TRUE
from tests.dialogue.importing.test_shaping import written


def run(capsys, *words):
    assert dispatch("analysis", "", COMMANDS, ["read", *map(str, words)]) == 0
    return capsys.readouterr().out


def test_it_says_what_every_column_was_taken_for_and_why(tmp_path, capsys):
    file = written(tmp_path, LAYOUTS["scale"].rows(), "jsonl")
    said = run(capsys, file)
    assert "read as 100 votes: alpha 80, beta 20. Left out: nothing." in said
    for words in ("response.annotations.preference  by its name and words", "metadata.model_a", "votes.jsonl:1  t0"):
        assert words in said
    assert "Next: python -m analysis preference" in said


@pytest.mark.parametrize("name", ["arena 55k", "counts", "rankings", "alpaca eval", "one column a rater"])
def test_programs_read_the_same(tmp_path, capsys, name):
    file = written(tmp_path, LAYOUTS[name].rows(), "csv")
    told = json.loads(run(capsys, file, "--json", "-"))
    assert told["won"] == TRUE and told["votes"] == 100 and told["evidence"]


def test_a_file_with_two_readings_is_refused_with_the_result_of_each(tmp_path):
    file = written(tmp_path, LAYOUTS["letters as places"].rows(), "csv")
    with pytest.raises(InputError, match=r"(?s)read .*--values left=A,right=B  # as the place: alpha 80, beta 20"):
        dispatch("analysis", "", COMMANDS, ["read", str(file)])


def test_lists_are_exploded_where_that_is_asked_for(tmp_path, capsys):
    (tmp_path / "v.json").write_text(json.dumps([{"rater": "r", "answers": [
        {"pair": f"p{n}", "model_a": "alpha", "model_b": "beta", "choice": "a"} for n in range(5)]}]))  # fmt: skip
    told = json.loads(run(capsys, tmp_path / "v.json", "--explode", "answers", "--json", "-"))
    assert told["won"] == {"alpha": 5}
