"""A discrimination finds what is there, finds nothing where nothing is, and never sees what it tests."""

import dataclasses

import numpy as np
import pytest

from seedvote.evaluators.detection import network
from seedvote.evaluators.detection.material import MARKS, Generator, Occasion, Showing, make_trials
from seedvote.evaluators.detection.rates import Measured
from seedvote.evaluators.detection.text import DETECTION_CARD, detection_document, detection_notes, detection_table
from seedvote.evaluators.detection.work import SPREADS, DetectionSettings, fit_length, run_trial, trial_jobs
from tests.evaluators.detection.made import WHO, WORDS, material, spoken, told

MARKER = len(WORDS) - 1


def marked(rng, law):
    return (*spoken(rng, law), MARKER)


def long_winded(rng, law):
    """The same words as people use, only more of them."""
    return spoken(rng, law, 5 + rng.poisson(4))


def test_marker_is_always_detected_and_listed_first(tmp_path, monkeypatch):
    monkeypatch.setattr(network, "EPOCHS", 12)  # a marker is learnt soon, and then for ever a little better
    one = told(tmp_path, material(marked, turns=1, dialogues=160), seeds=[0]).found[0]
    assert one.accuracy.value == one.bag.value == 1.0
    assert one.accuracy.low < 1.0, "40 replies of 40 dialogues do not prove that none is ever missed"
    assert "marker" in one.artefacts[0].words
    assert one.fooled.value == 0
    assert (one.roc.area.value, one.precision_recall.area.value) == pytest.approx((1, 1), abs=1e-12)


def test_a_generator_that_writes_as_people_do_is_not_detected(tmp_path):
    one = told(tmp_path, material(spoken, seed=3, turns=1), seeds=[0]).found[0]
    for found in (one.accuracy, one.length, one.bag, one.null_a, one.null_b, one.roc.area):
        assert found.low <= 0.5 <= found.high
    assert one.beyond.low <= 0 <= one.beyond.high


@pytest.mark.slow
def test_length_alone_shows_nothing_beyond_length(tmp_path):
    found = told(tmp_path, material(long_winded, seed=1, turns=2), seeds=[0])
    one = found.found[0]
    assert one.length.low > 0.5
    assert one.best == "length"
    assert one.beyond.low <= 0 <= one.beyond.high
    assert "not shown to be told better than by length alone" in "\n".join(detection_notes(found))


def test_the_better_rule_is_named_where_the_discriminator_does_not_tell(tmp_path):
    found = told(tmp_path, material(spoken, seed=3, turns=1, dialogues=40), seeds=[0])
    blind, seeing = Measured(0.56, 0.48, 0.63), Measured(0.66, 0.59, 0.73)
    one = dataclasses.replace(found.found[0], accuracy=blind, length=seeing, best="length")
    notes = "\n".join(detection_notes(dataclasses.replace(found, found=[one])))
    assert "length alone tells the model from people in .66 (.59-.73) of replies" in notes
    assert "the discriminator does not (.56 (.48-.63))" in notes
    assert "not told from people" not in notes


def test_folds_test_each_dialogue_once_untrained():
    made = material(spoken, dialogues=40)
    (trial, *_) = make_trials(made, seed=0, shared=False, draws=0)
    tested = trial.in_all("test", 4)
    assert sorted((one.occasion.item, one.human) for one in tested) == sorted(
        (one.occasion.item, one.human) for one in trial.showings
    )
    for fold in range(4):
        parts = {name: {one.occasion.dialogue for one in trial.part(name, fold)} for name in ("fit", "choose", "test")}
        assert not parts["fit"] & parts["test"] | parts["fit"] & parts["choose"] | parts["choose"] & parts["test"]
        shares = [len(parts[name]) / 40 for name in ("fit", "choose", "test")]
        assert shares == pytest.approx([0.6, 0.15, 0.25], abs=0.001)


def test_the_same_seed_leaves_the_same_bytes(tmp_path):
    made = material(spoken, dialogues=20, turns=1)
    settings = DetectionSettings((5,), lstm=True, seed=0, folds=2)
    written = []
    for name in ("one", "two"):
        (job, *_) = trial_jobs(tmp_path / name, made, list(make_trials(made, seed=0, shared=False, draws=0)), settings)
        run_trial((made.words, settings), job)
        written.append(job.path.read_bytes())
    assert written[0] == written[1]
    other = dataclasses.replace(settings, seeds=(6,))
    (changed, *_) = trial_jobs(tmp_path / "two", made, list(make_trials(made, seed=0, shared=False, draws=0)), other)
    assert changed.path.name != job.path.name


