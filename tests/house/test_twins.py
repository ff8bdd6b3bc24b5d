"""Formulas that stand in two packages, because packages do not import each other, give the same numbers.

Each twin names the other in its source; here the two are compared on random input and at the edges.
"""

import math

import numpy as np
import pytest
import torch

from seedvote.analysis.questions.comparison import published
from seedvote.analysis.stats import multibootstrap
from seedvote.analysis.stats.intervals import mean_interval
from seedvote.analysis.stats.laws import hypergeometric
from seedvote.analysis.stats.sign_tests import holm
from seedvote.analysis.stats.spread import seed_spread
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.scores import values
from seedvote.analysis.votes.votes import votes_from_columns
from seedvote.crowd.watching.overview import Gathered
from seedvote.crowd.watching.share_interval import ClusterCounts, law_of_ties, share_interval
from seedvote.dialogue.errors import InputError
from seedvote.evaluators.choosing.learnt import FOLDER
from seedvote.evaluators.detection.material import LONGEST_REPLY
from seedvote.evaluators.task import bleu as task_bleu
from seedvote.evaluators.task.rates import holm_p_values
from seedvote.generation import devices as generation_devices
from seedvote.generation.decoding import LONGEST_RESPONSE
from seedvote.generation.encoding import QUESTION_STATES
from seedvote.generation.metrics.overlap import add_counts, bleu2, bleu_counts
from seedvote.probes import comparisons
from seedvote.probes import devices as probes_devices
from seedvote.probes.scoring import corpus_bleu2, micro_f1
from seedvote.probes.scoring import spread as probes_spread

BLEU_NAMES = ("match1", "total1", "match2", "total2", "length", "reference")


def test_a_discriminator_reads_as_much_as_a_model_may_write():
    assert LONGEST_REPLY == LONGEST_RESPONSE


def test_states_of_questions_are_read_where_they_are_written():
    assert FOLDER == QUESTION_STATES


@pytest.mark.parametrize("values", [[], [3.0], [2.0, 2.0], [0.0, 100.0], [1e-9, 2e-9, 4e-9]])
@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value encountered")
def test_the_sd_over_seeds_at_the_edges(values, level):
    ours, theirs = seed_spread(values, level=level), probes_spread(values, level=level)
    np.testing.assert_equal((ours.sd, ours.low, ours.high), (theirs.sd, theirs.low, theirs.high))


def test_the_sd_over_seeds_of_random_values():
    rng = np.random.default_rng(0)
    for n in range(2, 40):
        values = rng.normal(50, rng.uniform(0, 30), n).tolist()
        ours, theirs = seed_spread(values), probes_spread(values)
        assert (ours.values, ours.sd, ours.low, ours.high) == (theirs.values, theirs.sd, theirs.low, theirs.high)
        assert theirs.low < theirs.sd < theirs.high


def test_p_values_adjusted_by_holm():
    rng = np.random.default_rng(3)
    for n in range(40):
        values = rng.integers(0, 30, n) / 100
        assert holm_p_values(values.tolist()) == holm(values).tolist()


def test_micro_f1_of_summed_counts():
    whole = multibootstrap.micro_f1_metric(("tp", "fp", "fn"))
    counts = np.random.default_rng(1).integers(0, 50, (200, 3))
    edges = np.array([(0, 0, 0), (0, 3, 0), (0, 0, 3), (7, 0, 0), (1, 1_000_000, 1)])
    for row in np.concatenate([counts, edges]).astype(float):
        assert micro_f1(*row) == pytest.approx(float(whole(row)), abs=1e-15)


def test_corpus_bleu2_from_summed_counts():
    rng, whole = np.random.default_rng(2), multibootstrap.bleu2_metric(BLEU_NAMES)
    without = 0
    for longest in (1, 2, 9):  # in a corpus of one-word responses nobody has a bigram
        for _ in range(100):
            texts = [["abcdef"[n] for n in rng.integers(0, 6, length)] for length in rng.integers(1, longest + 1, 6)]
            counts = add_counts(bleu_counts(*pair) for pair in zip(texts[::2], texts[1::2], strict=True))
            sums = np.array([counts[name] for name in BLEU_NAMES])
            assert bleu2(counts, smooth="none") == pytest.approx(float(whole(sums)), abs=1e-10)
            for smooth, word in ((True, "exp"), (False, "none")):
                assert corpus_bleu2(counts, smooth=smooth) == pytest.approx(bleu2(counts, smooth=word), abs=1e-10)
            without += not counts["total2"] and counts["match1"] > 0
            if counts["match2"] or not counts["total2"]:  # the smoothing touches nothing else
                assert bleu2(counts, smooth="exp") == pytest.approx(float(whole(sums)), abs=1e-10)
    assert without > 20


