"""What is asked of a state: one rule a task, in the papers' order.

To add one: its rule, and a row of its family's tasks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.errors import InputError

# What a probe task is: a name and a rule that reads the labels of one example from the corpus.

LabelRule = Callable[[Example], Iterable[str]]

NONE = "none"


@dataclass(frozen=True, slots=True)
class ProbeTask:
    """One property of the text to be probed for, named as in the papers.

    `many` says whether an example has a set of labels or one. `rule_from` gives the rule that labels an example, from
    the training examples: only the mid-frequency words depend on them, the others are fixed.
    """

    name: str
    many: bool
    rule_from: Callable[[Sequence[Example]], LabelRule]
    about: str
    corpora: tuple[str, ...] = ("multiwoz",)


def fixed_rule(rule: LabelRule) -> Callable[[Sequence[Example]], LabelRule]:
    """A rule that does not depend on the training examples."""
    return lambda train: rule  # noqa: ARG005


def or_none(labels: Iterable[str]) -> list[str]:
    """The labels, or the label `none` where there is not one.

    >>> or_none([])
    ['none']
    """
    return list(labels) or [NONE]


# The belief state of an example: the slots filled after the user turn that the target answers.


def belief_states(example: Example) -> Iterator[Mapping[str, str]]:
    """The belief state after each user turn of the context, oldest first."""
    for turn in example.context:
        if turn.speaker == "user":
            yield turn.belief or {}


def last_state(example: Example) -> Mapping[str, str]:
    """The belief state after the last user turn: slot path -> value."""
    *_, last = [{}, *belief_states(example)]
    return last


def new_slots(example: Example) -> Iterator[dict[str, str]]:
    """After each user turn, the slots that no earlier state had filled, in the annotation's order."""
    past: set[str] = set()
    for filled in belief_states(example):
        yield {path: value for path, value in filled.items() if path not in past}
        past.update(filled)


def newest_slots(example: Example) -> dict[str, str]:
    """The slots first filled in the last user turn."""
    *_, last = [{}, *new_slots(example)]
    return last


def slot_domain(path: str) -> str:
    """`hotel` of `hotel-semi-area`."""
    return path.split("-", 1)[0]


def slot_leaf(path: str) -> str:
    """`area` of `hotel-semi-area`."""
    return path.rsplit("-", 1)[-1]


# Topics: which domains the user has asked about so far, how many, and which one now.


def all_topics(example: Example) -> list[str]:
    """The domains with a filled slot, or none."""
    return or_none(dict.fromkeys(map(slot_domain, last_state(example))))


def how_many_topics(example: Example) -> list[str]:
    """The number of domains with a filled slot."""
    return [str(len(set(map(slot_domain, last_state(example)))))]


def several_topics(example: Example) -> list[str]:
    """Whether more than one domain has a filled slot."""
    return ["yes" if len(set(map(slot_domain, last_state(example)))) > 1 else "no"]


def recent_topic(example: Example) -> list[str]:
    """The domain of the newest newly filled slot (the last one in the annotation's order), carried forward."""
    topics = [slot_domain(path) for filled in new_slots(example) for path in filled]
    return topics[-1:] or [NONE]


TOPIC_TASKS = (
    ProbeTask("IsMultiTopic", False, fixed_rule(several_topics), "more than one domain so far"),
    ProbeTask("NumAllTopics", False, fixed_rule(how_many_topics), "how many domains so far"),
    ProbeTask("AllTopics", True, fixed_rule(all_topics), "the domains so far"),
    ProbeTask("RecentTopic", False, fixed_rule(recent_topic), "the domain of the newest filled slot"),
)


# Information: the slots and values that the user has given, in all and in the last turn.


def recent_slots(example: Example) -> list[str]:
    """The slot paths first filled this turn, or none."""
    return or_none(newest_slots(example))


def how_many_recent(example: Example) -> list[str]:
    """How many slots were first filled this turn."""
    return [str(len(newest_slots(example)))]


def recent_values(example: Example) -> list[str]:
    """The values of the slots first filled this turn, or none."""
    return or_none(dict.fromkeys(newest_slots(example).values()))


def all_slots(example: Example) -> list[str]:
    """All filled slot paths, or none."""
    return or_none(last_state(example))


def how_many_slots(example: Example) -> list[str]:
    """How many slots are filled."""
    return [str(len(last_state(example)))]


def all_values(example: Example) -> list[str]:
    """The values of all filled slots, or none."""
    return or_none(dict.fromkeys(last_state(example).values()))


INFORMATION_TASKS = (
    ProbeTask("RecentSlots", True, fixed_rule(recent_slots), "the slots first filled this turn"),
    ProbeTask("NumRecentInfo", False, fixed_rule(how_many_recent), "how many slots were first filled this turn"),
    ProbeTask("RecentValues", True, fixed_rule(recent_values), "the values of the slots first filled this turn"),
    ProbeTask("AllSlots", True, fixed_rule(all_slots), "all slots so far"),
    ProbeTask("NumAllInfo", False, fixed_rule(how_many_slots), "how many slots so far"),
    ProbeTask("AllValues", True, fixed_rule(all_values), "all values so far"),
)


# Repeats: which kinds of information (a day, an area) have been given for two domains or more.


def repeated_leaves(example: Example) -> list[str]:
    """Leaf slot names filled in two or more domains."""
    pairs = {(slot_leaf(path), slot_domain(path)) for path in last_state(example)}
    counts = Counter(name for name, _ in pairs)
    return sorted(name for name, domains in counts.items() if domains > 1)


def repeated_or_none(example: Example) -> list[str]:
    """The repeated leaf names, or none."""
    return or_none(repeated_leaves(example))


