"""A plan in words and curves: tables of votes and money, what a study of this size can show, and whether to stop."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from seedvote.analysis.arguments import check_help, check_margin, check_ranges
from seedvote.analysis.questions.planning.answer import Effort, HelpedRow, PlanAnswer, answer
from seedvote.analysis.questions.planning.stopping import QUANTILES, Decision, Look, decide_questions
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import MOST_ROWS, Table, in_short
from seedvote.analysis.showing.words import count, number, percent, to_plain
from seedvote.analysis.stats import power as sizing
from seedvote.analysis.stats.power import Assumptions
from seedvote.analysis.stats.sequential import FEWEST_CLUSTERS, mixture_reach, trusted_error
from seedvote.analysis.votes.cautions import marked_parts, not_people, reading_of, told_of_reading
from seedvote.analysis.votes.inputs import matches_of
from seedvote.analysis.votes.systems import contrasts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IN_SENTENCES = 3  # comparisons; more are in a table
POINTS = 200  # of every curve


def parts(answer: PlanAnswer) -> list[Table | str]:
    """Tables and sentences for people, the recipe last."""
    findings = [_crowd_finding(answer), _study_finding(answer)]
    marked = marked_parts(
        [*findings, *_votes_tables(answer), *_decision_parts(answer), *_judge_parts(answer), *_look_parts(answer)],
        answer.voters,
    )
    return [*marked, *not_people(answer.voters), *answer.warnings, answer.signature]


def _name_source(answer: PlanAnswer) -> str:
    """Where the numbers about the crowd come from."""
    if answer.measured is None:
        return "assumed"
    return ", ".join([f"measured on {count(answer.measured, 'vote')}", *answer.unmeasured])


def _name_decision(look: Look) -> str:
    return "stop" if look.verdict in ("preferred", "alike") else "go on"


def _name_reason(look: Look, answer: PlanAnswer) -> str:
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


def _crowd_finding(answer: PlanAnswer) -> str:
    crowd = answer.crowd
    dialogue_icc = "" if crowd.per_dialogue == 1 else f" (correlation {number(crowd.dialogue_icc)})"
    work = "equal work" if crowd.rater_cv == 0 else f"SD of their work {crowd.rater_cv:.2f} times its mean"
    return (
        f"{percent(crowd.ties)} ties, {_format_mean(crowd.per_pair, 'vote')} per pair (correlation "
        f"{number(crowd.pair_icc)}), {_format_mean(crowd.per_dialogue, 'pair')} per dialogue{dialogue_icc}, "
        f"{_format_mean(crowd.per_rater, 'vote')} per rater (correlation {number(crowd.rater_icc)}; {work}): "
        f"{_name_source(answer)}. Design effect {crowd.design_effect:.2f}."
    )


def _format_mean(mean: float, thing: str) -> str:
    return f"{mean:.3g} {thing}" + ("" if mean == 1 else "s")


def _known_from(clusters: float) -> str:
    """Effective clusters of the rarest kind; busy raters may each give more votes than the study has."""
    return "less than one effective cluster" if clusters < 1 else f"{clusters:.3g} effective clusters"


def _study_finding(answer: PlanAnswer) -> str:
    crowd, study, question = answer.crowd, answer.study, answer.question
    difference, margin = "no net preference", "no two systems to be equivalent"
    if study.difference_clustered is not None:
        difference = f"a net preference of {number(study.difference_clustered)} or more"
    if study.margin_clustered is not None:
        margin = f"two equal systems to be equivalent within {number(study.margin_clustered)}"
    return (
        f"{count(study.votes, 'vote')} have the error of {count(round(study.effective_votes), 'independent vote')}, "
        f"known from {_known_from(crowd.clusters(study.votes))}. With power {question.power:g} they show {difference} "
        f"({number(study.difference)} if votes were independent), and {margin} ({number(study.margin)}). If votes were "
        f"independent, their power to distinguish {percent(crowd.ties)} ties from the 1/3 of random clicking would be "
        f"{number(study.chance_power, 2)}."
    )


def _look_parts(answer: PlanAnswer) -> list[Table | str]:
    """Whether each comparison may stop, and what that costs in false alarms."""
    looks, alpha = answer.looks, answer.question.alpha
    if not looks:
        return []
    scope = "" if len(looks) == 1 else f", over all {len(looks):,} comparisons together"
    rule = f"However often you look, a false stop happens in at most {100 * alpha:g} % of studies{scope}."
    if clusters := next((look.taken for look in looks if look.taken), ""):
        rule += (
            f" This holds only if votes hang together by nothing but what --clusters {clusters} names; votes of one "
            "rater or on one dialogue usually do."
        )
    decisions = [_decision_text(decision) for decision in decide_questions(looks)]
    if len(looks) > IN_SENTENCES:
        return [_look_table(answer), *decisions, rule]
    return [*(_look_text(look, answer) for look in looks), *decisions, rule]


def _decision_text(decision: Decision) -> str:
    """One question about all systems, and what keeps it open."""
    question = decision.question[0].upper() + decision.question[1:]
    if decision.systems:
        return f"{question} is known, so the study may stop for it: {', '.join(decision.systems)}."
    first, second = decision.undecided[0]
    others = len(decision.undecided) - 1
    more = f" and {count(others, 'other comparison')} are" if others else " is"
    return f"{question} is not known yet: {first} against {second}{more} undecided."


def _look_text(look: Look, answer: PlanAnswer) -> str:
    now, bet, reason = look.now, look.bet, _name_reason(look, answer)
    text = f"{look.first} against {look.second}, {count(look.votes, 'vote')}: {_name_decision(look)} ({reason}). "
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
    is_long = len(answer.looks) > MOST_ROWS
    looks = sorted(answer.looks, key=lambda look: -look.votes) if is_long else answer.looks
    rows = [
        [
            look.first,
            look.second,
            f"{look.votes:,}",
            _name_decision(look),
            *_now_cells(look),
            _name_reason(look, answer),
        ]
        for look in looks
    ]
    caption = f"Whether each comparison may stop (an e-value of {1 / answer.looks[0].alpha:g} stops)"
    return in_short(Table(head, rows, caption, wide=True), "comparisons", "with the most votes")[0]


def _now_cells(look: Look) -> list[str]:
    now = look.now
    if now is None:
        return ["-", "-", "-"]
    return [number(now.estimate), f"{number(now.low)} to {number(now.high)}", f"{now.e:.3g}"]


def _votes_tables(answer: PlanAnswer) -> list[Table | str]:
    has_price = answer.question.price is not None
    head = ["independent votes", "votes of this crowd", "pairs", "raters", *(["dollars"] if has_price else [])]
    rows = [
        [
            number(row.difference),
            f"{row.votes:,}",
            *_effort_cells(row.effort),
            f"{row.peeking.most:,}",
            f"{row.peeking.mean:,.0f}",
        ]
        for row in answer.differences
    ]
    peeking = ["most votes, stopping early", "mean votes, stopping early"]
    tables: list[Table | str] = []
    if answer.question.difference >= 1 - answer.crowd.ties:
        tables.append(
            f"No net preference reaches {answer.question.difference:g} with {percent(answer.crowd.ties)} ties: the "
            f"most is {number(1 - answer.crowd.ties)}. Ask for a smaller --difference."
        )
    if rows:
        tables.append(Table(["net preference", *head, *peeking], rows, "Votes needed to show a difference"))
    rows = [[number(row.margin), f"{row.votes:,}", *_effort_cells(row.effort)] for row in answer.margins]
    tables.append(Table(["margin", *head], rows, "Votes needed to show that two systems are equivalent"))
    if answer.seeds:
        rows = [[f"{row.difference:.4g}", f"{row.in_sd:g}", str(row.seeds)] for row in answer.seeds]
        tables.append(
            Table(
                ["difference", "in SDs over seeds", "seeds"],
                rows,
                "Seeds needed per architecture, if items are so many that they add no error",
            )
        )
    return tables


def _decision_parts(answer: PlanAnswer) -> list[Table | str]:
    """Votes, raters and money until the best system is known, by both designs."""
    plan = answer.decision
    if plan is None:
        return []
    rows = []
    for design in plan.designs:
        cells = [design.design, percent(design.stopped), percent(design.wrong)]
        for votes in design.votes:
            if votes is None:
                cells.append(f"over {plan.most:,}")
                continue
            raters = math.ceil(votes / answer.crowd.per_rater)
            money = answer.question.money(votes)
            cells.append(f"{votes:,} by {raters:,}" + ("" if money is None else f", ${money:,.0f}"))
        rows.append(cells)
    head = ("design", "decided", "wrongly", *(f"votes and raters, {percent(part)} of studies" for part in QUANTILES))
    caption = f"Votes until the best of {plan.systems} systems is known, {plan.studies} simulated studies each"
    return [
        Table(head, rows, caption),
        f"Each system is above the next by {number(plan.difference)}, and a study has at most {plan.most:,} votes. It "
        "may stop after each batch, by the interval that is valid at any number of votes.",
    ]


def _judge_parts(answer: PlanAnswer) -> list[Table | str]:
    """What a judge on further pairs spares."""
    helper = answer.helper
    if helper is None or not answer.helped:
        return []
    aims = {"difference": "a net preference of", "margin": "equivalence within"}
    rows = [
        [
            f"{aims[row.shows]} {number(row.value)}",
            f"{row.votes:,}",
            f"{row.with_judge:,}",
            f"{row.votes - row.with_judge:,}",
            number(row.gain, 2),
            *_dollar_cells(row, answer),
        ]
        for row in answer.helped
    ]
    prices = ["dollars without a judge", "with it", "of these its verdicts"] if helper.price is not None else []
    pairs = f"{count(helper.unlabelled, 'pair')} more, on which nobody votes"
    table = Table(
        ["to show", "votes without a judge", "votes with it", "spared", "gain", *prices],
        rows,
        f"A judge whose verdicts correlate {helper.correlation:g} with people's pair means, on the same pairs and "
        f"{pairs}",
    )
    finding = (
        f"Raters make {percent(helper.rater_share, 0)} of the variance, which no judge lowers: the gain is "
        f"{number(helper.gain(0), 2)} at most, however many pairs it rules on."
    )
    doubtful = [row for row in answer.helped if helper.correlation < row.least]
    if doubtful:
        row = max(doubtful, key=lambda row: row.least)
        finding += (
            f" With {count(row.with_judge, 'vote')} a correlation under {number(row.least, 2)} makes the estimate "
            "worse, not better: there, plan without the judge."
        )
    if helper.price is not None:
        finding += f" {_savings_finding(answer)}"
    return [table, finding]


def _dollar_cells(row: HelpedRow, answer: PlanAnswer) -> list[str]:
    if row.verdicts is None:
        return []
    money = _money_keys(row, answer)
    return [f"{money['money']:,.0f}", f"{money['money_with_judge']:,.0f}", f"{row.verdicts:,.0f}"]


def _savings_finding(answer: PlanAnswer) -> str:
    money = [_money_keys(row, answer) for row in answer.helped]
    cheaper = sum((row["money_with_judge"] or 0) < (row["money"] or 0) for row in money)
    if cheaper == len(money):
        return "With its verdicts paid, the study costs less in every row."
    if not cheaper:
        return "With its verdicts paid, the study costs no less in any row: plan without the judge."
    return (
        f"With its verdicts paid, the study costs less in {cheaper} of {len(money)} rows; where it does not, plan "
        "without the judge."
    )


def _effort_cells(effort: Effort) -> list[str]:
    money = [] if effort.money is None else [f"{effort.money:,.0f}"]
    return [f"{effort.votes_clustered:,}", f"{effort.pairs:,}", f"{effort.raters:,}", *money]


def figures(answer: PlanAnswer) -> dict[str, Figure]:
    """Power against votes, and the interval that allows stopping at any time and the one that does not."""
    return {"": power_figure(answer), "-stopping": stopping_figure(answer)}


def power_figure(answer: PlanAnswer) -> Figure:
    """Power to show the difference and the margin asked for, with independent votes and with those of the crowd."""
    from seedvote.analysis.showing.plots import PlottedLine, curves_figure

    question, crowd = answer.question, answer.crowd
    independent, votes = Assumptions(crowd.ties), _vote_numbers(answer, 10)
    lines = [
        PlottedLine(name, votes, np.array([power_for(size, n, who, alpha=question.alpha) for n in votes]))
        for name, power_for, size, who in (
            ("difference", sizing.power_for_difference, question.difference, independent),
            ("difference, crowd", sizing.power_for_difference, question.difference, crowd),
            ("equivalence", sizing.power_for_margin, question.margin, independent),
            ("equivalence, crowd", sizing.power_for_margin, question.margin, crowd),
        )
        if power_for is sizing.power_for_margin
        or size < 1 - crowd.ties  # ties leave no room for a larger net preference
    ]
    return curves_figure(
        lines,
        title=f"Power to show a net preference of {question.difference:g}, or equality within {question.margin:g}",
        xlabel="votes",
        ylabel="power",
        recipe=answer.signature,
        references={question.power: f"power {question.power:g}"},
        logarithmic=True,
    )


def stopping_figure(answer: PlanAnswer) -> Figure:
    """Half the interval against votes, for one look at the end and for looks at any time."""
    from seedvote.analysis.showing.plots import PlottedLine, curves_figure

    question, crowd = answer.question, answer.crowd
    # Before the first look nothing is decided, so the curves begin where the rarest clusters are enough for it.
    votes = _vote_numbers(answer, FEWEST_CLUSTERS / crowd.clusters(1))
    errors = np.array([sizing.se_of_net(n, crowd) for n in votes])
    clusters = np.array([crowd.clusters(n) for n in votes])
    trusted = trusted_error(errors, clusters)
    reach = mixture_reach(question.difference**2 / trusted**2, np.maximum(clusters - 1, 1), question.alpha)
    single_look = np.array([sizing.reach_of_net(n, crowd, question.alpha) for n in votes])
    anytime = np.where(reach * trusted < 1, reach * trusted, np.nan)  # no net preference is further than that from 0
    return curves_figure(
        [
            PlottedLine("look at any time", votes, anytime),
            PlottedLine("look once", votes, single_look * errors),
        ],
        title="The cost of looking early: half-width of the interval",
        xlabel="votes of this crowd",
        ylabel="half-width, net preference",
        recipe=answer.signature,
        references={question.difference: f"net preference {question.difference:g}"},
        logarithmic=True,
    )


def _vote_numbers(answer: PlanAnswer, least: float) -> np.ndarray:
    """Votes from `least` to well beyond what the difference needs, or the margin where ties rule the difference out."""
    question = answer.question
    efforts = [row.effort for row in answer.differences if row.difference == question.difference]
    efforts += [row.effort for row in answer.margins if row.margin == question.margin]
    return np.unique(
        np.geomspace(least, max(2 * efforts[0].votes_clustered, 4 * question.size, 4 * least), POINTS).round()
    )


def document(answer: PlanAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    numbers = {name: value for name, value in asdict(answer.crowd).items() if name not in ("effect", "largest")}
    crowd = {**numbers, "design_effect": answer.crowd.design_effect, "source": _name_source(answer)}
    keys = {
        "assumptions": {**crowd, **asdict(answer.question)},
        "study": {**asdict(answer.study), "clusters": answer.crowd.clusters(answer.study.votes)},
        "difference": [
            {
                "difference": row.difference,
                "votes": row.votes,
                **asdict(row.effort),
                "anytime_most": row.peeking.most,
                "anytime_mean": row.peeking.mean,
            }
            for row in answer.differences
        ],
        "equivalence": [{"margin": row.margin, "votes": row.votes, **asdict(row.effort)} for row in answer.margins],
        "seeds": answer.seeds,
        "judge": None
        if answer.helper is None
        else {
            **asdict(answer.helper),
            "rows": [{**asdict(row), **_money_keys(row, answer)} for row in answer.helped],
        },
        "decision": answer.decision,
        "running": [_look_keys(look, answer) for look in answer.looks],
        "questions": decide_questions(answer.looks),
        "voters": answer.voters,
        "warnings": [*not_people(answer.voters), *answer.warnings],
        "signature": answer.signature,
    }
    return dict(to_plain(keys))


def _look_keys(look: Look, answer: PlanAnswer) -> dict[str, Any]:
    return {
        "first": look.first,
        "second": look.second,
        "votes": look.votes,
        "clusters": look.clusters,
        "rarest": look.kind,
        "alpha": look.alpha,
        "betting": look.bet,
        **({} if look.now is None else asdict(look.now)),
        "decision": _name_decision(look),
        "reason": _name_reason(look, answer),
    }


def _money_keys(row: HelpedRow, answer: PlanAnswer) -> dict[str, float | None]:
    """What the votes cost without the judge, and votes and verdicts with it; nothing where no price is given."""
    votes, fewer = (answer.question.money(number) for number in (row.votes, row.with_judge))
    total = None if fewer is None or row.verdicts is None else fewer + row.verdicts
    return {"money": votes, "money_with_judge": total}


LEGAL = {
    "difference": (0.001, 1),
    "size": (1, math.inf),
    "power": (0.01, 1),
    "alpha": (1e-6, 0.5),
    "ties": (0, 1),
    "per_pair": (1, math.inf),
    "per_rater": (1, math.inf),
    "pair_icc": (0, 1),
    "rater_icc": (0, 1),
    "per_dialogue": (1, math.inf),
    "dialogue_icc": (0, 1),
    "rater_cv": (0, math.inf),
    "price": (0, math.inf),
    "fee": (0, math.inf),
    "seed_sd": (1e-9, math.inf),
    "judge_correlation": (-1, 1),
    "unlabelled": (1, math.inf),
    "rater_share": (0, 1),
    "verdict_price": (0, math.inf),
    "most": (100, 1_000_000),
}


def plan(
    votes: Any = None,
    *,
    pairs: Any = None,
    difference: float = 0.16,
    margin: float | None = None,
    size: int = 200,
    power: float = 0.8,
    alpha: float = 0.05,
    ties: float = 0.35,
    per_pair: float = 3,
    per_rater: float = 12,
    pair_icc: float = 0.3,
    rater_icc: float = 0.1,
    per_dialogue: float = 1,
    dialogue_icc: float = 0.1,
    rater_cv: float = 0,
    price: float | None = None,
    fee: float = 0.2,
    seed_sd: float | None = None,
    judge_correlation: float | None = None,
    unlabelled: int | None = None,
    rater_share: float | None = None,
    verdict_price: float | None = None,
    adaptive: int | None = None,
    most: int = 3000,
    clusters: str = "auto",
    seed: int = 0,
    **reading: Any,
) -> Result:
    """Votes, raters and seeds needed, and whether a running study may stop (`python -m analysis plan`)."""
    check_ranges(locals(), **LEGAL)
    check_margin(margin)
    check_help(judge_correlation, unlabelled, rater_share, price, verdict_price)
    matches, known = (None, True) if votes is None else matches_of(votes, pairs, **reading)
    numbers = answer(
        [] if matches is None else contrasts(matches),
        known=known,
        assumed=Assumptions(ties, per_pair, per_rater, pair_icc, rater_icc, per_dialogue, dialogue_icc, rater_cv),
        difference=difference,
        margin=margin,
        size=size,
        power=power,
        alpha=alpha,
        price=price,
        fee=fee,
        seed_sd=seed_sd,
        judge_correlation=judge_correlation,
        unlabelled=unlabelled,
        rater_share=rater_share,
        verdict_price=verdict_price,
        adaptive=adaptive,
        most=most,
        clusters=clusters,
        seed=seed,
    )
    source = None if matches is None else reading_of(matches.votes, matches.systems)
    lines = [] if matches is None else told_of_reading(matches.votes)
    return Result({**document(numbers), "reading": source}, parts(numbers), lambda: figures(numbers), lines)
