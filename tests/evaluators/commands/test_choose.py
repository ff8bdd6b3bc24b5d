"""`evaluators questions` and `evaluators choose` as a user meets them."""

import json

import pyarrow.parquet as pq
import pytest

from seedvote.analysis.votes.scores.files import read_study_scores
from seedvote.analysis.votes.scores.study_panels import baselines_beside, kept_keys
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_header
from seedvote.dialogue.questions import read_questions, texts_hash, write_choices
from seedvote.dialogue.records import OptionChoice
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.evaluators.__main__ import COMMANDS


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    write_toy(folder / "corpus", 80, seed=0)
    return folder


@pytest.fixture
def say(toy, tmp_path, capsys):
    tmp_path.joinpath("corpus").symlink_to(toy / "corpus")

    def call(name, *words):
        assert dispatch("evaluators", "", COMMANDS, [name, str(tmp_path), *map(str, words)]) == 0
        return capsys.readouterr().out

    return call


def test_questions_are_described_at_once_and_the_same_again(say, tmp_path):
    out = say("questions", "--n", 20, "--versions", 2, "--checks", 3)
    assert "20 questions of 5 options on 20 contexts" in out
    assert "6 hidden checks" in out
    assert all(name in out for name in ("TF-IDF", "the shortest", "the longest", "chance              0.200"))
    first = (tmp_path / "questions.jsonl").read_bytes()
    assert "false:uniform" in read_header(tmp_path / "questions.jsonl")["signature"]
    say("questions", "--n", 20, "--versions", 2, "--checks", 3)
    assert (tmp_path / "questions.jsonl").read_bytes() == first


def test_length_that_gives_the_answer_away_is_a_warning(say, tmp_path):
    sets = tmp_path / "sets.csv"
    rows = "".join(f"context {n},a b c d {n},e f {n},x{n},2\n" for n in range(40))
    sets.write_text(f"context,option1,option2,option3,answer\n{rows}")
    out = say("questions", "--from", sets)
    assert "WARNING: length gives something away. Whoever takes the shortest option is right in 100.0 %" in out
    assert "and chance in 33.3 %. Hold a model against that, not against chance." in out


def test_questions_that_people_answered_are_not_drawn_over(say, tmp_path):
    say("questions", "--n", 10)
    questions = read_questions(tmp_path / "questions.jsonl")
    choice = OptionChoice(questions[0].question, "r1", 0)
    write_choices(tmp_path / "choices.jsonl", [choice], texts_hash(questions))
    say("questions", "--n", 10)
    with pytest.raises(InputError, match=r"choices\.jsonl belongs to other questions"):
        say("questions", "--n", 11)
    assert len(read_questions(tmp_path / "questions.jsonl")) == len(questions)


def test_what_cannot_be_is_refused(say):
    with pytest.raises(InputError, match="the same in every draw"):
        say("questions", "--false", "hard", "--draws", 2)
    with pytest.raises(InputError, match="needs 5 versions or more"):
        say("questions", "--draws", 5)
    with pytest.raises(InputError, match="--options is 1"):
        say("questions", "--options", 1)


def test_simple_rules_stand_in_the_score_table_beside_models(say, tmp_path):
    say("questions", "--n", 20, "--draws", 2)
    questions = read_questions(tmp_path / "questions.jsonl")
    rows = [(one.question, k, "m", seed, "last", -float((k + seed) % 3), 2, -1.0, 0)
            for seed in (0, 1) for one in questions for k in range(5)]  # fmt: skip
    import pyarrow as pa

    names = ("question", "option", "model", "seed", "checkpoint", "logprob", "tokens", "logprob_alone", "unknown")
    table = pa.table({name: [row[k] for row in rows] for k, name in enumerate(names)})
    signature = {"format": "ranks", "signature": f"texts:{texts_hash(questions)}"}
    pq.write_table(table.replace_schema_metadata(signature), tmp_path / "ranks.parquet")
    out = say("choose")
    assert "log p a token" in out
    assert "Other false options to the same contexts move R@1 by an SD of" in out
    found = json.loads((tmp_path / "nuc.json").read_text())
    assert found["chance"]["R@1"] == pytest.approx(0.2)
    scores = read_study_scores(tmp_path)
    kept, left = kept_keys(scores)
    assert {(key.task, key.rater) for key in kept} == {("R@1", rule) for rule in ("log p", "log p a token", "PMI")}
    assert "further draws of false options" in {one.why for one in left}
    assert {one.name for one in baselines_beside(scores)} == {"shortest", "longest", "overlap", "tfidf"}
    assert json.loads(say("choose", "--json"))["rows"] == found["rows"]
    say("questions", "--n", 20, "--draws", 2)  # the same again
    with pytest.raises(InputError, match=r"ranks\.parquet holds the ranks of other questions"):
        say("questions", "--n", 19)
    assert read_questions(tmp_path / "questions.jsonl") == questions
