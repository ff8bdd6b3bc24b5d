"""Ratings and ranks: the same in every format; of our own ones whose they are, and which count."""

import csv
import json
from random import Random

import pytest

from seedvote.analysis.votes.inputs import ranks_of, ratings_of
from seedvote.analysis.votes.ratings import scored_sides
from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.reading import parse_names
from seedvote.dialogue.tables.reading import read_table
from tests.analysis import worlds_tables as worlds
from tests.dialogue.importing.layouts import FLAT
from tests.dialogue.importing.test_shaping import written

SET = {
    "set": "s1",
    "item": "i1",
    "dialogue": "d1",
    "kind": "real",
    "of": 2,
    "question": "fluent",
    "rank": "",
    "counted": True,
}


def sets(folder, *raters):
    rows = [
        SET | {"rater": rater, "source": source, "system": system, "score": score}
        for rater, source in raters
        for system, score in (("one", 4), ("two", 2))
    ]
    with (folder / "ratings.csv").open("w", newline="") as handle:
        table = csv.DictWriter(handle, [*rows[0]])
        table.writeheader()
        table.writerows(rows)
    return read_table(folder / "ratings.csv")


@pytest.mark.parametrize("source", ["judge", "LLM", "judge:gpt-x"])
def test_a_rating_that_a_judge_gave_stops_the_reading_with_its_row(tmp_path, source):
    assert len([*scored_sides(sets(tmp_path, ("ann", "local"), ("bob", "prolific"))).rows()]) == 4
    with pytest.raises(InputError, match=r"ratings.csv.*4.*: this rating is a judge's\. Only people's are read here"):
        scored_sides(sets(tmp_path, ("ann", "local"), ("gpt-x", source)))


def test_rater_beside_with_a_judges_name_is_that_judge(tmp_path):
    verdict = {"pair": "p", "judge": "gpt-x", "prompt": "1", "order": "ab", "draw": 0, "choice": "a"}
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(verdict) + "\n")
    with pytest.raises(InputError, match=r"this rating is a judge's \(its rater is 'gpt-x', a judge in"):
        scored_sides(sets(tmp_path, ("GPT-X", "local")))


RNG = Random(3)


def long_rows(**names):
    """Alpha is rated higher than beta and gamma by three people on eight items."""
    ours = {"item": "item", "rater": "rater", "system": "system", "score": "score"} | names
    return [
        {ours["item"]: item, ours["rater"]: f"r{rater}", ours["system"]: system,
         ours["score"]: RNG.randint(3, 5) if system == "alpha" else RNG.randint(1, 4)}
        for item in range(1, 9) for rater in range(3) for system in ("alpha", "beta", "gamma")
    ]  # fmt: skip


