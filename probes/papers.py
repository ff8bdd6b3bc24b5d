"""The two probe papers in their layout: the tables, and the commands that make their numbers."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.files import read_json
from seedvote.dialogue.formulas.counts import Smooth, corpus_bleu
from seedvote.dialogue.shell.command_line import next_command
from seedvote.probes.classifiers.catalogue import CLASSIFIERS
from seedvote.probes.comparisons import (
    DIFFICULTIES,
    RECURRENT,
    CloudSpread,
    by_selector,
    means_by_difficulty,
    score_courses,
    task_difficulty,
)
from seedvote.probes.plan import Plan, Splits
from seedvote.probes.scoring import Spread, seed_spread
from seedvote.probes.states import Representation, common_items
from seedvote.probes.summary import Cell, TaskScore, sum_groups

# The tables of the two probe papers, in their layout, from the files of one study.
#
# Each is the papers' table with our numbers: what stands behind "±" there (100 times the sample variance of F1 over
# seeds) is printed under that sign, and the SD in points next to it. What a study does not have is said, with the
# command that makes it.

CHECKPOINTS = ("untrained", "last", "best_bleu")  # the rows of the papers' tables
SHOWN_LABELS = 10
KNOWN_CLASSIFIERS = ("logistic", "mlp", "paper")
SMOOTHING: Mapping[str, Smooth] = {"bleu2": "exp", "bleu2_swapped": "none", "bleu2_teacher_forced": "exp"}
BLEU_COUNTS = ("match1", "total1", "match2", "total2", "length", "reference")


@dataclass(frozen=True, slots=True)
class PaperTable:
    """One table: the file that it is written to, what it stands for in the papers, and the command behind its numbers.

    `missing` says why there are no rows, `classifier` whose scores these are, where it must be one.
    """

    name: str
    title: str
    stands_for: str
    command: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    missing: str = ""
    classifier: str = ""


def size_table(study: Path) -> PaperTable:
    """Parameters of every model, counted in its weights."""
    parameters = {}
    for path in sorted((study / "models").glob("*/untrained.safetensors")):
        parameters[path.parent.name.rpartition("-")[0]] = _count_parameters(path)
    rows = tuple((model, f"{count:,}", f"{count / 1e6:.1f}M") for model, count in parameters.items())
    return PaperTable(
        "sizes",
        "Sizes of the models",
        "the sizes that they print",
        "generation train",
        ("model", "parameters", "in millions"),
        rows,
        "" if rows else "no model has untrained weights",
    )


def _count_parameters(path: Path) -> int:
    """Numbers in a safetensors file, by its header: eight bytes of length, then JSON."""
    with path.open("rb") as handle:
        header = json.loads(handle.read(int.from_bytes(handle.read(8), "little")))
    return sum(math.prod(part["shape"]) for name, part in header.items() if name != "__metadata__")


def bleu_by_seed(study: Path) -> PaperTable:
    """BLEU-2 of every seed, with the decoding, of the corpus and as the mean of responses; teacher-forced BLEU too.

    A corpus score is that of summed counts, as in metrics of the whole test set; the mean is that of `metrics.parquet`.
    """
    path, command = study / "metrics.parquet", "generation score"
    what = ("bleu", "BLEU-2 by seed", "BLEU-2 of every model", command)
    if not path.exists():
        return PaperTable(*what, missing=f"there is no {path.name}")
    keys = ["task", "model", "seed", "checkpoint", "condition"]
    counted = [f"stats.{name}" for name in BLEU_COUNTS] if _has_counts(path) else []
    scores: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    groups = sum_groups(path, keys, ["score", *counted], command, tasks=list(SMOOTHING))
    for (task, model, seed, checkpoint, condition), group in groups.items():
        if seed is None:
            continue
        name = (model, checkpoint, task, condition)
        scores[*name, "mean of responses"][seed] = group.mean("score")
        if counted:
            counts = {count: group.sums[f"stats.{count}"] for count in BLEU_COUNTS}
            scores[*name, "corpus"][seed] = corpus_bleu(counts, (1, 2), smooth=SMOOTHING[task], effective=True)
    seeds = sorted({seed for values in scores.values() for seed in values})
    rows = tuple(
        (*key, *(f"{values[s]:.2f}" if s in values else "-" for s in seeds), *_mean_and_sd(list(values.values())))
        for key, values in sorted(scores.items())
    )
    head = ("model", "checkpoint", "metric", "decoding", "over", *(f"seed {seed}" for seed in seeds), "mean", "SD")
    return PaperTable(*what, head, rows, "" if rows else f"{path.name} has no BLEU-2")


def _has_counts(path: Path) -> bool:
    columns = {field.name: field.type for field in pq.read_schema(path)}
    kinds = columns.get("stats")
    return kinds is not None and set(BLEU_COUNTS) <= {field.name for field in kinds}


def _mean_and_sd(values: Sequence[float]) -> tuple[str, str]:
    over = seed_spread(values)
    return f"{over.mean:.2f}", "-" if math.isnan(over.sd) else f"{over.sd:.2f}"


def probe_tables(cells: Sequence[Cell], tasks: Sequence[str], corpus: str) -> list[PaperTable]:
    """One table a classifier: a row a model and checkpoint, a column a task; and those that did not run."""
    ran = dict.fromkeys(c.classifier for c in cells if c.evaluator == "probe")
    return [_probe_table(cells, tasks, corpus, name) for name in dict.fromkeys((*KNOWN_CLASSIFIERS, *ran))]


def _probe_table(cells: Sequence[Cell], tasks: Sequence[str], corpus: str, classifier: str) -> PaperTable:
    ours = {
        (c.model, c.checkpoint, c.task): c.seeds for c in cells if (c.evaluator, c.classifier) == ("probe", classifier)
    }
    systems = dict.fromkeys((model, at) for model, at, _ in ours if at in CHECKPOINTS)
    order = sorted(systems, key=lambda system: (system[0], CHECKPOINTS.index(system[1])))
    rows = tuple((*system, *(_as_printed(ours.get((*system, task))) for task in tasks)) for system in order)
    stands = {"mlp": "[B] Table 5, which shows the MLP", "paper": "the same by their own classifier"}.get(
        classifier, "[A] Tables 6 and 7: probe tasks"
    )
    return PaperTable(
        f"probes-{corpus}-{classifier}",
        f"Probe tasks on {corpus}, {classifier}",
        stands,
        "probes run",
        ("model", "checkpoint", *tasks),
        rows,
        "" if rows else "it did not run",
        classifier,
    )


def _as_printed(over: Spread | None) -> str:
    """The mean, ± as the papers print it, and the SD: 76.32 ± 0.02 (SD 1.4)."""
    if over is None:
        return "-"
    return f"{over.mean:.2f}" + ("" if math.isnan(over.sd) else f" ± {as_the_papers(over):.2f} (SD {over.sd:.1f})")


def as_the_papers(over: Spread) -> float:
    """What stands behind ± in the papers: 100 times the sample variance of F1 in [0, 1].

    >>> round(as_the_papers(seed_spread([50.0, 72.2, 94.4])), 2)
    4.93
    """
    return 100 * (over.sd / 100) ** 2


def difficulty_table(cells: Sequence[Cell]) -> PaperTable:
    """Means over easy, medium and hard tasks with the SD across tasks, and which is which, by one classifier."""
    means = {(c.task, c.model, c.checkpoint): c.seeds.mean for c in cells if c.evaluator == "probe"}
    rows = [
        (
            group.model,
            checkpoint,
            group.difficulty,
            f"{group.mean:.2f}",
            "-" if math.isnan(group.sd) else f"{group.sd:.2f}",
            str(len(group.tasks)),
            " ".join(group.tasks),
        )
        for checkpoint in CHECKPOINTS
        for group in means_by_difficulty(means, checkpoint)
    ]
    why = "" if task_difficulty(means) else f"no recurrent model ({', '.join(RECURRENT)}) is untrained"
    return PaperTable(
        "difficulty",
        f"Means over {', '.join(DIFFICULTIES)} tasks",
        "[B] Table 6",
        "probes run",
        ("model", "checkpoint", "tasks are", "mean", "SD across tasks", "tasks", "named"),
        tuple(rows),
        why,
    )


def selection_table(scores: Sequence[TaskScore]) -> PaperTable:
    """The mean over tasks, and every task, at the checkpoint that each metric selected; of one classifier's scores."""
    means, tasks = by_selector(scores), list(dict.fromkeys(s.task for s in scores if s.evaluator == "probe"))
    of_task = {task: by_selector([s for s in scores if s.task == task]) for task in tasks}
    rows = tuple(
        (
            *key,
            *_mean_and_sd(values),
            str(len(values)),
            *(_as_printed(_spread_of_seeds(of_task[task], key)) for task in tasks),
        )
        for key, values in means.items()
    )
    metrics = {metric for _, metric in means}
    missing = "" if len(metrics) > 1 else "fewer than two best_... checkpoints were probed"
    lacks = (
        "" if missing or "encoder" in metrics else " (generation train --encoder FOLDER adds one by a sentence encoder)"
    )
    return PaperTable(
        "selection",
        f"Probe scores by the metric that selected the checkpoint{lacks}",
        "selection by BLEU, ROUGE-F1, METEOR and a vector-based metric",
        "probes run",
        ("model", "selected by", "mean over tasks", "SD over seeds", "seeds", *tasks),
        rows,
        missing,
    )


