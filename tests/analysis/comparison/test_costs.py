"""What certainty costs, and the compare command."""

import doctest
import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from scipy.stats import t

from analysis.comparison import costs
from analysis.comparison.costs import cost, seeds_needed, training_seconds
from analysis.report.assembly import report
from analysis.votes.scores.panel import Method
from analysis.votes.study import read_study
from dialogue.files import write_records
from dialogue.records import Candidate, Pair, Vote
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


def compare(folder, *more):
    return typed("analysis", "compare", folder, *more)


def test_examples_in_the_docstrings():
    assert doctest.testmod(costs).failed == 0


@pytest.mark.parametrize(("sd", "margin"), [(1.0, 1.0), (5.0, 2.0), (0.3, 1.0)])
def test_the_seeds_are_the_fewest_that_do(sd, margin):
    n = seeds_needed(sd, margin)
    assert t.ppf(0.975, n - 1) * sd / n**0.5 <= margin
    assert n == 2 or t.ppf(0.975, n - 2) * sd / (n - 1) ** 0.5 > margin


def test_what_cannot_be_reached_or_known_is_none():
    assert seeds_needed(float("nan"), 1.0) is None
    assert seeds_needed(1e6, 0.001) is None


def test_hours_are_measured_and_money_follows_from_the_prices(folder):
    study = read_study(folder)
    assert training_seconds(folder) == {"hred": 3600.0}
    people = Method("people", "net preference", "hred", "last", (0, 1, 2), (1.0, 2.0, 3.0), (1.0, 1.0, 1.0), 30)
    found = cost(people, study, 1.0, an_hour=10.0, machine_hour=2.0)
    assert found.seeds == 7
    assert found.seeds_low < 7 < found.seeds_high
    assert found.rater_hours == pytest.approx(7 * 30 * 36 / 3600)
    assert found.machine_hours == 7.0
    assert found.money == pytest.approx(10 * found.rater_hours + 14)
    assert cost(people, study, 1.0, an_hour=None, machine_hour=None).money is None


def test_the_command_prints_a_table_for_people_and_the_same_for_machines(folder):
    done = compare(
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
    done = compare(folder)
    assert done.returncode == 2
    assert "does not say which model was judged" in done.stderr


def test_one_architecture_is_said_to_have_no_order(folder):
    found = compare(folder).stdout
    assert "Only one architecture (hred) was judged, so architectures cannot be compared." in found
    assert "Chance that a re-run reverses" not in found


def test_a_figure_of_spreads_that_no_one_has_is_refused_in_a_sentence(folder):
    (folder / "votes.jsonl").unlink()
    table = pq.read_table(folder / "scores.parquet")
    pq.write_table(table.filter(pc.equal(table["seed"], 0)), folder / "scores.parquet")
    done = compare(folder, "--figure", folder / "compare")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "No architecture has two seeds, so there is no spread over seeds to draw" in done.stderr
    assert "One seed of hred" in compare(folder).stdout


def test_how_exactly_a_mean_should_be_known_is_no_margin(folder):
    told = json.loads(compare(folder, "--within", "0.5", "--json", "-").stdout)
    assert {cost["margin"] for cost in told["costs"]} == {0.5}
    done = compare(folder, "--margin", "5")
    assert done.returncode == 2
    assert done.stderr == "error: compare has no --margin; the wanted precision of a mean is --within 5.\n"


def test_the_report_holds_the_commands_numbers(folder):
    told = json.loads(compare(folder, "--json", "-").stdout)
    assert json.loads(json.dumps(report(read_study(folder)).document["comparison"])) == told
