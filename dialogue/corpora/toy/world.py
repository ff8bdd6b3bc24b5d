"""The invented town of the toy corpus and its databases: small, fixed, the same for every seed.

Names are pairs of everyday words, so that a small vocabulary names many places; every clock time is a quarter hour.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

DatabaseRow = dict[str, str]

TOWN = "larkford"
TOWNS = ("ashmere", "dunvale", "fernbury", "hollowick", "stonebay")
AREAS = ("centre", "north", "south", "east", "west")
PRICES = ("cheap", "moderate", "expensive")
CUISINES = ("italian", "indian", "chinese", "british", "french", "thai", "spanish", "greek", "mexican", "turkish")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SIGHTS = ("museum", "park", "theatre", "cinema", "gallery", "church", "pool", "garden")
DEPARTMENTS = ("cardiology", "paediatrics", "surgery", "dental", "emergency", "maternity", "radiology", "neurology")
CAR_COLOURS = ("black", "white", "red", "blue", "grey", "yellow")
CARS = ("saloon", "estate", "van", "coupe", "hatchback", "minibus")
STREETS = ("mill", "bridge", "station", "castle", "orchard", "market", "chapel", "meadow", "quarry", "lantern")
FIRST_WORDS = (
    "copper",
    "silver",
    "olive",
    "willow",
    "maple",
    "river",
    "harbour",
    "saffron",
    "ginger",
    "lemon",
    "cedar",
    "amber",
)
EATING = ("kettle", "spoon", "table", "kitchen", "plate", "oven")
SLEEPING = ("lodge", "inn", "court", "house")
HOSPITAL = {"address": "2 meadow street", "postcode": "lf3a"}
REFERENCES = tuple(f"{a}{b}{n}" for a, b, n in zip("bdfgjkmprtvz" * 4, "wxyq" * 12, range(21, 69), strict=True))


def _make_address(number: int) -> DatabaseRow:
    area = AREAS[number % 5]
    return {
        "address": f"{3 + number * 7 % 28} {STREETS[number * 3 % 10]} street",
        "area": area,
        "phone": f"0177{100 + number * 37 % 900}",
        "postcode": f"lf{1 + AREAS.index(area)}{'abc'[number % 3]}",
    }


def _make_restaurants() -> list[DatabaseRow]:
    return [
        {
            "name": f"{FIRST_WORDS[n % 12]} {EATING[(n + n // 12 * 2) % 6]}",
            "food": CUISINES[(n * 7 + n // 5) % 10],
            "pricerange": PRICES[(n + n // 5) % 3],
            **_make_address(n),
        }
        for n in range(36)
    ]


def _make_hotels() -> list[DatabaseRow]:
    return [
        {
            "name": f"{FIRST_WORDS[n % 12]} {SLEEPING[(n + n // 12) % 4]}",
            "type": "guesthouse" if n % 5 in (1, 3) else "hotel",
            "pricerange": PRICES[(n + n // 3) % 3],
            "stars": str(2 + (n * 5 + n // 4) % 4),
            "internet": "no" if n % 6 == 2 else "yes",
            "parking": "no" if n % 4 == 3 else "yes",
            **_make_address(n + 36 + n // 5),
        }
        for n in range(24)
    ]


def _make_attractions() -> list[DatabaseRow]:
    return [
        {
            "name": f"{FIRST_WORDS[(n * 5 + n // 8) % 12]} {SIGHTS[n % 8]}",
            "type": SIGHTS[n % 8],
            "entrance fee": ("free", "2 pounds", "4 pounds", "5 pounds")[n * 3 % 4],
            **_make_address(n + 66),
        }
        for n in range(32)
    ]


def time_of_day(quarters: int) -> str:
    """Quarter hours since midnight as the time of day.

    >>> time_of_day(37)
    '09:15'
    """
    return f"{quarters // 4:02d}:{quarters % 4 * 15:02d}"


def _make_journeys(kind: str, towns: Iterable[str], departures: int) -> list[DatabaseRow]:
    """Lines from the town and back, the same every day; a line's number tells route and time, not the day."""
    lines: list[DatabaseRow] = []
    for route, (destination, back) in enumerate((town, home) for town in towns for home in (False, True)):
        far = TOWNS.index(destination)
        for trip in range(departures):
            leave = 22 + route % 4 + trip * (68 // departures)
            lines.append(
                {
                    f"{kind}ID": f"{kind[:2]}{100 + route * 10 + trip}",
                    "departure": destination if back else TOWN,
                    "destination": TOWN if back else destination,
                    "leaveAt": time_of_day(leave),
                    "arriveBy": time_of_day(leave + 2 + far),
                    "duration": f"{30 + 15 * far} minutes",
                    "price": f"{4 + 3 * far} pounds",
                }
            )
    return [{**line, "day": day} for day in DAYS for line in lines]


@cache
def make_databases() -> Mapping[str, list[Any]]:
    """Domain -> rows, as the `*_db.json` files of MultiWOZ hold them."""
    return {
        "attraction": _make_attractions(),
        "bus": _make_journeys("bus", TOWNS[:3], 5),
        "hospital": [{"department": name, "phone": f"0178{210 + 31 * n}"} for n, name in enumerate(DEPARTMENTS)],
        "hotel": _make_hotels(),
        "restaurant": _make_restaurants(),
        "taxi": [{"taxi_colors": list(CAR_COLOURS), "taxi_types": list(CARS), "taxi_phone": ["^0179[0-9]{2}0$"]}],
        "train": _make_journeys("train", TOWNS, 6),
    }


def find_matches(domain: str, wanted: Mapping[str, str]) -> list[DatabaseRow]:
    """The rows that fit every wanted value; times bound the journey, "dontcare" fits all."""
    rows: list[DatabaseRow] = make_databases()[domain]
    for slot, value in wanted.items():
        if value == "dontcare":
            continue
        if slot == "leaveAt":
            rows = [row for row in rows if row[slot] >= value]
        elif slot == "arriveBy":
            rows = [row for row in rows if row[slot] <= value]
        else:
            rows = [row for row in rows if row[slot] == value]
    return rows
