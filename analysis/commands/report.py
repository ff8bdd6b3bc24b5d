"""Write the report of a study: a page (STUDY/report.html), Markdown, LaTeX tables, and its facts as JSON.

The page is one self-contained file: it needs no script, no network, and prints well. It shows what the study holds and
says what is missing; no rater appears in it. --margin states the smallest net preference that would matter, and only
then may two systems be called alike.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, where the page goes, what was stated beforehand."""
    parser.add_argument("study", metavar="STUDY", type=Path, help="study folder, e.g. runs/demo")
    parser.add_argument(
        "--out", type=Path, help="the page (default STUDY/report.html); .md, .tex and .json go beside it"
    )
    parser.add_argument("--title", help="heading of the page (default: the question that the votes were asked)")
    parser.add_argument(
        "--margin", type=float, metavar="POINTS", help="margin of equivalence, in points of net preference"
    )


def run(args: argparse.Namespace) -> None:
    """Read the study, write the files, print what was found."""
    from analysis.arguments import check_ranges
    from analysis.reading.study import read_study
    from analysis.report.assembly import as_latex, as_markdown, page, report
    from dialogue.files import atomic, write_json

    check_ranges(vars(args), margin=(0.1, 100))
    margin = None if args.margin is None else args.margin / 100
    found = report(read_study(args.study), title=args.title, margin=margin)
    out = args.out or args.study / "report.html"
    write_json(out.with_suffix(".json"), found.document)
    for suffix, written in ((".md", as_markdown(found)), (".tex", as_latex(found)), (out.suffix, page(found))):
        with atomic(out.with_suffix(suffix)) as handle:
            handle.write(written)
    for sentence in found.findings:
        print(f"- {sentence}")
    print(f"Written: {out}, and beside it .md, .tex, .json")
