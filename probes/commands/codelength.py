"""How many bits the labels of each task take, sent online by a probe on each state: the description length.

A companion to `run`: two states may reach the same score, one from ten examples and one from ten thousand. Reads the
same files, with the same baselines; writes STUDY/probes/codelength-<corpus>.csv. What is done is kept.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from probes.codelength import Codelength
    from probes.plan import Question, Study
    from probes.probing import Material
    from probes.states import Representation
    from probes.summary import Cell

HEADER = "task,evaluator,model,seed,checkpoint,examples,blocks,uniform_bits,bits,compression"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to code, and with what."""
    add = parser.add_argument
    add("study", type=Path, metavar="STUDY", help="folder of the study")
    add("--corpus", type=Path, metavar="PATH", help="the corpus (default: STUDY/corpus)")
    add("--states", nargs="+", type=Path, metavar="FILE", help="these arrays (default: those in STUDY/states)")
    add("--subset", action="store_true", help="use only the examples that every array has a state for")
    add("--tasks", default="all", help="task names, comma-separated (default: all of the corpus)")
    add("--checkpoints", default="", metavar="NAMES", help="comma-separated, or all (default: all but epoch-N)")
    add("--c", type=float, default=1.0, help="data against penalty (default: 1)")
    add("--seed", type=int, default=0, help="seed of the order of the dialogues (default: 0)")


def run(args: argparse.Namespace) -> None:
    """Code what is not coded yet, write the table, print it."""
    from tqdm import tqdm

    from dialogue.corpora.reading import read_corpus
    from dialogue.errors import InputError
    from dialogue.signature import signature
    from probes import codelength, splits, states, suite
    from probes.plan import lay_out
    from probes.probing import Material

    if not args.c > 0:
        raise InputError(f"--c is {args.c}; it must be above zero.")
    corpus = read_corpus(args.corpus or args.study / "corpus")
    sides = splits.plan(corpus, "test")
    found = states.find(args.study, args.states, args.checkpoints)
    if args.subset:
        sides = sides.only(set.intersection(*(set(who.ids) for who in found)))
    study, folder = lay_out(corpus, args.tasks, sides), args.study / "probes"
    for who in found:
        states.check_covers(who, study.items)
    found += [who for who in suite.write_baselines(folder / "baselines", sides) if who.model != "majority"]
    blocks = codelength.blocks(study.fit.clusters, seed=args.seed)
    recipe = signature(code="online", c=args.c, blocks=len(blocks), seed=args.seed, fit=sides.names[0])
    rows = []
    with tqdm(total=len(found) * len(study.questions), unit="code", disable=None) as bar:
        for who in found:
            material = Material(who, study)
            for question in study.questions:
                rows.append((who, question, _code(folder, material, who, question, blocks, args.c, recipe)))
                bar.update()
    _report(folder / f"codelength-{corpus.name}.csv", study, rows, recipe)


def _code(
    folder: Path, material: Material, who: Representation, question: Question, blocks: list[np.ndarray], c: float,
    recipe: str,
) -> Codelength:  # fmt: skip
    """The code length of one representation and task, from its part file where that is whole and of the same inputs."""
    import dataclasses

    from dialogue.files import read_json, write_json
    from probes import codelength

    path = folder / f"{who.evaluator}-{who.name}" / f"{question.task}.codelength.json"
    key = [who.digest, question.digest, recipe]
    done: dict[str, Any] = read_json(path) if path.exists() else {}
    if done.get("key") == key:
        return codelength.Codelength(tuple(done["examples"]), tuple(done["bits"]), done["uniform"])
    found = codelength.online(material.features, material.axes, question.fit, blocks, c=c)
    write_json(path, dataclasses.asdict(found) | {"key": key})
    return found


def _report(path: Path, study: Study, rows: Sequence[tuple[Representation, Question, Codelength]], recipe: str) -> None:
    from dialogue.files import atomic
    from probes import report

    with atomic(path) as handle:
        handle.write(f"# {recipe}\n{HEADER}\n")
        for who, question, code in rows:
            names = (question.task, who.evaluator, who.model, "" if who.seed is None else who.seed, who.checkpoint)
            bits = f"{code.uniform:.1f},{sum(code.bits):.1f},{code.compression:.4f}"
            handle.write(",".join(map(str, (*names, sum(code.examples), len(code.bits), bits))) + "\n")
    cells, tasks = _cells(rows), [question.task for question in study.questions]
    print("Compression: how many times shorter than a code that knows nothing; mean and SD over training seeds.\n")
    print("\n".join(report.as_text(cells, tasks, digits=2)))
    print(f"{recipe}\nBits of every task and state in {path}.")


def _cells(rows: Sequence[tuple[Representation, Question, Codelength]]) -> list[Cell]:
    from probes.scoring import spread
    from probes.summary import Cell

    seeds: dict[tuple[str, ...], list[float]] = {}
    for who, question, code in rows:
        key = (question.task, who.evaluator, who.model, who.checkpoint)
        seeds.setdefault(key, []).append(code.compression)
    return [
        Cell(evaluator, task, model, checkpoint, "logistic", spread(values), float("nan"), float("nan"))
        for (task, evaluator, model, checkpoint), values in seeds.items()
    ]
