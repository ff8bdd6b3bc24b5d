"""`analysis robustness`: paired drops, exactly nothing at dose 0, and nothing left out in silence."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedvote.analysis.notebook import robustness
from seedvote.analysis.questions.table import COMMANDS
from seedvote.analysis.stats.intervals import mean_interval
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import parser_of
from tests.analysis.conditions_study import CARD, make_study, scored, write_table


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    conditions = (("typos@0-0", 0.0), ("typos@0.1-0", 0.05), ("typos@0.8-0", 0.2), ("speech@0.3-0", 0.1))
    return make_study(tmp_path_factory.mktemp("study"), conditions=conditions)


def drops(found, **wanted):
    return [one for one in found.document["drops"] if all(one[name] == value for name, value in wanted.items())]


def test_drops_are_what_was_taken_away_and_dose_0_is_exactly_nothing(study):
    found = robustness(study)
    for model in ("a", "b"):
        (zero,) = drops(found, task="jga", model=model, kind="typos", dose=0.0)
        assert (zero["drop"], zero["se"], zero["low"], zero["high"]) == (0, 0, 0, 0)
        (high,) = drops(found, task="jga", model=model, kind="typos", dose=0.8)
        assert high["low"] < 20 < high["high"] and high["drop"] == pytest.approx(20, abs=1) and high["p_holm"] < 0.001
        assert high["relative"] == pytest.approx(high["drop"] / high["clean"])
    assert "Joint goal accuracy: drops" in str(found) and "One seed alone: b." in str(found)
    assert "paired:dialogue" in found.document["signature"]


def test_a_drop_of_one_seed_is_the_mean_of_paired_differences(study):
    """By hand from the tables: differences of each dialogue, their t interval."""
    import pyarrow.parquet as pq

    def by_dialogue(path):
        rows = [row for row in pq.read_table(path).to_pylist() if (row["model"], row["task"]) == ("b", "jga")]
        return {
            name: np.mean([r["score"] for r in rows if r["cluster"] == name]) for name in {r["cluster"] for r in rows}
        }

    clean, told = by_dialogue(study / "task.parquet"), by_dialogue(study / "conditions/typos@0.1-0/task.parquet")
    plain = mean_interval([100 * (clean[name] - told[name]) for name in sorted(clean)], by={})
    (found,) = drops(robustness(study), task="jga", model="b", kind="typos", dose=0.1)
    assert (found["drop"], found["se"]) == (pytest.approx(plain.value), pytest.approx(plain.se))
    assert (found["low"], found["high"]) == (pytest.approx(plain.low), pytest.approx(plain.high))


def test_where_lower_is_better_a_drop_is_a_rise(study):
    (one,) = drops(robustness(study), task="perplexity", model="a", kind="typos", dose=0.8)
    assert one["value"] > one["clean"] and one["drop"] == pytest.approx(0.2, abs=0.02)


def test_the_highest_dose_is_held_against_the_lowest(study):
    steps = [one for one in robustness(study).document["steps"] if (one["task"], one["model"]) == ("jga", "a")]
    assert [(one["kind"], one["from"], one["to"]) for one in steps] == [("typos", 0.1, 0.8)]
    assert steps[0]["low"] < 15 < steps[0]["high"]


def test_whether_bleu_notices_is_counted(study):
    found = robustness(study)
    notices = found.document["notices"]
    assert (notices["of"], notices["by"], notices["shown"], notices["compared"]) == (
        "joint goal accuracy",
        "BLEU",
        6,
        6,
    )
    assert f"BLEU notices {notices['noticed']} of the 6 drops that joint goal accuracy shows" in str(found)
    assert robustness(study, tasks=["jga"]).document["notices"] is None


def test_part_of_it_can_be_asked_for_and_what_is_not_there_gets_a_sentence(study, tmp_path):
    assert {one["kind"] for one in robustness(study, kinds=["speech"]).document["drops"]} == {"speech"}
    with pytest.raises(InputError, match="There are the kinds speech, typos; the tasks bleu, jga, perplexity"):
        robustness(study, kinds=["noise"])
    write_table(tmp_path / "task.parquet", scored("jga", "a", (0,), 0.5, generator=np.random.default_rng(0)))
    with pytest.raises(InputError, match="has no scores of one model both on the clean corpus and under a condition"):
        robustness(tmp_path)


def test_other_dialogues_names_and_models_without_a_clean_score_are_named(study, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(study, folder)
    generator = np.random.default_rng(0)
    write_table(
        folder / "conditions/verbose@0.5-0/task.parquet",
        [(*row[:3], f"other-{row[3]}", row[4]) for row in scored("jga", "a", (0,), 0.5, generator=generator)],
    )
    write_table(folder / "conditions/odd/task.parquet", scored("jga", "a", (0,), 0.5, generator=generator))
    write_table(folder / "conditions/simple@0.5-0/task.parquet", scored("jga", "c", (0,), 0.5, generator=generator))
    left = {one["what"]: one["why"] for one in robustness(folder).document["not_compared"]}
    assert left == {
        "task jga of a under verbose@0.5-0": "no seed answers the same dialogues twice",
        "conditions/odd": "its name is not KIND@DOSE-SEED",
        "task jga of c under simple@0.5-0": "it has no scores on the clean corpus",
    }


def test_a_dialogue_that_one_side_lacks_is_left_out_of_both_and_counted(study, tmp_path):
    """The drop is that of tables which never had these dialogues: not answered, or answered in fewer turns."""
    lacking, whole = tmp_path / "lacking", tmp_path / "whole"
    for folder in (lacking, whole):
        shutil.copytree(study, folder)
    perturbed = pq.read_table(study / "conditions/typos@0.8-0/task.parquet")
    clean = pq.read_table(study / "task.parquet")
    items = perturbed.column("item").to_pylist()
    gone = np.array([name.startswith("d3:") or name == "d7:1" for name in items])
    pq.write_table(perturbed.filter(pa.array(~gone)), lacking / "conditions/typos@0.8-0/task.parquet")
    for table, place in ((clean, "task.parquet"), (perturbed, "conditions/typos@0.8-0/task.parquet")):
        out = np.array([name.split(":")[0] in ("d3", "d7") for name in table.column("item").to_pylist()])
        pq.write_table(table.filter(pa.array(~out)), whole / place)

    def drop(folder):
        drops = robustness(folder).document["drops"]
        return next(one for one in drops if (one["task"], one["model"], one["dose"]) == ("jga", "a", 0.8))

    found, expected = drop(lacking), drop(whole)
    assert (found["dialogues"], found["dialogues_left_out"]) == (38, 2)
    assert [found[name] for name in ("drop", "low", "high", "clean")] == pytest.approx(
        [expected[name] for name in ("drop", "low", "high", "clean")]
    )
    assert "Up to 2 dialogues of a comparison are left out" in repr(robustness(lacking))


@pytest.mark.usefixtures("drawn")
def test_the_command_prints_draws_and_writes_json(study, tmp_path, capsys):
    args = [str(study), "--tasks", "jga,bleu", "--figure", str(tmp_path / "f"), "--json", str(tmp_path / "n.json")]
    COMMANDS["robustness"].run(parser_of(COMMANDS["robustness"], "x").parse_args(args))
    said = capsys.readouterr().out
    assert "0.8 beyond 0.1" in said and "Next: python -m analysis leaderboard" in said
    assert (tmp_path / "f.png").stat().st_size > 10_000 and (tmp_path / "f-bleu.pdf").exists()
    assert json.loads((tmp_path / "n.json").read_text())["one_seed"] == ["b"]


def test_one_dialogue_has_a_drop_without_an_interval(tmp_path):
    generator = np.random.default_rng(0)
    for path in ("task.parquet", "conditions/typos@0.5-0/task.parquet"):
        write_table(tmp_path / path, scored("jga", "a", (0, 1), 0.5, dialogues=1, generator=generator), {"task": CARD})
    found = robustness(tmp_path)
    assert found.document["drops"][0]["low"] is None and "(-)" in str(found)
