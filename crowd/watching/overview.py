"""How a study stands: progress, pace, ties, raters, disputes, pairs short of votes and cost, in one look at the store.

The votes are read once, pair by pair, into sums and one tally a rater, so that a large study is not held in memory.
"""

from __future__ import annotations

import heapq
import json
import statistics
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.forms.form import HitForm, decisive_part
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.store.store import clocks_that_differ, places_left, settings
from seedvote.crowd.store.tables import DONE, HOLDS_PLACE, leases, pairs, payouts, raters, sittings, votes
from seedvote.crowd.watching.checks import CheckLine, check_lines
from seedvote.crowd.watching.progress import Progress, describe_assignment, missing_votes, progress, sittings_needed
from seedvote.crowd.watching.share_interval import ClusterCounts, ShareInterval, share_interval
from seedvote.crowd.watching.signals import (
    SharedLink,
    Signals,
    describe_trapped,
    find_shared_links,
    rater_signals,
    trapped_raters,
)
from seedvote.dialogue.signature import signature


@dataclass(frozen=True, slots=True)
class Spending:
    """Costs with fees, of one currency; `refused` ones cost nothing and are not here."""

    currency: str
    confirmed: Decimal
    open: Decimal  # intended, sent or uncertain: it may have been spent
    uncertain: int  # payouts that somebody must look at
    cap: Decimal | None


def spending_of(connection: sa.Connection) -> tuple[Spending, ...]:
    """One for each currency; none before anything was paid."""
    text = settings(connection).get("cap")
    sums: defaultdict[str, dict[str, Decimal]] = defaultdict(lambda: {"confirmed": Decimal(0), "open": Decimal(0)})
    uncertain: defaultdict[str, int] = defaultdict(int)
    p = payouts.c
    for currency, state, cost in connection.execute(sa.select(p.currency, p.state, p.cost).where(p.state != "refused")):
        sums[currency]["confirmed" if state == "confirmed" else "open"] += Decimal(cost)
        uncertain[currency] += state == "uncertain"
    cap = None if text is None else Decimal(text)
    return tuple(
        Spending(currency, costs["confirmed"], costs["open"], uncertain[currency], cap)
        for currency, costs in sorted(sums.items())
    )


SHOWN = 10


@dataclass(frozen=True, slots=True)
class Dispute:
    """One real pair; `disagreement` is the share of its pairs of votes that differ, as kappa counts it."""

    disagreement: float
    votes: int
    pair: str
    counts: tuple[int, int, int]  # for a, for b, ties
    texts: tuple[str, str]


def most_disputed(connection: sa.Connection) -> tuple[Dispute, ...]:
    """The strongest disagreement first, among equals the pair with more votes; none where all raters agree."""
    rows = ((_share_differing(met), met.total(), pair, met) for pair, met in _count_choices(connection))
    ranked = heapq.nsmallest(SHOWN, rows, key=lambda row: (-row[0], -row[1], row[2]))
    query = sa.select(pairs.c.pair, pairs.c.body).where(pairs.c.pair.in_([row[2] for row in ranked]))
    bodies = {row.pair: json.loads(row.body) for row in connection.execute(query)}
    return tuple(
        Dispute(
            share,
            number,
            pair,
            (met["a"], met["b"], met["tie"]),
            (bodies[pair]["a"]["text"], bodies[pair]["b"]["text"]),
        )
        for share, number, pair, met in ranked
        if share
    )


def _count_choices(connection: sa.Connection) -> Iterator[tuple[str, Counter[str]]]:
    query = (
        sa.select(votes.c.pair, votes.c.choice, sa.func.count().label("number"))
        .join(pairs, pairs.c.pair == votes.c.pair)
        .where(votes.c.counted == 1, pairs.c.kind == "real")
        .group_by(votes.c.pair, votes.c.choice)
        .order_by(votes.c.pair)
    )
    for pair, rows in groupby(connection.execute(query), key=lambda row: row.pair):
        yield pair, Counter({row.choice: row.number for row in rows})


def _share_differing(met: Counter[str]) -> float:
    """The probability that two of its votes differ.

    >>> _share_differing(Counter(a=1, b=1)), _share_differing(Counter(a=2, b=1)), _share_differing(Counter(a=1))
    (1.0, 0.6666666666666667, 0.0)
    """
    number = met.total()
    return 0.0 if number < 2 else 1 - sum(n * (n - 1) for n in met.values()) / (number * (number - 1))


