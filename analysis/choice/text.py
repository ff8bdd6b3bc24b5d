"""Says how often people and models picked what was really said: the document of `--json`, tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from analysis.choice.answer import ALL, METRICS, ChoiceAnswer, ChoiceRow, ShareCell
from analysis.choice.published import published_cells, too_few
from analysis.showing.tables import Table
from analysis.showing.words import count, p_value, percent, plain, signed
from analysis.votes.choices import told_of_sources

STAR = "* fewer than five of the rarer outcome are expected (n min(p, 1 - p) < 5): the half-width says nothing there."


def document(found: ChoiceAnswer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    shown: dict[str, Any] = plain(
        {
            "rows": [asdict(one) for one in found.rows],
            "people_less_models": [asdict(one) for one in found.against],
            "chance": found.chance,
            "by": found.by,
            "turns": [asdict(one) for one in found.turns],
            "participants": [
                {"about": about, "answer": answer, "people": people} for about, answer, people in found.participants
            ],
            "participants_hidden": found.hidden,
            "raters": found.raters,
            "answers": found.answers,
            "unasked": found.unasked,
            "median_seconds": found.median_seconds,
            "sources": found.sources,
            "clusters": found.unit,
            "warnings": [*who_answered(found), *found.warnings],
            "recipe": found.signature,
        }
    )
    return shown


def parts(
    found: ChoiceAnswer, *, as_published: bool = False, published: bool = False, participants: bool = False
) -> list[Table | str]:
    """The tables, the sentences, the recipe."""
    shown: list[Table | str] = [published_form(found), STAR] if as_published else [choice_table(found)]
    if published:
        shown.append(paper_table())
    if participants:
        shown.append(participants_table(found))
    if found.against:
        shown.append(against_table(found))
    if found.turns:
        shown.append(turns_table(found))
    return [*shown, *choice_sentences(found), *who_answered(found), *found.warnings, found.signature]


def choice_table(found: ChoiceAnswer) -> Table:
    """A row a stratum or model: share, its crossed interval, Wilson's, and how many answers."""
    head = ["who", "raters / seeds"]
    for corpus in found.corpora:
        where = f"{corpus} " if len(found.corpora) > 1 else ""
        for metric in METRICS:
            head += [f"{where}{metric} (95 %)", "Wilson", "n"]
    rows = [[one.name, one.people if one.kind != "baseline" else "-", *_cells(found, one)] for one in found.rows]
    rows.append(["chance", "-", *_chance_cells(found, ("", ""))])
    return Table(head, rows, "What was really said comes first (R@1), or is among the first two (R@2)")


def _cells(found: ChoiceAnswer, row: ChoiceRow) -> Iterator[str]:
    cells = {(cell.corpus, cell.metric): cell for cell in row.cells}
    for corpus in found.corpora:
        for metric in METRICS:
            cell = cells.get((corpus, metric))
            yield from ("-", "-", "-") if cell is None else (in_percent(cell), _ends(cell.wilson), f"{cell.n:,}")


def _chance_cells(found: ChoiceAnswer, beside: Sequence[str]) -> Iterator[str]:
    for corpus in found.corpora:
        for value in found.chance[corpus]:
            yield from (f"{100 * value:.1f}", *beside)


def in_percent(cell: ShareCell) -> str:
    """A share with its crossed interval."""
    ends = "" if cell.low is None or cell.high is None else f" ({_ends((cell.low, cell.high))})"
    return f"{100 * cell.value:.1f}{ends}"


def _ends(ends: tuple[float, float]) -> str:
    return f"{100 * ends[0]:.1f}-{100 * ends[1]:.1f}"


def published_form(found: ChoiceAnswer) -> Table:
    """The table as the paper prints it: share, half-width, star."""
    head = ["who", *(f"{c} {m}".strip() for c in (found.corpora if len(found.corpora) > 1 else ("",)) for m in METRICS)]
    rows = []
    for row in found.rows:
        cells = {(cell.corpus, cell.metric): cell for cell in row.cells}
        line = [cells.get((corpus, metric)) for corpus in found.corpora for metric in METRICS]
        rows.append([row.name, *("-" if cell is None else as_printed(cell.value, cell.half, cell.starred)
                                 for cell in line)])  # fmt: skip
    rows.append(["chance", *_chance_cells(found, ())])
    return Table(head, rows, "As Lowe et al. (2016) print it: per cent, with 1.96 sqrt(p (1 - p) / n)")


def as_printed(share: float, half: float, starred: bool) -> str:
    """A cell in the paper's form.

    >>> as_printed(0.94, 0.0520, True)
    '94.0 % ± 5.2*'
    """
    return f"{percent(share)} ± {100 * half:.1f}{'*' if starred else ''}"


