"""What may point to bots, language models or two accounts of one person among the raters: signals, never a verdict.

Each is a number that somebody can weigh, with its chance where it has one. Nobody is excluded by them: the rules of
[exclude] in hit.toml are, and they are stated before the votes come. So are `program_trap`, the line that only programs
read, and a link that several people use: its rater's pairs were answered again and differently, and of those answers
the first is stored, although their givers read "saved already".

One score adds up what may point to a program or a language model: how far a rater stands from the others, in three
ways. Each way gives at most 2 points, -log10 of a probability that is never taken below .01: how long answers take,
what the answers are, and what happens to the page. 4 points stand out, so no single way is enough: people who dictate
or use a screen reader leave the page and paste into it. Who takes longer than the median gets no point for time: people
who use a switch answer slowly and at an even pace.

A rater is compared with the median of all, in units of their spread (median absolute deviation, and t with 3 degrees of
freedom, whose tails are wide). So the score needs several raters, follows no fixed reading speed, and still holds where
some of them are programs. `benchmarks/sim_machines.py` states how often people stand out.
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

from seedvote.crowd.forms.form import decisive_part
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.store.store import read_events, settings
from seedvote.crowd.store.tables import pairs, study_settings, votes
from seedvote.dialogue.formulas.chances import binomial_tail

STANDS_OUT = 4.0
LEAST = 0.01  # the probability below which nothing counts more
FEWEST_RATERS = 8  # below which nobody is compared
MAD_TO_SD = 1.4826


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What is known of one rater; None where there is too little, or where the study does not count it."""

    pace: float | None
    """Median seconds for 100 characters."""
    with_length: float | None
    """Rank correlation of time and length of text."""
    spread: float | None
    """Standard deviation of the logarithms of the times."""
    bits: float
    """Entropy of the buttons."""
    likeness: float | None
    """Probability of the most similar other rater's answers, among all that were compared."""
    answers: int
    left: float | None = None
    """Shares of pairs on which the page was left, copied from and pasted into."""
    copied: float | None = None
    pasted: float | None = None


@dataclass(frozen=True, slots=True)
class MachineScore:
    """Points of one rater; each way has 0 to 2."""

    time: float
    answers: float
    page: float

    @property
    def points(self) -> float:
        """All of them, 0 to 6."""
        return self.time + self.answers + self.page

    @property
    def stands_out(self) -> bool:
        """Whether somebody should look at this rater."""
        return self.points >= STANDS_OUT


def machine_scores(raters: Mapping[str, Behaviour]) -> dict[str, MachineScore]:
    """The score of every rater; nobody's where there are too few to compare."""
    if len(raters) < FEWEST_RATERS:
        return {}
    everybody = list(raters.values())
    most_answers = max(rater.answers for rater in everybody)
    pace = _Spread([_log_of(rater.pace) for rater in everybody], least=0.3)
    length = _Spread([_fisher(rater.with_length) for rater in everybody], least=1 / math.sqrt(max(1, most_answers - 3)))
    spread = _Spread([_log_of(rater.spread) for rater in everybody], least=0.25)
    bits = _Spread([rater.bits for rater in everybody], least=0.15)
    page = [
        _Spread([_angle(share) for share in shares], least=0.2)
        for shares in zip(*map(_measure_shares, everybody), strict=True)
    ]

    def score(rater: Behaviour) -> MachineScore:
        time = [
            pace.below(_log_of(rater.pace)),
            length.below(_fisher(rater.with_length)),
            spread.below(_log_of(rater.spread)),
        ]
        if (time[0] or 0.0) >= 0.5:
            time = []  # who takes longer than most is no program that hurries: a switch is slow and even
        answers = [bits.below(rater.bits), rater.likeness]
        happened = [known.above(_angle(share)) for known, share in zip(page, _measure_shares(rater), strict=True)]
        return MachineScore(_score_points(time), _score_points(answers), _score_points(happened))

    return {name: score(rater) for name, rater in raters.items()}


