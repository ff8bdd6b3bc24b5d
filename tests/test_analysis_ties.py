"""Tie distributions: exact laws, drawn ones, and what analyze_ties.py says and writes."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from analysis import laws
from analysis.ties import Recipe, analyse
from analysis.votes import votes_from_columns

ROOT = Path(__file__).resolve().parents[1]
rng = np.random.default_rng


def paper_votes(ties=(700, 700, 700), pairs=2000, raters=508):
    """Votes as in the paper: one a pair and round, a given number of ties in each."""
    rows = {"pair": [], "rater": [], "choice": [], "round": []}
    for k, count in enumerate(ties, 1):
        rows["pair"] += list(range(pairs))
        rows["rater"] += [f"r{(pair * 7 + k) % raters}" for pair in range(pairs)]
        rows["choice"] += ["tie"] * count + ["a", "b"] * ((pairs - count) // 2)
        rows["round"] += [k] * pairs
    return votes_from_columns(rows)


def test_the_papers_figures_follow_from_the_counts_alone():
    law = laws.hypergeometric(2000, 700, 200)
    assert round(law.sd, 4) == 0.0320
    assert (law.quantile(0.025), law.quantile(0.975)) == (0.29, 0.415)
    assert f"{law.above(0.5):.1e}" == "1.5e-06"
    law = laws.binomial(0.35, 200)
    assert round(law.sd, 4) == 0.0337
    assert (law.quantile(0.025), law.quantile(0.975)) == (0.285, 0.415)
    assert f"{law.above(0.5):.1e}" == "4.9e-06"


def test_the_chance_line_is_tested_with_the_papers_numbers():
    ties = analyse(paper_votes().select(np.arange(6000) < 2000), Recipe())
    assert round(ties.chance.z_vote, 2) == 1.58
    assert round(ties.chance.p_vote, 2) == 0.11


@pytest.mark.parametrize(("votes", "ties", "size"), [(2000, 700, 200), (10, 0, 5), (10, 10, 5), (7, 3, 7), (1, 1, 1)])
def test_the_vote_laws_are_scipys(votes, ties, size):
    k = np.arange(size + 1)
    ours = laws.hypergeometric(votes, ties, size).probability
    np.testing.assert_allclose(ours, stats.hypergeom(votes, ties, size).pmf(k), rtol=1e-10, atol=1e-300)
    ours = laws.binomial(ties / votes, size).probability
    np.testing.assert_allclose(ours, stats.binom(size, ties / votes).pmf(k), rtol=1e-10, atol=1e-300)


def test_the_program_writes_its_three_files_and_prints_a_table(tmp_path):
    done = subprocess.run(
        [sys.executable, "analyze_ties.py", "examples/votes.csv", "--size", "50", "--out", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "HumanExp-3" in done.stdout and "pair+rater" in done.stdout
    document = json.loads((tmp_path / "ties.json").read_text())
    assert list(document) == [
        "experiments",
        "pooled",
        "units",
        "chance",
        "effective_raters",
        "recipe",
        "warnings",
        "signature",
    ]
    assert [curve["name"] for curve in document["experiments"]] == ["HumanExp-1", "HumanExp-2", "HumanExp-3"]
    assert (tmp_path / "ties.png").stat().st_size > 10_000
    assert (tmp_path / "ties.pdf").read_bytes().startswith(b"%PDF")
