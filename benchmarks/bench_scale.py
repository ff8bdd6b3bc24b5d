"""What a study costs and how the cost grows: models, probes, votes, whole commands; and two processes against one.

    python benchmarks/bench_scale.py               all of it, in about a quarter of an hour
    python benchmarks/bench_scale.py --models      thousand examples trained, encoded and answered, paper sizes
    python benchmarks/bench_scale.py --probes      by examples and by labels
    python benchmarks/bench_scale.py --votes       reading and the estimates behind the tables
    python benchmarks/bench_scale.py --commands    whole commands on large studies, with their memory
    python benchmarks/bench_scale.py --speedup     a grid of four small models: two processes, and Ray, against one

Costs are CPU seconds of one thread, so that other work on the machine disturbs them least; the speed-up is a ratio of
times by the clock, taken in turns. Growth is the slope of log cost on log size: at 1, twice the size is twice the cost.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import threadpoolctl
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import bench_probes  # noqa: E402 (the checkout is not installed)
import bench_training  # noqa: E402
from large_studies import SYSTEMS, write_scores, write_study  # noqa: E402

from seedvote.analysis.stats.between_raters.agreement import estimate_coefficients  # noqa: E402
from seedvote.analysis.stats.components import estimate_components  # noqa: E402
from seedvote.analysis.stats.intervals import mean_interval  # noqa: E402
from seedvote.analysis.stats.paired import davidson  # noqa: E402
from seedvote.analysis.stats.paired.davidson_errors import cluster_errors  # noqa: E402
from seedvote.analysis.stats.resample import crossed_bootstrap  # noqa: E402
from seedvote.analysis.votes.votes import read_votes  # noqa: E402
from seedvote.dialogue.corpora.toy.write import write_toy  # noqa: E402
from seedvote.dialogue.jobs import job_environment, keep_freed_memory  # noqa: E402
from seedvote.dialogue.signature import signature  # noqa: E402
from seedvote.generation import decoding  # noqa: E402
from seedvote.generation.encoding import Form, encode_block  # noqa: E402
from seedvote.generation.models.architectures import ARCHITECTURES, build_model, sizes_of  # noqa: E402
from seedvote.generation.numbering import Numbered  # noqa: E402
from seedvote.generation.vocabulary import EOS  # noqa: E402
from seedvote.probes.classifiers import logistic  # noqa: E402
from seedvote.probes.classifiers.logistic import fit_features  # noqa: E402

WORDS, LENGTH, EXAMPLES = (13_000, 26_000), 20, (256, 768)
STATES, LABELS = (7_000, 14_000, 28_000, 56_000), (64, 256, 1024)
VOTES, SETS = (10_000, 30_000, 100_000, 300_000), 1_000
LARGE, ROWS = (100_000, 1_000_000), (800_000, 8_000_000)
GRID = "--models seq2seq --seeds 0-3 --preset small --epochs 8 --valid 8"


def seconds(act: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    begun = time.process_time()
    act()
    return time.process_time() - begun


def growth(sizes: Sequence[float], costs: Sequence[float]) -> str:
    """The exponent of the power law through the points, by least squares on logarithms."""
    return f"{np.polyfit(np.log(sizes), np.log(costs), 1)[0]:.2f}"


def row(*cells: object) -> None:
    """A line of a Markdown table."""
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def head(*names: str) -> None:
    """Its head."""
    print()
    row(*names)
    row("---", *["--:"] * (len(names) - 1))


# Models


def model_of(name: str, words: int):
    """An architecture at paper size with random weights: words as unlike in chance as in a trained one, no end."""
    torch.random.default_generator.manual_seed(0)
    model = build_model(name, words, sizes_of(name, "paper"))
    model.output.bias.data.normal_(0, 3.5)
    model.output.bias.data[EOS] = -100.0
    return model


def trained(name: str, words: int, chosen: Sequence[Numbered], number: int) -> float:
    """CPU seconds of so many examples, in batches that stand for those of an epoch."""
    model = model_of(name, words)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    batches = bench_training.spread(chosen, number // bench_training.SIZE)
    return number / bench_training.examples_a_second(bench_training.fast_loss, batches, optimizer, model)


def answered(name: str, words: int, contexts: Sequence[Sequence[int]], how: str) -> float:
    """CPU seconds for a response of LENGTH tokens to each context."""
    decoding.LONGEST_RESPONSE = LENGTH
    model, items = model_of(name, words).eval(), [str(n) for n in range(len(contexts))]
    decoding.write_responses(model, contexts[:2], how=decoding.parse_decoding(how), seed=0, items=items[:2])
    return seconds(
        lambda: decoding.write_responses(model, contexts, how=decoding.parse_decoding(how), seed=0, items=items)
    )


def encoded(name: str, words: int, contexts: Sequence[Sequence[int]]) -> float:
    """CPU seconds for their states."""
    model = model_of(name, words).eval()
    encode_block(model, contexts[:2], Form(), torch.device("cpu"))
    return seconds(lambda: encode_block(model, contexts, Form(), torch.device("cpu")))


def model_costs(name: str) -> tuple[dict[str, list[float]], float, int]:
    """For each act: seconds of few and of many examples and of few with twice the words; peak GB; parameters."""
    torch.set_num_threads(1)
    keep_freed_memory()
    chosen = bench_training.made()
    drawn = np.random.default_rng(0).permutation(len(chosen))
    contexts = [chosen[n].context for n in drawn[: EXAMPLES[1]]]
    acts = {
        "encoded": lambda number, words: encoded(name, words, contexts[:number]),
        "answered, greedy": lambda number, words: answered(name, words, contexts[:number], "greedy"),
        "answered, nucleus": lambda number, words: answered(name, words, contexts[:number], "nucleus:0.9"),
        "trained": lambda number, words: trained(name, words, chosen, number),  # last: it needs the most memory
    }
    few, many = EXAMPLES
    cases = ((few, WORDS[0]), (many, WORDS[0]), (few, WORDS[1]))
    found = {act: [cost(*case) for case in cases] for act, cost in acts.items()}
    parameters = sum(part.numel() for part in model_of(name, WORDS[0]).parameters())
    return found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, parameters


def models() -> None:
    """A table of seconds a thousand, and how they grow with examples and with words; each model in a fresh process."""
    head("model", "examples", "CPU s a thousand", "growth by examples", "growth by words", "peak GB", "checkpoint MB")
    for name in ARCHITECTURES:
        with ProcessPoolExecutor(1, get_context("spawn")) as apart:
            found, peak, parameters = apart.submit(model_costs, name).result()
        for act, (few, many, wordy) in found.items():
            by_examples, by_words = growth(EXAMPLES, (few, many)), growth(WORDS, (few, wordy))
            memory = (f"{peak:.1f}", f"{4 * parameters / 1e6:.0f}") if act == "trained" else ("", "")
            row(name, act, f"{1000 * many / EXAMPLES[1]:.1f}", by_examples, by_words, *memory)


# Probes


def probe(examples: int, labels: int) -> tuple[float, float]:
    """CPU seconds to make features of 256 states and to fit so many labels, each against the rest; mean passes."""
    hidden = bench_probes.factors(examples, 0)
    states = bench_probes.states(hidden, 256, 1)
    wanted = bench_probes.as_labels(bench_probes.long_tail(hidden, labels, 2), many=True)

    begun = time.process_time()
    axes = fit_features(states)
    found = logistic.fit_logistic(axes.apply(states), axes, wanted)
    return time.process_time() - begun, float(found.passes.mean())


def probes() -> None:
    """Growth by examples and by labels; the number of passes over the examples falls as there are more."""
    for name, sizes, cases in (
        (f"probe of 256 states, {LABELS[1]} labels, examples:", STATES, [(n, LABELS[1]) for n in STATES]),
        (f"probe of 256 states, {STATES[1]:,} examples, labels:", LABELS, [(STATES[1], n) for n in LABELS]),
    ):
        costs, passes = zip(*(probe(*case) for case in cases), strict=True)
        head(name, *(f"{n:,}" for n in sizes), "growth")
        row("CPU seconds", *(f"{cost:.1f}" for cost in costs), growth(sizes, costs))
        row("passes", *(f"{number:.0f}" for number in passes), growth(sizes, passes))


# Votes


def vote_costs(folder: Path, number: int) -> Mapping[str, float]:
    """CPU seconds of each step."""
    write_study(folder, number)
    generator = np.random.default_rng(0)
    votes = read_votes(folder / "votes.jsonl")
    by = {"pair": votes.pair, "rater": votes.rater}
    systems, net = [str(n) for n in range(SYSTEMS)], np.array([1.0, -1.0, 0.0])[votes.choice]
    a = votes.pair % SYSTEMS
    played = davidson.count_games(systems, a, (a + 1) % SYSTEMS, votes.choice, votes.left)
    acts = {
        "reading": lambda: read_votes(folder / "votes.jsonl"),
        "two-way interval": lambda: mean_interval(net, by=by),
        "variance components": lambda: estimate_components(
            net, by, [("pair",), ("rater",)], generator=generator, sets=0
        ),
        "Davidson, errors by pair and rater": lambda: cluster_errors(played, davidson.fit_model(played), by),
        f"tie share, {SETS:,} sets of pairs x raters": lambda: crossed_bootstrap(
            votes.tie, votes.pair, votes.rater, sets=SETS, generator=generator
        ),
        "agreement, pairs and raters left out in turn": lambda: estimate_coefficients(
            votes.pair, votes.choice, votes.labels, values=None, clusters=by
        ),
    }
    return {name: min(seconds(act) for _ in range(3)) for name, act in acts.items()}


def votes() -> None:
    """A table of CPU seconds by number of votes."""
    with tempfile.TemporaryDirectory() as folder:
        found = [vote_costs(Path(folder), number) for number in VOTES]
    head("CPU seconds for votes", *(f"{n:,}" for n in VOTES), "growth")
    for name in found[0]:
        costs = [costs[name] for costs in found]
        row(name, *(f"{cost:.3f}" for cost in costs), growth(VOTES[-2:], costs[-2:]))


# Commands

MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""  # from a small process: a child's peak counts what its parent held when it was born
ON_SCORES = (
    "-m analysis compare STUDY",
    "-m analysis variance STUDY/scores.parquet --only T0",
    "-m analysis report STUDY",
)
COMMANDS = (
    "analyze_ties.py STUDY/votes.jsonl --out STUDY/ties",
    "-m analysis agreement STUDY",
    "-m analysis preference STUDY",
    "-m analysis variance STUDY --score net",
    "-m analysis report STUDY",
)


def run(line: str, study: Path) -> tuple[float, float]:
    """CPU seconds and peak GB of a command."""
    words = [word.replace("STUDY", str(study)) for word in line.split()]
    apart = [sys.executable, "-c", MEASURED, sys.executable, *words]
    done = subprocess.run(
        apart, cwd=ROOT, env=os.environ | job_environment(), capture_output=True, text=True, check=True
    )
    spent, peak = map(float, done.stdout.split())
    return spent, peak / 2**20


def commands() -> None:
    """Each command on a smaller and a larger study: of votes, of scores."""
    on("votes", LARGE, write_study, COMMANDS)
    on("score rows", ROWS, write_scores, ON_SCORES)


def on(what: str, sizes: tuple[int, int], write: Callable[[Path, int], None], lines: Sequence[str]) -> None:
    """One table: CPU seconds and peak memory of each command on both studies."""
    with tempfile.TemporaryDirectory() as name:
        studies = [Path(name) / str(number) for number in sizes]
        for study, number in zip(studies, sizes, strict=True):
            study.mkdir()
            write(study, number)
        held = {file.name: file.stat().st_size / sizes[1] for file in sorted(studies[1].iterdir())}
        head(f"command on {what}", *(f"{n:,}" for n in sizes), "growth", *(f"GB at {n:,}" for n in sizes))
        for line in lines:
            (few, low), (many, high) = (run(line, study) for study in studies)
            row(f"`{line}`", f"{few:.1f} s", f"{many:.1f} s", growth(sizes, (few, many)), f"{low:.2f}", f"{high:.2f}")
    print(f"\nOn disk: {', '.join(f'{name} {size:.1f} bytes for each of the {what}' for name, size in held.items())}")


# Two processes against one


def grid(folder: Path, *options: str) -> tuple[float, float]:
    """Seconds by the clock, and of processors, to train four small models in a fresh study."""
    with tempfile.TemporaryDirectory() as study:
        line = ["-m", "generation", "train", study, "--corpus", str(folder), *GRID.split(), *options]
        begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *line], cwd=ROOT, env=os.environ, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.perf_counter() - begun, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def speedup() -> None:
    """The grid on one process, on two, and on two through Ray, by turns."""
    ways = {"1 process": ("--jobs", "1"), "2 processes": ("--jobs", "2")}
    if find_spec("ray") is not None:
        ways["2 processes through Ray"] = ("--on", "ray", "--jobs", "2")
    with tempfile.TemporaryDirectory() as name:
        corpus = Path(name) / "corpus"
        write_toy(corpus, 300, seed=0)
        times = [{way: grid(corpus, *options) for way, options in ways.items()} for _ in range(2)]
    head(f"{GRID}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", "first", "second", "CPU s", "speed-up")
    for way in ways:
        ratio = sum(turn["1 process"][0] for turn in times) / sum(turn[way][0] for turn in times)
        row(way, *(f"{turn[way][0]:.1f} s" for turn in times), f"{times[-1][way][1]:.1f}", f"{ratio:.2f}")


PARTS = {"models": models, "probes": probes, "votes": votes, "commands": commands, "speedup": speedup}


def main() -> None:
    """Measure what was asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for part, act in PARTS.items():
        parser.add_argument(f"--{part}", action="store_true", help=(act.__doc__ or "").splitlines()[0])
    asked = [part for part, wanted in vars(parser.parse_args()).items() if wanted]
    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, CPU seconds of one thread")
    for part in asked or PARTS:
        PARTS[part]()
    print(signature(words=WORDS[0], tokens=LENGTH, examples=EXAMPLES[1], sets=SETS, threads=torch.get_num_threads()))


if __name__ == "__main__":
    main()
