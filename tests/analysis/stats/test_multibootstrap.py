"""The multi-bootstrap: exact variances, a slow twin, coverage, and the command on a score table."""

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.questions.variance.cubes import on_common_items, read_cubes
from seedvote.analysis.stats.multibootstrap import METRICS, Cube, bootstrap_difference, one_system
from seedvote.analysis.votes.scores import files
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.generation.metrics.overlap import add_counts, bleu2, bleu_counts
from tests.analysis.evaluators_study import card, rows, without, write

COUNTS = ("tp", "fp", "fn")


def cube(seed, *, seeds=3, items=200, shift=0.0, seed_sd=0.5, item_sd=1.0, noise=1.0, items_of=None, model="m"):
    generator = np.random.default_rng(seed)
    item = np.random.default_rng(items_of if items_of is not None else seed).normal(0, item_sd, items)
    score = shift + generator.normal(0, seed_sd, (seeds, 1)) + item + generator.normal(0, noise, (seeds, items))
    counts = np.stack([np.ones_like(score), score], axis=2)
    names = tuple(f"i{k}" for k in range(items))
    return Cube(model, tuple(range(seeds)), names, ("n", "score"), counts, np.arange(items))


def draw(one, **options):
    return one_system(one, "mean", sets=20_000, generator=np.random.default_rng(0), **options)


def test_the_bootstrap_variance_of_a_mean_is_the_unbiased_one():
    """With one item the seeds alone vary, with one seed the items alone: s^2 / n exactly, not (n - 1)/n of it."""
    seeds = cube(1, seeds=4, items=1)
    assert draw(seeds).se ** 2 == pytest.approx(seeds.counts[:, 0, 1].var(ddof=1) / 4, rel=0.03)
    items = cube(2, seeds=1, items=50)
    assert draw(items).se ** 2 == pytest.approx(items.counts[0, :, 1].var(ddof=1) / 50, rel=0.03)


def test_an_interval_leaves_as_many_sets_below_as_above():
    found = draw(cube(5, items=40))
    assert np.mean(found.distribution < found.low) == pytest.approx(0.025, abs=2e-4)
    assert np.mean(found.distribution > found.high) == pytest.approx(0.025, abs=2e-4)


