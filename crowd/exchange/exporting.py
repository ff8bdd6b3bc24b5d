"""The votes, raters and events of a store as the records and files of a study; never payment, never an answer key."""

from __future__ import annotations

import csv
import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa

from seedvote.crowd.exchange.answer_rows import (
    Judged,
    comments_of,
    passages_of,
    rows_by_question,
    rows_by_response,
)
from seedvote.crowd.forms.known import FORMS, FormName
from seedvote.crowd.rating.assignment import LatePolicy, first_votes, is_eligible
from seedvote.crowd.rating.moment import kept_hit, rules_in_force
from seedvote.crowd.rating.pool import TEXTS
from seedvote.crowd.rating.replaying import Replayed, replay
from seedvote.crowd.store import tables
from seedvote.crowd.store.store import iso, read_events, settings
from seedvote.crowd.watching.signals import FOLLOWED, PageEvents, page_events, rater_signals, trapped_raters
from seedvote.dialogue.files import as_json, atomic, write_records
from seedvote.dialogue.records import (
    Comment,
    MarkedPassage,
    OptionChoice,
    Pair,
    Question,
    Rater,
    ResponseRating,
    Source,
    Vote,
)
from seedvote.dialogue.signature import signature

Answer = Vote | OptionChoice | ResponseRating
VOTES_PER_SET = 200  # in analyze_ties.py
AUTO = "auto-tie"
_TARGETS = sa.select(tables.pairs.c.pair, tables.pairs.c.target)
# Where no marketplace stands behind a vote. Every other source is one; the table of them is a room above this one.
HERE: tuple[Source, ...] = ("local", "simulated", "imported", "judge")


@dataclass(frozen=True, slots=True)
class Export:
    """What a store holds at one moment."""

    votes: Sequence[Answer]
    raters: Sequence[Rater]
    recipe: str
    form: FormName = "pairs"
    comments: Sequence[Comment] = ()
    records: Mapping[str, Any] = field(default_factory=dict)  # id -> the record that raters saw
    passages: Sequence[MarkedPassage] | None = None
    """What raters marked; None where it was not asked."""

    @property
    def name(self) -> str:
        """Of the file of answers, without its ending."""
        return FORMS[self.form].answers

    @property
    def kind(self) -> type:
        """The record of an answer."""
        return FORMS[self.form].answer_record

    @property
    def given(self) -> int:
        """The votes that somebody gave."""
        return sum(not vote.extra.get("auto") for vote in self.votes)


