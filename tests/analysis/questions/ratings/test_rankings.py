"""Mean ranks and comparisons of rankings: by hand, by identities, and by simulations whose truth is known."""

import csv
import html
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import friedmanchisquare

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.notebook import ranks, ratings, variance
from seedvote.analysis.questions.ratings.rankings import compare_ranks
from seedvote.analysis.questions.ratings.showing import ask_title, find_headline
from seedvote.analysis.votes.inputs import ranks_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import ResponseRating
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.questions.ratings.rankings import rankings, write_ranks
from tests.analysis.questions.ratings.sets_study import SYSTEMS, make_sets_study


def compared(folder, found):
    write_ranks(folder / "ranks.csv", found)
    return ranks(folder / "ranks.csv").document


def test_means_differences_and_counts_are_those_by_hand(tmp_path):
    found = [(0, 0, (1, 2, 3)), (0, 1, (1, 3, 2)), (1, 0, (2, 1, 3)), (1, 1, (1.5, 1.5, 3))]
    told = compared(tmp_path, found)
    means = {one["system"]: one["mean"]["value"] for one in told["systems"]}
    assert means == {"s0": 1.375, "s1": 1.875, "s2": 2.75} and told["rankings"] == 4
    first = next(one for one in told["pairs"] if (one["first"], one["second"]) == ("s0", "s1"))
    assert first["difference"]["value"] == 0.5 and (first["above"], first["equal"], first["below"]) == (2, 1, 1)
    assert first["net"]["value"] == 0.25
    assert [one["system"] for one in told["systems"]] == ["s0", "s1", "s2"]


def test_comparisons_of_one_ranking_are_one_answer(tmp_path):
    found = rankings(np.random.default_rng(1), items=30, raters=6, per_item=3, worth=(0.6, 0, 0, 0))
    told = compared(tmp_path, found)
    assert {one["difference"]["n"] for one in told["pairs"]} == {90} and told["rankings"] == 90
    assert all(set(one["difference"]["clusters"]) == {"pair", "rater"} for one in told["pairs"])
    values = {(one["first"], one["second"]): one["difference"]["value"] for one in told["pairs"]}
    means = {one["system"]: one["mean"]["value"] for one in told["systems"]}
    for (first, second), value in values.items():
        assert value == pytest.approx(means[second] - means[first])
    # a mean rank is one and a half of a system's wins against the others: ranks add to the same in every ranking
    assert sum(means.values()) == pytest.approx(10)
    nets = {frozenset((one["first"], one["second"])): one["net"]["value"] for one in told["pairs"]}
    total = sum(nets[frozenset(("s0", other))] for other in ("s1", "s2", "s3"))
    assert means["s0"] == pytest.approx((4 + 1) / 2 - total / 2)


@pytest.mark.slow
def test_intervals_hold_the_truth_and_those_of_independent_votes_would_not(tmp_path):
    """Two systems alike, so that the truth is 0; each rater sees every item and leans to systems of their own."""
    held, naive, studies = 0, 0, 60
    for number in range(studies):
        found = rankings(np.random.default_rng(number), items=25, raters=12, per_item=3, worth=(0.5, 0, 0))
        told = compared(tmp_path, found)
        one = next(one for one in told["pairs"] if (one["first"], one["second"]) == ("s1", "s2"))
        held += one["difference"]["low"] <= 0 <= one["difference"]["high"]
        gaps = np.array([ranks[2] - ranks[1] for _, _, ranks in found])
        naive += abs(gaps.mean()) <= 1.96 * gaps.std(ddof=1) / np.sqrt(len(gaps))
    assert held >= 53 and naive < held  # of 60: 57 expected at 95 %, and 53 or more with probability .97


def rated(number, system, rank, **more):
    told = {"question": "order", "item": f"d:{number}", "response": 0, "rank": rank, "of": 2, "dialogue": f"d{number}"}
    return ResponseRating(set=f"s{number}", rater="r", system=system, **{**told, **more})


def test_rankings_skip_uncounted_rows_and_ratings(tmp_path):
    rows = [rated(n, system, rank) for n in range(3) for system, rank in (("x", 1.0), ("y", 2.0))]
    rows += [rated(9, system, 1.5, counted=False) for system in "xy"]
    rows += [rated(8, system, 1.5, kind="control") for system in "xy"]
    rows += [rated(n, s, None, score=3, question="good") for n in range(3) for s in "xy"]
    write_records(tmp_path / "ratings.jsonl", rows, signature="t", kind=ResponseRating)
    told = ranks(tmp_path, question="order").document
    assert told["rankings"] == 3 and told["pairs"][0]["above"] == 3
    assert ratings(tmp_path, question="good").document["differences"][0]["equal"] == 3
    with pytest.raises(InputError, match="2 questions"):
        ranks(tmp_path)
    with pytest.raises(InputError, match="analysis ranks"):
        ratings(tmp_path, question="order")
    with pytest.raises(InputError, match="analysis ratings"):
        ranks(tmp_path, question="good")


