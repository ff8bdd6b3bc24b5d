"""Adaptive assignment: which pairs come up next, drawn in batches from what the votes say so far.

The rule is dialogue/formulas/allocation.py. The server draws a batch ahead of raters; where one finds no pair all the
same, their transaction is taken back, the batch drawn, and the transaction made once more. What a batch is planned from
is read in a transaction for which nobody waits, and which ends before the plan is made: only writing the batch takes
the write lock. It goes into the table of pairs: how many votes each is to get so far (`target`), in which batch it came
up last and how probable that was. Everything else stays as it is. A pair is open while it is short of its target, the
next one is found by the same index as in a fixed study, and nothing within a batch depends on answers.

A judge's verdicts may help to share out the votes; what they say of the systems is kept before the first vote.

A plan reads only what has changed since the last one (study_tally.py). It follows from the study's seed, its number and
the votes that count, so that a server that was killed draws the same one again. What is still to be given out
(`places_left`) keeps a study open between two batches.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.hit.tables import AdaptiveRule
from seedvote.crowd.rating import standing
from seedvote.crowd.rating.moment import kept_hit, make_assignment_rules
from seedvote.crowd.rating.study_tally import Changes, Compared, StudyTally, read_compared
from seedvote.crowd.store import statements as sql
from seedvote.crowd.store.store import LEFT, Store, append_event, fetch, fetch_many, places_left, put, settings, unset
from seedvote.crowd.store.tables import events, leases, pairs, votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import placed_records
from seedvote.dialogue.formulas.allocation import (
    Aim,
    ContrastPool,
    Drawn,
    Tally,
    VoteSums,
    batch_places,
    draw_batch,
    judge_strengths,
    share_contrasts,
)
from seedvote.dialogue.judges import net_by_pair, read_verdicts
from seedvote.dialogue.records import Verdict
from seedvote.dialogue.seeds import child_random

JUDGE = "judge"  # the study's setting that holds the systems' strengths by a judge's verdicts
BATCH = "batch"  # the study's setting that holds the number of the last batch
PLACES = "places"  # the study's setting that holds how many places that batch had
AHEAD = 0.5  # of a batch's places: with fewer free the next batch is drawn

_FREE = sa.select(sa.func.sum(pairs.c.target - pairs.c.live).label("places")).where(pairs.c.open == 1)
_HAVE_ROOM = sa.select(pairs.c.pair, (pairs.c.target - pairs.c.live).label("places")).where(
    pairs.c.open == 1, pairs.c.live < pairs.c.target
)
_LAST_EVENT = sa.select(sa.func.max(events.c.event).label("event"))
_LAST_LEASE = sa.select(sa.func.coalesce(sa.func.max(leases.c.lease), 0).label("lease"))
_ROOM = sa.select(sa.exists().where(pairs.c.open == 1, pairs.c.live < pairs.c.target).label("any"))
_SURPLUS = {  # pairs of a batch with votes that had no place; looked up pair by pair, not among all votes
    "postgresql": sa.text(
        "SELECT DISTINCT votes.pair FROM jsonb_to_recordset(CAST(:parts AS jsonb)) AS part(pair text) "
        "JOIN votes ON votes.pair = part.pair WHERE votes.counted = 0 AND votes.failed IS NULL"
    ),
    "sqlite": sa.text(
        "SELECT DISTINCT votes.pair FROM json_each(:parts) AS part CROSS JOIN votes "
        "ON votes.pair = json_extract(part.value, '$.pair') WHERE votes.counted = 0 AND votes.failed IS NULL"
    ),
}
_OPEN_PAIRS = {  # one statement for all pairs of a batch, which come as one value
    "postgresql": sa.text(
        "UPDATE pairs SET target = coalesce(target, 0) + part.places, batch = :number, propensity = part.chance, "
        "open = 1 FROM jsonb_to_recordset(CAST(:parts AS jsonb)) AS part(pair text, places int, chance float8) "
        "WHERE pairs.pair = part.pair"
    ),
    "sqlite": sa.text(
        "UPDATE pairs SET target = coalesce(target, 0) + part.places, batch = :number, propensity = part.chance, "
        "open = 1 FROM (SELECT json_extract(value, '$.pair') AS pair, json_extract(value, '$.places') AS places, "
        "json_extract(value, '$.chance') AS chance FROM json_each(:parts)) AS part WHERE pairs.pair = part.pair"
    ),
}


def prepare(connection: sa.Connection, hit: Hit, seed: int, now: float) -> None:
    """Bring the pairs under the rule in force: of an adaptive study, none comes up that no batch has drawn.

    The first batch is drawn here.
    """
    if not hit.is_adaptive:
        undrawn = sa.update(pairs).where(pairs.c.target.is_not(None))
        connection.execute(undrawn.values(target=None, batch=None, propensity=None))
        unset(connection, LEFT)
        unset(connection, BATCH)
        unset(connection, PLACES)
        return
    rule, values, tally = hit.adaptive or AdaptiveRule(), settings(connection), StudyTally()
    check_systems(rule, read_compared(connection, values.get("pairs", "")))
    fresh = pairs.c.target.is_(None), pairs.c.kind != "check"
    connection.execute(sa.update(pairs).where(*fresh).values(target=0, open=0))
    tally.bring_up(connection, rule, values.get("pairs", ""))
    put(connection, LEFT, str(_count_left(hit, tally)))
    if values.get(BATCH) is None:
        draw_next(connection, hit, seed, now)


def keep_judge(store: Store, hit: Hit, study: Path) -> None:
    """Keep what the judge of an adaptive study says of its systems; from the first vote on it stays what it is."""
    if hit.adaptive is None:
        return
    with store.write() as connection:
        if connection.scalar(sa.select(votes.c.vote).limit(1)) is not None:
            return
        unset(connection, JUDGE)
        if name := hit.adaptive.judge:
            compared = read_compared(connection, settings(connection).get("pairs", ""))
            put(connection, JUDGE, json.dumps(read_judge(study / name, compared)))


def read_judge(path: Path, compared: Compared) -> dict[str, float]:
    """The strength of each system by the verdicts of a file."""
    if not path.exists():
        raise InputError(
            f"adaptive.judge names {path}, which is not there. Ask a judge (python -m evaluators judge {path.parent}), "
            "or leave the key out."
        )
    number = [0] * len(compared.contrasts)
    net = [0.0] * len(compared.contrasts)
    verdicts = read_verdicts(path)
    for pair, value in net_by_pair(verdicts).items():
        if pair in compared.of_pair:
            number[compared.of_pair[pair]] += 1
            net[compared.of_pair[pair]] += -value if pair in compared.turned else value
    if not any(number):
        raise InputError(_explain_no_verdict(path, verdicts, compared))
    tallies = [Tally(*both, n, total) for both, n, total in zip(compared.contrasts, number, net, strict=True)]
    return dict(zip(compared.systems, judge_strengths(tallies, len(compared.systems)), strict=True))


def _explain_no_verdict(path: Path, verdicts: Sequence[Verdict], compared: Compared) -> str:
    """Why a file of verdicts says nothing of the systems, and the next step."""
    step = f"Ask a judge (python -m evaluators judge {path.parent}), or leave adaptive.judge out."
    if not verdicts:
        return f"{path} holds no verdict. {step}"
    where, first = next(placed_records(path, Verdict))
    if any(verdict.pair in compared.of_pair for verdict in verdicts):
        return f"{path}: every verdict on a pair that compares two systems of this study is unusable. {step}"
    return f"{where}: pair {first.pair!r}, as all others here, is none of this study that compares two systems. {step}"


def check_systems(rule: AdaptiveRule, compared: Compared) -> None:
    """Refuse a study without two systems, and a question about one that it has not."""
    if len(compared.contrasts) < 1:
        raise InputError("assignment is adaptive, but no real pair compares two different systems.")
    if unknown := [name for name in rule.systems if name not in compared.systems]:
        raise InputError(f"adaptive.systems names {unknown[0]}, which is not one of {', '.join(compared.systems)}.")


def votes_planned(hit: Hit, offered: int) -> int:
    """The votes on so many offered pairs that batches give out in all."""
    rule = hit.adaptive or AdaptiveRule()
    return min(rule.votes or hit.votes_per_pair * offered, rule.most * offered)


def _count_left(hit: Hit, tally: StudyTally) -> int:
    return max(0, votes_planned(hit, tally.offered) - tally.given_out)


def count_to_come(connection: sa.Connection, hit: Hit, rater: str, most: int) -> int:
    """How many pairs later batches may open for this rater, counted up to `most`; none of those that they have seen."""
    if not hit.is_adaptive or not (left := places_left(connection)):
        return 0
    top = (hit.adaptive or AdaptiveRule()).most
    ((row,),) = fetch(connection, (sql.MAY_OPEN, {"rater": rater, "top": top, "most": min(most, left)}))
    return int(row.pairs)


def may_draw_for(connection: sa.Connection, hit: Hit, rater: str) -> bool:
    """Whether a batch that is drawn now may hold a pair for this rater: a fresh one, or others' places are taken."""
    rule = hit.adaptive or AdaptiveRule()
    fresh, room = fetch(connection, (sql.MAY_COME_UP, {"rater": rater, "top": rule.most}), (_ROOM, {}))
    return (bool(fresh[0].any) and places_left(connection) >= rule.fewest) or not room[0].any


