"""Tables for people: aligned text where they are printed, HTML where a notebook shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    """Rows under a head, with a line above that says what they are."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ""

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.caption, text_table(self.head, self.rows)]))

    def html(self) -> str:
        """The same as a table that a screen reader can go through: a caption, and heads of columns and rows."""
        caption = f'<caption style="text-align:left">{escape(self.caption)}</caption>' if self.caption else ""
        cells = [[str(cell) for cell in row] for row in self.rows]
        sides = [f'style="text-align:{"right" if right else "left"}"' for right in _right(self.head, cells)]
        head = "".join(map(_head, self.head, sides))
        rows = "".join(
            f'<tr><th scope="row" {sides[0]}>{escape(row[0])}</th>'
            + "".join(f"<td {side}>{escape(cell)}</td>" for cell, side in zip(row[1:], sides[1:], strict=True))
            + "</tr>"
            for row in cells
        )
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _head(name: str, side: str) -> str:
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
    right = _right(head, cells[1:])
    lines = ("  ".join(_padded(*part) for part in zip(row, widths, right, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def _right(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    """Which columns hold numbers and nothing else."""
    return [all(_numeric(row[place]) for row in rows) for place in range(len(head))]


def _padded(cell: str, width: int, right: bool) -> str:
    return cell.rjust(width) if right else cell.ljust(width)


def _numeric(cell: str) -> bool:
    return cell in ("", "-") or cell.lstrip("<>+-−.~")[:1].isdigit()


def count(number: int, thing: str) -> str:
    """A number with its noun.

    >>> count(1, "vote"), count(2000, "vote")
    ('1 vote', '2,000 votes')
    """
    return f"{number:,} {thing}" + ("" if number == 1 else "s")