def test_a_table_of_one_s_own_names_its_columns_and_json_has_every_number(tmp_path):
    with (tmp_path / "own.csv").open("w", newline="") as handle:
        rows = csv.writer(handle)
        rows.writerow(["example", "worker", "model", "position"])
        rows.writerows((f"e{e}", w, m, p) for e in range(3) for w in "uv" for p, m in enumerate("abc", 1))
    told = ranks(tmp_path / "own.csv", columns={"rank": "position", "system": "model"}).document
    assert [one["mean"]["value"] for one in told["systems"]] == [1, 2, 3]
    assert json.loads(json.dumps(told))["recipe"].startswith("ranks:18|rankings:6|")


CLAIMS = Path(__file__).resolve().parents[5] / "shared" / "data" / "claims"
needs_claims = pytest.mark.skipif(not CLAIMS.is_dir(), reason="the small tables of false claims are not here")


@needs_claims
def test_incomplete_rankings_are_ordered_by_strength():
    """Truth A > B > C > D: most rankings hold A and B, or C and D; B is above both in all nine that compare them."""
    answer = ranks(CLAIMS / "partial.csv").document
    assert [system["system"] for system in answer["systems"]] == ["A", "B", "C", "D"]
    assert [(system["rank_low"], system["rank_high"]) for system in answer["systems"]] == [(n, n) for n in range(1, 5)]
    assert not answer["complete"] and all(system["mean"] is None for system in answer["systems"])
    groups = {system["system"]: system["group"] for system in answer["systems"]}
    assert groups == {"A": 1, "B": 1, "C": 2, "D": 2}
    for pair in answer["pairs"]:
        assert pair["p_holm"] < 0.05 and (pair["strength"] is None) == (groups[pair["first"]] != groups[pair["second"]])


@needs_claims
def test_unanimous_ranks_are_shown_within_the_scale():
    answer = ranks(CLAIMS / "unan.csv", columns={"system": "system"}).document
    (pair,) = answer["pairs"]
    assert pair["p"] < 1e-6 and 0 < pair["difference"]["low"] < pair["difference"]["high"] == 1.0
    assert pair["net"] == pair["difference"]  # of two systems the ranks are the votes
    means = {system["system"]: system["mean"] for system in answer["systems"]}
    assert means["A"]["low"] == 1.0 and means["B"]["high"] == 2.0


