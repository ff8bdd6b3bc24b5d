"""What is odd or missing in a table of votes, in plain words: said with every result, never guessed away."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.reading.votes import Ints, Votes
from analysis.showing.words import count
from analysis.stats.intervals import crossed, groups


def cautions(votes: Votes, errors: Mapping[str, float]) -> list[str]:
    """One sentence for each thing to know before quoting a number; `errors` are standard errors by unit."""
    said = [*_about_rounds(votes), *_about_raters(votes), *_about_dialogues(errors)]
    if len(votes) == 1:
        said.append("One vote has no interval.")
    if simulated := votes.source.get("simulated", 0):
        said.append(f"{simulated:,} of {count(len(votes), 'vote')} came from simulated raters.")
    return said


def _about_rounds(votes: Votes) -> list[str]:
    if votes.round is None:
        return ["The votes have no round column, so HumanExp-1, 2, ... cannot be told apart: only pooled results."]
    said, counted = [], votes.round > 0
    if len(set(np.unique(votes.round[counted], return_counts=True)[1].tolist())) > 1:
        said.append("The experiments have different numbers of votes.")
    if twice := _repeated(votes.pair[counted], votes.round[counted]):
        said.append(f"Beyond the one vote a pair that HumanExp-k has, there are {count(twice, 'vote')} in some round.")
    return said


def _about_raters(votes: Votes) -> list[str]:
    if votes.rater is None:
        return ["The votes have no rater column, so no interval knows what raters share: all may be too narrow."]
    if groups(votes.rater) == 1 and len(votes) > 1:
        return ["All votes are one rater's, so no interval says what other raters would have voted."]
    if twice := _repeated(votes.pair, votes.rater):
        return [f"Raters met a pair that they had voted on before in {count(twice, 'vote')}."]
    return []


def _about_dialogues(errors: Mapping[str, float]) -> list[str]:
    if "dialogue" not in errors or errors["dialogue"] <= 1.05 * errors["pair"]:
        return []
    return [
        f"Votes of one dialogue are alike beyond their pair (standard error by dialogue {errors['dialogue']:.4f}, "
        f"by pair {errors['pair']:.4f}), so intervals by pair are somewhat narrow; see the row by dialogue."
    ]


def _repeated(first: Ints, second: Ints) -> int:
    return len(first) - groups(crossed([first, second]))
