"""`python -m analysis agreement` on files: the real human evaluation, five categories, votes without raters."""

import csv
import dataclasses
import gzip
import json
from pathlib import Path

import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.questions.agreement.answer import AgreementAnswer, NamedCoefficient, answer
from seedvote.analysis.questions.agreement.showing import document, gate_sentence, parts, row_figures, section
from seedvote.analysis.stats.between_raters.agreement import Coefficient
from seedvote.analysis.votes.inputs import votes_of
from seedvote.analysis.votes.study import read_study, study_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.report_study import add_votes

ROOT = Path(__file__).resolve().parents[3]
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
    found = json.loads(agreement(votes, *names, "--clusters", "dialogue", "--json", "-"))
    assert round(found["krippendorff_alpha"]["nominal"]["value"], 4) == alpha
    assert found["raters"] == []
    assert "no rater" in found["warnings"][0] and "|clusters:dialogue|" in found["signature"]
    if (rival, question) == ("HDSA", "Completion"):
        assert [round(100 * found["labels"][label]["share"], 2) for label in ("tie", "a", "b")] == [68.28, 20.98, 10.74]


def test_five_categories_run_through_the_command(tmp_path, agreement):
    data = json.loads((ROOT / "tests" / "golden" / "fleiss1971.json").read_text(encoding="utf-8"))
    rows = [[i, r, label] for i, row in enumerate(data["ratings"]) for r, label in enumerate(row)]
    votes = write(tmp_path / "fleiss.csv", ["pair", "rater", "choice"], rows)
    found = json.loads(agreement(votes, "--labels", "any", "--json", "-"))
    assert round(found["fleiss_kappa"]["value"], 3) == 0.430
    assert found["fleiss_kappa"]["low"] < 0.430 < found["fleiss_kappa"]["high"]
    assert found["krippendorff_alpha"]["interval"]["value"] is not None
    assert len(found["raters"]) == 6
    habits = {"rater", "votes", "tie_rate", "left_rate", "left_p", "with_rest", "expected", "spam"}
    assert set(found["raters"][0]) == habits
    assert set(found["mace"]) == {"prior", "sure", "spam", "spammers", "steps", "converged"}
    assert "clusters:pair+rater" in found["signature"]
    assert found["raters"][0]["tie_rate"] is None


def test_unordered_words_have_no_ordinal_alpha(tmp_path, agreement):
    rows = [["p", "r1", "good"], ["p", "r2", "good"], ["q", "r1", "bad"], ["q", "r2", "good"], ["s", "r1", "bad"]]
    votes = write(tmp_path / "votes.csv", ["pair", "rater", "choice"], rows)
    found = json.loads(agreement(votes, "--labels", "any", "--posteriors", tmp_path / "posterior.csv", "--json", "-"))
    assert found["krippendorff_alpha"]["ordinal"] is None
    assert found["warnings"][0].startswith("Two raters cannot speak for other raters")
    assert "1 pair has one vote only" in found["warnings"][1]
    write(votes, ["pair", "rater", "choice"], [*rows, ["q", "r1", "bad"]])
    assert (
        "1 vote is by a rater who had already voted"
        in json.loads(agreement(votes, "--labels", "any", "--json", "-"))["warnings"][1]
    )
    assert (tmp_path / "posterior.csv").read_text().splitlines()[0] == "pair,bad,good"
    assert len((tmp_path / "posterior.csv").read_text().splitlines()) == 4
    theirs = (tmp_path / "posterior.csv").read_text()
    agreement(votes, "--labels", "any", "--posteriors", tmp_path / "posterior.csv", "--model", "mace")
    spam = (tmp_path / "posterior.csv").read_text()
    assert spam.splitlines()[0] == "pair,bad,good" and spam != theirs


@pytest.mark.usefixtures("drawn")
def test_the_table_for_people_shows_raters_and_the_recipe(tmp_path, agreement):
    rows = [[f"p{i}", f"r{(i + k) % 13}", ["a", "b", "tie"][(i * k) % 3], "a"] for i in range(40) for k in range(3)]
    votes = write(tmp_path / "votes.csv", ["pair", "rater", "choice", "left"], rows)
    shown = agreement(votes, "--figure", tmp_path / "agreement")
    assert (tmp_path / "agreement.png").stat().st_size > 5000
    assert (tmp_path / "agreement-raters.pdf").stat().st_size > 5000
    assert (tmp_path / "agreement-spam.png").stat().st_size > 5000
    for words in (
        "Krippendorff's alpha, ordinal",
        "more raters",
        "Dawid and Skene",
        "votes:120|pairs:40|clusters:pair+rater|interval",
        "95 % intervals draw 40 pairs and 13 raters anew",
        "MACE's model",
        "no ground to block one",
    ):
        assert words in shown


