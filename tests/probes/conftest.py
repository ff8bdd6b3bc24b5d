"""What the tests of probes have in common: a toy corpus is read once, and states are compared with few baselines."""

import pytest

from seedvote.probes import baselines
from tests.house.corpora import toy_corpora_are_read_once  # noqa: F401 (a fixture)


@pytest.fixture
def few_baselines(monkeypatch):
    """One bag of words instead of four, where it does not matter with how many baselines states are compared."""
    monkeypatch.setattr(baselines, "BAGS", {"bag_of_words": baselines.bag_of_words})