def test_unlinked_rankings_are_not_compared(tmp_path):
    apart = [(k, k % 5, (1, 2, np.nan, np.nan) if k % 2 else (np.nan, np.nan, 1 + k % 4 // 2, 2 - k % 4 // 2))
             for k in range(24)]  # fmt: skip
    with (tmp_path / "apart.csv").open("w", newline="") as handle:
        rows = csv.writer(handle)
        rows.writerow(["item", "rater", "system", "rank"])
        rows.writerows(
            (f"i{i}", f"r{r}", f"s{s}", rank) for i, r, row in apart for s, rank in enumerate(row) if rank == rank
        )
    result = ranks(tmp_path / "apart.csv")
    assert result.document["unlinked"] == 4 and len(result.document["pairs"]) == 2
    assert "4 comparisons left out: no chain of rankings links the two systems." in result.parts
    found = rankings(np.random.default_rng(1), items=30, raters=6, per_item=1, worth=(0.6, 0, 0))
    alone = [(item, item, row) for item, _, row in found]  # every rater has one item
    told = compared(tmp_path, alone)["concordance"]
    statistic, p = friedmanchisquare(*np.array([row for *_, row in alone]).T)
    assert (told["statistic"], told["p"], told["w"]) == pytest.approx((statistic, p, statistic / (30 * 2)))
    assert compared(tmp_path, found)["concordance"]["p"] is None


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_sets_study(tmp_path_factory.mktemp("sets") / "study")


def say(capsys, *words):
    assert dispatch("analysis", "", COMMANDS, [*map(str, words)]) == 0
    return capsys.readouterr().out


def numbers(found):
    return json.loads(json.dumps(dict(found.document)))


@pytest.mark.parametrize(("question", "key"), [("order", "ranks"), ("fluent", "ratings")])
@pytest.mark.parametrize("clusters", ["auto", "item"])
def test_the_report_of_sets_has_the_numbers_of_the_command(study, capsys, question, key, clusters):
    said = say(capsys, "report", study, "--question", question, "--clusters", clusters)
    told = json.loads((study / f"report-{question}.json").read_text())
    command = say(capsys, key, study, "--question", question, "--clusters", clusters, "--json", "-")
    assert told[key] == json.loads(command)
    ask = ranks if key == "ranks" else ratings
    assert told[key] == numbers(ask(study, question=question, clusters=clusters))
    assert said.splitlines()[:2] == list(ask(study, question=question, clusters=clusters).read)
    assert {name for name in ("ranks", "ratings", "ties", "agreement", "preference") if told[name]} == {key}


def test_the_page_of_ranks_says_what_was_asked_and_what_was_found(study, capsys):
    said = say(capsys, "report", study / "ratings.jsonl", "--question", "order")
    page = html.unescape((study / "report-order.html").read_text())
    found = ranks(study, question="order").document
    first = found["systems"][0]
    assert first["system"] == "best-1" and "- A difference of ranks was shown in" in said
    shown = f"{first['mean']['value']:.2f} ({first['mean']['low']:.2f} to {first['mean']['high']:.2f})"
    for words in ("Which of 3 systems is ranked highest?", "Which is ranked higher", shown,
                  "<dt>ranks</dt><dd>108</dd>", "<dt>raters</dt><dd>6</dd>", "Which is best, which comes next?",
                  "never count as independent votes", "12 hidden checks, 0 raters blocked",
                  "Ranks say which response is better, and not by how much"):  # fmt: skip
        assert words in page, words
    assert "are simulated" not in page and "r3" not in page
    assert "Mean ranks over 36 rankings" in (study / "report-order.tex").read_text()
    assert shown not in (study / "report-order.md").read_text()  # pictures are left to their tables there
    assert "best-1 is ranked higher than" in (study / "report-order.md").read_text()


def test_ranks_and_ratings_of_programs_are_told_apart_from_those_of_people(tmp_path, capsys):
    simulated = make_sets_study(tmp_path / "study", source="simulated")
    for command, question in (("ranks", "order"), ("ratings", "fluent")):
        assert (
            f"108 of 108 {command[:-1] if command == 'ranks' else 'rating'}s are simulated: programs gave them"
            in say(capsys, command, simulated, "--question", question)
        )
        say(capsys, "report", simulated, "--question", question)
        assert (
            "They show how the study works, not how good the models are."
            in (simulated / f"report-{question}.html").read_text()
        )
    assert "Answers here are simulated" in say(capsys, "variance", simulated, "--sets", "2")


def test_two_systems_are_named_in_the_title_and_where_they_are_alike(tmp_path, capsys):
    write = (tmp_path / "two.csv").write_text
    write("item,rater,system,rank\n" + "".join(f"i{k},r{k % 3},{name},1.5\n" for k in range(9) for name in "xy"))
    answer = compare_ranks(ranks_of(tmp_path / "two.csv"))
    assert all(math.isnan(pair.p) or pair.p == 1 for pair in answer.contrasts)
    assert "the same mean rank" in find_headline(answer)
    assert ask_title(answer) == "Is x ranked higher than y?"


def test_variance_splits_ratings_by_question_and_system(tmp_path, capsys):
    """One model a system; questions are never pooled, ranks never taken apart by items or raters."""
    odd = [
        ResponseRating("s0", "r9", "fluent", name, "d0:1", index, score=5, of=3, source="prolific", **more)
        for index, name in enumerate(SYSTEMS)
        for more in ({"counted": False}, {"kind": "control"})
    ]
    plain = make_sets_study(tmp_path / "plain")
    study = make_sets_study(tmp_path / "study", more=odd)
    found = numbers(variance(study, sets=2))
    assert found == numbers(variance(study / "ratings.jsonl", sets=2)) == numbers(variance(plain, sets=2))
    tables = {one["name"]: one for one in found["tables"]}
    assert set(tables) == {"fluent", "useful"} and all("model" in one["levels"] for one in tables.values())
    (one,) = numbers(variance(study, question="useful", sets=2))["tables"]
    assert one == tables["useful"]
    with pytest.raises(InputError, match=r"always add to the same sum.*analysis ranks"):
        variance(study, question="order", sets=2)
    for asked, command, other in ((ratings, "ranks", "order"), (ranks, "ratings", "fluent")):
        with pytest.raises(InputError, match=rf"analysis {command} \S+ --question {other}$"):
            asked(study, question=other)
    with pytest.raises(InputError, match="ratings or ranks of several responses at once"):
        variance(study, question="nobody", sets=2)
