"""What people hand in (DataFrames, mappings, records, files, study folders) as what the analysis computes on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seedvote.analysis.votes.columns import read_elsewhere
from seedvote.analysis.votes.keeping import VERIFIED
from seedvote.analysis.votes.votes import Votes, read_votes, votes_from_columns
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest
from seedvote.dialogue.importing.reading import Names, Reading, Stated, meanings
from seedvote.dialogue.records import Pair
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import RawTable, table_in_memory

if TYPE_CHECKING:
    from seedvote.analysis.votes.long_tables import LongTable
    from seedvote.analysis.votes.ratings import RatingsTable
    from seedvote.analysis.votes.study import Study
    from seedvote.analysis.votes.systems import Matches
    from seedvote.dialogue.importing.votes import Judgements

RATED_BY = ("columns", "values", "wide", "question")  # what may be stated of ratings
JUDGED = ("real", "control")  # the kinds of pairs that `preference` reads: controls anchor its tie index


def votes_of(data: Any, *, columns: Names = (), values: Names = (), uncounted: bool = False, **options: Any) -> Votes:
    """Votes from a study folder, file, DataFrame, mapping of columns or records; `options` as in `read_votes`."""
    options |= {
        "columns": meanings(columns, "--columns"),
        "values": meanings(values, "--values", theirs_first=True),
        "uncounted": uncounted,
    }
    if isinstance(data, str | Path):
        path = Path(data)
        return read_votes(path / "votes.jsonl" if path.is_dir() and not options.get("tool") else path, **options)
    return votes_from_columns(as_columns(data), **options)


def judgements_of(path: Path, *, columns: Names = (), values: Names = (), **options: Any) -> Judgements:
    """The votes of a file as the import stage reads them, with the account of it."""
    from seedvote.dialogue.importing.exports import read_folder
    from seedvote.dialogue.importing.votes import read_judgements

    columns_named = meanings(columns, "--columns")
    typed = {name: options[name] for name in ("tool", "question", "explode") if options.get(name)}
    if wide := options.get("wide"):
        typed["wide"] = Path(wide)
    stated = Stated(columns_named, meanings(values, "--values", theirs_first=True), **typed)
    file = path / "votes.jsonl" if path.is_dir() and not options.get("tool") else path
    return read_judgements(read_folder(file, columns_named) if file.is_dir() else read_table(file), stated)


def as_columns(data: Any) -> Any:
    """A DataFrame or mapping as it is, but with what stands in a named index; records turned into columns."""
    for of_others in ("to_pydict", "to_dicts"):  # pyarrow, polars
        data = getattr(data, of_others)() if hasattr(data, of_others) else data
    if hasattr(data, "iterrows"):
        names = [name for name in data.index.names if name is not None and name not in data.columns]
        return data.reset_index(names) if names else data
    if isinstance(data, Mapping):
        return data
    rows = [asdict(row) if is_dataclass(row) and not isinstance(row, type) else row for row in _iterate(data)]
    if not all(isinstance(row, Mapping) for row in rows):
        raise _unknown_form(data)
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}


def _iterate(data: Any) -> Iterable[Any]:
    try:
        return list(data)
    except TypeError:
        raise _unknown_form(data) from None


def _unknown_form(data: Any) -> InputError:
    return InputError(
        f"{type(data).__name__} is no table. A DataFrame, a mapping of names to columns, a list of dicts or "
        "of records, a file or a study folder is expected."
    )


def matches_of(votes: Any, pairs: Any, *, kinds: tuple[str, ...] = ("real",), **reading: Any) -> tuple[Matches, bool]:
    """The votes with the systems behind them, and whether these are known.

    They are looked up among the pairs given, or in a pairs.jsonl beside the votes that holds any of their pairs; else a
    and b are taken to be two fixed systems.
    """
    from seedvote.analysis.votes.systems import fixed_sides, match, named_sides

    path, known = pairs_known(votes, pairs)
    if isinstance(pairs, str | Path):
        reading |= {"beside": [path]}
    if known:
        pool = votes_of(votes, kinds=kinds, **reading)
        if pairs is not None or any(name in known for name in pool.pairs):
            return match(pool, path, known), True
    pool = votes_of(votes, **reading)
    return (fixed_sides(pool), False) if pool.system_a is None else (named_sides(pool), True)


def unverified_apart(votes: Any, pairs: Any, matches: Matches, **reading: Any) -> Matches | None:
    """The votes of visits that no marketplace has confirmed, by themselves; None where there are none beside others."""
    if reading.get("unverified") == "only" or not any(
        warning.startswith(VERIFIED) for warning in matches.votes.warnings
    ):
        return None
    try:
        return matches_of(votes, pairs, kinds=JUDGED, **{**reading, "unverified": "only"})[0]
    except InputError:  # none of them compares two systems
        return None


def pairs_known(votes: Any, pairs: Any) -> tuple[Path, Mapping[str, Pair]]:
    """The pairs given (a file or records), or those that lie beside the votes; with the name of where they stand."""
    from seedvote.analysis.votes.systems import pairs_of

    if isinstance(pairs, str | Path):
        return Path(pairs), pairs_of(Path(pairs))
    if pairs is not None:
        return Path("pairs"), {pair.pair: pair for pair in pairs}
    folder = Path(votes) if isinstance(votes, str | Path) else Path()
    path = (folder if folder.is_dir() else folder.parent) / "pairs.jsonl"
    return path, pairs_of(path) if isinstance(votes, str | Path) and path.exists() else {}


def with_items(votes: Votes, wanted: str, data: Any) -> Votes:
    """The votes with the items of the pairs.jsonl beside them, where `wanted` asks for items that only it names."""
    from seedvote.analysis.votes.systems import placed

    if "item" not in wanted.split("+") or votes.item is not None:
        return votes
    _, known = pairs_known(data, None)
    return placed(votes, known) if known else votes


def sources_of(scores: Any) -> list[Any]:
    """Files as they are, one or several; anything else as one table of columns."""
    if isinstance(scores, str | Path):
        return [scores]
    several = isinstance(scores, list) and bool(scores) and isinstance(scores[0], str | Path)
    return list(scores) if several else [as_columns(scores)]


def study_from(study: Any, votes: Any, pairs: Any, **how: Any) -> Study:
    """A study folder read, or scores, votes and pairs put together; any may be None. `how` as in `read_study`."""
    from seedvote.analysis.votes.study import read_study, study_of

    if votes is None and isinstance(study, str | Path) and not Path(study).is_file():
        return read_study(Path(study), **how)
    scores = [] if study is None else sources_of(study)
    if votes is None:
        return study_of(scores, None, [])
    files = [Path(source) for source in (pairs, study) if isinstance(source, str | Path)]
    pool = votes_of(votes, beside=files, **how)
    return study_of(scores, pool, [*pairs_known(votes, pairs)[1].values()])


def study_of_table(path: Path, *, systems: Sequence[str] = (), **reading: Any) -> Study:
    """A table of votes or ratings as the study that it is: no pairs, scores or training, no recipe but how it was read.

    It holds ratings where their columns are named (`systems`, score, system), where the key of a wide table has items
    and no pairs, or where a table without votes has a column of scores and one of systems.
    """
    from seedvote.analysis.votes.study import NOWHERE, Study
    from seedvote.dialogue.importing.tools import OnScale

    rating_columns = {"score", "system"} & {*meanings(reading.get("columns", ()), "--columns")}
    if systems or rating_columns or _asks_items(reading) or _is_ours(path):
        return _study_of_ratings(path, systems, reading)
    try:
        votes = votes_of(path, **reading)
    except OnScale:
        return _study_of_ratings(path, systems, reading)
    recipe = _make_recipe(path, votes.ledger)
    return Study(NOWHERE, votes, None, (), (), (), None, None, {path.name: recipe}, table=path, reading=reading)


def _study_of_ratings(path: Path, systems: Sequence[str], reading: Mapping[str, Any]) -> Study:
    from seedvote.analysis.votes.study import NOWHERE, Study

    typed = {name: reading[name] for name in RATED_BY if reading.get(name)}
    table = ratings_of(path, systems, **typed, ranks_too=True)
    recipe = {path.name: _make_recipe(path, table.ledger)}
    return Study(NOWHERE, None, None, (), (), (), None, None, recipe, table=path, reading=reading, ratings=table)


def ratings_of(
    data: Any,
    systems: Sequence[str] = (),
    *,
    columns: Names = (),
    values: Names = (),
    wide: Any = None,
    question: str = "",
    ranks_too: bool = False,
) -> RatingsTable:
    """Ratings of a study folder, file, DataFrame, mapping of columns or records; the options are those of the command.

    `ranks_too`: or ranks, if that is what it holds.
    """
    from seedvote.analysis.votes.ratings import read_asked, read_ratings

    names, words = meanings(columns, "--columns"), meanings(values, "--values", theirs_first=True)
    reader = read_asked if ranks_too else read_ratings
    return reader(_rated_in(data), Stated(names, words, "", Path(wide) if wide else None, question), systems)


def ranks_of(data: Any, systems: Sequence[str] = (), *, columns: Names = (), question: str = "") -> RatingsTable:
    """Ranks of the same: a rank stands where a score does."""
    from seedvote.analysis.votes.ratings import read_ratings

    stated = Stated(meanings(columns, "--columns"), question=question)
    return read_ratings(_rated_in(data), stated, systems, ranks=True)


def _rated_in(data: Any) -> Path | RawTable:
    """Of a study, the ratings of its sets, else its votes on a scale."""
    if not isinstance(data, str | Path):
        return table_in_memory("ratings", as_columns(data))
    path = Path(data)
    if not (ours := ratings_file(path)) and (instead := read_elsewhere(path)):
        raise InputError(instead)
    return ours or (path / "votes.jsonl" if path.is_dir() else path)


def ratings_file(path: Any) -> Path | None:
    """The ratings.jsonl of a study of response sets, if this is that study or that file."""
    if not isinstance(path, str | Path):
        return None
    file = Path(path) / "ratings.jsonl" if Path(path).is_dir() else Path(path)
    return file if _is_ours(file) else None


def _is_ours(path: Path) -> bool:
    """Whether this is the ratings.jsonl of a study of response sets."""
    if not path.is_file():
        return False
    with path.open("rb") as handle:
        return b'"format": "ratings"' in handle.readline(200)


def _asks_items(reading: Mapping[str, Any]) -> bool:
    """Whether the key of a wide table says item and system of each column, as that of ratings does."""
    if not (key := reading.get("wide")):
        return False
    names = read_table(Path(key)).names
    return {"item", "system"} <= {*names} and "pair" not in names


def _make_recipe(path: Path, ledger: Reading | None) -> str:
    """How the file was read, and its fingerprint."""
    lines = () if ledger is None else (ledger.line,)
    return " ".join([*lines, f"SHA-256 {digest(path)[:16]}"]) if path.is_file() else ""


def long_tables(source: Any, score: str, factors: Sequence[str], pairs: Any, **reading: Any) -> list[LongTable]:
    """Scores, or votes as `tie` or `net`, one table a scale."""
    from seedvote.analysis.votes.long_tables import long_from_columns, long_from_ratings, long_from_votes, read_long

    if score == "score" and (ratings := ratings_file(source)):
        return long_from_ratings(ratings, factors=factors, question=reading.get("question") or "")
    if score in ("tie", "net"):
        matches, has_names = matches_of(source, pairs, **reading)
        return [long_from_votes(matches, score, named=has_names, factors=factors)]
    if isinstance(source, str | Path):
        return read_long(Path(source), score=score, factors=factors)
    return long_from_columns(as_columns(source), score=score, factors=factors)
