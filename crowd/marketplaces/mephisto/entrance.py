"""How workers of a Mephisto run arrive and leave: a sitting is one unit, handed to Mephisto once it is over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from seedvote.crowd.marketplaces.mephisto.copies import as_stored, finished_sitting
from seedvote.crowd.marketplaces.mturk.entrance import MTurkEntrance
from seedvote.crowd.rating.leasing import Step
from seedvote.crowd.rating.moment import Seat
from seedvote.crowd.web.entrance import Arrival, WayOut, read_identifier
from seedvote.dialogue.records import Source

if TYPE_CHECKING:
    from seedvote.crowd.marketplaces.mephisto.task import MephistoRun, Reception
    from seedvote.crowd.rating.desk import Desk


@dataclass
class MephistoEntrance:
    """Workers sent by a Mephisto provider; each sitting is one of its units."""

    reception: Reception
    submit_to: str = ""  # with an MTurk provider: where the form goes
    # Both need a server or channel that exists only after this entrance: the market sets them before the first visit.
    desk: Desk | None = None
    run: MephistoRun | None = None
    _handed_in: set[tuple[str, str]] = field(default_factory=set)
    source: ClassVar[Source] = "mephisto"

    def read_arrival(self, query: Mapping[str, str]) -> Arrival | None:
        """By worker_id and assignment_id (mock), or as from MTurk; there must be a unit for them."""
        arrival = self._read_announced(query)
        if arrival is None or arrival.preview:
            return arrival
        unit = self._take_unit(arrival.worker, arrival.sitting, arrival.task)
        return arrival if unit.agent else replace(arrival, turned_away=True)

    def _read_announced(self, query: Mapping[str, str]) -> Arrival | None:
        if self.submit_to:
            arrival = MTurkEntrance(self.submit_to).read_arrival(query)
            return replace(arrival, source=self.source) if arrival else None
        if "worker_id" not in query:
            return None
        worker, sitting = read_identifier("worker_id", query), read_identifier("assignment_id", query)
        return Arrival(self.source, worker=worker, sitting=sitting, task="")

    def _take_unit(self, worker: str, sitting: str, hit: str = "") -> Any:
        provider = {"hit_id": hit, "provider_type": "mturk"} if self.submit_to else {"provider_type": "mock"}
        return self.reception.take(worker, sitting, **provider)

    def find_way_out(self, visit: Mapping[str, Any], step: Step) -> WayOut | None:
        """Hand the sitting to Mephisto once it is over; a worker for whom there is no more is closed there too."""
        if step.is_paid and (visit["worker"], visit["sitting"]) not in self._handed_in:
            self._hand_in(visit, blocked=step.stage == "no_more")
        if self.submit_to:
            return MTurkEntrance(self.submit_to).find_way_out(visit, step)
        unpaid = "There was nothing left for you to do here." if step.done else "Nothing was asked of you."
        words = "Your work was handed in." if step.is_paid else unpaid
        return WayOut(words, then="You may close this page.")

    def find_refusal_way(self, visit: Mapping[str, Any]) -> WayOut | None:
        """They close the page; their unit is offered again."""
        del visit
        return None

    def _hand_in(self, visit: Mapping[str, Any], *, blocked: bool) -> None:
        assert self.desk is not None and self.run is not None
        agent = self._take_unit(visit["worker"], visit["sitting"]).agent
        if agent is None:
            return
        with self.desk.store.read() as connection:
            finished = finished_sitting(connection, *visit["seat"])
        self.desk.settle(Seat(*visit["seat"]))
        self.reception.hand_in(agent, as_stored(finished))
        self._handed_in.add((visit["worker"], visit["sitting"]))
        if blocked:
            self.run.close_to(agent)