def _score_points(probabilities: Sequence[float | None]) -> float:
    """-log10 of the smallest, times their number as Bonferroni has it."""
    known = [p for p in probabilities if p is not None]
    return -math.log10(min(1.0, max(LEAST, len(known) * min(known)))) if known else 0.0


class _Spread:
    """Where all raters stand, robustly: half of them may be anything."""

    def __init__(self, values: Sequence[float | None], *, least: float) -> None:
        known = [value for value in values if value is not None]
        self.middle = statistics.median(known) if known else 0.0
        deviations = [abs(value - self.middle) for value in known]
        self.unit = max(least, MAD_TO_SD * statistics.median(deviations)) if known else least

    def below(self, value: float | None) -> float | None:
        """The probability of a value so small or smaller."""
        return None if value is None else _student_tail(value, self.middle, self.unit)

    def above(self, value: float | None) -> float | None:
        """The probability of a value so large or larger."""
        return None if value is None else _student_tail(-value, -self.middle, self.unit)


def _student_tail(value: float, middle: float, unit: float) -> float:
    """The distribution function of t with 3 degrees of freedom, in closed form.

    >>> round(_student_tail(-3.182, 0, 1), 4), _student_tail(2, 2, 1)
    (0.025, 0.5)
    """
    t = (value - middle) / unit / math.sqrt(3)
    return 0.5 + (t / (1 + t * t) + math.atan(t)) / math.pi


def _log_of(value: float | None) -> float | None:
    return None if value is None else math.log(max(value, 1e-3))


def _fisher(correlation: float | None) -> float | None:
    return None if correlation is None else math.atanh(max(-0.999, min(0.999, correlation)))


def _angle(share: float | None) -> float | None:
    return None if share is None else math.asin(math.sqrt(min(1.0, share)))


def _measure_shares(rater: Behaviour) -> tuple[float | None, float | None, float | None]:
    return rater.left, rater.copied, rater.pasted


FOLLOWED = "followed the line for programs"


def trapped_raters(connection: sa.Connection) -> Mapping[str, int]:
    """Rater -> pairs on which the line was followed; an answer that was taken back and given again is one pair."""
    pairs_of: defaultdict[str, set[str | None]] = defaultdict(set)
    for event in read_events(connection, "trapped"):
        if event.rater:
            pairs_of[event.rater].add(event.pair)
    return {rater: len(met) for rater, met in pairs_of.items()}


def describe_trapped(rater: str, number: int) -> str:
    """A sentence for the researcher."""
    return (
        f"Rater {rater[:8]} {FOLLOWED} on {number} {'pair' if number == 1 else 'pairs'}. Look at their answers; nobody "
        "is excluded by it."
    )


FEWEST_DIFFERING = 3  # answers that differ from the stored one; fewer come from one person with an old tab


@dataclass(frozen=True, slots=True)
class SharedLink:
    """A rater who seems to be several people."""

    rater: str
    differing: int
    """Answers that differed from the one that was stored."""
    dropped: int
    """Those, and repeated ones: nothing of them was stored."""

    def says(self) -> str:
        """A sentence for the researcher."""
        return (
            f"One link, several people: {self.dropped} answers of rater {self.rater[:8]} came to pairs that were "
            f"answered already, {self.differing} of them with another choice. None was stored. Give each person a link "
            "of their own."
        )


def find_shared_links(connection: sa.Connection) -> tuple[SharedLink, ...]:
    """Most answers first."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for event in read_events(connection, "repeated"):
        if event.rater:
            counts[event.rater][0] += bool(event.data.get("differs"))
            counts[event.rater][1] += 1
    links = [SharedLink(rater, *numbers) for rater, numbers in counts.items() if numbers[0] >= FEWEST_DIFFERING]
    return tuple(sorted(links, key=lambda link: -link.dropped))


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
            decisive_part(row.choice),
            form.first_button(row.choice, row.left),
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
    for event in read_events(connection, "noticed"):
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
        chance = min(1.0, binomial_tail(same, shared, usual) * len(compared))
        for rater in couple:
            if rater not in twins or chance < twins[rater][1]:
                twins[rater] = ((same, shared), chance)
    return twins
