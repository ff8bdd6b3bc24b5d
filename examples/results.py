"""Fill the tables of docs/results/ from study folders: python examples/results.py docs/results NAME=STUDY ...

A table stands between `<!-- KIND NAME -->` and `<!-- end -->`; KIND is responses, probes, baselines, beaten, erased,
recipes, paper (a table of probes papers), layers and answered (models from elsewhere), or told, ranked
and marks (of discriminators).
People write docs/results.md, which says what the tables show.
"""

import argparse
import csv
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from seedvote.analysis.questions import erasure  # noqa: E402
from seedvote.analysis.questions.comparison.untrained import above_untrained, baselines_above  # noqa: E402 (not installed)
from seedvote.analysis.showing.words import p_value, signed  # noqa: E402
from seedvote.analysis.votes.scores.files import scores_of  # noqa: E402
from seedvote.dialogue.files import atomic, read_records  # noqa: E402
from seedvote.dialogue.records import Response  # noqa: E402
from seedvote.generation.metrics.overlap import add_counts, bleu2  # noqa: E402
from seedvote.probes.scoring import Spread, seed_spread  # noqa: E402
from seedvote.probes.states import layer_name, layer_of  # noqa: E402
from seedvote.probes.summary import Cell, gather_cells, read_task_scores  # noqa: E402

MODELS = ("seq2seq", "seq2seq_attn", "hred", "bilstm_attn", "transformer")
BASELINES = ("majority", "turn_index", "bag_of_words", "bag_of_last_turn", "bag_of_two_turns", "bag_of_window")
MOST_WORDS = 8  # of one side


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path, help="the page whose tables are filled, or a folder of pages")
    parser.add_argument("studies", nargs="+", metavar="NAME=STUDY", help="a study folder, and its name in the page")
    args = parser.parse_args()
    studies = index_by_name((word.partition("=")[::2] for word in args.studies), "studies")

    def fill(match: re.Match[str]) -> str:
        kind, name, *options = match[1].split()
        if name not in studies:
            return match[0]
        lines = TABLES[kind](Path(studies[name]), *options)
        return f"<!-- {match[1]} -->\n" + "\n".join(lines) + "\n<!-- end -->"

    for path in sorted(args.page.glob("*.md")) if args.page.is_dir() else [args.page]:
        text = re.sub(r"<!-- (\w+ \w+[^>]*) -->\n.*?<!-- end -->", fill, path.read_text(), flags=re.DOTALL)
        with atomic(path) as handle:
            handle.write(text)
    print(f"{args.page}: tables of {', '.join(studies)} written.")


def index_by_name(rows: Iterable[tuple[Any, Any]], what: str) -> dict[Any, Any]:
    """Name -> row; two rows of one name are refused, since either would be the wrong one half of the time."""
    by_name: dict[Any, Any] = {}
    for name, row in rows:
        if name in by_name:
            words = ", ".join(map(str, name)) if isinstance(name, tuple) else name
            sys.exit(f"Two {what} are called {words}: which one is meant? Leave one out, or give it another name.")
        by_name[name] = row
    return by_name