def test_corpus_bleu4_from_summed_counts():
    """`evaluators task` and the readers of its score table, also where replies are short or have next to no match."""
    rng, met = np.random.default_rng(0), set()
    for words in [1, 2, 3, 4, 4, 5, 6] * 20:
        letters = ["abcdefgh", "ab"][words % 2]
        said = [" ".join(rng.choice(list(letters), words)) for _ in range(2)]
        pairs = [(one, " ".join(rng.choice(list("abbx"), 6))) for one in said]
        summed = np.sum([task_bleu.counts(*pair) for pair in pairs], 0)
        found = float(task_bleu.bleu4(summed))
        assert values.bleu(dict(zip(task_bleu.COUNTS, summed, strict=True))) == pytest.approx(found, abs=1e-9)
        met.add((found > 0, bool(summed[3] > 0)))
    assert {(False, False), (True, False), (True, True)} <= met


@pytest.mark.parametrize("reference", [["a", "b", "c"], ["b"], ["a"]])
@pytest.mark.parametrize("response", [[], ["a"]])
def test_bleu2_of_a_response_without_a_bigram(response, reference):
    counts = bleu_counts(response, reference)
    sums = np.array([counts[name] for name in BLEU_NAMES], dtype=float)
    whole = float(multibootstrap.bleu2_metric(BLEU_NAMES)(sums))
    assert bleu2(counts, smooth="none") == pytest.approx(whole, abs=1e-10)
    assert (whole > 0) == (response == ["a"] and "a" in reference)


@pytest.mark.parametrize(("votes", "ties", "drawn"), [(1, 0, 1), (1, 1, 1), (10, 0, 4), (10, 10, 4), (10, 5, 10)])
def test_the_law_of_ties_at_the_edges(votes, ties, drawn):
    law = hypergeometric(votes, ties, drawn).probability
    np.testing.assert_allclose(law_of_ties(votes, ties, drawn), law, atol=1e-12)


def test_the_law_of_ties_in_a_set_drawn_without_replacement():
    rng = np.random.default_rng(3)
    for _ in range(100):
        votes = int(rng.integers(1, 3000))
        ties, drawn = int(rng.integers(0, votes + 1)), int(rng.integers(1, votes + 1))
        law = hypergeometric(votes, ties, drawn).probability
        np.testing.assert_allclose(law_of_ties(votes, ties, drawn), law, atol=1e-11)


def random_scores(rng):
    tasks = [f"task-{number}" for number in range(12)]
    easier = dict(zip(tasks, rng.permutation([60, 55, 51, 50, 45, 30, 26, 25, 24, 20, 10, 5]), strict=True))
    return {
        (task, model, checkpoint): float(easier[task])
        if checkpoint == "untrained" and rng.random() < 0.8
        else float(rng.uniform(0, 100))
        for task in tasks
        for model in (*comparisons.RECURRENT, "transformer")
        for checkpoint in ("untrained", "best_bleu")
    }


def test_tasks_are_as_difficult_in_a_study_as_in_the_papers():
    assert comparisons.RECURRENT == published.RECURRENT
    compared = 0
    for seed in range(20):
        means = random_scores(np.random.default_rng(seed))
        cells = [published.Published("multiwoz", t, m, c, f1, 0.0) for (t, m, c), f1 in means.items()]
        levels = comparisons.task_difficulty(means)
        assert levels == published.difficulty_of_tasks(cells)
        if all(list(levels.values()).count(name) > 1 for name in set(levels.values())):  # theirs has no SD of one task
            ours = {(g.model, g.difficulty): g for g in comparisons.means_by_difficulty(means, "best_bleu")}
            theirs = {(g.model, g.group): g for g in published.difficulty_groups(cells)}
            assert ours.keys() == theirs.keys() and len(ours) >= 5
            compared += 1
            for key, group in ours.items():
                assert set(group.tasks) == set(theirs[key].tasks)
                assert (group.mean, group.sd) == pytest.approx((theirs[key].mean, theirs[key].sd), abs=1e-10)
    assert compared > 5


