"""`python -m analysis agreement` on files: the real human evaluation, five categories, votes without raters."""

import csv
import gzip
import json
from pathlib import Path

import pytest

from analysis.__main__ import COMMANDS
from analysis.agreement.answer import AgreementAnswer, NamedCoefficient, answer
from analysis.agreement.figures import figures
from analysis.agreement.section import section
from analysis.agreement.text import document, parts
from analysis.reading.inputs import votes_of
from analysis.reading.study import study_of
from analysis.stats.agreement import Coefficient
from dialogue.command_line import dispatch
from dialogue.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
MARCO = ROOT.parent / "shared" / "data" / "marco_human_eval" / "human_annotation.json.gz"


@pytest.fixture
def agreement(capsys):
    def run(*words):
        assert dispatch("analysis", "", COMMANDS, ["agreement", *map(str, words)]) == 0
        return capsys.readouterr().out

    return run


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows([head, *rows])
    return path


@pytest.mark.parametrize(
    ("rival", "question", "alpha"),
    [
        ("HDSA", "Completion", 0.4507),
        ("HDSA", "Readability", 0.4023),
        ("system", "Completion", 0.2584),
        ("system", "Readability", 0.1635),
    ],
)
def test_the_real_human_evaluation_has_its_known_alpha(tmp_path, agreement, rival, question, alpha):
    if not MARCO.exists():
        pytest.skip(f"{MARCO} is not here")
    dialogues = json.loads(gzip.decompress(MARCO.read_bytes()))
    rows = [
        [f"{d['file']}:{turn['turn_num']}", d["file"], k, vote.lower()]
        for d in dialogues
        for turn in d["info"]
        for k, vote in enumerate(turn[f"MarCo vs. {rival}"][question], 1)
    ]
    votes = write(tmp_path / "votes.csv", ["item", "dialogue", "round", "winner"], rows)
    names = ["--columns", "pair=item,choice=winner", "--values", f"a=marco,b={rival.lower()}"]
    found = json.loads(agreement(votes, *names, "--unit", "dialogue", "--json", "-"))
    assert round(found["krippendorff_alpha"]["nominal"]["value"], 4) == alpha
    assert found["raters"] == []
    assert "no rater" in found["warnings"][0]
    if (rival, question) == ("HDSA", "Completion"):
        assert [round(100 * found["labels"][label]["share"], 2) for label in ("tie", "a", "b")] == [68.28, 20.98, 10.74]


def test_five_categories_run_through_the_command(tmp_path, agreement):
    data = json.loads((ROOT / "tests" / "golden" / "fleiss1971.json").read_text(encoding="utf-8"))
    rows = [[i, r, label] for i, row in enumerate(data["ratings"]) for r, label in enumerate(row)]
    votes = write(tmp_path / "fleiss.csv", ["pair", "rater", "choice"], rows)
    found = json.loads(agreement(votes, "--labels", "any", "--sets", 200, "--json", "-"))
    assert round(found["fleiss_kappa"]["value"], 3) == 0.430
    assert found["fleiss_kappa"]["low"] < 0.430 < found["fleiss_kappa"]["high"]
    assert found["krippendorff_alpha"]["interval"]["value"] is not None
    assert len(found["raters"]) == 6
    assert set(found["raters"][0]) == {"rater", "votes", "tie_rate", "left_rate", "left_p", "with_rest", "expected"}
    assert found["raters"][0]["tie_rate"] is None


def test_words_without_an_order_have_no_ordinal_alpha_and_every_pair_gets_a_posterior(tmp_path, agreement):
    rows = [["p", "r1", "good"], ["p", "r2", "good"], ["q", "r1", "bad"], ["q", "r2", "good"], ["s", "r1", "bad"]]
    votes = write(tmp_path / "votes.csv", ["pair", "rater", "choice"], rows)
    found = json.loads(agreement(votes, "--labels", "any", "--posteriors", tmp_path / "posterior.csv", "--json", "-"))
    assert found["krippendorff_alpha"]["ordinal"] is None
    assert "1 pair has one vote only" in found["warnings"][0]
    write(votes, ["pair", "rater", "choice"], [*rows, ["q", "r1", "bad"]])
    assert (
        "1 vote is by a rater who had already voted"
        in json.loads(agreement(votes, "--labels", "any", "--json", "-"))["warnings"][0]
    )
    assert (tmp_path / "posterior.csv").read_text().splitlines()[0] == "pair,bad,good"
    assert len((tmp_path / "posterior.csv").read_text().splitlines()) == 4


def test_the_table_for_people_shows_raters_and_the_recipe(tmp_path, agreement):
    rows = [[f"p{i}", f"r{(i + k) % 13}", ["a", "b", "tie"][(i * k) % 3], "a"] for i in range(40) for k in range(3)]
    votes = write(tmp_path / "votes.csv", ["pair", "rater", "choice", "left"], rows)
    shown = agreement(votes, "--figure", tmp_path / "agreement")
    assert (tmp_path / "agreement.png").stat().st_size > 5000
    assert (tmp_path / "agreement-raters.pdf").stat().st_size > 5000
    for words in ("Krippendorff's alpha, ordinal", "more raters", "Dawid and Skene", "votes:120|pairs:40|unit:pair"):
        assert words in shown


def test_one_pair_and_pairs_that_all_agree_have_no_interval_to_be_sure_of(tmp_path, agreement):
    votes = write(tmp_path / "votes.csv", ["pair", "rater", "choice"], [["p", "r", "a"], ["p", "s", "tie"]])
    found = json.loads(agreement(votes, "--json", "-"))
    assert found["gwet_ac1"]["low"] is None and found["cohen_kappa"]["high"] is None
    write(votes, ["pair", "rater", "choice"], [[f"p{k // 2}", f"r{k % 2}", "a"] for k in range(20)])
    assert "the intervals are too narrow" in json.loads(agreement(votes, "--json", "-"))["warnings"][0]


def test_a_dialogue_column_is_asked_for_in_a_sentence(tmp_path, agreement):
    votes = write(tmp_path / "votes.csv", ["pair", "choice"], [["p", "a"], ["p", "b"]])
    for words in (("--unit", "dialogue"), ("--posteriors", tmp_path / "posterior.csv")):
        with pytest.raises(InputError, match="no dialogue column" if words[0] == "--unit" else "no rater column"):
            agreement(votes, *words)


def test_a_coefficient_that_joins_the_list_is_shown_everywhere(monkeypatch):
    votes = votes_of(ROOT / "examples" / "votes.csv")
    found = answer(votes, sets=20)
    nu = NamedCoefficient("new_nu", "A new nu", Coefficient(0.25, 0.125, 0.375, found.found.observed.distribution))
    rows = (*found.coefficients, nu)
    monkeypatch.setattr(AgreementAnswer, "coefficients", rows)
    assert document(found)["new_nu"] == {"value": 0.25, "low": 0.125, "high": 0.375}
    assert "A new nu" in str(parts(found)[0])
    labels = [label.get_text() for label in figures(found)[""].axes[0].get_yticklabels()]
    assert labels[-1] == "A new nu" and "alpha, nominal" in labels
    shown = section(found, study_of([], votes, ()))
    assert "A new nu" in [row.label for row in shown.figures[0].rows]