@dataclass(frozen=True)
class Ground:
    """What a plan stands on: it is written where none of this has changed meanwhile."""

    batch: int
    """The number of the last batch."""
    left: int
    """What is still to be given out."""
    revision: str | None
    """Of the study's rules."""
    pairs: str | None
    """The digest of the pairs file."""


def make_ground(values: Mapping[str, str]) -> Ground:
    """What a plan stands on that is made by these settings of the study."""
    return Ground(int(values.get(BATCH, 0)), int(values.get(LEFT, 0)), values.get(sql.REVISION), values.get("pairs"))


@dataclass(frozen=True)
class PlannedBatch:
    """A batch that was drawn and is not written yet."""

    number: int
    drawn: list[Drawn]
    others: list[Drawn]
    """Controls, and pairs of one system with itself."""
    ground: Ground
    """What it was planned on."""
    left: int
    """What later batches are still to give out."""


def draw_next(connection: sa.Connection, hit: Hit, seed: int, now: float) -> bool:
    """Draw a batch and open its pairs; False where none can be drawn by now. The caller has the write lock."""
    tally = StudyTally()
    inputs = read_plan_inputs(connection, hit, tally)
    batch = plan_batch(inputs, seed, tally) if inputs else None
    return batch is not None and write_batch(connection, hit, batch, now)


