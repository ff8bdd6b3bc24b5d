"""Restore the votes of a study from Mephisto's own data store, as a votes file.

Mephisto keeps every finished sitting in full, so a lost crowd.sqlite does not mean lost votes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study and the file."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study, with its mephisto folder")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where to write them (default: STUDY/mephisto-votes.jsonl or mephisto-choices.jsonl)",
    )


def run(args: argparse.Namespace) -> None:
    """Read, restore, write."""
    from seedvote.crowd.exchange.exporting import analysis_of
    from seedvote.crowd.forms.known import FORMS
    from seedvote.crowd.marketplaces.mephisto.copies import restored
    from seedvote.crowd.marketplaces.mephisto.market import task_module, task_name
    from seedvote.crowd.study_folder import hit_of, pairs_file
    from seedvote.dialogue.errors import InputError
    from seedvote.dialogue.files import write_records
    from seedvote.dialogue.signature import signature

    if not (args.study / "mephisto" / "data").is_dir():
        raise InputError(f"{args.study} has no mephisto folder: it was not launched through Mephisto.")
    module = task_module(args.study)
    hit = hit_of(args.study, None)
    form = FORMS[hit.form]
    if form.is_set:
        raise InputError("Mephisto's copies hold votes and choices, not ratings of sets. Use crowd export instead.")
    votes = restored(module.handed_in(task_name(args.study)), hit.votes_per_pair, hit.first_checks, hit.form)
    path = args.out or args.study / f"mephisto-{form.answers}.jsonl"
    counts = {form.answers: len(votes), "counted": sum(vote.counted for vote in votes)}
    texts = form.make_fingerprint(form.read_rows(pairs_file(args.study, None, hit.form))) or None
    recipe = signature(**counts, source="mephisto", texts=texts)
    write_records(path, votes, signature=recipe, kind=form.answer_record)
    print(f"{path}: {len(votes)} {form.answers}\n{recipe}")
    tell_next(*analysis_of(path, votes))
