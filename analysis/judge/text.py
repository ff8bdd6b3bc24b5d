"""Says what a judge is worth: the document of `--json`, tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis.judge.answer import JudgeAnswer, JudgeFound
from analysis.judge.estimates import NAMES, HelpedEstimate
from analysis.judge.habits import JudgeHabits, Share
from analysis.judge.labelling import DOUBTED
from analysis.judge.meeting import Met
from analysis.showing.tables import Table, in_short
from analysis.showing.words import count, number, order_said, p_equals, percent, plain
from analysis.stats.intervals import Interval
from analysis.votes.voters import marked_parts, not_people

MANY = 12  # estimates, two a contrast, beyond which a table takes the place of their sentences
ORDERS = {"both": "in both orders", "ab": "in ONE order", "ba": "in ONE order", "mixed": "some in one order only"}
_HEAD = ("", "people alone", "with the judge", "judge alone", "corr.", "lambda", "gain (95 %)", "votes saved (95 %)",
         "ceiling")  # fmt: skip


def document(found: JudgeAnswer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    shown: dict[str, Any] = plain(
        {
            "judges": [_judge(one) for one in found.judges],
            "alike": [{"first": one, "second": other, **_share(share)} for one, other, share in found.alike],
            "labels": found.labels.words,
            "voters": None if found.voters is None else asdict(found.voters),
            "warnings": [*not_people(found.voters), *found.warnings],
            "signature": found.signature,
        }
    )
    return shown


def _judge(one: JudgeFound) -> dict[str, Any]:
    habits = asdict(one.habits)
    for name, value in ((name, getattr(one.habits, name)) for name in habits):
        if isinstance(value, Share):
            habits[name] = _share(value)
    return {
        "judge": one.judge, "prompt": one.prompt, "title": one.title, "habits": habits,
        "people": None if one.met is None else asdict(one.met),
        "estimates": [_estimate(row) for row in one.estimates],
    }  # fmt: skip


def _share(share: Share) -> dict[str, Any]:
    ends = (None, None) if share.interval is None else (share.interval.low, share.interval.high)
    return {"part": share.part, "whole": share.whole, "share": share.value, "low": ends[0], "high": ends[1]}


def _estimate(row: HelpedEstimate) -> dict[str, Any]:
    win, saved = row.win, row.gain.saved(row.votes)
    return {
        "first": row.first, "second": row.second, "outcome": row.outcome, "votes": row.votes,
        "pairs_with_votes": row.voted, "pairs_without": row.others, "people": _ends(row.people),
        "ppi": {**_ends(row.whole.interval), "gain": row.whole.gain},
        "ppi_plus_plus": {**_ends(row.tuned.interval), "lambda": row.tuned.weight, "gain": row.tuned.gain},
        "stratified": {**_ends(row.strata.interval), "gain": row.strata.gain, "joined": row.joined},
        "win_rate": None if win is None else {"people": _ends(win[0]), "with_judge": _ends(win[1])},
        "judge_alone": row.judge, "bias": _ends(row.bias), "correlation": row.correlation,
        "least_correlation": row.least,
        "gain": {"value": row.gain.value, "low": row.gain.low, "high": row.gain.high, "shown": row.helps},
        "effective_votes": row.votes * row.gain.value,
        "votes_saved": {"value": saved[0], "low": saved[1], "high": saved[2]},
        "rater_part": row.raters, "ceiling": row.ceiling,
        "as_if_independent": None if row.independent is None else asdict(row.independent),
        "drift": None if row.drift is None else asdict(row.drift), "votes_left_out": row.left_out,
    }  # fmt: skip


def _ends(one: Interval) -> dict[str, float]:
    return {"value": one.value, "se": one.se, "low": one.low, "high": one.high, "df": one.df}


def parts(found: JudgeAnswer) -> list[Table | str]:
    """Per judge its habits, its meeting with people and its estimates; the cautions, and the recipe last."""
    shown: list[Table | str] = []
    for one in found.judges:
        shown += [_opening(one), _habits_table(one), *filter(None, [_of_length(one.habits)])]
        if one.met is not None:
            shown += [*_meeting(one, one.met)]
        if len(one.estimates) > MANY:
            shown += [*_overview(one)]
            continue
        for row in one.estimates:
            if row.outcome == "net":
                both = [other for other in one.estimates if _same(other, row)]
                shown += [_estimates_table(one, both), _ways_table(both)]
        shown += [sentence for row in one.estimates for sentence in told_of(row, one.title)]
    shown += [
        f"{first} and {second} rule alike on {_of(share)} of the pairs that both ruled on."
        for first, second, share in found.alike if share.whole
    ]  # fmt: skip
    return [*marked_parts(shown, found.voters), *not_people(found.voters), *found.warnings, found.signature]


def _overview(one: JudgeFound) -> Iterator[Table | str]:
    """Many contrasts in one table, those with the most votes first, and one sentence on all."""
    rows = sorted(one.estimates, key=lambda row: -row.votes)
    cells = [
        (f"{row.first} and {row.second}", NAMES[row.outcome], f"{row.votes:,}", _whole(row.people),
         _whole(row.tuned.interval), f"{max(round(row.gain.saved(row.votes)[0]), 0):,}" if row.helps else "-")
        for row in rows
    ]  # fmt: skip
    head = ("systems", "", "votes", "people", "with the judge", "votes it is worth")
    yield from in_short(Table(head, cells, f"People's estimates with {one.title}"), "estimates", "with the most votes")[
        :1
    ]
    yield overview_sentence(one)


def overview_sentence(one: JudgeFound) -> str:
    """On how many of many contrasts the judge helps."""
    helped, total = sum(row.helps for row in one.estimates), f"{len(one.estimates):,}"
    where = f"worth votes on {helped:,} of {total}" if helped else f"worth a vote on none of {total}"
    return f"{one.title} is {where} numbers, as far as is shown: each two systems are estimated from their own votes."


def _same(one: HelpedEstimate, other: HelpedEstimate) -> bool:
    return (one.first, one.second) == (other.first, other.second)


def _opening(one: JudgeFound) -> str:
    habits = one.habits
    return (
        f"Judge {one.title}: {count(habits.verdicts, 'verdict')} on {count(habits.pairs, 'pair')}, "
        f"{ORDERS[habits.orders]}; {habits.unusable.part:,} unusable."
    )


def habits_said(one: JudgeFound) -> str:
    """Who ruled on what, and how it leans, in one sentence."""
    habits = one.habits
    leans = [(habits.same_in_both_orders, "says the same in both orders on {} of pairs"),
             (habits.first_place, "chooses what stands first in {} of its decisive verdicts"),
             (habits.ties, "says tie in {}")]  # fmt: skip
    said = ", ".join(words.format(_of(share)) for share, words in leans if share.whole)
    return f"{_opening(one)} It {said}." if said else _opening(one)


def _habits_table(one: JudgeFound) -> Table:
    habits = one.habits
    rows = [
        ("says tie", habits.ties),
        ("same verdict in both orders", habits.same_in_both_orders),
        ("chooses what stands first, of decisive verdicts", habits.first_place),
        ("chooses the longer response, of decisive verdicts", habits.longer),
        ("calls identical texts a tie", habits.identical_tied),
        ("two draws agree", habits.draws_agree),
        ("three systems in a circle", habits.circles),
        ("fails a check", habits.checks_failed),
        ("unusable reply", habits.unusable),
    ]
    if habits.own is not None:
        rows.insert(4, (f"chooses its own family ({', '.join(habits.own_names)})", habits.own))
    cells = [(name, f"{share.part:,} of {share.whole:,}", _number(share), _interval(share.interval))
             for name, share in rows if share.whole]  # fmt: skip
    return Table(("habit", "count", "share", "95 % interval"), cells, f"Habits of {one.title}, without any person")


def _number(share: Share) -> str:
    return number(share.value)


def _of(share: Share) -> str:
    return "-" if share.value is None else percent(share.value)


def _interval(one: Interval | None) -> str:
    return "-" if one is None else f"{number(one.low)} to {number(one.high)}"


def _meeting(one: JudgeFound, met: Met) -> Iterator[Table | str]:
    yield Table(
        ("", "judge", "95 % interval", "one more person"),
        [
            ("equals a vote", number(met.equals_vote.value), _interval(met.equals_vote),
             number(met.person_equals_vote)),
            ("equals the majority of the others", number(met.equals_majority), "-", number(met.person_equals_majority)),
            *((name, number(value.value), _interval(value), "-")
              for name, value in (("Cohen's kappa with votes", met.kappa), ("Gwet's AC1 with votes", met.ac1))
              if value),
        ],
        f"{one.title} beside {count(met.votes, 'vote')} on {count(met.pairs, 'pair')}",
    )  # fmt: skip
    for parts, what, caption in (
        (met.united, "votes for the pair's most common answer", "By how united people are"),
        (met.contrasts, "systems", "By which systems are compared"),
        (met.lengths, "the longer response is", "By how much the lengths of the responses differ, in words"),
    ):
        if parts:
            rows = [(part.name, f"{part.pairs:,}", f"{part.votes:,}", number(part.agreement), number(part.among_people))
                    for part in parts]  # fmt: skip
            head = (what, "pairs", "votes", "judge equals a vote", "a person does")
            yield from in_short(Table(head, rows, caption), "comparisons", "with the most votes")[:1]
    crossed: list[tuple[str, ...]] = [
        (name, *(f"{cell:,}" for cell in row)) for name, row in zip(("a", "b", "tie"), met.confusion, strict=True)
    ]
    condition = "" if met.condition is None else f"; condition number {met.condition:,.1f}"
    yield Table(("people say", "judge: a", "b", "tie"), crossed, f"Votes by the judge's ruling{condition}")
    if met.order:
        yield order_said(met.order, "the judge")
    if met.longer:
        yield f"Where lengths differ, the judge chooses the longer response in {met.longer[0]:.0%} of its decisive " \
              f"rulings, people in {met.longer[1]:.0%} of their decisive votes."  # fmt: skip


def _estimates_table(one: JudgeFound, rows: list[HelpedEstimate]) -> Table:
    first = rows[0]
    shown: list[tuple[str, ...]] = []
    for row in rows:
        saved = [max(round(part), 0) for part in row.gain.saved(row.votes)]
        shown.append(
            (NAMES[row.outcome], _whole(row.people), _whole(row.tuned.interval), number(row.judge),
             number(row.correlation, 2), number(row.tuned.weight, 2),
             f"{row.gain.value:.2f} ({row.gain.low:.2f} to {row.gain.high:.2f})",
             f"{saved[0]:,} ({saved[1]:,} to {saved[2]:,}) of {row.votes:,}", f"{row.ceiling:.2f}")
        )  # fmt: skip
        if row.win is not None:
            shown.append(("win rate", _whole(row.win[0]), _whole(row.win[1]), number((1 + row.judge) / 2),
                          *["-"] * 5))  # fmt: skip
    caption = (
        f"{first.first} against {first.second}: {count(first.votes, 'vote')} on {count(first.voted, 'pair')}, and "
        f"{count(first.others, 'pair')} with verdicts of {one.title} alone"
    )
    return Table(_HEAD, shown, caption)


def _ways_table(rows: list[HelpedEstimate]) -> Table:
    """The same numbers by each way of using the judge."""
    cells = []
    for row in rows:
        ways = (("people alone", row.people, 1.0), ("PPI, weight 1", row.whole.interval, row.whole.gain),
                ("PPI++, weight fitted" + (" on other folds" if row.folds else ""), row.tuned.interval, row.tuned.gain),
                ("by strata of the verdict", row.strata.interval, row.strata.gain))  # fmt: skip
        cells += [(NAMES[row.outcome], name, number(one.value), number(one.se), _interval(one), f"{gain:.2f}")
                  for name, one, gain in ways]  # fmt: skip
    caption = (
        f"{rows[0].first} against {rows[0].second} in each way, by its own error; the gain goes by the correlation, "
        "which is steadier"
    )
    return Table(("", "way", "estimate", "SE", "95 % interval", "variance of people alone / this"), cells, caption)


def _whole(one: Interval) -> str:
    return f"{number(one.value)} ({number(one.low)} to {number(one.high)})"


def told_of(row: HelpedEstimate, judge: str) -> Iterator[str]:
    """What the numbers of one estimate mean, in words."""
    name = f"the {NAMES[row.outcome]} of {row.first} and {row.second}"
    if not row.others:
        yield f"Every pair has votes, so {judge} adds nothing to {name}: with the judge is people alone."
        return
    saved = [max(round(part), 0) for part in row.gain.saved(row.votes)]
    if row.helps:
        yield (
            f"On {name} {judge} is worth {saved[0]:,} of {row.votes:,} votes (95 % interval {saved[1]:,} to "
            f"{saved[2]:,})."
        )
    else:
        yield (
            f"On {name} {judge} is not shown to be worth any vote: {saved[0]:,} of {row.votes:,}, 95 % interval "
            f"{saved[1]:,} to {saved[2]:,}."
        )
    if abs(row.correlation) < row.least:
        yield (
            f"Its correlation with people's pair means is {row.correlation:+z.2f}; under {row.least:.2f} "
            f"(1/sqrt(n - 2), {row.voted:,} pairs) a fitted weight makes the estimate worse, not better."
        )
    if not 0 <= row.tuned.weight <= 1:
        weight = f"{row.tuned.weight:+z.2f}"
        yield f"Its weight of {weight} lies outside 0 to 1: allowed, but look at what the judge goes by."
    if row.raters > 0.05:
        yield (
            f"Raters make {row.raters:.0%} of the variance of {name}: no judge can lower that part, so with pairs "
            f"without end the gain would be {row.ceiling:.2f}."
        )
    yield from _comparisons(row)


def _comparisons(row: HelpedEstimate) -> Iterator[str]:
    yield (
        f"On the pairs with votes the judge's {NAMES[row.outcome]} differs from people's by {row.bias.value:+z.3f} "
        f"({_interval(row.bias)})."
    )
    other, width = row.independent, row.tuned.interval.high - row.tuned.interval.low
    if other is not None and width > 0 and (ratio := width / max(other.high - other.low, 1e-12)) > 1.05:
        yield (
            "Computed as if pairs' means were independent labels (ppi_py), the interval of the "
            f"{NAMES[row.outcome]} would be {number(other.low)} to {number(other.high)}: {ratio:.1f} times too narrow."
        )
    if row.outcome == "net" and row.judge * row.tuned.interval.value < 0 and row.judge * row.people.value < 0:
        yield "The judge alone puts the preference on the other side."
    if row.drift is not None and row.drift.p_holm < DOUBTED:
        yield (
            f"The judge's mean is {row.drift.voted:+z.3f} on pairs with votes and {row.drift.others:+z.3f} on the "
            f"others ({p_equals(row.drift.p_holm)}, Holm): make sure that the pairs with votes are a random part."
        )


def _of_length(habits: JudgeHabits) -> str:
    """How much a response gains by being twice as long."""
    if habits.length is None:
        return ""
    found = habits.length
    return (
        f"A response twice as long has {found.ratio:.2f} times the odds of being chosen (95 % interval "
        f"{found.low:.2f} to {found.high:.2f})."
    )