def count_before_due(connection: sa.Connection) -> int:
    """How many places are to be taken until it is time for the next batch, before raters wait for it.

    0: it is. Where all places were given out it is 1: that may change.
    """
    values, ((free,),) = settings(connection), fetch(connection, (_FREE, {}))
    surplus = (free.places or 0) - math.floor(AHEAD * int(values.get(PLACES, 0)))
    return max(0, surplus) if int(values.get(LEFT, 0)) > 0 else 1


class BatchDrawer:
    """Draws the batches of one server, one at a time: who waits meanwhile finds what was drawn."""

    HOLDS = 1.0  # seconds for which nothing can be drawn if nothing happens

    def __init__(self, store: Store, seed: int, ticks: Callable[[], float] = time.monotonic) -> None:
        self._store, self._seed, self._ticks, self._tally = store, seed, ticks, StudyTally()
        self._lock, self._woken = threading.Lock(), threading.Event()
        self._drawn = -math.inf
        self._barren: tuple[float, int | None] = (-math.inf, None)
        self._quiet_until = 0  # no batch is due before this lease: hardly any place is taken without one

    def draw(self, hit: Hit, now: float, *, ahead: bool = False) -> bool:
        """Draw the next batch, `ahead` of raters if it is due; False where none can be drawn by now.

        True also where another thread or server did it meanwhile.
        """
        if not hit.is_adaptive:
            return False
        asked = self._ticks()
        with self._lock:
            if self._drawn > asked:
                return not ahead
            if ahead and not self._tally.is_read:  # or the first batch would wait for it
                with self._store.read() as connection:
                    pairs_digest = settings(connection).get("pairs", "")
                    changes = self._tally.read_changes(connection, hit.adaptive or AdaptiveRule(), pairs_digest)
                self._tally.take_over(changes)
            if ahead and not self._is_due():
                return False
            with self._store.read() as connection:
                last_event = connection.scalar(_LAST_EVENT)
                if self._ticks() < self._barren[0] and last_event == self._barren[1]:
                    return False
                hit = kept_hit(connection) or hit  # another server may have taken up more votes meanwhile
                inputs = read_plan_inputs(connection, hit, self._tally)
            batch = plan_batch(inputs, self._seed, self._tally) if inputs else None
            if batch is None:
                self._barren = self._ticks() + self.HOLDS, last_event
                return False
            with self._store.write() as connection:
                is_written = write_batch(connection, hit, batch, now)
            self._drawn = self._ticks()
            return is_written or not ahead

    def _is_due(self) -> bool:
        with self._store.glance() as connection:
            ((last,),) = fetch(connection, (_LAST_LEASE, {}))
            if last.lease < self._quiet_until:
                return False
            places = count_before_due(connection)
            self._quiet_until = last.lease + places
            return not places

    def wake(self) -> None:
        """Something has happened: end a `wait`."""
        self._woken.set()

    def wait(self, longest: float) -> None:
        """Until something happens, or for so many seconds: other servers wake only themselves."""
        self._woken.wait(longest)
        self._woken.clear()


@dataclass(frozen=True)
class PlanInputs:
    """What a plan is made of, as one transaction read it."""

    hit: Hit
    ground: Ground
    by_judge: Mapping[str, float]
    """The strengths of systems, if a judge has ruled."""
    changes: Changes
    room: Sequence[Any]
    """The pairs whose places are not all taken, and how many are not."""


