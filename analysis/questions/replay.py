"""How many votes a finished study would have needed for its conclusion, given out evenly or by an adaptive rule.

A replay draws the study's dialogues anew, with replacement, and gives their votes out in batches, as the rating server
would. After each batch it answers the question that the study was made for. How often that answer differs from the
study's own is the error of so many votes. Savings compare both designs where their errors are equal. A judge's verdicts
on the pairs may help the adaptive design, to share out the votes and to estimate strengths from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.showing.page import Axis, Row, RowFigure
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import percent, to_plain
from seedvote.analysis.stats.adaptive import FEWEST, MOST, PairPool, Rule, VoteLog, estimate_strengths, give_out
from seedvote.analysis.votes.cautions import Voters, judges_in_recipe, marked_parts, not_people, told_of_reading, voters
from seedvote.analysis.votes.inputs import matches_of
from seedvote.analysis.votes.systems import UNKNOWN, Matches
from seedvote.analysis.votes.votes import net_scores
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.formulas.allocation import FLOOR, Aim, AimKind
from seedvote.dialogue.judges import net_by_pair, read_verdicts
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ENOUGH = 0.05  # an error of at most so much is taken for the same conclusion
COMPARED = (0.1, 0.25, 0.5, 1.0)  # parts of the votes, evenly given out, whose error the adaptive design is to reach
STEPS = 40  # batches of a replay
REDRAWN = 1_000  # sets of replays, for the intervals
DESIGNS = {
    "even": "the even design",
    "adaptive": "the adaptive design",
    "judged": "the adaptive design with the judge",
}
SAVERS = {"adaptive": "the adaptive design", "judged": "the judge"}
ASKED = {
    "best": "which system is best",
    "ranking": "the ranking of all systems",
    "better": "whether {0} is better than {1}",
    "alike": "whether {0} and {1} are equivalent within {2:g}",
}


@dataclass(frozen=True, slots=True)
class Saving:
    """The part of the votes that the adaptive design saves where it errs as often as `votes` evenly given out."""

    votes: int
    error: float
    value: float
    low: float  # 95 % of redrawn sets of replays
    high: float


@dataclass(frozen=True, slots=True)
class DesignCurve:
    """The errors of one design; `enough` is the fewest votes whose error is at most ENOUGH, None where none is."""

    design: str
    votes: tuple[int, ...]
    errors: tuple[float, ...]
    enough: int | None


@dataclass(frozen=True, slots=True)
class ReplayAnswer:
    """The designs on the same votes."""

    question: str
    conclusion: str
    systems: tuple[str, ...]
    votes: int
    pairs: int
    replays: int
    even: DesignCurve
    adaptive: DesignCurve
    savings: tuple[Saving, ...]
    judged: DesignCurve | None  # the adaptive design with a judge's help
    judge_savings: tuple[Saving, ...]  # where it errs as often as the adaptive design without
    voters: Voters
    warnings: tuple[str, ...]
    signature: str


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """What is asked, and how votes are given out."""

    aim: AimKind = "best"
    systems: Sequence[str] = ()
    margin: float = 0.1
    fewest: int = FEWEST
    floor: float = FLOOR
    replays: int = 200
    seed: int = 0

    @property
    def question(self) -> str:
        """In words."""
        return ASKED[self.aim].format(*self.systems, self.margin)


@dataclass(frozen=True, eq=False)
class _Study:
    """The votes of a study by pair, turned so that a score above zero is for the first system of its contrast."""

    pool: PairPool
    order: Ints  # (votes,) by pair
    starts: Ints  # (pairs + 1,)
    score: Floats  # (votes,)
    rater: Ints  # (votes,)


def answer(
    matches: Matches, settings: ReplaySettings, *, known: bool = True, verdicts: Mapping[str, float] | None = None
) -> ReplayAnswer:
    """Replay the study under both designs; `verdicts` are a judge's on its pairs, from 1 for a to -1 for b."""
    study, aim = _arrange_votes(matches, verdicts), _make_aim(matches.systems, settings)
    fewest = min(settings.fewest, int(np.diff(study.starts).min()))
    all_strengths = estimate_strengths(study.pool, _give_all(study))
    grid = np.arange(1, STEPS + 1) / STEPS
    rules = {"even": Rule(None, fewest=fewest), "adaptive": Rule(aim, floor=settings.floor, fewest=fewest, most=MOST)}
    if verdicts is not None:
        rules["judged"] = rules["adaptive"]
    errors = {name: np.zeros((settings.replays, STEPS)) for name in rules}
    for k in range(settings.replays):
        for name, rule in rules.items():  # the same dialogues for all
            generator = np.random.default_rng(child_seed(settings.seed, "replay", k))
            errors[name][k] = _replay_once(study, rule, aim, all_strengths, generator, with_verdicts=name == "judged")
    votes = len(matches.votes)
    curves = {name: _make_curve(name, errors[name], grid, votes) for name in rules}
    redraw = np.random.default_rng(child_seed(settings.seed, "redraw"))
    savings = _compare_designs(errors["even"], errors["adaptive"], grid, votes, redraw)
    judge_savings = _compare_designs(errors["adaptive"], errors["judged"], grid, votes, redraw) if verdicts else ()
    return ReplayAnswer(
        question=settings.question,
        conclusion=_conclude(matches.systems, aim, all_strengths),
        systems=matches.systems,
        votes=votes,
        pairs=len(study.pool.contrast),
        replays=settings.replays,
        even=curves["even"],
        adaptive=curves["adaptive"],
        savings=savings,
        judged=curves.get("judged"),
        judge_savings=judge_savings,
        voters=(who_voted := voters(matches.votes)),
        warnings=(*matches.votes.warnings, *(() if known else (UNKNOWN,))),
        signature=signature(
            votes=votes,
            aim=settings.aim,
            **({"systems": list(settings.systems)} if settings.systems else {}),
            **({"margin": settings.margin} if settings.aim == "alike" else {}),
            fewest=fewest,
            most=MOST,
            floor=settings.floor,
            batches=STEPS,
            verdicts=len(verdicts) if verdicts else None,
            replays=settings.replays,
            seed=settings.seed,
            **judges_in_recipe(who_voted),
        ),
    )


