"""Write the report of a study: a page (STUDY/report.html), Markdown, LaTeX tables, and its numbers as JSON.

The page is one self-contained file: it needs no script and no network, and it prints well. It shows what the study
holds and says what is missing; no rater appears in it. Two systems are called equivalent only within a margin that you
state (--margin): the smallest net preference that would matter, as in `preference`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from analysis.arguments import add_clusters_argument, check_margin
from dialogue.command_line import tell_next
from dialogue.errors import InputError

BESIDE = (".md", ".tex", ".json")  # the page under one of these names would overwrite its own tables or numbers


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, where the page goes, what was stated beforehand."""
    parser.add_argument("study", metavar="STUDY", type=Path, help="study folder, e.g. runs/demo")
    parser.add_argument(
        "--out", type=Path, help="the page (default STUDY/report.html); .md, .tex and .json go beside it"
    )
    parser.add_argument("--title", help="heading of the page (default: the question that the votes answer)")
    parser.add_argument(
        "--margin",
        type=float,
        metavar="M",
        help="net preference, 0 to 1, below which systems count as equivalent (e.g. 0.1 for 10 points)",
    )
    add_clusters_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read the study, write the files, print the findings."""
    from analysis.reading.study import read_study
    from analysis.report.assembly import as_latex, as_markdown, page, report
    from dialogue.files import atomic, write_json

    check_margin(args.margin)
    out = args.out or args.study / "report.html"
    if out.suffix in BESIDE:
        raise InputError(f"--out is {out}, which names a file that is written beside the page; name it report.html.")
    found = report(read_study(args.study), title=args.title, margin=args.margin, clusters=args.clusters)
    write_json(out.with_suffix(".json"), found.document)
    for suffix, written in ((".md", as_markdown(found)), (".tex", as_latex(found)), (out.suffix, page(found))):
        with atomic(out.with_suffix(suffix)) as handle:
            handle.write(written)
    for sentence in found.findings:
        print(f"- {sentence}")
    print(f"Written: {out}, and beside it .md, .tex and .json")
    tell_next("python -m webbrowser", out.resolve().as_uri())
