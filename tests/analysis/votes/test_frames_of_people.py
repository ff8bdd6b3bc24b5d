"""Frames and files as people have them: missing values of pandas, names in the index, decimal commas, titles, seeds."""

import pandas as pd
import pyarrow as pa
import pytest

from seedvote.analysis.report.findings import list_limitations
from seedvote.analysis.votes.inputs import as_columns, ratings_of, study_of_table, votes_of
from seedvote.dialogue.errors import InputError

CHOICES = ["a", "b", "tie", "a"] * 6
VOTES = pd.DataFrame(
    {
        "pair": [f"p{row // 3}" for row in range(24)],
        "rater": [f"w{row % 3}" for row in range(24)],
        "choice": CHOICES,
        "system_a": "gpt",
        "system_b": "llama",
    }
)
FRAMES = {
    "index": VOTES.set_index(["pair", "rater"]),
    "nullable": VOTES.assign(flag=pd.array([True, None] * 12, "boolean"), size=pd.array([1, None] * 12, "Int64")),
    "columns called alike": pd.concat([VOTES, VOTES[["system_a"] * 2].set_axis(["note", "note"], axis=1)], axis=1),
    "arrow": pa.Table.from_pandas(VOTES),
}


@pytest.mark.parametrize("name", FRAMES)
def test_the_votes_of_a_frame_are_those_of_the_plain_one(name):
    votes = votes_of(FRAMES[name])
    assert len(votes.pairs) == 8 and len(votes.raters) == 3 and len(votes) == 24


def test_a_choice_that_pandas_lacks_is_no_vote():
    assert len(votes_of(VOTES.assign(choice=VOTES.choice.astype("string").where(VOTES.index != 3)))) == 23


@pytest.mark.parametrize("given", [None, VOTES.choice, VOTES.groupby("rater"), [1, 2]])
def test_what_is_no_table_is_refused_with_what_is(given):
    with pytest.raises(InputError, match=r"is no table\. A DataFrame"):
        as_columns(given)


def test_a_comma_stands_before_decimals_where_semicolons_part_the_cells(tmp_path):
    VOTES.assign(seconds=[1.25, 20.5] * 12).to_csv(tmp_path / "votes.csv", sep=";", decimal=",", index=False)
    assert sorted(set(votes_of(tmp_path / "votes.csv").seconds)) == [1.25, 20.5]
    (tmp_path / "scores.csv").write_text("item;rater;ours;theirs\ni1;w1;3,5;2\ni2;w1;4,25;-1,5\n")
    table = ratings_of(tmp_path / "scores.csv", ["ours", "theirs"])
    assert sorted(table.rows.score) == [-1.5, 2, 3.5, 4.25]
    (tmp_path / "commas.csv").write_text('item,rater,ours,theirs\ni1,w1,"3,500",2\n')
    with pytest.raises(InputError, match="'3,500', which is not a number"):  # it may be thousands
        ratings_of(tmp_path / "commas.csv", ["ours", "theirs"])


def test_a_title_above_the_names_of_a_sheet_is_named(tmp_path):
    rows = [["My evaluation", *[None] * 4], list(VOTES.columns), *VOTES.to_numpy().tolist()]
    pd.DataFrame(rows).to_excel(tmp_path / "votes.xlsx", index=False, header=False)
    with pytest.raises(InputError, match="begins with 'My evaluation' and not with the names"):
        votes_of(tmp_path / "votes.xlsx")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({}, "The table names systems and no training seeds"),
        ({"seed": 1}, "The column seed was not read"),
        ({"system_a": ["gpt-s0", "gpt-s1"] * 12}, "By their names, gpt-s0 and gpt-s1 are seeds of one model."),
        ({"system_a": ["gpt-3", "gpt-4"] * 12}, "The table names systems and no training seeds"),
        ({"seed_a": 1, "seed_b": 2}, "The table names one training seed of each system"),
        ({"seed_a": [1, 2] * 12, "seed_b": 2}, "Every seed is a system of its own here"),
    ],
)
def test_the_report_says_what_the_table_has_of_seeds(tmp_path, columns, said):
    VOTES.assign(**columns, pair=range(24)).to_csv(tmp_path / "votes.csv", index=False)
    sentences = list_limitations(study_of_table(tmp_path / "votes.csv"), [])
    assert any(sentence.startswith(said) for sentence in sentences), sentences


def test_columns_of_numbers_may_be_ratings(tmp_path):
    (tmp_path / "scores.csv").write_text("item,rater,age,ours,theirs\ni1,w1,30,3.5,2\ni2,w1,30,4,1.5\n")
    with pytest.raises(
        InputError, match=r"ours and theirs hold the scores of a system each\?.* --systems ours,theirs$"
    ):
        votes_of(tmp_path / "scores.csv")
    (tmp_path / "long.csv").write_text("item,rater,system,fluency,wit\ni1,w1,x,3.5,2\ni2,w1,y,4,1.5\n")
    with pytest.raises(InputError, match=r"fluency and wit hold scores\?.* --columns score=fluency$"):
        votes_of(tmp_path / "long.csv")
    (tmp_path / "counts.csv").write_text("pair,a,b,tie\np1,2,1,0\n")
    with pytest.raises(InputError, match=r"map it: --columns choice=\.\.\.$"):
        votes_of(tmp_path / "counts.csv")
