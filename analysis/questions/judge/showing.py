"""Says, lists and draws what judges are like and what each is worth in votes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from seedvote.analysis.questions.judge.against_people import PeopleAgreement
from seedvote.analysis.questions.judge.answer import OUTCOMES, HelpedEstimate, JudgeAnswer, JudgeResult, Panel, answer
from seedvote.analysis.questions.judge.habits import JudgeHabits, Share
from seedvote.analysis.questions.judge.labelling import DOUBTED
from seedvote.analysis.showing.page import Axis, Row, RowFigure, Section, round_steps
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table, in_short
from seedvote.analysis.showing.words import count, describe_order, number, p_equals, percent, to_plain
from seedvote.analysis.stats.intervals import Interval
from seedvote.analysis.stats.paired.powered_davidson import FEW
from seedvote.analysis.votes.cautions import marked_parts, not_people, told_of_reading
from seedvote.analysis.votes.inputs import matches_of
from seedvote.analysis.votes.ranking import HelpedRanking, Ranked
from seedvote.analysis.votes.study import ReportRequest
from seedvote.analysis.votes.systems import pairs_of
from seedvote.analysis.votes.verdicts import NET, Bench, benches_beside, from_elsewhere
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.judges import VERDICTS

MANY = 12  # estimates, two a contrast, beyond which a table takes the place of their sentences
ORDERS = {"both": "in both orders", "ab": "in ONE order", "ba": "in ONE order", "mixed": "some in one order only"}


def parts(answer: JudgeAnswer) -> list[Table | str]:
    """Per judge its habits, its agreement with people and its estimates; the cautions, and the recipe last."""
    pieces: list[Table | str] = []
    for judge in answer.judges:
        pieces += [introduce_judge(judge), _habits_table(judge), *_describe_length_taste(judge.habits)]
        if judge.people is not None:
            pieces += [*_agreement_tables(judge, judge.people), *_describe_agreement(judge.people)]
        pieces += [*_estimate_tables(judge), *list_worths(judge)]
        if judge.ranking is not None:
            pieces += [ranking_table(judge, judge.ranking), *describe_ranking(judge, judge.ranking)]
    if answer.panel is not None:
        pieces += _describe_panel(answer.panel)
    pieces += [
        f"{first} and {second} rule the same on {percent_of(share)} of the pairs that both ruled on."
        for first, second, share in answer.agreements
        if share.whole
    ]
    return [*marked_parts(pieces, answer.voters), *not_people(answer.voters), *answer.warnings, answer.signature]


def _describe_panel(panel: Panel) -> Iterator[Table | str]:
    """All judges as one: how far they err alike, and what they are worth together."""
    result = panel.result
    yield f"The {result.title} is the mean of all judges on the {count(result.habits.pairs, 'pair')} that all ruled on."
    if panel.correlation is not None and panel.counts_as is not None:
        yield (
            f"Errors of two judges correlate by {number(panel.correlation, 2)} on average, so {panel.judges} judges "
            f"count as {panel.counts_as:.1f} independent ones."
        )
    yield from _estimate_tables(result)
    yield from list_worths(result)
    if result.ranking is not None:
        yield ranking_table(result, result.ranking)
        yield from describe_ranking(result, result.ranking)


def introduce_judge(judge: JudgeResult) -> str:
    """Who ruled on how much."""
    habits = judge.habits
    return (
        f"Judge {judge.title}: {count(habits.verdicts, 'verdict')} on {count(habits.pairs, 'pair')}, "
        f"{ORDERS[habits.orders]}; {habits.unusable.part:,} unusable."
    )


def describe_habits(judge: JudgeResult) -> str:
    """How it leans, in one sentence; empty where nothing shows it."""
    habits = judge.habits
    clauses = (
        (habits.same_in_both_orders, "says the same in both orders on {} of pairs"),
        (habits.first_place, "chooses what stands first in {} of its decisive verdicts"),
        (habits.ties, "says tie in {}"),
    )
    words = ", ".join(clause.format(percent_of(share)) for share, clause in clauses if share.whole)
    return f"{introduce_judge(judge)} It {words}." if words else introduce_judge(judge)


def _describe_length_taste(habits: JudgeHabits) -> Iterator[str]:
    if (taste := habits.length) is not None:
        yield (
            f"A response twice as long has {taste.ratio:.2f} times the odds of being chosen (95 % interval "
            f"{taste.low:.2f} to {taste.high:.2f})."
        )


def _describe_agreement(people: PeopleAgreement) -> Iterator[str]:
    if people.order:
        yield describe_order(people.order, "the judge")
    if people.longer:
        of_judge, of_people = (percent(share, 0) for share in people.longer)
        yield (
            f"Where lengths differ, the judge chooses the longer response in {of_judge} of its decisive rulings, "
            f"people in {of_people} of their decisive votes."
        )


def list_worths(judge: JudgeResult) -> Iterator[str]:
    """What the estimates mean, in words; of many one sentence on all."""
    if len(judge.estimates) <= MANY:
        for row in judge.estimates:
            yield from describe_estimate(row, judge.title)
        return
    yield _summarize_worths(judge)


def _summarize_worths(judge: JudgeResult) -> str:
    helped, total = sum(row.helps for row in judge.estimates), f"{len(judge.estimates):,}"
    where = f"worth votes on {helped:,} of {total}" if helped else f"worth a vote on none of {total}"
    return f"{judge.title} is {where} numbers, as far as is shown: each two systems are estimated from their own votes."


def describe_worth(row: HelpedEstimate, judge: str) -> str:
    """How many votes the judge is worth on one number."""
    name = f"the {OUTCOMES[row.outcome]} of {row.first} and {row.second}"
    if not row.others:
        return f"Every pair has votes, so {judge} adds nothing to {name}: with the judge is people alone."
    value, low, high = votes_saved(row)
    if row.helps:
        return f"On {name} {judge} is worth {value:,} of {row.votes:,} votes (95 % interval {low:,} to {high:,})."
    return (
        f"On {name} {judge} is not shown to be worth any vote: {value:,} of {row.votes:,}, 95 % interval {low:,} to "
        f"{high:,}."
    )


def votes_saved(row: HelpedEstimate) -> tuple[int, int, int]:
    """Votes that the judge spares, with their interval, and never fewer than none."""
    value, low, high = (max(round(part), 0) for part in row.gain.saved(row.votes))
    return value, low, high


def describe_estimate(row: HelpedEstimate, judge: str) -> Iterator[str]:
    """What the numbers of one estimate mean, in words."""
    yield describe_worth(row, judge)
    if not row.others:
        return
    outcome = OUTCOMES[row.outcome]
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
            f"Raters make {percent(row.raters, 0)} of the variance of the {outcome} of {row.first} and {row.second}. "
            f"No judge can lower that part, so with pairs without end the gain would be {row.ceiling:.2f}."
        )
    yield (
        f"On the pairs with votes the judge's {outcome} differs from people's by {row.bias.value:+z.3f} "
        f"({_format_ends(row.bias)})."
    )
    independent, width = row.independent, row.tuned.interval.high - row.tuned.interval.low
    if independent is not None and width > 0:
        ratio = width / max(independent.high - independent.low, 1e-12)
        if ratio > 1.05:
            yield (
                f"Computed as if pairs' means were independent labels (ppi_py), the interval of the {outcome} would be "
                f"{number(independent.low)} to {number(independent.high)}: {ratio:.1f} times too narrow."
            )
    if row.outcome == NET and row.judge * row.tuned.interval.value < 0 and row.judge * row.people.value < 0:
        yield "The judge alone puts the preference on the other side."
    if row.drift is not None and row.drift.p_holm < DOUBTED:
        yield (
            f"The judge's mean is {row.drift.voted:+z.3f} on pairs with votes and {row.drift.others:+z.3f} on the "
            f"others ({p_equals(row.drift.p_holm)}, Holm). Make sure that the pairs with votes are a random part."
        )


def _habits_table(judge: JudgeResult) -> Table:
    habits = judge.habits
    rows = [
        ("says tie", habits.ties),
        ("same verdict in both orders", habits.same_in_both_orders),
        ("chooses what stands first, of decisive verdicts", habits.first_place),
        ("chooses the longer response, of decisive verdicts", habits.longer),
        *([] if habits.own is None else [(f"chooses its own family ({', '.join(habits.own_names)})", habits.own)]),
        ("calls identical texts a tie", habits.identical_tied),
        ("two draws agree", habits.draws_agree),
        ("three systems in a circle", habits.circles),
        ("fails a check", habits.checks_failed),
        ("unusable reply", habits.unusable),
    ]
    cells = [
        (name, f"{share.part:,} of {share.whole:,}", number(share.value), _format_ends(share.interval))
        for name, share in rows
        if share.whole
    ]
    return Table(("habit", "count", "share", "95 % interval"), cells, f"Habits of {judge.title}, without any person")


def percent_of(share: Share) -> str:
    """The share in per cent, or a dash."""
    return "-" if share.value is None else percent(share.value)


def _format_ends(interval: Interval | None) -> str:
    return "-" if interval is None else f"{number(interval.low)} to {number(interval.high)}"


def _with_ends(interval: Interval) -> str:
    return f"{number(interval.value)} ({_format_ends(interval)})"


def _agreement_tables(judge: JudgeResult, people: PeopleAgreement) -> Iterator[Table]:
    coefficients = (("Cohen's kappa with votes", people.kappa), ("Gwet's AC1 with votes", people.ac1))
    yield Table(
        ("", "judge", "95 % interval", "one more person"),
        [
            (
                "equals a vote",
                number(people.equals_vote.value),
                _format_ends(people.equals_vote),
                number(people.person_equals_vote),
            ),
            (
                "equals the majority of the others",
                number(people.equals_majority),
                "-",
                number(people.person_equals_majority),
            ),
            *((name, number(value.value), _format_ends(value), "-") for name, value in coefficients if value),
        ],
        f"{judge.title} and {count(people.votes, 'vote')} on {count(people.pairs, 'pair')}",
    )
    for rows, what, caption in (
        (people.united, "votes for the pair's most common answer", "By how united people are"),
        (people.contrasts, "systems", "By which systems are compared"),
        (people.lengths, "the longer response is", "By how much the lengths of the responses differ, in words"),
    ):
        if rows:
            cells = [
                (row.name, f"{row.pairs:,}", f"{row.votes:,}", number(row.agreement), number(row.among_people))
                for row in rows
            ]
            head = (what, "pairs", "votes", "judge equals a vote", "a person does")
            yield in_short(Table(head, cells, caption), "comparisons", "with the most votes")[0]
    confusion: list[tuple[str, ...]] = [
        (name, *(f"{cell:,}" for cell in row)) for name, row in zip(("a", "b", "tie"), people.confusion, strict=True)
    ]
    condition = "" if people.condition is None else f"; condition number {people.condition:,.1f}"
    yield Table(("people say", "judge: a", "b", "tie"), confusion, f"Votes by the judge's ruling{condition}")


def _estimate_tables(judge: JudgeResult) -> Iterator[Table]:
    """Two tables for each two systems; of many contrasts one, those with the most votes first."""
    if len(judge.estimates) > MANY:
        yield _overview_table(judge)
        return
    for contrast in dict.fromkeys((row.first, row.second) for row in judge.estimates if row.outcome == NET):
        rows = [row for row in judge.estimates if (row.first, row.second) == contrast]
        yield _contrast_table(judge, rows)
        yield _ways_table(rows)
        if any(row.corrected is not None for row in rows):
            yield _corrected_table(judge, rows)


def _overview_table(judge: JudgeResult) -> Table:
    cells = [
        (
            f"{row.first} and {row.second}",
            OUTCOMES[row.outcome],
            f"{row.votes:,}",
            _with_ends(row.people),
            _with_ends(row.tuned.interval),
            f"{votes_saved(row)[0]:,}" if row.helps else "-",
        )
        for row in sorted(judge.estimates, key=lambda row: -row.votes)
    ]
    head = ("systems", "", "votes", "people", "with the judge", "votes it is worth")
    table = Table(head, cells, f"People's estimates with {judge.title}")
    return in_short(table, "estimates", "with the most votes")[0]


def _contrast_table(judge: JudgeResult, rows: Sequence[HelpedEstimate]) -> Table:
    head = (
        "",
        "people alone",
        "with the judge",
        "judge alone",
        "corr.",
        "lambda",
        "gain (95 %)",
        "votes saved (95 %)",
        "ceiling",
    )
    cells: list[tuple[str, ...]] = []
    for row in rows:
        value, low, high = votes_saved(row)
        cells.append(
            (
                OUTCOMES[row.outcome],
                _with_ends(row.people),
                _with_ends(row.tuned.interval),
                number(row.judge),
                number(row.correlation, 2),
                number(row.tuned.weight, 2),
                f"{row.gain.value:.2f} ({row.gain.low:.2f} to {row.gain.high:.2f})",
                f"{value:,} ({low:,} to {high:,}) of {row.votes:,}",
                f"{row.ceiling:.2f}",
            )
        )
        if row.win is not None:
            people, helped = row.win
            rates = (_with_ends(people), _with_ends(helped), number((1 + row.judge) / 2))
            cells.append(("win rate", *rates, *["-"] * 5))
    first = rows[0]
    caption = (
        f"{first.first} against {first.second}: {count(first.votes, 'vote')} on {count(first.voted, 'pair')}, and "
        f"{count(first.others, 'pair')} with verdicts of {judge.title} alone"
    )
    return Table(head, cells, caption)


def ranking_table(judge: JudgeResult, ranking: HelpedRanking) -> Table:
    """All systems by votes and verdicts at once, with their ranks by the votes alone."""
    alone = {ranked.system: ranked for ranked in ranking.people.systems}
    rows = [
        (
            f"{ranked.rank}",
            ranked.system,
            f"{ranked.votes:,}",
            _spell_strength(alone[ranked.system]),
            _spell_ranks(alone[ranked.system]),
            _spell_strength(ranked),
            _spell_ranks(ranked),
        )
        for ranked in ranking.helped.systems
    ]
    head = ("rank", "system", "votes", "strength, people", "ranks", "with the judge", "ranks with it")
    caption = f"Ranking by Davidson's model from the votes and the verdicts of {judge.title}, with 95 % intervals"
    return Table(head, rows, caption)


def _spell_strength(ranked: Ranked) -> str:
    strength = ranked.strength
    return f"{number(strength.value, 2)} ({number(strength.low, 2)} to {number(strength.high, 2)})"


def _spell_ranks(ranked: Ranked) -> str:
    return f"{ranked.all_low}" if ranked.all_low == ranked.all_high else f"{ranked.all_low}-{ranked.all_high}"


def describe_ranking(judge: JudgeResult, ranking: HelpedRanking) -> Iterator[str]:
    """What the judge is worth where all systems are ranked at once."""
    systems, votes = count(len(ranking.helped.systems), "system"), f"{ranking.votes:,}"
    if not ranking.others:
        yield f"Every pair has votes, so {judge.title} adds nothing to the ranking."
        return
    if not ranking.weight:
        yield f"{judge.title} does not help the ranking: under {FEW} pairs with votes, or verdicts that are all alike."
        return
    saved = [max(round(part), 0) for part in ranking.gain.saved(ranking.votes)]
    if ranking.gain.shown and saved[1] >= 1:
        yield (
            f"On the ranking of {systems} {judge.title} is worth {saved[0]:,} of {votes} votes (95 % interval "
            f"{saved[1]:,} to {saved[2]:,})."
        )
    else:
        yield (
            f"On the ranking of {systems} {judge.title} is not shown to be worth any vote: {saved[0]:,} of {votes}, "
            f"95 % interval {saved[1]:,} to {saved[2]:,}."
        )
    alone, helped = (
        1 + sum(ranked.all_high - ranked.all_low for ranked in ranks.systems) / len(ranks.systems)
        for ranks in (ranking.people, ranking.helped)
    )
    yield (
        f"{helped:.1f} ranks are open to a system on average, and {alone:.1f} by the votes alone; they hold for all "
        "systems at once."
    )


def _ways_table(rows: Sequence[HelpedEstimate]) -> Table:
    """The same numbers by each way of using the judge."""
    cells = []
    for row in rows:
        fitted = "PPI++, weight fitted" + (" on other folds" if row.folds else "")
        ways = (
            ("people alone", row.people),
            ("PPI, weight 1", row.whole.interval),
            (fitted, row.tuned.interval),
            ("by strata of the verdict", row.strata.interval),
        )
        cells += [
            (OUTCOMES[row.outcome], name, number(way.value), number(way.se), _format_ends(way)) for name, way in ways
        ]
    caption = f"{rows[0].first} against {rows[0].second} in each way"
    return Table(("", "way", "estimate", "SE", "95 % interval"), cells, caption)


def _corrected_table(judge: JudgeResult, rows: Sequence[HelpedEstimate]) -> Table:
    """The judge's own shares, and what they become by its sensitivity and specificity."""
    cells = []
    for row in rows:
        if (shares := row.corrected) is None:
            continue
        people = row.people.value if row.outcome != NET else None
        cells.append(
            (
                f"{row.first} is better" if row.outcome == NET else "tie",
                "-" if people is None else number(people),
                number(shares.naive),
                number(shares.sensitivity),
                number(shares.specificity),
                "not known" if shares.corrected is None else _with_ends(shares.corrected),
            )
        )
    head = ("share of pairs", "people alone", "judge alone", "sensitivity", "specificity", "corrected (95 %)")
    caption = (
        f"Shares by {judge.title}, corrected by its sensitivity and specificity (Rogan and Gladen): what one more "
        "person would say"
    )
    return Table(head, cells, caption)


