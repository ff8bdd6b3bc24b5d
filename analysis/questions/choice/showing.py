"""Says, lists and draws how often people and models picked what was really said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seedvote.analysis.questions.choice.answer import (
    ALL,
    METRICS,
    ChoiceAnswer,
    ChoiceRow,
    ShareCell,
    answer,
    published_cells,
    too_few,
)
from seedvote.analysis.showing.page import QUARTERS, Axis, Row, RowFigure, Section
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, p_equals, p_value, percent, signed, to_plain
from seedvote.analysis.votes.choices import FIRST, Choices, profiles_beside, read_answers, read_models, told_of_sources
from seedvote.analysis.votes.columns import read_elsewhere
from seedvote.analysis.votes.study import ReportRequest
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.people import NOT_GIVEN, group_people
from seedvote.dialogue.importing.reading import Names
from seedvote.dialogue.questions import read_questions

STAR = "* fewer than five of the rarer outcome are expected (n min(p, 1 - p) < 5): the half-width says nothing there."
COLOURS = {"people": "people", "model": "c0", "baseline": "grey"}


def parts(
    answer: ChoiceAnswer, *, as_published: bool = False, published: bool = False, participants: bool = False
) -> list[Table | str]:
    """The tables, the sentences, the recipe."""
    tables: list[Table | str] = [published_form(answer), STAR] if as_published else [choice_table(answer)]
    tables += [paper_table()] if published else []
    tables += [participants_table(answer)] if participants else []
    return [
        *tables,
        *further_tables(answer),
        *list_findings(answer),
        *told_of_sources(answer.sources),
        *answer.warnings,
        answer.signature,
    ]


def list_findings(answer: ChoiceAnswer) -> Iterator[str]:
    """What the tables say, and what they cannot."""
    where = {corpus: f" on {corpus}" if len(answer.corpora) > 1 else "" for corpus in answer.corpora}
    if answer.answers:
        yield (
            f"{count(answer.answers, 'answer')} of {count(answer.raters, 'rater')}; their intervals are by "
            f"{answer.unit}. n counts answers of people, and questions of models."
        )
        cell = next((cell for cell in answer.rows[0].cells if cell.design_effect), None)
        if cell and cell.design_effect and cell.design_effect > 1:
            yield (
                f"Design effect of R@1{where[cell.corpus]}: {cell.design_effect:.2f}, so {count(cell.n, 'answer')} "
                f"tell as much as {cell.n / cell.design_effect:,.0f} independent ones."
            )
        if answer.median_seconds is not None:
            yield f"The median answer took {answer.median_seconds:.1f} seconds."
        if answer.unasked:
            verb = "was" if answer.unasked == 1 else "were"
            yield f"{count(answer.unasked, 'question')} {verb} answered by nobody."
    strata = [row for row in answer.rows if row.kind == "people" and row.name != ALL]
    differences = [
        f"Raters of {answer.by} {row.name!r} differ from the others{where[corpus]} by {signed(100 * gap.value)} points "
        f"of R@1 ({signed(100 * gap.low)} to {signed(100 * gap.high)}; {p_equals(p)})."
        for row in strata
        for corpus, gap in row.gaps.items()
        if (p := row.p_holm.get(corpus)) is not None and p < 0.05
    ]
    yield from differences
    if strata and not differences:
        yield f"No stratum of {answer.by} is shown to differ from the others in R@1 (Holm)."
    cells = [cell for row in answer.rows for cell in row.cells]
    if any(cell.value + cell.half > 1 or cell.value < cell.half for cell in cells):
        yield "Where share and half-width leave 0 to 100 %, read the intervals, which do not."
    if any(cell.low is None for cell in cells):
        yield "A share without brackets has one rater or one dialogue, and no interval that allows for others."


def choice_table(answer: ChoiceAnswer) -> Table:
    """A row a stratum or model: share, its crossed interval, Wilson's, and how many answers."""
    head = ["who", "raters / seeds"]
    for corpus in answer.corpora:
        where = f"{corpus} " if len(answer.corpora) > 1 else ""
        for metric in METRICS:
            head += [f"{where}{metric} (95 %)", "Wilson", "n"]
    rows = []
    for row in answer.rows:
        line = [row.name, f"{row.people}" if row.kind != "baseline" else "-"]
        for cell in _row_cells(answer, row):
            line += ["-", "-", "-"] if cell is None else [in_percent(cell), _format_ends(*cell.wilson), f"{cell.n:,}"]
        rows.append(line)
    rows.append(["chance", "-", *(text for value in _chance_cells(answer) for text in (value, "", ""))])
    return Table(head, rows, "What was really said comes first (R@1), or is among the first two (R@2)")


def _row_cells(answer: ChoiceAnswer, row: ChoiceRow) -> list[ShareCell | None]:
    cells = {(cell.corpus, cell.metric): cell for cell in row.cells}
    return [cells.get((corpus, metric)) for corpus in answer.corpora for metric in METRICS]


def _chance_cells(answer: ChoiceAnswer) -> list[str]:
    return [f"{100 * value:.1f}" for corpus in answer.corpora for value in answer.chance[corpus]]


