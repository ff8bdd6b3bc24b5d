"""Systems compared item by item: against published formulas, twins, and logs that mislead."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from seedvote.analysis.notebook import compare_runs, preference
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.run_logs import holds_whole_runs
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.questions import logs

GENERATOR = np.random.default_rng(7)
A = {f"s{n}": [float(GENERATOR.random() < 0.7)] for n in range(60)}
B = {f"s{n}": [float(GENERATOR.random() < 0.4)] for n in range(60)}


def compared(folder, systems, **options):
    paths = {name: logs.table(folder / f"{name}.csv", scores) for name, scores in systems.items()}
    return compare_runs(paths, **options).document


def contrast(document, place=0):
    return document["metrics"][0]["contrasts"][place]


def test_without_clusters_the_difference_is_the_paired_t_test(tmp_path):
    one = contrast(compared(tmp_path, {"a": A, "b": B}, cluster="none"))
    twin = stats.ttest_rel([v[0] for v in A.values()], [v[0] for v in B.values()])
    interval = twin.confidence_interval(0.95)
    assert one["difference"] == pytest.approx(np.mean(list(A.values())) - np.mean(list(B.values())))
    assert (one["low"], one["high"], one["p"]) == pytest.approx((interval.low, interval.high, twin.pvalue))


def test_one_run_beside_an_unstable_system_does_not_hide_what_its_seeds_differ_by(tmp_path):
    """Read as repetitions, the five seeds made the interval as narrow as that of one model."""
    rows = [f"calm,0,s{n},{n % 2}" for n in range(60)]
    rows += [f"wild,{seed},s{n},{float(n % 10 < mean)}" for seed, mean in enumerate((1, 9, 2, 8, 1)) for n in range(60)]
    (tmp_path / "a.csv").write_text("system,seed,item,score\n" + "\n".join(rows) + "\n")
    document = compare_runs([tmp_path / "a.csv"]).document
    assert {system["system"]: system["runs"] for system in document["metrics"][0]["systems"]} == {"calm": 1, "wild": 5}
    one = contrast(document)
    assert one["se"] > np.std([0.1, 0.9, 0.2, 0.8, 0.1], ddof=1) / np.sqrt(5) and not one["over_runs"]


def test_a_frame_of_scores_is_read_as_its_file(tmp_path):
    frame = pd.DataFrame(
        [(name, run, item, score) for name, all_scores in (("a", A), ("b", B)) for run in (0, 1)
         for item, (score,) in all_scores.items()],
        columns=["system", "run", "item", "score"],
    )  # fmt: skip
    frame.to_csv(tmp_path / "scores.csv", index=False)
    of_frame, of_file = compare_runs(frame).document, compare_runs([tmp_path / "scores.csv"]).document
    assert [system["runs"] for system in of_frame["metrics"][0]["systems"]] == [2, 2]
    assert contrast(of_frame) == contrast(of_file)
    one_each = {name: frame[frame.system == name] for name in "ab"}
    assert contrast(compare_runs(one_each).document) == contrast(of_file)


def test_clusters_widen_the_interval_of_items_that_hang_together(tmp_path):
    doubled = {f"s{n}": [float(n // 3 % 2)] for n in range(60)}
    other = {f"s{n}": [float(n // 3 % 4 == 0)] for n in range(60)}
    alone = contrast(compared(tmp_path, {"a": doubled, "b": other}, cluster="none"))
    document = compared(tmp_path, {"a": doubled, "b": other})
    assert document["cluster"] == "passage" and document["metrics"][0]["clusters"] == 20
    assert contrast(document)["se"] > 1.6 * alone["se"]


@pytest.mark.parametrize("tool", ["inspect_log", "lighteval_log", "helm_log", "lm_eval_log"])
def test_every_tool_gives_the_answer_of_the_table(tool, tmp_path):
    expected = contrast(compared(tmp_path, {"a": A, "b": B}, cluster="none"))
    paths = {}
    for name, scores in {"a": A, "b": B}.items():
        folder = tmp_path / tool / name
        folder.mkdir(parents=True)
        place = folder / "log.eval" if tool == "inspect_log" else folder
        paths[name] = getattr(logs, tool)(place, name, scores)
    assert contrast(compare_runs(paths, cluster="none").document) == pytest.approx(expected)


def test_runs_of_one_system_add_their_spread_and_one_run_says_so(tmp_path):
    shifts = (0.0, 0.3, -0.3)
    items = range(40)
    a = [
        logs.table(tmp_path / f"a{k}.csv", {f"s{n}": [n / 40 + shift] for n in items}) for k, shift in enumerate(shifts)
    ]
    b = [logs.table(tmp_path / f"b{k}.csv", {f"s{n}": [n / 40 + 0.1 * k] for n in items}) for k in range(3)]
    several = compare_runs({"a": a, "b": b}, cluster="none")
    one = contrast(several.document)
    assert one["over_runs"] and one["se"] ** 2 == pytest.approx(np.var(shifts, ddof=1) / 3 + 0.01 / 3)
    assert one["items_needed"] is None  # no number of items makes up for three unstable runs
    single = compare_runs({"a": a[:1], "b": b[:1]}, cluster="none")
    assert not contrast(single.document)["over_runs"] and "says nothing about another" not in str(several)
    assert "nothing about another training seed" in str(single)


def test_repetitions_of_an_item_are_averaged_and_are_no_further_items(tmp_path):
    repeated = compared(tmp_path, {"a": {i: v * 5 for i, v in A.items()}, "b": B}, cluster="none")
    assert contrast(repeated) == contrast(compared(tmp_path, {"a": A, "b": B}, cluster="none"))


def test_items_that_one_system_lacks_are_left_out_and_counted(tmp_path):
    short = {item: values for item, values in B.items() if item not in ("s3", "s4")}
    document = compared(tmp_path, {"a": A, "b": short}, cluster="none")
    assert document["metrics"][0]["omitted"] == 2 and document["metrics"][0]["items"] == 58


def test_all_right_against_all_wrong_has_an_interval(tmp_path):
    right, wrong = ({f"s{n}": [score] for n in range(20)} for score in (1.0, 0.0))
    one = contrast(compared(tmp_path, {"a": right, "b": wrong}, cluster="none"))
    assert one["difference"] == 1 and 0.6 < one["low"] < 1 and one["p"] == pytest.approx(2 * 0.5**20)


def test_equal_scores_need_items_for_equivalence(tmp_path):
    few = compared(tmp_path, {"a": A, "b": A}, cluster="none", margin=0.02)
    assert contrast(few)["alike"] is False and contrast(few)["p"] == 1
    assert contrast(compared(tmp_path, {"a": A, "b": A}, cluster="none", margin=0.2))["alike"] is True


def test_holm_covers_all_contrasts_of_a_metric_and_the_leaders_are_named(tmp_path):
    document = compared(tmp_path, {"a": A, "b": B, "c": dict(A)}, cluster="none")
    (metric,) = document["metrics"]
    values = [one["p"] for one in metric["contrasts"]]
    assert max(one["p_holm"] for one in metric["contrasts"]) >= max(values) and metric["level"] == ["a", "c"]


def test_mean_of_tasks_has_the_error_of_its_parts(tmp_path):
    for name, scores in {"a": A, "b": B}.items():
        for task in ("first", "second"):
            logs.lm_eval_log(tmp_path, name, scores, task=task)
    document = compare_runs({"a": tmp_path / "a", "b": tmp_path / "b"}, cluster="none").document
    first, _, whole = document["metrics"]
    assert whole["task"] == "mean of all tasks" and whole["items"] == 120
    assert whole["contrasts"][0]["se"] == pytest.approx(first["contrasts"][0]["se"] / np.sqrt(2))


def test_runs_over_different_versions_of_the_data_are_refused(tmp_path):
    paths = [logs.inspect_log(tmp_path / f"{name}.json", name, A) for name in "ab"]
    log = json.loads(paths[1].read_text())
    log["samples"][5]["target"] = "something else"
    paths[1].write_text(json.dumps(log))
    with pytest.raises(InputError, match=r"b.json: sample 6: item s5 of sums asks something else than in a"):
        compare_runs(paths)


def test_two_logs_of_one_model_ask_whether_they_are_runs_or_settings(tmp_path):
    paths = [logs.inspect_log(tmp_path / f"{n}.json", "same", A) for n in range(2)]
    with pytest.raises(
        InputError, match=r"both of same\. Name them, if they are two settings: first=.* same=.*0.json,"
    ):
        compare_runs(paths)
    assert contrast(compare_runs([f"x={paths[0]}", f"y={paths[1]}"]).document)["difference"] == 0


def test_systems_without_a_common_metric_or_item_are_refused(tmp_path):
    logs.lm_eval_log(tmp_path, "a", A)
    logs.inspect_log(tmp_path / "b.json", "b", B)
    with pytest.raises(InputError, match=r"No two systems have a task and metric in common.*a: sums:exact_match"):
        compare_runs([tmp_path / "a", tmp_path / "b.json"])
    elsewhere = logs.table(tmp_path / "c.csv", {f"t{n}": [1.0] for n in range(5)})
    with pytest.raises(InputError, match="No item was answered by all systems"):
        compare_runs({"a": logs.table(tmp_path / "a.csv", A), "c": elsewhere})
    with pytest.raises(InputError, match="One system"):
        compare_runs({"a": elsewhere})


def test_a_field_that_is_not_there_names_those_that_are(tmp_path):
    path = logs.table(tmp_path / "a.csv", A)
    with pytest.raises(InputError, match=r"item s0 has no field 'chapter'; it has epoch, passage, question_id"):
        compare_runs({"a": path, "b": path}, cluster="chapter")


def test_the_command_prints_tables_and_a_command_that_runs(tmp_path, capsys):
    from seedvote.analysis.__main__ import COMMANDS

    paths = [str(logs.table(tmp_path / f"{name}.csv", scores)) for name, scores in {"a": A, "b": B}.items()]
    assert dispatch("analysis", "", COMMANDS, ["compare-runs", *paths, "--json", str(tmp_path / "c.json")]) == 0
    printed = capsys.readouterr().out
    assert "scores, correct: a scores highest" in printed and "Next: python -m analysis compare-runs" in printed
    words = printed.rpartition("compare-runs ")[2].split()
    assert dispatch("analysis", "", COMMANDS, ["compare-runs", *words]) == 0
    assert json.loads((tmp_path / "c.json").read_text())["metrics"][0]["items"] == 60


def test_the_picture_has_a_line_a_contrast(tmp_path):
    paths = {name: logs.table(tmp_path / f"{name}.csv", scores) for name, scores in {"a": A, "b": B}.items()}
    (figure,) = compare_runs(paths).plot().figures.values()
    assert any(text.get_text() == "a - b" for axes in figure.axes for text in axes.texts)


RUNS = {"ours": [27.1, 27.9, 26.8, 27.5, 27.0], "base": [25.1, 26.6, 25.4, 25.2, 26.9]}


def table_of_runs(folder, runs=RUNS, name="runs.csv", **more):
    rows = [{"model": model, "seed": seed, "lr": 0.1, "bleu": score, **{k: f(score) for k, f in more.items()}}
            for model, scores in runs.items() for seed, score in enumerate(scores)]  # fmt: skip
    pd.DataFrame(rows).sample(frac=1, random_state=1).to_csv(folder / name, index=False)
    return folder / name


def test_runs_without_items_are_compared_by_welchs_t(tmp_path):
    result = compare_runs([table_of_runs(tmp_path)])
    (metric,) = result.document["metrics"]
    twin = stats.ttest_ind(RUNS["ours"], RUNS["base"], equal_var=False)
    one, interval = contrast(result.document), twin.confidence_interval(0.95)
    assert (one["low"], one["high"], one["p"]) == pytest.approx((interval.low, interval.high, twin.pvalue))
    of_one = stats.ttest_1samp(RUNS["ours"], 0).confidence_interval(0.95)
    ours = metric["systems"][0]
    assert (ours["runs"], ours["run_sd"]) == (5, pytest.approx(np.std(RUNS["ours"], ddof=1)))
    assert (ours["low"], ours["high"]) == pytest.approx((of_one.low, of_one.high))
    assert "All systems have runs of the same seed" in str(result) and "say nothing about new items" in str(result)


def test_runs_of_one_seed_are_pairs_only_where_that_is_said(tmp_path):
    result = compare_runs([table_of_runs(tmp_path)], paired=True)
    twin = stats.ttest_rel(RUNS["ours"], RUNS["base"])
    one = contrast(result.document)
    assert (result.document["paired"], one["p"]) == ("run", pytest.approx(twin.pvalue))
    seeds = {"ours": RUNS["ours"], "base": RUNS["base"][:1]}
    with pytest.raises(InputError, match=r"1 run of the same name .* Leave --paired out"):
        compare_runs([table_of_runs(tmp_path, seeds)], paired=True)
    with pytest.raises(InputError, match="paired by item already"):
        compared(tmp_path, {"a": A, "b": B}, paired=True)


@pytest.mark.parametrize(("runs", "df"), [((2, 4), 1), ((2, 2), 2), ((3, 30), 4)])
def test_few_runs_beside_many_have_few_degrees_of_freedom(tmp_path, runs, df):
    few = [20.0, 20.1, 20.05][: runs[0]]
    many = np.random.default_rng(1).normal(22, 0.01 if runs[1] == 30 else 1, runs[1]).tolist()
    assert contrast(compare_runs([table_of_runs(tmp_path, {"a": few, "b": many})]).document)["df"] <= df


def test_one_run_a_system_has_no_interval(tmp_path):
    result = compare_runs([table_of_runs(tmp_path, {"a": [1.0], "b": [2.0], "c": [3.0, 3.5]})])
    assert [contrast["p"] for contrast in result.document["metrics"][0]["contrasts"]] == [None] * 3
    assert "which system is better cannot be said" in str(result) and "2 means of 3 has one run" in str(result)


def test_the_lower_error_is_the_better_one(tmp_path):
    table = table_of_runs(tmp_path, wer=lambda bleu: round(1 - bleu / 100, 4))
    result = compare_runs([table])
    bleu, wer = result.document["metrics"]
    assert [bleu["lower_is_better"], wer["lower_is_better"]] == [False, True]
    assert [metric["systems"][0]["system"] for metric in (bleu, wer)] == ["ours", "ours"]
    items = [
        f"{model},s{n},{0.1 + 0.3 * (model == 'bad') + n % 7 / 100}" for model in ("good", "bad") for n in range(40)
    ]
    (tmp_path / "items.csv").write_text("model,item,error_rate\n" + "\n".join(items) + "\n")
    assert "good scores lowest, which is best" in str(compare_runs([tmp_path / "items.csv"]))


def test_a_column_a_seed_is_a_run_and_no_metric(tmp_path):
    wide = pd.DataFrame([{"model": model, **{f"seed{n}": score for n, score in enumerate(scores)}}
                         for model, scores in RUNS.items()])  # fmt: skip
    wide.to_csv(tmp_path / "wide.csv", index=False)
    of_wide, of_long = (compare_runs([path]).document for path in (tmp_path / "wide.csv", table_of_runs(tmp_path)))
    assert contrast(of_wide)["p"] == pytest.approx(contrast(of_long)["p"])
    assert of_wide["metrics"][0]["systems"][0]["runs"] == 5
    for name, scores in (("a", A), ("b", B)):
        rows = [{"item": item, "seed0": score, "seed1": 1 - score} for item, (score,) in scores.items()]
        pd.DataFrame(rows).to_csv(tmp_path / f"{name}.csv", index=False)
    (metric,) = compare_runs([tmp_path / "a.csv", tmp_path / "b.csv"]).document["metrics"]
    assert (metric["items"], [system["runs"] for system in metric["systems"]]) == (60, [2, 2])


@pytest.mark.parametrize(("column", "cells"), [("epoch", (1, 2)), ("split", ("dev", "test"))])
def test_several_rows_of_a_run_are_refused_with_what_they_differ_in(tmp_path, column, cells):
    table = pd.read_csv(table_of_runs(tmp_path))
    pd.concat([table.assign(**{column: cell}) for cell in cells]).to_csv(tmp_path / "twice.csv", index=False)
    with pytest.raises(InputError, match=rf"a second row of run .*They differ in {column}\."):
        compare_runs([tmp_path / "twice.csv"])
    if column == "split":
        metrics = compare_runs([tmp_path / "twice.csv"], columns={"task": "split"}).document["metrics"]
        assert [metric["task"] for metric in metrics] == ["dev", "test"]


def test_a_table_of_runs_is_known_by_its_rows(tmp_path):
    assert holds_whole_runs(table_of_runs(tmp_path))
    tables = {
        "items": "item,model,seed,score\n1,a,0,1\n2,b,0,1\n",
        "votes": "pair,seed,model,winner\n1,0,a,b\n2,0,b,b\n",
        "one system": "model,seed,score\na,0,1\na,1,2\n",
        "people": "model,seed,rater,score\na,0,x,1\nb,0,x,1\n",
        "no runs": "model,score\na,1\nb,2\n",
    }
    for name, text in tables.items():
        (tmp_path / f"{name}.csv").write_text(text)
        assert not holds_whole_runs(tmp_path / f"{name}.csv"), name


def test_a_column_a_seed_of_one_system_is_no_rating(tmp_path):
    path = tmp_path / "wide.csv"
    pd.DataFrame([{"item": n, "seed0": n % 3, "seed1": n % 4} for n in range(30)]).to_csv(path, index=False)
    with pytest.raises(InputError, match=rf"under several training seeds\? .*compare-runs ours={path} theirs=OTHER"):
        preference(path)


@pytest.mark.parametrize("separator", [",", ";"])
def test_decimal_commas_are_numbers_where_they_cannot_part_thousands(tmp_path, separator):
    table = pd.read_csv(table_of_runs(tmp_path))
    table["bleu"] = table["bleu"].map(lambda score: f"{score:.1f}".replace(".", ","))
    table.to_csv(tmp_path / "comma.csv", index=False, sep=separator)
    of_points, of_commas = (compare_runs([tmp_path / name]).document for name in ("runs.csv", "comma.csv"))
    assert contrast(of_points) == contrast(of_commas)
    table["bleu"] = "27,123"
    table.to_csv(tmp_path / "doubtful.csv", index=False)
    with pytest.raises(InputError, match="Name it: --columns score=NAME"):
        compare_runs([tmp_path / "doubtful.csv"])
    with pytest.raises(InputError, match=r"is '27,123', which is no number\. Decimals need a point"):
        compare_runs([tmp_path / "doubtful.csv"], columns={"score": "bleu"})
