"""Files that nobody has seen: right at the first try, or asked about until they are; never the loser, never misled.

At every refusal one of the commands that it prints leads to the truth, or none of them gives a number at all.
"""

from __future__ import annotations

from collections import Counter

import pytest

from dialogue.errors import InputError
from dialogue.importing.naming import meanings, parse_names
from dialogue.importing.reading import Stated
from dialogue.importing.votes import read_judgements
from dialogue.tables.table import table_in_memory
from tests.dialogue.importing.foreign_files import foreign_file

TRUE = {"alpha": 80, "beta": 20}
MOST_TRIES = 5


def wins(table, options):
    """How often each system won; where none are named, alpha is response a, as the user knows."""
    columns = meanings(parse_names(options.get("--columns", ""), "--columns"), "--columns")
    values = meanings(parse_names(options.get("--values", ""), "--values"), "--values", theirs_first=True)
    judgements = read_judgements(table, Stated(columns=columns, values=values, tool=options.get("--from", "")))
    won = Counter()
    for row, choice in enumerate(judgements.choice):
        systems = {"a": judgements.a[row], "b": judgements.b[row]} if judgements.a else {}
        system = systems.get(choice, choice)
        won[{"a": "alpha", "b": "beta"}.get(system, system.casefold())] += 1
    return dict(won)


def added(options, way):
    """The options with those of a way that a refusal prints."""
    return {name: ",".join(filter(None, [options.get(name), way.get(name)])) for name in {*options, *way}}


def outcomes(table, options=None, tries=1):
    """Every end that a user who follows the printed commands can reach: a number of tries, `misled` or `refused`."""
    options = options or {}
    try:
        return [tries if wins(table, options) == TRUE else "misled"]
    except InputError as refusal:
        ways = getattr(refusal, "ways", ()) if tries < MOST_TRIES else ()
    ends = [end for way in ways for end in outcomes(table, added(options, way), tries + 1)]
    return ends or ["refused"]


def tried(numbers):
    """How files end, counted: right at which try, refused, wrong, or misled (numbers, and no command is right)."""
    ends, wrong = Counter(), []
    for number in numbers:
        file = foreign_file(number)
        names = dict.fromkeys(name for row in file.rows for name in row)
        reached = outcomes(table_in_memory("votes", {name: [row.get(name) for row in file.rows] for name in names}))
        right = [end for end in reached if isinstance(end, int)]
        end = min(right) if right else "misled" if "misled" in reached else "refused"
        end = "wrong" if reached == ["misled"] else end
        ends[end] += 1
        wrong += [file.name] if end in ("misled", "wrong") else []
    return ends, wrong


def test_foreign_files_are_right_or_asked_about():
    ends, wrong = tried(range(150))
    assert not wrong, wrong[:5]
    assert ends[1] + ends[2] > 100 and ends["refused"] < 8


@pytest.mark.slow
def test_two_thousand_foreign_files_are_right_or_asked_about():
    ends, wrong = tried(range(1000, 3000))
    assert not wrong, wrong[:5]
    assert ends["refused"] < 100