def _make_aim(names: Sequence[str], settings: ReplaySettings) -> Aim:
    kind, systems = settings.aim, settings.systems
    if kind in ("best", "ranking"):
        if systems:
            raise InputError("--systems belongs to --aim better and --aim alike: the others are about all systems.")
        return Aim(kind)
    if len(systems) != 2 or systems[0] == systems[1]:
        raise InputError(f"--aim {kind} is about two systems: give --systems A,B, two of {', '.join(names)}.")
    if unknown := [name for name in systems if name not in names]:
        raise InputError(f"--systems names {unknown[0]}, which is not one of {', '.join(names)}.")
    return Aim(kind, (names.index(systems[0]), names.index(systems[1])), settings.margin)


def _arrange_votes(matches: Matches, verdicts: Mapping[str, float] | None) -> _Study:
    votes = matches.votes
    first, second = np.minimum(matches.a, matches.b), np.maximum(matches.a, matches.b)
    scores = np.where(matches.a > matches.b, -1, 1) * net_scores(votes.choice)
    keys, contrast = np.unique(first * len(matches.systems) + second, return_inverse=True)
    # one pair, or context, may have been asked about several contrasts
    compared, codes = np.unique(votes.pair * len(keys) + contrast, return_inverse=True)
    if len(compared) < 2:
        raise InputError("A replay needs votes on two pairs or more.")
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(compared) + 1))
    clusters = votes.pair if votes.dialogue is None or len(votes.dialogues) < 2 else votes.dialogue
    raters = np.arange(len(votes)) if votes.rater is None else votes.rater
    rows = order[starts[:-1]]  # one vote of each pair
    verdict = None
    if verdicts is not None:
        verdict = np.array([verdicts.get(votes.pairs[code], np.nan) for code in votes.pair[rows]])
        if np.isnan(verdict).all():
            raise InputError("--judge has no usable verdict on a pair of these votes. Give verdicts on the same pairs.")
        verdict = np.where(matches.a > matches.b, -1, 1)[rows] * verdict
    pool = PairPool(
        len(matches.systems),
        keys // len(matches.systems),
        keys % len(matches.systems),
        contrast[rows],
        np.unique(clusters[rows], return_inverse=True)[1],
        np.diff(starts),
        verdict,
    )
    return _Study(pool, order, starts, scores, raters)