def export(
    connection: sa.Connection, *, votes_per_pair: int, auto_ties: bool = False, replayed: Replayed | None = None
) -> Export:
    """All votes in the order in which they came, all raters in the order in which they arrived.

    With `replayed`, what counts and who is blocked is as another gate has it.
    """
    hit, values = kept_hit(connection), settings(connection)
    form: FormName = hit.form if hit else "pairs"
    pairs = {row.pair: FORMS[form].record_of(row.body) for row in connection.execute(sa.select(tables.pairs))}
    of_lease = (tables.leases.c.sitting, tables.leases.c.batch, tables.leases.c.propensity)
    joined = sa.select(tables.votes, *of_lease).join(tables.leases, tables.leases.c.lease == tables.votes.c.lease)
    rows = connection.execute(joined.order_by(tables.votes.c.vote)).all()
    listed = sa.select(tables.payments.c.rater, tables.payments.c.sitting).where(
        tables.payments.c.listed.is_not(None), tables.payments.c.withdrawn.is_(None)
    )
    confirmed = {(row.rater, row.sitting) for row in connection.execute(listed)}
    raters = connection.execute(sa.select(tables.raters).order_by(tables.raters.c.arrived, tables.raters.c.rater)).all()
    status = replayed.status if replayed else {row.rater: row.status for row in raters}
    counted = replayed.counted if replayed else {row.lease: bool(row.counted) for row in rows}
    targets = {row.pair: row.target for row in connection.execute(_TARGETS)}
    wanted = {pair: votes_per_pair if target is None else target for pair, target in targets.items()}
    waiting = _find_waiting(rows, status, wanted, hit.late_votes if hit else "keep")
    record_of = _choice_of if FORMS[form].answer_record is OptionChoice else _vote_of
    votes: list[Answer] = list(_read_votes(rows, pairs, status, counted, confirmed, waiting, record_of))
    if auto_ties:
        votes += _auto_ties(connection, votes_per_pair)
    if replayed is None and (broke := {row.rater: _name_rule(row.broke) for row in raters if row.broke}):
        votes = list(_as_without_rules(connection, votes, rows, broke))
    comments: list[Comment] = []
    question_names: list[str] = []
    given_votes = [vote for vote in votes if not vote.extra.get("auto")]
    judged: list[Judged] = list(zip(given_votes, (row for row in rows if row.failed is None), strict=True))
    passages = list(passages_of(judged, pairs, FORMS[form])) if hit and hit.marks else None
    if hit and hit.questions:
        comments = list(comments_of(judged))
        if FORMS[form].is_set:
            votes = [record for visit, row in judged for record in rows_by_response(visit, row, pairs[row.pair])]
        elif hit.lead:
            votes = [*rows_by_question(judged)]
        question_names = [record.name for record in hit.questions if record.makes_votes]
    comments += _written_at_end(raters, status)
    recipe = signature(
        **{FORMS[form].answers: len(votes)},
        **({"questions": question_names} if question_names else {}),
        counted=sum(vote.counted for vote in votes),
        simulated=sum(vote.source == "simulated" for vote in votes),
        pairs=sum(pair.kind != "check" for pair in pairs.values()),
        votes_per_pair=votes_per_pair,
        raters=len(raters),
        blocked=sum(status[row.rater] == "blocked" for row in raters),
        seed=int(values["seed"]),
        texts=values.get(TEXTS) or None,
    )
    doubts = _find_doubts(connection)
    people = _read_raters(raters, rows, status, doubts, page_events(connection))
    return Export(votes, people, recipe, form, comments, pairs, passages)


def _read_votes(
    rows: Sequence[sa.Row[Any]],
    pairs: Mapping[str, Any],
    status: Mapping[str, Any],
    counted: Mapping[int, bool],
    confirmed: Collection[tuple[str, int]],
    waiting: Collection[int],
    record_of: Callable[[sa.Row[Any], Any, Mapping[str, Any]], Answer],
) -> Iterable[Answer]:
    """Votes on real and control pairs; `round` counts a pair's counted votes in the order in which they came."""
    rounds: dict[str, int] = defaultdict(int)
    for row in rows:
        if row.failed is not None:
            continue
        pair = pairs[row.pair]
        rounds[row.pair] += counted[row.lease]
        common = {
            "rater": row.rater,
            "round": rounds[row.pair] if counted[row.lease] else 0,
            "seconds": row.seconds,
            "submitted": iso(row.submitted),
            "source": row.source,
            "rater_status": status[row.rater],
            "counted": counted[row.lease],
            "kind": pair.kind,
            "dialogue": pair.dialogue,
            "extra": {"late": bool(row.late)} | _mark_verified(row, confirmed, waiting),
        }
        if row.device:
            turns = len(pair.context)
            common |= {"device": row.device, "turns": turns, "turns_seen": min(row.turns_seen, turns)}
            common |= {"context_seconds": row.context_seconds}
        yield record_of(row, pair, common)


def _vote_of(row: sa.Row[Any], pair: Pair, common: Mapping[str, Any]) -> Vote:
    how = {"batch": row.batch, "propensity": row.propensity}
    marks = None if row.marks is None else len(json.loads(row.marks))
    how |= {"marks": marks, "differences": None if row.differences is None else bool(row.differences)}
    return Vote(pair=row.pair, choice=row.choice, left=row.left, identical=pair.identical, **how, **common)


def _choice_of(row: sa.Row[Any], _: Question, common: Mapping[str, Any]) -> OptionChoice:
    first, second = (*map(int, row.choice.split(",")), None)[:2]
    return OptionChoice(question=row.pair, first=first, second=second, shown=row.left, **common)


def _name_rule(clause: str) -> str:
    """The name of the rule of [exclude], without its numbers."""
    return clause.partition(":")[0]


