"""The papers' numbers, read as they must be."""

import gzip
import json
from collections import Counter

import pytest

from seedvote.analysis.notebook import compare
from seedvote.analysis.questions.comparison.answer import read_published
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Utterance, Vote
from tests.house.typed import typed

SCORES = read_published()


def test_hreds_plus_minus_is_an_sd_of_32_points():
    (cell,) = [
        s for s in SCORES if (s.task, s.model, s.checkpoint, s.printed) == ("UtteranceLoc", "hred", s.checkpoint, 10.39)
    ]
    assert cell.sd == pytest.approx(32.2, abs=0.05)


@pytest.mark.slow
def test_people_and_corpus_on_the_same_systems(shared, tmp_path):
    """RADDLE's figure 3 on MarCo's public votes: 1,484 pairs of three systems, and their replies scored by goals."""
    with gzip.open(shared / "data" / "marco_human_eval" / "human_annotation.json.gz") as handle:
        dialogues = json.load(handle)
    names = {"MarCo": "MarCo", "HDSA": "HDSA", "system": "human"}
    pairs, votes = [], []
    predictions: dict[str, dict] = {name: {} for name in names}
    counts: dict[str, Counter] = {"HDSA": Counter(), "system": Counter()}
    for dialogue in dialogues:
        cluster = dialogue["file"].lower()
        turns = sorted(dialogue["info"], key=lambda turn: turn["turn_num"])
        for name, answers in predictions.items():
            answers[cluster] = [{"response": turn[name]} for turn in turns]
        for turn in turns:
            item, context = f"{cluster}:{2 * turn['turn_num'] + 1}", (Utterance("user", turn["user"]),)
            for other, tally in counts.items():
                sides = [Candidate(turn[name], names[name], checkpoint="published") for name in ("MarCo", other)]
                pairs.append(Pair(f"{item}-{other}", item, context, *sides, dialogue=cluster))
                cast = turn[f"MarCo vs. {other}"]["Completion"]
                choices = [{"MarCo": "a", "Tie": "tie"}.get(vote, "b") for vote in cast]
                tally.update(choices)
                votes += [
                    Vote(pairs[-1].pair, f"position-{k}", choice, k, dialogue=cluster)
                    for k, choice in enumerate(choices, 1)
                ]
    write_records(tmp_path / "pairs.jsonl", pairs, signature="marco", kind=Pair)
    write_records(tmp_path / "votes.jsonl", votes, signature="marco", kind=Vote)
    files = []
    for name, answers in predictions.items():
        files.append(tmp_path / f"{names[name]}.json")
        files[-1].write_text(json.dumps(answers))
    corpus = ["--corpus", shared / "data" / "multiwoz21_valtest", "--db", shared / "data" / "multiwoz_db"]
    typed("evaluators", "task", *files, *corpus, "--out", tmp_path)
    methods = compare(tmp_path).document["methods"]
    values = {(row["name"], row["model"]): row["values"][0] for row in methods}

    hdsa, human = (100 * (tally["a"] - tally["b"]) / tally.total() for tally in counts.values())
    marco = (hdsa + human) / 3  # strengths by least squares, with a sum of 0
    people = {"MarCo": marco, "HDSA": marco - hdsa, "human": marco - human}
    for name, strength in people.items():
        assert values["net preference", name] == pytest.approx(strength)
    assert sorted(people, key=people.__getitem__) == ["HDSA", "human", "MarCo"]
    shown = {task: [values[task.lower(), name] for name in names.values()] for task in ("Inform", "Success")}
    assert shown == {"Inform": [95, 85, 93], "Success": [90, 82, 93]}  # docs/results.md
