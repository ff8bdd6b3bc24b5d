"""references.bib: the tool, the study it carries out, and the methods whose numbers this report shows; nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator

from seedvote.analysis.report.answers import VotesAnswers
from seedvote.dialogue.shipped import shipped
from seedvote.dialogue.signature import VERSION

TOOL = "seedvote"
# Key: kind of publication, fields. `short` is how a sentence on the page names it.
METHODS: dict[str, tuple[str, dict[str, str]]] = {
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


def list_cited_keys(answers: VotesAnswers) -> tuple[str, ...]:
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
    entries = [_cite_tool(), *_cite_studies(), *(_format_entry(key, *METHODS[key]) for key in list_cited_keys(answers))]
    return "\n\n".join(entries) + "\n"


def _format_entry(key: str, kind: str, fields: dict[str, str]) -> str:
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}\n}}"


def _cite_tool() -> str:
    """CITATION.cff's own entry."""
    text = shipped("CITATION.cff").read_text(encoding="utf-8").split("references:")[0]
    title, name = (re.findall(rf'{field}: "?(.*?)"?$', text, re.M)[0] for field in ("^title", "name"))
    return _format_entry(TOOL, "software", {"author": f"{{{name}}}", "title": f"{{{title}}}", "version": VERSION})


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