def paper_table() -> Table:
    """The paper's own cells of people, with the answers that they imply."""
    rows = [
        [one.group, one.corpus, one.metric, as_printed(one.share, one.half, one.starred), f"{one.implied:,}",
         "yes" if too_few(one.share, one.implied) else "no"]
        for one in published_cells()
    ]  # fmt: skip
    return Table(["who", "corpus", "metric", "printed", "answers implied", "star by the rule"], rows,
                 "Lowe et al. (2016), Table 2, people")  # fmt: skip


def participants_table(found: ChoiceAnswer) -> Table:
    """Who took part; small cells are hidden."""
    rows = [[about, answer, people, percent(people / found.raters)] for about, answer, people in found.participants]
    hidden = f"; {count(found.hidden, 'answer')} of fewer than five people, or that would give one away, hidden"
    return Table(["about", "answer", "people", "share"], rows,
                 f"Who took part ({count(found.raters, 'rater')}{hidden if found.hidden else ''})")  # fmt: skip


def against_table(found: ChoiceAnswer) -> Table:
    """People less every model on the same questions."""
    several = len(found.corpora) > 1
    head = ["model", *(["corpus"] if several else []), "metric", "people", "model ", "people - model (95 %)", "p",
            "answers"]  # fmt: skip
    rows = [
        [one.model, *([one.corpus] if several else []), one.metric, f"{100 * one.found.people:.1f}",
         f"{100 * one.found.model:.1f}",
         f"{signed(100 * one.found.value)} ({signed(100 * one.found.low)} to {signed(100 * one.found.high)})",
         p_value(one.found.p), f"{one.found.answers:,}"]
        for one in found.against
    ]  # fmt: skip
    return Table(head, rows, "People less models on the same questions, in points")


def turns_table(found: ChoiceAnswer) -> Table:
    """R@1 of people by the number of turns that were shown."""
    rows = [[one.turns, in_percent(one.share), f"{one.share.n:,}"] for one in found.turns]
    return Table(["turns shown", "R@1 of people (95 %)", "answers"], rows, "People by the length of the context")


def choice_sentences(found: ChoiceAnswer) -> Iterator[str]:
    """What the tables say, and what they cannot."""
    if found.answers:
        yield (
            f"{count(found.answers, 'answer')} of {count(found.raters, 'rater')}; their intervals are by {found.unit}. "
            "n counts answers of people, and questions of models."
        )
        cell = next((one for one in found.rows[0].cells if one.design_effect), None)
        if cell and cell.design_effect and cell.design_effect > 1:
            where = f" on {cell.corpus}" if len(found.corpora) > 1 else ""
            yield (
                f"Design effect of R@1{where}: {cell.design_effect:.2f}, so {count(cell.n, 'answer')} tell as much as "
                f"{cell.n / cell.design_effect:,.0f} independent ones."
            )
        if found.median_seconds is not None:
            yield f"The median answer took {found.median_seconds:.1f} seconds."
        if found.unasked:
            verb = "was" if found.unasked == 1 else "were"
            yield f"{count(found.unasked, 'question')} {verb} answered by nobody."
    yield from _strata_said(found)
    if any(cell.value + cell.half > 1 or cell.value < cell.half for row in found.rows for cell in row.cells):
        yield "Where share and half-width leave 0 to 100 %, read the intervals, which do not."
    if any(cell.low is None for row in found.rows for cell in row.cells):
        yield "A share without brackets has one rater or one dialogue, and no interval that allows for others."


def _strata_said(found: ChoiceAnswer) -> Iterator[str]:
    strata = [row for row in found.rows if row.kind == "people" and row.name != ALL]
    shown = []
    for row in strata:
        for corpus, test in row.apart.items():
            p = row.p_holm.get(corpus)
            if p is not None and p < 0.05:
                where = f" on {corpus}" if len(found.corpora) > 1 else ""
                shown.append(
                    f"Raters of {found.by} {row.name!r} differ from the others{where} by {signed(100 * test.value)} "
                    f"points of R@1 ({signed(100 * test.low)} to {signed(100 * test.high)}; p {_equals(p)})."
                )
    yield from shown
    if strata and not shown:
        yield f"No stratum of {found.by} is shown to differ from the others in R@1 (Holm)."


def _equals(p: float) -> str:
    text = p_value(p)
    return text if text.startswith("<") else f"= {text}"


def who_answered(found: ChoiceAnswer) -> Iterator[str]:
    """Answers that are not people's are named."""
    yield from told_of_sources(found.sources)
