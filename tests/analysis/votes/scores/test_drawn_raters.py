"""Raters that are some of many (seeds of a discriminator): what is compared is the mean over them, with their error."""

import dataclasses
import math

import numpy as np
import pytest

from seedvote.analysis.questions.comparison.answer import answer
from seedvote.analysis.questions.comparison.showing import parts
from seedvote.analysis.questions.comparison.verdicts import verdicts
from seedvote.analysis.questions.variance.answer import answer as variance
from seedvote.analysis.questions.variance.showing import study_tables
from seedvote.analysis.stats.components import estimate_components
from seedvote.analysis.votes.scores.panel import methods
from seedvote.analysis.votes.study import read_study
from tests.analysis.evaluators_study import DIALOGUES, card, rows, write

RATERS = ("lstm seed 0", "lstm seed 1", "lstm seed 2")
DRAWN = {"mine": dataclasses.replace(card(), raters="drawn")}


@pytest.fixture
def table():
    """Three raters of unequal sharpness judge the same items."""
    return [row | {"rater": name, "score": row["score"] + k * (0.05 if row["model"] == "good" else 0.01)}
            for k, name in enumerate(RATERS) for row in rows("mine")]  # fmt: skip


def panels(path, table, cards):
    """What the study holds, one panel a line."""
    return [one.panel for one in answer(read_study(write(path / "mine.parquet", table, cards))).panels]


def test_one_line_a_task_with_the_mean_over_raters_and_their_error_by_hand(tmp_path, table):
    (panel,) = panels(tmp_path, table, DRAWN)
    good = [row for row in table if (row["model"], row["seed"]) == ("good", 1)]
    at = panel.systems.index(("good", 1))
    assert panel.values[at] == pytest.approx(100 * np.mean([row["score"] for row in good]))
    of_raters = [np.mean([row["score"] for row in good if row["rater"] == name]) for name in RATERS]
    (found,) = [method for method in methods(panel) if method.model == "good"]
    assert found.rater_se[1] == pytest.approx(100 * np.std(of_raters, ddof=1) / math.sqrt(3))
    of_dialogues = [np.mean([row["score"] for row in good if row["cluster"] == f"d{n}"]) for n in range(DIALOGUES)]
    assert found.item_se[1] == pytest.approx(100 * np.std(of_dialogues, ddof=1) / math.sqrt(DIALOGUES))
    assert panel.covariance["both"] == pytest.approx(panel.covariance["items"] + panel.covariance["raters"])


def test_the_order_is_told_with_new_raters_too(tmp_path, table):
    found = answer(read_study(write(tmp_path / "mine.parquet", table, DRAWN)))
    (order,) = [one.order for one in found.orders]
    assert order.flips["raters"] is not None
    assert order.flips["everything"].p >= max(order.flips[way].p for way in ("seeds", "items"))
    assert "in a re-run with new seeds, items and raters" in " ".join(verdicts(found))
    assert "lstm seed" not in " ".join(map(str, parts(found)))


def test_raters_that_stand_apart_keep_a_line_each(tmp_path, table):
    found = panels(tmp_path, table, {"mine": card()})
    assert {panel.name for panel in found} == {f"quality, {name}" for name in RATERS}
    assert {tuple(panel.clusters) for panel in found} == {("items",)}


def test_absent_rater_leaves_the_rater_error_unknown(tmp_path, table):
    some = [row for row in table if (row["model"], row["rater"]) != ("poor", RATERS[2])]
    (panel,) = panels(tmp_path, some, DRAWN)
    assert "raters" not in panel.covariance
    assert len(panel.systems) == 6


def test_the_variance_has_seeds_in_models_dialogues_and_raters_as_levels(tmp_path, table):
    study = read_study(write(tmp_path / "mine.parquet", table, DRAWN))
    (found,) = variance(study_tables(study, [one.panel for one in answer(study).panels])).tables
    levels = {part.name: part.levels for part in found.components}
    assert (levels["model"], levels["model:seed"], levels["item"], levels["rater"]) == (2, 6, DIALOGUES, 3)
    # By hand: the mean of each model, seed, dialogue and rater.
    cells: dict[tuple[str, int, str, str], list[float]] = {}
    for row in table:
        cells.setdefault((row["model"], row["seed"], row["cluster"], row["rater"]), []).append(100 * row["score"])
    codes = [np.unique([key[k] for key in cells], return_inverse=True)[1] for k in range(4)]
    factors = dict(zip(("model", "seed", "item", "rater"), codes, strict=True))
    terms = [part.factors for part in found.components[:-1]]
    twin = estimate_components(np.array([np.mean(one) for one in cells.values()]), factors, terms,
                      generator=np.random.default_rng(0), sets=2)  # fmt: skip
    assert [part.value for part in found.components] == pytest.approx([part.value for part in twin.parts])
