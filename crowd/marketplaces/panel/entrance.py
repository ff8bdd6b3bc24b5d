"""How the people of a panel arrive and leave: ids in the address, and an address or a code on the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

from seedvote.crowd.hit.tables import PanelDoor
from seedvote.crowd.rating.leasing import Step
from seedvote.crowd.web.entrance import Arrival, WayOut, read_identifier
from seedvote.dialogue.records import Source

ONLY_VISIT = "1"  # the visit of a person where the panel names none


@dataclass(frozen=True, slots=True)
class PanelEntrance:
    """People of the panel that `[panel]` of hit.toml describes."""

    panel: PanelDoor
    source: ClassVar[Source] = "panel"

    def read_arrival(self, query: Mapping[str, str]) -> Arrival | None:
        """By the parameter of the person, and that of the visit where there is one."""
        if self.panel.person not in query:
            return None
        visit = read_identifier(self.panel.visit, query) if self.panel.visit else ONLY_VISIT
        return Arrival(self.source, worker=read_identifier(self.panel.person, query), sitting=visit, task="")

    def find_way_out(self, visit: Mapping[str, Any], step: Step) -> WayOut | None:
        """Back for who has worked, for who was screened out, or for who found nothing left."""
        if not step.is_paid:
            return self._way_back(self.panel.full, visit, "There was nothing left for you to do here.")
        if step.stage == "no_more":
            return self._way_back(
                self.panel.screened_out or self.panel.complete, visit, "Your part in this study is over."
            )
        return self._way_back(self.panel.complete, visit, "Go back now, so that your work is known there.")

    def find_refusal_way(self, visit: Mapping[str, Any]) -> WayOut | None:
        """For who does not consent."""
        way = self.panel.declined or self.panel.full
        return self._way_back(way, visit, "If you do not agree, you may leave.") if way else None

    def _way_back(self, way: str, visit: Mapping[str, Any], words: str) -> WayOut:
        if not way:
            return WayOut(words, then="You may close this page.")
        if "://" not in way:
            return WayOut(words, then="Give this code to %(name)s.", name=self.panel.name, code=way)
        ids = {"person": visit["worker"], "visit": visit["sitting"]}
        url = way.format(**{name: quote(value, safe="") for name, value in ids.items()})
        return WayOut(words, "Back to %(name)s", url, name=self.panel.name)