def _as_without_rules(
    connection: sa.Connection,
    votes: Sequence[Answer],
    rows: Sequence[sa.Row[Any]],
    broke: Mapping[str, str],
) -> Iterable[Answer]:
    """The votes, each with what it would be if hit.toml had no [exclude], so that a report can show both."""
    rules = rules_in_force(connection)
    k, late = rules.assignment.votes_per_pair, rules.assignment.late_votes
    log = read_events(connection)
    counted = replay(log, rules.gate, votes_per_pair=k, late_votes=late, excluding=False).counted
    given_rows = iter([row for row in rows if row.failed is None])  # the automatic ties come after them
    rounds: dict[str, int] = defaultdict(int)
    for vote in votes:
        row = None if vote.extra.get("auto") else next(given_rows)
        would = vote.counted if row is None else counted[row.lease]
        pair = vote.question if isinstance(vote, OptionChoice) else cast(Vote, vote).pair  # of sets, one vote a visit
        rounds[pair] += would
        columns = {"counted_without_rules": would, "round_without_rules": rounds[pair] if would else 0}
        yield replace(vote, extra={**vote.extra, **columns, "excluded_by": broke.get(vote.rater, "")})


def _find_waiting(
    rows: Sequence[sa.Row[Any]], status: Mapping[str, Any], wanted: Mapping[str, int], late_votes: LatePolicy
) -> set[int]:
    """The leases whose votes hold a place among their pair's k, and lack nothing but a marketplace's word."""
    waiting = set()
    real = sorted((row for row in rows if row.failed is None), key=lambda row: row.pair)  # stable: in order of time
    for pair, group in groupby(real, key=lambda row: row.pair):
        leases_of_pair = list(group)
        may = [
            is_eligible(status[row.rater], late=bool(row.late), aside=bool(row.aside), late_votes=late_votes)
            for row in leases_of_pair
        ]
        places = zip(leases_of_pair, first_votes(may, wanted[pair]), strict=True)
        waiting |= {row.lease for row, place in places if place and row.waits}
    return waiting


def _mark_verified(
    row: sa.Row[Any], confirmed: Collection[tuple[str, int]], waiting: Collection[int]
) -> dict[str, bool]:
    """For votes through a marketplace: whether it has listed the visit for this very worker, or is yet to be asked."""
    known = {"verified": (row.rater, row.sitting) in confirmed, "waiting": row.lease in waiting}
    return known if row.source not in HERE else {}


def _auto_ties(connection: sa.Connection, votes_per_pair: int) -> Iterable[Vote]:
    """The ties that hit.toml asked to record for identical responses; no person gave them, and they say so.

    A pair that a person was shown is left to people.
    """
    leased = sa.exists().where(tables.leases.c.pair == tables.pairs.c.pair)
    unseen = sa.select(tables.pairs.c.body).where(tables.pairs.c.kind != "check", tables.pairs.c.offered == 0, ~leased)
    for pair in map(FORMS["pairs"].record_of, connection.scalars(unseen.order_by(tables.pairs.c.pair))):
        if pair.identical:
            for number in range(1, votes_per_pair + 1):
                yield Vote(
                    pair=pair.pair,
                    rater=f"{AUTO}-{number}",
                    choice="tie",
                    round=number,
                    kind=pair.kind,
                    identical=True,
                    dialogue=pair.dialogue,
                    extra={"auto": True},
                )


def _written_at_end(raters: Sequence[sa.Row[Any]], status: Mapping[str, Any]) -> Iterable[Comment]:
    """What raters wrote at the end of a sitting: about no pair."""
    for row in raters:
        for name, text in _read_profile(row)["comments"].items():
            yield Comment("", row.rater, name, text, status[row.rater] == "passed")


def _read_profile(rater: sa.Row[Any]) -> dict[str, dict[str, str]]:
    return dict(json.loads(rater.told)) if rater.told else {"answers": {}, "comments": {}}


