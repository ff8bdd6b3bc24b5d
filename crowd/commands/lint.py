"""Look for what raters should not see: responses that name the model that wrote them, and the marks of Markdown.

Prints each name with its pair, and asks how Markdown is to be shown where hit.toml does not say. Images, recordings and
videos are read: one that is missing is refused with its line. Leaves with code 1 if there is anything to look at.
`serve` warns too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, or the pairs."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="pairs to look at (default: STUDY/pairs.jsonl)")


def run(args: argparse.Namespace) -> int:
    """Print them."""
    from seedvote.crowd.forms.known import FORMS
    from seedvote.crowd.rating.batches import check_systems, read_judge
    from seedvote.crowd.rating.leaks import find_file_leaks, find_leaks, markup_warning
    from seedvote.crowd.rating.study_tally import compare_systems
    from seedvote.crowd.study_folder import hit_of, pairs_file, says_rendering
    from seedvote.crowd.watching.progress import describe_assignment
    from seedvote.dialogue.media import media_of
    from seedvote.dialogue.records import Pair

    hit = hit_of(args.study, None)
    form = hit.form
    path = pairs_file(args.study, args.pairs, form)
    records = [FORMS[form].record_of(row.body) for row in FORMS[form].read_rows(path)]
    pairs = [record for record in records if isinstance(record, Pair)]
    markup = "" if says_rendering(args.study) else markup_warning(records).removeprefix("warning: ")
    if markup:
        print(markup)
    leaks_found = list(find_leaks(pairs))
    files_found = list(find_file_leaks(pairs, path.parent))
    for leak in files_found:
        print(f"{leak.pair}: a file names its model {leak.model}: {leak.excerpt}. Write it again without its notes.")
    if files := {media for record in records for media in media_of(record)}:
        print(f"{len(files):,} images, recordings and videos are there, and are what they are said to be.")
    for leak in leaks_found:
        print(f"{leak.pair}: a response names its model {leak.model}: {leak.excerpt}")
    if pairs:
        print(f"{len(leaks_found)} of the {2 * len(pairs)} responses in {path} name the model that wrote them.")
    if hit.adaptive is not None:
        check_systems(hit.adaptive, compared := compare_systems(pairs))
        if hit.adaptive.judge:
            read_judge(args.study / hit.adaptive.judge, compared)
        print(f"How pairs are chosen: {describe_assignment(hit)}.")
    tell_next("python -m crowd serve", args.study, *repeat_options(args, "pairs"))
    return 1 if leaks_found or files_found or markup else 0
