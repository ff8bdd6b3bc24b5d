"""Score files of any evaluator: read by their cards, missing scores counted, conditions apart, nothing in silence."""

from functools import partial
from html import escape

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.notebook import compare
from seedvote.analysis.questions.comparison.answer import answer
from seedvote.analysis.questions.comparison.showing import row_figures
from seedvote.analysis.votes.scores import files
from seedvote.analysis.votes.scores.files import read_scores, read_study_scores
from seedvote.analysis.votes.scores.values import Sums, bleu, of_counts
from seedvote.analysis.votes.study import read_study
from seedvote.dialogue.cards import BUILT_IN, Card, TaskCard
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.evaluators_study import MODELS, card, rows, without, write

ROW = {"evaluator": "probe", "task": "AllSlots", "model": "hred", "seed": 0, "checkpoint": "last", "item": "d:1"}
ROW |= {"rater": "logistic", "score": 0.5, "cluster": "d", "condition": ""}


def compared(folder):
    return answer(read_study(folder))


def test_card_gives_title_unit_and_order(tmp_path):
    write(tmp_path / "late.parquet", rows("late"), {"late": card("later judge", order=9)})
    write(tmp_path / "soon.parquet", rows("soon"), {"soon": card("sooner judge", order=3, chance=0.9)})
    found = compared(tmp_path)
    assert [scale.group for scale in found.scales] == ["sooner judge", "later judge"]
    assert {one.panel.shown.chance for one in found.methods} == {90.0, None}
    assert found.methods[0].method.values[0] == pytest.approx(70, abs=8) and found.not_compared == ()


def test_a_file_without_a_card_gets_its_line_and_a_note(tmp_path):
    write(tmp_path / "mine.parquet", rows("mine", base=7.0))
    found = compared(tmp_path)
    assert found.methods[0].method.shown.label == "mine: quality (no card)"
    assert found.methods[0].method.values[0] == pytest.approx(7.2, abs=0.1)  # scale 1
    assert found.missing[0].startswith("mine has no card: its scores are shown as they stand")
    assert "not in points" in str(found.not_compared[0])


def test_counts_make_the_score_where_no_card_says_how(tmp_path):
    table = [row | {"stats": {"tp": 1.0, "fp": 1.0, "fn": 0.0}} for row in rows("x")]
    write(tmp_path / "bare" / "x.parquet", table)
    write(tmp_path / "carded" / "x.parquet", table, {"x": card()})
    bare, carded = (compared(tmp_path / name).methods[0].method.values for name in ("bare", "carded"))
    assert bare == pytest.approx([2 / 3] * 3)
    assert carded[0] == pytest.approx(70, abs=8)  # the mean of the scores


def test_lower_is_better_turns_the_order_and_the_side_of_chance(tmp_path):
    higher = write(tmp_path / "a" / "x.parquet", rows("x"), {"x": card(chance=0.6)})
    lower = write(tmp_path / "b" / "x.parquet", rows("x"), {"x": card(chance=0.6, better="lower")})
    one, other = (compared(folder).orders[0].order for folder in (higher, lower))
    assert (one.first, one.sign) == ("good", ">") and one.difference > 0
    assert (other.first, other.sign) == ("poor", "<") and other.difference == pytest.approx(-one.difference)
    assert one.flips["everything"].p == pytest.approx(other.flips["everything"].p)
    for folder, beaten in ((higher, "poor"), (lower, "good")):
        method = next(m.method for m in compared(folder).methods if m.method.model == beaten)
        assert not method.shown.beyond_chance(float(np.mean(method.values)))


def test_what_is_in_no_points_is_held_against_nothing_in_points(tmp_path):
    write(tmp_path / "ppl.parquet", rows("ppl", base=40, lift=9), {"ppl": card(unit="none", scale=1.0, better="lower")})
    found = compared(tmp_path)
    assert found.costs == () and len(found.methods) == 2
    assert str(found.not_compared[0]) == (
        "not compared: with people's SD, nor counted in seeds: made-up judge: quality (lower is better) (not in points)"
    )


def test_different_cards_of_one_evaluator_are_refused(tmp_path):
    write(tmp_path / "a.parquet", rows("x", models=("good",)), {"x": card()})
    write(tmp_path / "b.parquet", rows("x", models=("poor",)), {"x": card(better="lower")})
    with pytest.raises(InputError, match=r"a.parquet and b.parquet bring different cards for 'x'"):
        compared(tmp_path)


