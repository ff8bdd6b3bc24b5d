"""What a table was taken for: every column and word with its evidence, and what was left out. Said by every command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from seedvote.dialogue.importing.naming import meanings, parse_names, typed_names


@dataclass(frozen=True, slots=True)
class Stated:
    """What the user states about a table."""

    columns: Mapping[str, str] = field(default_factory=dict)  # ours -> theirs
    values: Mapping[str, str] = field(default_factory=dict)  # theirs -> ours
    tool: str = ""
    wide: Path | None = None
    question: str = ""
    explode: str = ""  # a column of lists: one row for each of their elements
    fixed_order: bool = False  # the first response was always on the left
    texts: Mapping[str, tuple[str, str]] = field(
        default_factory=dict
    )  # pair -> its two responses, where a file has them

    def also(self, options: Mapping[str, str]) -> Stated:
        """With further options, as they are typed."""
        columns = dict(parse_names(options.get("--columns", ""), "--columns"))
        values = meanings(parse_names(options.get("--values", ""), "--values"), "--values", theirs_first=True)
        return replace(
            self,
            columns={**self.columns, **columns},
            values={**self.values, **values},
            tool=options.get("--from", self.tool),
            question=options.get("--question", self.question),
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """How a table was read; nothing is decided that does not stand here."""

    form: str  # `arena table`, `file of votes`, ...
    read: int  # rows, or judgements where a row holds several
    columns: Mapping[str, str] = field(default_factory=dict)  # ours -> theirs
    words: Mapping[str, str] = field(default_factory=dict)  # theirs -> ours
    dropped: Mapping[str, int] = field(default_factory=dict)  # reason -> judgements
    notes: Sequence[str] = ()
    excluded: Mapping[str, int] = field(default_factory=dict)  # reason -> votes of our own form that are not analysed
    evidence: Mapping[str, str] = field(default_factory=dict)  # ours, or a word of theirs -> why it was taken so

    @property
    def line(self) -> str:
        """`Read as: arena table (pair=question_id, choice=winner; a=model_a, tie=tie)`."""
        columns = ", ".join(typed_names([pair]) for pair in self.columns.items())
        words = ", ".join(typed_names([(ours, theirs)]) for theirs, ours in self.words.items() if ours != theirs)
        inside = "; ".join(filter(None, [columns, words]))
        how = f" [{', '.join(self.notes)}]" if self.notes else ""
        return f"Read as: {self.form}{f' ({inside})' if inside else ''}{how}."

    @property
    def lost(self) -> str:
        """`Left out: 3 (nothing was chosen); 1 (the same submission again).`, or that nothing was."""
        return said_left_out(self.dropped)

    @property
    def left_out(self) -> Mapping[str, int]:
        """Reason -> rows, of all that were read and are not analysed."""
        return {**self.dropped, **self.excluded}


def said_left_out(reasons: Mapping[str, int]) -> str:
    """One sentence on what was left out and why; that nothing was, where there is no reason."""
    losses = "; ".join(f"{number:,} ({reason})" for reason, number in reasons.items())
    return f"Left out: {losses or 'nothing'}."