def _spread_of_seeds(means: Mapping[tuple[str, str], Sequence[float]], key: tuple[str, str]) -> Spread | None:
    return seed_spread(means[key]) if key in means else None


def course_table(scores: Sequence[TaskScore]) -> PaperTable:
    """The mean over seeds, and their SD, of every model and task after each epoch; of one classifier's scores."""
    long_courses = [course for course in score_courses(scores) if len(course.epochs) > 2 and len(course.values)]
    epochs = sorted({int(epoch) for course in long_courses for epoch in course.epochs})
    rows = []
    for course in long_courses:
        at = {
            int(epoch): seed_spread(values)
            for epoch, values in zip(course.epochs, course.values.T.tolist(), strict=True)
        }
        cells = ((f"{at[n].mean:.1f}", at[n].sd) if n in at else ("-", math.nan) for n in epochs)
        rows.append((course.task, course.model, *(f"{m}" if math.isnan(sd) else f"{m} ({sd:.1f})" for m, sd in cells)))
    head = ("task", "model", *("untrained" if n == 0 else f"epoch {n}" for n in epochs))
    return PaperTable(
        "courses",
        "Probe scores after every epoch (SD over seeds)",
        "the figures of scores over epochs, with numbers",
        "probes run",
        head,
        tuple(rows),
        "" if rows else "fewer than three epochs in order were probed",
    )


