"""Topics: which domains the user has asked about so far, how many, and which one now."""

from __future__ import annotations

from seedvote.dialogue.corpora.examples import Example
from seedvote.probes.tasks.beliefs import domain, news, state
from seedvote.probes.tasks.task import NONE, ProbeTask, fixed, or_none


def all_topics(example: Example) -> list[str]:
    """The domains with a filled slot, or none."""
    return or_none(dict.fromkeys(map(domain, state(example))))


def how_many_topics(example: Example) -> list[str]:
    """The number of domains with a filled slot."""
    return [str(len(set(map(domain, state(example)))))]


def several_topics(example: Example) -> list[str]:
    """Whether more than one domain has a filled slot."""
    return ["yes" if len(set(map(domain, state(example)))) > 1 else "no"]


def recent_topic(example: Example) -> list[str]:
    """The domain of the newest newly filled slot (the last one in the annotation's order), carried forward."""
    topics = [domain(path) for filled in news(example) for path in filled]
    return topics[-1:] or [NONE]


TOPIC_TASKS = (
    ProbeTask("IsMultiTopic", False, fixed(several_topics), "more than one domain so far"),
    ProbeTask("NumAllTopics", False, fixed(how_many_topics), "how many domains so far"),
    ProbeTask("AllTopics", True, fixed(all_topics), "the domains so far"),
    ProbeTask("RecentTopic", False, fixed(recent_topic), "the domain of the newest filled slot"),
)
