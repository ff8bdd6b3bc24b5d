"""Tables that gave a wrong number, or lost rows uncounted, now give the truth or a sentence."""

import gzip
import io
import zipfile

import numpy as np
import pytest

from seedvote.analysis.notebook import preference, ratings
from seedvote.analysis.votes.cautions import about_names, told_of_reading
from seedvote.analysis.votes.inputs import matches_of, votes_of
from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.people import coarsen_answer
from seedvote.dialogue.tables.reading import read_table
from tests.analysis import worlds_tables as worlds

TRUE = [101, 37, 62]


def counted(path, **how):
    return np.bincount(votes_of(path, **how).choice, minlength=3).tolist()


def refused(path, **how):
    with pytest.raises(InputError) as error:
        votes_of(path, **how)
    return str(error.value)


def renamed(rows, names):
    return [{**row, **{column: names[row[column]] for column in ("model_a", "model_b")}} for row in rows]


@pytest.mark.parametrize("left", [lambda n: "alpha", lambda n: "ab"[n % 2]])
def test_a_column_of_places_does_not_turn_an_answer_that_names_a_column(tmp_path, left):
    rows = [{**row, "left": left(n)} for n, row in enumerate(worlds.arena())]
    assert counted(worlds.write(tmp_path / "placed.json", rows)) == TRUE
    places = [{**row, "winner": {"model_a": "left", "model_b": "right"}.get(row["winner"], "tie"),
               "left": row["model_a"]} for row in worlds.arena()]  # fmt: skip
    assert counted(worlds.write(tmp_path / "places.json", places)) == TRUE


def test_systems_called_a_and_b_are_no_sides(tmp_path):
    rows = renamed(worlds.arena(), {"alpha": "a", "beta": "b"})
    assert counted(worlds.write(tmp_path / "letters.json", rows)) == TRUE
    rows = renamed(worlds.arena(), {"alpha": "b", "beta": "a"})
    assert counted(worlds.write(tmp_path / "turned.json", rows)) == [37, 101, 62]
    file = worlds.write(tmp_path / "left.json", [{**row, "left": "a"} for row in rows])
    assert "left is 'a', which is the name of a system and of a side" in refused(file)


def test_none_is_no_answer_and_no_tie(tmp_path):
    """Python writes None for a cell that is empty; whether somebody meant neither, only a person knows."""
    rows = [*worlds.plain(), {**worlds.plain()[0], "pair": "more", "choice": "None"}]
    file = worlds.write(tmp_path / "none.csv", rows)
    assert "Is it no vote, or a tie? Add one of: --values None=- (" in refused(file)
    assert counted(tmp_path / "none.csv", values={"tie": "None"}) == [101, 37, 63]
    ties = worlds.write(tmp_path / "arena.json", worlds.arena(ties=("=",)))
    assert "choice is '='" in refused(ties) and counted(ties, values={"tie": "="}) == TRUE


def test_three_codes_are_asked_for_with_the_result_of_each_meaning(tmp_path):
    rows = [{**row, "choice": {"a": 0, "b": 1, "tie": 2}[row["choice"]]} for row in worlds.plain()]
    asked = refused(worlds.write(tmp_path / "codes.csv", rows))
    assert "--values a=0,b=1,tie=2 (alpha 101, beta 37, tie 62)," in asked and asked.count("--values") == 6


def test_columns_that_are_stated_for_a_tool_are_read(tmp_path):
    rows = [{"who" if name == "WorkerId" else name: value for name, value in row.items()} for row in worlds.mturk()]
    rows = [{**row, "WorkerId": "", "Answer.comment": "nice" if n == 3 else ""} for n, row in enumerate(rows)]
    file = worlds.write(tmp_path / "batch.csv", rows)
    with pytest.raises(Unclear) as doubt:
        votes_of(file)
    assert {"--columns": "choice=Answer.better"} in doubt.value.ways
    found = votes_of(file, columns={"choice": "Answer.better", "rater": "who"}, values={"a": "A", "b": "B"})
    assert np.bincount(found.choice).tolist() == TRUE and len(found.raters) == 20


def test_a_column_that_is_used_stands_once(tmp_path):
    for column in ("winner", "model_a"):
        text = worlds.as_csv(worlds.arena()).split("\r\n", 1)
        file = tmp_path / f"{column}.csv"
        file.write_text(f"{column},{text[0]}\r\n" + "".join(f"x,{line}\r\n" for line in ["q,m,n,model_a,j,,,1,,,1"]))
        assert f"two columns called '{column}'" in refused(file)


def test_rows_on_one_system_twice_are_counted(tmp_path):
    for name, rows, column in (("p.csv", worlds.plain(), "system"), ("a.json", worlds.arena(), "model")):
        same = {**rows[0], "pair": "q", "question_id": "q", f"{column}_b": rows[0][f"{column}_a"]}
        rows = [{**row, "pair": n, "question_id": n} for n, row in enumerate(rows)]
        found, _ = matches_of(worlds.write(tmp_path / name, [*rows, same]), None)
        assert "Left out: 1 (both systems are the same)." in told_of_reading(found.votes)[1]
        assert len(found.votes) == 200


