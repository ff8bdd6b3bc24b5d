"""A plan in words: tables of votes and money, what a study of this size can show, and whether to stop.

`document` has the stable keys of `--json`; `parts` are the tables and sentences of terminal and notebook.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from analysis.planning.answer import Effort, PlanAnswer
from analysis.planning.stopping import FIRST_LOOK, Look
from analysis.showing.tables import Table
from analysis.showing.words import number, percent, plain


def document(answer: PlanAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    crowd = {**asdict(answer.crowd), "design_effect": answer.crowd.design_effect, "source": _source(answer)}
    found = {
        "assumptions": {**crowd, **asdict(answer.question)},
        "study": asdict(answer.study),
        "difference": [
            {"difference": row.difference, "votes": row.votes, **asdict(row.effort),
             "anytime_most": row.peeking.most, "anytime_mean": row.peeking.mean}
            for row in answer.differences
        ],
        "equivalence": [{"margin": row.margin, "votes": row.votes, **asdict(row.effort)} for row in answer.margins],
        "seeds": [asdict(row) for row in answer.seeds],
        "running": [_look(look, answer) for look in answer.looks],
        "warnings": answer.warnings,
        "signature": answer.signature,
    }  # fmt: skip
    return dict(plain(found))


def _source(answer: PlanAnswer) -> str:
    """Where the numbers about the crowd come from."""
    if answer.measured is None:
        return "assumed"
    return ", ".join([f"measured on {answer.measured} votes", *answer.unmeasured])


def _look(look: Look, answer: PlanAnswer) -> dict[str, Any]:
    place = {"first": look.first, "second": look.second, "votes": look.votes, "betting": asdict(look.bet)}
    now = {} if look.now is None else asdict(look.now)
    return {**place, **now, "decision": _decision(look), "reason": _reason(look, answer)}


def _decision(look: Look) -> str:
    return "stop" if look.verdict in ("preferred", "alike") else "go on"


def _reason(look: Look, answer: PlanAnswer) -> str:
    if look.verdict == "too early":
        return f"{look.clusters} clusters so far; the first look comes at {FIRST_LOOK}"
    if look.verdict == "no spread":
        return "all votes of this comparison are the same"
    if look.verdict == "preferred":
        return f"{look.leader} is preferred"
    if look.verdict == "alike":
        return f"the two are equivalent within {answer.question.margin:g}"
    return "neither a difference nor equivalence is shown yet" if answer.stated else "no difference yet"


def parts(answer: PlanAnswer) -> list[Table | str]:
    """Tables and sentences for people, the recipe last."""
    crowd, study, question = answer.crowd, answer.study, answer.question
    return [
        f"The crowd ({_source(answer)}): {percent(crowd.ties)} ties; {crowd.per_pair:.3g} votes per pair (ICC "
        f"{crowd.pair_icc:.3f}); {crowd.per_rater:.3g} votes per rater (ICC {crowd.rater_icc:.3f}); design effect "
        f"{crowd.design_effect:.2f}.",
        f"{study.votes} votes are worth {study.effective_votes:.0f} independent votes. With power {question.power:g} "
        f"they can show a net preference of {number(study.difference_clustered)} or more "
        f"({number(study.difference)} with independent votes), or that two equal systems are equivalent within "
        f"{number(study.margin_clustered)} ({number(study.margin)}). Their power to tell {percent(crowd.ties)} ties "
        f"from the 1/3 of random clicking is {number(study.chance_power, 2)}.",
        *_tables(answer),
        *(_look_text(look, answer) for look in answer.looks),
        *answer.warnings,
        answer.signature,
    ]


def _look_text(look: Look, answer: PlanAnswer) -> str:
    now, bet = look.now, look.bet
    seen = ""
    if now is not None:
        seen = f"; e-value {now.e:.3g}, always-valid interval {number(now.low)} to {number(now.high)}"
    return (
        f"{look.first} against {look.second}, {look.votes} votes: {_decision(look)} ({_reason(look, answer)}{seen}). "
        f"The exact betting test on {bet.pairs} pairs, which ignores raters: e-value {bet.e:.3g}, interval "
        f"{number(bet.low)} to {number(bet.high)}."
    )


def _tables(answer: PlanAnswer) -> list[Table]:
    paid = answer.question.price is not None
    head = ["independent votes", "votes of this crowd", "pairs", "raters", *(["dollars"] if paid else [])]
    shown = [
        [number(row.difference), f"{row.votes:,}", *_effort(row.effort), f"{row.peeking.most:,}",
         f"{row.peeking.mean:,.0f}"]
        for row in answer.differences
    ]  # fmt: skip
    peeking = ["most votes, stopping early", "mean votes, stopping early"]
    tables = [Table(["net preference", *head, *peeking], shown, "Votes needed to show a difference")]
    shown = [[number(row.margin), f"{row.votes:,}", *_effort(row.effort)] for row in answer.margins]
    tables.append(Table(["margin", *head], shown, "Votes needed to show that two systems are equivalent"))
    if answer.seeds:
        shown = [[f"{row.difference:.4g}", f"{row.in_sd:g}", str(row.seeds)] for row in answer.seeds]
        tables.append(Table(["difference", "in SDs over seeds", "seeds"], shown, "Seeds needed per architecture"))
    return tables


def _effort(effort: Effort) -> list[str]:
    money = [] if effort.money is None else [f"{effort.money:,.0f}"]
    return [f"{effort.votes_clustered:,}", f"{effort.pairs:,}", f"{effort.raters:,}", *money]
