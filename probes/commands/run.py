"""Probe the encoder states of a study: fit classifiers on frozen states, with every baseline and control beside them.

Reads STUDY/states/*.npy (or --states FILE) and the labels of the corpus; writes STUDY/scores.parquet, one row an
example, and tables in STUDY/probes/. What is done is kept there: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probes.states import Representation
    from probes.suite import Part


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to probe, on what, and how."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    parser.add_argument("--corpus", type=Path, metavar="PATH", help="the corpus (default: STUDY/corpus)")
    parser.add_argument("--states", nargs="+", type=Path, metavar="FILE", help="these arrays (default: STUDY/states)")
    parser.add_argument("--tasks", default="all", help="task names, comma-separated (default: all of the corpus)")
    parser.add_argument(
        "--report", choices=("valid", "test"), default="test", help="split to report on (default: test)"
    )
    parser.add_argument(
        "--checkpoints", default="", metavar="NAMES", help="comma-separated, or all (default: no epoch-N)"
    )
    parser.add_argument(
        "--solver", choices=("batched", "sklearn"), default="batched", help="sklearn is the slow oracle"
    )
    parser.add_argument(
        "--protocol", choices=("standard", "paper"), default="standard", help="paper: the papers' own way"
    )
    parser.add_argument("--c", default="1", metavar="C,...", help="data against penalty; of several, chosen on valid")
    parser.add_argument("--seed", type=int, default=0, help="seed of the shuffled labels (default: 0)")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="score table (default: STUDY/scores.parquet)")


def run(args: argparse.Namespace) -> None:
    """Do what is not done yet, join the parts, print the table."""
    from tqdm import tqdm

    from dialogue.corpora.reading import read_corpus
    from dialogue.signature import signature
    from probes import suite
    from probes.plan import lay_out
    from probes.table import join

    corpus = read_corpus(args.corpus or args.study / "corpus")
    study, splits = lay_out(corpus, args.tasks, args.report, _options(args))
    folder = args.study / "probes"
    found = _representations(args, study.items)
    everyone = [*splits.fit, *splits.choose, *splits.report]
    found += suite.write_baselines(folder / "baselines", splits.fit, everyone)
    parts = suite.parts(folder, found, study)
    todo = [part for part in parts if not part.done]
    with tqdm(total=len(parts), initial=len(parts) - len(todo), unit="probe", disable=None) as bar:
        for part in suite.answer(todo, study, jobs=args.jobs or suite.cores()):
            bar.update()
            bar.set_postfix_str(part.representation.name)
    recipe = signature(probes=len(parts), corpus=corpus.name, **_recipe(args), fit=splits.names[0], report=args.report)
    out = args.out or args.study / "scores.parquet"
    rows = join([part.path for part in parts], out, recipe)
    _report(out, folder, corpus.name, parts, splits.banner, recipe)
    print(f"{rows:,} rows in {out} ({len(parts) - len(todo)} of {len(parts)} probes were done before).")


def _options(args: argparse.Namespace):  # type: ignore[no-untyped-def]
    from dialogue.errors import InputError
    from probes.plan import Options

    try:
        strengths = tuple(float(part) for part in args.c.split(","))
    except ValueError as error:
        raise InputError(f"--c is {args.c!r}; give numbers, comma-separated, e.g. 0.01,0.1,1.") from error
    if min(strengths) <= 0:
        raise InputError(f"--c is {args.c!r}; every value must be above zero.")
    return Options("logistic", args.solver, args.protocol, strengths, shuffle_seed=args.seed)


def _recipe(args: argparse.Namespace) -> dict[str, object]:
    return {
        "solver": args.solver,
        "protocol": args.protocol,
        "c": args.c,
        "seed": args.seed,
    }


def _representations(args: argparse.Namespace, items: tuple[str, ...]) -> list[Representation]:
    from dialogue.errors import InputError
    from probes.states import read_states

    files = args.states or sorted((args.study / "states").glob("*.npy"))
    if not files:
        raise InputError(
            f"{args.study / 'states'} holds no .npy file. Make them: python -m generation encode {args.study}."
        )
    found = [read_states(path, items) for path in files]
    wanted = set(args.checkpoints.split(",")) if args.checkpoints else None
    if args.checkpoints == "all" or args.states:
        return found
    kept = [who for who in found if (who.checkpoint in wanted if wanted else not who.checkpoint.startswith("epoch-"))]
    if not kept:
        there = ", ".join(sorted({who.checkpoint for who in found}))
        raise InputError(
            f"None of the states is of checkpoint {args.checkpoints or 'untrained, last, best'}; there: {there}."
        )
    return kept


def _report(out: Path, folder: Path, corpus: str, parts: list[Part], banner: str, recipe: str) -> None:
    from dialogue.files import atomic
    from probes import report, summary

    cells = summary.cells(summary.read_scores(out))
    tasks = list(dict.fromkeys(part.question.task for part in parts))
    for name, text in (("csv", report.as_csv(cells, recipe)), ("tex", report.as_latex(cells, tasks, recipe))):
        with atomic(folder / f"table-{corpus}.{name}") as handle:
            handle.write(text)
    print(banner + "\n" if banner else "", end="")
    print("Micro-F1 in points, mean over training seeds; in brackets their SD (its interval is in the CSV).\n")
    print("\n".join(report.as_text(cells, tasks)))
    print(recipe)