def test_recognising_counts_a_raters_first_vote_only(tmp_path):
    first = worlds.plain()[0]
    again = [*worlds.plain(), first, {**first, "rater": first["rater"].upper()}]
    file = worlds.write(tmp_path / "again.csv", again)
    votes = votes_of(file)
    assert votes.ledger.dropped == {"a later vote of the same rater on the same pair": 1}
    said = " ".join(about_names(votes))
    assert "'person-00' and 'PERSON-00' differ in capitals or spaces only" in said
    assert set(about_names(votes)) <= set(preference(file, sets=20).document["warnings"])
    assert about_names(votes_of(worlds.write(tmp_path / "once.csv", worlds.plain()))) == []


def test_rows_that_their_state_rejects_are_left_out(tmp_path):
    rows = [{**row, "state": "rejected" if n < 3 else "approved"} for n, row in enumerate(worlds.plain())]
    found = votes_of(worlds.write(tmp_path / "plain.csv", rows), columns={"status": "state"})
    assert found.ledger.dropped == {"rejected, or skipped by the rater": 3} and len(found) == 197


@pytest.mark.parametrize("blank", ["", "nan"])
def test_a_rank_that_is_missing_is_no_rank(tmp_path, blank):
    rows = [{**row, "rank_beta": blank if n < 5 else row["rank_beta"]} for n, row in enumerate(worlds.ranks())]
    found = votes_of(worlds.write(tmp_path / "ranks.csv", rows))
    assert len(found) == 195 and found.ledger.read == 200
    assert found.ledger.lost == "Left out: 5 (an answer that ranks fewer than two systems)."
    rows[0]["rank_beta"] = 0
    assert "the ranks run from 0 to 2, and 2 systems are ranked" in refused(worlds.write(tmp_path / "zero.csv", rows))
    orders = [*worlds.orders(), {"rater": "x", "ranking": "alpha"}]
    assert votes_of(worlds.write(tmp_path / "orders.csv", orders)).ledger.dropped


def test_ratings_without_a_spread_claim_nothing(tmp_path):
    file = worlds.write(tmp_path / "four.csv", worlds.likert()[:4])
    (one,) = ratings(file).document["differences"]
    assert one["difference"]["value"] == 1 and one["p"] > 0.5 and one["difference"]["low"] < 0
    endless = [{**row, "score": "inf" if n == 0 else row["score"]} for n, row in enumerate(worlds.likert())]
    with pytest.raises(InputError, match="the score is 'inf', which is not a number"):
        ratings(worlds.write(tmp_path / "endless.csv", endless))


@pytest.mark.parametrize("age", ["2001", "999", "-5", "inf"])
def test_what_is_no_age_makes_no_band(age):
    assert coarsen_answer("Age", "nan") == "not given"
    with pytest.raises(InputError, match="which is no age in years"):
        coarsen_answer("Age", age)


def test_headers_are_read_without_spaces_and_a_title_is_named(tmp_path):
    text = worlds.as_csv(worlds.plain())
    head, body = text.split("\r\n", 1)
    file = tmp_path / "votes.csv"
    file.write_text(head.replace(",", ", ") + "\r\n" + body)
    assert counted(file) == TRUE
    file.write_text(head.title() + "\r\n" + body)
    assert counted(file) == TRUE
    file.write_text("My study,,,,\r\n" + text)
    assert "begins with 'My study'" in refused(file)
    file.write_text("[]")
    assert refused(file).endswith("holds no rows.")


def test_a_zip_of_macos_holds_one_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "votes.zip", "w") as packed:
        packed.writestr("votes.csv", worlds.as_csv(worlds.plain()))
        packed.writestr("__MACOSX/._votes.csv", "x")
    assert len(read_table(tmp_path / "votes.zip")) == 200


@pytest.mark.parametrize("name", ["verdicts.xlsx", "verdicts.csv.gz", "verdicts.parquet", "verdicts.json"])
def test_verdicts_are_no_votes_in_whatever_file(tmp_path, name):
    rows = [{**row, "judge": "gpt-x", "order": "ab"} for row in worlds.plain()]
    assert "holds verdicts" in refused(worlds.write(tmp_path / name, rows))


def test_verdicts_packed_by_hand_are_no_votes(tmp_path):
    packed = io.BytesIO(gzip.compress(b'{"pair": "p", "judge": "x", "order": "ab", "choice": "a"}\n'))
    (tmp_path / "verdicts.jsonl.gz").write_bytes(packed.getvalue())
    assert "holds verdicts" in refused(tmp_path / "verdicts.jsonl.gz")
