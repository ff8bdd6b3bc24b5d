"""Studies of which it is known what can be told: made-up contexts, people and generators, without any corpus."""

import numpy as np

from seedvote.evaluators.detection.answer import summarise_trials
from seedvote.evaluators.detection.material import MARKS, DetectionMaterial, Generator, Occasion, Said, make_trials
from seedvote.evaluators.detection.work import DetectionSettings, read_result, run_trial, trial_jobs

WORDS = ("<pad>", "<unk>", "<other>", "<self>", "<eou>", *(f"w{n}" for n in range(40)), "marker")
WHO = Generator("made", 0, "last", "temperature:1")


def spoken(rng, law, length=None):
    """A reply: Zipf's words as its dialogue prefers them."""
    n = length if length is not None else 2 + rng.poisson(4)
    return tuple(int(word) for word in rng.choice(len(law), n, p=law) + MARKS)


def material(machine, *, dialogues=240, turns=3, seed=0, draws=2, human=spoken):
    """People and one generator, whose reply is `machine(rng, law)`."""
    rng = np.random.default_rng(seed)
    plain = 1 / np.arange(1, 41)
    occasions, replies = {}, {}
    for place in range(dialogues):
        law = plain * rng.gamma(1.0, size=40)  # so that the turns of one dialogue hang together
        law /= law.sum()
        for turn in range(turns):
            item = f"d{place}:{turn}"
            occasions[item] = Occasion(item, f"d{place}", place, (2, *spoken(rng, law), 4), human(rng, law))
            replies[item] = [Said(machine(rng, law), float(-rng.gamma(3))) for _ in range(draws)]
    return DetectionMaterial(occasions, {WHO: replies}, WORDS, own_vocabulary=True, digest="made made")


def told(tmp_path, made, *, seeds=(), folds=1, seed=0, draws=0, shared=False):
    """The whole way from material to numbers."""
    settings = DetectionSettings(tuple(seeds), bool(seeds), seed, folds)
    jobs = trial_jobs(tmp_path, made, list(make_trials(made, seed=seed, shared=shared, draws=draws)), settings)
    for job in jobs:
        run_trial((made.words, settings), job)
    return summarise_trials(made, [(job.trial, read_result(job.path)) for job in jobs], settings)