def _give_all(study: _Study) -> VoteLog:
    """All votes at once."""
    pairs = np.repeat(np.arange(len(study.pool.contrast)), np.diff(study.starts))
    ones = np.ones(len(pairs), np.int64)
    return VoteLog(pairs, study.score[study.order], study.rater[study.order], ones, ones.astype(float))


def _replay_once(
    study: _Study,
    rule: Rule,
    aim: Aim,
    all_strengths: Floats,
    generator: np.random.Generator,
    *,
    with_verdicts: bool,
) -> Floats:
    """The error after each step."""
    dialogue = study.pool.dialogue
    number = int(dialogue.max()) + 1
    by_dialogue = np.argsort(dialogue, kind="stable")
    bounds = np.searchsorted(dialogue[by_dialogue], np.arange(number + 1))
    dialogues_drawn = generator.integers(number, size=number)
    parts = [by_dialogue[bounds[k] : bounds[k + 1]] for k in dialogues_drawn]
    pairs, dialogues = np.concatenate(parts), np.repeat(np.arange(number), [len(part) for part in parts])
    pool, taken = study.pool.select(pairs, dialogues), np.zeros(len(pairs), np.int64)
    pool = pool if with_verdicts else replace(pool, verdict=None)
    # the votes of a pair in a random order, which is the same for both designs
    shuffled = [generator.permutation(study.order[study.starts[p] : study.starts[p + 1]]) for p in pairs]

    def ask(wanted: Ints) -> tuple[Floats, Ints]:
        rows = np.empty(len(wanted), np.int64)
        for place, pair in enumerate(wanted.tolist()):
            rows[place] = shuffled[pair][taken[pair]]
            taken[pair] += 1
        return study.score[rows], study.rater[rows]

    budget = sum(map(len, shuffled))
    errors, reached = np.ones(STEPS), 0
    for log in give_out(pool, rule, ask, budget, generator, places=max(1, -(-budget // STEPS))):
        error = _measure_error(aim, estimate_strengths(pool, log, with_verdicts=with_verdicts), all_strengths)
        now = min(STEPS, round(len(log) / budget * STEPS))
        errors[reached:now] = error
        reached = max(reached, now)
    errors[reached:] = errors[max(reached - 1, 0)]
    return errors


def _measure_error(aim: Aim, strengths: Floats, all_strengths: Floats) -> float:
    """Whether the answer is another one than the whole study's; of a ranking, for which part of two systems each."""
    if aim.systems is not None:
        first, second = aim.systems
        gap, true_gap = strengths[first] - strengths[second], all_strengths[first] - all_strengths[second]
        if aim.kind == "alike":
            return float((abs(gap) < aim.margin) != (abs(true_gap) < aim.margin))
        return float(gap * true_gap <= 0)
    if aim.kind == "best":
        return float(np.argmax(strengths) != np.argmax(all_strengths))
    i, j = np.triu_indices(len(all_strengths), 1)
    return float(((strengths[i] - strengths[j]) * (all_strengths[i] - all_strengths[j]) <= 0).mean())


def _conclude(names: Sequence[str], aim: Aim, all_strengths: Floats) -> str:
    if aim.systems is not None:
        first, second = aim.systems
        gap = float(all_strengths[first] - all_strengths[second])
        if aim.kind == "alike":
            return (
                f"{names[first]} and {names[second]} are {'' if abs(gap) < aim.margin else 'not '}within {aim.margin:g}"
            )
        return f"{names[first if gap > 0 else second]} leads {names[second if gap > 0 else first]}"
    order = [names[k] for k in np.argsort(-all_strengths, kind="stable")]
    return f"{order[0]} leads" if aim.kind == "best" else " > ".join(order)


def _make_curve(design: str, errors: Floats, grid: Floats, votes: int) -> DesignCurve:
    means = errors.mean(0)
    last = np.flatnonzero(means > ENOUGH)  # enough from here on, not by a lucky look
    place = int(last[-1]) + 1 if len(last) else 0
    numbers = tuple(round(part * votes) for part in grid)
    return DesignCurve(design, numbers, tuple(means.tolist()), numbers[place] if place < len(grid) else None)


def _compare_designs(
    even: Floats, adaptive: Floats, grid: Floats, votes: int, generator: np.random.Generator
) -> tuple[Saving, ...]:
    sets = generator.integers(len(even), size=(REDRAWN, len(even)))
    savings = []
    for part in COMPARED:
        place = int(np.argmin(np.abs(grid - part)))
        if not even[:, place].any():  # an error of zero is reached, and nobody knows when
            continue
        value = saved_part(even.mean(0), adaptive.mean(0), grid, place)
        parts_saved = [saved_part(even[rows].mean(0), adaptive[rows].mean(0), grid, place) for rows in sets]
        low, high = np.quantile(parts_saved, [0.025, 0.975])
        savings.append(Saving(round(part * votes), float(even[:, place].mean()), value, float(low), float(high)))
    return tuple(savings)


def saved_part(even: Floats, adaptive: Floats, grid: Floats, place: int) -> float:
    """One less the votes of the adaptive design for this error over those of the even one; below zero it costs votes.

    Both curves are made to fall, and joined by straight lines. One that never gets there costs all the votes.
    """
    falling_even, falling = np.minimum.accumulate(even), np.minimum.accumulate(adaptive)
    wanted = falling_even[place]

    def reach(curve: Floats) -> float:
        below = np.flatnonzero(curve <= wanted + 1e-12)
        if not len(below):
            return float(grid[-1])
        k = int(below[0])
        if k == 0:
            return float(grid[0])
        step = (curve[k - 1] - wanted) / (curve[k - 1] - curve[k])
        return float(grid[k - 1] + step * (grid[k] - grid[k - 1]))

    return 1 - reach(falling) / reach(falling_even)


def parts(answer: ReplayAnswer) -> list[Table | str]:
    """The errors of both designs, what is saved at equal error, the sentences, and the recipe last."""
    pieces: list[Table | str] = [*replay_tables(answer), *list_findings(answer)]
    return [*marked_parts(pieces, answer.voters), *not_people(answer.voters), *answer.warnings, answer.signature]


def replay_tables(answer: ReplayAnswer) -> list[Table]:
    """Errors by votes, and savings."""
    every = [0, 1, *range(STEPS // 10 - 1, STEPS, STEPS // 10)]
    errors = [
        [
            f"{answer.even.votes[k]:,}",
            percent(answer.even.errors[k]),
            percent(answer.adaptive.errors[k]),
            *([] if answer.judged is None else [percent(answer.judged.errors[k])]),
        ]
        for k in every
    ]
    title = f"How often the answer differs: {answer.question}"
    head = ("votes", "error, even", "error, adaptive", *(() if answer.judged is None else ("with the judge",)))
    return [
        Table(head, errors, title),
        *_tabulate_savings(answer.savings, "even", "the adaptive design"),
        *_tabulate_savings(answer.judge_savings, "adaptive", "the judge"),
    ]


def _tabulate_savings(savings: Sequence[Saving], than: str, by: str) -> list[Table]:
    if not savings:
        return []
    rows = [[f"{row.votes:,}", percent(row.error), _spell_saving(row)] for row in savings]
    return [Table((f"{than} votes", "their error", "saved at equal error (95 %)"), rows, f"Votes saved by {by}")]


def _spell_saving(row: Saving) -> str:
    return f"{100 * row.value:.0f} % ({100 * row.low:.0f} to {100 * row.high:.0f})"


def list_findings(answer: ReplayAnswer) -> list[str]:
    """How many votes were enough, what is saved, and what the error means."""
    same = "the study's answer in 95 % of replays" if "ranking" not in answer.question else "95 % of its order"
    sentences = [f"All {answer.votes:,} votes say: {answer.conclusion}."]
    for curve in (answer.even, answer.adaptive, answer.judged):
        if curve is None:
            continue
        name = DESIGNS[curve.design]
        if curve.enough is None:
            sentences.append(f"Given out by {name}, {answer.votes:,} votes do not give {same}.")
        else:
            part = percent(curve.enough / answer.votes)
            sentences.append(f"{curve.enough:,} votes ({part}) by {name} give {same}.")
    sentences.append(_tell_saving(answer.savings, "adaptive"))
    return sentences if answer.judged is None else [*sentences, _tell_saving(answer.judge_savings, "judged")]


def _tell_saving(savings: Sequence[Saving], design: str) -> str:
    savings_shown = [row for row in savings if row.low > 0]
    if not savings_shown:
        return f"These replays do not show that {SAVERS[design]} saves votes here."
    best = max(savings_shown, key=lambda row: row.votes)
    saver = SAVERS[design]
    return f"{saver[0].upper()}{saver[1:]} saves {_spell_saving(best)} of {best.votes:,} votes at the same error."


def row_figures(answer: ReplayAnswer) -> tuple[RowFigure, ...]:
    """What is saved at equal error; nothing where the even design's answer is the study's from the start."""
    if not answer.savings:
        return ()
    ends = [end for row in answer.savings for end in (100 * row.low, 100 * row.high)]
    axis = Axis(min(0.0, *ends), max(50.0, *ends))
    rows = tuple(
        Row(
            f"{row.votes:,} votes, error {percent(row.error)}",
            _spell_saving(row),
            axis.interval(100 * row.low, 100 * row.value, 100 * row.high),
        )
        for row in answer.savings
    )
    title = f"Votes that the adaptive design saves: {answer.question}"
    ticks = axis.round_ticks()
    return (RowFigure(title, rows, ticks, "% of the votes", note_head="saved (95 % interval)", name="replay"),)


def document(answer: ReplayAnswer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    return {**to_plain(answer), "warnings": [*not_people(answer.voters), *answer.warnings]}


def replay(
    votes: Any,
    *,
    pairs: Any = None,
    judge: str | Path | None = None,
    aim: AimKind = "best",
    systems: Sequence[str] = (),
    margin: float = 0.1,
    fewest: int = FEWEST,
    floor: float = FLOOR,
    replays: int = 200,
    seed: int = 0,
    **reading: Any,
) -> Result:
    """How many votes a finished study would have needed (`python -m analysis replay`)."""
    if not 0 < floor <= 1:
        raise InputError(f"--floor is {floor:g}; it is a part of the votes, above 0 and at most 1.")
    if replays < 2 or fewest < 1:
        raise InputError("--replays must be 2 or more, and --fewest 1 or more.")
    matches, known = matches_of(votes, pairs, **reading)
    settings = ReplaySettings(aim, systems, margin, fewest, floor, replays, seed)
    verdicts = None if judge is None else net_by_pair(read_verdicts(judge))
    result = answer(matches, settings, known=known, verdicts=verdicts)
    return Result(document(result), parts(result), lambda: row_figures(result), told_of_reading(matches.votes))
