"""Writes the folder for the paper, beside the page: what to paste, to draw, to cite, to fill in and to publish.

A file that the author has edited is never overwritten: the new one stands beside it as NAME.new. Tables in LaTeX are
for a page of one column and of two; a table shrinks only where it would not fit.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seedvote.analysis.report.answers import VotesAnswers
from seedvote.analysis.report.paper.heds import fill_datasheet, sheet_text
from seedvote.analysis.report.paper.methods import as_latex_text, as_plain, write_bibliography, write_paragraph
from seedvote.analysis.report.paper.public_data import public_data, write_dictionary
from seedvote.analysis.showing.page import RowFigure, Section, named_figures
from seedvote.analysis.showing.tables import PLAIN, Table, latex_label, latex_rows, latex_text
from seedvote.analysis.votes.study import Study
from seedvote.dialogue.files import atomic, read_json, write_json, write_records
from seedvote.dialogue.records import Pair
from seedvote.dialogue.shell.progress import step
from seedvote.dialogue.signature import signature

MANIFEST = ".kit.json"  # what was written, so that a file that has been edited since is known
METHODS, SHEET, BOOK = "methods.tex", "heds.md", "references.bib"
TABLES = {1: "tables-one-column.tex", 2: "tables-two-columns.tex"}
WIDE = 5  # columns; more of them do not fit half a page in legible type
FITS = r"\newsavebox{\seedvotebox}"
SHRINK = r"\resizebox{\ifdim\wd\seedvotebox>\linewidth \linewidth\else\wd\seedvotebox\fi}{!}{\usebox{\seedvotebox}}"


@dataclass(frozen=True, eq=False)
class KitSource:
    """What the kit is made of: the answers of the report and what it shows."""

    study: Study
    answers: VotesAnswers
    tables: tuple[Table, ...]
    figures: tuple[RowFigure, ...]
    recipe: str


def kit_folder(page: Path) -> Path:
    """STUDY/paper for STUDY/report.html; NAME-paper for a page of another name."""
    return page.with_name("paper" if page.stem == "report" else f"{page.stem}-paper")


def paper_section(study: Study, answers: VotesAnswers, folder: str, figures: int) -> Section | None:
    """The page's list of what is in the folder; without votes there is nothing to describe."""
    if study.votes is None:
        return None
    items = fill_datasheet(study, answers)
    known = sum(bool(item.answer) for item in items)
    links = (
        (f"{folder}/{METHODS}", "the paragraph above in LaTeX, with citations"),
        *(
            (f"{folder}/{name}", f"tables for a page of {'one column' if k == 1 else 'two columns'}")
            for k, name in TABLES.items()
        ),
        (f"{folder}/figures/", f"{figures} figures as PDF and SVG: for a column of two, and -wide for a page"),
        (f"{folder}/{SHEET}", f"human evaluation datasheet (HEDS 3.0): {known} of {len(items)} questions are answered"),
        (f"{folder}/{BOOK}", "the tool, and the methods used here"),
        (f"{folder}/data/", "votes and pairs to publish, without persons, with a dictionary"),
    )
    text = (
        "A paragraph for the methods section, with this study's numbers:",
        as_plain(write_paragraph(study, answers)),
    )
    return Section("paper", "For your paper", text, links=links)


def write_kit(source: KitSource, folder: Path, *, rng: random.Random) -> list[str]:
    """Write everything; the names of the files that the author had edited, beside which a new one stands."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    (folder / "data").mkdir(exist_ok=True)
    before: Mapping[str, str] = read_json(folder / MANIFEST) if (folder / MANIFEST).exists() else {}
    now, edited = {}, []
    for name, content in build_files(source, rng=rng):
        path, known = folder / name, before.get(name)
        if path.exists() and (known is None or _hash_content(path.read_bytes()) != known):
            edited.append(name)
            path = path.with_name(f"{path.name}.new")
            now[name] = known or ""
        else:
            now[name] = _hash_content(content)
        with atomic(path, "wb") as handle:
            handle.write(content)
    _remove_stale_files(folder, before, now)
    write_json(folder / MANIFEST, now)
    return edited


def build_files(source: KitSource, *, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file of the kit."""
    study, answers = source.study, source.answers
    yield METHODS, as_latex_text(write_paragraph(study, answers)).encode()
    for columns, name in TABLES.items():
        yield name, fit_tables(source.tables, columns=columns, recipe=source.recipe).encode()
    yield from _draw_figures(source.figures)
    yield SHEET, sheet_text(fill_datasheet(study, answers)).encode()
    yield BOOK, write_bibliography(answers).encode()
    votes, pairs = public_data(study, rng=rng)
    yield "data/votes.csv", votes.encode()
    if pairs:
        yield "data/pairs.jsonl", _pack_records(pairs)
    yield "data/README.md", write_dictionary(study).encode()


def _draw_figures(figures: tuple[RowFigure, ...]) -> Iterator[tuple[str, bytes]]:
    from seedvote.analysis.showing.row_pictures import COLUMN, PAGE, draw_picture, encode_pdf, encode_svg

    for number, (name, rows) in enumerate(named_figures(figures).items(), 1):
        step(f"figure {number} of {len(figures)} for the paper")
        for size, ending in ((COLUMN, ""), (PAGE, "-wide")):
            figure = draw_picture(rows, size)
            yield f"figures/{name}{ending}.pdf", encode_pdf(figure)
            yield f"figures/{name}{ending}.svg", encode_svg(figure)


def _pack_records(pairs: tuple[Pair, ...]) -> bytes:
    """The records as their file has them; made in memory, since a kit's file is written only where it may be."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder, "pairs.jsonl")
        write_records(path, pairs, signature=signature(pairs=len(pairs), published="yes"), kind=Pair)
        return path.read_bytes()


def _remove_stale_files(folder: Path, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Remove what an earlier run wrote and this one does not, where nobody has edited it."""
    for name in set(before) - set(now):
        path = folder / name
        if path.is_file() and _hash_content(path.read_bytes()) == before[name]:
            path.unlink()


def _hash_content(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def fit_tables(tables: Sequence[Table], *, columns: int, recipe: str) -> str:
    """Every table as a float that is no wider than its place; wide ones span both columns."""
    head = [
        f"% {recipe}".translate(PLAIN),
        f"% For a page of {'one column' if columns == 1 else 'two columns'}. Needs booktabs and graphicx.",
        FITS,
    ]
    labels = _label_tables(tables)
    return (
        "\n\n".join(["\n".join(head), *(_format_float(*row, columns) for row in zip(tables, labels, strict=True))])
        + "\n"
    )


def _label_tables(tables: Sequence[Table]) -> Iterator[str]:
    labels: Counter[str] = Counter()
    for table in tables:
        name = latex_label(table)
        labels[name] += 1
        yield name if labels[name] == 1 else f"{name}-{labels[name]}"


def _format_float(table: Table, label: str, columns: int) -> str:
    place = "table*" if columns == 2 and len(table.head) > WIDE else "table"
    caption = re.sub(r"\.+$", "", latex_text(table.caption))
    return "\n".join(
        [
            rf"\begin{{{place}}}",
            r"\centering\small",
            rf"\caption{{{caption}.}}",
            rf"\label{{tab:{label}}}",
            r"\begin{lrbox}{\seedvotebox}",
            *latex_rows(table),
            r"\end{lrbox}",
            SHRINK,
            rf"\end{{{place}}}",
        ]
    )
