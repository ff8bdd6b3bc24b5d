"""Who the raters are, from any table of people: joined by id, and coarse enough that nobody can be picked out.

Of a table one column is taken at a time. Ages become bands, what somebody did not give is `not given`, and a column
with more answers than groups of people can have is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.columns import plain_name
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import RawTable, cell_text

IDS = (
    *("rater", "participant_id", "prolific_pid", "prolific_id", "worker_id", "workerid", "rater_id", "user_id"),
    *("annotator", "annotator_id", "response_id", "responseid", "id"),
)
NOT_GIVEN = "not given"
WITHHELD = {
    *("", "nan", "data_expired", "consent_revoked", "prefer not to say", "rather not say", "n/a", "not applicable")
}
BANDS = ((18, "under 18"), (25, "18 to 24"), (35, "25 to 34"), (45, "35 to 44"), (55, "45 to 54"), (65, "55 to 64"))
YOUNGEST, OLDEST = 5, 120  # beyond them stands a slip, or a year of birth
MOST_GROUPS = 20


def group_people(path: Path, by: str, id_column: str = "") -> dict[str, str]:
    """Id of each person -> the group that column `by` puts them in; the first name of a column fits in any spelling."""
    table = read_table(path)
    column, who = _find_column(table, by), id_column or _find_id_column(table)
    table.check_columns([who])
    groups_of: dict[str, str] = {}
    for where, row in table.rows():
        person, group = cell_text(row[who]).strip(), coarsen_answer(column, cell_text(row[column]))
        if not person:
            raise InputError(f"{where}: {who} is empty; every person needs an id.")
        if groups_of.setdefault(person, group) != group:
            raise InputError(f"{where}: {column} is {group!r}, and this person's was {groups_of[person]!r} before.")
    if len(groups := sorted(set(groups_of.values()))) > MOST_GROUPS:
        raise InputError(
            f"{path}: {column} has {len(groups)} different answers ({', '.join(groups[:4])}, ...), so its groups would "
            "be single people. Put them into groups of your own in a further column, and name that."
        )
    return groups_of


def coarsen_answer(column: str, answer: str) -> str:
    """An answer as a group: an age as its band, what was withheld as not given.

    >>> coarsen_answer("Age", "31"), coarsen_answer("Sex", "CONSENT_REVOKED")
    ('25 to 34', 'not given')
    """
    answer = answer.strip()
    if answer.lower() in WITHHELD:
        return NOT_GIVEN
    if plain_name(column) in ("age", "age_years", "age_in_years"):
        try:
            age = float(answer)
        except ValueError:
            return answer  # bands already
        if not YOUNGEST <= age <= OLDEST:
            raise InputError(f"{column} is {answer!r}, which is no age in years. Correct it, or clear the cell.")
        return next((name for bound, name in BANDS if age < bound), "65 and over")
    return answer


def _find_column(table: RawTable, name: str) -> str:
    fits = [column for column in table.names if column == name] or [
        column for column in table.names if plain_name(column) == plain_name(name)
    ]
    if len(fits) != 1:
        raise InputError(f"{table.path} has {len(fits)} columns called {name!r} (found: {', '.join(table.names)}).")
    return fits[0]


def _find_id_column(table: RawTable) -> str:
    plain = {plain_name(name): name for name in table.names}
    column = next((plain[name] for name in IDS if name in plain), "")
    if not column:
        raise InputError(f"{table.path} has no column with people's ids (found: {', '.join(table.names)}).")
    return column


def coarsen_columns(path: Path, wanted: Mapping[str, str]) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Several columns at once: the people, and for each of our names their groups."""
    groups = {ours: group_people(path, theirs) for ours, theirs in wanted.items()}
    return list(next(iter(groups.values()))), groups
