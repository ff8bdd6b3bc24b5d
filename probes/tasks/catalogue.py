"""All tasks, in the papers' order. To add one: a rule in the module of its family, and a row in that module's tasks."""

from __future__ import annotations

from collections.abc import Sequence

from seedvote.dialogue.errors import InputError
from seedvote.probes.tasks import actions, information, position, repeats, topics, words
from seedvote.probes.tasks.task import ProbeTask

TASKS: tuple[ProbeTask, ...] = (
    *position.POSITION_TASKS,
    *words.WORD_TASKS,
    *topics.TOPIC_TASKS,
    *repeats.REPEAT_TASKS,
    *information.INFORMATION_TASKS,
    *actions.ACTION_TASKS,
)


def tasks_of(corpus: str, names: str = "all") -> list[ProbeTask]:
    """The tasks of a kind of corpus (`multiwoz`, `personachat`, `text`), all or those named, comma-separated."""
    legal = {task.name: task for task in TASKS if corpus in task.corpora}
    if names == "all":
        return list(legal.values())
    wanted = [name.strip() for name in names.split(",")]
    if unknown := [name for name in wanted if name not in legal]:
        if corpus == "text" and not set(unknown) - {task.name for task in TASKS}:
            raise InputError(
                f"{', '.join(unknown)}: this corpus has no annotations to read that from. What needs none: "
                f"{', '.join(legal)}."
            )
        raise InputError(
            f"{', '.join(unknown)} is not a probe task of {corpus}; these are: {', '.join(legal)}, or all of them: all."
        )
    return [legal[name] for name in dict.fromkeys(wanted)]


def names(tasks: Sequence[ProbeTask]) -> str:
    """Their names, comma-separated."""
    return ",".join(task.name for task in tasks)
