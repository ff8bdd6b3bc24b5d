"""Sets from a table of answers: a row together, or each answer alone; checks by a system's name or a claim."""

import pytest

from seedvote.crowd.exchange.answer_tables import answer_table
from seedvote.crowd.exchange.sets_of_answers import sets_from_answers
from seedvote.dialogue.command_line import dispatch
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import ResponseSet
from seedvote.dialogue.tables.reading import read_table

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