def in_percent(cell: ShareCell) -> str:
    """A share with its crossed interval."""
    ends = "" if cell.low is None or cell.high is None else f" ({_format_ends(cell.low, cell.high)})"
    return f"{100 * cell.value:.1f}{ends}"


def _format_ends(low: float, high: float) -> str:
    return f"{100 * low:.1f}-{100 * high:.1f}"


def published_form(answer: ChoiceAnswer) -> Table:
    """The table as the paper prints it: share, half-width, star."""
    corpora: Sequence[str] = answer.corpora if len(answer.corpora) > 1 else ("",)
    head = ["who", *(f"{corpus} {metric}".strip() for corpus in corpora for metric in METRICS)]
    rows = [
        [
            row.name,
            *(
                "-" if cell is None else print_cell(cell.value, cell.half, cell.starred)
                for cell in _row_cells(answer, row)
            ),
        ]
        for row in answer.rows
    ]
    rows.append(["chance", *_chance_cells(answer)])
    return Table(head, rows, "As Lowe et al. (2016) print it: per cent, with 1.96 sqrt(p (1 - p) / n)")


def print_cell(share: float, half: float, starred: bool) -> str:
    """A cell in the paper's form.

    >>> print_cell(0.94, 0.0520, True)
    '94.0 % ± 5.2*'
    """
    return f"{percent(share)} ± {100 * half:.1f}{'*' if starred else ''}"


def paper_table() -> Table:
    """The paper's own cells of people, with the answers that they imply."""
    rows = [
        [
            cell.group,
            cell.corpus,
            cell.metric,
            print_cell(cell.share, cell.half, cell.starred),
            f"{cell.implied:,}",
            "yes" if too_few(cell.share, cell.implied) else "no",
        ]
        for cell in published_cells()
    ]
    head = ["who", "corpus", "metric", "printed", "answers implied", "star by the rule"]
    return Table(head, rows, "Lowe et al. (2016), Table 2, people")


def participants_table(answer: ChoiceAnswer) -> Table:
    """Who took part; small cells are hidden."""
    rows = [[about, text, people, percent(people / answer.raters)] for about, text, people in answer.participants]
    hidden = f"; {count(answer.hidden, 'answer')} of fewer than five people, or that would give one away, hidden"
    caption = f"Who took part ({count(answer.raters, 'rater')}{hidden if answer.hidden else ''})"
    return Table(["about", "answer", "people", "share"], rows, caption)


def further_tables(answer: ChoiceAnswer) -> list[Table]:
    """People less every model on the same questions, and R@1 of people by the number of turns, where there are any."""
    tables = []
    if answer.against:
        has_corpora = len(answer.corpora) > 1
        head = ["model", *(["corpus"] if has_corpora else []), "metric", "people", "model "]
        rows = [
            [
                row.model,
                *([row.corpus] if has_corpora else []),
                row.metric,
                f"{100 * gap.people:.1f}",
                f"{100 * gap.model:.1f}",
                f"{signed(100 * gap.value)} ({signed(100 * gap.low)} to {signed(100 * gap.high)})",
                p_value(gap.p),
                f"{gap.answers:,}",
            ]
            for row in answer.against
            for gap in [row.difference]
        ]
        caption = "People less models on the same questions, in points"
        tables.append(Table([*head, "people - model (95 %)", "p", "answers"], rows, caption))
    if answer.turns:
        lengths = [[part.turns, in_percent(part.share), f"{part.share.n:,}"] for part in answer.turns]
        head = ["turns shown", "R@1 of people (95 %)", "answers"]
        tables.append(Table(head, lengths, "People by the length of the context"))
    return tables


def row_figures(answer: ChoiceAnswer) -> tuple[RowFigure, ...]:
    """R@1 of people, models and simple rules, a figure a corpus."""
    axis, figures = Axis(0, 1), []
    for corpus in answer.corpora:
        rows = tuple(
            Row(
                row.name,
                f"{percent(cell.value)} ({percent(cell.low)} to {percent(cell.high)})",
                axis.interval(cell.low, cell.value, cell.high, COLOURS[row.kind]),
                described=f"R@1 {percent(cell.value)} on {cell.n} answers",
            )
            for row in answer.rows
            for cell in row.cells
            if (cell.corpus, cell.metric) == (corpus, FIRST) and cell.low is not None and cell.high is not None
        )
        if not rows:
            continue
        has_corpora = len(answer.corpora) > 1
        figures.append(
            RowFigure(
                f"R@1 with its 95 % interval{f' on {corpus}' if has_corpora else ''}",
                rows,
                axis.ticks(QUARTERS, "{:.0%}"),
                "share of questions",
                ((axis.at(answer.chance[corpus][0]), "chance"),),
                note_head="share (95 % interval)",
                name=f"choice-{corpus}" if has_corpora else "choice",
            )
        )
    return tuple(figures)


