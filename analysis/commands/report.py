"""Write STUDY/report.html, one self-contained page, and STUDY/report.json, its facts for machines."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study and where the page goes."""
    parser.add_argument("study", metavar="STUDY", type=Path, help="study folder, e.g. runs/demo")
    parser.add_argument(
        "--out", type=Path, help="the page (default STUDY/report.html); its facts go beside it as .json"
    )
    parser.add_argument("--title", default="Do two seeds of one model differ?", help="heading of the page")


def run(args: argparse.Namespace) -> None:
    """Read the study, write the page, print what was found."""
    from analysis.report import render
    from analysis.study import read_study
    from dialogue.files import atomic, write_json

    page, facts = render(read_study(args.study), title=args.title)
    out = args.out or args.study / "report.html"
    write_json(out.with_suffix(".json"), facts)
    with atomic(out) as handle:
        handle.write(page)
    for sentence in facts["findings"]:
        print(f"- {sentence}")
    print(f"Written: {out}")