def test_equal_scores_in_two_files_count_once(tmp_path):
    write(tmp_path / "a.parquet", rows("x"), {"x": card()})
    alone = compared(tmp_path)
    write(tmp_path / "b.parquet", rows("x"), {"x": card()})
    both = compared(tmp_path)
    assert both.methods[0].method == alone.methods[0].method
    assert str(both.not_compared[0]) == (
        "not compared: b.parquet (6 of its models and tasks stand in a.parquet too, with the same scores)"
    )
    write(tmp_path / "b.parquet", rows("x", base=0.6), {"x": card()})
    with pytest.raises(InputError, match=r"a.parquet and b.parquet both hold x quality of good seed 0 last, and their"):
        compared(tmp_path)


def test_a_missing_score_is_counted_and_its_item_left_out_for_every_model(tmp_path):
    """The naive way is wrong: `poor` has no score on what is hard, so its mean over the rest flatters it."""
    table = rows("x")
    hardest = {row["item"] for row in sorted(table, key=lambda row: row["score"])[:30]}
    table = without(table, lambda row: row["model"] == "poor" and row["item"] in hardest, "too long")
    write(tmp_path / "x.parquet", table, {"x": card()})
    frame = pd.DataFrame(table)
    kept = frame[~frame.item.isin(hardest)].groupby(["model", "seed"]).score.mean()
    found = compared(tmp_path)
    for one in found.methods:
        assert one.method.values == pytest.approx([100 * kept[one.method.model, s] for s in range(3)])
        assert one.method.items == 40 - len(hardest)
    lost = 3 * len(hardest)
    assert found.missing[0].startswith(
        f"x quality: {lost} scores are missing (too long {lost}) and enter no mean; {len(hardest)} items are"
    )
    assert "left out for every model" in found.missing[0]


def test_a_model_without_any_score_is_left_out_and_takes_no_item_with_it(tmp_path):
    table = without(rows("x"), lambda row: (row["model"], row["seed"]) == ("poor", 2), "refused")
    write(tmp_path / "x.parquet", table, {"x": card()})
    found = compared(tmp_path)
    assert [len(one.method.seeds) for one in found.methods] == [3, 2] and found.methods[0].method.items == 40
    assert "x quality of poor seed 2 last (none of its scores could be made)" in str(found.not_compared[0])


def test_a_scale_that_loses_every_item_is_named(tmp_path):
    table = rows("x") + rows("x", "other")
    half = {"good": "0", "poor": "1"}
    table = without(table, lambda r: r["task"] == "other" and r["item"].endswith(half[r["model"]]), "refused")
    write(tmp_path / "x.parquet", table, {"x": Card("x", 5, {"*": TaskCard()})})
    assert "not compared: x other last (no item has a score from every model)" in map(
        str, compared(tmp_path).not_compared
    )


def test_other_conditions_are_never_pooled_with_clean_ones(tmp_path):
    cards = {"x": card()}
    write(tmp_path / "x.parquet", rows("x") + rows("x", base=0.1, condition="noisy"), cards)
    write(tmp_path / "conditions" / "typos@0.5" / "x.parquet", rows("x", base=0.2), cards)
    found = compared(tmp_path)
    assert found.methods[0].method.values[0] == pytest.approx(70, abs=8) and len(found.methods) == 2
    assert [str(one) for one in found.not_compared] == [
        "not compared: made-up judge of noisy, of typos@0.5 (other conditions are never pooled with clean scores)"
    ]


def test_two_decodings_of_one_task_are_two_scales_that_say_which(tmp_path):
    table = rows("x", condition="greedy") + rows("x", base=0.1, condition="nucleus:0.9")
    write(tmp_path / "x.parquet", table, {"x": card()})
    assert {one.panel.shown.title for one in compared(tmp_path).panels} == {"quality, greedy", "quality, nucleus:0.9"}


def test_baselines_minor_tasks_and_rows_of_people_are_left_out_by_name(tmp_path):
    table = [*rows("x"), *rows("x", "length"), *rows("baseline", models=("tfidf",)), *rows("people", models=("good",))]
    tasks = {"quality": TaskCard("quality", "share", 100.0), "length": TaskCard(better="neither", main=False)}
    write(tmp_path / "x.parquet", table, {"x": Card("judge", 5, tasks, ("tfidf",))})
    found = compared(tmp_path)
    assert {one.method.name for one in found.methods} == {"quality"}
    assert [str(one) for one in found.not_compared] == [
        "not compared: judge length (its card does not compare models by it)",
        "not compared: baseline tfidf (baselines stand beside what they are for)",
        "not compared: people quality of good (what people say is read from votes.jsonl alone)",
    ]
    assert [(one.kind, one.name) for one in found.baselines] == [("x", "tfidf")]


