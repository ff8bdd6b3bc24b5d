"""Logs of evaluations -> one row a score: which task, which metric, which item, which repetition.

Read are inspect_ai (`.eval` and `.json`), lm-evaluation-harness (`--log_samples`), lighteval (details), HELM
(statistics by instance) and any table of items and scores. A folder is read with all logs in it; of one task logged
twice by one model the newest log counts, and `notes` says so.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.tools import METRIC_VALUES, PEOPLE, RUN_COLUMN
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import NO_NUMBER, SEMICOLONS, RawTable, cell_text

LETTERS = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
CLUSTERS = (
    *("cluster", "dialogue", "dialog", "dialogue_id", "dialog_id", "document", "document_id", "doc_title", "passage"),
    *("passage_id", "story", "article", "article_id", "context_id", "subject", "topic", "session"),
)
ITEMS = ("item", "item_id", "example", "example_id", "question_id", "sample_id", "instance_id", "doc_id", "id")
SYSTEMS = ("system", "model", "model_name", "model_id", "agent")
EPOCHS = ("epoch", "repeat", "repetition", "trial", "attempt")
RUNS = ("run", "run_id", "seed", "training_seed", "train_seed", "model_seed")
TASKS = ("task", "task_name", "benchmark", "dataset", "eval")
METRICS = ("metric", "metric_name", "measure", "scorer")
SCORES = ("score", *METRIC_VALUES)
ROLES = {"item": ITEMS, "system": SYSTEMS, "epoch": EPOCHS, "task": TASKS, "metric": METRICS}
INSPECT, LM_EVAL, LIGHTEVAL, HELM, TABLE = "inspect_ai", "lm-evaluation-harness", "lighteval", "HELM", "table"
ZSTANDARD = 93  # method of compression within a ZIP
PER_UNIT = {"word_perplexity": "word", "byte_perplexity": "byte", "bits_per_byte": "byte"}
DECIMAL = re.compile(r"[-+]?\d+(?:[.,]\d+)?")
SETTINGS = {  # words of columns that say how a run was trained, and no scores
    *("lr", "learning", "batch", "epoch", "epochs", "step", "steps", "layers", "hidden", "dropout", "params", "width"),
    *("depth", "gpu", "gpus", "device", "index", "unnamed"),
}
DECIMALS = " Decimals need a point, and a cell without a score is left empty."
MOST_ROWS_OF_RUN = 20  # of one training run, where tasks or metrics stand below each other
MOST_BYTES_OF_RUNS = 10_000_000  # a larger table holds votes, which are not read twice
STAMP = re.compile(r"[_-](\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d[.,]?\d*(?:[+-]\d\d[-:]\d\d)?)")


class Score(NamedTuple):
    """What one item scored in one repetition."""

    task: str
    metric: str
    item: str
    epoch: str
    score: float
    question: str  # hash of what was asked and of the right answer; empty where the log does not say
    fields: Mapping[str, Any]  # what else the log knows about the item: where clusters come from
    place: str


@dataclass(frozen=True, eq=False)
class RunLog:
    """One run of one system."""

    path: Path
    tool: str
    system: str
    scores: Sequence[Score]
    failed: int = 0  # items that the tool could not score
    notes: tuple[str, ...] = ()
    told_apart: str = ""  # the columns that tell the runs of one table apart
    run: str = ""  # by these columns


def read_runs(source: Path | RawTable, columns: Mapping[str, str] | None = None) -> list[RunLog]:
    """The runs of a file, folder or table in memory, one a system; a table may hold several, and several of each."""
    if isinstance(source, RawTable):
        return _read_scores(source.path, source, columns or {})
    path = source
    if not path.exists():
        raise InputError(f"{path} cannot be read: there is no such file or folder.")
    if path.is_dir():
        return _read_folder(path, columns or {})
    return _read_file(path, columns or {})


def _read_file(path: Path, columns: Mapping[str, str]) -> list[RunLog]:
    name = path.name
    if name == "per_instance_stats.json":
        return [_read_helm(path)]
    if path.suffix == ".eval" or (path.suffix == ".json" and _is_inspect(path)):
        return [_read_inspect(path)]
    table = read_table(path)
    if {"doc_id", "doc", "resps"} <= set(table.names):
        return [_read_lm_eval(path, table)]
    if _holds_objects(table, "metrics") or _holds_objects(table, "metric"):
        return [_read_lighteval(path, table)]
    return _read_scores(path, table, columns)


def _read_folder(path: Path, columns: Mapping[str, str]) -> list[RunLog]:
    logs = [file for file in sorted(path.rglob("*")) if file.is_file() and _is_log(file)]
    if not logs:
        raise InputError(
            f"{path} holds no log of an evaluation. Looked for: *.eval and *.json of inspect_ai, samples_*.jsonl of "
            "lm-eval --log_samples, details_*.parquet of lighteval, per_instance_stats.json of HELM. Name a CSV of "
            "items and scores by its file."
        )
    newest: dict[tuple[str, str], RunLog] = {}
    notes: dict[str, list[str]] = defaultdict(list)
    for file in sorted(logs, key=_log_time):
        for run in _read_file(file, columns):
            for task in dict.fromkeys(score.task for score in run.scores):
                if (run.system, task) in newest:
                    notes[run.system].append(f"{task} was logged twice; the newer log is read: {file.name}")
                part = replace(run, scores=[score for score in run.scores if score.task == task])
                newest[run.system, task] = part
    runs: dict[str, list[RunLog]] = defaultdict(list)
    for (system, _), part in newest.items():
        runs[system].append(part)
    return [_join_parts(path, system, parts, notes[system]) for system, parts in runs.items()]


def is_run_log(path: Path) -> bool:
    """Whether a file, or any file of a folder, is a log of an evaluation."""
    return any(map(_is_log, path.rglob("*.*"))) if path.is_dir() else _is_log(path)


def _join_parts(path: Path, system: str, parts: Sequence[RunLog], notes: Iterable[str]) -> RunLog:
    logs = {part.path: part for part in parts}
    return RunLog(
        path,
        parts[0].tool,
        system,
        [score for part in parts for score in part.scores],
        sum(part.failed for part in logs.values()),
        (*(note for part in logs.values() for note in part.notes), *notes),
    )


def _is_log(path: Path) -> bool:
    name = path.name
    return (
        path.suffix == ".eval"
        or name == "per_instance_stats.json"
        or (name.startswith("samples_") and path.suffix == ".jsonl")
        or (name.startswith("details_") and path.suffix == ".parquet")
        or (path.suffix == ".json" and _is_inspect(path))
    )


def _log_time(path: Path) -> str:
    """When a log was written, by its name or else by the file system: what sorts last is the newest."""
    match = STAMP.search(path.name) or STAMP.search(f"_{path.name}")
    return match[1].replace(":", "-") if match else f"{path.stat().st_mtime:020.6f}"


# inspect_ai


def _is_inspect(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as handle:
        start = handle.read(4096)
    return '"eval"' in start and '"status"' in start and '"version"' in start


def _read_inspect(path: Path) -> RunLog:
    head, samples = _open_eval(path) if path.suffix == ".eval" else _open_json_log(path)
    described = head.get("eval") or {}
    task = str(described.get("task") or path.stem).rsplit("/", 1)[-1]
    model = str(described.get("model") or path.stem)
    scores: list[Score] = []
    asked, failed = 0, 0
    unread = set[str]()  # scorers without a number for some sample
    for place, sample in samples:
        if not (sample.get("scores")):
            failed += 1
            continue
        asked += 1
        item, epoch = str(sample.get("id")), str(sample.get("epoch", 1))
        question = _hash_question(sample.get("input"), sample.get("target"))
        fields = {**(sample.get("metadata") or {})}
        for scorer, score in sample["scores"].items():
            values = list(_inspect_values(scorer, score.get("value")))
            unread |= set() if values else {scorer}
            scores += [Score(task, metric, item, epoch, value, question, fields, place) for metric, value in values]
    status = head.get("status")
    notes = [] if status in ("success", None) else [f"{path.name}: the run ended as {status!r}, not as success"]
    notes += _say_missing(path, scores, dict.fromkeys([*(score.metric for score in scores), *sorted(unread)], asked))
    return RunLog(path, INSPECT, model, scores, failed, tuple(notes))


def inspect_samples(path: Path) -> Iterator[dict[str, Any]]:
    """The samples of a log of inspect_ai as they stand there."""
    if path.suffix != ".eval" and not _is_inspect(path):
        raise InputError(f"{path} is no log of inspect_ai (.eval or .json).")
    _, samples = _open_eval(path) if path.suffix == ".eval" else _open_json_log(path)
    return (sample for _, sample in samples)


def _inspect_values(scorer: str, value: Any) -> Iterator[tuple[str, float]]:
    """A scorer's value: a number, a letter (C, I, P, N), or several by name."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            if (number := _read_number(part)) is not None:
                yield f"{scorer}.{name}", number
    elif (number := _read_number(value)) is not None:
        yield scorer, number


