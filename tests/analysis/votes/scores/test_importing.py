"""Anybody's own metric beside people: tables of every form, held against the study's responses."""

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.questions.comparison.answer import answer
from seedvote.analysis.votes.scores import importing
from seedvote.analysis.votes.study import read_study
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Response
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.dialogue.tables import reading

MODELS, SEEDS, ITEMS = ("good", "poor"), (0, 1), [f"d{n // 2}:{n % 2}" for n in range(12)]


def responses(checkpoints=("last",)):
    return [Response(item, model, seed, checkpoint, "text") for model in MODELS for seed in SEEDS
            for checkpoint in checkpoints for item in ITEMS]  # fmt: skip


def table(**more):
    """One row a response: f1 as a share, and perplexity, which `good` has lower."""
    return [
        {"model": r.model, "seed": r.seed, "item": r.item, "f1": 0.3 + 0.2 * (r.model == "good") + 0.01 * n,
         "perplexity": 40 - 9 * (r.model == "good") + 0.1 * n * (-1) ** r.seed} | more
        for r in responses() for n in [ITEMS.index(r.item)]
    ]  # fmt: skip


@pytest.fixture
def study(tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()
    write_records(folder / "responses.jsonl", responses(), signature="r|v:0", kind=Response)
    return folder


@pytest.fixture
def bring(study, tmp_path, capsys):
    """Import rows (or a file) as the command does; what it prints."""

    def run(rows, *options, name="mine", form="csv"):
        path = tmp_path / f"scores.{form}"
        frame = pd.DataFrame(rows)
        if form == "csv":
            frame.to_csv(path, index=False)
        elif form == "tsv":
            frame.to_csv(path, index=False, sep="\t")
        elif form == "xlsx":
            frame.to_excel(path, index=False)
        elif form == "parquet":
            frame.to_parquet(path)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        words = ["import-scores", study, path, "--evaluator", name, *options]
        assert dispatch("analysis", "", COMMANDS, [str(word) for word in words]) == 0
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_every_form_of_a_table_becomes_the_same_scores(study, bring, form):
    said = bring(table(), "--title", "our scores", form=form)
    assert "mine.parquet: 96 scores of mine (f1, perplexity)" in said
    assert "48 of 48 responses have a score (100.0 %)" in said and "missing" not in said
    found = pq.read_table(study / "mine.parquet").to_pandas()
    assert found.groupby("task").score.mean().to_dict() == pytest.approx(
        pd.DataFrame(table())[["f1", "perplexity"]].mean().to_dict()
    )
    assert set(found.checkpoint) == {"last"} and set(found.cluster) == {f"d{n}" for n in range(6)}


def test_a_row_a_score_reads_as_a_column_a_metric(study, bring):
    bring(table(), "--metrics", "f1")
    wide = (study / "mine.parquet").read_bytes()
    long = [{"m": r["model"], "seed": r["seed"], "item": r["item"], "task": "f1", "score": r["f1"]} for r in table()]
    bring(long, "--columns", "model=m", "--replace")
    one, other = (pq.read_table(path).to_pylist() for path in (study / "mine.parquet", _written(study, wide)))
    assert one == other


def _written(study, raw):
    path = study.parent / "wide.parquet"
    path.write_bytes(raw)
    return path


def test_title_direction_and_chance_follow_from_the_options(study, bring):
    bring(table(), "--metrics", "perplexity", "--better", "lower", "--title", "surprise", "--chance", 20)
    found = answer(read_study(study))
    assert {one.method.shown.label for one in found.methods} == {"surprise: perplexity (lower is better)"}
    order = found.orders[0].order
    assert (order.first, order.sign, order.second) == ("good", "<", "poor") and order.difference < 0
    assert found.methods[0].method.shown.chance == 20
    assert not found.methods[0].method.shown.beyond_chance(31)


def test_a_card_file_gives_every_metric_its_own(study, bring, tmp_path):
    tasks = {"f1": {"unit": "share", "scale": 100, "better": "higher"}, "perplexity": {"main": False}}
    (tmp_path / "card.json").write_text(json.dumps({"title": "judge", "order": 4, "tasks": tasks}))
    bring(table(), "--card", tmp_path / "card.json")
    found = answer(read_study(study))
    assert {one.method.name for one in found.methods} == {"f1"} and found.methods[0].method.values[0] > 30
    assert "judge perplexity (its card does not compare models by it)" in str(found.not_compared[0])
    with pytest.raises(InputError, match=r"--card says it all; leave out --title"):
        bring(table(), "--card", tmp_path / "card.json", "--title", "x")


def test_the_same_again_changes_nothing_and_another_table_asks_to_replace(study, bring):
    bring(table())
    before = (study / "mine.parquet").stat().st_mtime_ns
    assert "mine.parquet: holds these scores already" in bring(table())
    assert (study / "mine.parquet").stat().st_mtime_ns == before
    with pytest.raises(InputError, match=r"holds other scores or another card. Add --replace"):
        bring(table(f1=0.5))
    with pytest.raises(InputError, match=r"Add --replace"):
        bring(table(), "--better", "lower")
    assert "96 scores" in bring(table(f1=0.5), "--replace")


def test_what_the_table_leaves_out_is_missing_for_every_model_and_said(study, bring):
    """Only `good` lacks its hard items: over what is left it would look worse or better than it is."""
    rows = [row for row in table() if not (row["model"] == "good" and row["item"] in ITEMS[:3])]
    said = bring(rows, "--metrics", "f1", "--unit", "share", "--better", "higher")
    assert "42 of 48 responses have a score (87.5 %)" in said
    assert "6 scores missing, and never averaged: no row in scores.csv 6" in said
    assert "no score: good seed 0 last, 3 responses" in said
    found = answer(read_study(study))
    assert {one.method.items for one in found.methods} == {9}
    assert found.orders[0].order.difference == pytest.approx(20)
    assert "; 3 items are left out for every model" in found.missing[0]


def test_empty_cells_and_infinity_are_missing_with_their_reasons(study, bring):
    rows = table()
    for row, score in zip(rows, (None, float("inf"), float("nan")), strict=False):
        row["f1"] = score
    rows[3] |= {"f1": None, "reason": "refused"}
    said = bring(rows, "--metrics", "f1", form="parquet")
    assert "4 scores missing" in said and "refused 1" in said and "it is inf 1" in said


def test_a_part_of_the_items_by_design_is_no_gap(study, bring):
    said = bring([row for row in table() if row["item"] in ITEMS[:6]], "--metrics", "f1")
    assert "24 of 48 responses have a score (50.0 %)" in said and "missing" not in said


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"item": "d99:1"}, r"scores.csv: 1 row scores a response that responses.jsonl does not have: .*scores.csv:2 "
                            r"\(d99:1 of good seed 0 last\). Its items look like 'd0:0'"),
        ({"model": "other"}, r"Its models are good seed 0 last, good seed 1 last"),
        ({"seed": None}, r"The table names no seed: --columns seed=\.\.\."),
        ({"f1": "high"}, r"scores.csv:2: f1 is 'high', which is not a number"),
        ({"item": "d0:1"}, r"scores.csv:3: d0:1 of good seed 0 last has a score for f1 already \(.*scores.csv:2\)"),
        ({"model": ""}, r"scores.csv:2: model is empty"),
    ],
)  # fmt: skip
def test_a_row_that_fits_no_response_is_refused_by_its_line(study, bring, change, sentence):
    rows = table()
    rows[0] |= change
    with pytest.raises(InputError, match=sentence):
        bring(rows, "--metrics", "f1")
    assert not (study / "mine.parquet").exists()


