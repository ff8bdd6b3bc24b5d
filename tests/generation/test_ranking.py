"""Likelihoods of options: each equals that of its own row, whatever it was read with; and a whole study is ranked."""

import math

import pyarrow.parquet as pq
import pytest
import torch
from torch.nn.functional import cross_entropy

from seedvote.dialogue.questions import texts_hash, write_questions
from seedvote.dialogue.records import Option, Question, Utterance
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.generation.__main__ import COMMANDS
from seedvote.generation.batches import stack_batch
from seedvote.generation.models.architectures import ARCHITECTURES, build_model
from seedvote.generation.numbering import Numbered
from seedvote.generation.ranking import SAYS_NOTHING, NumberedQuestion, number_questions, rank_options
from seedvote.generation.vocabulary import EOS, EOU, OTHER, SELF, SPECIAL, UNK, Vocabulary
from tests.generation.small_sizes import small_sizes

CPU = torch.device("cpu")
QUESTIONS = [
    NumberedQuestion(
        f"q{n}", (OTHER, *[9 + n] * (1 + n % 5), EOU), tuple((*range(8, 9 + (n + k) % 6), UNK, EOS) for k in range(5))
    )
    for n in range(7)
]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_an_option_in_a_batch_is_the_option_alone(name):
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        model = build_model(name, 40, small_sizes(name, 12)).eval()
    found = {(one.question, one.option): one for one in rank_options(model, QUESTIONS, CPU)}
    assert len(found) == 35
    for question in QUESTIONS[::2]:
        for k, option in enumerate(question.options):
            one = found[question.name, k]
            assert one.logprob == pytest.approx(alone(model, question.context, option), abs=1e-9)
            assert one.alone == pytest.approx(alone(model, SAYS_NOTHING, option), abs=1e-9)
            assert (one.tokens, one.unknown) == (len(option), 1)


@torch.inference_mode()
def alone(model, context, option):
    batch = stack_batch([Numbered("", context, option)], CPU)
    hidden = model.decode_targets(model.encode(batch.contexts), batch.inputs)[0]
    return -float(cross_entropy(model.output(hidden), batch.targets[0], reduction="sum"))


def test_the_probabilities_of_all_next_words_add_to_one():
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        model = build_model("seq2seq", 20, small_sizes("seq2seq", 12)).eval()
    every = NumberedQuestion("q", (OTHER, 9, EOU), tuple((word,) for word in range(1, 20)))  # 0 is padding
    total = sum(math.exp(one.logprob) for one in rank_options(model, [every], CPU))
    assert 0.8 < total < 1


def test_whoever_answers_is_self():
    words = Vocabulary((*SPECIAL, "hi", "you"))
    context = [Utterance("system", "hi"), Utterance("user", "you")]
    options = [Option("hi you"), Option("what")]
    (one,) = number_questions([Question("q", "d:2", context, options, 0, extra={"speaker": "system"})], words)
    assert one.context == (SELF, 7, EOU, OTHER, 8, EOU)
    assert one.options == ((7, 8, EOS), (UNK, EOS))


def generation(*arguments):
    return dispatch("generation", "", COMMANDS, [str(argument) for argument in arguments])


@pytest.fixture
def tiny_study(tmp_path):
    from seedvote.dialogue.corpora.toy.write import write_toy

    write_toy(tmp_path / "corpus", 20, seed=0)
    assert generation("train", tmp_path, "--models", "seq2seq", "--seeds", "0-1", "--preset", "tiny", "--epochs", "1",
                      "--jobs", "1") == 0  # fmt: skip
    questions = [
        Question(f"q{n}", f"d{n}:1", [Utterance("user", "hello")], [Option("yes please"), Option(f"no {n}")], n % 2)
        for n in range(4)
    ]
    write_questions(tmp_path / "questions.jsonl", questions)
    return tmp_path, questions


def test_a_study_is_ranked_once_and_again_where_texts_change(tiny_study, capsys):
    study, questions = tiny_study
    assert generation("rank", study, "--jobs", "1") == 0
    table = pq.read_table(study / "ranks.parquet")
    assert len(table) == 2 * 2 * 4 * 2
    assert f"texts:{texts_hash(questions)}" in table.schema.metadata[b"signature"].decode()
    first = {path: path.stat().st_mtime_ns for path in (study / "ranks").iterdir()}
    (study / "ranks" / "seq2seq-1-last.parquet").unlink()  # as after a kill
    (study / "ranks" / ".seq2seq-1-last.parquet.host.1.tmp").write_bytes(b"half")
    assert generation("rank", study, "--jobs", "1") == 0
    again = {path: path.stat().st_mtime_ns for path in (study / "ranks").iterdir()}
    assert [path.name for path in first if first[path] != again[path]] == ["seq2seq-1-last.parquet"]
    assert first.keys() == again.keys()
    assert pq.read_table(study / "ranks.parquet").equals(table)
    write_questions(study / "questions.jsonl", questions[:2])
    assert generation("rank", study, "--jobs", "1", "--checkpoints", "last") == 0
    assert len(pq.read_table(study / "ranks.parquet")) == 2 * 2 * 2  # nothing of the earlier texts
    assert "8 options under 2 checkpoints" in capsys.readouterr().out


def test_states_for_a_head_hold_pairs_and_questions(tiny_study):
    import numpy as np

    from seedvote.dialogue.files import read_json

    study, questions = tiny_study
    assert generation("encode", study, "--questions", "--jobs", "1", "--limit", "10", "--checkpoints", "last") == 0
    sidecar = read_json(study / "question_states" / "seq2seq-0-last.json")
    ids = sidecar["ids"]
    assert sum(name.startswith("train/context/") for name in ids) == 10
    assert [name for name in ids if name.startswith("question/")][:3] == [
        "question/context/q0", "question/option/q0/0", "question/option/q0/1",
    ]  # fmt: skip
    assert sidecar["splits"][-1] == f"texts:{texts_hash(questions)}"
    rows = np.load(study / "question_states" / "seq2seq-0-last.npy")
    # "yes please" is an option of every question, and no other row is like it.
    same = [rows[ids.index(f"question/option/q{n}/0")] for n in range(4)]
    assert all(np.array_equal(same[0], one) for one in same)
    assert not np.array_equal(same[0], rows[ids.index("question/option/q0/1")])
    assert not (study / "states").exists()
