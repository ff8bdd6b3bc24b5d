"""Which logs belong to which system, and under which name each is shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dialogue.errors import InputError
from dialogue.importing.run_logs import RunLog, read_runs


def named_runs(
    systems: Sequence[str | Path] | Mapping[str, Any], columns: Mapping[str, str]
) -> tuple[dict[str, list[RunLog]], list[str]]:
    """Name -> runs, and a line for each that says how it was read.

    Two arguments whose logs name one model are two systems only where they were given names; otherwise it is not known
    whether they are two seeds or two settings, and that is asked.
    """
    arguments = (
        list(systems.items()) if isinstance(systems, Mapping) else [_split(str(argument)) for argument in systems]
    )
    runs: dict[str, list[RunLog]] = defaultdict(list)
    owners: dict[str, str] = {}
    for name, paths in arguments:
        for path in _paths(paths):
            logs = read_runs(path, columns)
            if name and len(logs) > 1:
                held = ", ".join(log.system for log in logs)
                raise InputError(
                    f"{path} holds {len(logs)} systems ({held}), so it cannot be {name}; leave {name}= out."
                )
            for log in logs:
                label = name or log.system
                if not name and owners.setdefault(label, str(path)) != str(path):
                    raise InputError(
                        f"{owners[label]} and {path} are both of {label}. Name them, if they are two settings: "
                        f"first={owners[label]} second={path}; or join them, if they are two runs of one: "
                        f"{label}={owners[label]},{path}"
                    )
                runs[label].append(log)
    return dict(runs), [_line(name, log) for name, logs in runs.items() for log in logs]


def _split(argument: str) -> tuple[str, Any]:
    """`NAME=PATH,PATH`, or a path alone; a path that exists is one, whatever signs it has."""
    if Path(argument).exists():
        return "", [argument]
    name, sign, paths = argument.partition("=")
    return (name, paths.split(",")) if sign else ("", argument.split(","))


def _paths(paths: Any) -> list[Path]:
    return [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]


def _line(name: str, log: RunLog) -> str:
    items = len({(score.task, score.item) for score in log.scores})
    tasks = len({score.task for score in log.scores})
    metrics = ", ".join(dict.fromkeys(score.metric for score in log.scores))
    many = f" of {tasks} tasks" if tasks > 1 else ""
    return f"Read as: {name}, {items:,} items{many}, {metrics} ({log.tool}: {log.path})."
