"""`analysis ask-next`: more pairs in doubt, a known chance for each, and estimates that are those of all pairs."""

from pathlib import Path

import numpy as np
import pytest

from seedvote.analysis.commands import ask_next
from seedvote.analysis.notebook import judged
from seedvote.analysis.stats.powered import Sample, estimate_weighted, spread_chances, tune_weight
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Pair, Vote
from seedvote.dialogue.shell.command_line import parser_of
from tests.analysis.judge_crowd import study_folder


def drawn(study, out, *words):
    parser = parser_of(ask_next, "python -m analysis ask-next")
    ask_next.run(parser.parse_args([str(study), "--out", str(out), *map(str, words)]))
    return list(read_records(Path(out) / "pairs.jsonl", Pair))


def test_pairs_in_doubt_are_drawn_more_often_and_the_judge_reads_their_chances(tmp_path, capsys):
    study = study_folder(tmp_path / "s", pairs=300, voted=300, raters=20, agreement=0.7, flips=0.6)
    (study / "hit.toml").write_text('question = "Which?"\n')
    pairs = drawn(study, tmp_path / "next", "--pairs", 100)
    said = capsys.readouterr().out
    assert 75 < len(pairs) < 125 and (tmp_path / "next" / "hit.toml").exists()
    chances = {pair.pair: pair.extra["chance"] for pair in pairs}
    assert 0.1 < min(chances.values()) < max(chances.values()) <= 1
    assert "Next: python -m crowd serve" in said and "--labels weights chance" in said
    votes = [vote for vote in read_records(study / "votes.jsonl", Vote) if vote.pair in chances]
    write_records(tmp_path / "next" / "votes.jsonl", votes, signature="s", kind=Vote)
    found = judged(study, votes=tmp_path / "next" / "votes.jsonl", labels=["weights", "chance"])
    row = found.document["judges"][0]["estimates"][0]
    assert row["pairs_with_votes"] == len(pairs) and row["pairs_without"] == 300 - len(pairs)
    with pytest.raises(InputError, match="holds pairs already"):
        drawn(study, tmp_path / "next", "--pairs", 100)
    with pytest.raises(InputError, match="--even is 0"):
        drawn(study, tmp_path / "other", "--pairs", 100, "--even", 0)


def test_weighted_votes_on_pairs_in_doubt_estimate_all_pairs():
    """Where the judge is in doubt people lean to one side: the plain mean of such votes is off."""
    generator, plain, weighted, held = np.random.default_rng(0), [], [], []
    for _ in range(150):
        doubt = generator.choice([0.1, 1.0], 800)
        f = generator.choice([-1.0, 1.0], 800)
        y = np.where(generator.random(800) < 0.4 * doubt, 1.0, f)  # in doubt, people lean to the first
        chances = spread_chances(doubt, 200, 0.5)
        is_drawn = generator.random(800) < chances
        pair = np.arange(int(is_drawn.sum()))
        sample = Sample(
            y[is_drawn], f[is_drawn], {"pair": pair}, pair, pair, f[~is_drawn], np.arange(800 - len(pair)) + 800
        )
        found = estimate_weighted(sample, chances[is_drawn], tune_weight(sample)).interval
        plain.append(y[is_drawn].mean() - y.mean())
        weighted.append(found.value - 0.4 * 0.55)
        held.append(found.low <= 0.4 * 0.55 <= found.high)
    assert np.mean(plain) > 0.05 and abs(np.mean(weighted)) < 0.015
    assert np.mean(held) >= 0.92
