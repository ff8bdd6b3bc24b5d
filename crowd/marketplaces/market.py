"""The table of marketplaces, and what each of them must be able to do.

To add one: a folder beside `mturk/`, one row of `MARKETPLACES`, and its word in `Source` (dialogue/records.py). The
flags of the commands, the entrances that a server keeps open and the launches that a study has all follow from here.
Commands read this table for their --help, so a marketplace is imported only when its row is used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from seedvote.crowd.marketplaces.mephisto.options import MephistoOptions
from seedvote.crowd.marketplaces.mturk.options import MTurkOptions
from seedvote.crowd.marketplaces.options import LaunchOptions
from seedvote.crowd.marketplaces.prolific.options import ProlificOptions
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Source
from seedvote.dialogue.shell.command_line import next_command

if TYPE_CHECKING:
    from seedvote.crowd.hit.hit import Hit
    from seedvote.crowd.marketplaces.checklist import Lines, Planned
    from seedvote.crowd.marketplaces.ledger import Act, PayoutLedger, Purpose
    from seedvote.crowd.marketplaces.money import Price
    from seedvote.crowd.marketplaces.self_test import Visitor
    from seedvote.crowd.marketplaces.settling import LookUp
    from seedvote.crowd.store.store import Store
    from seedvote.crowd.web.entrance import Entrance


class Launchable(Protocol):
    """What a launch needs of a marketplace."""

    title: str

    def plan_launch(self, study: Planned) -> tuple[Lines, Price]:
        """What would be created and what it may cost; InputError where something is missing. Creates nothing."""

    def create_launch(self, store: Store) -> str:
        """Create it, or go on where an earlier attempt stopped; a sentence of what is there now."""


class Recruiting(Launchable, Protocol):
    """A marketplace that sends people to a page that is served already."""

    least_hourly: Mapping[str, Decimal]  # the least pay an hour, by currency

    def page_address(self) -> str:
        """The address of the page for workers; InputError for one that they could not open."""

    def make_visitor(self) -> Visitor:
        """How one of its people arrives and leaves, for the self-test."""

    def list_tasks(self) -> list[str] | None:
        """Its names of the tasks whose people are let in; none: those of any task. None: of no task yet."""


class Market(Recruiting, Protocol):
    """A marketplace with the launch of one study."""

    source: Source

    @property
    def currency(self) -> str:
        """Of the launch."""

    @property
    def reward(self) -> Decimal:
        """What one visit is paid."""

    @property
    def screen_out(self) -> Decimal:
        """What the marketplace by itself pays somebody whom the gate ended; 0: it does not."""

    def look_up(self) -> LookUp:
        """The visits that the marketplace knows; what fails in part is told, and the rest is given."""

    def visit_deadline(self) -> float:
        """Seconds after which a visit that began here has to be listed there."""

    def make_act(self, ledger: PayoutLedger, purpose: Purpose, reason: str) -> Act | None:
        """How it pays for this; None: it pays by itself, or cannot."""

    def book_changes(self, store: Store) -> list[str]:
        """Book what the marketplace did without these commands; sentences about it."""

    def bonus_cost(self, amount: Decimal) -> Decimal:
        """A bonus with its fee."""

    def close_to(self, workers: Iterable[str]) -> tuple[int, list[str]]:
        """Offer these workers no further work; how many were new, and what failed."""

    def price_sittings(self, sittings: int) -> Price:
        """What further sittings may cost."""

    def open_places(self) -> int:
        """Places that are bought and not handed in from."""

    def add_sittings(self, store: Store, sittings: int) -> str:
        """Add sittings; a sentence of what is there now."""

    def finish_extension(self, store: Store) -> int:
        """Make what an interrupted command has planned; how many places."""

    def stop_entry(self) -> str:
        """Let nobody new in; a sentence of what is there now."""

    def allow_entry(self) -> str:
        """Let people in again; a sentence of what is there now."""


@dataclass(frozen=True, slots=True)
class Marketplace:
    """One row of the table."""

    source: Source  # its one word: `source` of votes, flag of commands, name of the launch's record in the store
    title: str  # as people call it
    makes: str  # what a launch makes there
    options: type[LaunchOptions]  # what a person may say about a launch
    launch: Callable[[Any, Store], Launchable]
    market: Callable[[Any, Store], Market] | None = None  # None: it keeps no record here and pays its workers by itself
    entrance: Callable[[Hit, str], Entrance | None] | None = None  # None: its own process lets its workers in
    trial: bool = False  # without --live it has a place where no money moves
    places: tuple[str, ...] = ()  # what `crowd serve --SOURCE` may name: where the workers come from
    sites: Callable[[str], tuple[str, ...]] | None = None  # of a place: the first takes forms, all may frame the page

    @property
    def kept(self) -> bool:
        """Whether a launch leaves a record in the store."""
        return self.market is not None or self.entrance is not None

    def open_market(self, options: LaunchOptions, store: Store) -> Market:
        """The market of an existing launch."""
        if self.market is None:
            advice = " Whom it should pay, and whose votes count: `crowd verify --worked FILE --list FILE`."
            raise InputError(
                f"{self.title} pays its workers by itself; there is nothing to do for this command."
                f"{advice if self.entrance else ''}"
            )
        return self.market(options, store)


def _make_mturk(options: MTurkOptions, store: Store) -> Market:
    from seedvote.crowd.marketplaces.mturk.market import MTurkMarket

    return MTurkMarket(options, store)


def _mturk_entrance(_hit: Hit, submit_to: str) -> Entrance:
    from seedvote.crowd.marketplaces.mturk.entrance import MTurkEntrance

    return MTurkEntrance(submit_to)


def _mturk_sites(place: str) -> tuple[str, ...]:
    from seedvote.crowd.marketplaces.mturk.entrance import mturk_sites

    return mturk_sites(place)


def _make_prolific(options: ProlificOptions, store: Store) -> Market:
    from seedvote.crowd.marketplaces.prolific.market import ProlificMarket

    return ProlificMarket(options, store)


def _prolific_entrance(hit: Hit, _submit_to: str) -> Entrance:
    from seedvote.crowd.marketplaces.prolific.entrance import ProlificEntrance

    return ProlificEntrance(hit.completion_code, hit.screened_out_code)


def _make_panel(options: LaunchOptions, store: Store) -> Launchable:
    from seedvote.crowd.marketplaces.panel.market import PanelMarket

    return PanelMarket(options, store)


def _panel_entrance(hit: Hit, _submit_to: str) -> Entrance | None:
    from seedvote.crowd.marketplaces.panel.entrance import PanelEntrance

    return PanelEntrance(hit.panel) if hit.panel else None


def _make_mephisto(options: MephistoOptions, _store: Store) -> Launchable:
    from seedvote.crowd.marketplaces.mephisto.market import MephistoMarket

    return MephistoMarket(options)


MARKETPLACES = (
    Marketplace(
        "mturk",
        "Mechanical Turk",
        "HITs on Mechanical Turk, straight through AWS",
        MTurkOptions,
        launch=_make_mturk,
        market=_make_mturk,
        entrance=_mturk_entrance,
        trial=True,
        places=("live", "sandbox"),
        sites=_mturk_sites,
    ),
    Marketplace(
        "prolific",
        "Prolific",
        "a draft study on Prolific",
        ProlificOptions,
        launch=_make_prolific,
        market=_make_prolific,
        entrance=_prolific_entrance,
    ),
    Marketplace(
        "panel",
        "the panel",
        "the door of [panel] in hit.toml: SONA, Cint, CloudResearch Connect, a list of your own",
        LaunchOptions,  # the rest is the table [panel] of hit.toml
        launch=_make_panel,
        entrance=_panel_entrance,
        trial=True,
    ),
    Marketplace(
        "mephisto",
        "Mephisto",
        "a Mephisto run, served by this process",
        MephistoOptions,
        launch=_make_mephisto,
        trial=True,
    ),
)


def usual_entrances(hit: Hit, submit_to: str, doors: Collection[str] | None = None) -> tuple[Entrance, ...]:
    """The entrances that a server keeps open; `submit_to` is the site that takes finished forms.

    A marketplace whose addresses anybody could make up is let in only if `doors` names it (None: all are). One with a
    site of its own checks that by itself.
    """
    rows = [row for row in MARKETPLACES if doors is None or row.places or row.source in doors]
    # a panel first: its person's parameter is its own, while CloudResearch Connect's visit is named as MTurk's
    rows.sort(key=lambda row: row.source != "panel")
    entrances = (row.entrance(hit, submit_to) for row in rows if row.entrance)
    if doors is not None and "panel" in doors and hit.panel is None:
        raise InputError("hit.toml has no [panel], so nobody can come by --panel. Write it; see docs/panels.md.")
    return tuple(entrance for entrance in entrances if entrance)


def sites_at(places: Mapping[Source, str]) -> tuple[str, ...]:
    """The sites of these places: the first takes finished forms, all may frame the page."""
    rows = [(row, places.get(row.source)) for row in MARKETPLACES]
    return tuple(site for row, place in rows if row.sites and place for site in row.sites(place))


def doors_in_environment(read_variable: Callable[[str, str], str]) -> dict[Source, str]:
    """The doors that SEEDVOTE_MTURK=live, SEEDVOTE_PROLIFIC=1, ... name, as the options of `crowd serve` do."""
    named_doors: dict[Source, str] = {}
    for row in MARKETPLACES:
        name, value = f"SEEDVOTE_{row.source.upper()}", read_variable(f"SEEDVOTE_{row.source.upper()}", "")
        legal = row.places or ("1",)
        if value in ("", "0") or not row.entrance:
            continue
        if value not in legal:
            raise InputError(f"{name} is {value!r}; it may be {' or '.join(legal)}.")
        named_doors[row.source] = value
    return named_doors


def adopt_launches(store: Store, folder: Path) -> None:
    """Open the doors of launches that were made before stores kept them."""
    from seedvote.crowd.store.launches import doors, open_door

    with store.read() as connection:
        known = doors(connection)
    for row in launched_on(store):
        if row.market and row.source not in known:
            tasks = row.open_market(row.options(folder), store).list_tasks()
            if tasks is None:
                continue
            with store.write() as connection:
                open_door(connection, row.source, tasks)


def refuse_walk_in(store: Store, *, walk_in: bool) -> None:
    """A study that was launched lets in those it was launched for, and nobody who merely knows the address."""
    from seedvote.crowd.store.launches import doors

    with store.read() as connection:
        titles = [row.title for row in MARKETPLACES if row.source in doors(connection)]
    if walk_in and titles:
        raise InputError(
            f"This study was launched on {' and '.join(titles)}, so nobody may walk in: they would take the places of "
            "those who are paid. Serve it without --walk-in (SEEDVOTE_WALK_IN)."
        )


def launched_on(store: Store) -> list[Marketplace]:
    """The marketplaces on which a study has a launch."""
    from seedvote.crowd.store.launches import launched_sources

    with store.read() as connection:
        sources = launched_sources(connection)
    return [row for row in MARKETPLACES if row.kept and row.source in sources]


def launch_of(store: Store, folder: Path, sources: Collection[str]) -> Marketplace:
    """The marketplace that is named, or the only one on which the study was launched."""
    launches = launched_on(store)
    candidates = [row for row in launches if row.market or row.source in sources] or launches
    chosen = [row for row in candidates if row.source in sources] or candidates
    if not chosen and (folder / "mephisto").is_dir():
        raise InputError(
            f"{folder} was launched through Mephisto, which keeps its own books: review and pay its units there (see "
            "docs/mephisto.md). This command settles launches on Mechanical Turk and Prolific. Nothing was changed."
        )
    if not chosen:
        command = next_command("python -m crowd launch", folder)
        raise InputError(f"{folder} has not been launched on a marketplace. Launch it: {command}")
    if len(chosen) > 1:
        titles, flags = " and ".join(row.title for row in chosen), " or ".join(f"--{row.source}" for row in chosen)
        raise InputError(f"{folder} was launched on {titles}: add {flags}.")
    return chosen[0]