def _open_eval(path: Path) -> tuple[dict[str, Any], Iterator[tuple[str, dict[str, Any]]]]:
    try:
        archive = zipfile.ZipFile(path)
        names = archive.namelist()
        header = "header.json" if "header.json" in names else "_journal/start.json"
        head = json.loads(_unzip_member(archive, header, path))
    except (zipfile.BadZipFile, KeyError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is no whole log of inspect_ai: {error}.") from error
    samples = (
        (f"{path}: {name}", _parse_sample(_unzip_member(archive, name, path), f"{path}: {name}"))
        for name in names
        if name.startswith("samples/")
    )
    return head, samples


def _parse_sample(raw: bytes, place: str) -> dict[str, Any]:
    try:
        sample = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is no whole sample of inspect_ai: {error}.") from error
    if not isinstance(sample, dict):
        raise InputError(f"{place} is a {type(sample).__name__}; a sample of inspect_ai is an object.")
    return sample


def _unzip_member(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """A member of the archive; newer logs are packed by Zstandard, which zipfile reads from Python 3.14 on."""
    member = archive.getinfo(name)
    if member.compress_type != ZSTANDARD:
        return archive.read(member)
    from seedvote.dialogue.tables.frames import unpack_zstandard

    with path.open("rb") as handle:
        handle.seek(member.header_offset)
        local = handle.read(
            30
        )  # the local header, whose name and extra field may differ in length from the directory's
        handle.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), 1)
        packed = handle.read(member.compress_size)
    raw = unpack_zstandard(packed, member.file_size, f"{path}: {name}")
    if zlib.crc32(raw) != member.CRC:
        raise InputError(f"{path}: {name} is damaged: its checksum differs. Copy the log again.")
    return raw