def test_the_shared_discriminator_puts_two_generators_on_one_scale(tmp_path):
    made = material(spoken, seed=2)
    rng = np.random.default_rng(9)
    plain = np.full(40, 1 / 40)
    worse = Generator("worse", None, "last", WHO.decoding)
    marked_ones = {
        item: [dataclasses.replace(said[0], tokens=marked(rng, plain))] for item, said in made.replies[WHO].items()
    }
    both = dataclasses.replace(made, replies={**made.replies, worse: marked_ones})
    found = told(tmp_path, both, shared=True)
    good, bad = found.found
    assert good.shared.value > 0.9
    assert bad.shared.value < 0.1
    assert bad.null_a is None, "it answered once"
    assert "Null A needs a second draw" in "\n".join(detection_notes(found))


def test_rankings_of_equal_length_follow_what_the_discriminator_prefers(tmp_path):
    """Where the likelier replies hold the marker, the discriminator ranks them last, and the other way round."""

    def sometimes(rng, law):
        words = spoken(rng, law, 4)
        return (*words, MARKER) if rng.random() < 0.5 else (*words, MARKS)

    made = material(sometimes, draws=24, dialogues=200, turns=1, human=lambda rng, law: (*spoken(rng, law, 4), MARKS))
    replies = {
        item: [dataclasses.replace(said, logprob=said.logprob + 50 * (said.tokens[-1] == MARKER)) for said in every]
        for item, every in made.replies[WHO].items()
    }
    found = told(tmp_path, dataclasses.replace(made, replies={WHO: replies}), draws=100)
    ranked = found.found[0].ranked
    assert ranked.contexts == 50
    assert ranked.draws == 50 * 24
    assert ranked.rho.high < -0.5
    top = ranked.examples[0]
    assert all(reply[-1] == MARKER for reply in top.by_logprob)
    assert all(reply[-1] == MARKS for reply in top.by_discriminator)


def test_the_table_has_a_line_a_generator_and_the_document_every_number(tmp_path):
    found = told(tmp_path, material(long_winded, seed=1))
    line = detection_table(found).splitlines()[1].split()
    assert line[:2] == ["made-0", "temperature:1"]
    document = detection_document(found)
    (one,) = document["generators"]
    assert one["accuracy"]["low"] < one["accuracy"]["value"] < one["accuracy"]["high"]
    assert sum(bin_["replies"] for bin_ in one["calibration"]) == one["replies"]
    assert DETECTION_CARD.tasks["fooled"].chance is None, "a half is a ceiling; guessing gets nothing there"


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("folds", "seeds", "dialogues"), [(1, (), 240), (4, (), 60), (4, (), 240), (1, (0, 1, 2), 200)]
)
def test_in_forty_studies_without_a_difference_the_interval_holds_a_half(tmp_path, folds, seeds, dialogues):
    inside = {"accuracy": 0, "null_a": 0, "null_b": 0, "bag": 0, "beyond_length": 0}
    for study in range(40):
        made = material(spoken, dialogues=dialogues, seed=100 + study)
        one = told(tmp_path / str(study), made, seeds=seeds, folds=folds, seed=study).found[0]
        for name in inside:
            found = getattr(one, name)
            inside[name] += found.low <= (0.0 if name == "beyond_length" else 0.5) <= found.high
    print(folds, seeds, dialogues, inside)
    assert all(count >= 36 for count in inside.values()), inside


def test_length_is_judged_by_smoothed_counts_as_a_slow_loop_has_them():
    def showing(length, human, weight=1.0):
        return Showing(Occasion("i", "d", 0, (1,), (1,)), (7,) * length, human, weight=weight)

    fit = [showing(3, True), showing(3, True), showing(5, True, 2.0), showing(4, False), showing(9, False, 3.0)]
    choose = [showing(3, True), showing(9, False), showing(5, True)]

    def chance(length, spread):
        kernel = {label: sum(s.weight * np.exp(-0.5 * ((length - len(s.reply)) / spread) ** 2) for s in fit
                             if s.human == label) for label in (True, False)}  # fmt: skip
        prior = 4 / (4 + 4)
        return (kernel[True] + 2 * prior) / (kernel[True] + kernel[False] + 2)

    def loss(spread):
        return -np.mean([np.log(p if s.human else 1 - p) for s in choose for p in [chance(len(s.reply), spread)]])

    best = min(SPREADS, key=loss)
    assert len({loss(spread) for spread in SPREADS}) == len(SPREADS)
    replies = [(7,) * length for length in (0, 3, 4, 9, 20)]
    wanted = [chance(len(reply), best) for reply in replies]
    assert fit_length(fit, choose)(replies) == pytest.approx(wanted, rel=1e-12)
