"""Checks that are made of the answers: nobody who reads fails them, and the rules fit however few there are."""

from collections import Counter

import pytest

from seedvote.crowd.exchange.answer_tables import AnsweredContext, AnswerTable, pairs_of_answers
from seedvote.crowd.exchange.made_checks import CHECKS, fitted_rules, make_checks
from seedvote.crowd.hit.hit import read_hit
from seedvote.dialogue.records import Utterance


def contexts(number, words=6):
    return [
        AnsweredContext("f:1", f"q{k}", (Utterance("user", f"Question {k}?"),),
                        {who: " ".join(f"{who}{k}w{n}" for n in range(words)) for who in ("x", "y")})
        for k in range(number)
    ]  # fmt: skip


def test_made_checks_exchange_answers_between_contexts():
    rows = contexts(20)
    checks = make_checks(rows, CHECKS, seed=0)
    assert Counter(check.answer for check in checks) == {"a": 4, "b": 4}
    assert len({check.item for check in checks}) == CHECKS
    texts = {row.context: set(row.texts.values()) for row in rows}
    others = {frozenset(text.split()) for row in rows for text in row.texts.values()}
    for check in checks:
        good, bad = (check.a, check.b) if check.answer == "a" else (check.b, check.a)
        assert good.text in texts[tuple(check.context)] and bad.text not in texts[tuple(check.context)]
        assert frozenset(bad.text.split()) in others
    assert make_checks(rows, CHECKS, seed=0) == checks != make_checks(rows, CHECKS, seed=1)


def test_answers_of_a_few_words_make_no_check():
    assert make_checks(contexts(20, words=3), CHECKS, seed=0) == []
    assert make_checks(contexts(1), CHECKS, seed=0) == []


@pytest.mark.parametrize("number", [1, 2, 5, 12, 40])
@pytest.mark.parametrize("wanted", [0, 1, 2, 8])
def test_the_rules_fit_and_are_written_only_where_the_defaults_do_not(tmp_path, number, wanted):
    rows = contexts(number)
    pairs = pairs_of_answers(AnswerTable(rows, {}, ("x", "y")))
    pairs += make_checks(rows, wanted, seed=0)
    (tmp_path / "hit.toml").write_text(fitted_rules(pairs), encoding="utf-8")
    hit, checks = read_hit(tmp_path / "hit.toml"), sum(pair.kind == "check" for pair in pairs)
    assert hit.first_checks + hit.later_checks <= checks and hit.pairs_per_sitting <= max(number, 1)
    assert (fitted_rules(pairs) == "") == (number >= 20 and wanted >= 8)
