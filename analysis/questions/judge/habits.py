"""What verdicts show of a judge before any person is asked: its habits with order, place, length, itself and ties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.stats.intervals import Interval, mean_interval
from seedvote.analysis.votes.systems import key_of, system_names
from seedvote.analysis.votes.verdicts import Bench
from seedvote.dialogue.records import Pair, Verdict

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = list[tuple[Pair, Verdict]]
MOST_STEPS = 50
LEAST_VERDICTS = 20  # of a fit of the taste for length
FAMILY = 4  # letters; shorter parts of a name (v2, 7b) say nothing of who made it


@dataclass(frozen=True, slots=True)
class Share:
    """A share of things that were counted; its interval allows for dialogues, None for fewer than two."""

    part: int
    whole: int
    interval: Interval | None

    @property
    def value(self) -> float | None:
        """The share itself."""
        return self.part / self.whole if self.whole else None


@dataclass(frozen=True, slots=True)
class LengthTaste:
    """How many times as often a response is chosen if it is twice as long; None where it cannot be fitted."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class JudgeHabits:
    """One judge's habits."""

    pairs: int
    verdicts: int
    orders: str
    ties: Share
    unusable: Share
    same_in_both_orders: Share  # of pairs with usable verdicts in both orders
    first_place: Share  # of decisive verdicts
    longer: Share  # of decisive verdicts on responses of unequal length
    length: LengthTaste | None
    own: Share | None  # of decisive verdicts where one contestant is of the judge's family; None where none is
    own_names: tuple[str, ...]
    identical_tied: Share  # of verdicts on identical texts
    draws_agree: Share  # of pairs of draws in one order
    circles: Share  # of three systems that were all compared on one item
    checks_failed: Share
    constant: str  # `first`, `second` or `tie` where it says nothing else, however often and in both orders it is asked


def measure_habits(bench: Bench) -> JudgeHabits:
    """All of one judge's; checks count for `checks_failed` alone."""
    real = [(pair, verdict) for pair, verdict in bench.every if pair.kind != "check"]
    usable = [(pair, verdict) for pair, verdict in real if verdict.choice != "unusable"]
    decisive = [(pair, verdict) for pair, verdict in usable if verdict.choice != "tie" and not pair.identical]
    unequal = [(pair, verdict) for pair, verdict in decisive if _count_words(pair.a.text) != _count_words(pair.b.text)]
    own_names = _find_relatives(bench)
    related = [row for row in decisive if (row[0].a.model in own_names) != (row[0].b.model in own_names)]
    return JudgeHabits(
        pairs=len({pair.pair for pair, _ in real}),
        verdicts=len(real),
        orders=bench.orders,
        ties=_count_share([(pair, verdict.choice == "tie") for pair, verdict in usable if not pair.identical]),
        unusable=_count_share([(pair, verdict.choice == "unusable") for pair, verdict in real]),
        same_in_both_orders=_count_share(_compare_orders(bench)),
        first_place=_count_share([(pair, verdict.choice == verdict.order[0]) for pair, verdict in decisive]),
        longer=_count_share([(pair, verdict.choice == _pick_longer(pair)) for pair, verdict in unequal]),
        length=_measure_length_taste(unequal),
        own=_count_share([(pair, _chosen_model(pair, verdict) in own_names) for pair, verdict in related])
        if related
        else None,
        own_names=own_names,
        identical_tied=_count_share([(pair, verdict.choice == "tie") for pair, verdict in usable if pair.identical]),
        draws_agree=_count_share(_compare_draws(bench)),
        circles=_count_share(_find_circles(bench)),
        checks_failed=_count_share(_grade_checks(bench)),
        constant=_find_constant([verdict for _, verdict in usable], bench.orders),
    )


def compare_judges(benches: Sequence[Bench]) -> Iterator[tuple[str, str, Share]]:
    """How often each two judges rule the same on one pair."""
    for first, second in combinations(benches, 2):
        rows = [
            (first.pairs[name], first.ruling(name) == second.ruling(name))
            for name in first.verdicts
            if first.pairs[name].kind != "check" and second.ruling(name) is not None and first.ruling(name) is not None
        ]
        yield name_judge(first, benches), name_judge(second, benches), _count_share(rows)


def name_judge(bench: Bench, benches: Sequence[Bench]) -> str:
    """Its name, with the beginning of the prompt's hash where one name has several prompts."""
    has_namesakes = sum(namesake.judge == bench.judge for namesake in benches) > 1
    return f"{bench.judge} (prompt {bench.prompt[:8] or 'unknown'})" if has_namesakes else bench.judge


def _count_share(rows: Iterable[tuple[Pair, bool]]) -> Share:
    """The share of true rows, by dialogue (or by pair where none is named)."""
    pairs = list(rows)
    values = np.array([value for _, value in pairs], dtype=float)
    if not pairs:
        return Share(0, 0, None)
    codes = _dialogue_codes(pair for pair, _ in pairs)
    interval = mean_interval(values, by={"dialogue": codes}, share=True) if codes.max() > 0 else None
    return Share(int(values.sum()), len(pairs), interval)


def _dialogue_codes(pairs: Iterable[Pair]) -> Ints:
    names = [pair.dialogue or pair.pair for pair in pairs]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def _usable_verdicts(bench: Bench) -> Iterator[tuple[Pair, list[Verdict]]]:
    """The usable verdicts of every pair that is no check."""
    for name, verdicts in bench.verdicts.items():
        if bench.pairs[name].kind != "check":
            yield bench.pairs[name], [verdict for verdict in verdicts if verdict.choice != "unusable"]


