"""The report of a study as a page, as Markdown and as LaTeX: what was found, the pictures, the numbers, the recipes.

Every question is asked of its own room, with the defaults of its command: no statistic is computed here, so the report
and the commands cannot disagree. The page needs no outside file, and all but its comforts works without script; model
text is escaped. report.json holds the same facts, and each room's numbers under the keys of its command's `--json`.

The first screen holds the verdict, the figure that answers the study's question, the findings, what would make them
more certain (`LEADING`) and what they cannot tell; every other section is folded under its question.

Every question whose row in `questions/table.py` is `reported` has its section, before "What was done" unless `ORDER`
says where. A question to the votes is asked in answers.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seedvote.analysis.questions import discriminators
from seedvote.analysis.questions.agreement import showing as agreement
from seedvote.analysis.questions.browse.page import address_of
from seedvote.analysis.questions.comparison import probes
from seedvote.analysis.questions.comparison import showing as comparison
from seedvote.analysis.questions.comparison.verdicts import order_verdicts
from seedvote.analysis.questions.preference import showing as preference
from seedvote.analysis.questions.ratings import showing as ratings
from seedvote.analysis.questions.table import QUESTIONS
from seedvote.analysis.questions.ties import showing as ties
from seedvote.analysis.report import findings
from seedvote.analysis.report.answers import (
    VotesAnswers,
    exclusion_document,
    exclusion_section,
    votes_answers,
    without_rules,
)
from seedvote.analysis.report.design import (
    asked_of_judges,
    count_facts,
    dictionary_section,
    done_section,
    fill_checklist,
    reviewers_section,
)
from seedvote.analysis.report.findings import write_advice
from seedvote.analysis.report.paper.kit import KitSource, paper_section
from seedvote.analysis.showing.page import (
    TEMPLATES,
    Reported,
    RowFigure,
    Section,
    embed_images,
    hash_source,
    load_templates,
)
from seedvote.analysis.showing.tables import MOST_ROWS, Table, markdown_text, write_latex, write_markdown
from seedvote.analysis.showing.words import to_plain
from seedvote.analysis.votes.cautions import judges_caption, marked_table, not_people
from seedvote.analysis.votes.study import ReportRequest, Study
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.wording import as_typed
from seedvote.dialogue.signature import VERSION

ORDER = (
    *("advice", "limits", "preferred", "rated", "ranked", "ties", "excluded", "compare", "leaderboard", "robustness"),
    *(
        "probes",
        "erasure",
        "patching",
        "discriminators",
        "choice",
        "variance",
        "raters",
        "judge",
        "worth",
        "done",
        "reviewers",
    ),
    "dictionary",
)  # of the sections
LAST_QUESTION = "worth"  # after which a section stands that is not in this order
SAMPLES = 1
FINDINGS = 6  # the verdict and five more
ANSWERING = ("preferred", "rated", "ranked", "ties", "probes", "compare", "choice", "leaderboard")  # in this order
LEADING = ("advice", "limits")  # sections of the first screen
UNSHOWN = ("dictionary",)  # in Markdown and in the papers' kit alone
REPORTED = {question.reported: question for question in QUESTIONS if question.reported}
ON_VOTES = (
    *("preferred", "ties", "raters", "compare"),
    *(key for key, question in REPORTED.items() if question.is_on_votes),
)
UNPRINTED = ("ties", "excluded", "probes", "variance", "raters", "done", "reviewers", "dictionary")  # not in report.tex
ON_TIES = (({"winner": ":tie"}, "pairs where a tie has most votes"),)
ON_AGREEMENT = (
    ({"agreement": "split"}, "pairs without a majority"),
    ({"agreement": "all"}, "pairs on which all raters agree"),
)


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that the page, the Markdown and the LaTeX show."""

    title: str
    study: Study
    findings: tuple[str, ...]
    picture: RowFigure | None
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    samples: tuple[Mapping[str, Any], ...]
    document: Mapping[str, Any]  # report.json
    answers: VotesAnswers

    @property
    def verdict(self) -> str:
        """The answer to the study's question, in a sentence."""
        return self.findings[0]

    @property
    def more(self) -> tuple[str, ...]:
        """The other findings of the first screen."""
        return self.findings[1:]

    @property
    def leading(self) -> tuple[Section, ...]:
        """What would make the answer more certain, and what it cannot tell."""
        return tuple(section for key in LEADING for section in self.sections if section.key == key)

    @property
    def folded(self) -> tuple[Section, ...]:
        """All that is read on demand, a question each."""
        return tuple(section for section in self.sections if section.key not in (*LEADING, *UNSHOWN))

    @property
    def figures(self) -> tuple[RowFigure, ...]:
        """Every figure of the page, in its order."""
        first = (self.picture,) if self.picture else ()
        of_sections = (figure for section in self.sections for figure in section.figures)
        return (*first, *(figure for figure in of_sections if figure is not self.picture))

    @property
    def material(self) -> KitSource:
        """What the paper kit is made of."""
        recipe = " ".join(self.study.recipes.values()) or self.title
        return KitSource(self.study, self.answers, tuple(in_paper(self.sections)), self.figures, recipe)


