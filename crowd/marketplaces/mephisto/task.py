"""A study as Mephisto sees it: its units are empty sittings, its server is our own page in the same process.

Mephisto brings workers, pays them and keeps a copy of what was handed in; who sees which pair and who is let in is
decided by the study's own core. Between them stands one channel in memory: no router, no npm, no socket.
`crowd.marketplaces.mephisto.shim.settle_in` must have run before this module is imported.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mephisto.abstractions._subcomponents.channel import Channel
from mephisto.abstractions.architect import Architect, ArchitectArgs
from mephisto.abstractions.blueprints.abstract.static_task.static_blueprint import (
    SharedStaticTaskState,
    StaticBlueprint,
)
from mephisto.abstractions.databases.local_singleton_database import MephistoSingletonDB
from mephisto.data_model.agent import Agent
from mephisto.data_model.constants.assignment_state import AssignmentState
from mephisto.data_model.packet import (
    PACKET_TYPE_AGENT_DETAILS,
    PACKET_TYPE_REGISTER_AGENT,
    PACKET_TYPE_SUBMIT_UNIT,
    Packet,
)
from mephisto.data_model.task_run import TaskRunArgs
from mephisto.operations.operator import Operator
from mephisto.operations.registry import get_crowd_provider_from_type, register_mephisto_abstraction
from mephisto.tools.data_browser import DataBrowser
from omegaconf import OmegaConf

NAME = "seedvote"
SETTINGS = Path(__file__).with_name("task.yaml")
UNIT_PATIENCE = 55.0  # seconds that a worker's browser may wait for a unit; proxies give up after 60
MOCK_REQUESTER = "MOCK_REQUESTER"


@dataclass(frozen=True, slots=True)
class MephistoTask:
    """What Mephisto has to know of a study."""

    name: str  # the same in every run of a study, so that results of all runs are found together
    title: str
    description: str
    reward: float
    sittings: int
    provider: str = "mock"
    requester: str = MOCK_REQUESTER


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit in a worker's hands, or why there is none."""

    agent: str | None
    refusal: str = ""


class Reception(Channel):  # type: ignore[misc]
    """The channel: hands workers to Mephisto and waits for its answer, hands in their work."""

    def __init__(self) -> None:
        super().__init__(NAME, print, print, print)
        self._waiting: dict[str, Future[Mapping[str, Any]]] = {}
        self._closed = False
        self.ready = threading.Event()

    def connect(self, opened: Callable[..., None], lost: Callable[..., None], message: Callable[..., None]) -> None:
        """Mephisto's three callbacks."""
        self.on_channel_open, self.on_catastrophic_disconnect, self.on_message = opened, lost, message

    def open(self) -> None:
        """There is nothing to connect to."""
        self.on_channel_open(self.channel_id)

    def close(self) -> None:
        """Nobody is let in any more."""
        self._closed = True

    def is_closed(self) -> bool:
        """Whether the run is over."""
        return self._closed

    def is_alive(self) -> bool:
        """As long as the run is not over."""
        return not self._closed

    def enqueue_send(self, packet: Packet) -> bool:
        """A message of Mephisto's; the one that matters is its answer to a worker who asked for a unit."""
        if packet.type == PACKET_TYPE_AGENT_DETAILS and packet.data["request_id"] in self._waiting:
            self._waiting.pop(packet.data["request_id"]).set_result(packet.data)
        return True

    def take(self, worker: str, sitting: str, **provider_data: str) -> Unit:
        """A unit for this worker's sitting: the same one again where they come back."""
        self.ready.wait(UNIT_PATIENCE)
        request, answer = uuid.uuid4().hex, Future[Mapping[str, Any]]()
        self._waiting[request] = answer
        who = {"worker_name": worker, "assignment_id": sitting, "agent_registration_id": f"{sitting}-{worker}"}
        data = {"request_id": request, "provider_data": {**who, **provider_data}}
        self.on_message(self.channel_id, Packet(PACKET_TYPE_REGISTER_AGENT, NAME, data))
        reply = answer.result(UNIT_PATIENCE)
        return Unit(reply.get("agent_id"), str(reply.get("failure_reason") or ""))

    def hand_in(self, agent: str, work: Mapping[str, Any]) -> None:
        """Give the finished sitting to Mephisto, which stores it and tells the provider."""
        self.on_message(self.channel_id, Packet(PACKET_TYPE_SUBMIT_UNIT, agent, dict(work)))


