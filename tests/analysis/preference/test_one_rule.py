"""The page says one thing of two systems: every pair of sentences about one contrast, on public votes."""

import csv
import gzip
import json
import lzma
from itertools import combinations

import numpy as np
import pytest

from analysis.preference.answer import answer
from analysis.preference.text import parts
from analysis.report.findings import best_of, preferred
from analysis.showing.tables import Table
from analysis.votes.systems import fixed_sides, named_sides
from analysis.votes.votes import votes_from_columns


def pandalm(shared):
    with (shared / "data" / "pandalm" / "votes.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    columns = {"pair": "pair", "rater": "rater", "choice": "choice", "system_a": "model_a", "system_b": "model_b"}
    return named_sides(votes_from_columns({name: [row[key] for row in rows] for name, key in columns.items()}))


def marco(shared):
    with gzip.open(shared / "data" / "marco_human_eval" / "human_annotation.json.gz") as handle:
        dialogues = json.load(handle)
    names = {"MarCo": "a", "HDSA": "b", "Tie": "tie"}
    rows = [
        (f"{dialogue['file']}:{turn['turn_num']}", dialogue["file"], f"position-{k}", names[choice])
        for dialogue in dialogues
        for turn in dialogue["info"]
        for k, choice in enumerate(turn["MarCo vs. HDSA"]["Completion"])
    ]
    return fixed_sides(
        votes_from_columns(
            {name: [row[k] for row in rows] for k, name in enumerate(("pair", "dialogue", "rater", "choice"))}
        )
    )


def llmbar(shared):
    with lzma.open(shared / "data" / "judge_llmbar" / "verdicts.csv.xz", "rt") as handle:
        rows = [row for row in csv.DictReader(handle) if row["winner"] in ("1", "2")]
    return fixed_sides(
        votes_from_columns(
            {
                "pair": [f"{row['dataset']}:{row['item']}" for row in rows],
                "rater": [f"{row['judge']} {row['prompt']} {row['order']}" for row in rows],
                "choice": ["a" if row["winner"] == row["label"] else "b" for row in rows],
            },
            with_judges=True,
        )
    )


def claims(found, one, is_shown):
    """What each sentence says of these two systems: True for a preference between them, False for none shown."""
    names = one.first, one.second
    ranks = {system.system: system for system in found.ranking.systems}
    first, second = (ranks[name] for name in names)
    said = {"rule": is_shown, "ranks": first.all_high < second.all_low or second.all_high < first.all_low or None}
    if one.net.low <= 0 <= one.net.high:
        said["interval"] = False
    headline = preferred(found)[0]
    if len(found.led) == 1:
        said["headline"] = headline.startswith("People preferred")
    if headline.startswith("No preference"):
        said["headline"] = False
    if any(f"{name} is the best of" in best_of(found) for name in names):
        said["best"] = True
    texts = [str(part) for part in parts(found) if not isinstance(part, Table)]
    pair = f"{one.first} and {one.second}"
    if any(pair in text and "counts as shown only where both agree" in text for text in texts):
        said["differing"] = False
    return {name: claim for name, claim in said.items() if claim is not None}


@pytest.mark.parametrize("public", [pandalm, marco, llmbar])
def test_no_two_sentences_about_one_contrast_contradict_each_other(public, shared):
    found = answer(public(shared), known=True, sets=400, careful=False)
    for one, is_shown in zip(found.led, found.shown, strict=True):
        said = claims(found, one, is_shown)
        for (left, claim), (right, other) in combinations(said.items(), 2):
            assert claim == other, (one.first, one.second, left, right)


def test_three_annotators_have_an_answer_of_their_own_that_is_named(shared):
    found = answer(pandalm(shared), known=True, sets=400, careful=False)
    assert len(found.fixed) == len(found.preferences) and {net.raters for net in found.fixed} == {3}
    (clearest,) = [net for net in found.fixed if (net.first, net.second) == ("cerebras-gpt-6.7B", "llama-7b")]
    assert clearest.p_holm < 1e-4 and clearest.high < -0.3
    assert "These 3 raters have a preference in" in preferred(found)[-1]
    assert any("For these 3 raters, a preference is shown in" in str(part) for part in parts(found))
    (single,) = [one for one in found.preferences if (one.first, one.second) == ("cerebras-gpt-6.7B", "llama-7b")]
    assert single.p < 0.0001 and single.net.df > 50  # three who agree leave the degrees of freedom to the pairs


def test_busy_raters_of_another_mind_part_the_two_means():
    generator = np.random.default_rng(0)
    busy = np.repeat(np.arange(30), np.r_[np.full(5, 100), np.full(25, 8)])
    first = generator.random(len(busy)) < np.where(busy < 5, 0.75, 0.35)
    columns = {"pair": np.arange(len(busy)) // 2, "rater": busy, "choice": np.where(first, "a", "b")}
    found = answer(fixed_sides(votes_from_columns(columns)), sets=200, careful=False)
    (mean,) = found.over_raters
    assert found.preferences[0].net.value > 0.2 > 0 > mean.value
    assert mean.low < 2 * (5 * 0.75 + 25 * 0.35) / 30 - 1 < mean.high
    assert any("is the mean over votes, so raters who gave more votes count for more" in str(p) for p in parts(found))


def test_where_work_is_even_one_mean_is_enough():
    columns = {"pair": np.arange(120) // 3, "rater": np.arange(120) % 12, "choice": ["a", "b", "tie", "a"] * 30}
    found = answer(fixed_sides(votes_from_columns(columns)), sets=200, careful=False)
    assert found.over_raters == () and found.fixed == ()