def build_report(
    study: Study,
    *,
    title: str | None = None,
    margin: float | None = None,
    clusters: str = "auto",
    paper: str = "",
    browse: str = "",
) -> Report:
    """Everything that the study holds; `margin` is the net preference, as a share, that was stated to matter.

    `clusters` says which votes hang together, as in the commands; `paper` names the folder of the paper kit, if there
    is one, as the page is to link it, and `browse` the page of all pairs.
    """
    compared, numbers = comparison.answer_study(study, clusters)
    panels = [row.panel for row in compared.panels] if compared else []
    methods = [row.method for row in compared.methods] if compared else []
    pairs = [(row.panel, row.order) for row in compared.trained_orders] if compared else []
    votes = votes_answers(study, margin, clusters)
    above, below = (compared.above, compared.below) if compared else ((), ())
    sentences = findings.list_findings(votes, methods, above, below)
    if study.votes is None and study.ratings is None:
        sentences += order_verdicts([order for _, order in pairs], compared.trained if compared else ())
    request = ReportRequest(study, clusters, panels, compared.left_out if compared else ())
    answers = {"discriminators": discriminators.in_report(request)}
    answers |= {key: ask_question(key, request) for key in REPORTED}
    sentences += discriminators.findings(answers["discriminators"].answer)
    sentences = sentences[:FINDINGS] or ["Nothing yet: the study holds too little data."]
    limits = [*findings.list_limitations(study, methods), *votes.refusals]
    planned, questions = write_advice(study, votes.preference, panels, pairs), fill_checklist(study, votes, panels)
    excluded = without_rules(study, margin, clusters)
    questions += asked_of_judges(answers["judge"].answer)
    parts = [
        Section("advice", "What would make the results more certain", items=tuple(planned)) if planned else None,
        Section("limits", "What this study cannot tell", items=tuple(limits)) if limits else None,
        preference.section(votes.preference) if votes.preference else None,
        ratings.section(votes.rated) if votes.rated else None,
        ties.section(votes.ties, study) if votes.ties else None,
        exclusion_section(excluded, votes),
        comparison.section(compared),
        probes.section(study.scores.values, panels, above, below) if study.scores else None,
        agreement.section(votes.agreement, study),
        *(reported.section for reported in answers.values()),
        done_section(study, panels),
        reviewers_section(questions),
        dictionary_section(study),
    ]
    shown_sections = sorted((part for part in parts if part is not None), key=lambda part: place_of(part.key))
    document = {
        "title": title or title_of(study, votes),
        "findings": sentences,
        "limitations": limits,
        "advice": planned,
        **votes.documents(),
        "excluded": exclusion_document(excluded, votes),
        "comparison": numbers,
        **{name: reported.document for name, reported in answers.items()},
        "methods": numbers["methods"] if numbers else [],
        "recipes": dict(study.recipes),
        "version": VERSION,
        "orders": [order for _, order in pairs],
        "checklist": questions,
    }
    given_elsewhere = () if study.votes is None else study.votes.warnings  # what was left out, under "What was done"
    sections = _spell_commands(_mark_judges(without_repeats(shown_sections, [*given_elsewhere, *limits]), study))
    full_report = Report(
        title=document["title"],
        study=study,
        findings=tuple(sentences),
        picture=answering_figure(sections),
        facts=tuple(count_facts(study, panels)),
        sections=sections,
        samples=_sample_pairs(study),
        document=to_plain(document),
        answers=votes,
    )
    if browse:
        full_report = replace(full_report, sections=with_pairs_behind(full_report.sections, votes, browse))
    return _with_kit(full_report, paper) if paper else full_report


