"""How often the score for programs (crowd/watching/signals.py) points at people, and how often at programs.

Studies are simulated over a grid: 10 or 40 raters with 20 or 60 judgements, people who differ little or much, none
or a third of the raters programs, the page's events counted or not. One rater of each study is of the kind that a row
names. People who use assistive technology are drawn as what their tools do to a page, on the unfavourable side:

* dictation: text comes by pasting, and the page loses the focus to the program that listens, on most pairs
* screen reader: speech takes its time with the text, focus leaves and comes back
* switch or eye control: slow, at an even pace that hardly follows the text, focus leaves often
* magnifier: slow, and the same button more often than others, because one is in view

    python benchmarks/sim_machines.py            # the table of docs/crowd.md
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seedvote.crowd.watching.signals import LIKE_A_PROGRAM, PageEvents, TimedAnswer, signals_of

Generator = random.Random
LENGTHS = {f"p{n}": 120 + 43 * (n * 17 % 60) for n in range(120)}
CHOICES = ("a", "b", "tie")
Row = TimedAnswer


class Person:
    """Somebody who judges, with habits of their own."""

    def __init__(self, rng: Generator, variety: float) -> None:
        self.rng, self.skill = rng, rng.uniform(0.3, 0.9)
        self.pace = rng.lognormvariate(3.4, 0.2 + 0.3 * variety)  # characters a second
        self.noise = 0.35 + 0.35 * variety * rng.random()
        self.leaves = rng.betavariate(1, 9 - 6 * variety)  # somebody answers the door, or has a second screen
        self.copies = rng.betavariate(1, 60) if rng.random() < 0.3 else 0.0
        self.pastes = 0.0
        self.lazy = rng.betavariate(1, 12)
        self.start = 2.0

    def seconds(self, length: int) -> float:
        return (self.start + length / self.pace) * self.rng.lognormvariate(0, self.noise)

    def choice(self, truth: str) -> str:
        if self.rng.random() < self.lazy:
            return "tie"
        return truth if self.rng.random() < self.skill else self.rng.choice(CHOICES)

    def button(self, choice: str) -> str:
        left = self.rng.choice("ab")
        return "tie" if choice == "tie" else "left" if choice == left else "right"


def dictating(rng: Generator, variety: float) -> Person:
    person = Person(rng, variety)
    person.leaves, person.pastes, person.start = rng.uniform(0.6, 1), rng.uniform(0.6, 1), 5.0
    return person


def screen_reader(rng: Generator, variety: float) -> Person:
    person = Person(rng, variety)
    person.leaves, person.copies, person.pace, person.noise = (
        rng.uniform(0.3, 1),
        rng.uniform(0, 0.3),
        rng.uniform(12, 60),
        0.3,
    )
    return person


def switch(rng: Generator, variety: float) -> Person:
    person = Person(rng, variety)
    person.leaves, person.start, person.pace, person.noise = (
        rng.uniform(0.4, 1),
        rng.uniform(25, 60),
        150.0,
        rng.uniform(0.1, 0.3),
    )
    return person


def magnifier(rng: Generator, variety: float) -> Person:
    person = Person(rng, variety)
    person.pace, person.leaves, person.start, person.lazy = (
        rng.uniform(8, 20),
        rng.uniform(0.1, 0.7),
        8.0,
        rng.uniform(0.2, 0.5),
    )
    return person


class Program(Person):
    """What answers without reading at a human's pace."""

    def __init__(self, rng: Generator, *, typical: float, noise: float, follows: float = 0.0) -> None:
        super().__init__(rng, 0.0)
        self.typical, self.noise, self.follows = typical, noise, follows
        self.leaves = self.copies = self.pastes = self.lazy = 0.0

    def seconds(self, length: int) -> float:
        return (self.typical + self.follows * length) * self.rng.lognormvariate(0, self.noise)


def fast_script(rng: Generator, variety: float) -> Person:
    del variety
    person = Program(rng, typical=0.8, noise=0.1)
    person.skill = 0.0
    return person


def one_button(rng: Generator, variety: float) -> Person:
    del variety
    person = Program(rng, typical=rng.uniform(2, 6), noise=0.15)
    person.lazy = 1.0
    return person


