"""What verdicts show of a judge before any person is asked: its habits with order, place, length, itself and ties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from analysis.stats.intervals import Interval, mean_interval
from analysis.votes.systems import key_of, system_names
from analysis.votes.verdicts import Bench
from dialogue.records import Pair, Verdict

Floats = NDArray[np.float64]
MOST_STEPS = 50
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


def habits_of(bench: Bench) -> JudgeHabits:
    """All of one judge's; checks count for `checks_failed` alone."""
    every = list(bench.every)
    real = [(pair, one) for pair, one in every if pair.kind != "check"]
    usable = [(pair, one) for pair, one in real if one.choice != "unusable"]
    decisive = [(pair, one) for pair, one in usable if one.choice != "tie" and not pair.identical]
    unequal = [(pair, one) for pair, one in decisive if _length(pair.a.text) != _length(pair.b.text)]
    own_names = _relatives(bench)
    related = [(pair, one) for pair, one in decisive if (pair.a.model in own_names) != (pair.b.model in own_names)]
    return JudgeHabits(
        pairs=len({pair.pair for pair, _ in real}),
        verdicts=len(real),
        orders=bench.orders,
        ties=_share([(pair, one.choice == "tie") for pair, one in usable if not pair.identical]),
        unusable=_share([(pair, one.choice == "unusable") for pair, one in real]),
        same_in_both_orders=_share(list(_orders(bench))),
        first_place=_share([(pair, one.choice == one.order[0]) for pair, one in decisive]),
        longer=_share([(pair, one.choice == _longer(pair)) for pair, one in unequal]),
        length=_length_taste(unequal),
        own=_share([(p, (p.a if one.choice == "a" else p.b).model in own_names) for p, one in related])
        if related
        else None,
        own_names=own_names,
        identical_tied=_share([(pair, one.choice == "tie") for pair, one in usable if pair.identical]),
        draws_agree=_share(list(_draws(bench))),
        circles=_share(list(_circles(bench))),
        checks_failed=_share(list(_checks(bench))),
        constant=_constant([verdict for _, verdict in usable], bench.orders),
    )


def judges_agree(benches: list[Bench]) -> list[tuple[str, str, Share]]:
    """How often each two judges rule alike on the same pair."""
    found = []
    for one, other in combinations(benches, 2):
        rows = [
            (one.pairs[name], one.ruling(name) == other.ruling(name))
            for name in one.verdicts
            if one.pairs[name].kind != "check" and other.ruling(name) is not None and one.ruling(name) is not None
        ]
        found.append((judge_title(one, benches), judge_title(other, benches), _share(rows)))  # fmt: skip
    return found


def judge_title(bench: Bench, benches: list[Bench]) -> str:
    """Its name, with the prompt where one name has several.

    A prompt is named by the beginning of its hash.
    """
    several = sum(other.judge == bench.judge for other in benches) > 1
    return f"{bench.judge} (prompt {bench.prompt[:8] or 'unknown'})" if several else bench.judge


def _share(rows: list[tuple[Pair, bool]]) -> Share:
    """The share of true rows, by dialogue (or by pair where none is named)."""
    values = np.array([value for _, value in rows], dtype=float)
    codes = np.unique([pair.dialogue or pair.pair for pair, _ in rows], return_inverse=True)[1] if rows else values
    several = len(rows) > 1 and len(np.unique(codes)) > 1
    found = mean_interval(values, by={"dialogue": codes.astype(np.int64)}, share=True) if several else None
    return Share(int(values.sum()), len(rows), found)


def _orders(bench: Bench) -> Iterator[tuple[Pair, bool]]:
    """Pairs with verdicts in both orders, and whether all of them are the same."""
    for name, some in bench.verdicts.items():
        usable = [one for one in some if one.choice != "unusable"]
        if {one.order for one in usable} == {"ab", "ba"} and bench.pairs[name].kind != "check":
            yield bench.pairs[name], len({one.choice for one in usable}) == 1


def _constant(verdicts: list[Verdict], orders: str) -> str:
    """What it always says; in one order, a place cannot be distinguished from a system."""
    places = {"tie" if one.choice == "tie" else "first" if one.choice == one.order[0] else "second" for one in verdicts}
    word = places.pop() if len(places) == 1 and len(verdicts) > 1 else ""
    return word if word == "tie" or orders not in ("ab", "ba") else ""


