"""Counts of a study that launches and the dashboard plan by."""

import itertools

import pytest

from seedvote.crowd.watching.progress import MissingVotes, sittings_needed


@pytest.mark.parametrize(("total", "most", "sittings"), [(6000, 3, 300), (19, 3, 3), (1, 1, 1), (0, 0, 0), (12, 3, 3)])
def test_every_pair_gets_its_votes_from_enough_sittings_by_enough_people(total, most, sittings):
    assert sittings_needed({0: MissingVotes(total, most)}, 20) == sittings


def test_no_smaller_number_of_people_could_give_the_votes():
    """Every small study, against a search: people take turns at the pairs that need most, none judges a pair twice."""
    for pairs, size in itertools.product(range(1, 6), range(1, 6)):
        for needs in itertools.product(range(4), repeat=pairs):
            people, left = 0, list(needs)
            while any(left):
                people += 1
                for place in sorted(range(pairs), key=lambda at: -left[at])[:size]:
                    left[place] -= left[place] > 0
            assert sittings_needed({0: MissingVotes(sum(needs), max(needs))}, size) == people, (needs, size)
