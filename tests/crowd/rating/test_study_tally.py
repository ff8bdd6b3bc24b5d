"""What an adaptive study's plans read by and by is what one that begins anew reads at once, whatever has happened."""

import dataclasses

import pytest

from seedvote.crowd.hit.tables import AdaptiveRule
from seedvote.crowd.rating.study_tally import StudyTally
from seedvote.crowd.store.store import settings
from tests.crowd.rating.test_batches import rated
from tests.crowd.rating.test_replaying import ACTS, HIT, Crowd
from tests.crowd.study import database, desk_of

MOSTLY_ANSWERS = {**ACTS, "answer": 150, "rule": 3, "change": 3, "exclude": 1}
RULE = AdaptiveRule(votes=60, batch=6)
ADAPTIVE = dataclasses.replace(HIT, assignment="adaptive", adaptive=RULE, first_checks=1, later_checks=3)


class AdaptiveCrowd(Crowd):
    """The same in an adaptive study."""

    def made(self):
        return rated(4, controls=2, checks=self.checks)


def read_tally(desk, tally):
    with desk.store.read() as connection:
        tally.bring_up(connection, RULE, settings(connection)["pairs"])
    return {**vars(tally), "pools": list(tally.make_pools()), "sums": vars(tally.sums)}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("seed", range(2))
def test_what_has_changed_is_all_that_need_be_read(tmp_path, kind, seed, monkeypatch):
    tally, reads = StudyTally(), []
    begin = StudyTally._begin
    monkeypatch.setattr(StudyTally, "_begin", lambda *both: reads.append(both[0]) or begin(*both))
    with (
        database(kind, tmp_path) as url,
        desk_of(url, tmp_path, ADAPTIVE, rated(4, controls=2, checks=6), seed=seed) as desk,
    ):
        crowd, steps, most = AdaptiveCrowd(desk, tmp_path, seed), 100, 0
        for _ in range(steps):
            act = crowd.draw.choices(list(MOSTLY_ANSWERS), list(MOSTLY_ANSWERS.values()))[0]
            getattr(crowd, act)()
            if act == "answer" and crowd.draw.random() < 0.2:
                desk.drawer.draw(desk.rules.hit, desk.clock())
            assert read_tally(desk, tally) == read_tally(desk, StudyTally())
            most = max(most, sum(tally.sums.votes))
        assert tally.given_out >= 12 and most >= 3
        assert sum(each is tally for each in reads) < steps / 2