def _read_raters(
    raters: Sequence[sa.Row[Any]],
    rows: Sequence[sa.Row[Any]],
    status: Mapping[str, Any],
    doubts: Mapping[str, Sequence[str]],
    page: Mapping[str, PageEvents] | None,
) -> list[Rater]:
    rows_of_rater: dict[str, list[sa.Row[Any]]] = defaultdict(list)
    for row in rows:
        rows_of_rater[row.rater].append(row)
    return [
        _make_rater(
            row, rows_of_rater[row.rater], status[row.rater], _make_signals(row.rater, doubts.get(row.rater, ()), page)
        )
        for row in raters
    ]


def _find_doubts(connection: sa.Connection) -> dict[str, tuple[str, ...]]:
    """What stands out about raters; the line for programs may be followed by who has given few answers."""
    doubts_of = {rater: signals.doubts for rater, signals in rater_signals(connection).items() if signals.doubts}
    for rater in trapped_raters(connection):
        doubts_of[rater] = (*doubts_of.get(rater, ()), FOLLOWED)
    return doubts_of


def _make_signals(rater: str, doubts: Sequence[str], page: Mapping[str, PageEvents] | None) -> dict[str, Any]:
    """What stands out, and how many pairs the page was left, copied from and pasted into, if the study counts that."""
    signals: dict[str, Any] = {"doubts": "; ".join(doubts)} if doubts else {}
    return signals if page is None else {**signals, "page_events": asdict(page.get(rater, PageEvents()))}


def _make_rater(row: sa.Row[Any], rows_of_rater: Sequence[sa.Row[Any]], status: Any, signals: dict[str, Any]) -> Rater:
    checks = [vote for vote in rows_of_rater if vote.failed is not None]
    seconds = [vote.seconds for vote in rows_of_rater if vote.failed is None and vote.seconds is not None]
    return Rater(
        rater=row.rater,
        source=row.source,
        status=status,
        checks_seen=len(checks),
        checks_failed=sum(vote.failed for vote in checks),
        votes=len(rows_of_rater) - len(checks),
        consented=f"{row.consent} {iso(row.consented)}" if row.consented is not None else None,
        median_seconds=round(statistics.median(seconds), 3) if seconds else None,
        profile=json.loads(row.about or "{}") | _read_profile(row)["answers"],
        language=row.language or "",
        extra=signals,
    )


def exported_events(connection: sa.Connection) -> Iterable[dict[str, Any]]:
    """The event log as plain values."""
    for event in read_events(connection):
        yield {
            "event": event.event,
            "at": iso(event.at),
            "kind": event.kind,
            "rater": event.rater,
            "pair": event.pair,
            **event.data,
        }


def write(path: Path, records: Sequence[Any], kind: type | None, recipe: str) -> None:
    """Write records (or plain values, kind None) as JSON Lines, CSV or Parquet, by the name's ending."""
    rows = [as_json(record) if kind else record for record in records]
    if path.suffix == ".parquet":
        _write_parquet(path, rows, recipe)
    elif path.suffix == ".csv":
        _write_csv(path, rows)
    elif kind is None:
        with atomic(path) as handle:
            handle.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    else:
        write_records(path, records, signature=recipe, kind=kind)


def analysis_of(path: Path, votes: Sequence[Answer]) -> list[str]:
    """The command that draws these votes, of several questions those of the first; few are drawn with replacement."""
    if votes and isinstance(votes[0], OptionChoice):
        return ["python -m analysis choose", str(path.parent)]
    if votes and isinstance(first := votes[0], ResponseRating):
        command = "python -m analysis ratings" if first.rank is None else "python -m analysis ranks"
        return [command, str(path), "--question", first.question]
    lead = votes[0].question if votes else ""
    rounds = Counter(v.round for v in votes if v.counted and v.kind == "real" and v.question == lead)
    few = min(rounds.values(), default=0) <= VOTES_PER_SET
    options = ["--question", lead] if lead else []
    return ["python analyze_ties.py", str(path), *options, *(["--replace"] if few else [])]


def _find_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with atomic(path) as handle:
        writer = csv.DictWriter(handle, _find_columns(rows), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_parquet(path: Path, rows: Sequence[Mapping[str, Any]], recipe: str) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({name: [row.get(name) for row in rows] for name in _find_columns(rows)})
    with atomic(path, "wb") as handle:
        parquet.write_table(table.replace_schema_metadata({"signature": recipe}), handle)
