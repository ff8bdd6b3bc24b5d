"""A panel as the place where raters come from: its door is opened here; people and pay are the panel's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from seedvote.crowd.hit.tables import PanelDoor
from seedvote.crowd.marketplaces.checklist import Lines, Planned
from seedvote.crowd.marketplaces.launch import check_pairs, check_public_url, read_launch, write_launch
from seedvote.crowd.marketplaces.money import Price
from seedvote.crowd.marketplaces.options import LaunchOptions
from seedvote.crowd.marketplaces.panel.entrance import PanelEntrance
from seedvote.crowd.rating.leasing import Step
from seedvote.crowd.study_folder import hit_of
from seedvote.dialogue.errors import InputError

if TYPE_CHECKING:
    from seedvote.crowd.marketplaces.self_test import Visitor
    from seedvote.crowd.store.store import Store

TESTER = "SELFTEST"


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
