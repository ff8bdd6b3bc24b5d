"""How well a model's replies are told from people's, and whether the discriminator sees more than length."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from seedvote.dialogue.signature import signature
from seedvote.evaluators.detection.material import (
    UNK,
    DetectionMaterial,
    Generator,
    Occasion,
    Said,
    Showing,
    Tokens,
    Trial,
)
from seedvote.evaluators.detection.rates import (
    DetectionCurve,
    Measured,
    Rule,
    bin_chances,
    curve_with_band,
    mean_correlation,
    precision_recall,
    roc_curve,
    share_told,
    told_beyond,
    told_right,
)
from seedvote.evaluators.detection.work import SIMPLE, Artefact, DetectionSettings, TrialResult

# What the trials say: how well a model's replies are told from people's, beside all that could fool the reader.

Floats = NDArray[np.float64]
Done = tuple[Trial, TrialResult]
SEARCHES = ("greedy", "beam")  # decodings that draw nothing


@dataclass(frozen=True)
class Detected:
    """One generator: the accuracy of its discriminator and what stands beside it."""

    who: Generator
    replies: int  # in the test part, people's and the model's
    dialogues: int
    accuracy: Measured
    rater: str  # lstm, or bag where no network was asked for
    length: Measured
    bag: Measured
    null_a: Measured | None  # None: the generator answered once
    null_b: Measured
    without_unknown: Measured | None
    best: str  # of the simple ones, by the dialogues put aside
    beyond: Measured
    beyond_length: Measured
    precision_recall: DetectionCurve
    roc: DetectionCurve
    brier: float
    calibration: Sequence[Mapping[str, float]]
    artefacts: Sequence[Artefact]
    epochs: Mapping[str, Sequence[int]]
    fooled: Measured  # share of the model's replies that are taken for a person's
    human_taken: Measured  # likewise of people's replies
    shared: Measured | None = None  # `fooled` by the discriminator that all generators share
    ranked: SameLength | None = None


@dataclass(frozen=True)
class Detection:
    """All generators, in order, with the trials that their score rows come from."""

    found: Sequence[Detected]
    own: Mapping[Generator, Done]
    together: Mapping[Generator, tuple[Trial, TrialResult, int]]
    material: DetectionMaterial
    folds: int
    signature: str


def summarise_trials(material: DetectionMaterial, done: Sequence[Done], settings: DetectionSettings) -> Detection:
    """Put the results of all trials together."""
    own = {trial.who[0]: (trial, result) for trial, result in done if trial.name == "own"}
    nulls = {(trial.name, trial.who[0]): (trial, result) for trial, result in done if trial.name.startswith("null")}
    together = {
        who: (trial, result, n) for trial, result in done if trial.name == "shared" for n, who in enumerate(trial.who)
    }
    recipe = signature(
        corpus=material.digest.split()[1],
        responses=material.digest.split()[0],
        contexts=len(material.occasions),
        parts="60/15/25",
        folds=settings.folds,
        discriminator="lstm" if settings.lstm else "bag",
        seeds=len(settings.seeds) if settings.lstm else None,
        interval="dialogues x seeds",
        seed=settings.seed,
    )
    results = [
        _summarise_generator(
            who, own[who], nulls.get(("null A", who)), nulls["null B", who], together.get(who), settings
        )
        for who in own
    ]
    return Detection(results, own, together, material, settings.folds, recipe)


def stack_raters(result: TrialResult, rater: str) -> Floats:
    """Chances of all raters of one kind, a row each."""
    return np.array([values for name, values in result.test.items() if name.split()[0] == rater])


def dialogue_numbers(showings: Sequence[Showing]) -> NDArray[np.int64]:
    """The dialogue of each reply as a number from 0."""
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(showing.occasion.dialogue, len(numbers)) for showing in showings], dtype=np.int64
    )


class Sheet:
    """The tested replies of a trial, on which shares are counted."""

    def __init__(self, trial: Trial, folds: int) -> None:
        self.shown = trial.in_all("test", folds)
        self.human = np.array([showing.human for showing in self.shown])
        self.dialogue = dialogue_numbers(self.shown)
        self.folds = folds

    def measure_share(self, values: Floats, where: NDArray[np.bool_] | None = None) -> Measured:
        """A share of the replies, or of those that `where` names."""
        if where is None:
            return share_told(values, self.dialogue, self.folds)
        dialogue = np.unique(self.dialogue[where], return_inverse=True)[1].astype(np.int64)
        return share_told(values[:, where], dialogue, self.folds)

    def measure_advantage(self, values: Floats, rival_values: Floats) -> Measured:
        """How much larger the one share is."""
        return told_beyond(values, rival_values, self.dialogue, self.folds)

    def draw_curve(self, rule: Rule, chances: Floats, seed: int) -> DetectionCurve:
        """A curve with its band."""
        return curve_with_band(rule, self.human, chances, self.dialogue, seed=seed, folds=self.folds)


def _summarise_generator(
    who: Generator,
    own: Done,
    null_a: Done | None,
    null_b: Done,
    together: tuple[Trial, TrialResult, int] | None,
    settings: DetectionSettings,
) -> Detected:
    trial, result, folds = *own, settings.folds
    rater = "lstm" if settings.lstm else "bag"
    sheet = Sheet(trial, folds)
    chances = stack_raters(result, rater)
    right = {name: told_right(stack_raters(result, name), sheet.human) for name in {rater, *SIMPLE}}
    taken = (chances > 0.5).astype(np.float64)
    best = _best_simple(trial, result, rater, folds)
    known = np.array([UNK not in showing.occasion.human for showing in sheet.shown])
    return Detected(
        who=who,
        replies=len(sheet.shown),
        dialogues=int(sheet.dialogue.max()) + 1,
        accuracy=sheet.measure_share(right[rater]),
        rater=rater,
        length=sheet.measure_share(right["length"]),
        bag=sheet.measure_share(right["bag"]),
        null_a=null_a and _measure_accuracy(null_a, rater, folds),
        null_b=_measure_accuracy(null_b, rater, folds),
        without_unknown=sheet.measure_share(right[rater], known) if known.any() and not known.all() else None,
        best=best,
        beyond=sheet.measure_advantage(right[rater], right[best]),
        beyond_length=sheet.measure_advantage(right[rater], right["length"]),
        precision_recall=sheet.draw_curve(precision_recall, chances, settings.seed),
        roc=sheet.draw_curve(roc_curve, chances, settings.seed),
        brier=float(((chances - sheet.human) ** 2).mean()),
        calibration=bin_chances(sheet.human, chances),
        artefacts=result.artefacts,
        epochs=result.epochs,
        fooled=sheet.measure_share(taken, ~sheet.human),
        human_taken=sheet.measure_share(taken, sheet.human),
        shared=together and _share_fooled(*together, rater, folds),
        ranked=same_length(_list_ranked(trial, folds), _ranked_chances(result, rater)) if trial.ranked else None,
    )


def _best_simple(trial: Trial, result: TrialResult, rater: str, folds: int) -> str:
    """The simple rule that is right most often on dialogues put aside; chosen on the test, it would be flattered."""
    human = np.array([showing.human for showing in trial.in_all("choose", folds)])
    return max(
        (name for name in SIMPLE if name != rater),
        key=lambda name: float(told_right(result.chosen[name], human).mean()),
    )


def _measure_accuracy(done: Done, rater: str, folds: int) -> Measured:
    trial, result = done
    sheet = Sheet(trial, folds)
    return sheet.measure_share(told_right(stack_raters(result, rater), sheet.human))


def _share_fooled(trial: Trial, result: TrialResult, of: int, rater: str, folds: int) -> Measured:
    """Share of one model's replies that the discriminator of all takes for a person's."""
    sheet = Sheet(trial, folds)
    is_of_generator = np.array([not showing.human and showing.of == of for showing in sheet.shown])
    return sheet.measure_share((stack_raters(result, rater) > 0.5).astype(np.float64), is_of_generator)


def _list_ranked(trial: Trial, folds: int) -> list[tuple[Occasion, Said]]:
    return [reply for fold in range(folds) for reply in trial.ranked_in(fold)]


def _ranked_chances(result: TrialResult, rater: str) -> Floats:
    """The mean over seeds."""
    rows = np.array([values for name, values in result.ranked.items() if name.split()[0] == rater])
    return np.asarray(rows.mean(0), dtype=np.float64)


# Replies of equal length to one context, ranked twice: by the discriminator and by their own log-probability.
#
# Length moves both, so only replies of one length are compared. A correlation near 0 says that the discriminator does
# not simply prefer what the generator finds likely.

FEWEST_ALIKE = 5  # different replies of one length to one context
SHOWN = 3  # contexts
TOP = 5  # replies


@dataclass(frozen=True, slots=True)
class TopReplies:
    """One context and length: the replies that each ranking puts first."""

    item: str
    length: int
    by_discriminator: Sequence[Tokens]
    by_logprob: Sequence[Tokens]


@dataclass(frozen=True, slots=True)
class SameLength:
    """The correlation of both rankings, and examples of it."""

    rho: Measured
    contexts: int
    groups: int  # pairs of a context and a length
    draws: int
    examples: Sequence[TopReplies]


def same_length(ranked: Sequence[tuple[Occasion, Said]], chances: Floats) -> SameLength | None:
    """Mean Spearman correlation over contexts and lengths; nothing where no length has enough replies."""
    correlations: list[tuple[str, float]] = []
    examples: list[TopReplies] = []
    contexts: set[str] = set()
    for occasion, length, replies in _group_by_length(ranked, chances):
        scores, logprobs = [score for score, _ in replies.values()], [logprob for _, logprob in replies.values()]
        if len(set(scores)) < 2 or len(set(logprobs)) < 2:
            continue
        correlations.append((occasion.dialogue, float(spearmanr(scores, logprobs).statistic)))
        if occasion.item not in contexts and len(examples) < SHOWN:
            examples.append(_find_top_replies(occasion.item, length, replies))
        contexts.add(occasion.item)
    if not correlations:
        return None
    numbers = {name: n for n, name in enumerate(dict.fromkeys(name for name, _ in correlations))}
    rho = mean_correlation([value for _, value in correlations], np.array([numbers[name] for name, _ in correlations]))
    return SameLength(rho, len(contexts), len(correlations), len(ranked), examples)


def _group_by_length(
    ranked: Sequence[tuple[Occasion, Said]], chances: Floats
) -> Iterator[tuple[Occasion, int, dict[Tokens, tuple[float, float]]]]:
    """Contexts and lengths with enough different replies, the commonest length of a context first."""
    by_context: dict[str, tuple[Occasion, dict[int, dict[Tokens, tuple[float, float]]]]] = {}
    for (occasion, reply), chance in zip(ranked, chances, strict=True):
        _, lengths = by_context.setdefault(occasion.item, (occasion, defaultdict(dict)))
        if reply.logprob is not None:
            lengths[len(reply.tokens)][reply.tokens] = (float(chance), reply.logprob)
    for occasion, lengths in by_context.values():
        for length in sorted(lengths, key=lambda words: (-len(lengths[words]), words)):
            if len(lengths[length]) >= FEWEST_ALIKE:
                yield occasion, length, lengths[length]


def _find_top_replies(item: str, length: int, replies: dict[Tokens, tuple[float, float]]) -> TopReplies:
    first = [sorted(replies, key=lambda reply: (-replies[reply][by], reply))[:TOP] for by in (0, 1)]
    return TopReplies(item, length, *first)