def test_a_set_is_what_drawing_rows_one_by_one_gives():
    generator = np.random.default_rng(3)
    counts = generator.integers(0, 4, (3, 30, 3)).astype(float)
    one = Cube("m", (0, 1, 2), tuple(map(str, range(30))), COUNTS, counts, np.arange(30) // 2)
    fast = one_system(one, "micro_f1", sets=8000, generator=generator)
    slow = []
    for _ in range(3000):
        rows = np.concatenate([[2 * g, 2 * g + 1] for g in generator.integers(0, 15, 14)])
        sums = counts[generator.integers(0, 3, 2)][:, rows].sum(1)
        slow.append((2 * sums[:, 0] / (2 * sums[:, 0] + sums[:, 1] + sums[:, 2])).mean())
    assert fast.distribution.mean() == pytest.approx(np.mean(slow), abs=0.002)
    assert fast.se == pytest.approx(np.std(slow), rel=0.05)


@pytest.mark.parametrize("shift", [1.0, -1.0])
def test_the_smallest_p_is_two_in_one_more_than_the_sets_were_drawn(shift):
    """A difference that is the same in every set: never 0, since the observed value counts as a set too."""
    flat = {"seed_sd": 0, "item_sd": 0, "noise": 0, "items": 5}
    found = bootstrap_difference(
        cube(0, shift=shift, **flat), cube(0, **flat), "mean", paired=True, sets=99, generator=np.random.default_rng(0)
    )
    assert (found.value, found.se, found.p) == (shift, 0.0, pytest.approx(2 / 100))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_p_between_counts_the_observed_value_among_the_sets(sign):
    """By hand from the distribution: the sets that lie beyond 0, and one more, of all sets and one more."""
    both = [cube(1, items_of=9, items=40, seed_sd=0, shift=0.25), cube(2, items_of=9, items=40, seed_sd=0)][::sign]
    found = bootstrap_difference(*both, "mean", paired=True, sets=59, generator=np.random.default_rng(0))
    wrong = min(sum(found.distribution <= 0), sum(found.distribution >= 0))  # so many sets say the opposite
    assert 0 < wrong < 29 and found.p == pytest.approx(2 * (wrong + 1) / 60)


def test_bleu_is_that_of_the_token_metrics():
    texts = [
        ("the hotel is cheap", "the hotel in the centre is very cheap"),  # so that brevity costs something
        ("i booked it for you", "i have booked it"),
        ("yes", "no"),
    ]
    rows = [bleu_counts(ours.split(), theirs.split()) for ours, theirs in texts]
    sums = np.array([[row[name] for name in rows[0]] for row in rows]).sum(0)
    assert METRICS["bleu2"](list(rows[0]))(sums) == pytest.approx(bleu2(add_counts(rows), smooth="none"))


def test_shared_items_cancel_and_seeds_only_when_paired():
    one, other = cube(1, items_of=9), cube(2, items_of=9, shift=0.3)
    options = {"sets": 4000, "generator": np.random.default_rng(0)}
    shared = bootstrap_difference(one, other, "mean", paired=False, **options)
    apart = np.hypot(draw(one).se, draw(other).se)
    assert shared.se < apart
    same = bootstrap_difference(one, one, "mean", paired=True, **options)
    assert same.se == 0
    assert bootstrap_difference(one, one, "mean", paired=False, **options).se > 0
    assert shared.value == pytest.approx(one.counts[:, :, 1].mean() - other.counts[:, :, 1].mean())


def test_systems_that_cannot_be_compared_are_refused():
    options = {"sets": 10, "generator": np.random.default_rng(0)}
    with pytest.raises(InputError, match="same items"):
        bootstrap_difference(cube(1), cube(2, items=3), "mean", paired=False, **options)
    with pytest.raises(InputError, match="no common seeds"):
        bootstrap_difference(cube(1), cube(2, seeds=2), "mean", paired=True, **options)
    with pytest.raises(InputError, match="no count tp, fp, fn"):
        one_system(cube(1), "micro_f1", **options)
    with pytest.raises(InputError, match="no item in common"):
        on_common_items(cube(1), Cube("x", (0,), ("other",), ("n", "score"), np.ones((1, 1, 2)), np.zeros(1, int)))


def score_file(path):
    generator = np.random.default_rng(0)
    rows = []
    for model, gain in (("seq2seq", 0.0), ("hred", 0.2), ("bare", 0.0)):
        for seed in (None,) if model == "bare" else (0, 1, 2):
            for k in range(40):
                hit = float(generator.random() < 0.5 + gain)
                rows.append(
                    {
                        "evaluator": "probe", "task": "T", "model": model, "seed": seed, "checkpoint": "last",
                        "item": f"d{k // 2}:{k % 2}", "rater": "logistic", "score": hit, "condition": "test",
                        "stats": {"tp": hit, "fp": 1 - hit, "fn": 1 - hit}, "cluster": f"d{k // 2}",
                    }
                )  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows[:-1] if rows else rows), path)
    return path


def test_a_score_table_becomes_cubes_without_the_rows_that_have_no_seed(tmp_path):
    read = read_cubes([score_file(tmp_path / "scores.parquet")])
    (scale,) = read.scales.items()
    assert scale[0] == "probe T last test"
    assert read.missing[0] == "not compared: probe T last test of bare (39 of its rows name no seed)"
    assert set(scale[1]) == {"seq2seq", "hred"}
    one = scale[1]["hred"]
    assert one.counts.shape == (3, 40, 5)
    assert one.names == ("n", "score", "tp", "fp", "fn")
    assert len(np.unique(one.cluster)) == 20
    assert one.items == tuple(sorted(one.items))


