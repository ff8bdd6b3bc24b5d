"""Ratings of two responses, of places, of spans, and ranks: never the loser rated higher."""

import pytest

from seedvote.analysis.questions.ratings.rankings import compare_ranks
from seedvote.analysis.votes.inputs import ranks_of, ratings_of, study_of_table
from seedvote.dialogue.errors import InputError
from tests.analysis import worlds_tables as worlds
from tests.dialogue.importing.layouts import table

HIGHER = {"alpha": 4.2, "beta": 2.8}  # 80 of 100 times alpha has 5 and beta 2, otherwise 1 and 6


def points(vote, system):
    return (5 if system == "alpha" else 2) if vote.won == "alpha" else (1 if system == "alpha" else 6)


def means(tmp_path, rows, **how):
    found = ratings_of(worlds.write(tmp_path / "ratings.csv", rows), **how)
    (one,) = found.contrasts
    return {one.contrast.first: float(one.first.mean()), one.contrast.second: float(one.second.mean())}


def test_two_columns_of_scores_belong_to_the_two_systems(tmp_path):
    rows = table(lambda v: {"pair": f"p{v.n}", "rater": "r", "model_a": v.a, "model_b": v.b,
                            "score_a": points(v, v.a), "score_b": points(v, v.b)})  # fmt: skip
    assert means(tmp_path, rows) == HIGHER
    rows = [{"pair": row["pair"], "rater": "r", "model_a": row["model_a"], "model_b": row["model_b"],
             "rating_left": row["score_a"], "rating_right": row["score_b"]} for row in rows]  # fmt: skip
    with pytest.raises(InputError, match="scores of places, and model_a and model_b name the systems by letters"):
        means(tmp_path, rows)


def test_a_rating_of_a_place_is_that_of_the_system_that_stood_there(tmp_path):
    rows = [one for pair in table(lambda v: [
        {"item": f"i{v.n}", "rater": "r", "left_model": v.on_left, "right_model": v.on_right, "position": side,
         "score": points(v, system)} for side, system in (("left", v.on_left), ("right", v.on_right))
    ]) for one in pair]  # fmt: skip
    assert means(tmp_path, rows, columns={"system": "position"}) == HIGHER
    bare = [{name: cell for name, cell in row.items() if "model" not in name} for row in rows]
    with pytest.raises(InputError, match=r"position holds sides \(.*\) and no systems"):
        means(tmp_path, bare, columns={"system": "position"})


@pytest.mark.parametrize("measure", ["score", "rank"])
def test_letters_of_a_column_of_systems_are_systems_and_those_of_places_are_nobodys(measure, tmp_path):
    def rows(column):
        return [
            {"item": f"i{n}", "rater": f"r{n % 5}", column: letter, measure: value + 3 * (measure == "score")}
            for n in range(20)
            for letter, value in (("A", 1), ("B", 2))
        ]

    named = study_of_table(worlds.write(tmp_path / "named.csv", rows("model")))
    assert (named.ratings or named.votes).systems == ("A", "B")
    for place in ("response", "side"):
        with pytest.raises(InputError, match=f"{place} (holds sides|names the response)|no column 'choice'"):
            study_of_table(worlds.write(tmp_path / f"{place}.csv", rows(place)))


def test_scores_that_look_like_ranks_are_asked_about(tmp_path):
    rows = [one for pair in table(lambda v: [
        {"item": f"i{v.n}", "rater": "r", "system": system, "score": 1 if v.won == system else 2}
        for system in ("alpha", "beta")
    ]) for one in pair]  # fmt: skip
    with pytest.raises(InputError, match=r"could be ranks.*analysis ranks .* --columns rank=score"):
        means(tmp_path, rows)
    assert means(tmp_path, rows, columns={"rank": "-"}) == {"alpha": 1.2, "beta": 1.8}


@pytest.mark.parametrize("tied", [(1, 1, 3), (1, 2.5, 2.5), (2, 2, 3), (1, 1, 2), (1, 3, 3)])
def test_ranks_with_ties_in_a_column_a_system_lead_nobody_astray(tmp_path, tied):
    names = ("alpha", "beta", "gamma d")
    sheets = [(1, 2, 3), (1, 2, 3), (1, 3, 2), (1, 2, 3), tied]
    rows = [{"item": number, **dict(zip(names, sheet, strict=True))} for number, sheet in enumerate(sheets)]
    path = worlds.write(tmp_path / "ranks.csv", rows)
    command = "analysis ranks .*ranks.csv --systems 'alpha,beta,gamma d'"
    with pytest.raises(InputError, match=rf"could be ranks.*{command}.*--columns rank=-"):
        ratings_of(path, names)
    with pytest.raises(InputError, match=rf"hold the ranks of a system each, 1 the best\? .*{command}"):
        study_of_table(path)
    assert ranks_of(path, names).ranks and not ratings_of(path, names, columns={"rank": "-"}).ranks
    found = compare_ranks(ranks_of(path, names))
    assert found.systems[0].system == "alpha"


def test_the_errors_of_mqm_add_up_by_segment(tmp_path):
    rows = [one for several in table(lambda v: [
        {"system": system, "doc": f"d{v.n // 10}", "seg_id": v.n, "rater": "rater1", "source": "s", "target": "t",
         "category": "Fluency", "severity": severity}
        for system in ("alpha", "beta") for severity in (["no-error"] if system == v.won else ["Major", "minor"])
    ]) for one in several]  # fmt: skip
    assert means(tmp_path, rows) == {"alpha": pytest.approx(-1.2), "beta": pytest.approx(-4.8)}


def test_appraise_and_pearmut_are_read_as_they_export(tmp_path):
    rows = [one for both in table(lambda v: [
        {"UserID": "u1", "SystemID": system, "SegmentID": v.n, "Type": "TGT", "Source": "eng", "Target": "deu",
         "Score": points(v, system), "DocumentID": f"d{v.n // 10}", "StartTime": 1.0, "EndTime": 2.0}
        for system in ("alpha", "beta")
    ]) for one in both]  # fmt: skip
    assert means(tmp_path, rows) == HIGHER
    rows = table(lambda v: {"user_id": "u1", "item_id": f"i{v.n}", "annotations": [
        {system: {"score": points(v, system), "error_spans": []} for system in ("alpha", "beta")}]})  # fmt: skip
    found = ratings_of(worlds.write(tmp_path / "pearmut.jsonl", rows))
    assert [float(side.mean()) for side in (found.contrasts[0].first, found.contrasts[0].second)] == [4.2, 2.8]


def test_raters_of_one_item_hang_together_where_every_system_has_a_column():
    rows = [{"item_id": f"i{n % 4}", "rater": f"r{n // 4}", "alpha": 1 + n % 5, "beta": 1 + n % 3} for n in range(12)]
    table = ratings_of(rows, ["alpha", "beta"])
    assert len(set(table.rows.votes.pair.tolist())) == 4 and len(table) == 24
    nameless = [{name: cell for name, cell in row.items() if name != "item_id"} for row in rows]
    assert len(set(ratings_of(nameless, ["alpha", "beta"]).rows.votes.pair.tolist())) == 12
