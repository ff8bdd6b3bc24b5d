"""The page says one thing of two systems: every pair of sentences about one contrast, on public votes."""

import csv
import gzip
import json
import lzma
import re
import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.questions.preference.answer import answer
from seedvote.analysis.questions.preference.showing import best_of, findings, parts, preferred
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.votes.systems import fixed_sides, named_sides
from seedvote.analysis.votes.votes import votes_from_columns
from seedvote.dialogue.shell.command_line import dispatch


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
        said["headline"] = headline.startswith(("People preferred", "Raters preferred"))
    if headline.startswith("No preference"):
        said["headline"] = False
    if any(f"{name} is the best of" in " ".join(best_of(found)) for name in names):
        said["best"] = True
    texts = [str(part) for part in parts(found) if not isinstance(part, Table)]
    pair = f"{one.first} and {one.second}"
    differing = [text for text in texts if pair in text and "counts as shown only where both agree" in text]
    if differing:
        said["differing"] = False
    if any(text.startswith("The ranking orders") for text in differing):  # it says why the ranks differ from the rest
        assert said.pop("ranks") is True, pair
        said.pop("best", None)
    return {name: claim for name, claim in said.items() if claim is not None}


@pytest.mark.parametrize("public", [pandalm, marco, llmbar])
def test_no_two_sentences_about_one_contrast_contradict_each_other(public, shared):
    found = answer(public(shared), known=True, sets=400, careful=False)
    for one, is_shown in zip(found.led, found.shown, strict=True):
        said = claims(found, one, is_shown)
        for (left, claim), (right, other) in combinations(said.items(), 2):
            assert claim == other, (one.first, one.second, left, right)


def page_of(file, capsys, *options):
    """The rendered report of a table of votes, as Markdown."""
    assert dispatch("analysis", "", COMMANDS, ["report", str(file), *options]) == 0
    capsys.readouterr()
    return file.with_name("report.md").read_text(encoding="utf-8").replace("\\", "").replace("−", "-")


def rows_under(page, *heads):
    """The rows, by their heads, of every table of the page that has these columns."""
    for block in re.findall(r"(?:^\|.*\n)+", page, re.M):
        head, _, *rows = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines())
        if set(heads) <= set(head):
            yield from (dict(zip(head, row, strict=True)) for row in rows)


def said_on(page):
    """What every sentence and table row of the page says of two systems: names -> (words, whether one is preferred).

    What is said of these raters alone is another question, and has a heading and sentences of its own.
    """
    ranks = {row["system"]: [int(end) for end in row["95 % ranks, all at once"].split("-")]
             for row in rows_under(page, "system", "95 % ranks, all at once")}  # fmt: skip
    compared = [*rows_under(page, "comparison", "95 % interval", "p (Holm)")]
    said = {frozenset(row["comparison"].split(" against ")): [] for row in compared}
    sentences = re.split(r"(?<=\.)\s", page)
    for row in compared:
        low, high = map(float, row["95 % interval"].split(" to "))
        lowest = min(float(row[name].lstrip("<")) for name in ("p", "p (Holm)"))
        assert (lowest <= 0.05) == (low > 0 or high < 0), row
        if (is_open := float(row["p (Holm)"].lstrip("<")) > 0.05) or len(
            compared
        ) == 1:  # of several the ranks decide too
            said[frozenset(row["comparison"].split(" against "))].append((row["comparison"], not is_open))
    for names, claims in said.items():
        if names <= ranks.keys():
            first, second = (ranks[name] for name in names)
            are_ordered = first[-1] < second[0] or second[-1] < first[0]
            if are_ordered and not any(explains_order(sentence, *names) for sentence in sentences):
                claims.append(("ranks", True))
        for sentence in sentences:
            if claim := claim_of(sentence, *names):
                claims.append((sentence, claim == "yes"))
    return said


def explains_order(sentence, one, other):
    """Whether it says that the ranking orders two systems whose own votes do not."""
    either = f"(?:{re.escape(one)}|{re.escape(other)})"
    return re.search(f"The ranking orders .*{either} and {either}[ ,].*own votes do not", sentence)


def claim_of(sentence, one, other):
    """`yes` or `no` where the sentence says whether one of two systems is preferred; empty where it does not."""
    either = f"(?:{re.escape(one)}|{re.escape(other)})"
    if re.search(f"(People|Raters) preferred {either} to {either}|{either} is the best of", sentence):
        return "yes"
    none = re.search(
        f"No preference between {either} and {either} was shown|No preference was shown in any of", sentence
    )
    differing = re.search(f"preference between .*{either} and {either}[ ,].*counts as shown|"
                          f"preference between .*{either} and {either}[ ,].*ranking .* not", sentence)  # fmt: skip
    return "no" if none or differing else ""