@pytest.mark.parametrize("devices", [generation_devices, probes_devices], ids=["generation", "probes"])
def test_threads_are_set_and_put_back(devices):
    before = torch.get_num_threads()
    with devices.threads(before + 1):
        assert torch.get_num_threads() == before + 1
        with pytest.raises(ZeroDivisionError), devices.threads(1):
            math.fmod(1 / 0, 1)
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("cuda", [False, True])
@pytest.mark.parametrize("name", ["auto", "cpu", "cuda", "tpu", ""])
def test_a_device_is_picked_or_refused_alike(name, cuda, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)

    def picked(devices):
        try:
            return str(devices.pick_device(name))
        except InputError as error:
            return str(error)

    assert picked(generation_devices) == picked(probes_devices)


def votes_drawn(seed):
    """(pair, rater, tie, dialogue) of a small study; nobody judges a pair twice, some raters do nearly all the work."""
    generator = np.random.default_rng(seed)
    pairs, raters = int(generator.choice([1, 2, 3, 12, 60])), int(generator.choice([1, 2, 5, 20]))
    work = generator.pareto(0.7, raters) if seed % 2 else np.ones(raters)
    takes = generator.random((pairs, raters)) < np.minimum(1, 3 * work / work.sum())
    takes[0, 0] = True
    pair, rater = np.nonzero(takes)
    love = generator.choice([0.0, 1.0, 0.3], p=[0.1, 0.1, 0.8]) + generator.normal(0, 0.3 * (seed % 3), raters)
    dialogue = pair // int(generator.choice([1, 2, 5, 100]))
    return pair, rater, (generator.random(len(pair)) < love[rater]).astype(int), dialogue


def counts_by(codes, ties):
    counts = ClusterCounts()
    for code in np.unique(codes):
        counts.add(int(ties[codes == code].sum()), int((codes == code).sum()))
    return counts


def gathered(pair, rater, ties, dialogue):
    """What the dashboard sums while it reads the votes."""
    found = Gathered(single=counts_by(np.arange(len(ties)), ties), together=counts_by(dialogue * 1000 + rater, ties))
    for code in np.unique(pair):
        at = pair == code
        found.add(str(dialogue[at][0]), int(ties[at].sum()), int(at.sum()))
    return found


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 400), marks=pytest.mark.slow)], ids=str)
def test_the_dashboards_interval_of_ties_is_that_of_the_analysis(seeds):
    for seed in seeds:
        pair, rater, ties, dialogue = votes_drawn(seed)
        sums = gathered(pair, rater, ties, dialogue)
        by = {sums.name: sums.counts, "rater": counts_by(rater, ties)}
        ours = share_interval(int(ties.sum()), len(ties), by, sums.cells)
        if len(ties) < 2:
            assert ours is None
            continue
        columns = {"pair": pair.astype(str), "rater": rater.astype(str), "dialogue": dialogue.astype(str)}
        votes = votes_from_columns({**columns, "choice": np.where(ties, "tie", "a")})
        theirs = mean_interval(ties, by=clusters_of(votes), share=True)
        assert ours.unit == theirs.unit
        found, expected = ((x.se, x.df, x.low, x.high) for x in (ours, theirs))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), seed


def test_the_window_of_the_bag_of_words_is_that_of_the_encoders():
    """The newest words of a context are those that a model with a vocabulary of all words would be given."""
    from random import Random

    from seedvote.dialogue.corpora.examples import Example
    from seedvote.dialogue.records import Dialogue, Turn
    from seedvote.generation.vocabulary import LONGEST_CONTEXT, SPECIAL, Vocabulary
    from seedvote.probes.baselines import SEEN, newest_words

    random = Random(0)
    vocabulary = Vocabulary((*SPECIAL, *(f"w{n}" for n in range(300))))
    assert SEEN == LONGEST_CONTEXT
    for length in range(1, 16):
        said = [" ".join(f"w{random.randrange(300)}" for _ in range(random.randrange(30))) for _ in range(length)]
        turns = [Turn(("user", "system")[n % 2], text) for n, text in enumerate([*said, "x"])]
        numbers = vocabulary.context(turns[:-1], "system")
        seen = [vocabulary.words[number] for number in numbers if number >= len(SPECIAL)]
        assert newest_words(Example("D:1", Dialogue("D", "train", tuple(turns)), length)) == seen
