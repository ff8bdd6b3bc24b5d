"""The question of variance: the command, the study's tables, and the report that shows the same numbers."""

import csv
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedvote.analysis import notebook
from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.questions.variance.answer import answer
from seedvote.analysis.questions.variance.cubes import compared_models
from seedvote.analysis.questions.variance.showing import LEAST, section, study_tables
from seedvote.analysis.report.assembly import build_report
from seedvote.analysis.stats.components import RESIDUAL
from seedvote.analysis.votes.long_tables import LongTable, long_from_votes
from seedvote.analysis.votes.scores.study_panels import compared_panels
from seedvote.analysis.votes.study import read_study
from seedvote.analysis.votes.systems import fixed_sides
from seedvote.analysis.votes.votes import votes_from_columns
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.report_study import add_scores, add_votes
from tests.analysis.stats.test_components import crossed_study
from tests.analysis.worlds import Crowd


def score_rows(seed=0):
    score, factors = crossed_study(seed, models=3, items=15)
    for task in ("T1", "T2"):
        for k, value in enumerate(score):
            yield {
                "evaluator": "probe", "task": task, "model": "abc"[factors["model"][k]],
                "seed": int(factors["seed"][k]), "checkpoint": "last", "item": f"d:{factors['item'][k]}",
                "rater": "logistic", "score": float(value),
                "condition": "test",
            }  # fmt: skip


def variance(*words):
    return dispatch("analysis", "", COMMANDS, ["variance", *map(str, words)])


def test_the_command_takes_a_score_table(tmp_path, capsys):
    path = tmp_path / "scores.parquet"
    rows = [*score_rows(), {**next(score_rows()), "seed": None}]
    pq.write_table(pa.Table.from_pylist(rows), path)
    assert variance(path, "--only", "T1", "--sizes", "seed=10,item=500", "--sets", 50, "--json", "-") == 0
    said = json.loads(capsys.readouterr().out)
    (table,) = said["tables"]
    assert table["name"] == "probe T1 last test"
    assert [part["name"] for part in table["components"]] == ["model", "item", "model:seed", "model:item", "residual"]
    assert table["d_study"][0]["sizes"] == {"seed": 10, "item": 500}
    assert {flip["redrawn"][0] for flip in table["flips"]} == {"seed", "item"}
    assert said["warnings"] == ["1 rows have no seed and are left out."]


def test_a_factor_that_the_user_names_has_its_english_plural():
    score, factors = crossed_study(0, models=3, items=15)
    named = {"model": factors["model"], "quality": factors["seed"], "item": factors["item"], "score": score}
    said = str(notebook.variance(named, factors=("model", "quality", "item"), target="model", sets=10))
    assert "\nqualities  items  " in said and "qualitys" not in said


@pytest.mark.usefixtures("drawn")
def test_the_command_takes_votes_and_prints_for_people(tmp_path, capsys):
    path = tmp_path / "votes.csv"
    generator = np.random.default_rng(0)
    with path.open("w", newline="") as handle:
        rows = [[f"p{k // 3}", f"r{generator.integers(9)}", generator.choice(["a", "b", "tie"])] for k in range(240)]
        csv.writer(handle).writerows([["pair", "rater", "choice"], *rows])
    assert variance(path, "--score", "tie", "--sets", 20, "--figure", tmp_path / "ties") == 0
    assert (tmp_path / "ties-1.png").stat().st_size > 5000
    shown = capsys.readouterr().out
    assert "SE of the mean" in shown
    assert "reverse the order" not in shown
    assert shown.endswith(f"Next: python -m analysis plan {path}\n")
    assert variance(path, "--score", "net", "--sets", 20) == 0


