"""The report of a study of response sets: the numbers of `ranks` and `ratings`, and whose they are."""

import html
import json
import math

import pytest

from analysis.__main__ import COMMANDS
from analysis.notebook import ranks, ratings, variance
from analysis.ranks.section import ranked_findings
from dialogue.command_line import dispatch
from dialogue.errors import InputError
from dialogue.records import ResponseRating
from tests.analysis.ranks.sets_study import SYSTEMS, make_sets_study


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
    found = ranks(tmp_path / "two.csv")
    assert all(math.isnan(one["p"]) or one["p"] == 1 for one in found.document["pairs"])
    from analysis.ranks.answer import answer
    from analysis.ranks.section import ranked_title, section
    from analysis.votes.inputs import ranks_of

    told = answer(ranks_of(tmp_path / "two.csv"))
    assert ranked_findings(told) == ["No difference between x and y was shown: they have the same mean rank."]
    assert (
        ranked_title(told) == "Is x ranked higher than y?" and section(told).key == "ranked" and section(None) is None
    )


def test_variance_takes_ratings_apart_by_question_and_system_and_leaves_out_what_does_not_count(tmp_path, capsys):
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