def test_other_parquet_files_of_a_study_are_named(tmp_path):
    write(tmp_path / "x.parquet", rows("x"), {"x": card()})
    pq.write_table(pa.table({"a": [1]}), tmp_path / "notes.parquet")
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({"format": "ranks"}), tmp_path / "ranks.parquet")
    told = [str(one) for one in compared(tmp_path).not_compared]
    assert told[0].startswith("not compared: notes.parquet (its metadata does not say format: scores")
    assert told[1] == "not compared: ranks.parquet (it holds ranks, not scores)"


def test_files_read_in_small_batches_give_the_same_values(tmp_path, monkeypatch):
    table = without(rows("x") + rows("x", "f1"), lambda row: row["item"] == "d3:1", "refused")
    stats = {"tp": 3.0, "fp": 1.0, "fn": 2.0}
    write(tmp_path / "x.parquet", [row | {"stats": stats} for row in table],
          {"x": Card("x", 5, {"quality": TaskCard(), "f1": TaskCard(aggregate="micro_f1")})})  # fmt: skip
    whole = read_study_scores(tmp_path)
    monkeypatch.setattr(files, "BATCH", 7)
    parts = read_study_scores(tmp_path)
    assert whole.values.keys() == parts.values.keys() and whole.missing == parts.missing
    for key, seeds in whole.values.items():
        for seed, value in seeds.items():
            other = parts.values[key][seed]
            assert other.value == pytest.approx(value.value, rel=1e-13) and other.clusters == value.clusters
            assert other.parts == pytest.approx(value.parts, abs=1e-15)
        assert seeds[0].value == pytest.approx(6 / 9) if key.task == "f1" else True


def test_a_ratio_adds_up_its_counts_and_bleu_is_that_of_the_corpus(tmp_path):
    random = np.random.default_rng(0)
    names = ("match1", "total1", "match2", "total2", "length", "reference")
    counts = {name: random.integers(3, 9, 40).astype(float) for name in names}
    counts["total1"] += 9
    counts["total2"] += 9
    value = of_counts("bleu", counts, tuple(map(str, range(40))), 40)
    total = {name: float(part.sum()) for name, part in counts.items()}
    assert value.value == pytest.approx(bleu(total)) and value.parts.sum() == pytest.approx(0, abs=1e-5)
    left = [bleu({name: total[name] - counts[name][g] for name in names}) for g in range(40)]
    jackknife = np.sqrt(39 / 40 * np.square(np.array(left) - np.mean(left)).sum())
    assert value.error == pytest.approx(jackknife, rel=0.05)
    table = [row | {"stats": {"numerator": 1.0, "denominator": 4.0}} for row in rows("x")]
    write(tmp_path / "x.parquet", table, {"x": card(aggregate="ratio", scale=1.0)})
    assert compared(tmp_path).methods[0].method.values == pytest.approx((0.25, 0.25, 0.25))
    assert MODELS == ("good", "poor")


NEEDS = {
    "ratio": "numerator, denominator",
    "bleu": "match1, total1, length, reference",
    "combined": "inform, success, match1, total1, length, reference",
    "micro_f1": "tp, fp, fn",
}


@pytest.mark.parametrize("kind", list(NEEDS))
@pytest.mark.parametrize("stats", [None, {"other": 1.0}], ids=["no stats", "other stats"])
def test_card_with_missing_counts_leaves_a_line(tmp_path, kind, stats):
    """Neither NaN in the tables nor the mean of the scores under the name of a corpus metric."""
    table = [row | ({"stats": stats} if stats else {}) for row in rows("x")]
    write(tmp_path / "x.parquet", table, {"x": card(aggregate=kind)})
    write(tmp_path / "y.parquet", rows("y"), {"y": card("other judge")})
    found = compared(tmp_path)
    assert {one.method.kind for one in found.methods} == {"y"}
    told = f"(its card adds it up as {kind} from the counts {NEEDS[kind]}; rows lack {NEEDS[kind]})"
    assert [str(one) for one in found.not_compared] == [
        f"not compared: x quality of {model} last {told}" for model in MODELS
    ]