HOUR = 3600.0
SHORT_SHOWN = 20


@dataclass(slots=True)
class Tally:
    """What one rater did, among all judgements of real and control pairs."""

    choices: Counter[str] = field(default_factory=Counter)
    marked: int = 0
    """Ties; of questions, right ones."""
    left_choices: int = 0
    same: int = 0
    compared: int = 0
    counted: int = 0
    ties: int = 0
    seconds: array[float] = field(default_factory=lambda: array("f"))


@dataclass(frozen=True, slots=True)
class RaterLine:
    """One line of the raters' table; a rate is None where there is nothing to divide by."""

    rater: str
    status: str
    votes: int
    tie_rate: float | None
    left_rate: float | None
    checks_seen: int
    checks_failed: int
    median_seconds: float | None
    agreement: float | None
    why: str  # why a person blocked or excluded them
    broke: str  # which rule of [exclude] excludes them
    ruled: bool  # a person decided, and not the gate or a rule

    @property
    def reason(self) -> str:
        """Of the two, the one that stands."""
        return self.why or self.broke

    @property
    def rule(self) -> str:
        """What blocked or excluded them, without its numbers."""
        if self.ruled:
            return f"{self.status} by hand"
        name = self.broke.partition(":")[0]
        return f"[exclude] {name}" if self.status == "excluded" and name else f"{self.status} by hidden checks"


@dataclass(frozen=True, slots=True)
class Overview:
    """The study at one moment."""

    progress: Progress
    per_hour: float
    hours_to_go: float | None
    real: int
    ties: int  # of questions: those whose true option was taken for the best
    chance: float  # the share that blind clicks would have
    automatic: int  # of these ties, recorded for identical responses by `identical = "tie"`
    interval: ShareInterval | None  # of the ties among all counted votes; None below two of them
    rounds: tuple[tuple[int, int], ...]
    raters: tuple[RaterLine, ...]
    signals: Mapping[str, Signals]  # of raters with enough judgements
    shared: tuple[SharedLink, ...]
    warnings: tuple[str, ...]  # raters who followed the line for programs, and sittings of checks alone
    checks: tuple[CheckLine, ...]
    excluded_votes: int
    by_rule: tuple[tuple[str, int, int], ...]
    """Why raters do not count: the rule, how many raters, how many judgements."""
    disputed: tuple[Dispute, ...]
    spending: tuple[Spending, ...]
    short: tuple[tuple[int, int], ...]
    shortest: tuple[tuple[str, int, int], ...]
    clocks: tuple[tuple[str, float], ...]
    """Servers whose own clock differs, and by how many seconds each is ahead of the database's."""
    sittings: int
    sittings_to_go: int
    assignment: str  # how pairs are chosen
    signature: str


def overview(connection: sa.Connection, hit: Hit, now: float) -> Overview:
    """Read it all in one transaction."""
    form = FORMS[hit.form]
    rounds, gathered, tallies = _read_votes(connection, form)
    by_rater, same = _sum_by_rater(tallies), _read_identical(connection) if hit.identical == "tie" else []
    rounds = _add_automatic(rounds, gathered, by_rater, same, hit.votes_per_pair)
    real, ties = sum(n for n, _ in rounds), sum(t for _, t in rounds)
    interval = share_interval(ties, real, {gathered.name: gathered.counts, "rater": by_rater}, gathered.cells)
    counts, pace = progress(connection, hit.votes_per_pair), _measure_pace(connection, now)
    return Overview(
        progress=counts,
        per_hour=pace,
        hours_to_go=(counts.wanted - counts.counted) / pace if pace else None,
        real=real,
        ties=ties,
        chance=_mean_chance(connection, form) if form.chance is None else form.chance,
        automatic=len(same) * hit.votes_per_pair,
        interval=interval,
        rounds=rounds,
        raters=(lines := _make_lines(connection, tallies, sided=form.is_sided)),
        signals=rater_signals(connection),
        shared=find_shared_links(connection),
        warnings=(
            *(describe_trapped(rater, n) for rater, n in trapped_raters(connection).items()),
            *_unpaid_checks(connection),
        ),
        checks=check_lines(connection),
        excluded_votes=sum(line.votes for line in lines if line.status == "excluded"),
        by_rule=_group_by_rule(lines),
        disputed=most_disputed(connection) if form.is_sided else (),
        spending=spending_of(connection),
        short=_count_short_pairs(connection, hit.votes_per_pair),
        shortest=_find_shortest_pairs(connection),
        clocks=tuple(clocks_that_differ(settings(connection), now)),
        sittings=_count_earned_sittings(connection),
        sittings_to_go=sittings_needed(missing_votes(connection, hit.votes_per_pair), hit.pairs_per_sitting),
        assignment=describe_assignment(hit, places_left(connection)),
        signature=signature(
            votes=real,
            counted=True,
            kind="real",
            unit=interval.unit.replace("+", ",") if interval else "vote",
            interval="95% logit, cluster-robust",
        ),
    )


