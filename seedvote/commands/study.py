"""Carry out a whole study, from a corpus to the report, with simulated raters: what `make demo` runs.

Each stage is a command that a person could type; it reads and writes files of the study folder. A stage is skipped
if its command, code, inputs and outputs are unchanged: a second run ends in seconds, and a stopped run goes on. Without
--corpus the dialogues are invented ones. Raters compare three seeds of one architecture with each other and with a
baseline that draws words by their frequency. Nobody would miss that difference.

  python -m seedvote study runs/mine --corpus path/to/corpus
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json, write_json
from seedvote.dialogue.shell.wording import as_typed

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Stage:
    """One command with the files it reads and writes, relative to the study folder, and the code it depends on."""

    title: str
    command: list[str]
    reads: list[str]
    writes: list[str]
    code: list[str]


@dataclass(frozen=True)
class Size:
    """How large the demo is."""

    dialogues: int
    seeds: str
    epochs: int
    contexts: int
    pairs: int
    raters: int
    judgements: int
    tasks: str = "RecentTopic,RecentValues,ActionSelect"
    alone: bool = False  # each command in one process, which loads torch once


SIZES = {
    "full": Size(dialogues=1000, seeds="0-2", epochs=22, contexts=200, pairs=240, raters=50, judgements=200),
    "tiny": Size(
        dialogues=60,
        seeds="0-1",
        epochs=1,
        contexts=12,
        pairs=12,
        raters=12,
        judgements=10,
        tasks="RecentTopic",
        alone=True,
    ),  # tests that everything runs; not a study
}


def stages(study: str, size: Size, *, invented: bool = True) -> list[Stage]:
    """The stages from corpus to report, in order; an `invented` corpus is written first."""

    def stage(title: str, command: str, reads: str, writes: str, code: str) -> Stage:
        return Stage(title, command.split(), reads.split(), writes.split(), [*code.split(), "dialogue"])

    jobs = "--jobs 1" if size.alone else "--jobs 2"
    limit = "--jobs 1" if size.alone else ""  # otherwise one a core
    grid = f"--models seq2seq,bilstm_attn --seeds {size.seeds}"
    # The invented dialogues are short and use few words, so a small model learns them in many short epochs.
    how = f"--preset tiny --epochs {size.epochs} --valid 20" if invented else "--preset small --epochs 5"
    # A discriminator needs 50 dialogues with responses, which the tiny corpus does not have.
    discriminate = [
        stage(
            "Ask discriminators which replies the models wrote",
            f"-m evaluators discriminate {study} --encoder bag --folds 4 --shared --jobs 1",
            "corpus vocabulary.json responses.jsonl",
            *("adversarial.parquet adversarial.json discriminator.png discriminator.pdf discriminators", "evaluators"),
        )
    ]
    corpus = [
        stage(
            "Write a corpus of invented dialogues",
            f"-m dialogue toy {study}/corpus --kind plans --dialogues {size.dialogues} --seed 0",
            *("", "corpus", ""),
        )
    ]
    tasks = f" --tasks {size.tasks}" if invented else ""  # of another corpus all that its labels allow
    return [
        *(corpus if invented else []),
        stage(
            "Train two architectures under several seeds",
            f"-m generation train {study} {grid} {how} {jobs}",
            *("corpus", "models vocabulary.json", "generation"),
        ),
        stage(
            "Sample responses to the same held-out contexts, and let a baseline answer that draws words by frequency",
            f"-m generation sample {study} --limit {size.contexts} --checkpoint last --decoding nucleus:0.8 --unigram "
            f"{limit}",
            *("corpus models", "responses.jsonl", "generation"),
        ),
        stage(
            "Score the responses by token metrics",
            f"-m generation score {study}",
            *("corpus models responses.jsonl", "metrics.parquet", "generation"),
        ),
        stage(
            "Encode the contexts for the probes",
            f"-m generation encode {study} --checkpoints untrained,last {limit}",
            *("corpus models", "states", "generation"),
        ),
        stage(
            "Make pairs between seeds and with the baseline, controls and hidden checks",
            f"-m generation pair {study} --model bilstm_attn --against unigram --pairs {size.pairs} --seed 0",
            *("corpus models responses.jsonl", "pairs.jsonl", "generation"),
        ),
        stage(
            "Serve the HIT to simulated raters over HTTP",
            f"-m crowd simulate {study} --raters {size.raters} --seed 0",
            *("pairs.jsonl", "crowd.sqlite", "crowd templates"),
        ),
        stage(
            "Export the votes",
            f"-m crowd export {study}",
            *("crowd.sqlite", "votes.jsonl raters.jsonl", "crowd"),
        ),
        stage(
            "Draw the tie distributions",
            f"-m analysis ties {study}/votes.jsonl --size {size.judgements} --seed 0 --out {study}",
            *("votes.jsonl", "ties.json ties.png ties.pdf", "analysis"),
        ),
        stage(
            "Probe the encoders",
            f"-m probes run {study}{tasks} {jobs}",
            *("corpus states", "scores.parquet", "probes"),
        ),
        *([] if size.alone else discriminate),
        stage(
            "Draw questions: what was really said next?",
            f"-m evaluators questions {study} --n {size.contexts}",
            *("corpus", "questions.jsonl", "evaluators"),
        ),
        stage(
            "Rank their options by likelihood",
            f"-m generation rank {study} {jobs}",
            *("models questions.jsonl", "ranks.parquet", "generation"),
        ),
        stage(
            "Let models, length and TF-IDF choose",
            f"-m evaluators choose {study}",
            *("questions.jsonl ranks.parquet", "nuc.parquet nuc.json", "evaluators"),
        ),
        stage(
            "Write the report",
            f"-m analysis report {study}",
            "questions.jsonl nuc.parquet "
            "votes.jsonl raters.jsonl pairs.jsonl responses.jsonl ties.json ties.png metrics.parquet scores.parquet "
            "adversarial.parquet adversarial.json discriminator.png",
            *("report.html report.md report.tex report.json", "analysis templates"),
        ),
    ]


def fingerprint(root: Path, names: list[str]) -> str:
    """SHA-256 over the names and contents of files and folders; a missing one counts as such."""
    hasher = hashlib.sha256()
    for path in (root / name for name in names):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if "__pycache__" not in file.parts and not file.is_dir():
                hasher.update(str(file.relative_to(root)).encode())
                hasher.update(file.read_bytes() if file.exists() else b"missing")
    return hasher.hexdigest()


def recipe(stage: Stage, study: Path) -> dict[str, str]:
    """What a stage's outputs follow from."""
    return {
        "command": " ".join(stage.command),
        "code": fingerprint(ROOT, stage.code),
        "reads": fingerprint(study, stage.reads),
    }


