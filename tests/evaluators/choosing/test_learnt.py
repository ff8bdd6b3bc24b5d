"""The head on frozen states: its slope, what it finds where there is something, and nothing where there is nothing."""

import numpy as np
import pytest

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_json
from seedvote.evaluators.choosing.answer import answer_questions
from seedvote.evaluators.choosing.learnt import (
    EncoderStates,
    PairStates,
    encoder_choosers,
    fit_head,
    head_scores,
    read_question_states,
    softmax_loss,
)
from tests.evaluators.choosing.made import asked


def pairs(rng, number, turn, noise):
    """Replies that are a turned context, with noise."""
    contexts = rng.normal(size=(number, 6))
    return PairStates(contexts, contexts @ turn + noise * rng.normal(size=(number, 6)))


def test_the_slope_is_that_of_differences():
    rng = np.random.default_rng(0)
    matrix, contexts, replies = rng.normal(size=(3, 4)), rng.normal(size=(5, 3)), rng.normal(size=(5, 4))
    replies[3] = replies[1]
    alike = np.array([0, 1, 2, 1, 3])
    _, slope = softmax_loss(matrix, contexts, replies, alike)
    for i, j in ((0, 0), (2, 3), (1, 2)):
        step = np.zeros_like(matrix)
        step[i, j] = 1e-6
        up, down = (softmax_loss(matrix + sign * step, contexts, replies, alike)[0] for sign in (1, -1))
        assert slope[i, j] == pytest.approx((up - down) / 2e-6, rel=1e-4)


def test_replies_of_one_text_are_neither_right_nor_wrong_for_each_other():
    matrix, contexts = np.eye(2), np.array([[1.0, 0], [1.0, 0]])
    loss, slope = softmax_loss(matrix, contexts, contexts, np.array([0, 0]))
    assert (loss, np.abs(slope).max()) == (0.0, 0.0)


def states_of(train, valid, asked_for, options, sizes):
    return EncoderStates("m", 0, "last", "key", train, valid, asked_for, options, sizes)


def test_a_head_finds_what_is_there_and_gets_chance_where_there_is_nothing():
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    found = {}
    for name, noise in (("there", 0.3), ("nothing", None)):
        made = [pairs(rng, number, turn, noise or 0.3) for number in (400, 200, 300)]
        if noise is None:
            made = [PairStates(one.contexts, rng.normal(size=one.replies.shape)) for one in made]
        train, valid, test = made
        false = test.replies[rng.permutation(300)]
        options = np.stack([test.replies, false], 1).reshape(-1, 6)
        scores, _ = head_scores(states_of(train, valid, test.contexts, options, (2,) * 300), 0)
        found[name] = float((scores[0::2] > scores[1::2]).mean())
    assert found["there"] > 0.9
    assert 0.4 < found["nothing"] < 0.6


def test_learnt_head_follows_seed_and_validation_penalty():
    rng = np.random.default_rng(2)
    train, valid = pairs(rng, 150, np.eye(6), 0.5), pairs(rng, 100, np.eye(6), 0.5)
    one, same, other = (fit_head(train, valid, seed) for seed in (0, 0, 1))
    assert np.array_equal(one.matrix, same.matrix)
    assert not np.array_equal(one.matrix, other.matrix)
    assert one.loss == min(fit_head(train, valid, 0, [p]).loss for p in (1e-4, 1e-3, 1e-2))


@pytest.fixture
def encoded(tmp_path):
    questions = [asked(f"q{n}", ["a", "b", "c"], n % 3) for n in range(6)]

    def write(texts="t", drop=""):
        rng = np.random.default_rng(3)
        ids = [
            f"{split}/{what}/i{n}" for split in ("train", "valid") for n in range(80) for what in ("context", "reply")
        ]
        ids += [f"question/context/{one.question}" for one in questions]
        ids += [f"question/option/{one.question}/{k}" for one in questions for k in range(3)]
        ids = [name for name in ids if name != drop]
        (tmp_path / "question_states").mkdir(exist_ok=True)
        np.save(tmp_path / "question_states" / "m-0-last.npy", rng.normal(size=(len(ids), 4)).astype(np.float32))
        write_json(tmp_path / "question_states" / "m-0-last.json", {
            "model": "m", "seed": 0, "checkpoint": "last", "ids": ids, "pooling": "last", "width": 4,
            "dtype": "float32", "threads": 1, "weights": "w", "signature": "s", "key": "k",
            "splits": ["train", "valid", f"texts:{texts}"],
        })  # fmt: skip
        return tmp_path, questions

    return write


def test_heads_are_kept_and_their_mean_counts_once_a_seed(encoded):
    study, questions = encoded()
    told = []
    found = list(encoder_choosers(study, questions, "t", [0, 1], lambda: told.append(1)))
    assert [(one.rater, one.head) for one in found] == [("encoder", 0), ("encoder", 1)]
    first = {path: path.stat().st_mtime_ns for path in (study / "choosers").iterdir()}
    again = list(encoder_choosers(study, questions, "t", [0, 1], lambda: None))
    assert {path: path.stat().st_mtime_ns for path in (study / "choosers").iterdir()} == first
    assert [each.tolist() for each in again[0].scores] == [each.tolist() for each in found[0].scores]
    model = next(one for one in answer_questions(questions, found, "t").chosen if one.rater == "encoder")
    assert model.seeds == 1
    means = [np.mean([(s.argmax() == q.answer) for s, q in zip(one.scores, questions, strict=True)]) for one in found]
    assert model.rates["R@1"].value == pytest.approx(np.mean(means))


def test_states_of_other_questions_or_half_of_them_are_refused(encoded):
    study, questions = encoded(texts="other")
    path = study / "question_states" / "m-0-last.npy"
    with pytest.raises(InputError, match="belongs to other questions"):
        read_question_states(path, questions, "t")
    encoded(drop="question/option/q2/1")
    with pytest.raises(InputError, match=r"lacks 'question/option/q2/1'\. Encode again"):
        read_question_states(path, questions, "t")
    encoded()
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match="cannot be read"):
        read_question_states(path, questions, "t")
