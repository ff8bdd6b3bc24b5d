"""Texts of the two responses in a table: an answer that quotes one is that side, and swapped sides are refused."""

import json
from pathlib import Path

import pytest

from seedvote.analysis.votes.cautions import told_of_reading
from seedvote.analysis.votes.votes import read_votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.columns import text_columns
from seedvote.dialogue.importing.reading import Stated
from seedvote.dialogue.importing.votes import ImportRules, as_votes, read_judgements
from seedvote.dialogue.records import Candidate, Pair
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import table_in_memory
from tests.analysis import worlds_tables as worlds
from tests.analysis.votes.test_every_tool import TRUE, counted, reading


def quoting():
    """The one truth, where every row has both texts and the answer is the better one, word for word."""
    rows = []
    for n, rater, won, first in worlds.truth():
        second = worlds.other(first)
        says = {one: f"What {one} says to {n}" for one in (first, second)}
        rows.append({"pair": f"p{n}", "rater": rater, "model_a": first, "model_b": second, "response_a": says[first],
                     "response_b": says[second], "choice": "tie" if won == "tie" else says[won]})  # fmt: skip
    return rows


@pytest.mark.parametrize("name", ["quoting.csv", "quoting.json", "quoting.jsonl"])
def test_an_answer_that_quotes_a_response_is_that_side(tmp_path, name):
    matches = reading(worlds.write(tmp_path / name, quoting()))
    assert counted(matches) == TRUE
    assert "Left out: nothing." in told_of_reading(matches.votes)[1]


def test_a_data_frame_is_read_alike():
    rows = quoting()
    assert counted(reading({name: [row[name] for row in rows] for name in rows[0]})) == TRUE


def test_the_arenas_table_may_quote_too(tmp_path):
    rows = [{"question_id": row["pair"], "winner": row["choice"], "judge": row["rater"], "tstamp": 1.7e9 + n,
             **{k: row[k] for k in ("model_a", "model_b", "response_a", "response_b")}}
            for n, row in enumerate(quoting())]  # fmt: skip
    assert counted(reading(worlds.write(tmp_path / "arena.csv", rows))) == TRUE


def test_an_answer_that_quotes_neither_or_both_is_refused_with_its_line(tmp_path):
    rows = quoting()
    rows[4]["choice"] = "What gamma says"
    with pytest.raises(InputError, match="What gamma says"):
        reading(worlds.write(tmp_path / "neither.csv", rows))
    rows[4] |= {"choice": "Yes.", "response_a": "Yes.", "response_b": "Yes. "}
    with pytest.raises(InputError, match=r"both.csv:6: .*response_a and of response_b, which are the same"):
        reading(worlds.write(tmp_path / "both.csv", rows))


def swapped():
    """Two raters on one pair; the second row has the texts on other sides and the systems where they were."""
    row = {"pair": "p", "model_a": "ours", "model_b": "theirs", "choice": "a"}
    return [row | {"rater": "one", "response_a": "Yes.", "response_b": "No."},
            row | {"rater": "two", "response_a": "No.", "response_b": "Yes."}]  # fmt: skip


def test_texts_that_change_sides_without_their_systems_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"swapped.csv:3: on pair 'p', ours and theirs have changed texts since .*:2"):
        reading(worlds.write(tmp_path / "swapped.csv", swapped()))
    alone = [{k: v for k, v in row.items() if not k.startswith("model")} for row in swapped()]
    with pytest.raises(InputError, match=r"on pair 'p', a and b have changed texts .*--columns system_a="):
        reading(worlds.write(tmp_path / "alone.csv", alone))


def test_texts_that_change_sides_with_their_systems_are_no_doubt(tmp_path):
    first, second = swapped()
    second |= {"model_a": "theirs", "model_b": "ours", "choice": "b"}
    assert counted(reading(worlds.write(tmp_path / "turned.csv", [first, second]))) == {
        "ours": 2, "theirs": 0, "ties": 0}  # fmt: skip


