"""Rankings at equal length and style: a preference that is only length goes, refusals say what is missing."""

import numpy as np
import pytest

from seedvote.analysis.questions.preference.showing import preference
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Vote


@pytest.fixture
def study(tmp_path):
    """Raters prefer the longer response, whichever system wrote it; `long` writes twice as much."""
    generator = np.random.default_rng(0)
    pairs, votes = [], []
    for k in range(150):
        words = {"short": int(generator.integers(4, 17)), "long": int(generator.integers(8, 33))}
        names = ["short", "long"] if generator.random() < 0.5 else ["long", "short"]
        sides = [Candidate("word " * words[name], name) for name in names]
        pairs.append(Pair(f"p{k}", f"i{k}", (), *sides, dialogue=f"d{k // 3}"))
        d = 2.0 * np.log2((1 + words[names[0]]) / (1 + words[names[1]]))
        weight = np.exp([d / 2, -d / 2, 0.0])
        for turn in range(3):
            choice = generator.choice(["a", "b", "tie"], p=weight / weight.sum())
            votes.append(Vote(f"p{k}", f"r{(k + turn) % 25}", choice, turn + 1, dialogue=f"d{k // 3}"))
    write_records(tmp_path / "pairs.jsonl", pairs, signature="test", kind=Pair)
    write_records(tmp_path / "votes.jsonl", votes, signature="test", kind=Vote)
    return tmp_path


def test_a_preference_that_is_only_length_goes_at_equal_length(study):
    result = preference(study, sets=10, covariates=["length"])
    adjusted = result.document["adjusted"]
    (length,), lead = adjusted["effects"], adjusted["lead"]
    assert result.document["net"]["low"] > 0  # the long one is preferred to the short one
    assert length["low"] <= np.exp(2.0) <= length["high"] and length["p"] < 1e-4
    assert lead["low"] < 0 < lead["high"] and lead["p"] > 0.05 and abs(lead["plain"]) > 0.2
    assert "Without the effect of length" in repr(result)


def test_what_cannot_be_held_equal_is_refused(study):
    with pytest.raises(InputError, match="no 'wit'; known are length, markdown, lists"):
        preference(study, sets=10, covariates=["wit"])
    with pytest.raises(InputError, match="same on both responses"):
        preference(study, sets=10, covariates=["markdown"])
    with pytest.raises(InputError, match="cannot be separated"):
        preference(study, sets=10, covariates=["length", "length"])
    (study / "pairs.jsonl").unlink()
    with pytest.raises(InputError, match="texts"):
        preference(study, sets=10, covariates=["length"])
