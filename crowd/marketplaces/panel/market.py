"""A panel as the place where raters come from: its door is opened here; people and pay are the panel's own.

Anybody can write an id into an address. So the votes of a visit count once a list from the panel names it. It pays by
the list that we write; both are tables of ids.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from seedvote.crowd.hit.tables import PanelDoor
from seedvote.crowd.marketplaces.checklist import Lines, Planned
from seedvote.crowd.marketplaces.launch import check_pairs, check_public_url, read_launch, write_launch
from seedvote.crowd.marketplaces.money import Price
from seedvote.crowd.marketplaces.options import LaunchOptions
from seedvote.crowd.marketplaces.panel.entrance import PanelEntrance
from seedvote.crowd.marketplaces.settling import Listed, MarketVisit, Recorded, compare_lists, record, visits
from seedvote.crowd.rating.leasing import Step
from seedvote.crowd.rating.moment import rules_in_force
from seedvote.crowd.store.store import Store, iso
from seedvote.crowd.study_folder import hit_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import cell_text

if TYPE_CHECKING:
    from seedvote.crowd.marketplaces.self_test import Visitor

TESTER = "SELFTEST"
WORKED = ("person", "visit", "begun", "finished", "answers", "checks", "failed", "seconds", "blocked", "verified")


@dataclass(frozen=True, slots=True)
class PanelLaunch:
    """The record of the open door."""

    public_url: str
    pairs: str  # SHA-256 of pairs.jsonl
    name: str


def panel_of(panel: PanelDoor | None) -> PanelDoor:
    """The table, which must be there."""
    if panel is None:
        raise InputError(
            "hit.toml has no [panel]. Say there who sends people and where they go back; see docs/panels.md."
        )
    return panel


class PanelMarket:
    """See `crowd.marketplaces.market.Recruiting`."""

    title = "The panel"
    least_hourly: Mapping[str, Decimal] = {}  # each panel has its own; some pay no money: --least-hourly

    def __init__(self, options: LaunchOptions, store: Store) -> None:
        self.options = options
        self.panel = panel_of(hit_of(options.study, None).panel)
        self.title = self.panel.name[0].upper() + self.panel.name[1:]
        self.launch: PanelLaunch | None = read_launch(store, "panel", PanelLaunch)

    def page_address(self) -> str:
        """Https, or this machine for a rehearsal."""
        return check_public_url(self.options.public_url, rehearsal=not self.options.live)

    def make_visitor(self) -> Visitor:
        """How one of its people arrives and leaves, for the self-test."""
        from seedvote.crowd.marketplaces.self_test import Visitor

        visit = {"source": "panel", "worker": TESTER, "sitting": TESTER if self.panel.visit else "1"}
        out = PanelEntrance(self.panel).find_way_out(visit, Step("done", done=1, judged=1))
        assert out is not None
        ids = [name for name in (self.panel.person, self.panel.visit) if name]
        return Visitor(dict.fromkeys(ids, TESTER), out.url or out.code, "--panel")

    def plan_launch(self, study: Planned) -> tuple[Lines, Price]:
        """What the panel is to be told. Creates nothing."""
        self.study = study
        if self.launch:
            check_pairs(study.pairs, self.launch.pairs)
        hit, panel = study.hit, self.panel
        screened = "as who has worked" if not panel.screened_out else panel.screened_out
        lines = [
            ("address", self._address_line()),
            ("complete", panel.complete),
            ("screened", screened),
            ("full", panel.full or "told on the page"),
            ("visits", "their votes count once your list vouches for them: crowd verify --list FILE"),
            ("payment", f"by {panel.name}; `crowd pay` does nothing there"),
        ]
        return lines, Price(study.sittings, Decimal(str(hit.pay_per_sitting)), Decimal(0), hit.currency)

    def _address_line(self) -> str:
        ids = {name: "ID" for name in (self.panel.person, self.panel.visit) if name}
        return f"{self.page_address()}/?{urlencode(ids)}, where {self.panel.name} puts its ids"

    def create_launch(self, store: Store) -> str:
        """The record of the door, which the command opens; nothing is bought."""
        write_launch(store, "panel", PanelLaunch(self.page_address(), self.study.digest, self.panel.name))
        return f"The door is open. Give {self.panel.name} this address: {self._address_line()}."

    def list_tasks(self) -> list[str]:
        """None: whoever it sends."""
        return []


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
