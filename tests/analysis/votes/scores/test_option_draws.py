"""Several draws of false options: their part of the variance, within dialogues, against a known truth."""

import numpy as np
import pytest

from seedvote.analysis.questions.variance.answer import answer
from seedvote.analysis.questions.variance.showing import not_used, study_tables
from seedvote.analysis.stats.components import estimate_components, terms_of
from seedvote.analysis.votes.long_tables import NESTED, LongTable
from seedvote.analysis.votes.scores.study_panels import compared_panels
from seedvote.analysis.votes.study import read_study
from tests.analysis.evaluators_study import DIALOGUES, card, rows, write

TRUTH = {"item": 1.0, "item:draw": 0.6, "model:item": 0.3, "model:item:draw": 0.2, "residual": 0.5}


def simulated(random, items=40, draws=3):
    """Scores of two models of three seeds on items with draws of their own; the factors, and the scores."""
    model, seed, item, draw = (one.ravel() for one in np.indices((2, 3, items, draws)))
    factors = {"model": model, "seed": seed, "item": item, "draw": draw}
    score = np.zeros(len(model))
    for name, variance in TRUTH.items():
        shape = [2 if "model" in name else 1, 1, items, draws if "draw" in name else 1]
        size = (2, 3, items, draws) if name == "residual" else shape
        score += np.broadcast_to(random.normal(0, variance**0.5, size), (2, 3, items, draws)).ravel()
    return factors, score


def test_components_find_the_draws_part_in_simulated_studies():
    random = np.random.default_rng(0)
    found = []
    for _ in range(40):
        factors, score = simulated(random)
        parts = estimate_components(score, factors, terms_of(factors, NESTED), generator=random, sets=1).parts
        found.append({part.name: part.value for part in parts})
    assert not {"draw", "model:draw"} & set(found[0])  # a draw's number says nothing beyond its own item
    for name, truth in TRUTH.items():
        values = [one[name] for one in found]
        assert np.mean(values) == pytest.approx(truth, abs=4 * np.std(values) / 40**0.5)


def drawn_study(path, draws=3, keep=lambda row: True):
    """Scores on several draws; `keep` says which rows the study has."""
    table = [
        row | {"condition": f"candidates draw {k}" if k else "", "score": row["score"] + 0.1 * ((7 * n + 3 * k) % 5)}
        for k in range(draws)
        for n, row in enumerate(rows("mine"))
    ]
    return read_study(write(path / "mine.parquet", [row for row in table if keep(row)], {"mine": card()}))


def test_option_draws_have_a_table_of_their_own(tmp_path):
    study = drawn_study(tmp_path / "all")
    first, every = study_tables(study, compared_panels(study)[0])
    once = drawn_study(tmp_path / "once", keep=lambda row: not row["condition"])
    (alone,) = study_tables(once, compared_panels(once)[0])
    assert (first.name, first.score.tolist()) == (alone.name, alone.score.tolist())
    assert every.title == "made-up judge: quality, 3 draws of false options"
    panels, left = compared_panels(study)
    assert {one.why for one in left} == {"further draws of false options"}
    assert not_used(study, panels, left, [first, every]) == []
    (_, table) = answer([first, every], sets=2).tables
    levels = {part.name: part.levels for part in table.components}
    assert (levels["item"], levels["item:draw"]) == (DIALOGUES, 3 * DIALOGUES)
    assert table.design.sizes["draw"] == 3
    assert {one.redrawn for one in table.reversals} == {("seed",), ("item",), ("seed", "item")}


def test_draws_that_leave_a_model_or_a_dialogue_out_are_in_no_table(tmp_path):
    for name, gone in (("model", ("model", "poor")), ("dialogue", ("cluster", "d3"))):
        study = drawn_study(
            tmp_path / name, keep=lambda row, gone=gone: not row["condition"] or row[gone[0]] != gone[1]
        )
        assert len(study_tables(study, compared_panels(study)[0])) == 1


def test_another_draw_is_of_the_item_that_is_compared(tmp_path):
    factors, score = simulated(np.random.default_rng(1), items=4)
    names = {name: tuple(map(str, range(int(codes.max()) + 1))) for name, codes in factors.items()}
    (found,) = answer([LongTable("t", score, factors, names)], target="item", sets=2).tables
    assert ("draw",) in {one.redrawn for one in found.reversals}
