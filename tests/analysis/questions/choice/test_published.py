"""The paper's own table: its stars and the numbers of answers that its half-widths imply."""

import csv

import pytest

from seedvote.analysis.questions.choice.answer import half_width, published_cells, too_few, wilson


def test_the_rule_gives_exactly_the_two_starred_cells():
    cells = published_cells()
    assert len(cells) == 14
    assert [too_few(one.share, one.implied) for one in cells] == [one.starred for one in cells]
    assert sum(one.starred for one in cells) == 2


def test_the_cells_are_those_of_the_paper_and_imply_as_many_answers(pytestconfig):
    path = pytestconfig.rootpath.parent / "shared" / "tables" / "published_nuc_table2.csv"
    if not path.exists():
        pytest.skip("the paper's table is not beside the project (../shared/tables)")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [(one.group, one.corpus, one.metric, one.implied) for one in published_cells()] == [
        (row["group"], row["corpus"], row["metric"], int(row["implied_n"])) for row in rows
    ]
    assert [int(one.starred) for one in published_cells()] == [int(row["starred"]) for row in rows]


def test_half_widths_follow_from_implied_answers_and_wilson_stays_within():
    for one in published_cells():
        assert half_width(one.share, one.implied) == pytest.approx(one.half, abs=0.0006)
        low, high = wilson(one.share, one.implied)
        assert 0 < low < one.share < high < 1
    assert max(one.share + one.half for one in published_cells()) > 1  # what the stars are for
    assert wilson(1.0, 10)[1] == 1.0
    assert wilson(0.0, 10)[0] == 0.0