def test_one_pair_and_pairs_that_all_agree_have_no_interval_to_be_sure_of(tmp_path, agreement):
    votes = write(tmp_path / "votes.csv", ["pair", "rater", "choice"], [["p", "r", "a"], ["p", "s", "tie"]])
    found = json.loads(agreement(votes, "--json", "-"))
    assert found["gwet_ac1"]["low"] is None and found["cohen_kappa"]["high"] is None
    write(votes, ["pair", "rater", "choice"], [[f"p{k // 2}", f"r{k % 2}", "a"] for k in range(20)])
    found = json.loads(agreement(votes, "--json", "-"))
    assert "only the share of agreeing votes has an interval" in found["warnings"][1]
    assert found["agreement"]["value"] == 1 and 0.6 < found["agreement"]["low"] < 0.8


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([["p", "r", "a"], ["q", "s", "a"]], "No pair has two votes or more"),
        ([["p", f"r{k}", "a" if k % 2 else "b"] for k in range(8)], "on one pair or dialogue, so there are no"),
        ([[f"p{k}", who, "ab"[k % 2 if who == "r" else k % 3 % 2]] for k in range(9) for who in "rs"],
         "Two raters cannot speak for other raters: the intervals are about other pairs judged by them."),
        ([[f"p{k}", who, "ab"[k % 2 if who == "r" else k % 3 % 2]] for k in range(9) for who in ("r", f"s{k % 3}")],
         "Raters of whom one is in every comparison cannot speak for other raters"),
        ([[f"p{k // 2}", "r", "ab"[k % 3 % 2]] for k in range(12)], "All votes are from one rater"),
        ([[f"p{k // 3}", f"r{k % 5}", "b" if k == 0 else "a"] for k in range(30)],
         "On 0 pairs two raters gave the same of the rarer labels. That is too few for an interval of kappa and alpha"),
    ],
)  # fmt: skip
def test_whom_the_intervals_speak_for_is_said(tmp_path, agreement, rows, sentence):
    votes = write(tmp_path / "votes.csv", ["pair", "rater", "choice"], rows)
    found = json.loads(agreement(votes, "--json", "-"))
    assert any(sentence in warning for warning in found["warnings"]), found["warnings"]
    assert sentence in agreement(votes)


def test_single_votes_are_given_no_model_of_truth_that_would_be_sure(tmp_path, agreement):
    path = write(tmp_path / "v.csv", ["pair", "rater", "choice"], [[i, i % 4, "ab"[i % 2]] for i in range(40)])
    found = json.loads(agreement(path, "--json", "-"))
    assert found["dawid_skene"] is None and found["mace"] is None
    assert all(one["spam"] is None for one in found["raters"])
    assert "posterior" not in agreement(path)


def test_the_clusters_of_the_votes_are_drawn_anew_and_others_on_request(tmp_path, agreement):
    rows = [
        [f"p{i}", f"d{i // 4}", f"r{(i + k) % 13}", ["a", "b", "tie"][(i + (i % 5 == k)) % 3]]
        for i in range(40)
        for k in range(3)
    ]
    votes = write(tmp_path / "votes.csv", ["pair", "dialogue", "rater", "choice"], rows)
    assert "draw 10 dialogues and 13 raters anew" in agreement(votes)
    for asked, unit in (("pair", "pair"), ("vote", "pair"), ("pair+rater", "pair+rater"), ("rater", "rater")):
        found = json.loads(agreement(votes, "--clusters", asked, "--json", "-"))
        assert f"|clusters:{unit}|" in found["signature"]
        assert found["fleiss_kappa"]["low"] < found["fleiss_kappa"]["value"] < found["fleiss_kappa"]["high"]


def test_a_dialogue_column_is_asked_for_in_a_sentence(tmp_path, agreement):
    votes = write(tmp_path / "votes.csv", ["pair", "choice"], [["p", "a"], ["p", "b"]])
    for words in (("--clusters", "dialogue"), ("--posteriors", tmp_path / "posterior.csv")):
        with pytest.raises(InputError, match="no dialogue column" if words[0] == "--clusters" else "no rater column"):
            agreement(votes, *words)


def test_a_coefficient_that_joins_the_list_is_shown_everywhere(monkeypatch):
    votes = votes_of(ROOT / "examples" / "votes.csv")
    found = answer(votes)
    nu = NamedCoefficient("new_nu", "A new nu", Coefficient(0.25, 0.125, 0.375))
    rows = (*found.coefficients, nu)
    monkeypatch.setattr(AgreementAnswer, "coefficients", rows)
    assert document(found)["new_nu"] == {"value": 0.25, "low": 0.125, "high": 0.375}
    assert "A new nu" in str(parts(found)[0])
    shown = section(found, study_of([], votes, ()))
    for figure in (row_figures(found)[0], shown.figures[0]):
        (row,) = (row for row in figure.rows if row.label == "A new nu")
        assert row.note == "0.250 (0.125 to 0.375)"


def test_excluded_raters_are_counted_apart_from_blocked(tmp_path):
    study = read_study(add_votes(tmp_path))
    assert "Excluded" not in gate_sentence(study)
    out = [dataclasses.replace(rater, status="excluded") for rater in study.raters[1:3]]
    sentence = gate_sentence(dataclasses.replace(study, raters=(study.raters[0], *out, *study.raters[3:])))
    assert "1 rater was blocked" in sentence
    assert "Excluded by a stated rule or by hand: 2 raters; 20 votes of theirs" in sentence