def _open_json_log(path: Path) -> tuple[dict[str, Any], Iterator[tuple[str, dict[str, Any]]]]:
    head = _read_json(path)
    return head, ((f"{path}: sample {n}", sample) for n, sample in enumerate(head.get("samples") or [], 1))


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no whole JSON file: {error}.") from error


# lm-evaluation-harness


def _read_lm_eval(path: Path, table: RawTable) -> RunLog:
    stem = STAMP.sub("", path.stem)
    task = stem.removeprefix("samples_")
    scores: list[Score] = []
    failed = 0
    repeats, asked = Counter[tuple[str, str]](), Counter[str]()
    for place, row in table.rows():
        doc = row["doc"] if isinstance(row["doc"], Mapping) else {}
        item, filtered = cell_text(row["doc_id"]), cell_text(row.get("filter")) or "none"
        question = _hash_question(row.get("doc_hash") or doc, row.get("target_hash") or row.get("target"))
        names = row.get("metrics") or [name for name in row if name not in LM_EVAL_FIELDS]
        repeats[item, filtered] += 1
        values = dict(
            _lm_eval_value(name, row.get(name), "" if filtered == "none" else f",{filtered}") for name in names
        )
        is_failed = all(value is None for value in values.values())
        failed += is_failed
        asked.update(dict.fromkeys(values, int(not is_failed)))
        epoch = str(repeats[item, filtered])
        scores += [
            Score(task, metric, item, epoch, value, question, doc, place)
            for metric, value in values.items()
            if value is not None
        ]
    notes = _say_missing(path, scores, asked)
    return RunLog(path, LM_EVAL, _lm_eval_model(path), scores, failed, tuple(notes))


