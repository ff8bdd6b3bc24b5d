"""A plan in words: tables of votes and money, what a study of this size can show, and whether to stop.

`document` has the stable keys of `--json`; `parts` are the tables and sentences of terminal and notebook.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from analysis.planning.answer import Effort, PlanAnswer
from analysis.planning.helped import HelpedRow
from analysis.planning.stopping import Look
from analysis.showing.tables import MOST_ROWS, Table, in_short
from analysis.showing.words import count, number, percent, plain
from analysis.stats.sequential import FEWEST_CLUSTERS
from analysis.votes.voters import marked_parts, not_people

IN_SENTENCES = 3  # comparisons; more are told in a table


def document(answer: PlanAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    named = {name: value for name, value in asdict(answer.crowd).items() if name not in ("effect", "largest")}
    crowd = {**named, "design_effect": answer.crowd.design_effect, "source": _source(answer)}
    found = {
        "assumptions": {**crowd, **asdict(answer.question)},
        "study": {**asdict(answer.study), "clusters": answer.crowd.clusters(answer.study.votes)},
        "difference": [
            {"difference": row.difference, "votes": row.votes, **asdict(row.effort),
             "anytime_most": row.peeking.most, "anytime_mean": row.peeking.mean}
            for row in answer.differences
        ],
        "equivalence": [{"margin": row.margin, "votes": row.votes, **asdict(row.effort)} for row in answer.margins],
        "seeds": [asdict(row) for row in answer.seeds],
        "judge": None if answer.helper is None else {
            **asdict(answer.helper), "rows": [{**asdict(row), **_paid(row, answer)} for row in answer.helped],
        },
        "running": [_look(look, answer) for look in answer.looks],
        "voters": None if answer.voters is None else asdict(answer.voters),
        "warnings": [*not_people(answer.voters), *answer.warnings],
        "signature": answer.signature,
    }  # fmt: skip
    return dict(plain(found))


def _source(answer: PlanAnswer) -> str:
    """Where the numbers about the crowd come from."""
    if answer.measured is None:
        return "assumed"
    return ", ".join([f"measured on {count(answer.measured, 'vote')}", *answer.unmeasured])


def _look(look: Look, answer: PlanAnswer) -> dict[str, Any]:
    place = {"first": look.first, "second": look.second, "votes": look.votes, "clusters": look.clusters,
             "rarest": look.kind, "alpha": look.alpha}  # fmt: skip
    now = {} if look.now is None else asdict(look.now)
    bet = None if look.bet is None else asdict(look.bet)
    return {**place, "betting": bet, **now, "decision": _decision(look), "reason": _reason(look, answer)}


def _decision(look: Look) -> str:
    return "stop" if look.verdict in ("preferred", "alike") else "go on"


def _reason(look: Look, answer: PlanAnswer) -> str:
    if look.verdict == "one rater":
        return "all votes are one rater's, which says nothing about other people"
    if look.verdict == "no raters named":
        return "no raters are named, and all votes may be one person's; name their column: --columns rater=..."
    if look.verdict == "too early":
        return f"{look.clusters:.3g} effective {look.kind}s so far; nothing is decided below {FEWEST_CLUSTERS}"
    if look.verdict == "preferred":
        return f"{look.leader} is preferred"
    if look.verdict == "alike":
        return f"the two are equivalent within {answer.question.margin:g}"
    return "neither a difference nor equivalence is shown yet" if answer.stated else "no difference is shown yet"


def parts(answer: PlanAnswer) -> list[Table | str]:
    """Tables and sentences for people, the recipe last."""
    shown = marked_parts(
        [_crowd(answer), _study(answer), *_tables(answer), *_helped(answer), *_looks(answer)], answer.voters
    )
    return [*shown, *not_people(answer.voters), *answer.warnings, answer.signature]


def _crowd(answer: PlanAnswer) -> str:
    crowd = answer.crowd
    alike = "" if crowd.per_dialogue == 1 else f" (correlation {number(crowd.dialogue_icc)})"
    work = "equal work" if crowd.rater_cv == 0 else f"SD of their work {crowd.rater_cv:.2f} times its mean"
    return (
        f"{percent(crowd.ties)} ties, {_about(crowd.per_pair, 'vote')} per pair (correlation "
        f"{number(crowd.pair_icc)}), {_about(crowd.per_dialogue, 'pair')} per dialogue{alike}, "
        f"{_about(crowd.per_rater, 'vote')} per rater (correlation {number(crowd.rater_icc)}; {work}): "
        f"{_source(answer)}. Design effect {crowd.design_effect:.2f}."
    )


def _about(mean: float, thing: str) -> str:
    return f"{mean:.3g} {thing}" + ("" if mean == 1 else "s")


def _known_from(clusters: float) -> str:
    """Effective clusters of the rarest kind; busy raters may each give more votes than the study has."""
    return "less than one effective cluster" if clusters < 1 else f"{clusters:.3g} effective clusters"


def _study(answer: PlanAnswer) -> str:
    crowd, study, question = answer.crowd, answer.study, answer.question
    seen = "no net preference" if study.difference_clustered is None else (
        f"a net preference of {number(study.difference_clustered)} or more"
    )  # fmt: skip
    alike = "no two systems to be equivalent" if study.margin_clustered is None else (
        f"two equal systems to be equivalent within {number(study.margin_clustered)}"
    )  # fmt: skip
    return (
        f"{count(study.votes, 'vote')} have the error of {count(round(study.effective_votes), 'independent vote')}, "
        f"known from {_known_from(crowd.clusters(study.votes))}. With power {question.power:g} they "
        f"show {seen} ({number(study.difference)} if votes were independent), and {alike} ({number(study.margin)}). If "
        f"votes were independent, their power to tell {percent(crowd.ties)} ties from the 1/3 of random clicking would "
        f"be {number(study.chance_power, 2)}."
    )


def _looks(answer: PlanAnswer) -> list[Table | str]:
    """Whether each comparison may stop, and what that costs in false alarms."""
    looks, alpha = answer.looks, answer.question.alpha
    if not looks:
        return []
    over = "" if len(looks) == 1 else f", over all {len(looks):,} comparisons together"
    rule = f"However often you look, a false stop happens in at most {100 * alpha:g} % of studies{over}."
    if taken := next((look.taken for look in looks if look.taken), ""):
        rule += (
            f" This holds only if votes hang together by nothing but what --clusters {taken} names; votes of one rater "
            "or on one dialogue usually do."
        )
    if len(looks) > IN_SENTENCES:
        return [_look_table(answer), rule]
    return [*(_look_text(look, answer) for look in looks), rule]


def _look_text(look: Look, answer: PlanAnswer) -> str:
    now, bet, reason = look.now, look.bet, _reason(look, answer)
    text = f"{look.first} against {look.second}, {count(look.votes, 'vote')}: {_decision(look)} ({reason}). "
    if now is not None:
        text += (
            f"Net preference {number(now.estimate)}, always-valid interval {number(now.low)} to {number(now.high)}, "
            f"e-value {now.e:.3g} ({1 / look.alpha:g} or more stops), from {look.clusters:.3g} effective {look.kind}s. "
        )
        if look.unanimous:
            text += f"All votes are the same, so this rests on the {look.kind}s, not on the number of votes. "
    if bet is not None and now is not None:
        text += (
            f"An exact bet, which decides nothing, on the {count(bet.votes, 'vote')} that share no rater and no "
            f"dialogue: e-value {bet.e:.3g}, "
            f"interval {number(bet.low)} to {number(bet.high)}. "
        )
        if bet.stop is not None and bet.e < 1 / look.alpha:
            text += f"It had passed {1 / look.alpha:g} after {count(bet.stop, 'vote')}; its interval never widens. "
    return text.rstrip()


def _look_table(answer: PlanAnswer) -> Table:
    head = ["first", "second", "votes", "now", "net preference", "always-valid interval", "e-value", "reason"]
    rows = []
    many = len(answer.looks) > MOST_ROWS
    for look in sorted(answer.looks, key=lambda one: -one.votes) if many else answer.looks:
        now = look.now
        seen = ["-", "-", "-"] if now is None else [
            number(now.estimate), f"{number(now.low)} to {number(now.high)}", f"{now.e:.3g}"
        ]  # fmt: skip
        rows.append([look.first, look.second, f"{look.votes:,}", _decision(look), *seen, _reason(look, answer)])
    caption = f"Whether each comparison may stop (an e-value of {1 / answer.looks[0].alpha:g} stops)"
    return in_short(Table(head, rows, caption, wide=True), "comparisons", "with the most votes")[0]


def _tables(answer: PlanAnswer) -> list[Table | str]:
    paid = answer.question.price is not None
    head = ["independent votes", "votes of this crowd", "pairs", "raters", *(["dollars"] if paid else [])]
    shown = [
        [number(row.difference), f"{row.votes:,}", *_effort(row.effort), f"{row.peeking.most:,}",
         f"{row.peeking.mean:,.0f}"]
        for row in answer.differences
    ]  # fmt: skip
    peeking = ["most votes, stopping early", "mean votes, stopping early"]
    tables: list[Table | str] = []
    if answer.question.difference >= 1 - answer.crowd.ties:
        tables.append(
            f"No net preference reaches {answer.question.difference:g} with {percent(answer.crowd.ties)} ties: the "
            f"most is {number(1 - answer.crowd.ties)}. Ask for a smaller --difference."
        )
    if shown:
        tables.append(Table(["net preference", *head, *peeking], shown, "Votes needed to show a difference"))
    shown = [[number(row.margin), f"{row.votes:,}", *_effort(row.effort)] for row in answer.margins]
    tables.append(Table(["margin", *head], shown, "Votes needed to show that two systems are equivalent"))
    if answer.seeds:
        shown = [[f"{row.difference:.4g}", f"{row.in_sd:g}", str(row.seeds)] for row in answer.seeds]
        tables.append(
            Table(
                ["difference", "in SDs over seeds", "seeds"],
                shown,
                "Seeds needed per architecture, if items are so many that they add no error",
            )
        )
    return tables


def _helped(answer: PlanAnswer) -> list[Table | str]:
    """What a judge on further pairs spares."""
    helper = answer.helper
    if helper is None or not answer.helped:
        return []
    named = {"difference": "a net preference of", "margin": "equivalence within"}
    shown = [
        [f"{named[row.shows]} {number(row.value)}", f"{row.votes:,}", f"{row.with_judge:,}",
         f"{row.votes - row.with_judge:,}", number(row.gain, 2), *_dollars(row, answer)]
        for row in answer.helped
    ]  # fmt: skip
    paid = ["dollars without a judge", "with it", "of these its verdicts"] if helper.price is not None else []
    further = f"{count(helper.unlabelled, 'pair')} more, on which nobody votes"
    table = Table(
        ["to show", "votes without a judge", "votes with it", "spared", "gain", *paid],
        shown,
        f"A judge whose verdicts correlate {helper.correlation:g} with people's pair means, on the same pairs and "
        f"{further}",
    )
    said = (
        f"Raters make {percent(helper.rater_share, 0)} of the variance, which no judge lowers: the gain is "
        f"{number(helper.gain(0), 2)} at most, however many pairs it rules on."
    )
    doubtful = [row for row in answer.helped if helper.correlation < row.least]
    if doubtful:
        row = max(doubtful, key=lambda one: one.least)
        said += (
            f" With {count(row.with_judge, 'vote')} a correlation under {number(row.least, 2)} makes the estimate "
            "worse, not better: there, plan without the judge."
        )
    if helper.price is not None:
        said += f" {_what_it_saves(answer)}"
    return [table, said]


def _paid(row: HelpedRow, answer: PlanAnswer) -> dict[str, float | None]:
    """What the votes cost without the judge, and votes and verdicts with it; nothing where no price is given."""
    votes, fewer = (answer.question.money(some) for some in (row.votes, row.with_judge))
    both = None if fewer is None or row.verdicts is None else fewer + row.verdicts
    return {"money": votes, "money_with_judge": both}


def _dollars(row: HelpedRow, answer: PlanAnswer) -> list[str]:
    if row.verdicts is None:
        return []
    money = _paid(row, answer)
    return [f"{money['money']:,.0f}", f"{money['money_with_judge']:,.0f}", f"{row.verdicts:,.0f}"]


def _what_it_saves(answer: PlanAnswer) -> str:
    money = [_paid(row, answer) for row in answer.helped]
    cheaper = sum((one["money_with_judge"] or 0) < (one["money"] or 0) for one in money)
    if cheaper == len(money):
        return "With its verdicts paid, the study costs less in every row."
    if not cheaper:
        return "With its verdicts paid, the study costs no less in any row: plan without the judge."
    return f"With its verdicts paid, the study costs less in {cheaper} of {len(money)} rows; where it does not, plan " \
           "without the judge."  # fmt: skip


def _effort(effort: Effort) -> list[str]:
    money = [] if effort.money is None else [f"{effort.money:,.0f}"]
    return [f"{effort.votes_clustered:,}", f"{effort.pairs:,}", f"{effort.raters:,}", *money]