def _draws(bench: Bench) -> Iterator[tuple[Pair, bool]]:
    for name, some in bench.verdicts.items():
        for one, other in combinations([one for one in some if one.choice != "unusable"], 2):
            if one.order == other.order and bench.pairs[name].kind != "check":
                yield bench.pairs[name], one.choice == other.choice


def _checks(bench: Bench) -> Iterator[tuple[Pair, bool]]:
    """The gate's rule for raters: a check is failed by any other choice than its answer."""
    for name in bench.verdicts:
        pair = bench.pairs[name]
        if pair.kind == "check" and pair.answer is not None:
            ruling = bench.ruling(name)
            yield pair, ruling is None or ("a", "b", "tie")[ruling] != pair.answer


def _length(text: str) -> int:
    return len(text.split())


def _longer(pair: Pair) -> str:
    return "a" if _length(pair.a.text) > _length(pair.b.text) else "b"


def _relatives(bench: Bench) -> tuple[str, ...]:
    """The contestants whose name, or a part of it, is the judge's: gpt-4 and gpt-3.5-turbo are of one family."""
    mine = _family(bench.judge)
    models = {side.model for pair in bench.pairs.values() if pair.kind == "real" for side in (pair.a, pair.b)}
    return tuple(sorted(name for name in models if name == bench.judge or (mine and _family(name) == mine)))


def _family(name: str) -> str:
    """The first word of a name, where it is one: `Llama-3-8B` and `meta/llama-2` are llamas.

    >>> _family("meta/Llama-3-8B"), _family("gpt-4"), _family("s2s-0")
    ('llama', 'gpt', '')
    """
    word = "".join(sign if sign.isalpha() else " " for sign in name.rsplit("/", 1)[-1].casefold()).split()
    return word[0] if word and (len(word[0]) >= FAMILY or word[0] == "gpt") else ""


def _circles(bench: Bench) -> Iterator[tuple[Pair, bool]]:
    """Three systems on one item, each two of them ruled on decisively: whether the rulings run in a circle."""
    names = system_names(bench.pairs.values())
    met: dict[str, dict[tuple[str, str], int]] = {}
    shown: dict[str, Pair] = {}
    for name in bench.verdicts:
        pair, ruling = bench.pairs[name], bench.ruling(name)
        if pair.kind == "real" and ruling in (0, 1) and key_of(pair.a) != key_of(pair.b):
            one, other = names[key_of(pair.a)], names[key_of(pair.b)]
            met.setdefault(pair.item, {})[(one, other) if one < other else (other, one)] = ruling ^ (one > other)
            shown[pair.item] = pair
    for item, wins in met.items():
        for one, two, three in combinations(sorted({name for key in wins for name in key}), 3):
            if {(one, two), (two, three), (one, three)} <= set(wins):
                yield shown[item], wins[one, two] == wins[two, three] != wins[one, three]


def _length_taste(rows: list[tuple[Pair, Verdict]]) -> LengthTaste | None:
    """Logistic regression of the verdict for a on the log of the ratio of lengths, with errors by dialogue."""
    kept = [(pair, one) for pair, one in rows if pair.a.text.split() and pair.b.text.split()]
    x = np.array([np.log2(_length(pair.a.text) / _length(pair.b.text)) for pair, _ in kept])
    y = np.array([one.choice == "a" for _, one in kept], dtype=float)
    codes = np.unique([pair.dialogue or pair.pair for pair, _ in kept], return_inverse=True)[1] if kept else x
    if len(kept) < 20 or np.ptp(y) == 0 or np.ptp(x) == 0 or len(np.unique(codes)) < 5:
        return None
    return _fitted(np.column_stack([np.ones(len(x)), x]), y, codes.astype(np.int64))


def _fitted(x: Floats, y: Floats, codes: NDArray[np.int64]) -> LengthTaste | None:
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
    low, middle, high = (float(np.exp(beta[1] + way * 1.96 * se)) for way in (-1, 0, 1))
    return LengthTaste(middle, low, high)
