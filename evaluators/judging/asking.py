"""Asks a judge about pairs: which calls there are, what they may cost, and the verdicts that come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from seedvote.dialogue.engines.chat import Budget, Call, Endpoint, Reply, ask_all
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Order, Pair, Ruling, Verdict
from seedvote.dialogue.seeds import child_seed
from seedvote.evaluators.judging.prompting import Prompt
from seedvote.evaluators.judging.replies import Said, said_by, shares_of_tokens

KEPT = 2000  # characters of a reply
CUT_IN_A_ROW = 3  # replies without a verdict that ended at the most tokens, before the run is ended
TOP = 10  # tokens whose probabilities are asked for
LETTERS_A_TOKEN = 3.5  # of English prompts, to estimate what a run costs


@dataclass(frozen=True, slots=True)
class JudgeCall:
    """One call: a pair in one order."""

    pair: Pair
    order: Order
    draw: int
    text: str


@dataclass(frozen=True, slots=True)
class Manner:
    """How replies are drawn."""

    temperature: float = 0.0
    longest: int = 16
    logprobs: bool = False
    seed: int = 0

    def call(self, question: JudgeCall, again: int = 0) -> Call:
        """The call that asks it; `again` counts how often it was asked before."""
        seed = child_seed(self.seed, "judge", question.pair.pair, question.order, question.draw, again) % 2**31
        options: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.longest, "seed": seed}
        if self.logprobs:
            options |= {"logprobs": True, "top_logprobs": TOP}
        return Call([{"role": "user", "content": question.text}], options)


@dataclass(frozen=True, slots=True)
class Ruled:
    """What came of it: the verdicts, what is not asked yet for want of money, and what was charged."""

    verdicts: tuple[Verdict, ...]
    unasked: int
    asked_again: int
    spent: float
    lost: int = 0  # tries whose answer never arrived; they may have been charged, and count in `spent` at their bound
    refused_options: tuple[str, ...] = ()


def questions_on(
    pairs: Sequence[Pair], prompt: Prompt, *, orders: Literal["both", "one"] = "both", draws: int = 1, seed: int = 0
) -> list[JudgeCall]:
    """Every call, in the order of the pairs; with one order it is drawn for each pair."""
    calls = []
    for pair in pairs:
        orders_asked: tuple[Order, ...] = ("ab", "ba")
        if orders == "one":
            orders_asked = (orders_asked[child_seed(seed, "order", pair.pair) % 2],)
        for order in orders_asked:
            calls += [JudgeCall(pair, order, draw, prompt.ask(pair, order, seed, draw)) for draw in range(draws)]
    return calls


def tokens_of(questions: Sequence[JudgeCall], longest: int) -> tuple[int, int]:
    """An estimate of the tokens in, from the letters, and a bound of those out."""
    return round(sum(len(question.text) for question in questions) / LETTERS_A_TOKEN), len(questions) * longest


def verdicts_of(
    questions: Sequence[JudgeCall],
    endpoint: Endpoint,
    name: str,
    prompt: Prompt,
    manner: Manner,
    journal: Path,
    tell: Callable[[], object],
    budget: Budget | None = None,
) -> Ruled:
    """Ask everything, and once more what could not be read; a run that was broken off goes on where it ended."""
    calls = [manner.call(question) for question in questions]
    first = ask_all(endpoint, calls, journal, tell, budget=budget, check=_Cuts(manner.longest).count)
    blurred = [n for n, reply in enumerate(first.replies) if reply is not None and _is_worth_asking_again(reply)]
    again = ask_all(
        endpoint, [manner.call(questions[n], again=1) for n in blurred], journal, lambda: None, budget=budget
    )
    second = dict(zip(blurred, again.replies, strict=True))
    verdicts = [
        verdict_of(question, reply, second.get(n), name, prompt)
        for n, (question, reply) in enumerate(zip(questions, first.replies, strict=True))
        if reply is not None
    ]
    return Ruled(
        tuple(verdicts),
        first.unasked,
        len(blurred) - again.unasked,
        max(first.spent, again.spent),
        max(first.lost, again.lost),
        first.refused_options,
    )


def _is_worth_asking_again(reply: Reply) -> bool:
    """A reply that ended at the most tokens would end there again."""
    return said_by(reply.spoken) == "unusable" and not reply.was_cut


class _Cuts:
    """Ends a run whose replies end before a verdict: each is paid for, and the next would be no better."""

    def __init__(self, longest: int) -> None:
        self.longest, self.in_a_row = longest, 0

    def count(self, reply: Reply) -> None:
        """Take note of a new reply."""
        self.in_a_row = self.in_a_row + 1 if reply.was_cut and said_by(reply.spoken) == "unusable" else 0
        if self.in_a_row >= CUT_IN_A_ROW:
            why = "The model thinks before it answers" if reply.thought else "Its replies are longer than that"
            raise InputError(
                f"{CUT_IN_A_ROW} replies in a row ended at --max-tokens {self.longest} before a verdict. {why}: "
                f"give it more, e.g. --max-tokens {max(64 * self.longest, 1024)}. Replies so far are kept."
            )


def verdict_of(question: JudgeCall, reply: Reply, second: Reply | None, name: str, prompt: Prompt) -> Verdict:
    """The verdict of a reply, or of the second one where the first could not be read; both are charged."""
    used = reply if second is None else second
    charged = [part for part in (reply, second) if part is not None]
    statement = said_by(used.spoken)
    is_answer_alone = used.spoken == used.text  # with thoughts before it, the first token is no answer
    shares = shares_of_tokens(used.logprobs) if used.logprobs and is_answer_alone and statement != "unusable" else None
    return Verdict(
        question.pair.pair,
        name,
        question.order,
        ruling_on(statement, question.order),
        prompt.hash,
        question.draw,
        None if shares is None else probabilities(shares, question.order),
        (used.spoken or used.text)[:KEPT],
        _sum([part.tokens_in for part in charged]),
        _sum([part.tokens_out for part in charged]),
        used.seconds,
    )


def ruling_on(statement: Said, order: Order) -> Ruling:
    """What was said of the first and second, about a and b.

    >>> ruling_on("first", "ba"), ruling_on("second", "ba"), ruling_on("tie", "ba")
    ('b', 'a', 'tie')
    """
    if statement in ("tie", "unusable"):
        return statement
    return "a" if (statement == "first") == (order == "ab") else "b"


def probabilities(shares: tuple[float, float, float], order: Order) -> dict[str, float]:
    """The shares of first, second and tie, about a and b."""
    first, second, tie = shares
    return {"a": first, "b": second, "tie": tie} if order == "ab" else {"a": second, "b": first, "tie": tie}


def _sum(counts: Sequence[int | None]) -> int | None:
    return None if any(number is None for number in counts) else sum(number or 0 for number in counts)
