"""The trials as jobs, and the classifiers that read nothing: by length, and by words and pairs of words."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from seedvote.dialogue.files import atomic, clear_halves
from seedvote.dialogue.jobs import Job, content_key
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.tokens import LONGEST_RESPONSE
from seedvote.evaluators.detection.material import PARTS, DetectionMaterial, Showing, Tokens, Trial

# What is told without reading: by the length of a reply alone, and by its words and pairs of words.
#
# The weights of the bag say what a model does too often or too seldom; they are the list of artefacts.

Floats = NDArray[np.float64]
AT_LEAST = 3  # times that a word or a pair of words occurs in what is fitted
PENALTIES = (0.3, 1.0, 3.0, 10.0)  # the best on the dialogues put aside is kept
HEAVIEST = 20
SPREADS = (0.5, 1.0, 2.0)  # tokens by which counts of lengths are smoothed; the best one is kept

Predict = Callable[[Sequence[Tokens]], Floats]
Gram = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Artefact:
    """One word or pair of words that tells a model's reply from a person's."""

    words: str
    weight: float  # of the log-odds that a person wrote it
    human: int  # replies in the fitted part that hold it
    model: int


def fit_length(fit: Sequence[Showing], choose: Sequence[Showing]) -> Predict:
    """P(person | length): counts of each length, smoothed over its neighbours."""
    places = np.arange(LONGEST_RESPONSE + 1)
    counts = {label: np.zeros(len(places)) for label in (True, False)}
    for showing in fit:
        counts[showing.human][len(showing.reply)] += showing.weight
    prior = sum(counts[True]) / (sum(counts[True]) + sum(counts[False]))

    def with_spread(spread: float) -> Predict:
        kernel = np.exp(-0.5 * ((places[:, None] - places[None]) / spread) ** 2)
        human, model = kernel @ counts[True], kernel @ counts[False]
        table = (human + 2 * prior) / (human + model + 2)
        return lambda replies: np.asarray(table[[len(reply) for reply in replies]], dtype=np.float64)

    return min((with_spread(spread) for spread in SPREADS), key=lambda showing: log_loss(showing, choose))


def log_loss(predict: Predict, showings: Sequence[Showing]) -> float:
    """Mean negative log-likelihood of the labels, in nats."""
    return _loss_of(predict([showing.reply for showing in showings]), showings)


def _loss_of(chances: Floats, showings: Sequence[Showing]) -> float:
    chance = np.clip(chances, 1e-12, 1 - 1e-12)
    labels = np.array([showing.human for showing in showings])
    weights = np.array([showing.weight for showing in showings])
    return float(-(weights * np.log(np.where(labels, chance, 1 - chance))).sum() / weights.sum())


def list_grams(reply: Tokens) -> set[Gram]:
    """The words and neighbouring pairs of a reply; its two ends count as words."""
    marked_reply = (-1, *reply, -2)
    return {(word,) for word in reply} | set(pairwise(marked_reply))


def fit_bag(
    fit: Sequence[Showing], choose: Sequence[Showing], spelt: Callable[[Gram], str]
) -> tuple[Predict, list[Artefact]]:
    """A logistic regression on which words and pairs a reply holds, and its heaviest weights."""
    gram_sets = [list_grams(showing.reply) for showing in fit]
    often = Counter(gram for fitted in gram_sets for gram in fitted)
    column = {gram: n for n, gram in enumerate(sorted(gram for gram, times in often.items() if times >= AT_LEAST))}
    x = _gram_matrix(gram_sets, column)
    labels = np.array([float(showing.human) for showing in fit])
    shares = np.array([showing.weight for showing in fit])
    put_aside = _gram_matrix([list_grams(showing.reply) for showing in choose], column)  # once for all penalties

    def chances(matrix: sparse.csr_matrix, weights: Floats) -> Floats:
        return np.asarray(expit(matrix @ weights[:-1] + weights[-1]))

    def predict(replies: Sequence[Tokens]) -> Floats:
        return chances(_gram_matrix([list_grams(reply) for reply in replies], column), fitted)

    fits = (_fit_logistic(x, labels, shares / shares.mean(), penalty) for penalty in PENALTIES)
    fitted = min(fits, key=lambda showing: _loss_of(chances(put_aside, showing), choose))
    human = np.asarray(x[labels == 1].sum(0)).ravel()
    model = np.asarray(x[labels == 0].sum(0)).ravel()
    grams_in_order = list(column)
    heaviest = sorted(range(len(column)), key=lambda n: (-abs(fitted[n]), grams_in_order[n]))[:HEAVIEST]
    return predict, [
        Artefact(spelt(grams_in_order[n]), round(float(fitted[n]), 4), int(human[n]), int(model[n])) for n in heaviest
    ]


def _gram_matrix(gram_sets: Sequence[set[Gram]], column: dict[Gram, int]) -> sparse.csr_matrix:
    rows = [sorted(column[gram] for gram in grams_of_text if gram in column) for grams_of_text in gram_sets]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.array([column_number for row in rows for column_number in row], dtype=np.int64)
    return sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(rows), len(column)))


def _fit_logistic(x: sparse.csr_matrix, labels: Floats, weights: Floats, penalty: float) -> Floats:
    """Weights and intercept that maximise the penalised likelihood; the intercept bears no penalty."""
    across = x.T

    def loss(beta: Floats) -> tuple[float, Floats]:
        odds = x @ beta[:-1] + beta[-1]
        value = (weights * (np.logaddexp(0, odds) - labels * odds)).sum() + penalty / 2 * (beta[:-1] ** 2).sum()
        residual = weights * (expit(odds) - labels)
        return float(value), np.append(across @ residual + penalty * beta[:-1], residual.sum())

    fit = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return np.asarray(fit.x, dtype=np.float64)


# The trials as jobs: each leaves one file with all its chances, and is done again only when its inputs change.
#
# A file holds, for the replies of the test part (and of the part `choose`, whose dialogues were put aside), P(a person
# wrote it) by every rater: `lstm seed k`, `length` and `bag`. Where several quarters are tested, one follows the
# other.

SIMPLE = ("length", "bag")


@dataclass(frozen=True, slots=True)
class DetectionSettings:
    """What the discriminators follow from, beside the replies."""

    seeds: tuple[int, ...]
    lstm: bool
    seed: int  # of the split and the labels drawn by lot
    folds: int  # quarters of the dialogues that are tested, each by discriminators that did not see it


@dataclass(frozen=True, slots=True)
class TrialJob:
    """A trial and where its result lies."""

    trial: Trial
    path: Path


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The chances that one trial found."""

    test: Mapping[str, Floats]  # rater -> P(person) of each reply of the test part
    chosen: Mapping[str, Floats]  # likewise of the dialogues put aside
    ranked: Mapping[str, Floats]  # likewise of the draws to be ranked
    artefacts: Sequence[Artefact]
    epochs: Mapping[str, Sequence[int]]  # rater -> the best epoch of each fold


