"""ONE table: aligned text where it is printed, HTML in a notebook, Markdown and LaTeX in the files of a report.

Every form shows the same cells, so a number cannot differ between them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape

SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "\N{MINUS SIGN}": r"$-$",
    "\N{EN DASH}": "--",
    "\N{LEFT DOUBLE QUOTATION MARK}": "``",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "''",
}
MOST_ROWS = 30  # of a table that grows with the square of the systems
PLAIN = str.maketrans({chr(k): None for k in range(32)})


@dataclass(frozen=True)
class Table:
    """Rows under a head, with a caption that says what they are; `wide` tables have sentences in their cells.

    A `folded` table is too long to be read through: the page keeps it closed, Markdown and LaTeX leave it out.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ""
    wide: bool = False
    folded: bool = False

    @cached_property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers and nothing else, to be set flush right; a page asks at every cell."""
        return tuple(_find_numeric_columns(self.head, [[str(cell) for cell in row] for row in self.rows]))

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.caption, text_table(self.head, self.rows)]))

    def html(self) -> str:
        """The same as a table that a screen reader can go through: a caption, and heads of columns and rows."""
        caption = f'<caption style="text-align:left">{escape(self.caption)}</caption>' if self.caption else ""
        cells = [[str(cell) for cell in row] for row in self.rows]
        sides = [
            f'style="text-align:{"right" if right else "left"}"' for right in _find_numeric_columns(self.head, cells)
        ]
        head = "".join(map(_format_head, self.head, sides))
        rows = "".join(
            f'<tr><th scope="row" {sides[0]}>{escape(row[0])}</th>'
            + "".join(f"<td {side}>{escape(cell)}</td>" for cell, side in zip(row[1:], sides[1:], strict=True))
            + "</tr>"
            for row in cells
        )
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def in_short(table: Table, things: str, order: str) -> tuple[Table, ...]:
    """A table of more than `MOST_ROWS` things as its first ones and, folded, all; `order` says which come first.

    >>> short, every = in_short(Table(["n"], [[n] for n in range(100)], "Squares"), "numbers", "nearest to zero")
    >>> print(short.caption, every.caption, len(short.rows), sep="; ")
    Squares. Shown are the 30 numbers nearest to zero of 100; --json and report.json have all; All 100 numbers; 30
    """
    total = len(table.rows)
    if total <= MOST_ROWS:
        return (table,)
    note = f"Shown are the {MOST_ROWS} {things} {order} of {total:,}; --json and report.json have all"
    caption = f"{table.caption.rstrip('.')}. {note}" if table.caption else note
    first = replace(table, rows=table.rows[:MOST_ROWS], caption=caption)
    return first, replace(table, caption=f"All {total:,} {things}", folded=True)


def _format_head(name: str, side: str) -> str:
    return f'<th scope="col" {side}>{escape(name)}</th>' if name else "<td></td>"


def text_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns aligned: text to the left, numbers to the right.

    >>> print(text_table(["name", "votes", "share"], [["HumanExp-1", 2000, "0.350"], ["pooled", 6000, "0.345"]]))
    name        votes  share
    HumanExp-1   2000  0.350
    pooled       6000  0.345
    """
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = _find_numeric_columns(head, cells[1:])
    pad = [str.rjust if is_number else str.ljust for is_number in right]
    lines = ("  ".join(fit(cell, width) for fit, cell, width in zip(pad, row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def _find_numeric_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    """Which columns hold numbers and nothing else."""
    return [bool(rows) and all(_is_numeric(row[place]) for row in rows) for place in range(len(head))]


def _is_numeric(cell: str) -> bool:
    return cell in ("", "-") or cell.lstrip("<>+-−.~")[:1].isdigit()


def write_markdown(table: Table) -> str:
    """A pipe table; what would break it is escaped.

    >>> print(write_markdown(Table(("name", "share"), (("a|b", "35 %"),), "Ties")))
    **Ties**
    <BLANKLINE>
    | name | share |
    |---|---|
    | a\\|b | 35 % |
    """
    cells = [[markdown_text(str(cell)) for cell in row] for row in (table.head, *table.rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    title = [f"**{markdown_text(table.caption)}**", ""] if table.caption else []
    return "\n".join([*title, lines[0], "|" + "---|" * len(table.head), *lines[1:]])


def markdown_text(text: str) -> str:
    """Text that Markdown shows literally, on one line.

    >>> print(markdown_text("bilstm_attn is <b> at *5*"))
    bilstm_attn is \\<b\\> at \\*5\\*
    """
    text = re.sub(r"([\\`*<>\[\]|~])", r"\\\1", text)
    return " ".join(re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text).split())


def write_latex(tables: Sequence[Table], *, recipe: str) -> str:
    """Every table as a `table` of its own; needs \\usepackage{booktabs} and, for long ones, smaller type."""
    head = [
        f"% {recipe}".translate(PLAIN),
        r"% \usepackage{booktabs} in the preamble; \usepackage{graphicx} for wide tables",
    ]
    return "\n\n".join(["\n".join(head), *map(_latex_table, tables)]) + "\n"


def latex_rows(table: Table) -> list[str]:
    """The table as a `tabular`, line by line."""
    columns = "".join("r" if numeric else "l" for numeric in table.numeric)
    lines = [
        " & ".join(_latex_cell(str(cell), numeric) for cell, numeric in zip(row, table.numeric, strict=True)) + r" \\"
        for row in table.rows
    ]
    return [
        r"\begin{tabular}{" + columns + "}",
        r"\toprule",
        " & ".join(map(latex_text, table.head)) + r" \\",
        r"\midrule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}",
    ]


def latex_label(table: Table) -> str:
    """A name for references: the first words of the caption."""
    return "-".join(re.findall(r"[a-z]+", table.caption.lower())[:3])


def _latex_table(table: Table) -> str:
    body = latex_rows(table)
    wide = len(table.head) > 6
    tabular = [r"\resizebox{\linewidth}{!}{%", *body, "}"] if wide else body
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_text(table.caption)}.}}",
            rf"\label{{tab:{latex_label(table)}}}",
            *tabular,
            r"\end{table}",
        ]
    )


def _latex_cell(text: str, numeric: bool) -> str:
    """A hyphen before a number is a minus, one between two numbers a range.

    >>> _latex_cell("-0.12 (-0.30 to 0.06)", True), _latex_cell("1-5", True), _latex_cell("model-1", False)
    ('$-$0.12 ($-$0.30 to 0.06)', '1--5', 'model-1')
    """
    if not numeric:
        return latex_text(text)
    return re.sub(r"(?<![\w.-])-(?=\d)", "$-$", re.sub(r"(?<=\d)-(?=\d)", "--", latex_text(text)))


def latex_text(text: str) -> str:
    """Text that LaTeX sets literally; what its fonts lack becomes a question mark.

    >>> latex_text("50 % of a_b, E rho^2 < 1")
    '50 \\\\% of a\\\\_b, $E\\\\rho^2$ $<$ 1'
    """
    parts = text.split("E rho^2")
    return r"$E\rho^2$".join(
        "".join(SIGNS.get(sign, sign if sign.isascii() else "?") for sign in part) for part in parts
    )
