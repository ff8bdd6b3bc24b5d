"""The list by which a panel vouches for visits, and the one by which it can pay: both are tables of ids.

Anybody can write an id into an address. So the votes of a visit count once a list from the panel names it.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seedvote.crowd.hit.tables import PanelDoor
from seedvote.crowd.marketplaces.settling import Listed, MarketVisit, Recorded, compare_lists, record, visits
from seedvote.crowd.rating.moment import rules_in_force
from seedvote.crowd.store.store import Store, iso
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import cell_text

WORKED = ("person", "visit", "begun", "finished", "answers", "checks", "failed", "seconds", "blocked", "verified")


@dataclass(frozen=True, slots=True)
class PanelRow:
    """One line of a list: a person, and the visit where the list names one."""

    person: str
    visit: str


@dataclass(frozen=True, slots=True)
class PanelList:
    """What a file lists, and how many of its lines name nobody."""

    rows: Sequence[PanelRow]
    empty: int


@dataclass(frozen=True, slots=True)
class Vouched:
    """What a list has changed, and what it and we do not share."""

    recorded: Recorded
    strangers: Sequence[PanelRow]  # listed, and nobody came under that name
    unlisted: int  # visits with answers that the list does not name


def read_panel_list(path: Path, panel: PanelDoor, columns: Mapping[str, str]) -> PanelList:
    """Any table (CSV, Excel, ...); its columns are named as the parameters of the address, or `person` and `visit`."""
    table = read_table(path)
    person = _pick_column(path, table.names, columns.get("person"), (panel.person, "person"))
    if person is None:
        raise InputError(
            f"{path} has no column {panel.person} or person. It has: {', '.join(table.names)}. Name the one that holds "
            "the ids: --columns person=NAME"
        )
    visit = _pick_column(path, table.names, columns.get("visit"), (panel.visit, "visit")) if panel.visit else None
    visits_ = table.columns[visit] if visit else [""] * len(table)
    rows = [
        PanelRow(cell_text(who).strip(), cell_text(which).strip())
        for who, which in zip(table.columns[person], visits_, strict=True)
    ]
    named_rows = [row for row in dict.fromkeys(rows) if row.person]
    return PanelList(named_rows, sum(not row.person for row in rows))


def _pick_column(path: Path, names: Sequence[str], chosen: str | None, usual: Sequence[str]) -> str | None:
    if chosen is not None and chosen not in names:
        raise InputError(f"{path} has no column {chosen}. It has: {', '.join(names)}.")
    folded = {name.casefold(): name for name in names}
    return chosen or next((folded[name.casefold()] for name in usual if name.casefold() in folded), None)


def vouch(store: Store, panel_list: PanelList, now: float, *, final: bool) -> Vouched:
    """Take the list's word: who is named counts. `final`: who is not, and was never confirmed, does not."""
    with store.write() as connection:
        arrived = visits(connection, "panel")
        visits_of: dict[str, list[MarketVisit]] = defaultdict(list)
        for visit in arrived:
            visits_of[visit.worker].append(visit)
        listed = [
            Listed(visit.key, row.person, "approved", "")
            for row in panel_list.rows
            for visit in visits_of[row.person]
            if row.visit in ("", visit.key)
        ]
        compared = compare_lists(arrived, listed)
        overdue = [visit for visit in compared.unlisted if visit.withdrawn is None] if final else []
        recorded = record(connection, rules_in_force(connection), compared, overdue, now)
    came = {(visit.worker, name) for visit in arrived for name in ("", visit.key)}
    strangers = [row for row in panel_list.rows if (row.person, row.visit) not in came]
    return Vouched(recorded, strangers, len(compared.unlisted))


def write_worked(path: Path, store: Store) -> int:
    """Write whom the panel may pay: every visit that is paid, by the panel's own ids; only its owner may read it."""
    with store.read() as connection:
        worked = [visit for visit in visits(connection, "panel") if visit.is_paid]
    with atomic(path) as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(WORKED)
        writer.writerows(_worked_row(visit) for visit in worked)
    path.chmod(0o600)
    return len(worked)


def _worked_row(visit: MarketVisit) -> list[object]:
    seconds, verified = round(visit.seconds, 1), visit.listed and visit.withdrawn is None
    done = "yes" if visit.finished else "no"
    facts = [iso(visit.begun), done, visit.answers, visit.checks, visit.failed, seconds]
    return [visit.worker, visit.key, *facts, *("yes" if flag else "no" for flag in (visit.blocked, verified))]
