"""What may point to bots, language models or two accounts of one person among the raters: signals, never a verdict.

Each is a number that somebody can weigh, with its chance where it has one. Nobody is excluded by them: the rules of
[exclude] in hit.toml are, and they are stated before the votes come.
"""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import sqlalchemy as sa

from seedvote.crowd.forms.form import decisive
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.store import event_log
from seedvote.crowd.store.store import settings
from seedvote.crowd.store.tables import pairs, study_settings, votes
from seedvote.crowd.watching.machine_score import Behaviour, MachineScore, machine_scores

FEWEST = 20  # judgements below which nothing is said of a rater
TOGETHER = 10  # pairs that two raters must share to be compared
READING = 1.0  # seconds for 100 characters: some 1,000 words a minute, four times what people read
LIKE_A_PROGRAM = "several signs of a program"
RARE = 0.01  # a likeness of two raters that is less probable than this, among all that were compared, is pointed out


@dataclass(frozen=True, slots=True)
class TimedAnswer:
    """One judgement: who, on which pair, what, by which button, how long, on how many characters."""

    rater: str
    pair: str
    choice: str
    button: str
    seconds: float | None
    characters: int


@dataclass(frozen=True, slots=True)
class PageEvents:
    """On how many pairs (hidden checks too) somebody left the page, copied from it or pasted into it."""

    left: int = 0
    copied: int = 0
    pasted: int = 0


@dataclass(frozen=True, slots=True)
class Signals:
    """Of one rater; None where there is too little."""

    pace: float | None
    """Median seconds for 100 characters of the pair."""
    with_length: float | None
    """Rank correlation of time and length: readers take longer over longer texts."""
    bits: float | None
    """Entropy of the three buttons: 0 is always the same one, 1.58 all three alike."""
    twin: tuple[int, int] | None
    """Equal answers and shared pairs with the rater who is least probably so alike."""
    chance: float | None
    """How probable such a likeness is somewhere among all raters, if each pair of raters agrees as raters do here."""
    doubts: tuple[str, ...] = ()
    """What stands out, in words."""
    page: PageEvents | None = None
    """None where the study does not count them."""
    score: MachineScore | None = None
    """None where there are too few raters to compare."""


def rater_signals(connection: sa.Connection) -> Mapping[str, Signals]:
    """Of every rater with enough judgements of real and control pairs."""
    hit = connection.scalar(sa.select(study_settings.c.value).where(study_settings.c.key == "hit"))
    form = FORMS[json.loads(hit or "{}").get("form", "pairs")]
    length = {
        row.pair: _count_characters(row.body) for row in connection.execute(sa.select(pairs.c.pair, pairs.c.body))
    }
    v = votes.c
    rows = connection.execute(
        sa.select(v.rater, v.pair, v.choice, v.left, v.seconds).where(v.failed.is_(None)).order_by(v.vote)
    )
    answers = (
        TimedAnswer(
            row.rater,
            row.pair,
            decisive(row.choice),
            form.button(row.choice, row.left),
            row.seconds,
            length[row.pair],
        )
        for row in rows
    )
    return signals_of(answers, page_events(connection))


def page_events(connection: sa.Connection) -> Mapping[str, PageEvents] | None:
    """Of every rater to whom any of it happened; None where the study has never counted it.

    An answer that was taken back and given again counts its pair once.
    """
    pairs_with: defaultdict[str, defaultdict[str, set[str | None]]] = defaultdict(lambda: defaultdict(set))
    for event in event_log.read_events(connection, "noticed"):
        for name, number in event.data.items():
            if number and event.rater:
                pairs_with[event.rater][name].add(event.pair)
    if not pairs_with and not _counts_page_events(connection):
        return None
    return {
        rater: PageEvents(**{name: len(met) for name, met in pair_sets.items()})
        for rater, pair_sets in pairs_with.items()
    }


def _counts_page_events(connection: sa.Connection) -> bool:
    return bool(json.loads(settings(connection).get("hit", "{}")).get("page_events"))


def _count_characters(body: str) -> int:
    known = json.loads(body)
    judged = known.get("options") or known.get("responses") or (known["a"], known["b"])
    return sum(len(line["text"]) for line in (*known["context"], *judged))