def agent(rng: Generator, variety: float) -> Person:
    """A language model that drives a browser: it judges well and waits as long as the model takes."""
    del variety
    person = Program(rng, typical=rng.uniform(4, 12), noise=0.2)
    person.skill = 0.9
    return person


def pasting_into_chat(rng: Generator, variety: float) -> Person:
    """A person who copies each pair into a chat and clicks what it says."""
    del variety
    person = Program(rng, typical=rng.uniform(12, 30), noise=0.35)
    person.leaves = person.copies = rng.uniform(0.85, 1)
    person.skill = 0.9
    return person


Kind = Callable[[Generator, float], Person]
PEOPLE: dict[str, Kind] = {
    "people, no tool": Person,
    "dictation": dictating,
    "screen reader": screen_reader,
    "switch or eye control": switch,
    "magnifier": magnifier,
}
PROGRAMS: dict[str, Kind] = {
    "a script that clicks at once": fast_script,
    "a script with one button": one_button,
    "a language model that drives a browser": agent,
    "a person who pastes each pair into a chat": pasting_into_chat,
}


def judged(name: str, person: Person, pairs: list[str], truth: dict[str, str]) -> Iterator[Row]:
    for pair in pairs:
        choice = person.choice(truth[pair])
        yield Row(name, pair, choice, person.button(choice), person.seconds(LENGTHS[pair]), LENGTHS[pair])


def happened(person: Person, number: int) -> PageEvents:
    count = lambda share: sum(person.rng.random() < share for _ in range(number))  # noqa: E731
    return PageEvents(count(person.leaves), count(person.copies), count(person.pastes))


def study(
    rng: Generator, kind: Kind, *, raters: int, judgements: int, variety: float, programs: float, page: bool
) -> tuple[bool, bool]:
    """Whether the rater of this kind stands out in one study: by the score, and by anything at all."""
    truth = {pair: rng.choice(CHOICES) for pair in LENGTHS}
    others: list[Person] = []
    for n in range(raters - 1):
        other = rng.choice(list(PROGRAMS.values())) if n < programs * (raters - 1) else Person
        others.append(other(rng, variety))
    crowd = {f"r{n}": person for n, person in enumerate([kind(rng, variety), *others])}
    rows: list[Row] = []
    events: dict[str, PageEvents] = {}
    for name, person in crowd.items():
        pairs = rng.sample(sorted(LENGTHS), judgements)
        rows += judged(name, person, pairs, truth)
        events[name] = happened(person, judgements)
    found = signals_of(rows, events if page else None)["r0"]
    return LIKE_A_PROGRAM in found.doubts, bool(found.doubts)


WORLDS = [
    {"raters": raters, "judgements": judgements, "variety": variety, "programs": programs}
    for raters in (10, 40)
    for judgements in (20, 60)
    for variety in (0.0, 1.0)
    for programs in (0.0, 0.33)
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=100, help="simulated studies a world and kind (default: 100)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print("| rater | score, page events counted | score, not counted | any doubt |\n|---|---|---|---|")
    for name, kind in {**PEOPLE, **PROGRAMS}.items():
        rates = {page: _rates(name, kind, args, page=page) for page in (True, False)}
        cells = [[score for score, _ in rates[page]] for page in (True, False)]
        cells.append([doubt for _, doubt in rates[True]])
        told = [f"{100 * sum(cell) / len(cell):.1f} ({100 * max(cell):.0f})" for cell in cells]
        print(f"| {name} | {' | '.join(told)} |", flush=True)


def _rates(name: str, kind: Kind, args: argparse.Namespace, *, page: bool) -> list[tuple[float, float]]:
    """Of each world the shares of studies in which this rater stands out."""
    rates = []
    for n, world in enumerate(WORLDS):
        rng = random.Random(f"{args.seed} {name} {page} {n}")
        found = [study(rng, kind, page=page, **world) for _ in range(args.studies)]
        rates.append(
            (sum(by_score for by_score, _ in found) / args.studies, sum(by_any for _, by_any in found) / args.studies)
        )
    return rates


if __name__ == "__main__":
    main()
