"""Put a table of people (Prolific's demographic export, say) into the names that the votes of a study have.

Only the columns that you name are kept, and only coarsely: an age becomes a band, what somebody withheld is not given.
People's ids become the hashes that stand beside the votes, by the study's own key, so that the file can lie beside
them; the export itself stays where it is. Analyse by `--raters STUDY/demographics.csv --by COLUMN`.

  python -m crowd demographics runs/mine prolific_export.csv --columns age=Age,sex=Sex
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, the table, its columns."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study, or of imported votes")
    parser.add_argument("table", type=Path, metavar="FILE", help="the people: CSV, Excel, ...")
    parser.add_argument(
        "--columns", required=True, metavar="NAME=COLUMN,...", help="what to keep, and under which name"
    )
    parser.add_argument("--database", metavar="URL", help="PostgreSQL, if the study is there")
    parser.add_argument("--out", type=Path, metavar="CSV", help="where to write (default STUDY/demographics.csv)")


def run(args: argparse.Namespace) -> None:
    """Read, make coarse, hash, write."""
    import csv

    from seedvote.crowd.store.identity import rater_hash
    from seedvote.dialogue.errors import InputError
    from seedvote.dialogue.files import atomic
    from seedvote.dialogue.importing.people import coarsen_columns
    from seedvote.dialogue.importing.reading import meanings, parse_names

    wanted = meanings(parse_names(args.columns, "--columns"), "--columns")
    if not wanted:
        raise InputError("--columns is empty; name what to keep, e.g. age=Age,sex=Sex.")
    people, notes = coarsen_columns(args.table, wanted)
    key = _find_key(args)
    out = args.out or args.study / "demographics.csv"
    rows = sorted([rater_hash(key, person), *(notes[name][person] for name in wanted)] for person in people)
    with atomic(out) as handle:
        table = csv.writer(handle, lineterminator="\n")
        table.writerow(["rater", *wanted])
        table.writerows(rows)  # by hash: the order of the export would lead back to people
    print(f"{out}: {len(rows)} people, with {', '.join(wanted)}; no id and no exact age is in it.")
    tell_next("python -m analysis preference", args.study, "--raters", out, "--by", next(iter(wanted)))


def _find_key(args: argparse.Namespace) -> str:
    """The key that made the votes' names: beside imported votes, or in the study's store."""
    from seedvote.crowd.store.store import settings
    from seedvote.crowd.study_folder import opened

    key_file = args.study / "rater.key"
    if key_file.exists():
        return str(key_file.read_text(encoding="ascii").strip())
    with opened(args.study, args.database) as store, store.read() as connection:
        return settings(connection)["rater_key"]
