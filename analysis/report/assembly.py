"""The report of a study as a page, as Markdown and as LaTeX: what was found, the pictures, the numbers, the recipes.

The page needs no script and no outside file; model text is escaped. The same facts go to report.json for machines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jinja2

from analysis.comparison.methods import panels_of
from analysis.comparison.orders import ordered
from analysis.comparison.section import compare_section, probes_section
from analysis.comparison.text import plain_methods
from analysis.comparison.verdicts import order_verdicts
from analysis.preference.section import Judged, agreement_of, judged, preference_section, raters_section
from analysis.reading.cautions import cautions
from analysis.reading.panel import UNSEEN, methods
from analysis.reading.study import Study
from analysis.report import findings
from analysis.report.advice import advice
from analysis.report.checklist import checklist
from analysis.report.design import dictionary_section, done_section, facts, reviewers_section
from analysis.showing.page import Figure, Section
from analysis.showing.tables import Table, latex, markdown, markdown_text
from analysis.showing.words import plain
from analysis.ties.section import ties_figure, ties_of, ties_section
from analysis.variance.section import variance_section
from dialogue.signature import VERSION

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
SAMPLES = 3
IN_PAPER = ("preferred", "compare")  # sections whose tables go to report.tex


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that the page, the Markdown and the LaTeX show."""

    title: str
    study: Study
    findings: tuple[str, ...]
    picture: Figure | None
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    samples: tuple[Mapping[str, Any], ...]
    document: Mapping[str, Any]  # report.json

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that stand at the end of the page."""
        return tuple(table for section in self.sections for table in section.tables)


def report(study: Study, *, title: str | None = None, margin: float | None = None) -> Report:
    """Read everything that the study holds; `margin` of equivalence in parts of one, if one was stated."""
    panels = panels_of(study)
    made = [method for panel in panels for method in methods(panel)]
    pairs = ordered(panel for panel in panels if panel.checkpoint != UNSEEN)
    ties = ties_of(study.votes, None if study.ties is None else study.ties["recipe"]["size"])
    found, agreed = judged(study, margin), agreement_of(study.votes)
    title = title or (title_of(found) if found or study.votes is None else "How many ties, and how surely?")
    table = None if study.scores is None else findings.probe_table(study.by_seed)
    sentences = findings.found(ties, found, agreed, made, table)
    if study.votes is None:
        sentences += order_verdicts([order for _, order in pairs])
    probed = probes_section(table, panels)
    compared, limits = compare_section(study, panels, pairs), findings.limitations(study, made)
    planned, asked = advice(study, found, panels, pairs), checklist(study, found, agreed, panels)
    sections = [
        None if found is None else preference_section(found, study),
        None if ties is None else ties_section(ties, _told(study)),
        compared,
        probed,
        variance_section(study, panels),
        raters_section(study, agreed),
        Section("advice", "What would make it surer", items=tuple(planned)) if planned else None,
        Section("limits", "What this study cannot tell", items=tuple(limits)) if limits else None,
        done_section(study, panels),
        reviewers_section(asked),
        dictionary_section(study),
    ]
    drawn = [figure for section in (probed, compared) if section for figure in section.figures]
    picture = ties_figure(ties) if ties else drawn[0] if drawn else None
    document = {
        "title": title, "findings": sentences, "limitations": limits, "advice": planned,
        "methods": plain_methods(panels), "recipes": dict(study.recipes), "version": VERSION,
        "orders": [asdict(order) for _, order in pairs],
        "checklist": [asdict(one) for one in asked],
    }  # fmt: skip
    kept = tuple(section for section in sections if section is not None)
    return Report(
        title, study, tuple(sentences), picture, tuple(facts(study, panels)), kept, _samples(study), plain(document)
    )


def _told(study: Study) -> tuple[str, ...]:
    """Warnings that the page says elsewhere."""
    votes = study.votes
    if votes is None:
        return ()
    return (*votes.warnings, *(said for said in cautions(votes, {}) if "simulated" in said))


def title_of(found: Judged | None) -> str:
    """The question that the votes were asked."""
    if found is None:
        return "What do probes and metrics say?"
    names = {name for one in found.contrasts for name in (one.first, one.second)}
    models = {name.split("@")[0].rpartition("-")[0] for name in names}
    if len(models) == 1 and "" not in models:
        return f"Do {'two' if len(names) == 2 else len(names)} seeds of {models.pop()} differ?"
    if len(found.contrasts) == 1:
        return f"Is {found.preferences[0].first} preferred to {found.preferences[0].second}?"
    return f"Which of {len(names)} systems is preferred?"


def _together(value: Any) -> Any:
    """Numbers and their per cent on one line."""
    return value.replace(" %", "\N{NO-BREAK SPACE}%") if isinstance(value, str) else value


def page(found: Report) -> str:
    """The self-contained HTML page."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_together,
    )  # fmt: skip
    study = found.study
    return environment.get_template("report/report.html").render(
        report=found, simulated=study.simulated, votes=0 if study.votes is None else len(study.votes),
        version=VERSION, folder=study.folder.name,
    )  # fmt: skip


def as_markdown(found: Report) -> str:
    """The same without pictures: their numbers stand in the tables."""
    parts = [f"# {markdown_text(found.title)}", ", ".join(f"{number} {noun}" for number, noun in found.facts)]
    if found.study.simulated:
        parts.append(f"**{found.study.simulated:,} votes came from simulated raters.**")
    parts += ["## What was found", _bullets(found.findings)]
    for section in found.sections:
        parts += [f"## {section.title}", *map(markdown_text, section.text)]
        parts += [_bullets(section.items)] if section.items else []
        parts += [markdown(table) for table in (*section.inline, *section.tables)]
        parts += map(markdown_text, section.notes)
    return "\n\n".join([*parts, f"Written by Seedvote {VERSION}."]) + "\n"


def _bullets(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {markdown_text(sentence)}" for sentence in sentences)


def as_latex(found: Report) -> str:
    """The tables that a paper takes over."""
    chosen = [table for section in found.sections if section.key in IN_PAPER for table in section.tables if table.rows]
    return latex(chosen, recipe=" ".join(found.study.recipes.values()) or found.title)


def _samples(study: Study) -> tuple[Mapping[str, Any], ...]:
    answers: dict[str, list[Any]] = {}
    for response in study.responses:
        mine = answers.setdefault(response.item, [])
        if (response.model, response.seed) not in {(other.model, other.seed) for other in mine}:  # the first draw
            mine.append(response)
    shown: dict[str, Mapping[str, Any]] = {}
    for pair in study.pairs:
        if pair.item in answers and pair.item not in shown and pair.kind == "real" and len(shown) < SAMPLES:
            shown[pair.item] = {"item": pair.item, "context": pair.context, "responses": answers[pair.item]}
    return tuple(shown.values())