@dataclass(frozen=True, slots=True)
class Gathered:
    """Counted votes on real pairs by what they share: dialogues, or pairs where each dialogue has one or is not named.

    The rule is that of analysis/votes/clusters.py.
    """

    pairs: ClusterCounts = field(default_factory=ClusterCounts)
    dialogues: dict[str | None, list[int]] = field(default_factory=dict)  # ties and votes
    single: ClusterCounts = field(default_factory=ClusterCounts)  # one rater's votes on one pair
    together: ClusterCounts = field(default_factory=ClusterCounts)  # one rater's votes on one dialogue

    @property
    def name(self) -> str:
        """Which of the two the clusters are."""
        are_named = None not in self.dialogues and len(self.dialogues) > 1
        return "dialogue" if are_named and len(self.dialogues) < self.pairs.clusters else "pair"

    @property
    def counts(self) -> ClusterCounts:
        """The clusters."""
        if self.name == "pair":
            return self.pairs
        return ClusterCounts(Counter((ties, n) for ties, n in self.dialogues.values()))

    @property
    def cells(self) -> ClusterCounts:
        """The clusters' crossing with raters."""
        return self.single if self.name == "pair" else self.together

    def add(self, dialogue: str | None, ties: int, number: int) -> None:
        """One more pair with its votes."""
        self.pairs.add(ties, number)
        sums = self.dialogues.setdefault(dialogue, [0, 0])
        sums[0], sums[1] = sums[0] + ties, sums[1] + number


def _read_votes(
    connection: sa.Connection, form: HitForm
) -> tuple[tuple[tuple[int, int], ...], Gathered, dict[str, Tally]]:
    """One pass over the judgements, dialogue by dialogue: rounds (votes, ties), sums over pairs, tallies of raters.

    Of questions, an answer whose first choice is the true option stands where a tie stands of pairs.
    """
    v = votes.c
    dialogue = _dialogue_column(connection)
    columns = (
        v.pair,
        v.rater,
        v.choice,
        v.left,
        v.seconds,
        v.counted,
        v.aside,
        pairs.c.kind,
        dialogue,
        raters.c.status,
        _body_column(connection, "answer"),
    )
    query = sa.select(*columns).join_from(votes, pairs, v.pair == pairs.c.pair)
    query = query.join(raters, raters.c.rater == v.rater)
    rows = connection.execute(query.where(pairs.c.kind != "check").order_by(dialogue, v.pair, v.vote))
    rounds: Counter[int] = Counter()
    tied: Counter[int] = Counter()
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    gathered = Gathered()
    # by dialogue and pair, so that one dialogue's votes at a time are held: agreement and clusters need no more
    for about, of_dialogue in groupby(rows.yield_per(1000), key=lambda row: row.dialogue):
        cells: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for _, group in groupby(of_dialogue, key=lambda row: row.pair):
            judged = list(group)
            _tally_votes(judged, tallies, form)
            real = [row for row in judged if row.counted and row.kind == "real"]
            counted = [(row.rater, form.is_marked(row.choice, row.answer)) for row in real]
            for place, (rater, tie) in enumerate(counted, 1):
                rounds[place] += 1
                tied[place] += tie
                cells[rater][0] += tie
                cells[rater][1] += 1
                gathered.single.add(int(tie), 1)
            if counted:
                gathered.add(about, sum(tie for _, tie in counted), len(counted))
        for ties, number in cells.values():
            gathered.together.add(ties, number)
    return tuple((rounds[place], tied[place]) for place in sorted(rounds)), gathered, tallies


