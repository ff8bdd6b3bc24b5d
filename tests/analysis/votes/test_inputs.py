"""Several questions in one file of votes: one is taken, and none are pooled, whatever reads them."""

import json

import pandas as pd
import pytest

from seedvote.analysis import notebook
from seedvote.analysis.votes.inputs import ratings_of, votes_of
from seedvote.analysis.votes.study import read_study
from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Comment, Pair, Utterance, Vote

RATERS = [f"r{n}" for n in range(4)]


def cast(pair, rater, question, choice, **more):
    return Vote(pair, rater, choice, 1 + RATERS.index(rater), question=question, dialogue=f"d-{pair}", **more)


VOTES = [
    vote
    for pair in ("p0", "p1", "p2")
    for rater in RATERS
    for vote in (
        cast(pair, rater, "better", "a", strength=2),
        cast(pair, rater, "fluency", "b", score_a=2, score_b=4 + (rater == "r1")),
    )
]


@pytest.fixture
def study(tmp_path):
    said = (Utterance("user", "hi"),)
    pairs = [
        Pair(p, f"{p}:1", said, Candidate("x", "one", 0), Candidate("y", "two", 0), dialogue=f"d-{p}")
        for p in ("p0", "p1", "p2")
    ]
    write_records(tmp_path / "pairs.jsonl", pairs, signature="test", kind=Pair)
    write_records(tmp_path / "votes.jsonl", VOTES, signature="test", kind=Vote)
    return tmp_path


@pytest.mark.parametrize("question", ["better", "fluency"])
def test_one_question_is_taken_from_a_file_and_from_a_frame(study, question):
    rows = [json.loads(line) for line in (study / "votes.jsonl").read_text().splitlines()[1:]]
    for source in (study, study / "votes.jsonl", pd.DataFrame(rows), VOTES):
        found = votes_of(source, question=question)
        assert len(found) == 12 and {found.labels[code] for code in found.choice} == {"ab"[question == "fluency"]}


@pytest.mark.parametrize("source", ["folder", "file", "frame", "records"])
def test_several_questions_are_refused_by_name(study, source):
    path = study / "votes.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    given = {"folder": study, "file": path, "frame": pd.DataFrame(rows), "records": VOTES}[source]
    with pytest.raises(Unclear, match=r"holds 2 questions \(better, fluency\).*never pooled.*--question better"):
        votes_of(given)


def test_every_command_that_reads_votes_refuses_several(study):
    for ask in (notebook.ties, notebook.agreement, notebook.preference, notebook.compare, notebook.variance):
        with pytest.raises(Unclear, match="2 questions"):
            ask(study)
    with pytest.raises(Unclear, match="2 questions"):
        read_study(study)


def test_a_question_that_nobody_asked_is_refused_with_those_that_were(study):
    with pytest.raises(InputError, match="--question is 'colour'; the questions are better, fluency"):
        votes_of(study, question="colour")


def test_a_column_of_what_people_asked_a_system_is_no_question(tmp_path):
    rows = [{"pair": f"p{n}", "rater": "r", "choice": "a", "question": f"What is {n}?"} for n in range(3)]
    path = tmp_path / "theirs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(votes_of(path)) == 3


def test_the_study_says_which_question_it_answers(study):
    text = '[[questions]]\nname = "better"\nask = "Which?"\n[[questions]]\nname = "fluency"\nask = "How fluent?"\n'
    (study / "hit.toml").write_text(text + 'kind = "likert"\n')
    assert (
        read_study(study, question="fluency").asked["ask"] == "How fluent?"
        and read_study(study, question="better").votes
    )


def test_scores_are_compared_under_the_names_of_the_systems(study):
    table = ratings_of(study, question="fluency")
    (one,) = table.contrasts
    assert table.systems == ("one-0", "two-0") and (one.first.mean(), one.second.mean()) == (2, 4.25)
    assert one.contrast.votes.rater is not None and table.items == 3


def test_comments_come_from_their_own_file(study):
    wrote = [Comment("p1", "r2", "why", "Because."), Comment("p1", "r2", "else", "Nothing.")]
    write_records(study / "comments.jsonl", wrote, signature="test", kind=Comment)
    found = votes_of(study, question="better", also=("comment",))
    said = {
        (found.pairs[p], found.raters[r]): text
        for p, r, text in zip(found.pair, found.rater, found.also["comment"], strict=True)
    }
    assert said["p1", "r2"] == "Because. / Nothing." and said["p0", "r2"] == ""