def states_table(spreads: Sequence[CloudSpread], missing: str) -> PaperTable:
    """The spread of the states of every checkpoint on its own two axes, and its shift as a number of its own."""
    rows = tuple(
        (
            cloud.model,
            cloud.checkpoint,
            f"{cloud.first:.3g}",
            f"{cloud.second:.3g}",
            f"{100 * cloud.share:.1f}",
            "-" if math.isnan(cloud.shift) else f"{100 * cloud.shift:.1f}",
        )
        for cloud in spreads
    )
    return PaperTable(
        "states",
        "PCA of the encoder states of every checkpoint, each around its own mean",
        "the PCA pictures, with numbers",
        "generation encode",
        (
            "model",
            "checkpoint",
            "SD on axis 1",
            "SD on axis 2",
            "% of its variance on both",
            "shift from untrained, % of the variance of both",
        ),
        rows,
        "" if rows else missing or "no states are there",
    )


def label_table(plan: Plan) -> PaperTable:
    """How often each task has which label, on the side that is fitted and the one that is reported."""
    rows = []
    for labelled in plan.labelled_tasks:
        fitted, reported = labelled.fit.counts(), labelled.report.counts()
        for place in np.argsort(-fitted, kind="stable")[:SHOWN_LABELS]:
            shares = (
                f"{100 * part[place] / max(len(side.unseen), 1):.1f}"
                for part, side in ((fitted, labelled.fit), (reported, labelled.report))
            )
            rows.append((labelled.task, str(len(fitted)), labelled.fit.classes[place], *shares))
    return PaperTable(
        "labels",
        f"Label distributions (the {SHOWN_LABELS} most frequent labels of each task)",
        "label distributions",
        "probes list",
        ("task", "labels", "label", "% of fitted examples", "% of reported examples"),
        tuple(rows),
    )


