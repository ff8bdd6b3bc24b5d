"""The papers' numbers, read as they must be."""

import csv

import pytest

from seedvote.analysis.questions.comparison import published
from seedvote.analysis.questions.comparison.published import difficulty_groups

SCORES = published.read_published()


def test_hreds_plus_minus_is_an_sd_of_32_points():
    (cell,) = [
        s for s in SCORES if (s.task, s.model, s.checkpoint, s.printed) == ("UtteranceLoc", "hred", s.checkpoint, 10.39)
    ]
    assert cell.sd == pytest.approx(32.2, abs=0.05)


def test_the_difficulty_groups_of_the_paper_come_out_in_all_fifteen_cells(pytestconfig):
    with (pytestconfig.rootpath / "tests" / "golden" / "difficulty_groups.csv").open(newline="") as handle:
        printed = {(row["model"], row["group"]): row for row in csv.DictReader(handle)}
    found = {(g.model, g.group): g for g in difficulty_groups(SCORES)}
    assert len(printed) == 15 and found.keys() == printed.keys()
    for key, row in printed.items():
        assert found[key].mean == pytest.approx(float(row["mean_f1"]), abs=0.1)
        assert found[key].sd == pytest.approx(float(row["sd_across_tasks"]), abs=0.1)


def test_the_groups_hold_the_tasks_that_the_paper_names():
    groups = {g.group: set(g.tasks) for g in difficulty_groups(SCORES) if g.model == "hred"}
    assert groups["easy"] == {"IsMultiTopic", "NumAllTopics", "NumRepeatInfo", "RepeatInfo"}
    assert groups["medium"] == {"AllTopics", "NumRecentInfo", "RecentSlots", "UtteranceLoc"}
    assert len(groups["hard"]) == 8
