"""Write the report of a study: a page (STUDY/report.html), Markdown, LaTeX tables and its numbers as JSON.

For votes there is a paper kit too (STUDY/paper/: methods paragraph, tables, figures, datasheet, BibTeX, data to
publish). Numbers lead to the pairs behind them, on the page that `browse` writes (STUDY/browse.html).

A table of votes alone, read as `preference` reads it, gets the same page and says what needs pairs or scores. So does,
without the paper kit, a table of ratings on a scale, and a study of response sets that were rated or ranked. The page
is one self-contained file: it needs no script and no network, and it prints well. No rater appears in it. Two systems
are called equivalent only within a margin that you state (--margin): the smallest net preference that would matter, as
in `preference`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.analysis.arguments import (
    CLUSTERS,
    READING,
    STATED,
    STATED_OF_STUDY,
    add_options,
    check_margin,
    reading,
    split_names,
    study_beside,
)
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import repeat_options, tell_next

if TYPE_CHECKING:
    from seedvote.analysis.votes.study import Study

BESIDE = (".md", ".tex", ".json")  # the page under one of these names would overwrite its own tables or numbers


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, where the page goes, what was stated beforehand."""
    parser.add_argument("study", metavar="STUDY|FILE", type=Path, help="study folder, e.g. runs/demo, or any table")
    parser.add_argument(
        "--out",
        type=Path,
        help="the page (default report.html in STUDY or beside FILE, report-NAME.html with --question); .md, .tex and "
        ".json go beside",
    )
    parser.add_argument("--title", help="heading of the page (default: the question that the votes answer)")
    parser.add_argument(
        "--margin",
        type=float,
        metavar="M",
        help="net preference, 0 to 1, below which systems count as equivalent (e.g. 0.1 for 10 points)",
    )
    parser.add_argument("--systems", default="", metavar="S1,S2,...", help="ratings, one column a system: their names")
    add_options(parser, CLUSTERS, *READING)


def run(args: argparse.Namespace) -> None:
    """Read the study, write the files, print the findings."""
    from random import SystemRandom

    from seedvote.analysis.questions.browse.answer import answer
    from seedvote.analysis.questions.browse.page import PAGE, browse_page, read_talks
    from seedvote.analysis.report.assembly import as_latex, as_markdown, build_report, render_page
    from seedvote.analysis.report.paper.kit import kit_folder, write_kit
    from seedvote.analysis.votes.cautions import told_of_reading
    from seedvote.dialogue.files import atomic, write_json
    from seedvote.dialogue.shell.progress import step

    check_margin(args.margin)
    study = _open_study(args)
    if args.margin is not None and study.ratings is not None:
        raise InputError("--margin is a net preference of votes, and this table holds ratings or ranks; leave it out.")
    name = f"report-{args.question}.html" if study.asked else "report.html"
    folder = args.study if args.study.is_dir() else args.study.parent
    out = args.out or folder / name
    if out.suffix in BESIDE or out.name == PAGE:
        raise InputError(f"--out is {out}, which names a file that is written beside the page; name it report.html.")
    options = {"title": args.title, "margin": args.margin, "clusters": args.clusters}
    every_pair = (
        out.with_name(f"browse-{args.question}.html" if study.asked else PAGE)
        if study.votes is not None and study.pairs
        else None
    )
    page_report = build_report(
        study, **options, paper=kit_folder(out).name, browse=every_pair.name if every_pair else ""
    )
    step("writing")
    write_json(out.with_suffix(".json"), page_report.document)
    for suffix, written in (
        (".md", as_markdown(page_report)),
        (".tex", as_latex(page_report)),
        (out.suffix, render_page(page_report)),
    ):
        with atomic(out.with_suffix(suffix)) as handle:
            handle.write(written)
    if study.votes is not None and every_pair is not None:
        talks = read_talks(folder)
        browsable = answer(study.votes, study.pairs, study.controls, clusters=args.clusters, talks=talks)
        with atomic(every_pair) as handle:
            handle.write(browse_page(browsable, page_report.title))
    edited = write_kit(page_report.material, kit_folder(out), rng=SystemRandom()) if study.votes is not None else []
    reading_lines = [] if study.votes is None else told_of_reading(study.votes, alone=True)
    for sentence in reading_lines if study.ratings is None else study.ratings.told:
        print(sentence)
    for sentence in page_report.findings:
        print(f"- {sentence}")
    print(f"Written: {out}, and beside it .md, .tex and .json")
    if every_pair is not None:
        print(f"Every pair behind the numbers: {every_pair}")
    if page_report.study.votes is not None:
        print(f"For your paper: {kit_folder(out)}/")
    for name in edited:
        print(f"You have edited {name}, so it stays as it is; the new one is {name}.new.")
    tell_next("python -m webbrowser", out.resolve().as_uri())


def _open_study(args: argparse.Namespace) -> Study:
    """The study folder; or a table of votes from anywhere, read as every other command reads it."""
    from seedvote.analysis.votes.inputs import study_of_table
    from seedvote.analysis.votes.study import read_study

    stated = {"with_judges": args.with_judges, "unverified": args.unverified or "", "question": args.question or ""}
    if not args.study.is_file():
        return read_study(args.study, **stated, ratings_too=True)
    plainly = not repeat_options(args, "systems", *(name for name in STATED if name not in STATED_OF_STUDY))
    if plainly and (folder := study_beside(args.study)):
        return read_study(folder, **stated)
    if plainly and args.study.name == "ratings.jsonl" and (args.study.parent / "hit.toml").exists():
        return read_study(args.study.parent, **stated, ratings_too=True)
    return study_of_table(args.study, systems=split_names(args.systems), **reading(args))