def _lm_eval_value(name: str, value: Any, suffix: str) -> tuple[str, float | None]:
    """A metric of one item with its value. Of a perplexity, an item has a log-likelihood, of so many words or bytes."""
    if name == "perplexity":
        return f"log-likelihood{suffix}", _read_number(value)
    if name in PER_UNIT and isinstance(value, list | tuple) and len(value) == 2:
        likelihood, units = map(_read_number, value)
        mean = likelihood / units if units and likelihood is not None else None
        return f"log-likelihood a {PER_UNIT[name]}{suffix}", mean
    return name + suffix, _read_number(value)


def _lm_eval_model(path: Path) -> str:
    """As the results beside the samples name it; else the folder, which lm-eval names by the model."""
    for results in sorted(path.parent.glob("results_*.json"), reverse=True):
        if name := _read_json(results).get("model_name"):
            return str(name)
    return path.parent.name


LM_EVAL_FIELDS = frozenset(
    (
        *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash"),
        *("prompt_hash", "target_hash"),
    )
)


# lighteval


def _holds_objects(table: RawTable, name: str) -> bool:
    return name in table.names and len(table) > 0 and isinstance(table.columns[name][0], Mapping)


def _read_lighteval(path: Path, table: RawTable) -> RunLog:
    metric_column = "metric" if "metric" in table.names else "metrics"
    task = re.sub(r"\|\d+$", "", STAMP.sub("", path.stem).removeprefix("details_"))
    scores = []
    for number, (place, row) in enumerate(table.rows()):
        doc: Mapping[str, Any] = row.get("doc") or {}
        item = cell_text(doc.get("id")) or str(number)
        query = doc.get("query") or row.get("example") or row.get("full_prompt")
        question = _hash_question(query, doc.get("choices") or row.get("gold"))
        fields = {**doc, **(doc.get("specific") or {})} if doc else dict(row)
        for metric, cell in row[metric_column].items():
            if (value := _read_number(cell)) is not None:
                scores.append(Score(task, metric, item, "1", value, question, fields, place))
    # details/MODEL/DATE/details_TASK_DATE.parquet
    model = path.parent.parent.name if STAMP.search(f"_{path.parent.name}") else path.parent.name
    return RunLog(path, LIGHTEVAL, model, scores)


# HELM


def _read_helm(path: Path) -> RunLog:
    specification = path.with_name("run_spec.json")
    spec = _read_json(specification) if specification.exists() else {}
    name = str(spec.get("name") or path.parent.name)
    model = str((spec.get("adapter_spec") or {}).get("model") or "")
    model_in_name = re.search(r"[,:]model=([^,]+)", name)
    task = re.sub(r"([,:])model(?:_deployment)?=[^,]+", "", name).rstrip(",:")
    scores, rows = [], _read_json(path)
    if not isinstance(rows, list):
        raise InputError(f"{path} is no list of instances, as HELM writes it.")
    for number, row in enumerate(rows):
        changed = (row.get("perturbation") or {}).get("name")
        item = f"{row['instance_id']} ({changed})" if changed else str(row["instance_id"])
        for stat in row.get("stats") or ():
            if stat.get("count") and (value := _read_number(stat.get("mean"))) is not None:
                place = f"{path}: instance {number + 1}"
                epoch = str(row.get("train_trial_index", 0) + 1)
                scores.append(Score(task, stat["name"]["name"], item, epoch, value, "", {}, place))
    return RunLog(path, HELM, model or (model_in_name[1] if model_in_name else path.parent.name), scores)


