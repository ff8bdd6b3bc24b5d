"""Where a score's variance comes from (architecture, seed, item, rater, what is left), and what a re-run would do.

Takes any long table: scores.parquet, metrics.parquet, CSV or JSON Lines with a score column and one column a factor;
with --score tie or --score net a file of votes. Prints the components with intervals, generalisability, the error of
studies of other sizes (--sizes seed=10,item=500), and how likely new seeds, items or raters reverse two systems.
--compare A,B adds the difference of two models in a corpus metric, with seeds and items resampled at once.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.arguments import add_json_argument, deliver, parse_names
from dialogue.errors import InputError

if TYPE_CHECKING:
    import numpy as np

BOOTSTRAP = 5000  # sets of the multi-bootstrap


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The tables, their columns, the sizes to plan for."""
    parser.add_argument("scores", type=Path, nargs="+", metavar="SCORES", help="Parquet, CSV or JSON Lines")
    parser.add_argument(
        "--score", default="score", metavar="COLUMN|tie|net", help="score column; tie or net for votes (default score)"
    )
    parser.add_argument("--factors", default="", metavar="F1,F2,...", help="columns (default model,seed,item,rater)")
    parser.add_argument("--target", default="model", metavar="FACTOR", help="what is compared (default model)")
    parser.add_argument("--sizes", action="append", default=[], metavar="F=N,...", help="another size of study; repeat")
    parser.add_argument("--only", default="", metavar="WORDS", help="tables whose name has all these words")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="votes only: pairs.jsonl, to name the systems")
    parser.add_argument("--compare", metavar="A,B", help="two models of a score table, by the multi-bootstrap")
    parser.add_argument("--metric", choices=("mean", "micro_f1", "bleu2"), default="mean", help="for --compare")
    parser.add_argument("--paired", action="store_true", help="for --compare: seed k of both models share something")
    parser.add_argument("--sets", type=int, default=200, help="simulated tables behind the intervals (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulation (default 0)")
    parser.add_argument("--figure", metavar="STEM", help="draw the components of each table: STEM-1.png and .pdf, ...")
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compute, print."""
    import numpy as np
    from tqdm import tqdm

    from analysis.long_table import from_votes, read_long
    from analysis.plain import plain
    from analysis.variance_report import analyse, variance_text
    from dialogue.seeds import child_seed
    from dialogue.signature import signature

    sizes = [{name: _size(name, text) for name, text in parse_names(one, "--sizes")} for one in args.sizes]
    factors = [name.strip() for name in args.factors.split(",") if name.strip()]
    if args.score in ("tie", "net"):
        tables = [from_votes(path, args.pairs, args.score) for path in args.scores]
    else:
        tables = [table for path in args.scores for table in read_long(path, score=args.score, factors=factors)]
    kept = [table for table in tables if set(args.only.split()) <= set(table.name.split())]
    if not kept:
        raise InputError(f"No table has all of {args.only!r} in its name: {', '.join(t.name for t in tables)}.")
    if unknown := {name for one in sizes for name in one} - {name for table in kept for name in table.factors}:
        raise InputError(
            f"--sizes names {sorted(unknown)[0]!r}, which is no factor here: {', '.join(kept[0].factors)}."
        )
    generator = np.random.default_rng(child_seed(args.seed, "variance"))
    found = [
        analyse(table, args.target, sizes, generator=generator, sets=args.sets)
        for table in tqdm(kept, desc="tables", unit="table", disable=None, leave=False)
    ]
    recipe = signature(
        tables=len(found), rows=sum(len(table.score) for table in kept), score=args.score, target=args.target,
        sets=args.sets, seed=args.seed,
    )  # fmt: skip
    compared = compare(args, generator) if args.compare else []
    warnings = list(dict.fromkeys(warning for table in kept for warning in table.warnings))
    said = plain({"tables": found, "compared": compared, "warnings": warnings, "signature": recipe})
    if args.figure:
        from analysis.figures import draw_components

        draw_components(said, args.figure)
    deliver(args, variance_text(said), said)


def compare(args: argparse.Namespace, generator: np.random.Generator) -> list[dict[str, Any]]:
    """The multi-bootstrap of two models on every scale that has both."""
    from analysis.cubes import on_common_items, read_cubes
    from analysis.multibootstrap import difference, one_system

    first, _, second = (name.strip() for name in args.compare.partition(","))
    said = []
    for scale, cubes in read_cubes(args.scores).items():
        if {first, second} <= set(cubes) and set(args.only.split()) <= set(scale.split()):
            pair = on_common_items(cubes[first], cubes[second])
            apart = difference(*pair, args.metric, paired=args.paired, sets=BOOTSTRAP, generator=generator)
            alone = [one_system(cube, args.metric, sets=BOOTSTRAP, generator=generator) for cube in pair]
            shown = zip((first, second, "difference"), (*alone, apart), strict=True)
            said += [
                {"name": scale, "what": what, "metric": args.metric, "value": e.value, "se": e.se, "low": e.low,
                 "high": e.high, "p": e.p if what == "difference" else None, "seeds": [len(c.seeds) for c in pair],
                 "items": len(pair[0].items)}
                for what, e in shown
            ]  # fmt: skip
    if not said:
        raise InputError(f"No scale has both {first!r} and {second!r}; write --compare MODEL,MODEL.")
    return said


def _size(name: str, text: str) -> float:
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not size > 0:
        raise InputError(f"--sizes has {name}={text}; a number above 0 is expected, e.g. seed=10,item=500.")
    return size