FIGURES: Mapping[str, tuple[str, str]] = {
    "evolution": ("probe scores over epochs", "probes run"),
    "difficulty": ("means over easy, medium and hard tasks", "probes run"),
    "selection": ("selection of checkpoints by each metric", "probes run"),
    "states": ("PCA of the encoder states, first and last epoch", "generation encode"),
}


def trained_on(study: Path) -> list[str]:
    """What the models were trained on, as their config.json says; plainly, where it is not train."""
    data = dict.fromkeys(str(read_json(path).get("data")) for path in sorted((study / "models").glob("*/config.json")))
    sentences = [f"The models were trained on: {splits}." for splits in data]
    return sentences + ["NOT THE OFFICIAL TRAINING SPLIT: valid was trained on."] * any(
        ", of valid," in splits for splits in data
    )


TIES = "share of ties in sets of 200 votes (HumanExp-k): people, not probes"


def index_page(tables: Sequence[PaperTable], figures: Mapping[str, str], how: Remaking, recipe: str) -> str:
    """A page that names every table and figure, what it stands for, and the command that makes its numbers."""
    lines = [
        f"# The tables and figures of the papers, from {how.study.name}",
        "",
        "[A] arXiv 2008.10427, [B] arXiv 2106.10622. ± is what the papers print: 100 times the sample variance of "
        "F1 in [0, 1]; the SD in brackets is in points.",
        "",
        *(f"{line}\n" for line in trained_on(how.study)),
        "| file | what | in the papers | made by |",
        "|---|---|---|---|",
    ]
    for table in tables:
        what = f"{table.title}: **not here**, {table.missing}" if table.missing else table.title
        file = "-" if table.missing else f"[{table.name}.md]({table.name}.md), [.csv]({table.name}.csv)"
        command = how.made_by(table.command, table.classifier, missing=table.missing)
        lines.append(f"| {file} | {what} | {table.stands_for} | `{command}` |")
    for name, reason in figures.items():
        stands, command = FIGURES[name]
        file = "-" if reason else f"[{name}.png](../probes/{name}.png)"
        what = f"{stands}: **not here**, {reason}" if reason else stands
        lines.append(f"| {file} | {what} | figure | `{how.made_by(command, missing=reason)} && {how.plot()}` |")
    lines.append(f"| - | {TIES} | figure | `{next_command('python -m analysis ties', how.study)}`, after votes |")
    return "\n".join([*lines, "", recipe, ""])


def paper_page(table: PaperTable) -> str:
    """The table alone."""
    rows = [table.head, ["---"] * len(table.head), *table.rows]
    return f"# {table.title}\n\n" + "".join("| " + " | ".join(row) + " |\n" for row in rows)


# The commands that make the tables and figures of a study, each as it can be typed in this study.
#
# A command as it stands in a manual may not work here: the corpus may lie elsewhere, states may be those of a part of
# the examples, a step before it may not have been taken yet, and what was probed by several classifiers or at every
# checkpoint would be lost if the command named fewer.

SPLITS = "train,valid,test"  # what `generation encode` reads if nothing is said