def test_missing_or_empty_counts_leave_a_line(tmp_path):
    def stats(row):
        whole = {"numerator": 1.0, "denominator": 0.0 if row["model"] == "poor" else 4.0}
        return (
            {**whole, "denominator": None} if (row["model"], row["seed"], row["item"]) == ("good", 1, "d3:0") else whole
        )

    write(tmp_path / "x.parquet", [row | {"stats": stats(row)} for row in rows("x")], {"x": card(aggregate="ratio")})
    found = compared(tmp_path)
    assert [(one.method.model, one.method.seeds) for one in found.methods] == [("good", (0, 2))]
    assert [str(one) for one in found.not_compared] == [
        "not compared: x quality of good seed 1 last (its card adds it up as ratio from the counts numerator, "
        "denominator; rows lack numerator, denominator)",
        "not compared: x quality of poor last (its counts add up to 0, which makes no ratio)",
    ]


def test_rows_of_two_checkpoints_have_two_names_in_every_figure(tmp_path):
    both = [row | {"checkpoint": name} for name in ("last", "best_bleu") for row in rows("x")]
    write(tmp_path / "x.parquet", both, {"x": card("judge")})
    figures = row_figures(compared(tmp_path))
    assert [figure.name for figure in figures] == ["seed-spread", "values-judge"]
    for figure in figures:
        lines = [row for row in figure.rows if row.marks]
        assert {row.label for row in lines} == {"quality", "quality, best_bleu"} and len(lines) == 2
        assert {row.lines for row in lines} == {len(MODELS)}


@pytest.mark.parametrize("better", ["higher", "lower", "neither"])
def test_figure_marks_follow_the_card(tmp_path, better):
    """Faint is the side of chance that the card calls worse; the figures come in the order of the cards."""
    write(tmp_path / "x.parquet", rows("x"), {"x": card("made-up judge", chance=0.6, better=better)})
    write(tmp_path / "a.parquet", rows("a"), {"a": card("later judge", order=99)})
    answers = compared(tmp_path)
    _, ours, later = row_figures(answers)
    assert (ours.name, later.name) == ("values-made-up judge", "values-later judge")
    (row,) = ours.rows
    values = [float(value) for panel in answers.trained_panels if panel.kind == "x" for value in panel.values]
    marks = [mark for mark in row.marks if mark.shape != "tick"]
    assert [ours.ticks.axis.value(mark.at) for mark in marks] == pytest.approx(values)
    worse = {"higher": lambda value: value <= 60, "lower": lambda value: value >= 60, "neither": lambda _: False}
    assert [mark.shape == "faint" for mark in marks] == [worse[better](value) for value in values]
    assert any(mark.shape == "faint" for mark in marks) == (better != "neither")
    assert not any(mark.shape == "faint" for row in later.rows for mark in row.marks)
    write(tmp_path / "a.parquet", rows("a"), {"a": card("later judge", order=1)})
    assert row_figures(compared(tmp_path))[1].name == "values-later judge"


def test_two_units_of_one_evaluator_are_two_files(tmp_path):
    tasks = {"quality": TaskCard("quality", "share", 100.0), "words": TaskCard("words", "nats")}
    write(tmp_path / "x.parquet", rows("x") + rows("x", "words", base=7.0), {"x": Card("judge", 5, tasks)})
    assert list(compare(tmp_path).plot().figures) == [
        "",
        "-seed-spread-other-units",
        "-values-judge",
        "-values-judge-2",
    ]


@pytest.mark.parametrize("known", [True, False], ids=["with its card", "without a card"])
def test_a_made_up_evaluator_stands_in_variance_page_markdown_and_latex(tmp_path, capsys, known):
    """Better when lower, and all of its scores below chance: title, sign, chance and note follow into every output."""
    told = {"ppl": card("Our perplexity", unit="none", scale=1.0, better="lower", chance=90.0)}
    write(tmp_path / "ppl.parquet", rows("ppl", base=40, lift=9), told if known else None)
    name = "Our perplexity" if known else "ppl"
    assert dispatch("analysis", "", COMMANDS, ["variance", str(tmp_path)]) == 0
    assert name in capsys.readouterr().out
    assert dispatch("analysis", "", COMMANDS, ["report", str(tmp_path)]) == 0
    capsys.readouterr()
    page, plain, latex = ((tmp_path / f"report{suffix}").read_text("utf-8") for suffix in (".html", ".md", ".tex"))
    label = "Our perplexity: quality (lower is better)" if known else "ppl: quality (no card)"
    order, sign = ("poor < good", "<") if known else ("good > poor", ">")
    assert label in page and escape(order) in page
    assert f"| {label} | last | {order.replace(sign, chr(92) + sign)} |" in plain
    assert label in latex and order.replace(sign, f"${sign}$") in latex
    assert ("| 90 |" in plain and "& 90 &" in latex) == known  # the chance line's value
    assert all(("has no card" in written) != known for written in (page, plain))