def test_a_checkpoint_is_asked_for_where_the_study_has_several(study, bring):
    write_records(study / "responses.jsonl", responses(("last", "best_bleu")), signature="r|v:0", kind=Response)
    with pytest.raises(InputError, match=r"checkpoint is empty, and responses.jsonl has best_bleu, last of good"):
        bring(table())
    assert "48 of 96 responses" in bring(table(checkpoint="last"))


@pytest.mark.parametrize("name", ["people", "People", "token", "baseline", "metrics", "a/b", "../x", "", "m" * 200])
def test_a_name_that_something_else_has_is_refused(bring, name):
    with pytest.raises(InputError, match=r"--evaluator (is|has)"):
        bring(table(), name=name)


def test_percentages_called_shares_and_names_that_fill_a_line_are_refused(study, bring):
    with pytest.raises(InputError, match=r"scores.csv:2: perplexity is 31, and the card says it is a share, which is"):
        bring(table(), "--unit", "share")
    with pytest.raises(InputError, match=r"the name of the metric 'm{20}' has 61 signs"):
        bring([{"model": "good", "seed": 0, "item": "d0:0", "m" * 61: 1}])
    assert not (study / "mine.parquet").exists()


def test_missing_columns_and_counts_are_refused(bring):
    with pytest.raises(InputError, match=r"has no column for item=id \(found: model"):
        bring(table(), "--columns", "item=id")
    with pytest.raises(InputError, match=r"has no column 'bleurt'"):
        bring(table(), "--metrics", "bleurt")
    with pytest.raises(InputError, match=r"added up as ratio, which needs the columns numerator, denominator"):
        bring(table(), "--metrics", "f1", "--aggregate", "ratio")
    with pytest.raises(InputError, match=r"has no column 'model'"):
        bring([{"item": "d0:0", "f1": 1}])


def test_counts_are_added_up_to_the_corpus_metric(study, bring):
    bring(table(numerator=1, denominator=4), "--metrics", "f1", "--aggregate", "ratio", "--better", "higher")
    assert answer(read_study(study)).methods[0].method.values == pytest.approx((0.25, 0.25))