# A table of items and scores


def _read_scores(path: Path, table: RawTable, columns: Mapping[str, str]) -> list[RunLog]:
    """One row an item: a score by name, or every column of numbers as a metric of its own.

    Rows of another seed are of another run, never a repetition: what seeds differ by belongs to the error.
    """
    legal = (*ROLES, "run", "score", "cluster")
    for role, name in columns.items():
        if role not in legal:
            raise InputError(f"--columns has {role!r}, which is not one of {', '.join(legal)}.")
        if name not in table.names:
            raise InputError(f"{path} has no column {name!r}; it has {', '.join(table.names)}.")
    roles = {role: columns.get(role) or _find_column(table, names) for role, names in ROLES.items()}
    table = _melt_runs(_with_decimal_points(table, roles), columns)
    run_columns = _run_columns(table, columns)
    if roles["item"] is None:
        return _read_whole_runs(path, table, roles, run_columns, columns.get("score", ""))
    taken = {*run_columns, *(name for name in roles.values() if name)}
    stated = columns.get("score") or _find_column(table, SCORES)
    measured = [stated] if stated else [n for n in table.names if n not in taken and _all_numbers(table.columns[n])]
    if not measured:
        raise InputError(
            f"{path}: no column holds scores; it has {', '.join(table.names)}. Name it: --columns score=NAME"
        )
    runs: dict[tuple[str, ...], list[Score]] = defaultdict(list)
    failed: Counter[tuple[str, ...]] = Counter()
    repeats: Counter[tuple[str, ...]] = Counter()
    for place, row in table.rows():
        known = {role: cell_text(row[name]) if name else "" for role, name in roles.items()}
        if not known["item"]:
            raise InputError(f"{place}: {roles['item']} is empty; a score without an item cannot be paired.")
        run = (known["system"], *(cell_text(row[name]) for name in run_columns))
        for name in measured:
            cell = row[name]
            value = _read_number(cell)
            if value is None and cell_text(cell) and cell_text(cell).casefold() not in NO_NUMBER:
                raise InputError(f"{place}: {name} is {cell_text(cell)!r}, which is no number.{DECIMALS}")
            failed[run] += value is None
            if value is None:
                continue
            metric = known["metric"] or name
            key = (*run, known["task"], metric, known["item"], known["epoch"])
            repeats[key] += 1
            if repeats[key] > 1 and not known["epoch"] and (people := _find_column(table, sorted(PEOPLE))):
                raise InputError(
                    f"{place}: {people} says that several people scored one item, and what they differ by belongs to "
                    f"the error: python -m analysis ratings {shlex.quote(str(path))} --columns score={name}. If these "
                    f"are repetitions of a program: --columns epoch={people}"
                )
            if repeats[key] > 1 and known["epoch"]:
                raise InputError(f"{place}: item {known['item']} a second time in {roles['epoch']} {known['epoch']}.")
            epoch = known["epoch"] or str(repeats[key])
            fields = {n: row[n] for n in table.names if n not in measured}
            runs[run].append(Score(known["task"] or "scores", metric, known["item"], epoch, value, "", fields, place))
    return [
        RunLog(path, TABLE, run[0] or path.stem, scores, failed[run], told_apart=" and ".join(run_columns))
        for run, scores in runs.items()
    ]