def how_many_repeated(example: Example) -> list[str]:
    """How many leaf names are repeated."""
    return [str(len(repeated_leaves(example)))]


REPEAT_TASKS = (
    ProbeTask("RepeatInfo", True, fixed_rule(repeated_or_none), "slot names given for two domains or more"),
    ProbeTask("NumRepeatInfo", False, fixed_rule(how_many_repeated), "how many slot names are repeated"),
)


# Actions: what the system does next (the annotation of the target).


def first_act(example: Example) -> list[str]:
    """The target's first act in the annotation's order (half of the turns have two or more), or none."""
    return [next(iter(example.target.acts or ()), NONE)]


def entity_slots(example: Example) -> list[str]:
    """Slot names in the target's acts, or none; the annotation itself writes `none` for an act without slots."""
    return _act_entities(example, 0)


def entity_values(example: Example) -> list[str]:
    """Slot values in the target's acts (`?` where a slot is asked for), or none."""
    return _act_entities(example, 1)


def _act_entities(example: Example, part: int) -> list[str]:
    acts = (example.target.acts or {}).values()
    return or_none(dict.fromkeys(pair[part] for pairs in acts for pair in pairs))


ACTION_TASKS = (
    ProbeTask("ActionSelect", False, fixed_rule(first_act), "the system's next act (the first annotated)"),
    ProbeTask("EntitySlots", True, fixed_rule(entity_slots), "slot names in the system's acts"),
    ProbeTask("EntityValues", True, fixed_rule(entity_values), "slot values in the system's acts"),
)


# Position: how far the dialogue has gone.


def fifth_of_dialogue(example: Example) -> list[str]:
    """Which fifth of the dialogue's examples this one is in: min(4, 5 i // T) for example i of T.

    MultiWOZ has an example for each user turn that is answered; PersonaChat one for each utterance but the first.
    """
    turns = example.dialogue.turns
    targets = [n for n in range(1, len(turns)) if turns[n].speaker != "user"]
    return [str(min(4, 5 * targets.index(example.n) // len(targets)))]


POSITION_TASKS = (
    ProbeTask(
        "UtteranceLoc",
        False,
        fixed_rule(fifth_of_dialogue),
        "which fifth of the dialogue",
        ("multiwoz", "personachat", "text"),
    ),
)


# English function words that say nothing of a person: left out of PersonalInfo.

WORDS = """
a about after again all also always am an and any are as at be because been before being but by can could did do does
doing don down each ever every few for from get go got had has have having he her here hers him his how i if in into is
it its just many me more most much my never no nor not now of off on once one only or other our out over own really same
she should so some such t than that the their them then there these they this those through to too under until up us
very was we were what when where which while who whom why will with would you your
"""
STOPWORDS = frozenset(WORDS.split())


# Words (PersonaChat): a mid-frequency word of the response, and the words of the persona.

MOST_WORDS = 500
BAND = (1000, 3000)  # occurrences in the official training file ...
BAND_UTTERANCES = 131_438  # ... of this many utterances; for another corpus the band is scaled


def tokenize_words(text: str) -> list[str]:
    """Words in lower case.

    >>> tokenize_words("I'm a dog-walker !")
    ['i', "'m", 'a', 'dog', 'walker']
    """
    return re.findall(r"[a-z0-9]+|'[a-z]+", text.lower())


def mid_frequency_words(train: Sequence[Example]) -> list[str]:
    """The words in the middle band of frequency in the training examples, at most 500, the most frequent first.

    An utterance counts in every example that shows it, as target or in the context: so the band has about 500 words in
    PersonaChat, as the papers say, and half of the responses have none. Counted once each, it would have 110.
    """
    dialogues = {example.dialogue.dialogue: example.dialogue for example in train}.values()
    counts: Counter[str] = Counter()
    for dialogue in dialogues:
        for n, turn in enumerate(dialogue.turns):
            appearances = len(dialogue.turns) - max(n, 1)
            counts.update({word: appearances * times for word, times in Counter(tokenize_words(turn.text)).items()})
    utterances = sum(len(dialogue.turns) for dialogue in dialogues)
    low, high = (bound * utterances / BAND_UTTERANCES for bound in BAND)
    band = [(-count, word) for word, count in counts.items() if max(low, 2) <= count <= high]
    return [word for _, word in sorted(band)[:MOST_WORDS]]


def word_of_the_response(train: Sequence[Example]) -> LabelRule:
    """The rule: the first mid-frequency word of the target, or none."""
    chosen = set(mid_frequency_words(train))
    return lambda example: [next((word for word in tokenize_words(example.target.text) if word in chosen), NONE)]


def persona_words(example: Example) -> list[str]:
    """The words of the persona of the one who answers, without stop words, or none."""
    lines = example.dialogue.persona.get(example.target.speaker, ())
    words = dict.fromkeys(word for line in lines for word in tokenize_words(line))
    return or_none(word for word in words if word not in STOPWORDS and not word.startswith("'"))


WORD_TASKS = (
    ProbeTask("WordCont", False, word_of_the_response, "a mid-frequency word of the response", ("personachat", "text")),
    ProbeTask("PersonalInfo", True, fixed_rule(persona_words), "the words of the persona", ("personachat",)),
)


# All tasks, in the papers' order. To add one: a rule in the module of its family, and a row in that module's tasks.

TASKS: tuple[ProbeTask, ...] = (
    *POSITION_TASKS,
    *WORD_TASKS,
    *TOPIC_TASKS,
    *REPEAT_TASKS,
    *INFORMATION_TASKS,
    *ACTION_TASKS,
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
