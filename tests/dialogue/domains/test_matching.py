"""Names that are alike, spellings, databases: each against a slow twin of the published rule."""

import difflib
import functools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedvote.dialogue.domains.database import ALIKE, DomainTable, match_names, partial_ratio
from seedvote.dialogue.domains.spelling import (
    NO_MATTER,
    count_minutes,
    placeholder_domain,
    placeholder_kind,
    spell_time,
    spell_value,
)

NAMES = st.text("abc de", max_size=12)


@functools.cache
def windows(first, second):
    """The rule in the plainest words: every window at a matching block, nothing pruned, nothing ended early."""
    if not first or not second:
        return 0
    short, long = sorted((first, second), key=len) if len(first) != len(second) else (first, second)
    blocks = difflib.SequenceMatcher(None, short, long).get_matching_blocks()
    starts = [max(block.b - block.a, 0) for block in blocks]
    return max(round(100 * difflib.SequenceMatcher(None, short, long[s : s + len(short)]).ratio()) for s in starts)


@given(NAMES, NAMES)
def test_pruning_loses_no_name(first, second):
    assert partial_ratio(first, second) == windows(first, second)
    assert match_names(first, second) == (windows(first, second) >= ALIKE)


def test_a_window_that_the_blocks_do_not_show_does_not_count():
    """The matcher is part of the rule: a search over all windows would find 100 here."""
    short, long = "ab", "a ab"
    assert partial_ratio(short, long) == windows(short, long)


@pytest.mark.parametrize(
    ("name", "kind", "domain"),
    [
        ("restaurant_phone", "PHONE", "restaurant"),
        ("value_phone", "PHONE", ""),
        ("phone", "PHONE", ""),
        ("Hotel_Name", "NAME", "hotel"),
        ("train_id", "TRAINID", "train"),
        ("value_id", "TRAINID", ""),
        ("hotel_id", "ID", "hotel"),
        ("attraction_entrance fee", "PRICE", "attraction"),
        ("leave at", "TIME", ""),
        ("hotel_smell", "", "hotel"),
    ],
)
def test_placeholders_of_every_convention_are_one(name, kind, domain):
    assert (placeholder_kind(name), placeholder_domain(name)) == (kind, domain)


def test_times_and_values_are_spelt_as_the_database_spells():
    texts = ("after 5 pm", "5:30 pm", "9:15", "1745", "noon", "7:30am", "by 08:00", "soon", "", "10:00.")
    assert [spell_time(text) for text in texts] == [
        "17:00", "17:30", "09:15", "17:45", "12:00", "07:30", "08:00", "soon", "00:00", "10:00",
    ]  # fmt: skip
    assert spell_value("food", "Portugese ") == "portuguese"
    assert spell_value("internet", "free") == "yes" and spell_value("area", "Free") == "free"
    assert spell_value("name", "Fitzbillies & Co") == "fitzbillies and co"
    assert [count_minutes(text) for text in ("17:05", "soon", "5:05")] == [1025, 0, 0]


ROWS = [
    {
        "name": name,
        "area": area,
        "leaveAt": leave,
        "arriveBy": f"{(n * 3) % 24:02}:30",
        "food": food,
        "id": str(n),
        "location": [1.0, 2.0],
    }
    for n, (name, area, leave, food) in enumerate(
        (name, area, f"{hour:02}:15", food)
        for name in ("acorn guest house", "the acorn", "king's arms", "?")
        for area in ("north", "south", "?")
        for hour, food in ((5, "indian"), (12, "mutliple sports"), (20, "chinese"))
    )
]
VALUES = {
    "name": ("acorn", "acorn guest house", "kings arms", "dontcare", "bridge"),
    "area": ("north", "south", "centre", "not mentioned"),
    "leave": ("05:15", "12:00", "whenever", "dontcare"),
    "arrive": ("20:00", "03:30", "soon"),
    "food": ("indian", "chines", "thai"),
    "smell": ("roses",),
    "location": ("here",),
}


def brute(state):
    """Row by row, slot by slot."""
    found = set()
    for n, row in enumerate(ROWS):
        spelt = {"name": row["name"], "area": row["area"], "leave": row["leaveAt"], "arrive": row["arriveBy"]}
        spelt["food"] = row["food"]
        for name, wanted in state.items():
            if name not in spelt or wanted in NO_MATTER or spelt[name] == "?":
                continue
            if name == "leave":
                fits = count_minutes(spelt[name]) >= count_minutes(wanted)
            elif name == "arrive":
                fits = count_minutes(spelt[name]) <= count_minutes(wanted)
            elif name == "area":
                fits = spelt[name] == wanted
            else:
                fits = windows(spelt[name], wanted) >= ALIKE
            if not fits:
                break
        else:
            found.add(n)
    return found


def test_queries_equal_a_search_row_by_row():
    table, draw = DomainTable(ROWS), random.Random(0)
    assert table.offers == "NAME" and "location" not in table.columns
    for _ in range(2_000):
        names = draw.sample(sorted(VALUES), draw.randint(0, 4))
        state = {name: draw.choice(VALUES[name]) for name in names}
        bits = table.matching(state)
        assert {n for n in range(len(ROWS)) if bits >> n & 1} == brute(state), state


def test_matching_keeps_database_names_as_written():
    """The published rule: a state that says "parkside pools" means another spelling than the row, and finds none."""
    table = DomainTable([{"name": "Parkside Pools", "food": "Thai and Chinese", "type": "pool", "leaveAt": "9:15"}])
    assert table.rows == [{"name": "parkside pools", "food": "thai and chinese",
                           "type": spell_value("type", "pool"), "leave": "09:15"}]  # fmt: skip
    assert spell_value("name", "parkside pools") == "parkside swimming pool"
    assert table.matching({"name": spell_value("name", "parkside pools")}) == 0
    assert table.matching({"name": "parkside pools"}) == 1
