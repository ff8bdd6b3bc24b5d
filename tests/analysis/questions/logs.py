"""Logs of evaluations in the shape that each tool writes, from one table of scores: system -> item -> scores."""

import hashlib
import io
import json
import zipfile
import zlib

import pyarrow as pa
import pyarrow.parquet as pq

STAMP = "2026-11-24T10-00-00"


def questions(scores):
    """What the items of a system ask: an item's question is its name."""
    return {item: (f"What is {item}?", f"right {item}") for item in scores}


def inspect_log(path, system, scores, *, task="sums", packed=False):
    """inspect_ai's log, as JSON, or as .eval: a ZIP of one file a sample, which `packed` squeezes by Zstandard."""
    head = {"version": 2, "status": "success", "eval": {"task": task, "model": system}}
    samples = [
        {
            "id": item,
            "epoch": epoch,
            "input": f"What is {item}?",
            "target": f"right {item}",
            "metadata": {"passage": f"p{number // 3}"},
            "scores": {"match": {"value": {1: "C", 0: "I", 0.5: "P"}.get(score, score)}},
        }
        for number, (item, values) in enumerate(scores.items())
        for epoch, score in enumerate(values, 1)
    ]
    if path.suffix == ".json":
        path.write_text(json.dumps(head | {"samples": samples}))
        return path
    members = {f"samples/{one['id']}_epoch_{one['epoch']}.json": json.dumps(one) for one in samples}
    members["header.json"] = json.dumps(head)
    path.write_bytes(squeezed(members) if packed else zipped(members))
    return path


def zipped(members):
    handle = io.BytesIO()
    with zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return handle.getvalue()


def squeezed(members):
    """A ZIP whose members are packed by Zstandard: stored ones, with the method and the sizes put right."""
    handle = io.BytesIO()
    with zipfile.ZipFile(handle, "w", zipfile.ZIP_STORED) as archive:
        for name, text in members.items():
            raw = text.encode()
            packed = pa.Codec("zstd").compress(raw, asbytes=True)
            member = zipfile.ZipInfo(name)
            archive.writestr(member, packed)
            member.compress_type, member.file_size = 93, len(raw)
            member.CRC = zlib.crc32(raw)
    return handle.getvalue()


def lm_eval_log(folder, system, scores, *, task="sums", stamp=STAMP):
    """lm-evaluation-harness with --log_samples: a folder named as the model, a line a document and filter."""
    file = folder / system / f"samples_{task}_{stamp}.123456.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "doc_id": number,
            "doc": {"question": f"What is {item}?", "passage": f"p{number // 3}"},
            "target": f"right {item}",
            "resps": [["x"]],
            "filter": "strict-match",
            "metrics": ["exact_match"],
            "doc_hash": hashlib.sha256(item.encode()).hexdigest(),
            "exact_match": float(score),
        }
        for number, (item, values) in enumerate(scores.items())
        for score in values
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file.parent


def lighteval_log(folder, system, scores, *, task="sums", stamp=STAMP):
    """lighteval's details: details/MODEL/DATE/details_TASK|SHOTS_DATE.parquet, a row an item."""
    file = folder / "details" / system / stamp / f"details_{task}|0_{stamp}.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "doc": {"id": item, "query": f"What is {item}?", "specific": {"passage": f"p{number // 3}"}},
            "metric": {"acc": float(sum(values) / len(values))},
            "model_response": {"text": ["x"]},
        }
        for number, (item, values) in enumerate(scores.items())
    ]
    pq.write_table(pa.Table.from_pylist(rows), file)
    return folder


def helm_log(folder, system, scores, *, task="sums"):
    """HELM: a folder a run with run_spec.json and per_instance_stats.json."""
    name = f"{task}:subject=all,model={system}"
    run = folder / name
    run.mkdir(parents=True, exist_ok=True)
    (run / "run_spec.json").write_text(json.dumps({"name": name, "adapter_spec": {"model": system}}))
    stats = [
        {
            "instance_id": item,
            "train_trial_index": trial,
            "stats": [{"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": score, "mean": score}],
        }
        for item, values in scores.items()
        for trial, score in enumerate(values)
    ]
    (run / "per_instance_stats.json").write_text(json.dumps(stats))
    return run


def table(path, scores):
    """A CSV of items and scores."""
    rows = [
        f"{item},p{number // 3},{epoch},{score}"
        for number, (item, values) in enumerate(scores.items())
        for epoch, score in enumerate(values, 1)
    ]
    path.write_text("\n".join(["question_id,passage,epoch,correct", *rows]) + "\n")
    return path
