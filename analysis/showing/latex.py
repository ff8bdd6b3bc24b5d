"""Tables as LaTeX (booktabs): what a paper takes over, with the recipe as a comment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from analysis.showing.page import Table

SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$", "|": r"$|$",
    "\N{MINUS SIGN}": r"$-$", "\N{EN DASH}": "--", "\N{LEFT DOUBLE QUOTATION MARK}": "``",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "''",
}  # fmt: skip
PLAIN = str.maketrans({chr(k): None for k in range(32)})


def latex(tables: Sequence[Table], *, recipe: str) -> str:
    """Every table as a `table` of its own; needs \\usepackage{booktabs} and, for long ones, smaller type."""
    head = [
        f"% {recipe}".translate(PLAIN),
        r"% \usepackage{booktabs} in the preamble; \usepackage{graphicx} for wide tables",
    ]
    return "\n\n".join(["\n".join(head), *map(_table, tables)]) + "\n"


def _table(table: Table) -> str:
    columns = "".join("r" if numeric else "l" for numeric in table.numeric)
    lines = [" & ".join(_cell(*one) for one in zip(row, table.numeric, strict=True)) + r" \\" for row in table.rows]
    body = [
        r"\begin{tabular}{" + columns + "}", r"\toprule", " & ".join(map(escaped, table.head)) + r" \\", r"\midrule",
        *lines, r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    wide = len(table.head) > 6
    tabular = [r"\resizebox{\linewidth}{!}{%", *body, "}"] if wide else body
    label = "-".join(re.findall(r"[a-z]+", table.caption.lower())[:3])
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escaped(table.caption)}.}}",
            rf"\label{{tab:{label}}}",
            *tabular,
            r"\end{table}",
        ]
    )


def _cell(text: str, numeric: bool) -> str:
    return re.sub(r"(?<=\d)-(?=\d)", "--", escaped(text)) if numeric else escaped(text)


def escaped(text: str) -> str:
    """Text that LaTeX sets literally; what its fonts lack becomes a question mark.

    >>> escaped("50 % of a_b, E rho^2 < 1")
    '50 \\\\% of a\\\\_b, $E\\\\rho^2$ $<$ 1'
    """
    parts = text.split("E rho^2")
    return r"$E\rho^2$".join(
        "".join(SIGNS.get(sign, sign if sign.isascii() else "?") for sign in part) for part in parts
    )