def trial_jobs(
    study: Path, material: DetectionMaterial, trials_to_run: Sequence[Trial], settings: DetectionSettings
) -> list[TrialJob]:
    """Every trial with its file."""
    jobs = []
    words = hashlib.sha256("\n".join(material.words).encode()).hexdigest()
    for trial in trials_to_run:
        key = content_key(words, asdict(settings), trial.name, _trial_text(trial))
        who = trial.who[0].decoding if trial.name == "shared" else trial.who[0].file_name
        name = "".join(letter if letter.isalnum() or letter in "-_.+" else "_" for letter in f"{who}-{trial.name}")
        jobs.append(TrialJob(trial, study / "discriminators" / f"{name}-{key[:16]}.npz"))
    return jobs


def as_detection_jobs(todo: Sequence[TrialJob]) -> list[Job]:
    """What is not there yet."""
    return [Job(fold.path.stem, fold.path.stem, fold) for fold in todo if not fold.path.exists()]


def run_trial(shared: tuple[Sequence[str], DetectionSettings], job: TrialJob) -> None:
    """Train every discriminator of one trial and write what they say."""
    words, settings = shared
    clear_halves(job.path)
    chances_of: dict[str, list[Floats]] = defaultdict(list)
    facts: dict[str, Any] = {"epochs": defaultdict(list)}
    for fold in range(settings.folds):
        artefacts = _one_fold(job.trial, fold, words, settings, chances_of, facts["epochs"])
        facts.setdefault("artefacts", [asdict(artefact) for artefact in artefacts])
    arrays = {name: np.concatenate(parts) for name, parts in chances_of.items()}
    arrays["told"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8).astype(np.float64)
    job.path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(job.path, "wb") as handle:
        np.savez(handle, **arrays)  # type: ignore[arg-type]  # the stub takes the names for options


