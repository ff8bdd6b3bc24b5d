"""Pairs for raters: two seeds of one architecture (or two systems) answer the same context; controls and sanity checks.

Real pairs and within-seed controls use the same sampled decoding, so that the two kinds differ in the seed alone.
Which response is `a` is drawn for each pair; pair ids say nothing about what a pair is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from statistics import stdev

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Candidate, Pair, PairKind, Response, Utterance
from seedvote.dialogue.seeds import child_random, child_seed
from seedvote.dialogue.tokens import normalize, tokenize
from seedvote.generation.metrics.overlap import add_counts, bleu2, bleu_counts

NO_SEED = -1
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
            seed = NO_SEED if response.seed is None else response.seed
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


def real_pairs(answers: Answers, examples: Mapping[str, Example], n: int, *, seed: int) -> list[Pair]:
    """`n` pairs over all pairs of seeds of one architecture in turn."""
    seeds = sorted({s for s, draw in answers if draw == 0 and s != NO_SEED})
    sides = [(answers[first, 0], answers[second, 0], f"{first}-{second}") for first, second in combinations(seeds, 2)]
    if not sides:
        raise InputError("No context was answered by two seeds of this architecture. Run sample again for all seeds.")
    return _alternate_sides(sides, examples, n, seed=seed)


def system_pairs(first: Answers, second: Answers, examples: Mapping[str, Example], n: int, *, seed: int) -> list[Pair]:
    """`n` pairs of two systems: under the seeds that both have, else every seed of one with every seed of the other."""
    first_seeds, second_seeds = (sorted({s for s, draw in answers if draw == 0}) for answers in (first, second))
    chosen = [(s, s) for s in first_seeds if s in second_seeds] or list(product(first_seeds, second_seeds))
    return _alternate_sides([(first[s, 0], second[t, 0], f"{s}-{t}") for s, t in chosen], examples, n, seed=seed)


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
        response_a, response_b = candidate(first[example.item]), candidate(second[example.item])
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
        response_a, response_b = (candidate(answers[own, draw][item]) for draw in (0, 1))
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
        pairs.append(make_pair(example, reference(example), candidate(response), "control", name, seed=seed))
    return pairs


def candidate(response: Response) -> Candidate:
    """One side of a pair from a response."""
    return Candidate(response.text, response.model, response.seed, response.checkpoint)


def reference(example: Example) -> Candidate:
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
        context_shown(example),
        a,
        b,
        kind,
        first.text == second.text,
        example.dialogue.dialogue,
        None,
        contrast,
    )


def context_shown(example: Example) -> tuple[Utterance, ...]:
    """The context as a rater sees it."""
    return tuple(Utterance(turn.speaker, turn.text) for turn in example.context)
