"""Pairs and sets of responses for raters, the sanity checks among them, and a page to read all pairs beforehand.

In a set several systems answer the same context at once, or each response stands alone. In every set the systems stand
in one order; in which order raters see them is the server's to balance.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations, cycle, islice, product
from pathlib import Path
from statistics import stdev

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic
from seedvote.dialogue.records import Candidate, Pair, PairKind, Response, ResponseSet, Utterance
from seedvote.dialogue.seeds import child_random, child_seed
from seedvote.dialogue.tokens import detokenize, normalize, telling_words, tokenize
from seedvote.dialogue.validity import shown_key
from seedvote.generation.metrics.overlap import add_counts, bleu2, bleu_counts

# Pairs for raters: two seeds of one architecture (or two systems) answer the same context; controls and sanity checks.
#
# Real pairs and within-seed controls use the same sampled decoding, so that the two kinds differ in the seed alone.
# Which response is `a` is drawn for each pair; pair ids say nothing about what a pair is.

_NO_SEED = -1
Answers = Mapping[tuple[int, int], Mapping[str, Response]]  # (seed, draw) -> item -> response


@dataclass(frozen=True, slots=True)
class SeedBleu:
    """BLEU-2 (0-100) of one architecture under each seed, on the contexts that all seeds answered."""

    model: str
    bleu: Mapping[int, float]

    @property
    def sd(self) -> float:
        """Standard deviation over seeds (n - 1)."""
        return stdev(self.bleu.values())


def seed_bleus(responses: Sequence[Response], references: Mapping[str, Example]) -> list[SeedBleu]:
    """BLEU-2 over seeds of every architecture with two seeds or more, the steadiest first (the papers' rule).

    Greedy responses count where there are some, else those of one decoding.
    """
    rows: dict[str, dict[int, list[dict[str, float]]]] = {}
    decodings = {response.decoding for response in responses}
    decoding = "greedy" if "greedy" in decodings else min(decodings, default="")
    for response in responses:
        if response.decoding != decoding:
            continue
        if response.seed is not None and response.item in references and not response.extra.get("draw", 0):
            counts = bleu_counts(tokenize(response.text), tokenize(references[response.item].target.text))
            rows.setdefault(response.model, {}).setdefault(response.seed, []).append(counts)
    spreads = [
        SeedBleu(model, {seed: bleu2(add_counts(counts), smooth="exp") for seed, counts in sorted(seeds.items())})
        for model, seeds in rows.items()
        if len(seeds) > 1
    ]
    if not spreads:
        raise InputError("Pairs need an architecture with at least two seeds. Train more: --seeds 0-2, then sample.")
    return sorted(spreads, key=lambda spread: (spread.sd, spread.model))


def of_checkpoint(name: str, responses: Sequence[Response]) -> list[Response]:
    """The responses of one checkpoint."""
    matches = [response for response in responses if response.checkpoint == name]
    if not matches:
        legal = ", ".join(sorted({response.checkpoint for response in responses}))
        raise InputError(
            f"responses.jsonl has no responses of checkpoint {name!r}. It has: {legal}. Name one: --checkpoint"
        )
    return matches


def chosen_decoding(name: str, responses: Sequence[Response], model: str) -> str:
    """The decoding whose responses are shown; auto: one with several draws, which is sampled."""
    ours = [r for r in responses if r.model == model]
    legal = sorted({r.decoding for r in ours})
    if name == "auto" and ours:
        return next((r.decoding for r in ours if r.extra.get("draw", 0) > 0), legal[0])
    if name not in legal:
        raise InputError(f"responses.jsonl holds no responses of {model} by {name!r}. It has: {', '.join(legal)}.")
    return name


def answers_of(responses: Sequence[Response], model: str, decoding: str) -> dict[tuple[int, int], dict[str, Response]]:
    """(seed, draw) -> item -> response, for one system and decoding; a system without seeds has the key NO_SEED."""
    answers: dict[tuple[int, int], dict[str, Response]] = {}
    for response in responses:
        if response.model == model and response.decoding == decoding:
            seed = _NO_SEED if response.seed is None else response.seed
            answers.setdefault((seed, response.extra.get("draw", 0)), {})[response.item] = response
    return answers


def choose_contexts(items: Sequence[str], n: int, *, seed: int) -> list[str]:
    """`n` items, stratified by turn: every turn index is taken as often as its share allows, in random order."""
    rng = child_random(seed, "contexts")
    by_turn: dict[int, list[str]] = {}
    for item in items:
        by_turn.setdefault(int(item.rpartition(":")[2]), []).append(item)
    ranked = []
    for turn in sorted(by_turn):
        rng.shuffle(by_turn[turn])
        # The items of each turn get ranks spread evenly over (0, 1): any first n hold every turn in proportion.
        ranked += [((place + rng.random()) / len(by_turn[turn]), item) for place, item in enumerate(by_turn[turn])]
    return [item for _, item in sorted(ranked)[:n]]


def real_pairs(
    answers: Answers, examples: Mapping[str, Example], n: int, *, seed: int, against: Answers | None = None
) -> list[Pair]:
    """`n` pairs over all pairs of seeds of one architecture in turn; `against` is a system that each seed meets too."""
    seeds = sorted({s for s, draw in answers if draw == 0 and s != _NO_SEED})
    sides = [(answers[first, 0], answers[second, 0], f"{first}-{second}") for first, second in combinations(seeds, 2)]
    if against:
        others = sorted(s for s, draw in against if draw == 0)
        sides += [(answers[own, 0], against[other, 0], str(own)) for own in seeds for other in others]
    if not sides:
        raise InputError("No context was answered by two seeds of this architecture. Run sample again for all seeds.")
    return _alternate_sides(sides, examples, n, seed=seed)


def system_pairs(first: Answers, second: Answers, examples: Mapping[str, Example], n: int, *, seed: int) -> list[Pair]:
    """`n` pairs of two systems: under the seeds that both have, else every seed of one with every seed of the other."""
    first_seeds, second_seeds = (sorted({s for s, draw in answers if draw == 0}) for answers in (first, second))
    chosen = [(s, s) for s in first_seeds if s in second_seeds] or list(product(first_seeds, second_seeds))
    return _alternate_sides([(first[s, 0], second[t, 0], f"{s}-{t}") for s, t in chosen], examples, n, seed=seed)


def people_pairs(answers: Answers, examples: Mapping[str, Example], n: int, *, seed: int) -> list[Pair]:
    """`n` pairs of a reply and what people said in its place, every seed in turn: which was written by a person?"""
    people = {
        item: Response(item, "reference", None, "reference", reference_of(example).text)
        for item, example in examples.items()
    }
    seeds = sorted({s for s, draw in answers if draw == 0})
    sides = [(answers[s, 0], people, "people" if s == _NO_SEED else f"{s}-people") for s in seeds]
    return _alternate_sides(sides, examples, n, seed=seed)


def _alternate_sides(
    sides: Sequence[tuple[Mapping[str, Response], Mapping[str, Response], str]],
    examples: Mapping[str, Example],
    n: int,
    *,
    seed: int,
) -> list[Pair]:
    """Pairs over all given sides in turn; a context comes back only when all have been used."""
    shared = [item for item in examples if all(item in first and item in second for first, second, _ in sides)]
    if not shared:
        raise InputError("No context was answered by all the systems to be paired. Run sample again, or import more.")
    contexts = choose_contexts(shared, n, seed=seed)
    pairs = []
    for k in range(min(n, len(contexts) * len(sides))):
        turn, place = divmod(k, len(contexts))
        # Shifted by one in every round: a context that comes back meets another pair of seeds.
        first, second, seeds = sides[(place + turn) % len(sides)]
        example = examples[contexts[place]]
        response_a, response_b = candidate_of(first[example.item]), candidate_of(second[example.item])
        systems = response_a.model if response_a.model == response_b.model else f"{response_a.model}-{response_b.model}"
        pairs.append(make_pair(example, response_a, response_b, "real", f"{systems}:{seeds}", seed=seed))
    return pairs


def within_seed(answers: Answers, examples: Mapping[str, Example], n: int, *, seed: int) -> list[Pair]:
    """Two draws of one seed to one context: what is left of a difference when the seed is the same."""
    seeds = sorted({s for s, draw in answers if draw == 1 and (s, 0) in answers})
    shared = [i for i in examples if seeds and all(i in answers[s, d] for s in seeds for d in (0, 1))]
    pairs = []
    for place, item in enumerate(choose_contexts(shared, n, seed=child_seed(seed, "within-seed"))):
        own = seeds[place % len(seeds)]
        response_a, response_b = (candidate_of(answers[own, draw][item]) for draw in (0, 1))
        pairs.append(make_pair(examples[item], response_a, response_b, "control", "within-seed", seed=seed))
    return pairs


def against_reference(
    answers: Answers, examples: Mapping[str, Example], n: int, *, seed: int, stray: bool
) -> list[Pair]:
    """The reference against a response to the same context, or (`stray`) against one to another dialogue's context."""
    name = "reference-random" if stray else "reference-model"
    seeds = sorted({s for s, draw in answers if draw == 0})
    shared = [item for item in examples if all(item in answers[s, 0] for s in seeds)]
    rng, pairs = child_random(seed, name, "draws"), []
    for place, item in enumerate(choose_contexts(shared, n, seed=child_seed(seed, name))):
        example, by_item = examples[item], answers[seeds[place % len(seeds)], 0]
        strays = [i for i in shared if examples[i].dialogue is not example.dialogue]
        if stray and not strays:
            break
        response = by_item[rng.choice(strays) if stray else item]
        pairs.append(make_pair(example, reference_of(example), candidate_of(response), "control", name, seed=seed))
    return pairs


def candidate_of(response: Response) -> Candidate:
    """One side of a pair from a response."""
    return Candidate(response.text, response.model, response.seed, response.checkpoint, parts=response.parts)


def reference_of(example: Example) -> Candidate:
    """The corpus' own answer, spelt as a model would have."""
    return Candidate(normalize(example.target.text), "reference", None, "reference")


def make_pair(
    example: Example, first: Candidate, second: Candidate, kind: PairKind, contrast: str, *, seed: int
) -> Pair:
    """A pair with its sides drawn by chance."""
    name = f"{child_seed(seed, 'pair', kind, contrast, example.item):016x}"
    a, b = (first, second) if child_random(seed, "sides", name).random() < 0.5 else (second, first)
    return Pair(
        name,
        example.item,
        _context_shown(example),
        a,
        b,
        kind,
        shown_key(first) == shown_key(second),
        example.dialogue.dialogue,
        None,
        contrast,
    )


def _context_shown(example: Example) -> tuple[Utterance, ...]:
    """The context as a rater sees it."""
    return tuple(Utterance(turn.speaker, turn.text) for turn in example.context)


# Sanity checks: pairs whose right answer is obvious to anyone who reads them.
#
# The good side is a reference that takes up words of its context; the bad side is the same reference with its words
# scrambled, or a reference of another dialogue that shares no telling word with this one. They come from the validation
# split (the test split where there is none), so no real pair repeats their contexts. A and B are right equally often.

_SHORTEST_REFERENCE = 6  # tokens of a good side: shorter ones fit anywhere
_CHECK_KINDS = ("scrambled", "off-topic")


def sanity_checks(examples: Sequence[Example], n: int, *, seed: int) -> list[Pair]:
    """At most `n` checks, half of either kind, the right answer alternating between a and b."""
    rng = child_random(seed, "checks")
    pool = [e for e in rng.sample(list(examples), len(examples)) if _is_telling(e)]
    pairs: list[Pair] = []
    used: set[str] = set()
    for example in pool:
        if len(pairs) == n:
            break
        if example.dialogue.dialogue in used:
            continue
        # The kind changes with every second pair and the right side with every pair, so each kind has both equally
        # often.
        kind = _CHECK_KINDS[(len(pairs) // 2) % 2]
        bad = _scramble_reference(example, rng) if kind == "scrambled" else _choose_off_topic(example, pool, rng)
        if bad is not None:
            used.add(example.dialogue.dialogue)
            pairs.append(_make_check(example, bad, kind, right="ab"[len(pairs) % 2], seed=seed))
    return pairs


def _make_check(example: Example, bad: Candidate, kind: str, *, right: str, seed: int) -> Pair:
    name = f"{child_seed(seed, 'pair', 'check', kind, example.item):016x}"
    good = reference_of(example)
    pair = Pair(
        name, example.item, _context_shown(example), good, bad, "check", False, example.dialogue.dialogue, "a", kind
    )
    return pair if right == "a" else replace(pair, a=bad, b=good, answer="b")


def _context_words(example: Example) -> set[str]:
    return set().union(*(telling_words(turn.text) for turn in example.context))


def _is_telling(example: Example) -> bool:
    text = example.target.text
    return len(tokenize(text)) >= _SHORTEST_REFERENCE and bool(
        telling_words(text) & telling_words(example.context[-1].text)
    )


def _scramble_reference(example: Example, rng: random.Random) -> Candidate | None:
    """The reference in an order in which no two neighbours stay neighbours."""
    words = tokenize(example.target.text)
    neighbours = set(itertools.pairwise(words))
    for _ in range(50):
        order = rng.sample(words, len(words))
        if not neighbours & set(itertools.pairwise(order)):
            return Candidate(detokenize(order), "scrambled", None, "reference")
    return None


def _choose_off_topic(example: Example, pool: Sequence[Example], rng: random.Random) -> Candidate | None:
    """A reference of another dialogue that shares no telling word with this context or its reference."""
    near = _context_words(example) | telling_words(example.target.text)
    for candidate in _draw_elsewhere(example, pool, rng):
        if telling_words(candidate.target.text) and not telling_words(candidate.target.text) & near:
            return Candidate(reference_of(candidate).text, "off-topic", None, "reference")
    return None


def _draw_elsewhere(example: Example, pool: Sequence[Example], rng: random.Random) -> Iterator[Example]:
    for candidate in rng.sample(list(pool), min(len(pool), 200)):
        if candidate.dialogue is not example.dialogue:
            yield candidate


# A page to read pairs before anyone is asked about them: contexts, both responses, and what is known of each.
#
# One file without scripts or links; texts of models are escaped, so none of them can act as markup.

_PREVIEW_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222;
  overflow-wrap: anywhere; }
article { border: 1px solid #bbb; border-radius: 6px; padding: 1rem; margin: 1rem 0; }
header, footer, .who { color: #595959; font-size: .875rem; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(16rem, 100%), 1fr)); gap: 1rem;
  margin-top: 1rem; }
.side { background: #f3f3f3; padding: .5rem 1rem; white-space: pre-wrap; }
"""


def write_page(path: Path, pairs: Sequence[Pair], recipe: str) -> None:
    """Write the page."""
    with atomic(path) as handle:
        handle.write(preview_page(pairs, recipe))


def preview_page(pairs: Sequence[Pair], recipe: str) -> str:
    """One self-contained HTML page; every text is shown as it is, never read as markup."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Pairs</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_PREVIEW_STYLE}</style>'
        f"<h1>{len(pairs)} pairs</h1>{''.join(map(_pair_article, pairs))}<footer>{escape(recipe)}</footer></html>\n"
    )


def _pair_article(pair: Pair) -> str:
    lines = "".join(f"<div><b>{escape(line.speaker)}</b> {escape(line.text)}</div>" for line in pair.context)
    note = " · identical responses" if pair.identical else ""
    return (
        f"<article><header>{escape(f'{pair.kind} · {pair.contrast} · {pair.item}')}{note}</header>{lines}"
        f'<div class="sides">{_side_html("A", pair.a, pair)}{_side_html("B", pair.b, pair)}</div></article>'
    )


def _side_html(letter: str, side: Candidate, pair: Pair) -> str:
    who = side.model if side.seed is None else f"{side.model}, seed {side.seed}, {side.checkpoint}"
    verdict = ", correct" if pair.answer == letter.lower() else ""
    return f'<div class="side">{escape(side.text)}<div class="who">{letter}: {escape(who)}{verdict}</div></div>'


Systems = Mapping[str, Mapping[str, Response]]  # `model-seed` -> item -> its response


def systems_of(answers: Mapping[str, Answers]) -> dict[str, Mapping[str, Response]]:
    """Every model under each of its seeds, one draw each."""
    return {
        name if seed == _NO_SEED else f"{name}-{seed}": items
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
            _make_set(examples[item], [candidate_of(systems[n][item]) for n in names], "real", seed=seed)
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


def _make_set(
    example: Example, responses: Sequence[Candidate], kind: PairKind, *, seed: int, answer: str | None = None
) -> ResponseSet:
    """A set of these responses; its id says nothing about what it is."""
    who = [f"{response.model}-{response.seed}" for response in responses]
    return ResponseSet(
        set=f"{child_seed(seed, 'set', kind, example.item, *who):016x}",
        item=example.item,
        context=_context_shown(example),
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