def test_places_turn_with_the_left_column(tmp_path):
    row = {"pair": "p", "choice": "Yes."}
    rows = [row | {"rater": "one", "left": "a", "text_left": "Yes.", "text_right": "No."},
            row | {"rater": "two", "left": "b", "text_left": "No.", "text_right": "Yes."}]  # fmt: skip
    path = worlds.write(tmp_path / "places.csv", rows)
    assert read_votes(path).choice.tolist() == [0, 0]
    rows[1]["left"] = "a"
    with pytest.raises(InputError, match="have changed texts"):
        read_votes(worlds.write(tmp_path / "wrong.csv", rows))


def test_pairs_and_table_must_agree_on_sides(tmp_path):
    rows = [{"HITId": "h", "WorkerId": f"w{n}", "Input.pair": "p", "Input.left": "ab"[n], "AssignmentId": f"x{n}",
             "AssignmentStatus": "Approved", "SubmitTime": "2026-01-05T10:00:00Z", "Input.response_a": "Yes.",
             "Input.response_b": "No.", "Answer.choice": "Yes."} for n in range(2)]  # fmt: skip
    table = worlds.write(tmp_path / "batch.csv", rows)
    judged = read_judgements(read_table(Path(table)), Stated(tool="mturk"))
    rules = ImportRules()
    sides = [Candidate("Yes.", "ours"), Candidate("No.", "theirs")]
    pair = Pair("p", "i", [], *sides, identical=False)
    assert [vote.choice for vote in as_votes(judged, rules, [pair], str).votes] == ["a", "a"]
    with pytest.raises(InputError, match="on opposite sides: response a there is the other response here"):
        as_votes(judged, rules, [Pair("p", "i", [], *sides[::-1], identical=False)], str)


def test_columns_that_are_no_two_texts_are_left_alone():
    assert text_columns(["response", "response_a", "answer"]) is None
    assert text_columns(["response_a", "response_b", "text_a", "text_b"]) is None
    assert text_columns(["answer1", "answer2"]).kind == "letters"


def refusal_of(rows):
    names = dict.fromkeys(name for row in rows for name in row)
    table = table_in_memory("votes", {name: [row.get(name) for row in rows] for name in names})
    with pytest.raises(InputError) as error:
        read_judgements(table, Stated())
    return str(error.value)


@pytest.mark.parametrize("turns", [lambda text: text, lambda text: [{"role": "user"}, {"content": text}]])
def test_chosen_and_rejected_texts_without_systems_compare_none(turns):
    rows = [{"chosen": turns(f"Human: {n}"), "rejected": turns(f"Robot: {n}"), "score_chosen": n % 3} for n in range(9)]
    assert "nothing says which system wrote which text" in refusal_of(rows)


@pytest.mark.parametrize(("turned", "is_said"), [(False, True), (True, False)])
def test_a_system_that_always_stood_on_the_left_is_said(turned, is_said):
    systems = [("alpha", "beta") if n % 2 or not turned else ("beta", "alpha") for n in range(20)]
    cells = {"left_model": [left for left, _ in systems], "right_model": [right for _, right in systems]}
    table = table_in_memory("votes", {**cells, "choice": ["left"] * 15 + ["right"] * 5})
    notes = " ".join(read_judgements(table, Stated()).reading.notes)
    assert ("alpha always stood on the left" in notes) == is_said


def test_a_cell_that_says_nothing_costs_its_row_alone():
    meta = [json.dumps({"model_a": "alpha", "model_b": "beta"})] * 19 + ["N/A"]
    judgements = read_judgements(
        table_in_memory("votes", {"meta": meta, "choice": ["a"] * 15 + ["b"] * 4 + [""]}),
        Stated(values={"": "-"}),
    )
    assert len(judgements.choice) == 19 and set(judgements.a) == {"alpha"}
