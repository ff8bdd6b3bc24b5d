"""Next-utterance choice: how often people and models picked what was really said, and how far they lie apart.

Reads questions.jsonl, people's answers (choices.jsonl, or any table) and models' scores (nuc.parquet, written by
`evaluators choose`). Shares have intervals for dialogues and raters, or for dialogues and training seeds; Wilson's
stands beside them, and --as-published prints the table as Lowe et al. (2016) do. People and models are compared on the
same questions.

Example: python -m analysis choose runs/demo --by knowledge
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.analysis.arguments import add_clusters_argument, add_json_argument, clusters_given, deliver
from seedvote.dialogue.command_line import next_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, its answers, and the form of the table."""
    add = parser.add_argument
    add("study", type=Path, metavar="STUDY", help="study folder with questions.jsonl")
    add("--choices", type=Path, metavar="FILE", help="people's answers (default: STUDY/choices.jsonl), or any table")
    add("--columns", default="", metavar="OURS=THEIRS,...", help="names of its columns, e.g. first=best,second=next")
    add("--count-from", type=int, choices=(0, 1), default=0, help="number of the first option there (default 0)")
    add("--by", default="", metavar="NAME", help="strata of people: what raters.jsonl says of them, e.g. knowledge; "
        "under 5 people are hidden")  # fmt: skip
    add("--raters", type=Path, metavar="TABLE", help="a table of people instead, whose column --by names")
    add("--uncounted", action="store_true", help="use late answers and those of blocked raters too")
    add("--as-published", action="store_true", help="half-widths and stars as Lowe et al. 2016 print them")
    add("--published", action="store_true", help="their own cells of people, with the answers that these imply")
    add("--participants", action="store_true", help="who took part; answers of under 5 people are hidden")
    add("--figure", metavar="STEM", help="draw R@1: STEM.png and STEM.pdf")
    add("--latex", type=Path, metavar="FILE", help="write the tables for a paper")
    add_clusters_argument(parser)
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compute, print."""
    from seedvote.analysis.questions.choice.asking import choice
    from seedvote.analysis.showing.tables import Table, latex
    from seedvote.dialogue.files import atomic
    from seedvote.dialogue.importing.naming import parse_names

    names = ("choices", "count_from", "by", "raters", "clusters", "uncounted", "as_published", "published",
             "participants")  # fmt: skip
    result = choice(
        args.study, columns=parse_names(args.columns, "--columns"), **{name: getattr(args, name) for name in names}
    )
    if args.latex:
        tables = [part for part in result.parts if isinstance(part, Table)]
        with atomic(args.latex) as handle:
            handle.write(latex(tables, recipe=str(result.parts[-1])))
    deliver(args, result, then=next_command("python -m analysis report", args.study, *clusters_given(args)))