def _with_decimal_points(table: RawTable, roles: Mapping[str, str | None]) -> RawTable:
    """The table with 0.5 for `0,5`, in columns of numbers; where commas may part thousands, it is left and refused."""
    columns = {}
    for name, cells in table.columns.items():
        texts = [text for cell in cells if (text := cell_text(cell)) and text.casefold() not in NO_NUMBER]
        with_commas = [text for text in texts if "," in text]
        are_decimals = SEMICOLONS in table.notes or any(not re.search(r"[1-9]\d*,\d{3}$", text) for text in with_commas)
        if name not in roles.values() and with_commas and are_decimals and all(map(DECIMAL.fullmatch, texts)):
            columns[name] = [cell_text(cell).replace(",", ".") for cell in cells]
    return table.with_columns(**columns)


def _melt_runs(table: RawTable, columns: Mapping[str, str]) -> RawTable:
    """`seed0`, `seed1`, ... as rows: a column a run is no metric of its own."""
    wide = [name for name in table.names if RUN_COLUMN.fullmatch(name.strip()) and _all_numbers(table.columns[name])]
    taken = [columns.get("run") or columns.get("score") or _find_column(table, (*RUNS, *SCORES))]
    if len(wide) < 2 or any(taken):
        return table
    cells = [(row, name) for row in range(len(table)) for name in wide]
    names = [name for name in table.names if name not in wide]
    runs = {"seed": [name for _, name in cells], "score": [table.columns[name][row] for row, name in cells]}
    return table.repeat([row for row, _ in cells], names, **runs)


def _read_whole_runs(
    path: Path, table: RawTable, roles: Mapping[str, str | None], run_columns: Sequence[str], score: str
) -> list[RunLog]:
    """One row a training run, `model, seed, bleu`: without items, the spread of a system's runs is all its error."""
    if not run_columns:
        raise InputError(
            f"{path}: no column says which item a score is of; it has {', '.join(table.names)}. Name it: "
            "--columns item=NAME,score=NAME. If each row is a whole training run, name its seed: --columns run=NAME"
        )
    measured = _columns_of_measures(table, {*run_columns, *filter(None, roles.values())}, score)
    if not measured:
        raise InputError(
            f"{path}: no column holds scores; it has {', '.join(table.names)}. Name it: --columns score=NAME"
        )
    runs: dict[tuple[str, ...], list[Score]] = defaultdict(list)
    failed: Counter[tuple[str, ...]] = Counter()
    rows: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for place, row in table.rows():
        known = {role: cell_text(row[name]) if name else "" for role, name in roles.items()}
        run = (known["system"], *(cell_text(row[name]) for name in run_columns))
        if "" in run[1:] or (roles["system"] and not run[0]):
            raise InputError(f"{place}: {', '.join(filter(None, (roles['system'], *run_columns)))}: none may be empty.")
        key = (*run, known["task"], known["metric"])
        if (first := rows.setdefault(key, row)) is not row:
            raise InputError(_say_second_row(place, run, [name for name in table.names if row[name] != first[name]]))
        for name in measured:
            value = _read_number(row[name])
            if value is None and cell_text(row[name]).casefold() not in NO_NUMBER:
                raise InputError(f"{place}: {name} is {cell_text(row[name])!r}, which is no number.{DECIMALS}")
            failed[run] += value is None
            if value is not None:
                runs[run].append(Score(known["task"] or "runs", known["metric"] or name, "", "1", value, "", {}, place))
    return [
        RunLog(path, TABLE, run[0] or path.stem, scores, failed[run], (), " and ".join(run_columns), " ".join(run[1:]))
        for run, scores in runs.items()
    ]


def _say_second_row(place: str, run: Sequence[str], names: Sequence[str]) -> str:
    different = f" They differ in {', '.join(names[:6])}." if names else ""
    return (
        f"{place}: a second row of run {' '.join(filter(None, run))}, and each row should be a whole run.{different} "
        "Keep the row of each run that counts; or say what the rows are: --columns item=NAME or task=NAME"
    )


