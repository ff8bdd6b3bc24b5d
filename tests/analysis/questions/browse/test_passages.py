"""Marked passages on the page of all pairs: where they stand, who agrees, and texts that are others by now."""

import dataclasses

import pytest

from seedvote.analysis.questions.browse.page import browse
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Candidate, MarkedPassage, Pair, ResponseRating, ResponseSet, Utterance, Vote


def browse_study(folder):
    """Exported answers of three raters, two of whom marked the same."""
    pair = Pair(
        "p", "d:1", (Utterance("u", "Hi."),), Candidate("a wrong word", "x", 0), Candidate("fine", "y", 0), dialogue="d"
    )
    write_records(folder / "pairs.jsonl", [pair], signature="t", kind=Pair)
    given = [Vote("p", name, "b", k, marks=n) for k, (name, n) in enumerate((("r1", 1), ("r2", 1), ("r3", 0)), 1)]
    write_records(folder / "votes.jsonl", given, signature="t", kind=Vote)
    marks = [
        MarkedPassage("p", "r1", "a", 2, 7, "fact", "wrong"),
        MarkedPassage("p", "r2", "a", 2, 12, "fact", "wrong word"),
    ]
    write_records(folder / "marks.jsonl", marks, signature="t", kind=MarkedPassage)
    return marks


def test_browse_shows_marks_and_says_how_far_raters_agree(tmp_path):
    browse_study(tmp_path)
    result = browse(tmp_path)
    page = (tmp_path / "browse.html").read_text(encoding="utf-8")
    assert '<mark title="fact (2)">wrong<sup>2</sup></mark><mark title="fact (1)"> word<sup>1</sup></mark>' in page
    assert result.document["marks"]["categories"] == {"fact": 2}
    assert result.document["marks"]["overlap"]["f1"] == pytest.approx(2 * 5 / (15 + 5 + 10))
    assert "Two raters mark the same characters at F1 33.3 %; chance gives" in page
    pairs = read_records(tmp_path / "pairs.jsonl", Pair)
    changed = dataclasses.replace(pairs[0], a=dataclasses.replace(pairs[0].a, text="another text"))
    write_records(tmp_path / "pairs.jsonl", [changed], signature="t", kind=Pair)
    with pytest.raises(InputError, match="is not in response a of p"):
        browse(tmp_path)


def test_sets_of_responses_show_theirs(tmp_path):
    sides = (Candidate("one wrong", "x", 0), Candidate("two", "y", 0))
    shown = ResponseSet("s", "d:1", (Utterance("u", "Hi."),), sides, dialogue="d")
    write_records(tmp_path / "response_sets.jsonl", [shown], signature="t", kind=ResponseSet)
    given = [ResponseRating("s", "r1", "q", f"{side.model}-0", "d:1", k, score=3, of=2, round=1, marks=1 - k)
             for k, side in enumerate(sides)]  # fmt: skip
    write_records(tmp_path / "ratings.jsonl", given, signature="t", kind=ResponseRating)
    write_records(
        tmp_path / "marks.jsonl",
        [MarkedPassage("s", "r1", "0", 4, 9, "fact", "wrong")],
        signature="t",
        kind=MarkedPassage,
    )
    result = browse(tmp_path)
    assert '<mark title="fact (1)">wrong' in (tmp_path / "browse.html").read_text(encoding="utf-8")
    assert result.document["marks"]["categories"] == {"fact": 1} and result.document["marks"]["overlap"] is None