def rank_rows():
    rows = []
    for sheet in range(24):
        order = RNG.sample(["beta", "gamma"], 2)
        order.insert(0 if sheet % 4 else 1, "alpha")
        rows += [{"item": sheet // 3, "rater": sheet % 3, "system": name, "rank": order.index(name) + 1}
                 for name in ("alpha", "beta", "gamma")]  # fmt: skip
    return rows


def with_cell(rows, row, name, cell):
    rows[row][name] = cell
    return rows


LAYOUTS = {
    "long": (long_rows(), {}),
    "other names": (long_rows(score="Rating", system="Model", item="item_id", rater="workerId"), {}),
    "stated names": (long_rows(score="Punkte", system="Modell", item="Frage", rater="wer"),
                     {"columns": "score=Punkte,system=Modell,item=Frage,rater=wer"}),
    "a blank": (with_cell(long_rows(), 4, "score", None), {}),
    "N/A": (with_cell([{**row, "score": str(row["score"])} for row in long_rows()], 4, "score", "N/A"), {}),
    "words": ([{**row, "score": ["bad", "poor", "fair", "good", "great"][row["score"] - 1]} for row in long_rows()],
              {"values": "1=bad,2=poor,3=fair,4=good,5=great"}),
    "capitals": (with_cell(long_rows(), 0, "system", "Alpha "), {}),
    "halves": ([{**row, "score": row["score"] + 0.5} for row in long_rows()], {}),
    "a column a system": ([{"item": n // 3, "rater": n % 3, "alpha": RNG.randint(2, 5), "beta": RNG.randint(1, 4)}
                           for n in range(24)], {"systems": ["alpha", "beta"]}),
    "a column a response": ([{"item": n // 3, "rater": n % 3, "model_a": ("alpha", "beta")[n % 2],
                              "model_b": ("beta", "alpha")[n % 2], "score_a": 4 - n % 2 - n % 3,
                              "score_b": 2 + n % 2} for n in range(24)], {}),
    "questions": ([{**row, "question": question} for row in long_rows() for question in ("fluent", "true")],
                  {"question": "true"}),
    "ranks": (rank_rows(), {"ranks": True}),
    "ranks of another name": ([{**{k: v for k, v in row.items() if k != "rank"}, "platz": row["rank"]}
                               for row in rank_rows()], {"ranks": True, "columns": "rank=platz"}),
}  # fmt: skip


def rated(source, how):
    how = {**how, "columns": parse_names(how.get("columns", ""), "--columns")}
    if how.pop("ranks", False):
        return ranks_of(source, **how)
    return ratings_of(source, **{**how, "values": parse_names(how.get("values", ""), "--values")})


@pytest.mark.parametrize("name", LAYOUTS)
def test_ratings_and_ranks_are_the_same_row_for_row_in_every_format(tmp_path, name):
    rows, how = LAYOUTS[name]
    tables = [rated(written(tmp_path, rows, form), how) for form in FLAT]
    first = tables[0]
    assert first.systems[:2] == ("alpha", "beta") and len(first.systems) < 4
    for table in tables:
        votes = table.rows.votes
        assert table.rows.score.tolist() == first.rows.score.tolist() and table.systems == first.systems
        assert table.rows.system.tolist() == first.rows.system.tolist()
        assert [votes.pairs[k] for k in votes.pair] == [first.rows.votes.pairs[k] for k in first.rows.votes.pair]
        assert [votes.raters[k] for k in votes.rater] == [first.rows.votes.raters[k] for k in first.rows.votes.rater]
        assert (table.ledger.line, dict(table.ledger.dropped)) == (first.ledger.line, dict(first.ledger.dropped))
        better = [contrast.first.mean() - contrast.second.mean() for contrast in table.contrasts]
        assert (better[0] < 0) == table.ranks  # alpha is rated higher, or has the lower rank


def test_complaints_on_ratings_name_the_column_and_its_way_out(tmp_path):
    def refused(rows, **how):
        with pytest.raises(InputError) as refusal:
            rated(written(tmp_path, rows, "csv"), how)
        return str(refusal.value)

    assert "has no column 'points' (found: item, rater, system, score)." in refused(long_rows(), columns="score=points")
    assert "--columns names 'vote', which is not one of score, system, item," in refused(long_rows(), columns="vote=x")
    two = [{**row, "worker": "w"} for row in long_rows(rater="user")]
    assert "2 columns may be rater: user, worker." in refused(two)
    assert "the score is 'high', which is not a number" in refused(with_cell(long_rows(), 2, "score", "high"))
    assert "votes.csv:3: rater is empty; give every rating one" in refused(with_cell(long_rows(), 1, "rater", ""))
    assert "has no column for rank (found: item, rater, system, score). Name it: --columns rank=" in refused(
        long_rows(), ranks=True
    )


SCALES = {"1 to 5": [1, 2, 3, 4, 5], "slider": [0, 35, 70, 100], "decimals": [0.0, 0.5, 1.0], "-2 to 2": [-2, 0, 1, 2]}


@pytest.mark.parametrize(
    ("scale", "code", "is_asked"),
    [
        *(("1 to 5", "999", True), ("1 to 5", "-1", True), ("1 to 5", "-99", True), ("1 to 5", "99", True)),
        *(("slider", "-1", True), ("slider", "999", True), ("slider", "99", False), ("decimals", "9", True)),
        *(("decimals", "-1", False), ("-2 to 2", "-1", False), ("-2 to 2", "99", True)),
    ],
)
@pytest.mark.parametrize("is_wide", [True, False])
def test_a_number_that_may_stand_for_no_answer_is_asked_about(tmp_path, scale, code, is_asked, is_wide):
    """A mean of 255 on a scale of 5 is what any tool prints that takes 999 for a rating."""
    scores = {name: [SCALES[scale][(n + k) % len(SCALES[scale])] for n in range(20)] for k, name in enumerate("xy")}
    cells = {name: [code if n in (3, 7) else score for n, score in enumerate(row)] for name, row in scores.items()}
    rows = [{"item": n, **{name: row[n] for name, row in cells.items()}} for n in range(20)]
    if not is_wide:
        rows = [{"item": row["item"], "system": name, "score": row[name]} for row in rows for name in "xy"]
    path = worlds.write(tmp_path / "ratings.csv", rows)
    options = {"systems": ["x", "y"]} if is_wide else {}
    if not is_asked:
        assert len(ratings_of(path, **options)) == 40
        return
    with pytest.raises(Unclear, match=rf"the score is {code}, and the others run from .* \(4 such rows\)") as doubt:
        ratings_of(path, **options)
    left_out, taken = (
        ratings_of(path, **options, values=parse_names(way["--values"], "--values")) for way in doubt.value.ways
    )
    assert (left_out.ledger.left_out, left_out.compared) == ({"no score": 4}, 36)
    assert taken.compared == 40 and float(code) in taken.rows.score


def test_scores_whose_name_says_that_lower_is_better_are_said_to_be_so(tmp_path):
    rows = [{"item": n, "system": name, "errors": n % 3 + 2 * (name == "x")} for n in range(20) for name in "xy"]
    path = worlds.write(tmp_path / "errors.csv", rows)
    table = ratings_of(path, columns={"score": "errors"})
    assert table.held["lower_is_better"]
    assert (
        "Lower is better by the name of errors: the system that is rated higher below is the worse one." in table.told
    )