def _columns_of_measures(table: RawTable, taken: Collection[str], score: str) -> list[str]:
    """The column of scores, else every column of numbers that is no setting of a run."""
    if stated := score or _find_column(table, SCORES):
        return [stated]
    names = [name for name in table.names if name not in taken and _all_numbers(table.columns[name])]
    settings = {name for name in names if SETTINGS & {*re.split(r"[^a-z]+", name.casefold())}}
    return [name for name in names if name not in settings]


def holds_whole_runs(path: Path) -> bool:
    """Whether a table has a row for each training run of several systems, and no items."""
    if path.is_dir() or path.stat().st_size > MOST_BYTES_OF_RUNS:
        return False
    table = _melt_runs(read_table(path), {})
    plain = {re.sub(r"[\s-]+", "_", name.strip().casefold()) for name in table.names}
    system, run_columns = _find_column(table, SYSTEMS), _run_columns(table, {})
    if system is None or not run_columns or plain & {*ITEMS, *PEOPLE, "pair", "choice", "winner"}:
        return False
    keys = list(zip(*(table.text(name) for name in (system, *run_columns)), strict=True))
    roles = {system, *run_columns, *(name for names in (TASKS, METRICS) if (name := _find_column(table, names)))}
    return len({*table.text(system)}) > 1 and bool(_columns_of_measures(table, roles, "")) and _are_few(keys)


def _are_few(keys: Sequence[tuple[str, ...]]) -> bool:
    """Whether a run has one row, or one a task or metric: few beside the runs."""
    return len(keys) <= MOST_ROWS_OF_RUN * len({*keys})


def _run_columns(table: RawTable, columns: Mapping[str, str]) -> list[str]:
    """As stated, else every column whose name is one of a run."""
    if "run" in columns:
        return [columns["run"]]
    found = [_find_column(table, [name]) for name in RUNS]
    return [name for name in found if name and name not in columns.values()]


def _find_column(table: RawTable, names: Sequence[str]) -> str | None:
    plain = {re.sub(r"[\s-]+", "_", name.strip().casefold()): name for name in reversed(table.names)}
    return next((plain[name] for name in names if name in plain), None)


def _all_numbers(cells: Sequence[Any]) -> bool:
    texts = [cell for cell in cells if cell_text(cell).casefold() not in NO_NUMBER]
    return bool(texts) and all(_read_number(cell) is not None for cell in texts)


# What all share


def _say_missing(path: Path, scores: Sequence[Score], asked: Mapping[str, int]) -> list[str]:
    """A sentence for each metric that lacks numbers; `asked` has the samples of which it should have one."""
    numbers, notes = Counter(score.metric for score in scores), []
    for metric, samples in asked.items():
        if not numbers[metric]:
            notes.append(f"{path.name}: {metric} has no score for a single item and is not compared")
        elif lost := samples - numbers[metric]:
            notes.append(f"{path.name}: {metric} has no number for {lost:,} of {samples:,} samples, which are left out")
    return notes


def cluster_names(runs: Sequence[RunLog]) -> list[str]:
    """The fields, known by name, that every item of every run has and that group items."""
    names: list[str] = []
    for name in CLUSTERS:
        values = [field_of(score.fields, name) for run in runs for score in run.scores]
        if values and None not in values and 1 < len(set(values)) < len({s.item for run in runs for s in run.scores}):
            names.append(name)
    return names


def field_of(fields: Mapping[str, Any], name: str) -> str | None:
    """A field by its name or dotted path, as text; None where it is missing."""
    value: Any = fields
    for part in [name] if name in fields else name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return cell_text(value) or None if not isinstance(value, Mapping | list) else json.dumps(value, sort_keys=True)


def _read_number(value: Any) -> float | None:
    """A score as a number; letters of inspect_ai, truth values and numbers in text count, nothing else does."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        text = value.strip()
        if text.casefold() in LETTERS:
            return LETTERS[text.casefold()]
        try:
            value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _hash_question(question: Any, target: Any) -> str:
    if question in (None, "", {}) and target in (None, "", []):
        return ""
    text = json.dumps([question, target], sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
