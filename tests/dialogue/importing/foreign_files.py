"""Files of votes as people invent them: names of systems, codes of answers and columns of order, combined at random.

In each of them alpha beats beta 80 to 20. The sides are drawn with a bias, so that whoever takes a letter, a code or a
column of order for something else gets another number, and often the loser.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

OTHER = {"alpha": "beta", "beta": "alpha", "a": "b", "b": "a", "left": "right", "right": "left"}


@dataclass(frozen=True)
class Vote:
    """One judgement: who won, which system response a is, and which response stood on the left."""

    n: int
    won: str
    a: str
    left: str
    strength: int

    @property
    def letter(self):
        return "a" if self.won == self.a else "b"

    @property
    def place(self):
        return "left" if self.letter == self.left else "right"

    @property
    def on_left(self):
        return self.a if self.left == "a" else OTHER[self.a]


def first_or_second(word, two):
    """`two[0]` for a or left, `two[1]` for b or right."""
    return two[word in ("b", "right")]


def by_letter(*two):
    return lambda v: first_or_second(v.letter, two)


def by_place(*two):
    return lambda v: first_or_second(v.place, two)


def scale(low, high, a_is_low):
    """Strength on a scale, from either end; nobody is undecided."""

    def cell(v):
        steps = (high - low) // 2
        toward_low = (v.letter == "a") == a_is_low
        return low + v.strength % steps if toward_low else high - v.strength % steps

    return cell


def systems_in(*columns):
    return lambda v: dict(zip(columns, (v.a, OTHER[v.a]), strict=True))


SYSTEMS = {
    **{", ".join(columns): systems_in(*columns)
       for columns in (("model_a", "model_b"), ("System A", "System B"), ("model_1", "model_2"), ("model_0", "model_1"),
                    ("first_model", "second_model"), ("ours", "theirs"), ("Modell_A", "Modell_B"))},
    "left_model, right_model": lambda v: {"left_model": v.on_left, "right_model": OTHER[v.on_left]},
}  # fmt: skip
BY_LETTER: dict[str, Callable[[Vote], object]] = {
    "a/b": by_letter("a", "b"), "A/B": by_letter("A", "B"), "model_a/model_b": by_letter("model_a", "model_b"),
    "1/2": by_letter(1, 2), "2/1": by_letter(2, 1), "0/1": by_letter(0, 1), "1/0": by_letter(1, 0),
    "-1/1": by_letter(-1, 1), "1/-1": by_letter(1, -1), "True/False": by_letter("True", "False"),
    "False/True": by_letter("False", "True"), "yes/no": by_letter("yes", "no"), "no/yes": by_letter("no", "yes"),
    "Response 1/2": by_letter("Response 1", "Response 2"), "first/second": by_letter("first", "second"),
    "1-5": scale(1, 5, True), "5-1": scale(1, 5, False), "1-7": scale(1, 7, True), "7-1": scale(1, 7, False),
    "1-4": scale(1, 4, True), "4-1": scale(1, 4, False), "-3-3": scale(-3, 3, True), "3--3": scale(-3, 3, False),
    "0-100": scale(0, 100, True), "100-0": scale(0, 100, False), "A>B": by_letter("A>B", "B>A"),
    "names": lambda v: v.won, "Names": lambda v: v.won.title(),
}  # fmt: skip
BY_PLACE: dict[str, Callable[[Vote], object]] = {
    "left/right": by_place("left", "right"), "L/R": by_place("L", "R"), "place A/B": by_place("A", "B"),
    "place 1/2": by_place(1, 2), "place 0/1": by_place(0, 1), "place first/second": by_place("first", "second"),
    "place Response 1/2": by_place("Response 1", "Response 2"), "place top/bottom": by_place("Top", "Bottom"),
}  # fmt: skip
ORDERS: dict[str, Callable[[Vote], object]] = {
    **{name: lambda v: v.left for name in ("left", "left_response", "shown_first", "firstab", "lfet", "on_left")},
    **{name: lambda v: OTHER[v.left] for name in ("right_response", "shown_right", "secondab", "shown_second",
                                                 "on_right")},
    **{name: lambda v: v.on_left for name in ("left_system", "first_shown", "shown_left_system", "model_first")},
    **{name: lambda v: OTHER[v.on_left] for name in ("right_model_name", "right_system", "system_shown_right")},
    **{name: lambda v: v.left == "b" for name in ("swapped", "swap_lr", "flip_sides", "was_reversed")},
    **{name: lambda v: int(v.left == "b") for name in ("swap", "is_swapped", "lr_swapped", "order_flag", "randomized")},
    **{name: lambda v: v.left == "a" for name in ("a_first", "not_swapped", "a_on_left", "in_order")},
    **{name: lambda v: "AB" if v.left == "a" else "BA" for name in ("order", "presentation", "side_order")},
    **{name: lambda v: "normal" if v.left == "a" else "swapped" for name in ("presentation_mode", "order_kind")},
    **{name: lambda v: 1 + (v.left == "b") for name in ("position_a", "pos_of_a", "a_position")},
    "permutation": lambda v: "01" if v.left == "a" else "10",
}  # fmt: skip
ANSWERS = ("choice", "winner", "label", "target", "preference", "better", "human_choice", "answer", "vote", "verdict",
           "annotation", "pick", "Which is better?", "selected", "response")  # fmt: skip
SAID = {"True/False": "is_a_better", "yes/no": "Is A better?", "False/True": "b_is_better", "no/yes": "Is B better?"}


def texts(a, b, *, shown):
    """Two columns of texts, in the order of the systems or in the order in which they were shown."""

    def cells(v):
        first = v.on_left if shown else v.a
        return {a: f"{first} says {v.n % 50}", b: f"{OTHER[first]} says {v.n % 50}"}

    return cells


EXTRAS: dict[str, Callable[[Vote, Random], dict[str, object]]] = {
    "nothing": lambda _v, _r: {},
    "texts": lambda v, _r: texts("response_a", "response_b", shown=False)(v),
    "texts as shown": lambda v, _r: texts("response_1", "response_2", shown=True)(v),
    "texts on the screen": lambda v, _r: texts("left_text", "right_text", shown=True)(v),
    "another answer": lambda v, r: {"gpt4_winner": r.choice([OTHER[v.won]] * 4 + [v.won])},
    "a judge's winner": lambda v, r: {"winner": r.choice([OTHER[v.won]] * 4 + [v.won])},
    "fluency": lambda _v, r: {"fluency": r.randrange(1, 6)},
    "time": lambda v, _r: {"seconds": 4 + v.n % 9},
    "source of the item": lambda v, _r: {"source": ("reddit", "wikipedia")[v.n % 2]},
    "comment": lambda v, _r: {"comment": "" if v.n % 3 else "fine"},
}  # fmt: skip


@dataclass(frozen=True)
class ForeignFile:
    """Its rows, and what they are made of."""

    name: str
    rows: list[dict[str, object]]


def votes(random, straight, straight_left):
    won = ["alpha"] * 80 + ["beta"] * 20
    random.shuffle(won)
    return [Vote(n, name, "alpha" if random.random() < straight else "beta",
                 "a" if random.random() < straight_left else "b", random.randrange(100))
            for n, name in enumerate(won)]  # fmt: skip


def foreign_file(seed):
    """One file, drawn. Answers that are places come with the systems of these places, or with a column of order."""
    random = Random(seed)
    systems, extra = random.choice(list(SYSTEMS)), random.choice([*EXTRAS, "nothing", "nothing"])
    are_placed = "left" in systems
    codings = BY_PLACE if are_placed or random.random() < 0.4 else BY_LETTER
    coding = random.choice(list(codings))
    order = random.choice(list(ORDERS)) if codings is BY_PLACE or random.random() < 0.3 else ""
    order = "" if are_placed else order
    if (coding, systems) == ("2/1", "model_1, model_2"):
        coding = "1/2"  # nobody calls model_1 2
    answers = random.choice([SAID.get(coding, "choice"), *random.sample(ANSWERS, 2)])
    if extra in ("another answer", "a judge's winner") and answers == "winner":
        answers = "human_choice"
    straight, straight_left = random.choice([0.5, 0.5, 0.85, 0.15, 1.0]), random.choice([0.5, 0.85, 0.15])
    rows = []
    for vote in votes(random, straight, straight_left):
        row = {"pair": f"p{vote.n % 50}", "rater": f"r{vote.n // 5}", **SYSTEMS[systems](vote)}
        row |= {order: ORDERS[order](vote)} if order else {}
        rows.append({**row, **EXTRAS[extra](vote, random), answers: codings[coding](vote)})
    return ForeignFile(f"{seed}: {systems}; {answers} {coding}; {order or 'no order'}; {extra}", rows)