def ask_question(key: str, request: ReportRequest) -> Reported:
    """A question's section, numbers and answer; nothing where the study has nothing to answer it by."""
    question = REPORTED[key]
    home = question.module
    try:
        answer = home.in_report(request)
    except InputError as error:
        if question.unknown is None:
            raise
        reason = str(error).replace(f"{request.study.folder}/", "")
        return Reported(home.section(None, f"{question.unknown} {reason}")) if question.unknown else Reported()
    return Reported() if answer is None else Reported(home.section(answer), home.document(answer), answer)


def place_of(key: str) -> int:
    """The place of a section on the page."""
    return ORDER.index(key if key in ORDER else LAST_QUESTION)


def answering_figure(sections: Sequence[Section]) -> RowFigure | None:
    """The figure that answers the study's question: the first one of the first of these sections that has any."""
    figures = {section.key: section.figures[0] for section in sections if section.figures}
    return next((figures[key] for key in ANSWERING if key in figures), None)


def _with_kit(full_report: Report, folder: str) -> Report:
    """The same with the section that leads to the paper kit, before the checklist of reviewers."""
    section = paper_section(full_report.study, full_report.answers, folder, len(full_report.figures))
    if section is None:
        return full_report
    place = next(
        (k for k, member in enumerate(full_report.sections) if member.key == "reviewers"), len(full_report.sections)
    )
    return replace(full_report, sections=(*full_report.sections[:place], section, *full_report.sections[place:]))


def without_repeats(sections: Sequence[Section], cautions_elsewhere: Sequence[str]) -> tuple[Section, ...]:
    """The same sections with every caution given once, where it comes first."""
    cautions, sections_kept = set(cautions_elsewhere), []
    for section in sections:
        sections_kept.append(replace(section, notes=tuple(note for note in section.notes if note not in cautions)))
        cautions.update(section.notes)
    return tuple(sections_kept)


def _spell_commands(sections: Sequence[Section]) -> tuple[Section, ...]:
    """The same sections, whose sentences name commands as this person types them."""

    def spell_texts(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(as_typed, texts))

    return tuple(
        replace(
            section, text=spell_texts(section.text), items=spell_texts(section.items), notes=spell_texts(section.notes)
        )
        for section in sections
    )


def _mark_judges(sections: Sequence[Section], study: Study) -> tuple[Section, ...]:
    """The same sections, where those on votes name the judges, if any are counted as raters, in tables and figures."""
    by = study.voters
    return tuple(
        replace(
            section,
            inline=tuple(marked_table(table, by) for table in section.inline),
            tables=tuple(marked_table(table, by) for table in section.tables),
            figures=tuple(_add_judges_footnote(figure, study) for figure in section.figures),
        )
        if section.key in ON_VOTES
        else section
        for section in sections
    )


def _add_judges_footnote(figure: RowFigure, study: Study) -> RowFigure:
    """The figure with the judges in its caption."""
    if not (judges := judges_caption(study.voters)):
        return figure
    return replace(figure, caption=f"{figure.caption} {judges}.".lstrip())


def title_of(study: Study, votes: VotesAnswers) -> str:
    """The question that the study answers."""
    if votes.rated is not None:
        return ratings.ask_title(votes.rated)
    answer = votes.preference
    if answer is None:
        return "What do probes and metrics say?" if study.votes is None else "How many ties, and with what certainty?"
    pairs = [(contrast.first, contrast.second) for contrast in answer.preferences]
    names = {
        name for pair in (*pairs, *((contrast.first, contrast.second) for contrast in answer.untested)) for name in pair
    }
    # By the pairs, not the names: `gpt-3` and `gpt-4` are no seeds of one model.
    real = [side for pair in study.pairs if pair.kind == "real" for side in (pair.a, pair.b)]
    models = {side.model for side in real}
    if len(models) == 1 and all(side.seed is not None for side in real):
        return f"Do {'two' if len(names) == 2 else len(names)} seeds of {models.pop()} differ?"
    if len(names) == 2 and answer.preferences:
        return f"Is {answer.led[0].first} preferred to {answer.led[0].second}?"
    return f"Which of {len(names)} systems is preferred?"


def _join_numbers(value: Any) -> Any:
    """Numbers and their per cent on one line; what is markup already, such as the script, stays to the letter."""
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return value.replace(" %", "\N{NO-BREAK SPACE}%") if is_text else value