def test_table_of_0_2_0_gives_the_numbers_of_a_card(tmp_path):
    probe = [{**row, "stats": {"tp": row["score"], "fp": 0.5, "fn": 0.5}} for row in rows("probe", "AllSlots")]
    write(tmp_path / "new" / "scores.parquet", probe, {"probe": BUILT_IN["probe"]})
    old = pa.Table.from_pylist(probe).replace_schema_metadata({"signature": "tasks:AllSlots|v:0.2.0"})
    (tmp_path / "old").mkdir()
    pq.write_table(old, tmp_path / "old" / "scores.parquet")
    one, other = (compared(tmp_path / name) for name in ("old", "new"))
    assert [m.method.shown.label for m in one.methods] == [m.method.shown.label for m in other.methods]
    for mine, theirs in zip(one.methods, other.methods, strict=True):
        np.testing.assert_array_equal(mine.method.values, theirs.method.values)
    assert one.missing == other.missing and one.not_compared == other.not_compared


def test_several_files_are_one_table_and_a_missing_condition_is_empty(tmp_path):
    counted = [ROW | {"stats": {"tp": 1.0, "fp": 0.0, "fn": 1.0}}, ROW | {"stats": {"tp": 2.0, "fp": 1.0, "fn": 0.0}}]
    plain = [ROW | {"evaluator": "token", "task": "distinct-1", "seed": None, "score": s} for s in (0.25, 0.75)]
    pq.write_table(pa.Table.from_pylist(counted), tmp_path / "scores.parquet")
    pq.write_table(pa.Table.from_pylist(plain).drop(["condition"]), tmp_path / "metrics.parquet")
    table = read_scores([tmp_path / "scores.parquet", tmp_path / "metrics.parquet"])
    assert table.column("condition").to_pylist() == [""] * 4
    assert table.column("evaluator").to_pylist() == ["probe", "probe", "token", "token"]


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl", "scores.parquet"])
def test_every_form_of_a_table_reads_the_same(tmp_path, name):
    frame = pd.DataFrame([ROW, ROW | {"item": "d:3", "seed": 1, "score": 0.75}])
    {
        "scores.csv": partial(frame.to_csv, index=False),
        "scores.jsonl": partial(frame.to_json, orient="records", lines=True),
        "scores.parquet": frame.to_parquet,
    }[name](tmp_path / name)
    table, memory = read_scores([tmp_path / name]), read_scores([frame])
    for column in ROW:
        assert table[column].to_pylist() == memory[column].to_pylist(), column
    assert memory["seed"].to_pylist() == [0, 1] and memory["score"].to_pylist() == [0.5, 0.75]


def test_a_table_that_is_none_is_refused_by_name(tmp_path):
    (tmp_path / "scores.parquet").write_text("no")
    with pytest.raises(InputError, match=r"scores.parquet cannot be read as Parquet"):
        read_scores([tmp_path / "scores.parquet"])
    with pytest.raises(InputError, match=r"nowhere.parquet cannot be read: there is no such file"):
        read_scores([tmp_path / "nowhere.parquet"])
    pq.write_table(pa.table({"task": ["x"]}), tmp_path / "scores.parquet")
    with pytest.raises(InputError, match="column evaluator, model, seed"):
        read_scores([tmp_path / "scores.parquet"])


def test_sums_of_nothing_have_no_rows_and_all_fields():
    sums = Sums(("rows", "top", "bottom"))
    groups, clusters, numbers = sums.settled()
    assert (groups.shape, clusters.shape, numbers.shape) == ((0,), (0,), (0, 3))
    for _ in range(2):
        sums.add(np.array([1, 0, 1]), np.array([0, 0, 0]), np.array([[1.0, 2, 3], [1, 0, 5], [1, 1, 1]]))
    groups, clusters, numbers = sums.settled()
    assert groups.tolist() == [0, 1] and clusters.tolist() == [0, 0]
    assert numbers.tolist() == [[2, 0, 10], [4, 6, 8]] and len(sums.waiting) == 1