def _mean_chance(connection: sa.Connection, form: HitForm) -> float:
    """The mean of 1 / options over the questions that are asked."""
    bodies = connection.scalars(sa.select(pairs.c.body).where(pairs.c.kind == "real"))
    return statistics.fmean([1 / len(form.possible_answers(body)) for body in bodies] or [0.0])


def _dialogue_column(connection: sa.Connection) -> sa.Label[Any]:
    """The dialogue of a pair, out of its record."""
    return _body_column(connection, "dialogue")


def _body_column(connection: sa.Connection, name: str) -> sa.Label[Any]:
    """A field of the record; SQLite keeps JSON as text, PostgreSQL must be told that it is JSON."""
    lite: sa.ColumnElement[Any] = sa.func.json_extract(pairs.c.body, f"$.{name}")
    json_field: sa.ColumnElement[Any] = sa.cast(pairs.c.body, sa.JSON)[name].as_string()
    return (lite if connection.dialect.name == "sqlite" else json_field).label(name)


def _tally_votes(judged: list[Any], tallies: defaultdict[str, Tally], form: HitForm) -> None:
    """`same` and `compared` count the votes of raters in good standing alone.

    Nobody is measured by raters who were blocked or excluded, or by visits that were taken back.
    """
    measures = Counter(decisive_part(row.choice) for row in judged if _is_measure(row))
    for row in judged:
        tally, own = tallies[row.rater], int(_is_measure(row))
        tally.choices[row.choice] += 1
        tally.marked += form.is_marked(row.choice, row.answer)
        tally.left_choices += row.choice == row.left
        tally.same += measures[decisive_part(row.choice)] - own
        tally.compared += measures.total() - own
        if row.counted and row.kind == "real":
            tally.counted += 1
            tally.ties += form.is_marked(row.choice, row.answer)
        if row.seconds is not None:
            tally.seconds.append(row.seconds)


def _is_measure(row: Any) -> bool:
    return row.status not in ("blocked", "excluded") and not row.aside


def _sum_by_rater(tallies: dict[str, Tally]) -> ClusterCounts:
    sums = ClusterCounts()
    for tally in tallies.values():
        if tally.counted:
            sums.add(tally.ties, tally.counted)
    return sums


def _read_identical(connection: sa.Connection) -> list[str | None]:
    """The dialogues of the real pairs that nobody is shown, because their responses are the same."""
    was_shown = sa.exists().where(leases.c.pair == pairs.c.pair)  # those are left to people
    query = sa.select(_dialogue_column(connection)).where(pairs.c.kind == "real", pairs.c.offered == 0, ~was_shown)
    return list(connection.scalars(query))


def _add_automatic(
    rounds: tuple[tuple[int, int], ...], gathered: Gathered, by_rater: ClusterCounts, same: list[str | None], k: int
) -> tuple[tuple[int, int], ...]:
    """The same with the k ties that the export writes for each identical pair, by k raters of their own.

    Without them the page would show another share than the analysis, which reads the export.
    """
    if not same:
        return rounds
    for dialogue in same:
        gathered.add(dialogue, k, k)
    for number in Counter(same).values():
        gathered.together.add(number, number, k)
    gathered.single.add(1, 1, k * len(same))
    by_rater.add(len(same), len(same), k)
    all_rounds = [*rounds, *[(0, 0)] * (k - len(rounds))]
    return tuple((n + len(same), t + len(same)) if place < k else (n, t) for place, (n, t) in enumerate(all_rounds))


def _measure_pace(connection: sa.Connection, now: float) -> float:
    """Counted votes an hour over the last hour, or since the first vote where that is later."""
    first: float | None = connection.scalar(sa.select(sa.func.min(votes.c.submitted)))
    if first is None:
        return 0.0
    since = max(first, now - HOUR)
    recent = sa.select(sa.func.count()).where(votes.c.counted == 1, votes.c.submitted >= since)
    return float(connection.scalar(recent) or 0) / max(60.0, now - since) * HOUR