def row_figures(answer: JudgeAnswer) -> tuple[RowFigure, ...]:
    """The part of the votes that each judge could spare, with its interval."""
    estimates = [
        (judge.title, row)
        for judge in answer.judges
        if len(judge.estimates) <= MANY
        for row in judge.estimates
        if row.others
    ]
    if not estimates:
        return ()
    axis = Axis(0.0, 100 * max(0.1, *(row.gain.saved(1)[2] for _, row in estimates)))
    rows = []
    for title, row in estimates:
        value, low, high = (100 * max(part, 0.0) for part in row.gain.saved(1))
        rows.append(
            Row(
                f"{title}: {OUTCOMES[row.outcome]} of {row.first} and {row.second}",
                f"{value:.1f} % ({low:.1f} % to {high:.1f} %)",
                axis.interval(low, value, high, "c0"),
                described=f"{row.votes:,} votes",
            )
        )
    return (
        RowFigure(
            "Part of the votes that a judge could spare",
            tuple(rows),
            axis.ticks(round_steps(axis.low, axis.high)),
            "% of the votes",
            note_head="votes spared (95 % interval)",
            name="judge",
        ),
    )


def document(answer: JudgeAnswer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    keys = {
        "judges": [_judge_keys(judge) for judge in answer.judges],
        "panel": None if answer.panel is None else _panel_keys(answer.panel),
        "alike": [
            {"first": first, "second": second, **_share_keys(share)} for first, second, share in answer.agreements
        ],
        "labels": answer.labels.words,
        "voters": None if answer.voters is None else asdict(answer.voters),
        "warnings": [*not_people(answer.voters), *answer.warnings],
        "signature": answer.signature,
    }
    return dict(to_plain(keys))


def _panel_keys(panel: Panel) -> dict[str, Any]:
    return {
        "judges": panel.judges,
        "correlation_of_errors": panel.correlation,
        "counts_as": panel.counts_as,
        "estimates": [_estimate_keys(row) for row in panel.result.estimates],
        "ranking": None if panel.result.ranking is None else _ranking_keys(panel.result.ranking),
    }


def _judge_keys(judge: JudgeResult) -> dict[str, Any]:
    habits = asdict(judge.habits)
    for name in habits:
        if isinstance(value := getattr(judge.habits, name), Share):
            habits[name] = _share_keys(value)
    return {
        "judge": judge.judge,
        "prompt": judge.prompt,
        "title": judge.title,
        "habits": habits,
        "people": None if judge.people is None else asdict(judge.people),
        "estimates": [_estimate_keys(row) for row in judge.estimates],
        "ranking": None if judge.ranking is None else _ranking_keys(judge.ranking),
    }


def _ranking_keys(ranking: HelpedRanking) -> dict[str, Any]:
    saved = dict(zip(("value", "low", "high"), ranking.gain.saved(ranking.votes), strict=True))
    return {**asdict(ranking), "votes_saved": saved}


def _share_keys(share: Share) -> dict[str, Any]:
    low, high = (None, None) if share.interval is None else (share.interval.low, share.interval.high)
    return {"part": share.part, "whole": share.whole, "share": share.value, "low": low, "high": high}


def _estimate_keys(row: HelpedEstimate) -> dict[str, Any]:
    win, saved = row.win, row.gain.saved(row.votes)
    return {
        "first": row.first,
        "second": row.second,
        "outcome": row.outcome,
        "votes": row.votes,
        "pairs_with_votes": row.voted,
        "pairs_without": row.others,
        "people": _interval_keys(row.people),
        "ppi": _interval_keys(row.whole.interval),
        "ppi_plus_plus": {**_interval_keys(row.tuned.interval), "lambda": row.tuned.weight},
        "stratified": {**_interval_keys(row.strata.interval), "joined": row.joined},
        "joined_values": dict(row.joined_values),
        "win_rate": win and {"people": _interval_keys(win[0]), "with_judge": _interval_keys(win[1])},
        "judge_alone": row.judge,
        "bias": _interval_keys(row.bias),
        "correlation": row.correlation,
        "least_correlation": row.least,
        "gain": {"value": row.gain.value, "low": row.gain.low, "high": row.gain.high, "shown": row.helps},
        "effective_votes": row.votes * row.gain.value,
        "votes_saved": {"value": saved[0], "low": saved[1], "high": saved[2]},
        "rater_part": row.raters,
        "ceiling": row.ceiling,
        "as_if_independent": None if row.independent is None else asdict(row.independent),
        "drift": None if row.drift is None else asdict(row.drift),
        "votes_left_out": row.left_out,
        "rogan_gladen": None if row.corrected is None else asdict(row.corrected),
    }


def _interval_keys(interval: Interval) -> dict[str, float]:
    return {name: getattr(interval, name) for name in ("value", "se", "low", "high", "df")}


def section(answer: JudgeAnswer | None, refusal: str = "") -> Section:
    """What the report shows; without an answer why there is none."""
    if answer is None:
        return Section("judge", "The judge", (refusal,))
    items = [describe_habits(judge) for judge in answer.judges]
    for judge in answer.judges:
        if len(judge.estimates) > MANY:
            items.append(_summarize_worths(judge))
        else:
            items += [describe_worth(row, judge.title) for row in judge.estimates]
        if judge.ranking is not None:
            items += describe_ranking(judge, judge.ranking)
    return Section(
        "judge",
        "The judge",
        (
            "A judge is a program that answers as a rater would. Its verdicts are no votes: they help to estimate what "
            "people would say of pairs that nobody voted on. Its worth is the part of the votes that could be spared "
            "for the same error.",
        ),
        row_figures(answer),
        items=tuple(items),
        tables=tuple(part for part in parts(answer) if isinstance(part, Table)),
        notes=answer.warnings,
    )


def judged(
    study: str | Path,
    *,
    votes: str | Path | None = None,
    verdicts: str | Path | None = None,
    judges: Sequence[str] = (),
    labels: Sequence[str] | str | None = None,
    tuned_on: str | Path | None = None,
    clusters: str = "auto",
    seed: int = 0,
    **reading: Any,
) -> Result:
    """What the judges of a study are like and what they are worth in votes (`python -m analysis judge`)."""
    folder = Path(study)
    benches = benches_beside(folder, None if verdicts is None else Path(verdicts), judges)
    path = folder / "votes.jsonl" if votes is None else Path(votes)
    benches = _with_fields_of(benches, path.parent / "pairs.jsonl", folder)
    matches = None
    if votes is not None or path.exists():
        matches = matches_of(path, folder / "pairs.jsonl", **reading)[0]
    results = answer(
        benches,
        matches,
        labels=labels,
        imported=matches is not None and from_elsewhere(matches.votes),
        tuned_on=() if tuned_on is None else _read_names(Path(tuned_on)),
        clusters=clusters,
        seed=seed,
    )
    notes = [] if matches is None else told_of_reading(matches.votes)
    return Result(document(results), parts(results), lambda: row_figures(results), notes)


def _with_fields_of(benches: list[Bench], path: Path, folder: Path) -> list[Bench]:
    """The judges with what the votes' own folder says of its pairs, such as the chance by which it drew them."""
    if path.parent.resolve() == folder.resolve() or not path.exists():
        return benches
    pairs = dict(benches[0].pairs)
    for name, pair in pairs_of(path).items():
        if name in pairs:
            pairs[name] = replace(pairs[name], extra={**pairs[name].extra, **pair.extra})
    return [replace(bench, pairs=pairs) for bench in benches]


def _read_names(path: Path) -> tuple[str, ...]:
    try:
        return tuple(line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}). Write one pair's id a line.") from error


def in_report(request: ReportRequest) -> JudgeAnswer | None:
    """As of `analysis judge STUDY`; None where there are no verdicts."""
    study, folder = request.study, request.study.folder
    if study.table is not None or not (folder / VERDICTS).exists():
        return None
    matches = None
    if (folder / "votes.jsonl").exists():
        matches = matches_of(folder / "votes.jsonl", folder / "pairs.jsonl", **study.how)[0]
    imported = matches is not None and from_elsewhere(matches.votes)
    return answer(benches_beside(folder, None), matches, imported=imported, clusters=request.clusters)
