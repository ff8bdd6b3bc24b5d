"""Adaptive assignment: which pairs come up next, drawn in batches from what the votes say so far.

The rule is dialogue/formulas/allocation.py. The server draws a batch ahead of raters; where one finds no pair all the
same, their transaction is taken back, the batch drawn, and the transaction made once more. A batch is planned from a
snapshot, for which nobody waits: only writing it takes the write lock. It goes into the table of pairs: how many votes
each is to get so far (`target`), in which batch it came up last and how probable that was. Everything else stays as it
is. A pair is open while it is short of its target, the next one is found by the same index as in a fixed study, and
nothing within a batch depends on answers.

A judge's verdicts may help to share out the votes; what they say of the systems is kept before the first vote.

A batch follows from the study's seed, its number and the votes that count, so that a server that was killed draws the
same one again. What is still to be given out (`places_left`) keeps a study open between two batches.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from seedvote.crowd.forms.form import decisive_part
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.hit.tables import AdaptiveRule
from seedvote.crowd.rating import standing
from seedvote.crowd.rating.moment import kept_hit, make_assignment_rules
from seedvote.crowd.store import statements as sql
from seedvote.crowd.store.store import LEFT, Store, append_event, fetch, places_left, put, settings, unset
from seedvote.crowd.store.tables import events, pairs, votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import placed_records
from seedvote.dialogue.formulas.allocation import (
    Aim,
    ContrastPool,
    Drawn,
    Tally,
    batch_places,
    draw_batch,
    judge_strengths,
    share_contrasts,
    spread_of_votes,
)
from seedvote.dialogue.judges import net_by_pair, read_verdicts
from seedvote.dialogue.records import Pair, Verdict, key_of, system_names
from seedvote.dialogue.seeds import child_random

JUDGE = "judge"  # the study's setting that holds the systems' strengths by a judge's verdicts
BATCH = "batch"  # the study's setting that holds the number of the last batch
AHEAD = 0.5  # of a batch's places: with fewer free the next batch is drawn
SCORES = {"a": 1, "b": -1}

_REAL = sa.select(pairs.c.pair, pairs.c.position, pairs.c.offered, pairs.c.target, pairs.c.votes, pairs.c.live).where(
    pairs.c.kind != "check"
)
_BODIES = sa.select(pairs.c.pair, pairs.c.kind, pairs.c.body).where(pairs.c.kind != "check")
_COUNTED = sa.select(votes.c.pair, votes.c.rater, votes.c.choice).where(votes.c.counted == 1).order_by(votes.c.vote)
_IN_BATCH = sa.and_(pairs.c.batch == sa.select(sa.func.max(pairs.c.batch)).scalar_subquery(), pairs.c.target > 0)
_PLACES = sa.select(
    sa.func.sum(pairs.c.target - pairs.c.live).filter(pairs.c.open == 1),
    sa.func.sum(pairs.c.target).filter(_IN_BATCH),
).where(pairs.c.target > 0)
_OFFERED = sa.and_(pairs.c.kind == "real", pairs.c.offered == 1)
_COMPLETE = sa.and_(pairs.c.target > 0, pairs.c.target <= pairs.c.votes, pairs.c.target < param("most"))
_WHICH: Any = sa.select(
    sa.exists().where(_OFFERED, pairs.c.target == 0).label("fresh"),
    sa.exists().where(_OFFERED, pairs.c.votes < param("most"), _COMPLETE).label("complete"),
    sa.exists().where(_OFFERED, pairs.c.target > pairs.c.votes).label("short"),
)
_LAST_EVENT = sa.select(sa.func.max(events.c.event))
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


@dataclass(frozen=True)
class Compared:
    """What the pairs of a study compare; of controls, and of one system with itself, nothing."""

    systems: tuple[str, ...]
    contrasts: tuple[tuple[int, int], ...]
    of_pair: dict[str, int]
    """Pair -> its contrast."""
    turned: frozenset[str]
    """The pairs whose `a` is the second system of their contrast."""
    dialogues: dict[str, str]


_KNOWN: dict[str, Compared] = {}  # by the digest of the pairs file: bodies never change


def prepare(connection: sa.Connection, hit: Hit, seed: int, now: float) -> None:
    """Bring the pairs under the rule in force: of an adaptive study, none comes up that no batch has drawn.

    The first batch is drawn here.
    """
    if not hit.is_adaptive:
        undrawn = sa.update(pairs).where(pairs.c.target.is_not(None))
        connection.execute(undrawn.values(target=None, batch=None, propensity=None))
        unset(connection, LEFT)
        unset(connection, BATCH)
        return
    compared = read_compared(connection)
    check_systems(hit.adaptive or AdaptiveRule(), compared)
    fresh = pairs.c.target.is_(None), pairs.c.kind != "check"
    connection.execute(sa.update(pairs).where(*fresh).values(target=0, open=0))
    rows = connection.execute(_REAL).all()
    put(connection, LEFT, str(_count_left(hit, compared, rows)))
    if settings(connection).get(BATCH) is None:
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
            put(connection, JUDGE, json.dumps(read_judge(study / name, read_compared(connection))))


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


def read_compared(connection: sa.Connection) -> Compared:
    """What the pairs compare, from their records."""
    digest = settings(connection).get("pairs", "")
    if digest not in _KNOWN:
        _KNOWN.clear()
        _KNOWN[digest] = compare_systems(
            [FORMS["pairs"].record_of(row.body) for row in connection.execute(_BODIES).all()]
        )
    return _KNOWN[digest]


def compare_systems(records: Sequence[Pair]) -> Compared:
    """The systems by name, and the contrasts in the order of their names."""
    real = [record for record in records if record.kind == "real"]
    names = system_names(real)
    systems = tuple(sorted(set(names.values())))
    codes = {name: code for code, name in enumerate(systems)}
    sides = {pair.pair: (codes[names[key_of(pair.a)]], codes[names[key_of(pair.b)]]) for pair in real}
    sides = {name: (a, b) for name, (a, b) in sides.items() if a != b}
    contrasts = tuple(sorted({(min(both), max(both)) for both in sides.values()}))
    number = {both: code for code, both in enumerate(contrasts)}
    return Compared(
        systems,
        contrasts,
        {name: number[min(both), max(both)] for name, both in sides.items()},
        frozenset(name for name, (a, b) in sides.items() if a > b),
        {pair.pair: pair.dialogue or pair.item for pair in real},
    )


def votes_planned(hit: Hit, offered: int) -> int:
    """The votes on so many offered pairs that batches give out in all."""
    rule = hit.adaptive or AdaptiveRule()
    return min(rule.votes or hit.votes_per_pair * offered, rule.most * offered)


def _count_left(hit: Hit, compared: Compared, rows: Sequence[Any]) -> int:
    offered = [row for row in rows if row.offered and row.pair in compared.of_pair]
    return max(0, votes_planned(hit, len(offered)) - sum(row.target or 0 for row in offered))


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


def read_ground(connection: sa.Connection) -> Ground:
    """What a plan that is made now stands on."""
    values = settings(connection)
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
    batch = plan_batch(connection, hit, seed)
    return batch is not None and write_batch(connection, hit, batch, now)


def is_due_ahead(connection: sa.Connection) -> bool:
    """Whether it is time for the next batch, before raters wait for it."""
    free, taken = connection.execute(_PLACES).one()
    return places_left(connection) > 0 and (free or 0) <= AHEAD * (taken or 0)


class BatchDrawer:
    """Draws the batches of one server, one at a time: who waits meanwhile finds what was drawn."""

    HOLDS = 1.0  # seconds for which nothing can be drawn if nothing happens

    def __init__(self, store: Store, seed: int, ticks: Callable[[], float] = time.monotonic) -> None:
        self._store, self._seed, self._ticks = store, seed, ticks
        self._lock = threading.Lock()
        self._drawn = -math.inf
        self._barren: tuple[float, int | None] = (-math.inf, None)
        self._seen: int | None = None  # the last event when no batch was due

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
            with self._store.read() as connection:
                last_event = connection.scalar(_LAST_EVENT)
                if ahead and (last_event == self._seen or not is_due_ahead(connection)):
                    self._seen = last_event
                    return False
                if self._ticks() < self._barren[0] and last_event == self._barren[1]:
                    return False
                hit = kept_hit(connection) or hit  # another server may have taken up more votes meanwhile
                batch = plan_batch(connection, hit, self._seed)
            if batch is None:
                self._barren = self._ticks() + self.HOLDS, last_event
                return False
            with self._store.write() as connection:
                is_written = write_batch(connection, hit, batch, now)
            self._drawn = self._ticks()
            return is_written or not ahead


def plan_batch(connection: sa.Connection, hit: Hit, seed: int) -> PlannedBatch | None:
    """The next batch; None where none can be drawn by now.

    Where every pair has come up, a batch waits until the places of the last one are taken: whoever has seen all pairs
    must not open what only others can answer. Where every place is taken but not yet answered it waits for the
    answers, since only pairs that have all their votes get further ones.
    """
    if not hit.is_adaptive or not (ground := read_ground(connection)).left:
        return None
    rule = hit.adaptive or AdaptiveRule()
    ((some,),) = fetch(connection, (_WHICH, {"most": rule.most}))
    if some.short and not (some.fresh or some.complete):
        return None
    compared = read_compared(connection)
    rows = sorted(connection.execute(_REAL).all(), key=lambda row: row.position)
    left = _count_left(hit, compared, rows)
    number = ground.batch + 1
    offered = [row for row in rows if row.offered and row.pair in compared.of_pair]
    planned = votes_planned(hit, len(offered))
    places = min(max(rule.batch or batch_places(planned), rule.fewest), left)
    if all(row.target for row in offered) and sum(max(0, row.target - row.live) for row in offered) >= places:
        return None
    cast = connection.execute(_COUNTED).all()
    pools = _make_pools(rule, compared, offered, cast)
    drawn = draw_batch(
        _share(rule, compared, cast, json.loads(settings(connection).get(JUDGE, "{}"))),
        pools,
        places,
        fewest=rule.fewest,
        generator=child_random(seed, "batch", number),
    )
    if not drawn and left and any((row.target or 0) > row.votes for row in offered):
        return None
    left -= sum(part.places for part in drawn)
    given_out = planned - left
    others = _draw_others(compared, rows, hit.votes_per_pair, given_out / max(planned, 1))
    rest = left if drawn and _may_follow(rule, pools, drawn, left) else 0
    return PlannedBatch(number, drawn, others, ground, rest)


def write_batch(connection: sa.Connection, hit: Hit, batch: PlannedBatch, now: float) -> bool:
    """Open its pairs; False where it has none, or where another server or a change of the study was faster."""
    if read_ground(connection) != batch.ground:
        return False
    parts = [*batch.drawn, *batch.others]
    rows = [{"pair": part.pair, "places": part.places, "chance": part.propensity or None} for part in parts]
    texts = {"parts": json.dumps(rows)}
    connection.execute(_OPEN_PAIRS[connection.dialect.name], {**texts, "number": batch.number})
    put(connection, BATCH, str(batch.number))
    put(connection, LEFT, str(batch.left))
    by_pair = {part.pair: part.places for part in parts}
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


def _share(rule: AdaptiveRule, compared: Compared, cast: Sequence[Any], by_judge: Mapping[str, float]) -> list[float]:
    """The share of each contrast in the next batch; `by_judge` has strengths of systems, if a judge has ruled."""
    about = [row for row in cast if row.pair in compared.of_pair]
    groups = [compared.of_pair[row.pair] for row in about]
    scores = [_score(compared, row) for row in about]
    number, net = [0] * len(compared.contrasts), [0.0] * len(compared.contrasts)
    for group, score in zip(groups, scores, strict=True):
        number[group] += 1
        net[group] += score
    ways = [[row.rater for row in about], [compared.dialogues[row.pair] for row in about]]
    spread = spread_of_votes(groups, scores, ways)
    systems = tuple(compared.systems.index(name) for name in rule.systems)
    aim = Aim(rule.question, (systems[0], systems[1]) if systems else None, rule.margin)
    tallies = [Tally(*both, n, s) for both, n, s in zip(compared.contrasts, number, net, strict=True)]
    judge = [by_judge.get(name, 0.0) for name in compared.systems]
    return share_contrasts(tallies, len(compared.systems), aim, spread=spread, floor=rule.floor, judge=judge)


def _score(compared: Compared, row: Any) -> float:
    score = SCORES.get(decisive_part(row.choice), 0)
    return float(-score if row.pair in compared.turned else score)


def _make_pools(
    rule: AdaptiveRule, compared: Compared, offered: Sequence[Any], cast: Sequence[Any]
) -> list[ContrastPool]:
    """The pairs of each contrast that may come up: in the study's random order those that never did, and the others."""
    choices: defaultdict[str, list[str]] = defaultdict(list)
    for row in cast:
        choices[row.pair].append(decisive_part(row.choice))
    fresh: list[list[str]] = [[] for _ in compared.contrasts]
    complete: list[list[tuple[str, bool]]] = [[] for _ in compared.contrasts]
    for row in offered:
        contrast = compared.of_pair[row.pair]
        if not row.target:
            fresh[contrast].append(row.pair)
        elif row.target <= row.votes < rule.most:
            complete[contrast].append((row.pair, len(set(choices[row.pair][: rule.fewest])) > 1))
    return [ContrastPool(*both) for both in zip(fresh, complete, strict=True)]


def _draw_others(compared: Compared, rows: Sequence[Any], votes_per_pair: int, part: float) -> list[Drawn]:
    """Controls, and pairs of one system with itself: as large a part of them as of the votes."""
    others = [row for row in rows if row.offered and row.pair not in compared.of_pair]
    due = math.ceil(min(part, 1.0) * len(others))
    return [Drawn(row.pair, votes_per_pair, 0.0) for row in others[:due] if not row.target]
