"""The report of a study made from a real human evaluation: votes only, no raters' names, no seeds."""

import gzip
import json

import pytest

from seedvote.analysis.report.assembly import as_latex, build_report, render_page
from seedvote.analysis.votes.study import read_study
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Utterance, Vote

pytestmark = pytest.mark.usefixtures("hasty_throughout")

CHOICES = {"MarCo": "a", "HDSA": "b", "Tie": "tie"}


def votes(shared):
    with gzip.open(shared / "data" / "marco_human_eval" / "human_annotation.json.gz") as handle:
        dialogues = json.load(handle)
    for dialogue in dialogues:
        for turn in dialogue["info"]:
            for k, said in enumerate(turn["MarCo vs. HDSA"]["Completion"], 1):
                name = f"{dialogue['file']}:{turn['turn_num']}"
                yield Vote(name, f"position-{k}", CHOICES[said], k, dialogue=dialogue["file"])


def pairs(shared):
    """The two systems' answers, as they were judged."""
    with gzip.open(shared / "data" / "marco_human_eval" / "human_annotation.json.gz") as handle:
        dialogues = json.load(handle)
    for dialogue in dialogues:
        for turn in dialogue["info"]:
            name, context = f"{dialogue['file']}:{turn['turn_num']}", (Utterance("user", turn["user"]),)
            sides = (Candidate(turn["MarCo"], "MarCo"), Candidate(turn["HDSA"], "HDSA"))
            yield Pair(name, name, context, *sides, dialogue=dialogue["file"])


def test_page_states_the_published_shares(shared, tmp_path):
    write_records(tmp_path / "votes.jsonl", votes(shared), signature="marco", kind=Vote)
    found = build_report(read_study(tmp_path), title="MarCo against HDSA, completion")
    written = render_page(found)
    preferred, decisive, ties, agreed = found.findings
    assert preferred.startswith("People preferred a to b, by 10.2 points of net preference (95 % interval +2.8")
    assert decisive.startswith("b would lead if 229 of the 2,226 votes")
    assert ties.startswith("68.3 % of 2,226 votes are ties (95 % interval")
    assert "The tie share (68.3 %) differs from that of random clicking (33.3 %; p" in ties and "is 0.45" in agreed
    assert "simulated: programs cast" not in written
    assert found.picture.title == "Net preference with its 95 % interval"
    (sets,) = [figure for figure in found.figures if figure.title.startswith("Share of ties in sets")]
    assert [name for _, name in sets.across] == ["chance 33 %"]  # no room for "half" beside it
    assert "0.451" in written  # nominal alpha, as published


def test_with_its_pairs_the_two_systems_have_names_and_one_training_each(shared, tmp_path):
    write_records(tmp_path / "votes.jsonl", votes(shared), signature="marco", kind=Vote)
    write_records(tmp_path / "pairs.jsonl", pairs(shared), signature="marco", kind=Pair)
    found = build_report(read_study(tmp_path))
    assert found.title == "Is MarCo preferred to HDSA?"
    assert found.findings[0].startswith("People preferred MarCo to HDSA, by 10.2 points of net preference")
    assert "One seed each of HDSA, MarCo: the effect of a new training run is unknown." in render_page(found)
    assert r"MarCo against HDSA & 2,226 & 467 & 239 & 1,520 & +10.2" in as_latex(found)