def _one_fold(
    trial: Trial,
    fold: int,
    words: Sequence[str],
    settings: DetectionSettings,
    chances_of: dict[str, list[Floats]],
    epochs: dict[str, list[int]],
) -> list[Artefact]:
    """Train on the other quarters; what is found is added, and the bag's artefacts are returned."""
    parts = {name: trial.part(name, fold) for name in PARTS}
    raters, artefacts = _fit_simple(parts["fit"], parts["choose"], words)
    asked_replies = {
        name: [(showing.occasion, showing.reply) for showing in parts[name]] for name in ("choose", "test")
    }
    asked_replies["ranked"] = [(occasion, ranked_reply.tokens) for occasion, ranked_reply in trial.ranked_in(fold)]
    for rater, predict in raters.items():
        for name, rows in asked_replies.items():
            chances_of[f"{name}/{rater}"].append(predict([reply for _, reply in rows]))
    for seed in settings.seeds if settings.lstm else ():
        from seedvote.evaluators.detection.network import chance_of_a_person, fit_discriminator

        own = child_seed(settings.seed, "detection", "lstm", seed)
        fitted = fit_discriminator(parts["fit"], parts["choose"], len(words), own)
        for name, rows in asked_replies.items():
            chances_of[f"{name}/lstm seed {seed}"].append(chance_of_a_person(fitted.network, rows))
        epochs[f"lstm seed {seed}"].append(fitted.epochs)
    return artefacts


def read_result(path: Path) -> TrialResult:
    """What a job wrote."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    facts = json.loads(bytes(arrays.pop("told").astype(np.uint8)).decode())
    by_part: dict[str, dict[str, Floats]] = {"test": {}, "choose": {}, "ranked": {}}
    for name, values in arrays.items():
        part, _, rater = name.partition("/")
        by_part[part][rater] = values
    return TrialResult(
        by_part["test"],
        by_part["choose"],
        by_part["ranked"],
        [Artefact(**artefact) for artefact in facts["artefacts"]],
        facts["epochs"],
    )


def _fit_simple(
    fit: Sequence[Showing], choose: Sequence[Showing], words: Sequence[str]
) -> tuple[dict[str, Predict], list[Artefact]]:
    def spelt(gram: Gram) -> str:
        return " ".join("(start)" if word == -1 else "(end)" if word == -2 else words[word] for word in gram)

    bag, artefacts = fit_bag(fit, choose, spelt)
    return dict(zip(SIMPLE, (fit_length(fit, choose), bag), strict=True)), artefacts


def _trial_text(trial: Trial) -> str:
    """All that a trial's result follows from, hashed."""
    hashed = hashlib.sha256()
    for showing in trial.showings:
        at = showing.occasion
        text = f"{at.item} {at.place} {at.context} {showing.reply} {showing.human} {showing.of} {showing.weight}\n"
        hashed.update(text.encode())
    for occasion, reply in trial.ranked:
        hashed.update(f"{occasion.item} {reply.tokens} {reply.logprob}\n".encode())
    return hashed.hexdigest()
