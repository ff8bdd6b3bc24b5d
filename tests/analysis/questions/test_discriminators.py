"""The report's section on discriminators shows what the command found, to the last digit, and nothing of its own."""

import base64
import dataclasses
import html
import json

import numpy as np
import pytest

from seedvote.analysis.questions.discriminators import Estimate, answer_study, ask_people, findings, section
from seedvote.analysis.votes.study import read_study
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_json, write_records
from seedvote.dialogue.records import Candidate, Pair, Response, Utterance, Vote
from seedvote.evaluators.detection.material import Generator
from seedvote.evaluators.detection.text import detection_document, write_detection_scores
from tests.analysis.test_one_answer import say
from tests.evaluators.detection.made import WHO, WORDS, material, spoken, told

pytestmark = pytest.mark.usefixtures("hasty_throughout")

MARKER = len(WORDS) - 1
CURVES = b"\x89PNG as the command draws them"  # the report takes them as they are


def four_words(rng, law):
    return spoken(rng, law, 4)


def made_replies(made, share, seed):
    """The replies of a generator that appends the marker to a share of them."""
    rng = np.random.default_rng(seed)
    return {
        item: [dataclasses.replace(one, tokens=(*one.tokens, MARKER) if rng.random() < share else one.tokens)
               for one in said]
        for item, said in made.replies[WHO].items()
    }  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Two models under two seeds: one writes as people do, one often appends a marker."""
    folder = tmp_path_factory.mktemp("study")
    made = material(four_words, human=four_words, dialogues=60, turns=1, seed=5, draws=24)
    replies = {
        Generator(model, seed, "last", WHO.decoding): made_replies(made, share, seed)
        for model, share in (("alike", 0.0), ("marked", 0.7)) for seed in (0, 1)
    }  # fmt: skip
    found = told(folder, dataclasses.replace(made, replies=replies), folds=4, shared=True, draws=100)
    write_json(folder / "adversarial.json", detection_document(found))
    write_detection_scores(folder, found)
    (folder / "discriminator.png").write_bytes(CURVES)  # as evaluators discriminate names it
    return folder


@pytest.fixture(scope="module")
def report(study, tmp_path_factory):
    """What the report says of it: the page, Markdown, LaTeX, JSON."""
    folder = tmp_path_factory.mktemp("report")
    say("report", study, "--out", folder / "report.html")
    return {suffix: (folder / f"report.{suffix}").read_text() for suffix in ("html", "md", "tex", "json")}


def shown(one):
    """An interval as every part of the report spells it."""
    value, low, high = (f"{one[name]:.2f}".removeprefix("0") for name in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


def test_every_number_of_the_report_is_the_commands(study, report):
    document = json.loads((study / "adversarial.json").read_text())
    assert json.loads(report["json"])["discriminators"] == document
    page = html.unescape(report["html"]).replace("\N{NO-BREAK SPACE}", " ")
    for one in document["generators"]:
        for name in ("accuracy", "length", "bag", "null_a", "null_b", "fooled", "shared", "auc", "average_precision"):
            for text in (page, report["md"], report["tex"]):
                assert shown(one[name]) in text, name
        first = one["same_length"]["examples"][0]
        for side in ("by_discriminator", "by_logprob"):
            assert " | ".join(first[side][:3]) in page
    for note in document["notes"]:
        assert note in page


def test_the_page_has_figures_the_curves_and_a_finding(study, report):
    assert "Accuracy of the discriminator on people's and the model's replies" in html.unescape(report["html"])
    assert f'src="data:image/png;base64,{base64.b64encode(CURVES).decode()}"' in report["html"]
    assert "It recognises 2 of 4 models" in report["html"]
    assert "marker" in report["html"]


def test_compare_variance_and_report_have_every_model(study, report):
    told_rows = json.loads(say("compare", study, "--json", "-"))["methods"]
    assert {row["name"] for row in told_rows} == {"fooled", "human_like", "fooled_shared", "human_like_shared"}
    by_hand = [one["fooled"]["value"] for one in json.loads((study / "adversarial.json").read_text())["generators"]
               if one["model"] == "marked"]  # fmt: skip
    (row,) = [row for row in told_rows if row["model"] == "marked" and row["name"] == "fooled"]
    assert row["values"] == pytest.approx([100 * value for value in by_hand])
    assert row["seeds"] == [0, 1]
    varied = {table["name"]: table for table in json.loads(say("variance", study, "--json", "-"))["tables"]}
    levels = {part["name"]: part["levels"] for part in varied["adversarial: fooled"]["components"]}
    assert (levels["model"], levels["model:seed"], levels["item"]) == (2, 4, 60)
    assert json.loads(report["json"])["comparison"]["methods"] == told_rows


def test_responses_that_have_changed_since_are_pointed_out(study, tmp_path):
    for name in ("adversarial.json",):
        (tmp_path / name).write_bytes((study / name).read_bytes())
    write_records(tmp_path / "responses.jsonl", [Response("d0:0", "m", 0, "last", "hello")], signature="x",
                  kind=Response)  # fmt: skip
    shown_section = section(answer_study(tmp_path))
    assert "responses.jsonl has changed since these replies were judged" in shown_section.notes[0]
    assert shown_section.pictures == ()


def test_a_rule_that_tells_more_than_the_discriminator_is_named(study):
    answer = answer_study(study)
    blind = dataclasses.replace(
        answer.models[0],
        accuracy=Estimate(0.56, 0.48, 0.63),
        length=Estimate(0.66, 0.59, 0.73),
        bag=Estimate(0.52, 0.45, 0.6),
        best="length",
    )
    (sentence,) = findings(dataclasses.replace(answer, models=(blind,)))
    assert sentence.startswith("Reply length alone tells ")
    assert "in 66 % of replies (59 % to 73 %); the discriminator does not." in sentence
    (sentence,) = findings(dataclasses.replace(answer, models=(dataclasses.replace(blind, length=blind.bag),)))
    assert sentence.startswith("No model is shown to be recognised")


def people_study(folder, right=0.8, seed=0):
    """60 pairs of a model's and a person's reply, three votes each, a tenth of which cannot tell."""
    generator = np.random.default_rng(seed)
    pairs, votes = [], []
    for n in range(60):
        person, model = Candidate(f"hello {n}", "reference", None, "reference"), Candidate(f"well {n}", "m", n % 2)
        is_first = bool(generator.random() < 0.5)
        sides = (person, model) if is_first else (model, person)
        contrast = f"m-reference:{n % 2}-people"
        pairs.append(Pair(f"p{n}", f"d{n}:1", [Utterance("user", "hi")], *sides, dialogue=f"d{n}", contrast=contrast))
        for rank, rater in enumerate(generator.choice(20, 3, replace=False), 1):
            is_right = generator.random() < right
            choice = "tie" if generator.random() < 0.1 else "ab"[is_first != is_right]
            votes.append(Vote(f"p{n}", f"r{rater}", choice, rank, source="local", dialogue=f"d{n}"))
    folder.mkdir(exist_ok=True)
    write_records(folder / "pairs.jsonl", pairs, signature="s", kind=Pair)
    write_records(folder / "votes.jsonl", votes, signature="s", kind=Vote)
    return read_study(folder)


def test_people_are_asked_who_wrote_which_reply(tmp_path):
    rows = ask_people(people_study(tmp_path / "s"))
    assert [row.system for row in rows] == ["m-0", "m-1"]
    for row in rows:
        assert row.votes == 90 and 0.6 < row.right.low < row.right.value < row.right.high < 0.9
        assert 0.02 < row.unsure < 0.2
    shown_section = section(None, rows)
    assert shown_section.title == "Can people tell the models from people?"
    assert shown_section.items[0].startswith("People tell m-0 from a person: ")
    guessing = ask_people(people_study(tmp_path / "t", right=0.5))
    assert "are not shown to tell" in section(None, guessing).items[0]


def test_people_stand_next_to_the_discriminator_of_their_model(study, tmp_path):
    answer = answer_study(study)
    rows = [dataclasses.replace(row, system="marked-0") for row in ask_people(people_study(tmp_path / "s"))[:1]]
    (table, *_) = section(answer, rows).tables
    (model,) = [model for model in answer.models if model.name.startswith("marked-0,")]
    assert table.rows[0][-1] == f"{model.accuracy.value:.2f}".removeprefix("0") + (
        f" ({model.accuracy.low:.2f} to {model.accuracy.high:.2f})".replace("(0.", "(.").replace("to 0.", "to .")
    )


def test_other_pairs_with_a_reference_ask_something_else(tmp_path):
    made = people_study(tmp_path / "s")
    assert (
        ask_people(dataclasses.replace(made, pairs=tuple(dataclasses.replace(p, contrast="x") for p in made.pairs)))
        == []
    )


def test_absent_discriminators_are_silent(tmp_path):
    assert answer_study(tmp_path) is None
    assert section(None) is None
    assert findings(None) == []
    write_json(tmp_path / "adversarial.json", {"generators": [{"model": "m"}]})
    with pytest.raises(
        InputError, match=r"not what this version writes\. Run it again: python -m evaluators discrimin"
    ):
        answer_study(tmp_path)