def _compare_orders(bench: Bench) -> Iterator[tuple[Pair, bool]]:
    """Pairs with verdicts in both orders, and whether all of them are the same."""
    for pair, verdicts in _usable_verdicts(bench):
        if {verdict.order for verdict in verdicts} == {"ab", "ba"}:
            yield pair, len({verdict.choice for verdict in verdicts}) == 1


def _find_constant(verdicts: Sequence[Verdict], orders: str) -> str:
    """What it always says; in one order, a place cannot be distinguished from a system."""
    places = {
        "tie" if verdict.choice == "tie" else "first" if verdict.choice == verdict.order[0] else "second"
        for verdict in verdicts
    }
    word = places.pop() if len(places) == 1 and len(verdicts) > 1 else ""
    return word if word == "tie" or orders not in ("ab", "ba") else ""


def _compare_draws(bench: Bench) -> Iterator[tuple[Pair, bool]]:
    for pair, verdicts in _usable_verdicts(bench):
        for first, second in combinations(verdicts, 2):
            if first.order == second.order:
                yield pair, first.choice == second.choice


def _grade_checks(bench: Bench) -> Iterator[tuple[Pair, bool]]:
    """The gate's rule for raters: a check is failed by any other choice than its answer."""
    for name in bench.verdicts:
        pair = bench.pairs[name]
        if pair.kind == "check" and pair.answer is not None:
            ruling = bench.ruling(name)
            yield pair, ruling is None or ("a", "b", "tie")[ruling] != pair.answer


def _chosen_model(pair: Pair, verdict: Verdict) -> str:
    return (pair.a if verdict.choice == "a" else pair.b).model


def _count_words(text: str) -> int:
    return len(text.split())


def _pick_longer(pair: Pair) -> str:
    return "a" if _count_words(pair.a.text) > _count_words(pair.b.text) else "b"


def _find_relatives(bench: Bench) -> tuple[str, ...]:
    """The contestants whose name, or a part of it, is the judge's: gpt-4 and gpt-3.5-turbo are of one family."""
    family = _name_family(bench.judge)
    models = {side.model for pair in bench.pairs.values() if pair.kind == "real" for side in (pair.a, pair.b)}
    return tuple(sorted(name for name in models if name == bench.judge or (family and _name_family(name) == family)))


def _name_family(name: str) -> str:
    """The first word of a name, where it is one: `Llama-3-8B` and `meta/llama-2` are llamas.

    >>> _name_family("meta/Llama-3-8B"), _name_family("gpt-4"), _name_family("s2s-0")
    ('llama', 'gpt', '')
    """
    word = "".join(sign if sign.isalpha() else " " for sign in name.rsplit("/", 1)[-1].casefold()).split()
    return word[0] if word and (len(word[0]) >= FAMILY or word[0] == "gpt") else ""


def _find_circles(bench: Bench) -> Iterator[tuple[Pair, bool]]:
    """Three systems on one item, each two of them ruled on decisively: whether the rulings run in a circle."""
    names = system_names(bench.pairs.values())
    rulings: dict[str, dict[tuple[str, str], int]] = {}
    pairs: dict[str, Pair] = {}
    for name in bench.verdicts:
        pair, ruling = bench.pairs[name], bench.ruling(name)
        if pair.kind == "real" and ruling in (0, 1) and key_of(pair.a) != key_of(pair.b):
            first, second = names[key_of(pair.a)], names[key_of(pair.b)]
            key = (first, second) if first < second else (second, first)
            rulings.setdefault(pair.item, {})[key] = ruling ^ (first > second)
            pairs[pair.item] = pair
    for item, wins in rulings.items():
        for first, second, third in combinations(sorted({name for key in wins for name in key}), 3):
            if {(first, second), (second, third), (first, third)} <= set(wins):
                yield pairs[item], wins[first, second] == wins[second, third] != wins[first, third]


def _measure_length_taste(rows: Rows) -> LengthTaste | None:
    """Logistic regression of the verdict for a on the log of the ratio of lengths, with errors by dialogue."""
    rows = [(pair, verdict) for pair, verdict in rows if pair.a.text.split() and pair.b.text.split()]
    if len(rows) < LEAST_VERDICTS:
        return None
    x = np.array([np.log2(_count_words(pair.a.text) / _count_words(pair.b.text)) for pair, _ in rows])
    y = np.array([verdict.choice == "a" for _, verdict in rows], dtype=float)
    codes = _dialogue_codes(pair for pair, _ in rows)
    if np.ptp(y) == 0 or np.ptp(x) == 0 or codes.max() < 4:
        return None
    return _fit_length_taste(np.column_stack([np.ones(len(x)), x]), y, codes)


def _fit_length_taste(x: Floats, y: Floats, codes: Ints) -> LengthTaste | None:
    beta = np.zeros(2)
    for _ in range(MOST_STEPS):
        p = 1 / (1 + np.exp(-x @ beta))
        curve = x.T @ (x * (p * (1 - p))[:, None])
        if np.linalg.cond(curve) > 1e10:
            return None  # lengths separate the verdicts: there is no finite ratio
        step = np.linalg.solve(curve, x.T @ (y - p))
        beta = beta + step
        if np.abs(step).max() < 1e-9:
            break
    else:
        return None
    parts = np.stack([np.bincount(codes, weights=column * (y - p)) for column in x.T])
    inverse = np.linalg.inv(curve)
    se = float(np.sqrt((inverse @ (parts @ parts.T) @ inverse)[1, 1]))
    low, middle, high = (float(np.exp(beta[1] + sign * 1.96 * se)) for sign in (-1, 0, 1))
    return LengthTaste(middle, low, high)
