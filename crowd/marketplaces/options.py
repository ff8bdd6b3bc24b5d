"""What a person may say about a launch, as typed values: what every marketplace wants to know.

A marketplace with questions of its own has a subclass in its folder (`mturk/options.py`). Each field is at once the
option of the command line, its help and its default, so that a new option is one line; `crowd/arguments.py` turns
fields into arguments and arguments into these values. Nothing below the commands sees an `argparse.Namespace`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from seedvote.crowd.marketplaces.money import money, share


@dataclass(frozen=True, slots=True)
class Wording:
    """An option as the command line shows it."""

    help: str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    least: int | None = None  # a whole number below this is refused
    most: int | None = None  # and one above this
    check: Callable[[str], Any] | None = None  # refuses a text with a sentence
    read: Callable[[str], Any] | None = None  # text to value, for what argparse has no word for
    commands: tuple[str, ...] = ("launch",)  # the commands that ask for it


def option(default: Any, help: str, **wording: Any) -> Any:
    """A field that the command line may set."""
    return dataclasses.field(default=default, metadata={"option": Wording(help, **wording)})


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """What every marketplace is told."""

    study: Path
    database: str | None = None
    public_url: str | None = option(None, "https:// address of the page for workers", metavar="URL")
    live: bool = option(False, "real people and real money; without it a launch is a rehearsal")
    minutes: int = option(15, "minutes that one sitting takes (default: 15)", least=1, most=1440)
    pass_rate: Decimal | None = option(
        None,
        "share of raters whom the gate lets pass, for the price (default: measured, or .51)",
        metavar="P",
        read=share,
    )
    least_hourly: Decimal | None = option(
        None,
        "least pay an hour: of a live launch, a compensation or --top-up (default: the marketplace's)",
        metavar="AMOUNT",
        read=money,
        commands=("launch", "compensate", "pay"),
    )
    cap: Decimal | None = option(
        None,
        "what the whole study may cost, kept in the store: no command goes beyond it",
        metavar="AMOUNT",
        read=money,
        commands=("launch", "extend", "pay", "compensate"),
    )
    month_cap: Decimal | None = option(
        None,
        "what the study may cost in one calendar month (UTC), kept in the store like --cap",
        metavar="AMOUNT",
        read=money,
        commands=("launch", "extend", "pay", "compensate"),
    )
    budget: Decimal | None = option(
        None,
        "stop if this command may cost more",
        metavar="AMOUNT",
        read=money,
        commands=("launch", "extend", "pay", "compensate"),
    )


def wordings(kind: type[LaunchOptions]) -> Mapping[str, tuple[Any, Wording]]:
    """The fields that the command line may set: name -> default and wording."""
    fields = [(field, field.metadata.get("option")) for field in dataclasses.fields(kind)]
    return {field.name: (field.default, wording) for field, wording in fields if wording}
