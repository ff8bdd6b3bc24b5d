"""Ratings at the sizes of published studies: paired ratings on a slider, and other raters for each system.

    python benchmarks/bench_ratings.py

A slider from 0 to 100 with 1,800 ratings of three systems; 5,000 ratings of five systems by 100 raters on 500 items,
any rater on any response, on a slider and on five steps (with odds ratios by an ordinal mixed model); and 20,000 of
them by 400 raters on 2,000 items. Processor time of reading and of the answer. Bar: all but the last below 5 s.
statsmodels' MixedLM, on 600 of the ratings, stands beside ours on the same ones.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from seedvote.analysis.questions.ratings.showing import ratings  # noqa: E402 (the checkout is not installed)
from seedvote.analysis.stats.crossed_linear import crossed_linear  # noqa: E402
from tests.analysis.worlds import Panels  # noqa: E402

BAR = 5.0


def seconds(work: Callable[[], object]) -> float:
    """Processor time, which another program on the machine does not change."""
    start = time.process_time()
    work()
    return time.process_time() - start


def write(path: Path, rows: Iterable[tuple[object, ...]]) -> Path:
    """A table of ratings."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "rater", "system", "score"])
        writer.writerows(rows)
    return path


def slider(generator: np.random.Generator) -> list[tuple[object, ...]]:
    """Three raters an item rate all three systems from 0 to 100."""
    return [
        (f"i{item}", f"r{rater}", f"s{system}", int(np.clip(generator.normal(50 + 5 * system, 20), 0, 100)))
        for item in range(200)
        for rater in generator.choice(40, 3, replace=False)
        for system in range(3)
    ]


def panel(panels: Panels, generator: np.random.Generator) -> list[tuple[object, ...]]:
    """One rating at a time, by whoever comes."""
    study = panels.study(generator)
    codes = zip(study["item"], study["rater"], study["system"], study["score"], strict=True)
    return [(f"i{item}", f"r{rater}", f"s{system}", score) for item, rater, system, score in codes]


def beside_statsmodels() -> None:
    """The same 600 ratings by both: item and rater crossed."""
    study = Panels(3, 20, 100, own=False).study(np.random.default_rng(0))
    x, factors = np.eye(3)[study["system"]], {name: study[name] for name in ("item", "rater")}
    table = pd.DataFrame({**study, "one": 1})
    model = smf.mixedlm("score ~ 0 + C(system)", table, groups="one",
                        vc_formula={"item": "0 + C(item)", "rater": "0 + C(rater)"})  # fmt: skip
    ours = seconds(lambda: crossed_linear(study["score"], x, factors))
    theirs = seconds(lambda: model.fit(method=["lbfgs"]))
    print(f"{len(table):,} ratings, item and rater crossed: {ours:.2f} s; statsmodels' MixedLM: {theirs:.1f} s")


def main() -> int:
    generator, late = np.random.default_rng(0), False
    with tempfile.TemporaryDirectory() as folder:
        for name, rows, bar in (
            ("slider, three systems, in pairs", slider(generator), BAR),
            ("five systems, 100 raters, 500 items", panel(Panels(5, 100, 500, own=False), generator), BAR),
            ("the same on five steps", panel(Panels(5, 100, 500, own=False, steps=5), generator), BAR),
            ("five systems, 400 raters, 2,000 items", panel(Panels(5, 400, 2000, own=False), generator), None),
        ):
            path = write(Path(folder) / "ratings.csv", rows)
            took = seconds(lambda path=path: ratings(path))
            late |= bar is not None and took > bar
            print(f"{len(rows):,} ratings, {name}: {took:.2f} s{f' (bar {bar:g} s)' if bar else ''}")
    beside_statsmodels()
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
