"""Aligned plain-text tables for people."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns aligned: text to the left, numbers to the right.

    >>> print(text_table(["name", "votes", "share"], [["HumanExp-1", 2000, "0.350"], ["pooled", 6000, "0.345"]]))
    name        votes  share
    HumanExp-1   2000  0.350
    pooled       6000  0.345
    """
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [all(_numeric(cell) for cell in column[1:]) for column in zip(*cells, strict=True)]
    lines = ("  ".join(_padded(*part) for part in zip(row, widths, right, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


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