def carry_out(stage: Stage, study: Path, number: str) -> float | None:
    """Run one stage and return its seconds; skip it if it is done.

    It continues what a killed run left, but not what another recipe left.
    """
    record = study / ".stages" / f"{stage.writes[0]}.json"
    before = read_json(record) if record.exists() else {}
    now = recipe(stage, study)
    if before == now | {"writes": fingerprint(study, stage.writes)}:
        print(f"{number} {stage.title}: done before", flush=True)
        return None
    if not now.items() <= before.items():
        clear(stage, study)
        write_json(record, now)
    typed = as_typed(" ".join(["python", *stage.command]))
    print(f"{number} {stage.title}\n        {typed}", flush=True)
    began = time.monotonic()
    if subprocess.run([sys.executable, "-m", "seedvote", *stage.command[1:]]).returncode:
        raise InputError(f"The study stopped at: {stage.title}. Run the same command again to go on from there.")
    write_json(record, now | {"writes": fingerprint(study, stage.writes)})
    seconds = time.monotonic() - began
    print(f"        {seconds:.0f} s", flush=True)
    return seconds


def split_of(seconds: Mapping[str, float]) -> str:
    """How the time divides: the stages that took a tenth of it or more, the longest first, and the rest."""
    total = sum(seconds.values())
    longest = sorted((title for title in seconds if seconds[title] >= total / 10), key=lambda title: -seconds[title])
    parts = [f"{title[0].lower()}{title[1:]} {seconds[title]:.0f}" for title in longest]
    return f"{total:.0f} s: {', '.join([*parts, f'the rest {total - sum(seconds[title] for title in longest):.0f}'])}"


def clear(stage: Stage, study: Path) -> None:
    """Remove what an earlier recipe of this stage wrote."""
    for path in (path for name in stage.writes for path in study.glob(f"{name}*")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def take_corpus(corpus: Path, study: Path) -> None:
    """Let the study's corpus be this one, in its place."""
    if not corpus.exists():
        raise InputError(f"{corpus} does not exist. Give a corpus (python -m dialogue describe PATH), or none.")
    link = study / "corpus"
    if link.exists() and link.resolve() != corpus.resolve():
        raise InputError(f"{link} is another corpus than {corpus}. Name another study.")
    study.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        link.symlink_to(corpus.resolve())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The folder and the corpus."""
    parser.add_argument("study", nargs="?", default="runs/demo", help="folder to fill (default: runs/demo)")
    parser.add_argument("--corpus", type=Path, metavar="PATH", help="your own corpus (default: invented dialogues)")
    parser.add_argument(
        "--size", choices=SIZES, default="full", help="tiny only tests that everything runs (default: full)"
    )


def run(args: argparse.Namespace) -> None:
    """Carry out every stage in order and print the findings."""
    if args.corpus:
        take_corpus(args.corpus, Path(args.study))
    line = stages(args.study, SIZES[args.size], invented=args.corpus is None)
    seconds = {}
    for number, stage in enumerate(line, 1):
        taken = carry_out(stage, Path(args.study), f"[{number:>2}/{len(line)}]")
        if taken is not None:
            seconds[stage.title] = taken
    if len(seconds) == len(line):
        print(f"\nTime {split_of(seconds)}.")
    print(f"\nThe report is in {args.study}/report.html. It found:")
    for sentence in read_json(f"{args.study}/report.json")["findings"][:3]:
        print(f"- {sentence}")
