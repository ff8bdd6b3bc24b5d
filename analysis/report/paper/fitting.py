"""The report's tables in LaTeX, for a page of one column and of two: a table shrinks only where it would not fit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from seedvote.analysis.showing.tables import PLAIN, Table, latex_label, latex_rows, latex_text

WIDE = 5  # columns; more of them do not fit half a page in legible type
FITS = r"\newsavebox{\seedvotebox}"
SHRINK = r"\resizebox{\ifdim\wd\seedvotebox>\linewidth \linewidth\else\wd\seedvotebox\fi}{!}{\usebox{\seedvotebox}}"


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