def document(answer: ChoiceAnswer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    keys = {
        "rows": [_rename_key(asdict(row), "gaps", "apart") for row in answer.rows],
        "people_less_models": [_rename_key(asdict(row), "difference", "found") for row in answer.against],
        "chance": answer.chance,
        "by": answer.by,
        "turns": answer.turns,
        "participants": [
            {"about": about, "answer": text, "people": people} for about, text, people in answer.participants
        ],
        "participants_hidden": answer.hidden,
        "raters": answer.raters,
        "answers": answer.answers,
        "unasked": answer.unasked,
        "median_seconds": answer.median_seconds,
        "sources": answer.sources,
        "clusters": answer.unit,
        "warnings": [*told_of_sources(answer.sources), *answer.warnings],
        "recipe": answer.signature,
    }
    return dict(to_plain(keys))


def _rename_key(keys: dict[str, Any], name: str, key: str) -> dict[str, Any]:
    return {key if field == name else field: value for field, value in keys.items()}


def section(answer: ChoiceAnswer) -> Section:
    """What the report shows."""
    return Section(
        "choice",
        "Who picks what was really said",
        (
            "A context is shown with what was really said next and with things that were said elsewhere. R@1 is the "
            "share of questions on which the true one is picked first, R@2 that where it is among the first two.",
        ),
        row_figures(answer),
        items=tuple(list_findings(answer)),
        tables=(choice_table(answer), *further_tables(answer)),
        notes=(*told_of_sources(answer.sources), *answer.warnings),
    )


def choice(
    study: str | Path,
    *,
    choices: str | Path | None = None,
    columns: Names = (),
    count_from: int = 0,
    by: str = "",
    raters: str | Path | None = None,
    clusters: str = "auto",
    uncounted: bool = False,
    as_published: bool = False,
    published: bool = False,
    participants: bool = False,
) -> Result:
    """How often people and models pick what was really said (`python -m analysis choose`)."""
    shares = answer_folder(
        Path(study),
        choices=None if choices is None else Path(choices),
        columns=columns,
        count_from=count_from,
        by=by,
        raters=None if raters is None else Path(raters),
        clusters=clusters,
        uncounted=uncounted,
    )
    pieces = parts(shares, as_published=as_published, published=published, participants=participants)
    return Result(document(shares), pieces, lambda: row_figures(shares))


def in_report(request: ReportRequest) -> ChoiceAnswer | None:
    """As of `analysis choose STUDY`; None where the study has no questions, or nobody has answered them."""
    folder = request.study.folder
    has_answers = any((folder / name).exists() for name in ("choices.jsonl", "nuc.parquet"))
    if not has_answers or not (folder / "questions.jsonl").exists():
        return None
    return answer_folder(folder, clusters=request.clusters)


def answer_folder(
    study: Path,
    *,
    choices: Path | None = None,
    columns: Names = (),
    count_from: int = 0,
    by: str = "",
    raters: Path | None = None,
    clusters: str = "auto",
    uncounted: bool = False,
) -> ChoiceAnswer:
    """The answer of a study folder with questions.jsonl, and choices.jsonl or nuc.parquet or both."""
    if not (study / "questions.jsonl").is_file():
        raise InputError(_explain_no_questions(study))
    questions = read_questions(study / "questions.jsonl")
    path = study / "choices.jsonl" if choices is None else choices
    answers = None
    if choices is not None or path.exists():
        answers = read_answers(path, questions, columns=columns, first=count_from, uncounted=uncounted)
    models = read_models(study / "nuc.parquet", questions) if (study / "nuc.parquet").exists() else []
    profiles = profiles_beside(path.parent if answers else study)
    groups = read_strata(by, raters, profiles, answers) if by else None
    return answer(questions, answers, models, groups=groups, by=by, profiles=profiles, clusters=clusters)


def _explain_no_questions(study: Path) -> str:
    if study.is_file():
        return f"{study} is not a folder. Give the study folder, which has questions.jsonl."
    if (study / "choices.jsonl").exists():
        return f"{study} has choices.jsonl and no questions.jsonl: put the questions into the folder of their answers."
    advice = read_elsewhere(study) or (
        f"its raters judged pairs: python -m analysis preference {study}"
        if (study / "votes.jsonl").exists()
        else "make some: python -m evaluators questions"
    )
    return f"{study} has no questions.jsonl, so nobody chose among options there; {advice}"


def read_strata(
    by: str, table: Path | None, profiles: Mapping[str, Mapping[str, str]], choices: Choices | None
) -> dict[str, str]:
    """Rater -> stratum."""
    if table is not None:
        groups = group_people(table, by)
        if choices is not None and not set(groups) & set(choices.raters):
            raise InputError(f"{table} holds none of the raters of these answers, e.g. {choices.raters[:1]}.")
        return groups
    names = sorted({name for profile in profiles.values() for name in profile})
    if by not in names:
        known = f"it has {', '.join(names)}" if names else "no rater told anything there"
        raise InputError(
            f"--by {by}: nobody was asked that in raters.jsonl ({known}). Name one of these, or give a table of "
            "people: --raters TABLE"
        )
    return {rater: profile.get(by, NOT_GIVEN) for rater, profile in profiles.items()}
