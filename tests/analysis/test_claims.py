"""Every promise of the analysis has a row, every row has a line in the docs, and no world breaks a promise."""

import ast
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.claims.elsewhere import CARRIED, NO_CLAIM, SIMULATED
from tests.analysis.claims.registry import Claim, Rate, all_claims, is_kept, measure, worst_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from sim_claims import PAGE, lines_of

ROOT = Path(__file__).resolve().parents[2]
PROMISING = re.compile(r"(.*_)?(low|high|p|e)|p_\w+|best|worst|(low|high)_\w+")
CLAIMS = all_claims()


def promising_fields():
    """Every field of a dataclass of the analysis that is named as an end of an interval, a p, an e or a rank."""
    for path in sorted((ROOT / "analysis").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "analysis").with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(one) for one in node.decorator_list):
                names = [one.target.id for one in node.body if isinstance(one, ast.AnnAssign)]
                yield from (f"{module}.{node.name}.{name}" for name in names if PROMISING.fullmatch(name))


def spelt(table):
    """`stats.intervals.Interval: low high` as two names."""
    return [f"{kind}.{name}" for kind, _, names in (row.partition(": ") for row in table) for name in names.split()]


def with_rows():
    return [f"{kind}.{name}" for claim in CLAIMS for kind, names in claim.fields.items() for name in names.split()]


def test_every_promising_field_of_the_analysis_has_a_row_or_a_reason():
    fields, named = set(promising_fields()), [*spelt(SIMULATED), *spelt(CARRIED), *spelt(NO_CLAIM)]
    assert fields - set(with_rows()) - set(named) == set(), "a new claim: give it a row (registry.py says how)"
    assert set(with_rows()) | set(named) <= fields, "a row names a field that is gone"
    assert len(named) == len(set(named)) and not set(named) & set(with_rows()), "a field stands in two places"
    assert set(CARRIED.values()) <= {name.rpartition(".")[0] for name in fields}


@pytest.mark.parametrize("place", sorted(set(SIMULATED.values())))
def test_the_simulation_of_a_field_without_a_row_is_there(place):
    path, _, start = place.partition("::")
    assert f"\ndef {start}" in (ROOT / "tests" / "analysis" / path).resolve().read_text(encoding="utf-8")


def test_rows_have_names_of_their_own_and_lines_in_the_docs():
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names))
    lines = lines_of(PAGE.read_text(encoding="utf-8"))
    assert list(lines) == sorted(names), "run benchmarks/sim_claims.py for what has no line"
    for claim in CLAIMS:
        assert f"| {len(claim.cells)} |" in lines[claim.name], f"{claim.name}: its worlds are others than the docs say"


DEAR = ("rankings: sixty systems at once",)  # seconds for two studies


@pytest.mark.parametrize(
    "claim",
    [pytest.param(one, id=one.name, marks=[pytest.mark.slow] if one.name in DEAR else []) for one in CLAIMS],
)
def test_a_row_can_be_run(claim):
    cell = next(iter(claim.cells))
    outcomes = claim.run(claim.cells[cell], 2, np.random.default_rng(0))
    answers = outcomes[np.isfinite(outcomes)]
    assert len(outcomes) == 2 and ((answers >= 0) & (answers <= 1)).all()  # whether it held, or for what share
    assert set(claim.silent) <= set(claim.cells)


def test_a_promise_that_is_broken_in_one_world_is_seen():
    def run(share, studies, generator):
        return (generator.random(studies) < share).astype(float)

    kept = Claim("a", "", {}, {"good": 0.95, "bad": 0.8}, run, 0.95, 0.93)
    rates = [measure(kept, cell) for cell in kept.cells]
    assert [is_kept(kept, rate) for rate in rates] == [True, False] and worst_of(kept, rates).cell == "bad"
    errs = Claim("b", "", {}, {"good": 0.05, "bad": 0.2}, run, 0.05, 0.06, is_error=True)
    rates = [measure(errs, cell) for cell in errs.cells]
    assert [is_kept(errs, rate) for rate in rates] == [True, False] and worst_of(errs, rates).cell == "bad"
    mute = Claim("c", "", {}, {"x": 0}, run, 0.95, 0.93, silent=("x",))
    assert is_kept(mute, Rate("x", 10, float("nan"), 0.0)) and not is_kept(mute, Rate("x", 10, 1.0, 0.1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "cell"),
    [pytest.param(claim, cell, id=f"{claim.name}: {cell}") for claim in CLAIMS for cell in claim.cells],
)
def test_the_promise_is_kept(claim, cell):
    rate = measure(claim, cell)
    print(f"{claim.name}: {cell}: {rate.share:.3f} of {rate.answered:.0%} with an answer")
    assert is_kept(claim, rate)
