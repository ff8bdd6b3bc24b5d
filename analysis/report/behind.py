"""From the numbers of the report to the pairs behind them: addresses on the page of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seedvote.analysis.questions.browse.page import address_of
from seedvote.analysis.report.answers import VotesAnswers
from seedvote.analysis.showing.page import Section
from seedvote.analysis.showing.tables import MOST_ROWS

ON_TIES = (({"winner": ":tie"}, "pairs where a tie has most votes"),)
ON_AGREEMENT = (
    ({"agreement": "split"}, "pairs without a majority"),
    ({"agreement": "all"}, "pairs on which all raters agree"),
)


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
