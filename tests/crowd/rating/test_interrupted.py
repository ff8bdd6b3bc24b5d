"""An adaptive study that dies again and again, and goes on, makes the same choices as one that never does."""

import dataclasses
import random

import numpy as np
import pytest
import sqlalchemy as sa

from seedvote.crowd.hit.tables import AdaptiveRule
from seedvote.crowd.rating import batches
from seedvote.crowd.rating.change_control import take_up
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.rating.study_tally import compare_systems
from seedvote.crowd.store.tables import leases, votes
from tests.crowd.rating.test_batches import ADAPTIVE, rated, vote
from tests.crowd.study import database, desk_of, seated

HIT = dataclasses.replace(ADAPTIVE, adaptive=AdaptiveRule(votes=120, batch=12))
STUDIES, RATERS, REDRAWN = 150, 12, 2_000


class Died(BaseException):
    """The server is gone; what was committed stays."""


def run_study(folder, monkeypatch, seed, odds):
    """How often each comparison got each answer, and its votes of the first batches; by how many deaths."""
    folder.mkdir()
    draw, die, deaths = random.Random(seed), random.Random(seed + 1), 0
    plan, write = batches.plan_batch, batches.write_batch

    def may_die(chance):
        if die.random() < chance * odds:
            raise Died

    def dying(act, chance):
        def acted(*arguments):
            result = act(*arguments)
            if result:
                may_die(chance)
            return result

        return acted

    with (
        database("sqlite", folder) as url,
        desk_of(url, folder, HIT, rated(14), seed=draw.randrange(10**6)) as desk,
        monkeypatch.context() as patch,
    ):
        patch.setattr(batches, "plan_batch", dying(plan, 0.5))
        patch.setattr(batches, "write_batch", dying(write, 0.3))
        store, seats, visits, idle = desk.store, [None] * RATERS, 0, 0
        while idle < 60:
            n = draw.randrange(RATERS)
            try:
                if seats[n] is None:
                    visits += 1
                    seats[n] = seated(desk, f"w{n}", f"s{visits}")
                may_die(0.05)
                step = desk.next_step(seats[n])
                idle = 0 if step.stage == "task" else idle + 1
                if step.stage == "task":
                    vote(desk, seats[n], step, draw)
                    may_die(0.05)
                elif step.more:
                    seats[n] = None
            except Died:
                deaths += 1
                take_up(store, HIT, now=0.0)
                desk = Desk(store, HIT, desk.clock)
        columns = sa.select(votes.c.pair, votes.c.choice, leases.c.batch, leases.c.propensity)
        with store.read() as connection:
            rows = connection.execute(columns.join(leases, leases.c.lease == votes.c.lease)).all()
    assert 118 <= len(rows) <= 120 and all(0 < row.propensity <= 1 for row in rows)
    return count_choices(rows), deaths


def count_choices(rows):
    compared = compare_systems(rated(14))
    counts = np.zeros((len(compared.contrasts), 4))
    for row in rows:
        contrast, choice = compared.of_pair[row.pair], ["a", "tie", "b"].index(row.choice)
        counts[contrast, 2 - choice if row.pair in compared.turned else choice] += 1
        counts[contrast, 3] += row.batch <= 5
    return np.append(counts, counts[:, :3].sum(1).max())


@pytest.mark.slow
def test_studies_that_die_make_the_choices_of_studies_that_do_not(tmp_path, monkeypatch):
    both, deaths = [], 0
    for odds in (0, 1):
        for k in range(STUDIES):
            counts, died = run_study(tmp_path / f"{odds}-{k}", monkeypatch, 1000 * k + 500 * odds, odds)
            both.append(counts)
            deaths += died
    both, generator = np.array(both), np.random.default_rng(0)
    both = both[:, both.std(0) > 0]

    def largest_difference(order):
        means = [both[part].mean(0) for part in np.split(order, 2)]
        return np.abs((means[0] - means[1]) / both.std(0)).max()

    seen = largest_difference(np.arange(2 * STUDIES))
    drawn = [largest_difference(generator.permutation(2 * STUDIES)) for _ in range(REDRAWN)]
    assert deaths > 20 * STUDIES
    assert np.mean(np.array(drawn) >= seen) > 0.01