def test_another_card_is_refused_before_writing(study, bring):
    bring(table(), "--better", "higher")
    (study / "mine.parquet").rename(study / "copy.parquet")
    with pytest.raises(InputError, match=r"copy.parquet and the card of mine bring different cards"):
        bring(table(), "--better", "lower")
    assert not (study / "mine.parquet").exists()


def test_baselines_stand_beside_and_dialogues_may_be_scored(study, bring):
    whole = [
        {"model": m, "seed": s, "item": f"d{n}", "success": n % 2} for m in MODELS for s in SEEDS for n in range(6)
    ]
    whole += [{"model": "random", "seed": None, "item": f"d{n}", "success": 0} for n in range(6)]
    said = bring(whole, "--level", "dialogue", "--baselines", "random", "--unit", "share", "--better", "higher")
    assert "24 of 24 responses have a score" in said
    found = answer(read_study(study))
    assert [(one.name, one.value) for one in found.baselines] == [("random", 0.0)]
    assert found.methods[0].method.values == pytest.approx((50, 50)) and found.methods[0].method.items == 6


def test_without_responses_the_sides_of_pairs_count(study, bring):
    (study / "responses.jsonl").unlink()
    with pytest.raises(InputError, match=r"has neither responses.jsonl nor pairs.jsonl"):
        bring(table())
    sides = [Candidate("x", model, 0, "last") for model in MODELS]
    pairs = [Pair(f"p{n}", item, (), *sides) for n, item in enumerate(ITEMS)]
    write_records(study / "pairs.jsonl", pairs, signature="p|v:0", kind=Pair)
    assert "24 of 24 responses have a score" in bring([row for row in table() if row["seed"] == 0])


def test_columns_of_text_are_named_as_not_read(bring):
    assert "columns not read: answer" in bring(table(answer="good morning, sir"))


@pytest.mark.parametrize("word", ["N/A", "n.a.", "None", "-"])
@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "xlsx", "parquet"])
def test_one_cell_without_a_number_is_one_missing_score(bring, word, form):
    rows = [{**row, "f1": str(row["f1"])} for row in table()]
    rows[3]["f1"] = word
    said = bring(rows, form=form)
    assert "96 scores of mine (f1, perplexity)" in said and "1 score missing, and never averaged: empty cell 1" in said


@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx"])
def test_a_stray_word_is_refused_by_its_line_and_does_not_hide_the_metric(study, bring, form):
    rows = table()
    rows[3]["f1"] = "timeout"
    with pytest.raises(InputError, match=r"scores\.\w+:? ?(row )?[45]: f1 is 'timeout', which is not a number"):
        bring(rows, form=form)
    assert "48 scores of mine (perplexity)" in bring(rows, "--metrics", "perplexity", form=form)


def test_names_in_capitals_and_nested_ones_and_an_index_of_pandas_are_read(study, bring):
    capitals = [
        {"Unnamed: 0": n, **{name.title(): cell for name, cell in row.items()}} for n, row in enumerate(table())
    ]
    assert "96 scores of mine (F1, Perplexity)" in bring(capitals)
    nested = [{"meta": {name: row.pop(name) for name in ("model", "seed", "item")}, **row} for row in table()]
    assert "96 scores of mine (f1, perplexity)" in bring(nested, "--replace", form="jsonl")


def test_a_table_in_many_parts_is_the_same_file(study, bring, monkeypatch):
    rows = [row for row in table() if row["item"] != ITEMS[5] or row["model"] == "good"]
    bring(rows, form="parquet")
    whole = pq.read_table(study / "mine.parquet").to_pandas()
    monkeypatch.setattr(reading, "ROWS", 7)
    monkeypatch.setattr(importing, "ROWS", 7)
    for form in ("csv", "jsonl", "parquet"):
        bring(rows, "--replace", form=form)
        parts = pq.read_table(study / "mine.parquet").to_pandas()
        parts["reason"] = parts.reason.str.replace(f"scores.{form}", "scores.parquet")
        pd.testing.assert_frame_equal(parts, whole)
        assert len(parts) == 96
    twice = [*rows, rows[0]]
    with pytest.raises(InputError, match=rf"scores.csv:{len(rows) + 2}: d0:0 of .* already \(.*scores.csv:2\)"):
        bring(twice, "--replace")


def test_an_import_that_dies_leaves_the_file_as_it_was(study, bring, monkeypatch):
    bring(table())
    before = (study / "mine.parquet").read_bytes()
    monkeypatch.setattr(reading, "ROWS", 7)
    rows = table(f1=0.5)
    rows[40]["item"] = "d99:1"
    with pytest.raises(InputError, match=r"1 row scores a response that responses\.jsonl does not have"):
        bring(rows, "--replace")
    assert (study / "mine.parquet").read_bytes() == before and {path.name for path in study.iterdir()} == {
        "mine.parquet", "responses.jsonl",
    }  # fmt: skip
