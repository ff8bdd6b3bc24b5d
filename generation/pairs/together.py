"""Sets of responses for raters: several systems answer the same context at once, or each response stands alone.

In every set the systems stand in one order; in which order raters see them is the server's to balance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, cycle, islice

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Candidate, Pair, PairKind, Response, ResponseSet
from seedvote.dialogue.seeds import child_random, child_seed
from seedvote.dialogue.validity import shown_key
from seedvote.generation.pairs.pairing import NO_SEED, Answers, candidate_of, choose_contexts, context_shown

Systems = Mapping[str, Mapping[str, Response]]  # `model-seed` -> item -> its response


def systems_of(answers: Mapping[str, Answers]) -> dict[str, Mapping[str, Response]]:
    """Every model under each of its seeds, one draw each."""
    return {
        name if seed == NO_SEED else f"{name}-{seed}": items
        for name, of_model in answers.items()
        for (seed, draw), items in sorted(of_model.items())
        if draw == 0
    }


def response_sets(
    systems: Systems, examples: Mapping[str, Example], contexts: int, size: int, *, seed: int, distinct: bool = False
) -> list[ResponseSet]:
    """Sets of `size` systems to so many contexts.

    All systems at once where they are as many; each alone where `size` is 1; else every combination in turn, one a
    context. With `distinct`, contexts are left out to which two of the set said the same.
    """
    shared = [item for item in examples if all(item in answers for answers in systems.values())]
    if not shared:
        raise InputError("No context was answered by all these systems. Run sample again, or name fewer: --models.")
    groups = [(name,) for name in systems] if size == 1 else list(combinations(systems, size))
    turns = cycle(child_random(seed, "groups").sample(groups, len(groups)))
    sets: list[ResponseSet] = []
    used = 0
    for item in choose_contexts(shared, len(shared), seed=seed):
        if used == contexts:
            break
        now = groups if size == 1 else [next(turns)]
        new_sets = [
            make_set(examples[item], [candidate_of(systems[n][item]) for n in names], "real", seed=seed)
            for names in now
        ]
        if distinct and any(
            len({r.text for r in response_set.responses}) < len(response_set.responses) for response_set in new_sets
        ):
            continue
        sets, used = sets + new_sets, used + 1
    if not sets:
        raise InputError("In every context two systems said the same. Leave out --distinct, and let ranks be equal.")
    return sets


def make_set(
    example: Example, responses: Sequence[Candidate], kind: PairKind, *, seed: int, answer: str | None = None
) -> ResponseSet:
    """A set of these responses; its id says nothing about what it is."""
    who = [f"{response.model}-{response.seed}" for response in responses]
    return ResponseSet(
        set=f"{child_seed(seed, 'set', kind, example.item, *who):016x}",
        item=example.item,
        context=context_shown(example),
        responses=responses,
        kind=kind,
        identical=len({shown_key(response) for response in responses}) == 1 < len(responses),
        dialogue=example.dialogue.dialogue,
        answer=answer,
    )


def sets_of_checks(checks: Sequence[Pair], size: int, *, seed: int) -> list[ResponseSet]:
    """Sanity checks of pairs as checks of sets: the good response and bad ones, of which it must be above all.

    One that stands alone must be rated in its half of the scale, high and low in turn. The further bad ones are good
    responses of other checks, which answer other dialogues.
    """
    sets = []
    for number, pair in enumerate(checks):
        good, bad = (pair.a, pair.b) if pair.answer == "a" else (pair.b, pair.a)
        if size == 1:
            responses, answer = ([bad], "low:0") if number % 2 else ([good], "high:0")
        else:
            strays = [
                (other_check.a if other_check.answer == "a" else other_check.b).text
                for other_check in _rotate_checks(checks, number)
            ]
            further_texts = list(
                islice((text for text in dict.fromkeys(strays) if text not in (good.text, bad.text)), size - 2)
            )
            if len(further_texts) < size - 2:
                raise InputError(
                    f"{len(checks)} checks are too few for sets of {size}: their bad responses are others'"
                    f" good ones. Ask for {size} or more: --checks."
                )
            responses = [bad, *(Candidate(text, "off-topic", None, "reference") for text in further_texts)]
            place = child_random(seed, "place", pair.pair).randrange(size)
            responses, answer = [*responses[:place], good, *responses[place:]], f"best:{place}"
        same = len({other_check.text for other_check in responses}) == 1 < len(responses)
        name = f"{child_seed(seed, 'set', 'check', pair.pair):016x}"
        sets.append(ResponseSet(name, pair.item, pair.context, responses, "check", same, pair.dialogue, answer))
    return sets


def _rotate_checks(checks: Sequence[Pair], number: int) -> list[Pair]:
    """The other checks, beginning after this one: of other dialogues, since each dialogue makes one."""
    return [*checks[number + 1 :], *checks[:number]]
