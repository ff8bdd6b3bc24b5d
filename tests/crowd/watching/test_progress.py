"""Counts of a study that launches and the dashboard plan by."""

from crowd.watching.progress import sittings_needed


def test_every_pair_gets_its_votes_from_enough_sittings():
    assert sittings_needed(2000, 3, 20) == 300
    assert sittings_needed(2000, 3, 20, votes=5981) == 1
    assert sittings_needed(2000, 3, 20, votes=7000) == 0