def render_page(full_report: Report) -> str:
    """The self-contained HTML page."""
    study, numbers, first = full_report.study, {}, 1
    for section in full_report.folded:
        numbers[section.key], first = first, first + len(section.tables)
    style, script = ((TEMPLATES / "report" / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    return (
        load_templates(_join_numbers)
        .get_template("report/report.html")
        .render(
            report=full_report,
            all_simulated=_all_simulated(study),
            not_people=_not_people(study),
            numbers=numbers,
            version=VERSION,
            folder=study.name,
            embed=embed_images(study.folder),
            style=style,
            script=script,
            # Places within figures are styles of their elements, which no hash can name.
            policy=f"default-src 'none'; script-src '{hash_source(script)}'; style-src 'unsafe-inline'; img-src data:; "
            "base-uri 'none'; form-action 'none'",
        )
    )


def as_markdown(full_report: Report) -> str:
    """The same without pictures: their numbers stand in the tables."""
    parts = [
        f"# {markdown_text(full_report.title)}",
        ", ".join(f"{number} {noun}" for number, noun in full_report.facts),
    ]
    parts += [f"**{sentence}**" for sentence in _not_people(full_report.study)]
    parts += [f"**{markdown_text(full_report.verdict)}**", "## What was found", _list_sentences(full_report.more)]
    for section in full_report.sections:
        parts += [f"## {markdown_text(section.title)}", *map(markdown_text, section.text)]
        parts += [_list_sentences(section.items)] if section.items else []
        parts += [write_markdown(table) for table in (*section.inline, *section.tables) if not table.folded]
        parts += [_list_sentences([f"{address}: {what}" for address, what in section.links])] if section.links else []
        parts += [_link_pairs(section.behind)] if section.behind else []
        parts += map(markdown_text, section.notes)
    return "\n\n".join([*parts, f"Written by Seedvote {VERSION}."]) + "\n"


def _all_simulated(study: Study) -> bool:
    voters, rated = study.voters, study.ratings
    if rated is not None:
        return rated.simulated == len(rated)
    return voters is not None and voters.simulated == voters.votes


def _not_people(study: Study) -> list[str]:
    return not_people(study.voters) if study.ratings is None else study.ratings.not_of_people


def _link_pairs(links: Sequence[tuple[str, str]]) -> str:
    return f"The pairs behind these numbers: {', '.join(f'[{markdown_text(what)}]({where})' for where, what in links)}."


def _list_sentences(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {markdown_text(sentence)}" for sentence in sentences)


def as_latex(full_report: Report) -> str:
    """The tables that a paper takes over."""
    return write_latex(
        in_paper(full_report.sections), recipe=" ".join(full_report.study.recipes.values()) or full_report.title
    )


def in_paper(sections: Sequence[Section]) -> list[Table]:
    """The tables that a paper takes over."""
    tables = [table for section in sections if section.key not in UNPRINTED for table in section.tables]
    return [table for table in tables if table.rows and not table.folded and not table.wide]


def _sample_pairs(study: Study) -> tuple[Mapping[str, Any], ...]:
    answers: dict[str, list[Any]] = {}
    for response in study.responses:
        responses_to_item = answers.setdefault(response.item, [])
        if (response.model, response.seed) not in {
            (earlier.model, earlier.seed) for earlier in responses_to_item
        }:  # the first draw
            responses_to_item.append(response)
    samples: dict[str, Mapping[str, Any]] = {}
    for pair in study.pairs:
        if pair.item in answers and pair.item not in samples and pair.kind == "real" and len(samples) < SAMPLES:
            samples[pair.item] = {"item": pair.item, "context": pair.context, "responses": answers[pair.item]}
    return tuple(samples.values())


def with_pairs_behind(sections: Sequence[Section], answers: VotesAnswers, page: str) -> tuple[Section, ...]:
    """The same sections; those on votes lead to their pairs on `page`."""
    choices = {"preferred": _list_comparisons(answers), "ties": ON_TIES, "raters": ON_AGREEMENT}
    links = {key: tuple((address_of(choice, page), words) for choice, words in rows) for key, rows in choices.items()}
    return tuple(replace(section, behind=links.get(section.key, ())) for section in sections)


def _list_comparisons(answers: VotesAnswers) -> list[tuple[dict[str, str], str]]:
    """Every two systems, the first ones of very many."""
    if answers.preference is None or not answers.preference.known:
        return []
    answer = answers.preference
    contrasts = [(contrast.first, contrast.second) for contrast in answer.preferences]
    contrasts += [(contrast.first, contrast.second) for contrast in answer.untested]
    return [
        ({"system": first, "against": second, "kind": "real"}, f"{first} against {second}")
        for first, second in contrasts[:MOST_ROWS]
    ]
