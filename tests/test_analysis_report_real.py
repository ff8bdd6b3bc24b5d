"""The report of a study made from a real human evaluation: votes only, no raters' names, no seeds."""

import gzip
import json
import subprocess
import sys

from analysis.report import render
from analysis.study import read_study
from dialogue.files import write_records
from dialogue.records import Vote

CHOICES = {"MarCo": "a", "HDSA": "b", "Tie": "tie"}


def votes(shared):
    with gzip.open(shared / "data" / "marco_human_eval" / "human_annotation.json.gz") as handle:
        dialogues = json.load(handle)
    for dialogue in dialogues:
        for turn in dialogue["info"]:
            for k, said in enumerate(turn["MarCo vs. HDSA"]["Completion"], 1):
                name = f"{dialogue['file']}:{turn['turn_num']}"
                yield Vote(name, f"position-{k}", CHOICES[said], k, dialogue=dialogue["file"])


def test_the_page_states_the_published_shares_and_that_nothing_was_simulated(shared, tmp_path):
    write_records(tmp_path / "votes.jsonl", votes(shared), signature="marco", kind=Vote)
    command = [sys.executable, "analyze_ties.py", tmp_path / "votes.jsonl", "--out", tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    page, facts = render(read_study(tmp_path), title="MarCo against HDSA, completion")
    assert facts["findings"][0].startswith("1520 of 2226 votes were ties (68.3 %")
    assert "lies outside that interval" in facts["findings"][1]
    assert "came from simulated raters" not in page
    assert "0.451" in page  # nominal alpha, as published
