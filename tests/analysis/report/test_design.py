"""Ties that the server recorded for identical responses count in the share of ties, and are nobody's vote elsewhere."""

import dataclasses
import json

import pytest

from seedvote.analysis.questions.agreement.answer import answer
from seedvote.analysis.questions.agreement.showing import document
from seedvote.analysis.questions.ties.answer import answer as ties
from seedvote.analysis.report.assembly import as_markdown, build_report
from seedvote.analysis.votes.study import read_study
from seedvote.analysis.votes.votes import read_votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Candidate, Pair, Rater, Vote
from tests.analysis.report_study import add_votes

EXTRA = {"auto": True}


def recorded(number):
    """Three ties each for so many identical pairs, as `crowd export` writes them."""
    return [
        Vote(f"i{n}", f"auto-tie-{k}", "tie", k, dialogue=f"d{n}", identical=True, extra=EXTRA)
        for n in range(number)
        for k in (1, 2, 3)
    ]


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """The same study with and without recorded ties."""
    folders = {}
    for name, number in (("without", 0), ("with", 8)):
        folder = add_votes(tmp_path_factory.mktemp(name), source="local")
        votes = [*read_records(folder / "votes.jsonl", Vote), *recorded(number)]
        pairs = list(read_records(folder / "pairs.jsonl", Pair))
        same = Candidate("yes", "bilstm_attn", 0, "last"), Candidate("yes", "bilstm_attn", 1, "last")
        one = dataclasses.replace(pairs[0], a=same[0], b=same[1], identical=True)
        pairs += [dataclasses.replace(one, pair=f"i{n}") for n in range(number)]
        write_records(folder / "votes.jsonl", votes, signature="test", kind=Vote)
        write_records(folder / "pairs.jsonl", pairs, signature="test", kind=Pair)
        folders[name] = folder
    return folders


def test_agreement_is_that_of_the_votes_that_somebody_gave(studies):
    numbers = {name: document(answer(read_votes(folder / "votes.jsonl"))) for name, folder in studies.items()}
    told = numbers["with"].pop("warnings")
    known = numbers["without"].pop("warnings")
    assert numbers["with"] == numbers["without"]
    assert [line for line in told if line not in known] == [
        "Left out: 24 ties that were recorded for identical responses and given by nobody."
    ]


def test_they_stay_in_the_share_of_ties_and_are_no_raters(studies):
    with_them, without = (ties(read_votes(studies[name] / "votes.jsonl"), size=20) for name in ("with", "without"))
    assert with_them.pooled.ties - without.pooled.ties == 24
    assert with_them.effective_raters == without.effective_raters
    votes = read_votes(studies["with"] / "votes.jsonl")
    assert votes.voters == 9 and votes.source == {"local": 90}


def test_design_counts_raters_judgements_and_recorded_ties(studies):
    text = as_markdown(build_report(read_study(studies["with"])))
    assert "30 pairs of responses were each judged 3 times, by 9 raters with 9 to 12 votes each." in text
    assert "90 votes, 24 recorded ties, 30 pairs, 9 raters" in text
    assert "24 ties recorded for pairs of two identical responses, which nobody was shown" in text
    assert "auto-tie" not in text and "12 raters" not in text and "imported" not in text


def test_votes_that_nobody_gave_have_no_agreement_and_are_told_so(tmp_path):
    lines = [{"pair": "p", "rater": f"auto-tie-{k}", "choice": "tie", "auto": True} for k in (1, 2)]
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError, match="Nobody gave these 2 votes"):
        answer(read_votes(tmp_path / "votes.jsonl"))


def test_page_events_are_counted_for_everybody(tmp_path):
    folder = add_votes(tmp_path, source="local")
    assert "left the page" not in as_markdown(build_report(read_study(folder)))
    counts = [{"left": 3, "copied": 0, "pasted": 0}, {"left": 1, "copied": 2, "pasted": 0}, {}]
    raters = [
        dataclasses.replace(one, extra={"page_events": dict.fromkeys(("left", "copied", "pasted"), 0) | counts[n % 3]})
        for n, one in enumerate(read_records(folder / "raters.jsonl", Rater))
    ]
    write_records(folder / "raters.jsonl", raters, signature="test", kind=Rater)
    told = "While answering, 6 of 9 raters left the page at least once, 3 copied from it and 0 pasted into it."
    assert told in as_markdown(build_report(read_study(folder)))
