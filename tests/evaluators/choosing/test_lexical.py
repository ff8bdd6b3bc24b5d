"""TF-IDF and length against scikit-learn and numbers computed by others on MuTual."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from seedvote.evaluators.choosing.candidate_sets import candidate_sets
from seedvote.evaluators.choosing.lexical import lexical_scores, tfidf_rows
from seedvote.evaluators.choosing.recall import recall_table
from tests.evaluators.choosing.made import asked

TEXTS = ["a red room , please", "the red one", "", "no room at all", "a a a b"]


def test_tfidf_is_that_of_scikit_learn():
    theirs = TfidfVectorizer(tokenizer=str.split, token_pattern=None).fit_transform(TEXTS)
    ours = tfidf_rows(TEXTS)
    assert np.allclose((ours @ ours.T).todense(), (theirs @ theirs.T).todense())


def test_the_simple_rules_take_what_they_are_called_after():
    scores = lexical_scores([asked("q", ["hello", "good bye now", "there hello you"], 0)])
    assert {name: int(each[0].argmax()) for name, each in scores.items()} == {
        "shortest": 0, "longest": 1, "overlap": 2, "tfidf": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [("tfidf", (0.271, 0.530, 0.538)), ("shortest", (0.299, 0.607)), ("longest", (0.233, 0.495))],
)
def test_mutual_as_others_counted_it(rule, wanted, pytestconfig):
    path = pytestconfig.rootpath.parent / "shared" / "data" / "nuc_mutual" / "dev.jsonl.xz"
    if not path.exists():
        pytest.skip("MuTual is not beside the project (../shared/data)")
    # All 886 sets, two of which have options alike; ties rank in their middle, as there.
    found = [asked(one.name, one.options, "ABCD".index(one.answer), " ".join(turn.text for turn in one.context))
             for one in candidate_sets(path)]  # fmt: skip
    got = recall_table(lexical_scores(found)[rule], [one.answer for one in found], "middle").mean(0)
    assert len(found) == 886
    assert [round(value, 3) for value in got[: len(wanted)]] == pytest.approx(wanted, abs=0.00051)