def signals_of(answers: Iterable[TimedAnswer], page: Mapping[str, PageEvents] | None = None) -> Mapping[str, Signals]:
    """The same from judgements, and from what happened to the page where that is counted."""
    by_rater: defaultdict[str, list[TimedAnswer]] = defaultdict(list)
    for answer in answers:
        by_rater[answer.rater].append(answer)
    by_rater = defaultdict(list, {rater: rows for rater, rows in by_rater.items() if len(rows) >= FEWEST})
    twins = _find_twins(by_rater)
    events = None if page is None else {rater: page.get(rater, PageEvents()) for rater in by_rater}
    signals = {
        rater: _measure_signals(rows, twins.get(rater), None if events is None else events[rater])
        for rater, rows in by_rater.items()
    }
    scores = machine_scores({rater: _describe_behaviour(own, by_rater[rater]) for rater, own in signals.items()})
    return {rater: _with_score(own, scores.get(rater)) for rater, own in signals.items()}


def _with_score(signals: Signals, score: MachineScore | None) -> Signals:
    doubts = (*signals.doubts, LIKE_A_PROGRAM) if score and score.stands_out else signals.doubts
    return replace(signals, score=score, doubts=doubts)


def _describe_behaviour(signals: Signals, rows: Sequence[TimedAnswer]) -> Behaviour:
    times = [math.log(max(row.seconds, 1e-3)) for row in rows if row.seconds is not None]
    shares: dict[str, float] = {}
    if signals.page is not None:
        counts = {"left": signals.page.left, "copied": signals.page.copied, "pasted": signals.page.pasted}
        shares = {name: min(1.0, count / len(rows)) for name, count in counts.items()}
    return Behaviour(
        pace=signals.pace,
        with_length=signals.with_length,
        spread=statistics.stdev(times) if len(times) >= FEWEST else None,
        bits=signals.bits or 0.0,
        likeness=signals.chance,
        answers=len(rows),
        **shares,
    )


def _measure_signals(
    rows: Sequence[TimedAnswer], likeness: tuple[tuple[int, int], float] | None, page: PageEvents | None
) -> Signals:
    twin, chance = likeness or (None, None)
    timed = [(answer.seconds, max(1, answer.characters)) for answer in rows if answer.seconds is not None]
    pace = statistics.median(100 * seconds / length for seconds, length in timed) if len(timed) >= FEWEST else None
    follows = _rank_correlation(timed) if len(timed) >= FEWEST else None
    shares = [number / len(rows) for number in Counter(answer.button for answer in rows).values()]
    bits = max(0.0, -sum(share * math.log2(share) for share in shares))
    doubts = []
    if pace is not None and pace < READING:
        doubts.append("faster than people read")
    if len(shares) == 1:
        doubts.append("always the same button")
    if chance is not None and chance < RARE:
        doubts.append("answers like another rater's")
    return Signals(pace, follows, bits, twin, chance, tuple(doubts), page)


def _rank_correlation(timed: Sequence[tuple[float, int]]) -> float | None:
    """Spearman's, by Pearson's of mid-ranks."""
    try:
        return statistics.correlation(_rank_values([t for t, _ in timed]), _rank_values([n for _, n in timed]))
    except statistics.StatisticsError:  # all times or all lengths are the same
        return None


def _rank_values(values: Sequence[float]) -> list[float]:
    places: defaultdict[float, list[int]] = defaultdict(list)
    for place, value in enumerate(sorted(values)):
        places[value].append(place)
    return [statistics.fmean(places[value]) for value in values]


def _find_twins(by_rater: Mapping[str, Sequence[TimedAnswer]]) -> dict[str, tuple[tuple[int, int], float]]:
    """For each rater the least probable likeness to another one."""
    by_pair: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for rater, rows in by_rater.items():
        for answer in rows:
            by_pair[answer.pair][rater] = answer.choice
    met: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for answers in by_pair.values():
        for couple in combinations(sorted(answers), 2):
            met[couple][0] += answers[couple[0]] == answers[couple[1]]
            met[couple][1] += 1
    compared = {couple: (same, shared) for couple, (same, shared) in met.items() if shared >= TOGETHER}
    every_same, every_shared = (sum(counts[n] for counts in compared.values()) for n in (0, 1))
    twins: dict[str, tuple[tuple[int, int], float]] = {}
    for couple, (same, shared) in compared.items():
        other_shared = every_shared - shared  # the two are no measure of themselves
        usual = max(1 / 3, (every_same - same) / other_shared) if other_shared else 1 / 3
        chance = min(1.0, _at_least(same, shared, usual) * len(compared))
        for rater in couple:
            if rater not in twins or chance < twins[rater][1]:
                twins[rater] = ((same, shared), chance)
    return twins


def _at_least(k: int, n: int, p: float) -> float:
    """The probability of k or more among n. The twin of crowd/rating/gate.py's, which belongs to another room."""
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))