def test_variance_names_foreign_votes_and_their_systems(tmp_path, capsys):
    path = tmp_path / "votes.csv"
    rows = "".join(f"p{k},w{k % 7},{'XY'[k % 2]}\np{k},v{k % 5},Z\n" for k in range(20))
    path.write_text("item,worker,label\n" + rows)
    words = (path, "--score", "net", "--sets", 5, "--columns", "pair=item,rater=worker,choice=label")
    words += ("--values", "a=X,b=Y,tie=Z", "--json", "-")

    def mean():
        assert variance(*words) == 0
        said = json.loads(capsys.readouterr().out)
        return said["tables"][0]["mean"], any("No pairs.jsonl" in warning for warning in said["warnings"])

    assert mean() == (0, True)
    one, two = (Candidate("text", "model", seed) for seed in (0, 1))
    turned = [Pair(f"p{k}", "c", (), *((one, two) if k % 2 == 0 else (two, one))) for k in range(20)]
    write_records(tmp_path / "pairs.jsonl", turned, signature="test", kind=Pair)
    assert mean() == (0.5, False)


def test_bad_tables_are_refused_in_a_sentence(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("model,item,value\na,1,0.5\nb,1,0.7\n")
    for words, sentence in (
        ((path,), "no column 'score'"),
        ((path, "--score", "value", "--factors", "model,judge"), "no column 'judge'"),
        ((path, "--score", "value", "--sizes", "item=none"), "--sizes has item=none"),
        ((path, "--score", "value", "--sizes", "items=9"), "--sizes names 'items'"),
        ((path, "--score", "value", "--only", "XYZ"), "No table has all of 'XYZ'"),
    ):
        with pytest.raises(InputError, match=sentence):
            variance(*words)
    path.write_text("pair,rater,choice\np,r,a\np,s,tie\nq,r,b\nq,s,b\n")
    for words, sentence in (
        (("--factors", "model"), "no factor 'model'; votes have pair, rater"),
        (("--target", "judge"), "--target is 'judge', which is no factor here: pair, rater"),
        (("--sets", "0"), "--sets is 0; it must be at least 2"),
    ):
        with pytest.raises(InputError, match=sentence):
            variance(path, "--score", "tie", *words)
    path.write_text("model,item,score\na,1,0.5\na,1,0.7\n")
    with pytest.raises(InputError, match="no scores for two levels"):
        variance(path)
    path.write_text("model,item,score\na,,0.5\n")
    with pytest.raises(InputError, match="no scores for two levels"):
        variance(path)


def test_the_error_of_a_mean_of_votes_knows_their_dialogues():
    """Twenty pairs a dialogue, dialogues that differ by 1 logit: the SE meets the means of such studies."""
    crowd = Crowd(dialogues=40, pairs_each=20, votes_each=3, raters=60, sd_dialogue=1.0)
    means, known, unknown = [], [], []
    for number in range(25):
        study = crowd.study(np.random.default_rng(number))
        names = {name: [f"{name}{code}" for code in study[name]] for name in ("pair", "rater", "dialogue")}
        names["choice"] = np.select([study["score"] > 0, study["score"] < 0], ["a", "b"], "tie").tolist()
        for found in (known, unknown):
            table = answer([long_from_votes(fixed_sides(votes_from_columns(names)), "tie")], sets=2).tables[0]
            found.append(table.design.se**2)
            if found is known:
                assert list(table.design.sizes) == ["dialogue", "pair", "rater"]
                twice = next(line for line in table.d_study if line.sizes["dialogue"] == 80)
                assert twice.observations == table.observations and twice.se < table.design.se
            names.pop("dialogue", None)
        means.append((study["score"] == 0).mean())
    true = np.std(means, ddof=1)  # with an error of 14 %
    assert 0.7 < np.sqrt(np.mean(known)) / true < 1.4
    assert np.sqrt(np.mean(unknown)) / true < 0.75


def test_mean_of_votes_allows_for_uneven_raters():
    crowd = Crowd(dialogues=100, votes_each=3, raters=30, work="pareto")
    means, errors = [], []
    for number in range(40):
        study = crowd.study(np.random.default_rng(number))
        names = {name: [f"{name}{code}" for code in study[name]] for name in ("pair", "rater")}
        names["choice"] = np.select([study["score"] > 0, study["score"] < 0], ["a", "b"], "tie").tolist()
        table = answer([long_from_votes(fixed_sides(votes_from_columns(names)), "tie")], sets=2).tables[0]
        errors.append(table.design.se**2)
        means.append((study["score"] == 0).mean())
    assert 0.85 < np.sqrt(np.mean(errors)) / np.std(means, ddof=1) < 1.3  # all thirty counted alike: 0.74


def test_a_component_below_zero_is_said_to_be_chance(tmp_path, capsys):
    path = tmp_path / "long.csv"
    rows = [(f"p{k // 2}", f"r{k % 2}", "ab"[(k + k // 2) % 2]) for k in range(20)]  # two raters who never agree
    path.write_text("pair,rater,choice\n" + "".join(f"{','.join(row)}\n" for row in rows))
    assert variance(path, "--score", "net", "--sets", 10) == 0
    assert "Below zero by chance, since no variance is: pair, rater. Read it as zero." in capsys.readouterr().out


def test_one_seed_a_model_is_pointed_out(tmp_path, capsys):
    path = tmp_path / "long.csv"
    path.write_text(
        "model,item,score\n" + "".join(f"{m},{i},{(i * 7 + k) % 5}\n" for k, m in enumerate("ab") for i in range(9))
    )
    assert variance(path, "--sets", 10) == 0
    shown = capsys.readouterr().out
    assert "One seed per model" in shown
    assert shown.endswith("Next: python -m analysis plan\n")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return add_scores(add_votes(tmp_path_factory.mktemp("study")), models=("bilstm_attn", "hred"))


def told(capsys, *words):
    assert variance(*words, "--json", "-") == 0
    return json.loads(capsys.readouterr().out)


def test_every_number_of_the_report_is_the_commands(study, capsys):
    whole = told(capsys, study)
    reported = json.loads(json.dumps(build_report(read_study(study)).document["variance"]))
    assert reported == whole and whole["reading"]["form"] == "file of votes"
    assert [table["name"] for table in whole["tables"]] == ["net preference", "ties", "probe: AllSlots"]


def add_unequal_scores(folder):
    """Probe scores of three models under three seeds on 20 dialogues of two items, which differ in all of them."""
    random = np.random.default_rng(4)
    hard = random.random(20)
    rows = []
    for model, ability in (("hred", 0.0), ("seq2seq", 0.4), ("transformer", 0.7)):
        own = random.normal(0, 0.3, 20)
        for seed in range(3):
            lift = ability + random.normal(0, 0.25)
            for item in range(40):
                hit = float(random.random() < lift + hard[item // 2] / 2 + own[item // 2])
                rows.append({
                    "evaluator": "probe", "task": "AllSlots", "model": model, "seed": seed, "checkpoint": "last",
                    "item": f"d{item // 2}:{item}", "cluster": f"d{item // 2}", "rater": "logistic", "condition": "",
                    "score": hit, "stats": {"tp": hit, "fp": 1 - hit, "fn": 1 - hit},
                })  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), folder / "scores.parquet")
    return folder


def test_variance_and_compare_give_one_chance_of_a_reversal(tmp_path, capsys):
    """Both read whole dialogues of the same scores, so the question is one: SE, chance and interval are the same."""
    study = add_unequal_scores(tmp_path)
    (table,) = told(capsys, study)["tables"]
    assert dispatch("analysis", "", COMMANDS, ["compare", str(study), "--json", "-"]) == 0
    compared = json.loads(capsys.readouterr().out)
    orders = {(one["first"], one["second"]): one for one in compared["orders"]}
    ways = {("seed",): "seeds", ("item",): "items", ("seed", "item"): "everything"}
    assert len(orders) == 3 and len(table["flips"]) == 9
    for row in table["flips"]:
        other = orders[row["first"], row["second"]]
        assert row["difference"] == pytest.approx(other["difference"])
        for key, value in other["flips"][ways[tuple(row["redrawn"])]].items():
            assert row[key] == (pytest.approx(value) if isinstance(value, float) else value), key
    assert all(part["value"] > 0 for part in table["components"])  # else variance cuts one off and the two differ
    (share,) = compared["generalisability"]
    assert share["value"] == pytest.approx(table["design"]["generalizability"])


def test_new_seeds_are_unknown_where_a_model_has_one(tmp_path, capsys):
    path = tmp_path / "long.csv"
    rows = [(m, s, i, (7 * i + 3 * s + k) % 5) for k, m in enumerate("ab") for s in range(3 - 2 * k) for i in range(9)]
    path.write_text("model,seed,item,score\n" + "".join(f"{m},{s},{i},{y}\n" for m, s, i, y in rows))
    flips = {tuple(one["redrawn"]): one for one in told(capsys, path, "--sets", 10)["tables"][0]["flips"]}
    assert flips["seed",]["p"] is None and flips["seed", "item"]["low"] is None and flips["item",]["p"] > 0
    assert variance(path, "--sets", 10) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if " > " in line]
    assert [line[-1] for line in lines if line[-2] == "-"] == ["-", "-"]


def test_crossed_target_keeps_nested_seeds_apart(tmp_path, capsys):
    path = tmp_path / "long.csv"
    path.write_text("model,seed,item,score\n" + "".join(
        f"{m},{s},{i},{(7 * i + 3 * s + k + i * s * k) % 5}\n"
        for k, m in enumerate("ab") for s in range(4) for i in range(5)
    ))  # fmt: skip
    found = told(capsys, path, "--target", "item", "--sets", 10)["tables"][0]["flips"]
    ways = {tuple(one["redrawn"]): one["freedom"] for one in found if one["p"] is not None}
    assert ways["seed",] == 7 and ways["model",] == 1


def test_a_table_has_the_same_intervals_whatever_is_asked_beside_it(study, capsys):
    net, ties, probe = told(capsys, study)["tables"]
    assert told(capsys, study / "votes.jsonl", "--score", "net")["tables"] == [net]
    assert told(capsys, study, "--score", "tie")["tables"] == [ties]
    assert told(capsys, study, "--only", "AllSlots")["tables"] == [probe]


def test_the_section_shows_the_answers_numbers(study):
    found = answer(study_tables(read_study(study), compared_panels(read_study(study))[0]))
    (table,) = section(found).tables
    every = [part for one in found.tables for part in one.components]
    parts = [part for part in every if part.share >= LEAST or part.name == RESIDUAL]
    assert len(parts) < len(every)
    assert [row[3] for row in table.rows] == [f"{part.sd:.2f}" for part in parts]
    assert [row[4] for row in table.rows] == [f"{np.sqrt(part.low):.2f} to {np.sqrt(part.high):.2f}" for part in parts]


def test_a_folder_takes_two_models_from_its_score_tables_and_no_factors(study, capsys):
    found = told(capsys, study, "--compare", "hred,bilstm_attn", "--only", "AllSlots")
    assert {row["what"] for row in found["compared"]} == {"hred", "bilstm_attn", "difference"}
    with pytest.raises(InputError, match=r"--factors names the columns of a file, and .* is a folder"):
        variance(study, "--factors", "model")


def test_inseparable_table_is_named_or_refused():
    codes = {name: np.repeat(np.arange(10), 4) for name in ("one", "two")}
    good = LongTable("good", np.random.default_rng(0).normal(size=40), {"one": codes["one"]}, {})
    odd = LongTable("odd", np.ones(1), {"one": np.zeros(1, np.int64)}, {})
    found = answer([good, odd], sets=5)
    assert [table.name for table in found.tables] == ["good"]
    assert found.not_used == ("not compared: odd (One observation has no variance; two or more are needed.)",)
    with pytest.raises(InputError, match="One observation has no variance"):
        answer([odd], sets=5)


def test_missing_score_leaves_its_item_out(tmp_path):
    rows = [
        {"evaluator": "mine", "task": "t", "model": model, "seed": seed, "checkpoint": "last", "item": f"d{n}:1",
         "rater": "r", "score": float(n % 3 + (model == "b")), "cluster": f"d{n}", "condition": ""}
        for model in ("a", "b") for seed in (0, 1) for n in range(30)
    ]  # fmt: skip
    rows[5]["score"] = math.nan
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "mine.parquet")
    lines, told = compared_models([tmp_path / "mine.parquet"], ("a", "b"), paired=True, seed=0)
    found = {line.what: line for line in lines}
    assert told == ("--compare: mine t last of a: 1 score is missing (no reason given 1) and enters no mean; 1 item is "
                    "left out for both models.",)  # fmt: skip
    assert found["difference"].items == 29 and found["difference"].value == pytest.approx(-1)
    assert all(math.isfinite(line.value) and math.isfinite(line.low) for line in found.values())