@dataclass(frozen=True, slots=True)
class Remaking:
    """The study, and what its commands need to know; paths are None where they are the study's own.

    `splits` and `limit`: what was encoded. `partial`: whether some examples of the corpus have no state. `classifiers`:
    those that ran.
    """

    study: Path
    corpus: Path | None = None
    scores: Path | None = None
    report: str = "test"
    splits: str = SPLITS
    limit: int | None = None
    partial: bool = False
    classifiers: tuple[str, ...] = ()

    def typed(self, command: str, *words: object) -> str:
        """One command on the study and its corpus, quoted for the shell."""
        return next_command(f"python -m {command}", self.study, *words, *self._repeat_options(corpus=self.corpus))

    def made_by(self, command: str, classifier: str = "", *, missing: str = "") -> str:
        """The command behind a table, after those it needs and that were not given yet; `&&` stands between them."""
        parts = {
            "generation train": lambda: self._train_commands() or [self.papers()],
            "generation score": lambda: [*self._sample_commands(), self.typed("generation score")],
            "generation encode": lambda: (
                [*self._train_commands(), self.encode()] if self._has_own_states() else [self.papers()]
            ),
            "probes run": lambda: [*(self._encode_commands() if missing else []), self.run(classifier)],
            "probes list": lambda: [self._list_command()],
        }[command]()
        return " && ".join(parts)

    def papers(self) -> str:
        """The command that writes the tables: for those that need no other."""
        return self.typed("probes papers", *self._repeat_options(scores=self.scores), *self._report_options())

    def plot(self) -> str:
        """The command that draws the figures."""
        return self.typed("probes plot", *self._repeat_options(scores=self.scores))

    def encode(self) -> str:
        """Encode every checkpoint, on the contexts that have states by now."""
        splits = ["--splits", self.splits] if self.splits != SPLITS else []
        return self.typed("generation encode", "--checkpoints", "all", *splits, *self._repeat_options(limit=self.limit))

    def run(self, classifier: str = "") -> str:
        """Probe every checkpoint by this classifier, and by those that ran, whose scores would be lost otherwise."""
        names = dict.fromkeys(name for name in (*self.classifiers, classifier) if name)
        option_names = [name for name in names if name in CLASSIFIERS and CLASSIFIERS[name].by_name]
        words = ["--checkpoints", "all"]
        words += ["--classifier", ",".join(option_names)] if option_names not in ([], ["logistic"]) else []
        words += ["--protocol", "paper"] if "paper" in names else []
        words += ["--solver", "sklearn"] if "logistic-sklearn" in names and classifier != "logistic" else []
        words += ["--subset"] if self.partial else []
        return self.typed("probes run", *words, *self._report_options(), *self._repeat_options(out=self.scores))

    def _list_command(self) -> str:
        corpus = self.corpus or self.study / "corpus"
        return next_command("python -m probes list", "--corpus", corpus, *self._report_options())

    def _report_options(self) -> list[str]:
        return ["--report", self.report] if self.report != "test" else []

    def _repeat_options(self, **options: object) -> list[str]:
        return [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]

    def _train_commands(self) -> list[str]:
        trained = any((self.study / "models").glob("*/*.safetensors"))
        return [] if trained else [self.typed("generation train")]

    def _sample_commands(self) -> list[str]:
        answered = (self.study / "responses.jsonl").exists()
        return [] if answered else [*self._train_commands(), self.typed("generation sample")]

    def _has_own_states(self) -> bool:
        """Whether states are made by `generation encode` from models of the study: there are some, or no states yet."""
        return not self._train_commands() or not any((self.study / "states").glob("*.npy"))

    def _encode_commands(self) -> list[str]:
        checkpoints = (self.study / "models").glob("*/*.safetensors")
        names = {f"{path.parent.name}-{path.stem}" for path in checkpoints if path.stem != "resume"}
        encoded = {path.stem for path in (self.study / "states").glob("*.npy")}
        return (
            [*self._train_commands(), self.encode()]
            if self._has_own_states() and (not encoded or names - encoded)
            else []
        )


def plan_remaking(
    study: Path,
    corpus: Corpus,
    representations: Sequence[Representation],
    sides: Splits,
    *,
    corpus_path: Path | None,
    scores: Path | None,
    report: str,
    classifiers: Sequence[str],
) -> Remaking:
    """What the commands need to know, from the states that are there and the classifiers that ran."""
    common = common_items(representations)
    partial = bool(representations) and not all(example.item in common for example in sides.members)
    recorded_splits = [read_json(who.path.with_suffix(".json")).get("splits") for who in representations]
    splits = next((names for names in recorded_splits if names), SPLITS.split(","))
    limits = []
    for split in splits:
        items = [example.item for example in iterate_examples(corpus.split(split))]
        have = sum(item in common for item in items)
        limits += [have] if 0 < have < len(items) else []
    return Remaking(
        study, corpus_path, scores, report, ",".join(splits), max(limits, default=None), partial, tuple(classifiers)
    )
