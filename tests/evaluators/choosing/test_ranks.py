"""Ranks of models as scores of three rules; ranks for other texts are refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedvote.dialogue.errors import InputError
from seedvote.evaluators.choosing.answer import choosing
from seedvote.evaluators.choosing.ranks import Chooser, read_ranks
from tests.evaluators.choosing.made import asked

QUESTIONS = [asked("q1", ["a", "b b"], 0), asked("q2", ["c", "d", "e"], 2)]


@pytest.fixture
def ranks(tmp_path):
    def write(rows, texts="t1"):
        path = tmp_path / "ranks.parquet"
        names = ("question", "option", "model", "seed", "checkpoint", "logprob", "tokens", "logprob_alone", "unknown")
        table = pa.table({name: [row[k] for row in rows] for k, name in enumerate(names)})
        pq.write_table(table.replace_schema_metadata({"format": "ranks", "signature": f"texts:{texts}|v:1"}), path)
        return read_ranks(path, QUESTIONS, "t1")

    return write


def row(question, option, logprob, tokens, alone, seed=0):
    return (question, option, "m", seed, "last", logprob, tokens, alone, 0)


ROWS = [row("q1", 1, -6.0, 4, -5.0), row("q1", 0, -4.0, 2, -2.0), row("q2", 0, -1.0, 1, -1.0),
        row("q2", 2, -3.0, 3, -9.0), row("q2", 1, -2.0, 1, -2.0)]  # fmt: skip


def test_three_rules_whatever_the_order_of_rows(ranks):
    found = {one.rater: one for one in ranks(ROWS).choosers}
    assert [each.tolist() for each in found["log p"].scores] == [[-4, -6], [-1, -2, -3]]
    assert [each.tolist() for each in found["log p a token"].scores] == [[-2, -1.5], [-1, -2, -1]]
    assert [each.tolist() for each in found["PMI"].scores] == [[-2, -1], [0, 0, 6]]


def test_what_is_not_ranked_has_no_score_and_is_counted(ranks):
    found = choosing(QUESTIONS, ranks(ROWS[:2]).choosers, "t1")
    model = next(one for one in found.chosen if one.rater == "log p")
    assert (model.questions, model.rates["R@1"].value) == (1, 1.0)


def test_ranks_of_other_texts_or_half_a_file_are_refused(ranks, tmp_path):
    with pytest.raises(InputError, match="belongs to other questions"):
        ranks(ROWS, texts="t2")
    (tmp_path / "ranks.parquet").write_bytes(b"PAR1half")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_ranks(tmp_path / "ranks.parquet", QUESTIONS, "t1")


def test_permuting_options_changes_nothing_and_checks_are_not_counted():
    rng = np.random.default_rng(0)
    texts = ["good day sir", "bye", "what is it ?", "it is late now", "a room there"]
    questions = [asked(f"q{n}", rng.permutation(texts).tolist(), int(rng.integers(5)), "is it late ? yes there")
                 for n in range(30)]  # fmt: skip
    scores = [rng.normal(size=5) for _ in questions]
    turns = [rng.permutation(5) for _ in questions]
    turned = [
        asked(one.question, [one.options[k].text for k in turn], int(np.flatnonzero(turn == one.answer)[0]),
              one.context[0].text)
        for one, turn in zip(questions, turns, strict=True)
    ]  # fmt: skip
    check = asked("check", texts, 0, kind="check")
    moved = [each[turn] for each, turn in zip(scores, turns, strict=True)]
    one = choosing([*questions, check], [Chooser("m", 0, "last", "log p", [*scores, np.zeros(5)])], "t")
    other = choosing(turned, [Chooser("m", 0, "last", "log p", moved)], "t")
    assert [each.rates for each in one.chosen] == [each.rates for each in other.chosen]
    assert len(one.questions) == 30


def test_drawing_the_false_options_anew_is_a_facet():
    questions = [asked(f"q{n}-{draw}", ["a", "b"], 0, item=f"i{n}", extra={"draw": draw})
                 for draw in range(2) for n in range(10)]  # fmt: skip
    scores = [np.array([1.0, 0.0])] * 10 + [np.array([1.0, 0.0])] * 5 + [np.array([0.0, 1.0])] * 5
    found = choosing(questions, [Chooser("m", 0, "last", "log p", scores)], "t")
    assert (found.draws, found.draw_sd) == (2, pytest.approx(np.std([1.0, 0.5], ddof=1)))
