"""Who is a judge, and the verdicts of judges as a file."""

from dataclasses import replace

import pytest

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.judges import find_judges, folded_name, read_verdicts, refuse_verdicts, whose
from seedvote.dialogue.records import Verdict

VERDICT = Verdict("p1", "gpt-x", "ab", "a")


def written(path, *verdicts):
    write_records(path, verdicts, signature="s", kind=Verdict)
    return path


def test_verdicts_of_two_judges_in_both_orders_and_several_draws_are_read(tmp_path):
    made = [replace(VERDICT, judge=judge, order=order, draw=draw)
            for judge in ("gpt-x", "gpt-y") for order in ("ab", "ba") for draw in (0, 1)]  # fmt: skip
    assert read_verdicts(written(tmp_path / "verdicts.jsonl", *made), {"p1"}) == made


@pytest.mark.parametrize("judge", ["gpt-x", " GPT-X"])
def test_one_call_that_stands_twice_is_named_with_both_places(tmp_path, judge):
    path = written(tmp_path / "verdicts.jsonl", VERDICT, replace(VERDICT, judge=judge, choice="b"))
    with pytest.raises(InputError, match=r"verdicts\.jsonl:3: a second verdict of .* on pair 'p1', after .*jsonl:2"):
        read_verdicts(path)


def test_a_verdict_on_a_pair_that_is_not_there_is_refused(tmp_path):
    path = written(tmp_path / "verdicts.jsonl", VERDICT, replace(VERDICT, pair="p9"))
    with pytest.raises(InputError, match=r"verdicts\.jsonl:3: pair 'p9' is not in the pairs file"):
        read_verdicts(path, {"p1"})


def test_an_empty_file_has_no_judges_and_no_verdicts(tmp_path):
    assert read_verdicts(written(tmp_path / "verdicts.jsonl")) == []
    assert find_judges([tmp_path / "votes.jsonl", tmp_path / "gone" / "votes.jsonl"]) == {}


def test_judges_are_known_by_their_names_however_they_are_typed(tmp_path):
    written(tmp_path / "verdicts.jsonl", VERDICT, replace(VERDICT, judge="Claude  Z"))
    known = find_judges([tmp_path / "votes.csv"])
    assert set(known) == {"gpt-x", "claude z"}
    assert whose("local", "claude z ", known) and whose("local", "GPT-X", known)
    assert whose("local", "gpt-x2", known) is None and whose("simulated", "", known) is None
    assert folded_name("\uff27PT-x") == "gpt-x"


@pytest.mark.parametrize("head", ["pair;judge;order;choice", "pair\tjudge\torder\tchoice", "pair,judge,order,choice,x"])
def test_a_table_of_verdicts_is_known_by_its_columns(tmp_path, head):
    path = tmp_path / "some.csv"
    path.write_text(head + "\n")
    with pytest.raises(InputError, match="holds verdicts, which are a judge's answers"):
        refuse_verdicts(path)


@pytest.mark.parametrize("content", ["pair,judge,choice\np,ann,a\n", "", "[]", "{", "\x00"])
def test_anything_else_is_left_to_its_reader(tmp_path, content):
    for name in ("some.csv", "some.jsonl", "some.json"):
        (tmp_path / name).write_text(content)
        refuse_verdicts(tmp_path / name)