def _count_earned_sittings(connection: sa.Connection) -> int:
    """Sittings in which something was done and that are over: finished, or ended by the gate."""
    is_lease = sa.and_(leases.c.rater == sittings.c.rater, leases.c.sitting == sittings.c.sitting)
    worked = sa.exists().where(is_lease, leases.c.state.in_(DONE))
    over = sa.or_(sittings.c.finished.is_not(None), raters.c.status == "blocked")
    joined = sa.select(sa.func.count()).select_from(sittings).join(raters, raters.c.rater == sittings.c.rater)
    return connection.scalar(joined.where(over, worked)) or 0


def _unpaid_checks(connection: sa.Connection) -> list[str]:
    """What is said of sittings in which checks were answered and no pair was to be had; of those at work, nothing."""
    is_lease = sa.and_(leases.c.rater == sittings.c.rater, leases.c.sitting == sittings.c.sitting)
    answered, is_check = leases.c.state.in_(DONE), leases.c.kind.in_(("check", "void"))
    ended = sa.select(sa.func.count()).select_from(sittings).join(raters, raters.c.rater == sittings.c.rater)
    number = connection.scalar(
        ended.where(
            raters.c.status != "blocked",
            sa.exists().where(is_lease, answered, is_check),
            ~sa.exists().where(is_lease, answered, ~is_check),
            ~sa.exists().where(is_lease, HOLDS_PLACE),
        )
    )
    if not number:
        return []
    whose = "sitting holds" if number == 1 else "sittings hold"
    return [f"{number} {whose} answers to hidden checks alone. They are not paid by themselves: pay for the time."]


def _make_lines(connection: sa.Connection, tallies: dict[str, Tally], *, sided: bool) -> tuple[RaterLine, ...]:
    query = sa.select(votes.c.rater, sa.func.count(), sa.func.sum(votes.c.failed)).group_by(votes.c.rater)
    checks = {rater: (number, failed) for rater, number, failed in connection.execute(query.where(votes.c.failed >= 0))}
    known = connection.execute(
        sa.select(raters.c.rater, raters.c.status, raters.c.broke, raters.c.why, raters.c.ruling).order_by(
            raters.c.arrived
        )
    )
    return tuple(
        _make_line(row, tallies.get(row.rater, Tally()), *checks.get(row.rater, (0, 0)), sided=sided) for row in known
    )


def _make_line(row: Any, tally: Tally, answered: int, failed: int, *, sided: bool) -> RaterLine:
    number = tally.choices.total()
    decided = number - tally.choices["tie"]
    return RaterLine(
        rater=row.rater,
        status=row.status,
        votes=number,
        tie_rate=_divide(tally.marked, number),
        left_rate=_divide(tally.left_choices, decided) if sided else None,
        checks_seen=answered,
        checks_failed=failed,
        median_seconds=statistics.median(tally.seconds) if tally.seconds else None,
        agreement=_divide(tally.same, tally.compared),
        why=row.why or "",
        broke=row.broke or "",
        ruled=row.ruling is not None,
    )


def _group_by_rule(lines: Iterable[RaterLine]) -> tuple[tuple[str, int, int], ...]:
    """Most raters first."""
    raters, judged = Counter[str](), Counter[str]()
    for line in lines:
        if line.status in ("blocked", "excluded"):
            raters[line.rule] += 1
            judged[line.rule] += line.votes
    return tuple((rule, number, judged[rule]) for rule, number in raters.most_common())


def _divide(part: int, total: int) -> float | None:
    return part / total if total else None


def _count_short_pairs(connection: sa.Connection, k: int) -> tuple[tuple[int, int], ...]:
    """(votes missing, number of pairs), most missing first."""
    missing = sa.func.coalesce(pairs.c.target, k) - pairs.c.votes
    query = sa.select(missing, sa.func.count()).where(pairs.c.open == 1).group_by(missing)
    return tuple(sorted(((lacking, number) for lacking, number in connection.execute(query)), reverse=True))


def _find_shortest_pairs(connection: sa.Connection) -> tuple[tuple[str, int, int], ...]:
    """The pairs with the fewest votes: id, counted votes, leases held."""
    query = sa.select(pairs.c.pair, pairs.c.votes, pairs.c.live).where(pairs.c.open == 1)
    rows: Iterable[Any] = connection.execute(query.order_by(pairs.c.votes, pairs.c.position).limit(SHORT_SHOWN))
    return tuple((row.pair, row.votes, row.live - row.votes) for row in rows)