def contradictions(page):
    return [
        (left, right)
        for claims in said_on(page).values()
        for (left, claim), (right, other) in combinations(claims, 2) if claim != other
    ]  # fmt: skip


@pytest.mark.usefixtures("hasty")
def test_page_never_contradicts_itself_on_a_contrast(shared, tmp_path, capsys):
    file = Path(shutil.copy(shared / "data" / "pandalm" / "votes.csv", tmp_path / "votes.csv"))
    page = page_of(file, capsys, "--columns", "pair=pair,rater=rater,choice=choice,system_a=model_a,system_b=model_b")
    said = said_on(page)
    assert len(said) == 10 and sum(len(claims) >= 2 for claims in said.values()) >= 4 and not contradictions(page)
    assert contradictions(page.replace("A preference was shown in 6 of", "No preference was shown in any of"))
    votes = marco(shared).votes
    rows = zip(votes.pair, votes.dialogue, votes.rater, np.array(["a", "b", "tie"])[votes.choice], strict=True)
    (tmp_path / "marco").mkdir()
    with (file := tmp_path / "marco" / "votes.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows([("pair", "dialogue", "rater", "choice"), *rows])
    page = page_of(file, capsys)
    (claims,) = said_on(page).values()
    assert len(claims) >= 2 and not contradictions(page)


def test_three_annotators_who_agree_show_what_their_pairs_show(shared):
    """Their own degrees of freedom are two, those of 999 pairs many more: Holm's p and the ranking go together."""
    found = answer(pandalm(shared), known=True, sets=400, careful=False)
    assert sum(found.shown) == sum(p < 0.05 for p in found.adjusted) == 6
    assert best_of(found) == ["llama-7b is the best of 5 systems (95 % confidence, all ranks at once)."]
    assert preferred(found)[0].startswith("A preference was shown in 6 of 10 comparisons")


def test_three_annotators_have_an_answer_of_their_own_that_is_named(shared):
    found = answer(pandalm(shared), known=True, sets=400, careful=False)
    assert len(found.fixed) == len(found.preferences) and {net.raters for net in found.fixed} == {3}
    (clearest,) = [net for net in found.fixed if (net.first, net.second) == ("cerebras-gpt-6.7B", "llama-7b")]
    assert clearest.p_holm < 1e-4 and clearest.high < -0.3
    assert any("For these 3 raters, a preference is shown in" in str(part) for part in parts(found))
    (single,) = [one for one in found.preferences if (one.first, one.second) == ("cerebras-gpt-6.7B", "llama-7b")]
    assert single.p < 0.0001 and single.net.df > 50  # three who agree leave the degrees of freedom to the pairs


def test_busy_raters_of_another_mind_part_the_two_means():
    generator = np.random.default_rng(0)
    busy = np.repeat(np.arange(30), np.r_[np.full(5, 120), np.full(25, 8)])
    first = generator.random(len(busy)) < np.where(busy < 5, 0.75, 0.25)
    columns = {"pair": np.arange(len(busy)) // 2, "rater": busy, "choice": np.where(first, "a", "b")}
    found = answer(fixed_sides(votes_from_columns(columns)), sets=200, careful=False)
    (mean,) = found.over_raters
    assert found.preferences[0].net.value > 0.15 > 0 > mean.value
    assert mean.low < 2 * (5 * 0.75 + 25 * 0.25) / 30 - 1 < mean.high
    assert any("is the mean over votes, so raters who gave more votes count for more" in str(p) for p in parts(found))
    said = next(sentence for sentence in preferred(found) if sentence.startswith("Where each rater counts the same"))
    assert mean.p_holm < 0.05 and " leads " in said


def test_where_work_is_even_one_mean_is_enough():
    columns = {"pair": np.arange(120) // 3, "rater": np.arange(120) % 12, "choice": ["a", "b", "tie", "a"] * 30}
    found = answer(fixed_sides(votes_from_columns(columns)), sets=200, careful=False)
    assert found.over_raters == () and found.fixed == ()


@pytest.mark.parametrize(
    ("margin", "claim"), [(0.9, "are equivalent within 90"), (0.01, "are not shown to be equivalent")]
)
def test_whether_two_are_equivalent_is_a_finding_where_a_margin_was_stated(margin, claim):
    columns = {"pair": np.arange(120) // 3, "rater": np.arange(120) % 12, "choice": ["a", "b", "tie", "b"] * 30}
    found = answer(fixed_sides(votes_from_columns(columns)), sets=200, careful=False, margin=margin)
    sentences = [str(part) for part in parts(found)]
    assert claim in findings(found)[1] and sentences.count(findings(found)[1]) == 1