def read_plan_inputs(connection: sa.Connection, hit: Hit, tally: StudyTally) -> PlanInputs | None:
    """What the next batch is planned from; None where there is none.

    Planning takes long enough for a database to end a transaction that is open meanwhile, so the two are apart.
    """
    values = settings(connection)
    if not hit.is_adaptive or not (ground := make_ground(values)).left:
        return None
    changes = tally.read_changes(connection, hit.adaptive or AdaptiveRule(), ground.pairs or "")
    by_judge = json.loads(values.get(JUDGE, "{}"))
    return PlanInputs(hit, ground, by_judge, changes, fetch_many(connection, _HAVE_ROOM))


def plan_batch(inputs: PlanInputs, seed: int, tally: StudyTally) -> PlannedBatch | None:
    """The next batch; None where none can be drawn by now. The tally is brought up to what was read.

    Where every pair has come up, a batch waits until the places of the last one are taken: whoever has seen all pairs
    must not open what only others can answer. Where every place is taken but not yet answered it waits for the
    answers, since only pairs that have all their votes get further ones.
    """
    hit, ground = inputs.hit, inputs.ground
    rule = hit.adaptive or AdaptiveRule()
    tally.take_over(inputs.changes)
    pools, left, number = tally.make_pools(), _count_left(hit, tally), ground.batch + 1
    planned = votes_planned(hit, tally.offered)
    places = min(max(rule.batch or batch_places(planned), rule.fewest), left)
    if not any(pool.fresh for pool in pools):
        if not any(pool.complete for pool in pools) and tally.short:
            return None
        if sum(row.places for row in inputs.room if row.pair in tally.compared.of_pair) >= places:
            return None
    shares = _share(rule, tally.compared, tally.sums, inputs.by_judge)
    drawn = draw_batch(shares, pools, places, fewest=rule.fewest, generator=child_random(seed, "batch", number))
    if not drawn and left and tally.short:
        return None
    left -= sum(part.places for part in drawn)
    others = _draw_others(tally, hit.votes_per_pair, (planned - left) / max(planned, 1))
    rest = left if drawn and _may_follow(rule, pools, drawn, left) else 0
    return PlannedBatch(number, drawn, others, ground, rest)


def write_batch(connection: sa.Connection, hit: Hit, batch: PlannedBatch, now: float) -> bool:
    """Open its pairs; False where it has none, or where another server or a change of the study was faster."""
    if make_ground(settings(connection)) != batch.ground:
        return False
    parts = [*batch.drawn, *batch.others]
    rows = [{"pair": part.pair, "places": part.places, "chance": part.propensity or None} for part in parts]
    texts = {"parts": json.dumps(rows)}
    connection.execute(_OPEN_PAIRS[connection.dialect.name], {**texts, "number": batch.number})
    put(connection, BATCH, str(batch.number))
    put(connection, LEFT, str(batch.left))
    by_pair = {part.pair: part.places for part in parts}
    put(connection, PLACES, str(sum(by_pair.values())))
    append_event(connection, "batch", now, number=batch.number, places=by_pair)
    # A vote that a pair had no place for, say a late one, takes the place that it has now.
    surplus = set(connection.scalars(_SURPLUS[connection.dialect.name], texts))
    standing.count_anew(connection, make_assignment_rules(hit), surplus)
    return bool(batch.drawn)


def _may_follow(rule: AdaptiveRule, pools: Sequence[ContrastPool], drawn: Sequence[Drawn], left: int) -> bool:
    """Whether what is left is enough for a fresh pair, or there is a comparison whose pairs have all come up."""
    now = {part.pair for part in drawn}
    may_grow = rule.most > rule.fewest and any(now.issuperset(pool.fresh) for pool in pools)
    return left >= rule.fewest or may_grow


def _share(rule: AdaptiveRule, compared: Compared, sums: VoteSums, by_judge: Mapping[str, float]) -> list[float]:
    """The share of each contrast in the next batch; `by_judge` has strengths of systems, if a judge has ruled."""
    systems = tuple(compared.systems.index(name) for name in rule.systems)
    aim = Aim(rule.question, (systems[0], systems[1]) if systems else None, rule.margin)
    tallies = [Tally(*both, n, s) for both, n, s in zip(compared.contrasts, sums.votes, sums.net, strict=True)]
    judge = [by_judge.get(name, 0.0) for name in compared.systems]
    return share_contrasts(tallies, len(compared.systems), aim, spread=sums.spread(), floor=rule.floor, judge=judge)


def _draw_others(tally: StudyTally, votes_per_pair: int, part: float) -> list[Drawn]:
    """Controls, and pairs of one system with itself: as large a part of them as of the votes."""
    due = tally.others[: math.ceil(min(part, 1.0) * len(tally.others))]
    return [Drawn(name, votes_per_pair, 0.0) for name in due if not tally.has_come_up(name)]