def test_the_command_compares_two_models(tmp_path, capsys):
    path = score_file(tmp_path / "scores.parquet")
    words = ["variance", str(path), "--compare", "hred,seq2seq", "--metric", "micro_f1", "--sets", "20"]
    assert dispatch("analysis", "", COMMANDS, [*words, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["compared"]
    assert [row["what"] for row in found] == ["hred", "seq2seq", "difference"]
    assert found[2]["value"] == pytest.approx(found[0]["value"] - found[1]["value"])
    assert found[2]["low"] < found[2]["value"] < found[2]["high"]
    assert dispatch("analysis", "", COMMANDS, words) == 0
    assert "Seeds and items resampled together" in capsys.readouterr().out
    with pytest.raises(InputError, match=r"No scale has both 'hred' and 'nobody' \(found: bare, hred, seq2seq\)"):
        dispatch("analysis", "", COMMANDS, ["variance", str(path), "--compare", "hred,nobody"])


def compare_command(capsys, *words):
    assert dispatch("analysis", "", COMMANDS, ["variance", *map(str, words), "--sets", "20", "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_multibootstrap_counts_missing_scores(tmp_path, capsys):
    """As `analysis compare` does: a score that could not be made is never averaged, and never just gone."""
    hard, refused = ("d0:0", "d1:1"), ("good", 2)
    table = without(rows("x"), lambda row: row["model"] == "poor" and row["item"] in hard, "too long")
    table = [
        r | ({"score": math.nan, "reason": "refused"} if (r["model"], r["seed"]) == refused else {}) for r in table
    ]
    write(tmp_path / "x.parquet", table, {"x": card()})
    found = compare_command(capsys, tmp_path, "--compare", "good,poor")
    said = "\n".join(found["not_used"])
    assert "--compare: x quality last of poor: 6 scores are missing (too long 6) and enter no mean; 2 items are" in said
    assert "--compare: not compared: x quality last of good seed 2 (none of its scores could be made)" in said
    difference_of = found["compared"][2]
    assert (difference_of["items"], difference_of["seeds"]) == (38, [2, 3])
    kept = pd.DataFrame(table).query("item not in ('d0:0', 'd1:1') and score == score")
    means = kept.groupby(["model", "seed"]).score.mean().groupby("model").mean()
    assert difference_of["value"] == pytest.approx(means["good"] - means["poor"])


def test_conditions_in_folders_are_scales_of_their_own_for_compare(tmp_path, capsys):
    write(tmp_path / "x.parquet", rows("x"), {"x": card()})
    write(tmp_path / "conditions" / "typos@0.5" / "x.parquet", rows("x", base=0.2), {"x": card()})
    found = compare_command(capsys, tmp_path, "--compare", "good,poor")["compared"]
    assert [row["name"] for row in found[::3]] == ["x quality last", "x quality last typos@0.5"]
    assert found[0]["value"] > 0.5 > found[3]["value"]


def test_scale_without_counts_is_named_and_left_out(tmp_path, capsys):
    counted = [row | {"stats": {"tp": 3.0, "fp": 1.0, "fn": 2.0}} for row in rows("f")]
    write(tmp_path / "f.parquet", counted, {"f": card("counted judge")})
    write(tmp_path / "x.parquet", rows("x"), {"x": card()})
    words = ("--compare", "good,poor", "--metric", "micro_f1")
    found = compare_command(capsys, tmp_path, *words)
    assert [row["name"] for row in found["compared"]] == ["f quality last"] * 3
    assert found["compared"][0]["value"] == pytest.approx(6 / 9)
    (line,) = (line for line in found["not_used"] if line.startswith("--compare"))
    assert line.startswith("--compare: not compared: x quality last by micro_f1 (The scores have no count tp, fp, fn")
    (tmp_path / "f.parquet").unlink()
    with pytest.raises(InputError, match=r"finds nothing to compare. not compared: x quality last by micro_f1"):
        dispatch("analysis", "", COMMANDS, ["variance", str(tmp_path), *words])


def test_cubes_read_in_small_batches_are_the_same(tmp_path, monkeypatch):
    path = score_file(tmp_path / "scores.parquet")
    whole = read_cubes([path])
    monkeypatch.setattr(files, "BATCH", 7)
    parts = read_cubes([path])
    assert parts.missing == whole.missing
    for scale, models in whole.scales.items():
        for model, one in models.items():
            other = parts.scales[scale][model]
            assert (other.items, other.seeds, other.names) == (one.items, one.seeds, one.names)
            assert np.array_equal(other.counts, one.counts)
            assert len(np.unique(np.stack([one.cluster, other.cluster]), axis=1).T) == 20  # the same dialogues


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_coverage_of_the_difference_of_two_systems(seeds):
    """95 % percentile intervals: short of nominal with three seeds, as any method that does not know the seed SD is."""
    covered = 0
    for run in range(600):
        one, other = (cube(2 * run + k, seeds=seeds, items=100, items_of=run + 10**6) for k in (0, 1))
        generator = np.random.default_rng(run)
        found = bootstrap_difference(one, other, "mean", paired=False, sets=600, generator=generator)
        covered += found.low <= 0 <= found.high
    print(seeds, covered / 600)
    assert covered / 600 > {3: 0.80, 5: 0.87, 10: 0.90}[seeds]