@dataclass
class Deployment:
    """What the architect of this process serves; set before a launch, for Mephisto builds its architects itself."""

    reception: Reception
    url: str  # the server's public address; it runs already


_deployment: Deployment | None = None


@register_mephisto_abstraction()
class InProcess(Architect):  # type: ignore[misc]
    """Serves the study's own page from this very process."""

    ArgsClass = ArchitectArgs
    ARCHITECT_TYPE = NAME

    def __init__(self, *_: object, **__: object) -> None:
        assert _deployment is not None
        self.here = _deployment

    def get_channels(self, *callbacks: Callable[..., None]) -> list[Channel]:
        """The one channel."""
        self.here.reception.connect(*callbacks)
        return [self.here.reception]

    def prepare(self) -> str:
        """Nothing is built."""
        return ""

    def deploy(self) -> str:
        """The server runs already."""
        return self.here.url

    def cleanup(self) -> None:
        """Nothing was left behind."""

    def shutdown(self) -> None:
        """The server ends with the command."""


@register_mephisto_abstraction()
class SittingBlueprint(StaticBlueprint):  # type: ignore[misc]
    """Units that hold nothing but their number."""

    BLUEPRINT_TYPE = NAME


class MephistoRun:
    """A run of a study through Mephisto."""

    def __init__(self, task: MephistoTask, deployment: Deployment) -> None:
        global _deployment
        _deployment = deployment
        self.task, self.reception = task, deployment.reception
        self.database = MephistoSingletonDB()
        self.operator = Operator(self.database)

    @property
    def block(self) -> str:
        """Mephisto's name for the soft block of this study."""
        return f"{self.task.name}-no-more"

    def launch(self) -> str:
        """Close what an interrupted run left open, then offer the sittings that are still needed."""
        name = self.task.requester
        if name != MOCK_REQUESTER and not self.database.find_requesters(requester_name=name):
            get_crowd_provider_from_type(self.task.provider).RequesterClass.new(self.database, name)
        expire_left_over(self.database, self.task.name)
        state = SharedStaticTaskState(static_task_data=[{"sitting": n} for n in range(self.task.sittings)])
        run = str(self.operator.launch_task_run_or_die(self._run_config(), state))
        self.reception.ready.set()
        return run

    def _run_config(self) -> Any:
        config = OmegaConf.merge({"task": OmegaConf.structured(TaskRunArgs())}, OmegaConf.load(SETTINGS))
        task = self.task
        return OmegaConf.merge(
            config,
            {
                "blueprint": {"block_qualification": self.block},
                "provider": {"_provider_type": task.provider, "requester_name": task.requester},
                "task": {
                    "task_name": task.name,
                    "task_title": task.title,
                    "task_description": task.description,
                    "task_reward": task.reward,
                },
            },
        )

    def wait(self) -> None:
        """Until every unit is done, or Ctrl-C; then all is put away at once, for the store has every vote already."""
        loop = self.operator._event_loop
        asyncio.set_event_loop(loop)
        watch = loop.create_task(self._until_done())
        try:
            loop.run_forever()
        finally:
            watch.cancel()
            logging.getLogger("asyncio").disabled = True  # messages to workers who can no longer be told
            self.operator.force_shutdown()
            loop.close()

    async def _until_done(self) -> None:
        while self.operator.get_running_task_runs():
            await asyncio.sleep(0.5)
        self.operator._event_loop.stop()

    def close_to(self, agent: str) -> None:
        """Mirror the soft block: Mephisto lets this worker into no further unit of the study."""
        Agent.get(self.database, agent).get_worker().grant_qualification(self.block, 1)


def expire_left_over(database: MephistoSingletonDB, name: str) -> int:
    """Take back the units that an interrupted run of the task still offers; how many there were."""
    expired = 0
    for task in database.find_tasks(task_name=name):
        for run in database.find_task_runs(task_id=task.db_id):
            for unit in database.find_units(task_run_id=run.db_id):
                if unit.get_status() in (AssignmentState.CREATED, AssignmentState.LAUNCHED, AssignmentState.ASSIGNED):
                    unit.expire()
                    expired += 1
    return expired


def handed_in(name: str) -> Iterator[Mapping[str, Any]]:
    """What Mephisto's own data store holds of finished sittings of a task, over all its runs."""
    database = MephistoSingletonDB()
    browser = DataBrowser(db=database)
    if not database.find_tasks(task_name=name):
        return
    for unit in browser.get_units_for_task_name(name):
        if work := browser.get_data_from_unit(unit)["data"]["outputs"]:
            yield work
