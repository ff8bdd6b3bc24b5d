"""Asks by batches: a file of calls that an endpoint answers within a day, usually at half the price.

One call is asked at once, so that options which the endpoint refuses are known before the batch is sent. What is under
way stands next to the journal, from before it is paid for until its answers are kept: a run that is killed at any point
finds its batch again and sends no second one. Killed between the upload of the calls and the batch, it uploads them
again, which costs nothing. Answers go into the same journal as those of single calls, also where the run that collects
them asks for fewer calls than the one that sent them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import httpx

from seedvote.dialogue.engines.chat import (
    Answered,
    Budget,
    Call,
    Endpoint,
    Reply,
    ask_all,
    journal_line,
    lock_journal,
    most_tokens,
    read_journal,
    reply_of,
    sent_hash,
)
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_json

PATH = "/v1/chat/completions"
UNDER_WAY = ("validating", "in_progress", "finalizing", "cancelling")


def ask_by_batch(
    endpoint: Endpoint, calls: Sequence[Call], journal: Path, *, budget: Budget | None = None
) -> tuple[Answered | None, str]:
    """Replies to all calls once a batch has ended, else None; and a sentence on how it stands."""
    state_file = find_state_file(journal)
    first = ask_all(endpoint, calls[:1], journal, lambda: None, budget=budget) if calls else Answered((), 0.0)
    headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    with (
        lock_journal(journal) as file,
        httpx.Client(base_url=endpoint.url.rstrip("/"), headers=headers, timeout=endpoint.timeout) as client,
    ):
        note, keys = "", [sent_hash(endpoint, call) for call in calls]
        if state_file.exists():
            state = json.loads(state_file.read_text(encoding="utf-8"))
            batch = _find_batch(client, endpoint, state, state_file)
            if batch is not None and batch["status"] in UNDER_WAY:
                return None, _describe_progress(batch)
            if batch is not None:
                note = _collect(client, endpoint, batch, read_journal(journal), file, {*keys, *state.get("calls", [])})
            state_file.unlink()
        known = read_journal(journal)
        missing = {key: call for key, call in zip(keys, calls, strict=True) if key not in known}
        sent = {} if note else _choose_calls(missing, known, budget)
        if not sent:
            replies = tuple(known.get(key) for key in keys)
            spent = sum(_cost(reply, budget) for reply in known.values())
            return Answered(replies, spent, first.lost, first.renames), note or "Every call has its answer already."
        batch = _send(client, endpoint, sent, first.renames, state_file)
        return None, (
            f"Batch {batch['id']} has {len(sent):,} calls. Run the same command again to collect its answers, within a "
            "day or so."
        )


def find_state_file(journal: Path) -> Path:
    """Where it stands what batch of this journal is under way, if one is."""
    return journal.with_suffix(".batch.json")


def refuse_under_way(journal: Path) -> None:
    """Calls of a batch that nobody has collected would be paid for twice."""
    if (state_file := find_state_file(journal)).exists():
        raise InputError(
            f"{state_file} names a batch whose answers are not collected yet. Run the same command with --batch first; "
            "single calls would pay for them again."
        )


def _cost(reply: Reply, budget: Budget | None) -> float:
    if budget is None or reply.tokens_in is None or reply.tokens_out is None:
        return 0.0
    return budget.cost(reply.tokens_in, reply.tokens_out, reply.tokens_cached)


def _choose_calls(missing: Mapping[str, Call], known: Mapping[str, Reply], budget: Budget | None) -> dict[str, Call]:
    """The calls that the budget allows at their bounds, in their order."""
    if budget is None:
        return dict(missing)
    spent, chosen = sum(_cost(reply, budget) for reply in known.values()), {}
    for key, call in missing.items():
        spent += budget.cost(*most_tokens(call))
        if spent > budget.most:
            break
        chosen[key] = call
    return chosen


def _send(
    client: httpx.Client, endpoint: Endpoint, calls: Mapping[str, Call], renames: Mapping[str, str], state_file: Path
) -> dict[str, Any]:
    """Upload the calls and begin; what is begun is written down before, so that it is found again."""
    lines = []
    for key, call in calls.items():
        body = {name: value for old, value in call.body(endpoint).items() if (name := renames.get(old, old))}
        lines.append(json.dumps({"custom_id": key, "method": "POST", "url": PATH, "body": body}, ensure_ascii=False))
    upload = {"file": ("calls.jsonl", ("\n".join(lines) + "\n").encode(), "application/jsonl")}
    file = _ask(client, endpoint, "POST", "/files", data={"purpose": "batch"}, files=upload)
    state = {"url": endpoint.url, "calls": list(calls), "file": file["id"], "batch": None}
    write_json(state_file, state)
    wanted = {"input_file_id": file["id"], "endpoint": PATH, "completion_window": "24h"}
    batch = _ask(client, endpoint, "POST", "/batches", json=wanted)
    write_json(state_file, {**state, "batch": batch["id"]})
    return batch


def _find_batch(
    client: httpx.Client, endpoint: Endpoint, state: Mapping[str, Any], state_file: Path
) -> dict[str, Any] | None:
    """The batch of an earlier run; where that was killed as it sent it, the one of its file, if it arrived at all."""
    if (url := state.get("url", endpoint.url)) != endpoint.url:
        raise InputError(
            f"{state_file} names a batch at {url}. Collect it from there, or remove the file to give it up."
        )
    if state["batch"] is not None:
        return _ask(client, endpoint, "GET", f"/batches/{state['batch']}")
    after = ""
    while True:  # the newest come first, a hundred at a time
        page = _ask(client, endpoint, "GET", f"/batches?limit=100{after}")
        begun = page.get("data") or []
        for batch in begun:
            if batch.get("input_file_id") == state["file"]:
                return dict(batch)
        if not begun or not page.get("has_more"):
            return None
        after = f"&after={begun[-1]['id']}"


def _describe_progress(batch: Mapping[str, Any]) -> str:
    counts = batch.get("request_counts") or {}
    done, total = counts.get("completed", 0), counts.get("total", 0)
    progress = f", {done:,} of {total:,} calls answered" if total else ""
    return f"Batch {batch['id']} is under way ({batch['status']}{progress}). Run the same command again later."


def _collect(
    client: httpx.Client,
    endpoint: Endpoint,
    batch: Mapping[str, Any],
    known: Mapping[str, Reply],
    file: IO[str],
    asked: Collection[str],
) -> str:
    """Keep the answers of a batch that has ended, each once; and say what became of the others."""
    kept, failed, why = set(known), 0, ""
    models = {reply.model for reply in known.values() if reply.model}
    for name in ("output_file_id", "error_file_id"):
        if not batch.get(name):
            continue
        for line in _ask_text(client, endpoint, f"/files/{batch[name]}/content").splitlines():
            if not line.strip():
                continue
            row = _parse(line, endpoint)
            answer = row.get("response") or {}
            if answer.get("status_code") != 200:
                failed, why = failed + 1, str(row.get("error") or answer.get("body") or "")[:120]
                continue
            reply = reply_of(answer.get("body"), endpoint.url, None)
            models |= {reply.model} if reply.model else set()
            if len(models) > 1:
                raise InputError(f"{endpoint.url} answers as {' and '.join(sorted(models))}: one judge is one model.")
            if row.get("custom_id") in asked and row["custom_id"] not in kept:
                file.write(journal_line(row["custom_id"], reply))
                file.flush()
                kept.add(row["custom_id"])
    fate = f"Batch {batch['id']} ended as {batch['status']}: {len(kept) - len(known):,} answers."
    if failed:
        fate += f" {failed:,} calls failed ({why}); run again with --batch to ask for them."
    return fate


def _ask(client: httpx.Client, endpoint: Endpoint, method: str, path: str, **more: Any) -> dict[str, Any]:
    return _parse(_ask_text(client, endpoint, path, method, **more), endpoint)


def _ask_text(client: httpx.Client, endpoint: Endpoint, path: str, method: str = "GET", **more: Any) -> str:
    try:
        answer = client.request(method, path, **more)
    except httpx.TransportError as error:
        raise InputError(f"{endpoint.url}{path} cannot be reached ({error or type(error).__name__}).") from error
    text = answer.text.replace(endpoint.key, "[key]") if endpoint.key else answer.text
    if answer.status_code != 200:
        raise InputError(f"{endpoint.url}{path} answered {answer.status_code} ({text[:200]!r}). Has it batches?")
    return text


def _parse(text: str, endpoint: Endpoint) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{endpoint.url} did not answer with JSON: {text[:80]!r}.") from error
    if not isinstance(value, dict):
        raise InputError(f"{endpoint.url} answered {text[:80]!r}, which is no object.")
    return value
