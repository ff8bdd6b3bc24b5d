"""The methods paragraph and references.bib, both of this study alone.

The sentences are true of this study, with its own numbers; what is not known is not said. Cited are the tool, the study
it carries out, and the methods whose numbers this report shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from seedvote.analysis.questions.agreement.showing import spell_interval
from seedvote.analysis.questions.preference.answer import Preference, PreferenceAnswer
from seedvote.analysis.questions.preference.showing import spell_clusters, spell_points
from seedvote.analysis.report.answers import VotesAnswers
from seedvote.analysis.showing.tables import latex_text
from seedvote.analysis.showing.words import count, p_equals, percent, signed
from seedvote.analysis.votes.cautions import not_people, voters
from seedvote.analysis.votes.study import Study
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.shell.wording import shipped
from seedvote.dialogue.signature import VERSION

MOST_COMPARISONS = 3  # in a sentence; more are a table
_TOOL = "seedvote"
# Key: kind of publication, fields. `short` is how a sentence on the page names it.
_METHODS: dict[str, tuple[str, dict[str, str]]] = {
    "fleiss-1971": (
        "article",
        {
            "author": "Fleiss, Joseph L.",
            "title": "Measuring Nominal Scale Agreement among Many Raters",
            "journal": "Psychological Bulletin",
            "volume": "76",
            "number": "5",
            "pages": "378--382",
            "year": "1971",
        },
    ),
    "krippendorff-2004": (
        "book",
        {
            "author": "Krippendorff, Klaus",
            "title": "Content Analysis: An Introduction to Its Methodology",
            "publisher": "Sage",
            "edition": "2nd",
            "year": "2004",
        },
    ),
    "gwet-2008": (
        "article",
        {
            "author": "Gwet, Kilem Li",
            "journal": "British Journal of Mathematical and Statistical Psychology",
            "title": "Computing Inter-Rater Reliability and Its Variance in the Presence of High Agreement",
            "volume": "61",
            "number": "1",
            "pages": "29--48",
            "year": "2008",
        },
    ),
    "hovy-2013": (
        "inproceedings",
        {
            "author": "Hovy, Dirk and Berg-Kirkpatrick, Taylor and Vaswani, Ashish and Hovy, Eduard",
            "title": "Learning Whom to Trust with {MACE}",
            "booktitle": "Proceedings of NAACL-HLT",
            "pages": "1120--1130",
            "year": "2013",
        },
    ),
    "davidson-1970": (
        "article",
        {
            "author": "Davidson, Roger R.",
            "title": "On Extending the {Bradley-Terry} Model to Accommodate Ties in Paired Comparison Experiments",
            "journal": "Journal of the American Statistical Association",
            "volume": "65",
            "number": "329",
            "pages": "317--328",
            "year": "1970",
        },
    ),
    "mogstad-2024": (
        "article",
        {
            "author": "Mogstad, Magne and Romano, Joseph P. and Shaikh, Azeem M. and Wilhelm, Daniel",
            "title": "Inference for Ranks with Applications to Mobility across Neighbourhoods and Academic Achievement "
            "across Countries",
            "journal": "The Review of Economic Studies",
            "volume": "91",
            "number": "1",
            "pages": "476--518",
            "year": "2024",
        },
    ),
    "holm-1979": (
        "article",
        {
            "author": "Holm, Sture",
            "title": "A Simple Sequentially Rejective Multiple Test Procedure",
            "journal": "Scandinavian Journal of Statistics",
            "volume": "6",
            "number": "2",
            "pages": "65--70",
            "year": "1979",
        },
    ),
    "schuirmann-1987": (
        "article",
        {
            "author": "Schuirmann, Donald J.",
            "journal": "Journal of Pharmacokinetics and Biopharmaceutics",
            "title": "A Comparison of the Two One-Sided Tests Procedure and the Power Approach for Assessing the "
            "Equivalence of Average Bioavailability",
            "volume": "15",
            "number": "6",
            "pages": "657--680",
            "year": "1987",
        },
    ),
    "belz-thomson-2025": (
        "inproceedings",
        {
            "author": "Belz, Anya and Thomson, Craig",
            "pages": "60--81",
            "year": "2025",
            "title": "{HEDS} 3.0: The Human Evaluation Data Sheet Version 3.0",
            "booktitle": "Proceedings of the Fourth Workshop on Generation, Evaluation and Metrics (GEM)",
        },
    ),
}


def write_paragraph(study: Study, answers: VotesAnswers) -> tuple[str, ...]:
    """One sentence each, with `[@key]` where a publication is cited."""
    if study.votes is None:
        return ()
    return (
        *_describe_collection(study, study.votes),
        *_describe_ties(answers),
        *_describe_preference(answers.preference),
        *_describe_agreement(answers),
        f"All numbers were computed with Seedvote {VERSION} [@seedvote].",
    )


def as_plain(sentences: tuple[str, ...]) -> str:
    """The paragraph without citations."""
    return re.sub(r" ?\[@[\w@;\s-]+\]", "", " ".join(sentences))


def as_latex_text(sentences: tuple[str, ...]) -> str:
    """The paragraph to paste, one sentence a line, with \\cite commands."""
    return "\n".join(_insert_citations(sentence) for sentence in sentences) + "\n"


def _insert_citations(sentence: str) -> str:
    parts = re.split(r" ?(\[@[\w@;\s-]+\])", sentence)
    keys = (",".join(re.findall(r"@([\w-]+)", part)) for part in parts[1::2])
    words = [latex_text(part).replace(" \\%", "\\,\\%") for part in parts[::2]]
    return "".join([words[0], *(f"~\\cite{{{key}}}{text}" for key, text in zip(keys, words[1:], strict=True))])


def _describe_collection(study: Study, votes: Votes) -> Iterator[str]:
    per = np.bincount(np.unique(votes.pair, return_inverse=True)[1])
    times = f"by {count(int(per[0]), 'rater')}" if per.min() == per.max() else f"{per.min()} to {per.max()} times"
    source = f" from {count(len(votes.dialogues), 'dialogue')}" if votes.dialogues else ""
    raters = 0 if votes.rater is None else len(np.unique(votes.rater))
    is_crossed = per.min() == per.max() == raters  # everybody judged every pair, which `times` says
    people = f" by {count(raters, 'rater')}" if raters and not is_crossed else ""
    labels = [label for k, label in enumerate(votes.labels) if (votes.choice == k).any()]
    yield (
        f"{count(len(per), 'pair')} of responses{source} {'was' if len(per) == 1 else 'were each'} judged {times}, "
        f"which gave {count(len(votes), 'vote')}{people}; the answers given were {_join_words(labels)}."
    )
    yield from not_people(voters(votes))
    if blocked := sum(rater.status == "blocked" for rater in study.raters):
        yield f"{count(blocked, 'rater')} {'was' if blocked == 1 else 'were'} blocked, and no vote of theirs counts."
    if checks := sum(rater.checks_seen for rater in study.raters):
        failed = sum(rater.checks_failed for rater in study.raters)
        yield f"Raters answered {count(checks, 'hidden check')} and failed {failed:,} of them."


def _join_words(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _describe_ties(answers: VotesAnswers) -> Iterator[str]:
    if answers.ties is None or (interval := answers.ties.pooled.interval) is None:
        return
    pooled = answers.ties.pooled
    ways = _join_words([f"{way}s" for way in interval.clusters] or ["votes"])
    yield (
        f"Ties are {percent(pooled.ties / pooled.votes)} of the votes (95 % interval {100 * interval.low:.1f} to "
        f"{100 * interval.high:.1f} %, for new {ways})."
    )


def _describe_preference(answer: PreferenceAnswer | None) -> Iterator[str]:
    if answer is None or not answer.preferences:
        return
    yield (
        "The net preference for a system is the votes for it minus those for the other, in points of all votes; "
        f"intervals and p values allow for new {spell_clusters(answer)}."
    )
    if len(answer.led) <= MOST_COMPARISONS:
        for preference, p in zip(answer.led, answer.adjusted, strict=True):
            yield _describe_comparison(preference, p, len(answer.led) > 1)
    if len(answer.preferences) > 1:
        yield f"P values are adjusted for {count(len(answer.preferences), 'comparison')} [@holm-1979]."
    if any(preference.equivalence for preference in answer.preferences):
        yield "Equivalence was tested by two one-sided tests within a margin stated by the authors [@schuirmann-1987]."
    if answer.ranking is not None and len(answer.matches.systems) > 2:
        yield "Systems are ranked by a model with ties [@davidson-1970], and ranks are confidence sets [@mogstad-2024]."


def _describe_comparison(led: Preference, p: float, several: bool) -> str:
    net = led.net
    significance = f"{p_equals(p)}{' after adjustment' if several else ''}"
    return (
        f"{led.first} against {led.second}: {signed(100 * net.value)} points (95 % interval "
        f"{spell_points(net.low, net.high)}; {significance}; {count(net.n, 'vote')})."
    )


def _describe_agreement(answers: VotesAnswers) -> Iterator[str]:
    agreed = answers.agreement
    if agreed is None or not agreed.comparable or not np.isfinite(agreed.statistics.fleiss_kappa.value):
        return
    kappa = spell_interval(agreed.statistics.fleiss_kappa, 2, "95 % interval ")
    yield f"Agreement between raters is Fleiss' kappa {kappa} [@fleiss-1971]."


def _list_cited_keys(answers: VotesAnswers) -> tuple[str, ...]:
    """The keys of the methods behind the numbers of this report, in the order of their text."""
    preference, agreement = answers.preference, answers.agreement
    keys: list[str] = []
    if preference is not None and preference.preferences:
        keys += ["holm-1979"] if len(preference.preferences) > 1 else []
        keys += ["schuirmann-1987"] if any(contrast.equivalence for contrast in preference.preferences) else []
        keys += ["davidson-1970", "mogstad-2024"] if preference.ranking is not None else []
    if agreement is not None and agreement.comparable:
        keys += ["fleiss-1971", "krippendorff-2004", "gwet-2008"]
        keys += ["hovy-2013"] if agreement.spamming is not None else []
    return (*keys, "belz-thomson-2025")


def write_bibliography(answers: VotesAnswers) -> str:
    """The whole file."""
    entries = [
        _cite_tool(),
        *_cite_studies(),
        *(_format_entry(key, *_METHODS[key]) for key in _list_cited_keys(answers)),
    ]
    return "\n\n".join(entries) + "\n"


def _format_entry(key: str, kind: str, fields: dict[str, str]) -> str:
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}\n}}"


def _cite_tool() -> str:
    """CITATION.cff's own entry."""
    text = shipped("CITATION.cff").read_text(encoding="utf-8").split("references:")[0]
    title, name = (re.findall(rf'{field}: "?(.*?)"?$', text, re.M)[0] for field in ("^title", "name"))
    return _format_entry(_TOOL, "software", {"author": f"{{{name}}}", "title": f"{{{title}}}", "version": VERSION})


def _cite_studies() -> Iterator[str]:
    """The papers whose study the tool carries out, as CITATION.cff names them."""
    _, _, text = shipped("CITATION.cff").read_text(encoding="utf-8").partition("references:")
    for part in re.split(r"^  - type:", text, flags=re.M)[1:]:
        title = re.findall(r'title: "?(.*?)"?$', part, re.M)[0]
        people = re.findall(r"family-names: (.*?), given-names: (.*?)\}", part)
        year, number = re.findall(r"year: (\d+)", part)[0], re.findall(r"arXiv:([\d.]+)", part)[0]
        fields = {"author": " and ".join(", ".join(names) for names in people), "title": f"{{{title}}}", "year": year}
        place = re.findall(r"collection-title: (.*)$", part, re.M)
        kind = "inproceedings" if place else "misc"
        fields |= {"booktitle": place[0]} if place else {}
        yield _format_entry(f"parthasarathi-{year}", kind, {**fields, "eprint": number, "archivePrefix": "arXiv"})