def table(head: list[str], rows: Iterator[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|---" + "|--:" * (len(head) - 1) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def show_spread(over: Spread, digits: int = 1) -> str:
    """Mean, and in brackets the SD over seeds with its interval."""
    if len(over.values) < 2:
        return f"{over.mean:.{digits}f}"
    return f"{over.mean:.{digits}f} ({over.sd:.{digits}f}; {over.low:.{digits}f}-{over.high:.{digits}f})"


def responses(study: Path) -> Iterator[str]:
    """Corpus BLEU-2 and mean ROUGE-L of free-running greedy output, and what training took."""
    counts: dict[tuple[str, str, int | None], list[dict[str, float]]] = {}
    rouge: dict[tuple[str, str, int | None], list[float]] = {}
    for row in pq.read_table(study / "metrics.parquet").to_pylist():
        key = (row["model"], row["checkpoint"], row["seed"])
        if row["condition"] in ("greedy", "constant") and row["task"] == "bleu2":
            counts.setdefault(key, []).append(
                {name: count for name, count in row["stats"].items() if count is not None}
            )
        if row["condition"] in ("greedy", "constant") and row["task"] == "rouge_l":
            rouge.setdefault(key, []).append(row["score"])

    def lines() -> Iterator[list[str]]:
        present = {key[:2] for key in counts}
        every = [(m, c) for m in MODELS for c in ("untrained", "last")] + [("most_frequent", "last")]
        for model, checkpoint in [system for system in every if system in present]:
            keys = sorted((k for k in counts if k[:2] == (model, checkpoint)), key=str)
            scores = seed_spread([bleu2(add_counts(counts[k]), smooth="exp") for k in keys])
            overlap = seed_spread([sum(rouge[k]) / len(rouge[k]) for k in keys])
            loss, minutes = (
                ("", "") if checkpoint == "untrained" or model == "most_frequent" else training(study, model)
            )
            yield [
                model,
                "" if model == "most_frequent" else checkpoint,
                show_spread(scores),
                show_spread(overlap),
                loss,
                minutes,
            ]

    head = [
        "model",
        "checkpoint",
        "BLEU-2 (SD; its interval)",
        "ROUGE-L (SD; its interval)",
        "valid loss",
        "minutes a model",
    ]
    return table(head, lines())


def training(study: Path, model: str) -> tuple[str, str]:
    logs = [
        [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted((study / "models").glob(f"{model}-[0-9]*/log.jsonl"))
    ]
    minutes = [sum(epoch["seconds"] for epoch in log) / 60 for log in logs]
    return show_spread(
        seed_spread([log[-1]["valid_loss"] for log in logs]), 2
    ), f"{min(minutes):.1f}-{max(minutes):.1f}"


def probe_cells(study: Path) -> list[Cell]:
    if not (study / "scores.parquet").exists():
        sys.exit(f"{study} has no scores.parquet. Make it: python -m probes run {study}")
    return [
        cell
        for cell in gather_cells(read_task_scores(study / "scores.parquet"))
        if cell.classifier in ("logistic", "majority")
    ]


def probes(study: Path, checkpoint: str) -> Iterator[str]:
    """Micro-F1 of each task on each model at one checkpoint."""
    cells_there = [c for c in probe_cells(study) if c.checkpoint == checkpoint]
    by_cell = index_by_name((((c.task, c.model), c) for c in cells_there), f"cells at {checkpoint}")
    tasks = dict.fromkeys(task for task, _ in by_cell)
    models = [model for model in MODELS if any(cell_model == model for _, cell_model in by_cell)]
    rows = (
        [task, *(show_spread(by_cell[task, m].seeds) if (task, m) in by_cell else "" for m in models)] for task in tasks
    )
    return table(["task", *models], rows)


def baselines(study: Path) -> Iterator[str]:
    """What a probe must beat, the best cells before and after training, and whether training was shown to help."""
    every = probe_cells(study)
    baseline_cells = [c for c in every if c.evaluator == "baseline"]
    means = index_by_name((((c.task, c.model), c.seeds.mean) for c in baseline_cells), "baselines")
    above = above_untrained(scores_of([study / "scores.parquet"]))
    tested = index_by_name(((row.task, row.here) for row in above), "tasks")

    def lines() -> Iterator[list[str]]:
        for task in dict.fromkeys(c.task for c in every):
            task_cells = [c for c in every if c.task == task and c.evaluator == "probe"]
            best, name = max((value, name) for (cell_task, name), value in means.items() if cell_task == task)
            known = [f"{means[task, name]:.1f}" if (task, name) in means else "" for name in BASELINES]
            margin = tested.get(task)
            claim = [f"{margin.difference:+.1f}", p_value(margin.p)] if margin else ["", ""]
            yield [task, *known, f"{best:.1f} ({name})", *_best_cells(task_cells), *claim]

    head = [
        "task",
        *BASELINES,
        "best of all forms",
        "best untrained",
        "best trained",
        "its selectivity",
        "above shuffled",
        "surest cell above its hardest rival",
        "p, as trained",
    ]
    return table(head, lines())


def list_stronger_baselines(study: Path) -> Iterator[str]:
    """The other way round: the baseline that is most surely above every one of these trained encoders."""

    def lines() -> Iterator[list[str]]:
        for row in baselines_above(scores_of([study / "scores.parquet"])):
            if row.here:
                yield [row.task, row.here.cell, row.here.rival, f"{row.here.difference:+.1f}", p_value(row.p_here)]

    return table(["task", "surest baseline", "hardest of these encoders (seed)", "above it", "p"], lines())


def _best_cells(cells: list[Cell]) -> list[str]:
    """The best untrained cell; the best trained one with its two controls."""
    trained, untrained = (
        max((c for c in cells if (c.checkpoint == "untrained") == raw), key=lambda c: c.seeds.mean, default=None)
        for raw in (False, True)
    )
    first = "" if untrained is None else f"{untrained.seeds.mean:.1f}"
    if trained is None:
        return [first, "", "", ""]
    best = f"{trained.seeds.mean:.1f} ({trained.model}, {trained.checkpoint})"
    return [first, best, *("" if math.isnan(n) else f"{n:.1f}" for n in (trained.selectivity, trained.above_shuffled))]


def layers(study: Path) -> Iterator[str]:
    """The lowest, middle and top layer of each model from elsewhere, its top with random weights, the best of ours."""
    every = [c for c in probe_cells(study) if c.evaluator in ("probe", "baseline")]
    means = index_by_name((((c.task, c.model, c.checkpoint), c.seeds.mean) for c in every), "cells")
    known: dict[str, set[int]] = {}
    for model, layer in map(layer_of, {c.model for c in every}):
        if layer is not None:
            known.setdefault(model, set()).add(layer)
    columns = {}
    for model, numbers in sorted(known.items()):
        for n in (min(numbers), sorted(numbers)[len(numbers) // 2], max(numbers)):
            columns[f"{model} {n}"] = (layer_name(model, n), "last")
        columns[f"{model} {max(numbers)}, random"] = (layer_name(model, max(numbers)), "untrained")
    bags = ("majority", "bag_of_words", "bag_of_last_turn")

    def lines() -> Iterator[list[str]]:
        for task in dict.fromkeys(c.task for c in every):
            values = [means.get((task, *place)) for place in [*columns.values(), *((bag, "") for bag in bags)]]
            ours = max((means[task, m, "last"], m) for m in MODELS if (task, m, "last") in means)
            yield [task, *("" if v is None else f"{v:.1f}" for v in values), f"{ours[0]:.1f} ({ours[1]})"]

    return table(["task", *columns, *bags, "best of ours"], lines())


def answered(study: Path) -> Iterator[str]:
    """Greedy responses of every system to the contexts that all of them answered."""
    rows = [r for r in pq.read_table(study / "metrics.parquet").to_pylist() if r["condition"] in ("greedy", "constant")]
    words: dict[tuple[str, int | None], list[int]] = {}
    for response in read_records(study / "responses.jsonl", Response):
        words.setdefault((response.model, response.seed), []).append(len(response.text.split()))

    def lines() -> Iterator[list[str]]:
        for model in dict.fromkeys(r["model"] for r in rows):
            seeds = sorted({r["seed"] for r in rows if r["model"] == model}, key=str)
            of_seed = [[r for r in rows if (r["model"], r["seed"]) == (model, seed)] for seed in seeds]
            scores = seed_spread([bleu2(add_counts(_counts(part)), smooth="exp") for part in of_seed])
            rouge = [[r["score"] for r in part if r["task"] == "rouge_l"] for part in of_seed]
            long = [sum(words[model, seed]) / len(words[model, seed]) for seed in seeds if (model, seed) in words]
            overlap = seed_spread([sum(part) / len(part) for part in rouge])
            length = f"{sum(long) / len(long):.0f}" if long else ""
            yield [model, str(len(seeds)), f"{len(rouge[0])}", show_spread(scores), show_spread(overlap), length]

    return table(["system", "seeds", "contexts", "BLEU-2", "ROUGE-L", "words a response"], lines())


def _counts(rows: list[dict[str, Any]]) -> list[dict[str, float]]:
    return [{n: c for n, c in r["stats"].items() if c is not None} for r in rows if r["task"] == "bleu2"]


def recipes(study: Path) -> Iterator[str]:
    """The signature lines of what the tables were made from."""
    yield "```"
    for name in [name for name in ("metrics.parquet", "scores.parquet") if (study / name).exists()]:
        yield pq.read_schema(study / name).metadata[b"signature"].decode()
    for path in [study / "models" / f"{model}-0" / "config.json" for model in MODELS]:
        if path.exists():
            yield json.loads(path.read_text())["signature"]
    yield "```"


def paper(study: Path, name: str) -> Iterator[str]:
    """A table that `probes papers` wrote, as it stands there."""
    path = study / "papers" / f"{name}.csv"
    if not path.exists():
        sys.exit(f"{path} is not there. Make it: python -m probes papers {study}")
    with path.open(newline="", encoding="utf-8") as handle:
        head, *rows = csv.reader(handle)
    return table(head, iter(rows))


def erased(study: Path) -> Iterator[str]:
    """What erasing a task costs beyond random erasers, and the recipe."""
    answer = erasure.answer(study)

    def lines() -> Iterator[list[str]]:
        for row in answer.rows:
            cost, replies = row.effects["nats"], row.effects["changed"]
            yield [
                row.model,
                row.task,
                row.ranks,
                f"{row.before:.1f}, {row.after:.1f} ({row.constant:.1f})",
                erasure.name_cost(cost),
                erasure.context_share(row, answer.margin),
                f"{replies.task:.1f}, {signed(replies.beyond.value)}",
                p_value(row.p_holm),
                erasure.VERDICTS[row.verdict],
            ]

    head = [
        "model",
        "task",
        "rank",
        "probe: before, after (constant)",
        "nats a token beyond random (95 %)",
        "of the context",
        "replies changed, beyond random",
        "p",
        "the decoder",
    ]
    flat = erasure.name_flat_directions(answer)
    yield from (*table(head, lines()), *(["", flat] if flat else []), "", "```", answer.signature, "```")


def share(value: float) -> str:
    return f"{value:.2f}".removeprefix("0") if value >= 0 else f"-{share(-value)}"


def interval(estimate: dict[str, float] | None) -> str:
    """A share or a difference with its 95 % interval."""
    return (
        ""
        if estimate is None
        else f"{share(estimate['value'])} ({share(estimate['low'])} to {share(estimate['high'])})"
    )


def read_generators(study: Path, file: str) -> list[dict[str, Any]]:
    """The models of one run of `evaluators discriminate`, each with its name."""
    generators: list[dict[str, Any]] = json.loads((study / f"{file}.json").read_text())["generators"]
    return [
        generator | {"name": f"{generator['model']}-{generator['seed']}, {generator['decoding']}"}
        for generator in generators
    ]


def list_accuracies(study: Path, file: str) -> Iterator[str]:
    """Accuracies with their nulls and baselines."""
    columns = {
        "told right": "accuracy",
        "without `<unk>`": "without_unknown",
        "length": "length",
        "bag": "bag",
        "null A": "null_a",
        "null B": "null_b",
        "beyond the best": "beyond",
        "fooled": "fooled",
        "fooled, shared": "shared",
        "average precision": "average_precision",
        "area under ROC": "auc",
    }
    generators = read_generators(study, file)
    columns = {name: key for name, key in columns.items() if any(generator[key] for generator in generators)}
    rows = ([generator["name"], *(interval(generator[key]) for key in columns.values())] for generator in generators)
    return table(["model", *columns], rows)


def list_rank_correlations(study: Path, file: str) -> Iterator[str]:
    """Replies of one length by the discriminator and by the model's own log-probability."""
    generators = [
        (generator["name"], generator["same_length"])
        for generator in read_generators(study, file)
        if generator["same_length"]
    ]
    head = ["model", "rank correlation", "contexts", "sets of one length", "draws"]
    rows = (
        [name, interval(generator["rho"]), *(f"{generator[key]:,}" for key in ("contexts", "sets", "draws"))]
        for name, generator in generators
    )
    return table(head, rows)


def marks(study: Path, file: str) -> Iterator[str]:
    """The heaviest words of the bag, the model's and people's."""

    def list_words(generator: dict[str, Any], sign: int) -> str:
        words = [mark["words"] for mark in generator["artefacts"] if sign * mark["weight"] > 0][:MOST_WORDS]
        return ", ".join(f"`{word}`" for word in words)

    rows = (
        [generator["name"], list_words(generator, -1), list_words(generator, 1)]
        for generator in read_generators(study, file)
    )
    return table(["model", "in the model's replies", "in people's"], rows)


def list_task_success(study: Path) -> Iterator[str]:
    """Task success of agents on the clean corpus."""
    systems = json.loads((study / "task.json").read_text())["systems"]
    names = ("inform", "success", "bleu", "combined", "jga", "slot_f1")

    def lines() -> Iterator[list[str]]:
        for model in MODELS:
            runs = [run for run in systems if re.fullmatch(rf"{model}-\d+-last", run["system"])]
            yield [model, *(show_spread(seed_spread([run["rates"][name]["value"] for run in runs])) for name in names)]

    return table(["model", "Inform", "Success", "BLEU", "Combined", "JGA", "slot F1"], lines())


def drops(study: Path, task: str) -> Iterator[str]:
    """What each perturbation costs by one task: clean minus perturbed, with its interval."""
    entries = [entry for entry in json.loads((study / "robustness.json").read_text())["drops"] if entry["task"] == task]
    cells = index_by_name((((entry["kind"], entry["dose"], entry["model"]), entry) for entry in entries), "drops")
    places = sorted({(entry["kind"], entry["dose"]) for entry in entries})

    def lines() -> Iterator[list[str]]:
        for kind, dose in places:
            yield [f"{kind} {dose:g}", *(show_drop(cells[kind, dose, model]) for model in MODELS)]

    return table(["kind and dose", *MODELS], lines())


def show_drop(entry: dict[str, Any]) -> str:
    """A drop with its interval, and a star where Holm's p is below .05; nothing is 0."""
    if entry["drop"] == 0 == entry["se"]:
        return "0"
    if max(abs(entry[name]) for name in ("drop", "low", "high")) < 0.05:
        return "0.0"
    star = "*" if entry["p_holm"] is not None and entry["p_holm"] < 0.05 else ""
    value, low, high = (
        f"{entry[name] + 0.0 if abs(entry[name]) >= 0.05 else 0.0:+.1f}" for name in ("drop", "low", "high")
    )
    return f"{value} ({low} to {high}){star}".replace("-", "\N{MINUS SIGN}").replace("+0.0", "0.0")


def list_detectors(study: Path) -> Iterator[str]:
    """Whether encoders notice foreign talk."""
    rows = json.loads((study / "outside.json").read_text())["detectors"]

    def lines() -> Iterator[list[str]]:
        for row in rows:
            spans = [[100 * end for end in row[name]] for name in ("f1", "auroc")]
            cells = [f"{value:.1f} ({low:.1f}-{high:.1f})" for value, low, high in spans]
            yield [f"{row['model']} {row['checkpoint']}".strip(), row["by"], row["taught"], *cells]

    return table(["encoder", "by", "taught on", "F1", "AUROC"], lines())


def agents(study: Path) -> Iterator[str]:
    """The recipes of the agents' tables."""
    yield "```"
    yield json.loads((study / "task.json").read_text())["signature"]
    yield json.loads((study / "robustness.json").read_text())["signature"]
    for model in MODELS:
        yield json.loads((study / "models" / f"{model}-0" / "config.json").read_text())["signature"]
    yield "```"


TABLES: dict[str, Callable[..., Iterator[str]]] = {
    "responses": responses,
    "probes": probes,
    "baselines": baselines,
    "recipes": recipes,
    "told": list_accuracies,
    "ranked": list_rank_correlations,
    "marks": marks,
    "reached": list_task_success,
    "drops": drops,
    "noticed": list_detectors,
    "beaten": list_stronger_baselines,
    "erased": erased,
    "agents": agents,
    "layers": layers,
    "answered": answered,
    "paper": paper,
}

if __name__ == "__main__":
    main()
