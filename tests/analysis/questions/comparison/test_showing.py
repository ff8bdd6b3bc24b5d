"""The compare command: what certainty costs, and people who answered the models' questions in a table of their own."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seedvote.analysis.notebook import choice, compare, variance
from seedvote.analysis.questions.comparison.answer import find_cost, training_seconds
from seedvote.analysis.questions.comparison.probes import ProbeTable, probe_figure
from seedvote.analysis.report.assembly import build_report
from seedvote.analysis.votes.choices import FIRST, SECOND
from seedvote.analysis.votes.scores.panel import UNSEEN, Method, Panel, System
from seedvote.analysis.votes.study import read_study
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.questions import write_questions
from seedvote.dialogue.records import Candidate, Pair, Vote
from tests.analysis.questions.choice.made import made_answers, made_questions, write_choice_study
from tests.house.typed import typed

pytestmark = pytest.mark.usefixtures("hasty_throughout")


@pytest.fixture
def folder(tmp_path):
    pairs = [
        Pair(f"p{n}", f"d{n}:1", (), Candidate("x", "hred", n % 3), Candidate("y", "hred", (n + 1) % 3))
        for n in range(30)
    ]
    votes = [
        Vote(f"p{n}", f"r{k}", ("a", "b", "tie")[(n + k) % 3], k, seconds=36.0) for n in range(30) for k in (1, 2, 3)
    ]
    write_records(tmp_path / "pairs.jsonl", pairs, signature="p", kind=Pair)
    write_records(tmp_path / "votes.jsonl", votes, signature="v", kind=Vote)
    for seed, seconds in ((0, 1800), (1, 5400)):
        (tmp_path / "models" / f"hred-{seed}").mkdir(parents=True)
        lines = f'{{"epoch": 1, "seconds": {seconds / 2}}}\n{{"epoch": 2, "seconds": {seconds / 2}}}\n'
        (tmp_path / "models" / f"hred-{seed}" / "log.jsonl").write_text(lines)
    key = {"evaluator": "probe", "task": "AllSlots", "model": "hred", "checkpoint": "last", "rater": "logistic"}
    stats = {"tp": 1.0, "fp": 1.0, "fn": 0.0}
    rows = [
        key | {"seed": s, "item": f"d{n}:1", "score": 0.5, "stats": stats, "cluster": f"d{n}"}
        for s in range(3)
        for n in range(4)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "scores.parquet")
    return tmp_path


def type_compare(folder, *more):
    return typed("analysis", "compare", folder, *more)


def test_hours_are_measured_and_money_follows_from_the_prices(folder):
    study = read_study(folder)
    assert training_seconds(folder) == {"hred": 3600.0}
    people = Method("people", "net preference", "hred", "last", (0, 1, 2), (1.0, 2.0, 3.0), (1.0, 1.0, 1.0), 30)
    found = find_cost(people, study, 1.0, an_hour=10.0, machine_hour=2.0)
    assert found.seeds == 7
    assert found.seeds_low < 7 < found.seeds_high
    assert found.rater_hours == pytest.approx(7 * 30 * 36 / 3600)
    assert found.machine_hours == 7.0
    assert found.money == pytest.approx(10 * found.rater_hours + 14)
    assert find_cost(people, study, 1.0, an_hour=None, machine_hour=None).money is None


def test_the_command_prints_a_table_for_people_and_the_same_for_machines(folder):
    done = type_compare(
        folder, "--pay", "12", "--published", "--json", folder / "compare.json", "--figure", folder / "compare"
    )
    assert done.returncode == 0, done.stderr
    assert (
        "people: net preference" in done.stdout
        and "An SD over 3 seeds is uncertain: the true SD may be 0.5 to 6.3 times" in done.stdout
    )
    assert "100 x the variance" in done.stdout
    found = json.loads((folder / "compare.json").read_text())
    assert {m["kind"] for m in found["methods"]} == {"people", "probe"}
    assert found["methods"][0]["seeds"] == [0, 1, 2] and found["costs"][0]["rater_hours"] > 0
    assert found["published"] and (folder / "compare.png").exists() and (folder / "compare.pdf").exists()


def test_votes_that_cannot_be_traced_to_models_have_nothing_to_compare(folder):
    (folder / "pairs.jsonl").unlink()
    (folder / "scores.parquet").unlink()
    done = type_compare(folder)
    assert done.returncode == 2
    assert "does not say which model was judged" in done.stderr


def test_one_architecture_is_said_to_have_no_order(folder):
    found = type_compare(folder).stdout
    assert "Only one architecture (hred) was judged, so architectures cannot be compared." in found
    assert "Chance that a re-run reverses" not in found


def test_a_figure_of_spreads_that_no_one_has_is_refused_in_a_sentence(folder):
    (folder / "votes.jsonl").unlink()
    table = pq.read_table(folder / "scores.parquet")
    pq.write_table(table.filter(pc.equal(table["seed"], 0)), folder / "scores.parquet")
    done = type_compare(folder, "--figure", folder / "compare")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "No architecture has two seeds, so there is no spread over seeds to draw" in done.stderr
    assert "One seed of hred" in type_compare(folder).stdout


def test_how_exactly_a_mean_should_be_known_is_no_margin(folder):
    told = json.loads(type_compare(folder, "--within", "0.5", "--json", "-").stdout)
    assert {cost["margin"] for cost in told["costs"]} == {0.5}
    done = type_compare(folder, "--margin", "5")
    assert done.returncode == 2
    assert done.stderr == "error: compare has no --margin; the wanted precision of a mean is --within 5.\n"


def test_the_report_holds_the_commands_numbers(folder):
    told = json.loads(type_compare(folder, "--json", "-").stdout)
    assert json.loads(json.dumps(build_report(read_study(folder)).document["comparison"])) == told


@pytest.fixture
def questions():
    return made_questions(40, ("toy", "other"))


def test_their_share_and_interval_are_those_of_choose(tmp_path, questions):
    study = write_choice_study(tmp_path, questions, made_answers(questions))
    for clusters in ("auto", "rater"):
        found = compare(study, clusters=clusters).document["people_choosing"]
        cells = choice(study, clusters=clusters).document["rows"][0]["cells"]
        assert {(one["corpus"], one["metric"]) for one in found} == {
            (c, m) for c in ("toy", "other") for m in (FIRST, SECOND)
        }
        for one, cell in zip(found, cells, strict=True):
            assert (one["corpus"], one["metric"], one["answers"]) == (cell["corpus"], cell["metric"], cell["n"])
            for name in ("value", "low", "high"):
                assert one[name] == pytest.approx(100 * cell[name], rel=1e-12)


def test_they_change_no_number_of_a_model_and_are_no_architecture(tmp_path, questions):
    study = write_choice_study(tmp_path, questions, made_answers(questions))
    beside = compare(study).document
    assert "people" in repr(compare(study))
    (study / "choices.jsonl").unlink()
    alone = compare(study).document
    assert alone["people_choosing"] == [] and len(beside["people_choosing"]) == 4
    for name in ("methods", "orders", "generalisability", "verdicts", "costs"):
        assert beside[name] == alone[name]


def test_second_best_is_shown_only_when_asked_for(tmp_path, questions):
    given = [dataclasses.replace(one, second=None, source="simulated") for one in made_answers(questions)]
    found = compare(write_choice_study(tmp_path, questions, given))
    assert {one["metric"] for one in found.document["people_choosing"]} == {FIRST}
    assert "Answers here are simulated: they say nothing about people." in found.document["people_choosing_notes"]


def test_clusters_that_only_votes_have_leave_the_comparison_standing(tmp_path, questions):
    found = compare(write_choice_study(tmp_path, questions, made_answers(questions)), clusters="item+rater").document
    assert {one["low"] for one in found["people_choosing"]} == {None} and found["methods"]
    assert any(note.startswith("A share without brackets") for note in found["people_choosing_notes"])


def test_answers_to_other_texts_are_refused(tmp_path, questions):
    study = write_choice_study(tmp_path, questions, made_answers(questions))
    write_questions(study / "questions.jsonl", made_questions(40, ("toy", "other"), options=6))
    with pytest.raises(InputError, match="belongs to other questions"):
        compare(study)


def test_their_variance_has_dialogues_questions_and_raters(tmp_path):
    questions = made_questions(40)
    study = write_choice_study(tmp_path, questions, made_answers(questions, raters=8))
    tables = {one["name"]: one for one in variance(study, sets=5).document["tables"]}
    found = tables["people's choices: R@1"]
    levels = {part["name"]: part["levels"] for part in found["components"]}
    assert levels == {"dialogue": 10, "question": 40, "rater": 8, "residual": 120}
    (cell,) = [one for one in choice(study).document["rows"][0]["cells"] if one["metric"] == FIRST]
    assert found["mean"] == pytest.approx(100 * cell["value"])


def test_the_figure_of_probes_shows_each_task_by_its_own_scores():
    """A dot for each trained seed, a ring for the mean before training, a tick for the best that reads no encoder."""
    scores = {("AllSlots", UNSEEN): (20.0, 30.0), ("AllSlots", "last"): (60.0, 70.0), ("RecentTopic", "last"): (80.0,)}
    panels = [
        Panel("probe", f"{task}, logistic", checkpoint, tuple(System("hred", n) for n in range(len(values))),
              np.array(values), {}, {}, {})
        for (task, checkpoint), values in scores.items()
    ]  # fmt: skip
    table = ProbeTable(
        ("AllSlots", "RecentTopic"), ("hred last",), ("bag of words",), {("AllSlots", "bag of words"): 50.0}
    )
    slots, topic = probe_figure(table, panels).rows
    marks = [(mark.shape, mark.at) for mark in slots.marks]
    assert marks[:2] == [("tick", 50.0), ("ring", 25.0)] and [at for _, at in marks[2:]] == [60.0, 70.0]
    assert [mark.at for mark in topic.marks] == [80.0] and topic.note == ""
