"""Which column holds what, and why: as stated, as its tool writes it, by its name, or by its values.

Two columns name the systems where their names say so (`model_a` and `model_b`, `Modell 1` and `Modell 2`), or where
they hold the same few values, never the same one in a row, and in both orders.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import combinations
from typing import Literal

from dialogue.errors import InputError, Unclear
from dialogue.importing.naming import IGNORED, typed_names
from dialogue.importing.words import one_name
from dialogue.tables.table import RawTable

Kind = Literal["letters", "places"]
FIELDS = (
    *("pair", "rater", "choice", "worse", "left", "left_text", "submitted", "seconds", "submission", "status"),
    *("system_a", "system_b", "item", "dialogue", "source", "question", "ranks"),
)
BETTER_WORDS = {"better", "prefer", "preferred", "best", "preference", "winner", "prefers"}
LIKELY = {
    "pair": ("pair_id", "pairid", "item", "item_id", "example", "example_id", "question_id", "prompt_id", "instance_id",
             "sample_id", "context_id", "comparison_id", "task_id", "task", "prompt", "id"),
    "choice": ("choice", "winner", "preference", "preferred", "label", "answer", "vote", "verdict", "judgement",
               "judgment", "better", "result", "annotation", "selected", "response", "chosen", "best", "pick"),
    "worse": ("worse", "loser", "worst", "rejected", "dispreferred", "less_preferred", "lost"),
    "rater": ("worker", "worker_id", "workerid", "annotator", "annotator_id", "user", "user_id", "participant",
              "participant_id", "judge", "rater_id", "prolific_id", "prolific_pid", "evaluator"),
}  # fmt: skip
ANSWER_WORDS = {*BETTER_WORDS, "choice", "pick", "vote", "verdict", "judgement", "judgment", "chosen", "selected",
                "prediction", "predicted"}  # fmt: skip
NEGATIVE = {"worse", "worst", "loser", "rejected", "dispreferred", "lost", "least", "inferior"}
# Words that turn the rest of a name round, or may: `not_preferred`, `second_best`, `Which do you like less?`
TURNING = {"not", "no", "non", "never", "isnt", "t", "without", "less", "second", "avoid", "avoided", "anti", "against"}
TURNED = re.compile(r"(un|non|dis)(prefer|chosen|select|lik|favou?r|swap|flip|switch|revers|invert|turn)\w*")
SYSTEM_WORDS = {
    *("model", "system", "assistant", "bot", "agent", "modell", "modele", "modelo", "chatbot", "generator", "engine"),
    *("llm", "method", "policy", "variant", "sut", "systeme", "sistema"),
}
TEXT_WORDS = {"response", "text", "answer", "output", "completion", "reply", "message", "generation", "summary",
              "translation", "conversation", "story"}  # fmt: skip
NO_SYSTEM = {"score", "scores", "rating", "rank", "seed", "length", "tokens", "cost", "id", "time", "url", "role",
             "seconds", "metadata", "logprob", "position", "pos", "prob", "winner", "wins", "loser", "better",
             "worse", "params", "size", "price", "tie", "n", "count", "counts", "votes", "elo"}  # fmt: skip
SIDES: Mapping[Kind, tuple[tuple[str, str], ...]] = {
    "letters": (("a", "b"), ("1", "2"), ("first", "second"), ("one", "two"), ("0", "1")),
    "places": (("left", "right"), ("top", "bottom")),
}
SHOWN_FIRST = {"left_side", "on_left", "shown_first", "first_shown", "shown_left", "left_response", "left_is", "first",
               "displayed_first", "left_shown", "left_first", "input_left", "which_left"}  # fmt: skip
ORDERS = {"order", "presentation_order", "display_order", "shown_order", "side_order", "order_shown", "ordering",
          "response_order", "presented_order"}  # fmt: skip
SWAPS = {"swapped", "swap", "is_swapped", "flipped", "flip", "is_flipped", "reversed", "is_reversed", "switched",
         "inverted", "order_swapped", "swap_order", "sides_swapped", "position_swapped", "was_swapped"}  # fmt: skip
OF_A = {"position_a", "a_position", "pos_a", "side_a", "a_side", "model_a_position", "position_of_a", "model_a_side",
        "position_model_a", "a_pos", "system_a_side", "system_a_position"}  # fmt: skip
ORDER_NAME = re.compile(
    r"order|position|swap|flip|random|revers|inver[st]|switch|tausch|reihenfolge|ordre|orden|links|gauche|izquierd|"
    r"rechts|droite|derech|\b(pos|left\w*|right\w*|first|second|shown|display\w*|turned|"
    r"perm\w*|side\w*|top|bottom|lhs|rhs)\b"
)  # in the name of a column that may say how the two responses were shown
OTHER_PLACES = {
    "right",
    "bottom",
    "rhs",
    "last",
    "lower",
    "rechts",
    "droite",
    "derecha",
}  # who stood there did not stand on the left
CODES = {"true", "false", "yes", "no", "y", "n", "t", "f", "0", "1", "2", "0.0", "1.0", "2.0"}
PREFIX = re.compile(r"^(?:input|fields|metadata|data|meta)\.", re.IGNORECASE)
ANSWERS = ("answer", "correct", "expected", "gold", "known_answer")  # what a hidden check should get
SIDE_CELLS = {"a", "b", "0", "1", "2", "model_a", "model_b", "ab", "ba"}
MOST_SYSTEMS = 200


@dataclass(frozen=True, slots=True)
class TwoColumns:
    """The column of response a, that of response b, and whether their names are letters or places."""

    a: str
    b: str
    kind: Kind
    why: str = "by their names"
    turned: bool = False  # a is the right one, or the one called b: stated so
    zero_based: bool = False  # their names count from 0, so that the answers 0 and 1 are these columns


@dataclass(frozen=True, slots=True)
class LeftColumn:
    """The column that says which response stood on the left, and how its cells are read."""

    name: str
    reads: Literal["side", "swapped", "place of a"]
    sure: bool  # stated, or called `left`


@dataclass(frozen=True, eq=False)
class Roles:
    """Our field -> its column, with the reason for each."""

    names: Mapping[str, str]
    why: Mapping[str, str]
    systems: TwoColumns | None
    texts: TextColumns | None = None
    left: LeftColumn | None = None
    suspects: Sequence[str] = ()  # columns of unknown name whose cells are sides


TextColumns = TwoColumns


def plain_name(name: str) -> str:
    """A column's name without its tool's prefix, capitals and signs: `Input.Model A` is `model_a`."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", PREFIX.sub("", name.strip()))
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def leaf_name(name: str) -> str:
    """The last part of a dotted or prefixed name: `OUTPUT:result` and `response.annotations.result` are `result`.

    >>> leaf_name("INPUT:model_a"), leaf_name("meta.model_a"), leaf_name("texts.0"), leaf_name("Which one is better?")
    ('model_a', 'model_a', 'texts.0', 'Which one is better?')
    """
    last = re.split(r"[.:]", name.strip())[-1].strip()
    return name if not re.search(r"[a-zA-Z]{2}", last) or " " in last else last


def is_turned(text: str) -> bool:
    """Whether a name or question may say the opposite of its other words.

    >>> is_turned("not_preferred"), is_turned("Unswapped"), is_turned("Which do you prefer?")
    (True, True, False)
    """
    words = plain_name(text).split("_")
    return any(word in TURNING or TURNED.fullmatch(word) for word in words)


def _tokens(name: str) -> list[str]:
    plain = re.sub(r"(?<=[a-z])(?=\d)", "_", plain_name(name))
    if joined := re.fullmatch(rf"({'|'.join(SYSTEM_WORDS | TEXT_WORDS)})([ab])", plain):
        return [joined[1], joined[2]]
    return plain.split("_")


def _side_of(name: str) -> Iterator[tuple[tuple[str, ...], Kind, int, int]]:
    """Every reading of a name as one of two sides: what is left of it, and which side."""
    tokens = _tokens(name)
    for at, token in enumerate(tokens):
        rest = (*tokens[:at], "", *tokens[at + 1 :])
        for kind, families in SIDES.items():
            for family, sides in enumerate(families):
                if token in sides:
                    yield rest, kind, family, sides.index(token)


def twins(names: Iterable[str]) -> list[tuple[tuple[str, ...], TwoColumns]]:
    """Every two columns whose names differ by their side alone, with what the names share."""
    groups: dict[tuple[tuple[str, ...], Kind, int], dict[int, list[str]]] = {}
    for name in names:
        for rest, kind, family, side in _side_of(name):
            groups.setdefault((rest, kind, family), {}).setdefault(side, []).append(name)
    return [
        (
            tuple(filter(None, rest)),
            TwoColumns(sides[0][0], sides[1][0], kind, zero_based=SIDES[kind][family] == ("0", "1")),
        )
        for (rest, kind, family), sides in groups.items()
        if len(sides) == 2 and len(sides[0]) == len(sides[1]) == 1
    ]


def system_columns(table: RawTable, stated: Mapping[str, str]) -> TwoColumns | None:
    """Those that the user names; else those whose names say it; else those whose values do. Several are a doubt."""
    a, b = (stated.get(f"system_{side}") for side in "ab")
    if IGNORED in (a, b):
        return None
    if a and b:
        return _stated(table, a, b)
    if a or b:
        raise InputError("--columns names one of system_a and system_b; name both.")
    free = [name for name in table.names if name not in stated.values() and table.values(name)]
    named, likely = [], []
    for rest, two in twins(free):
        leaf = set(_tokens(leaf_name(two.a)))
        if set(rest) & SYSTEM_WORDS and not leaf & NO_SYSTEM:
            named.append(two)
        elif not leaf & NO_SYSTEM and holds_systems(table, two.a, two.b, by_name=bool(rest)):
            likely.append(replace(two, why="by their names and values"))
    found = named or likely
    if len(found) > 1:
        raise Unclear(
            "Two pairs of columns may name the systems: " + "; ".join(f"{one.a} and {one.b}" for one in found) + ".",
            *({"--columns": typed_names([("system_a", one.a), ("system_b", one.b)])} for one in found),
        )
    return found[0] if found else None


def _stated(table: RawTable, a: str, b: str) -> TwoColumns:
    if missing := [name for name in (a, b) if name not in table.names]:
        raise InputError(f"{table.path} has no column {missing[0]!r} (found: {', '.join(table.names)}).")
    for _, two in twins([a, b]):
        return TwoColumns(a, b, two.kind, "as stated", turned=two.a != a)
    return TwoColumns(a, b, "letters", "as stated")


def holds_systems(table: RawTable, a: str, b: str, *, by_name: bool = True) -> bool:
    """Whether two columns have the cells that names of systems have.

    The same few values, in both orders; or, where the names of the columns belong together, few values at all.
    """
    first, second = ([one_name(cell) for cell in table.text(name)] for name in (a, b))
    both = [(one, other) for one, other in zip(first, second, strict=True) if one and other]
    if len(both) < max(4, 0.8 * len(first)):
        return False
    values = {one for row in both for one in row}
    if len(values) > min(MOST_SYSTEMS, max(2, len(both) // 2)) or any(len(value) > 80 for value in values):
        return False
    if all(re.fullmatch(r"[-\d.]*|true|false|a|b|tie|left|right", value) for value in values):
        return False
    if sum(one == other for one, other in both) > 0.02 * len(both):
        return False
    seen = set(both)
    if any((other, one) in seen for one, other in seen):
        return True
    return by_name and len(values) <= max(2, len(both) // 10)


def unnamed_systems(table: RawTable, taken: Iterable[str]) -> list[tuple[str, str]]:
    """Two columns of any name that hold the systems, in no order that is known."""
    used = set(taken)
    free = [name for name in table.names if name not in used and len(table.values(name)) <= MOST_SYSTEMS]
    return [(one, other) for one, other in combinations(free[:40], 2)
            if holds_systems(table, one, other, by_name=False)]  # fmt: skip


def text_columns(names: Iterable[str]) -> TwoColumns | None:
    """The two columns of texts, by their names; None where there is no such pair, or more than one.

    >>> text_columns(["Response A", "Response B", "winner"]).a
    'Response A'
    """
    found = [
        two for rest, two in twins(names) if rest and rest[-1] in TEXT_WORDS and len(_tokens(leaf_name(two.a))) < 3
    ]
    return found[0] if len(found) == 1 else None


def left_column(
    table: RawTable, names: Mapping[str, str], stated: Mapping[str, str], free: Sequence[str], systems: Collection[str]
) -> LeftColumn | None:
    """The column that says who stood on the left, by its name; None where there is none."""
    if stated.get("left") == IGNORED:
        return None
    if (name := names.get("left")) is not None:
        if (reads := reading_of(table, name)) is None:
            raise InputError(
                f"{table.path}: {name} holds {', '.join(table.values(name)[:2])}, which do not say for sure who stood "
                "on the left. Call the column left, and write a or b there: the response that stood on the left."
            )
        return LeftColumn(name, reads, True)
    for name in free:
        plain = plain_name(leaf_name(name))
        if plain in SWAPS and _flags(table, name):
            return LeftColumn(name, "swapped", False)
        cells = {one_name(cell) for cell in table.values(name)}
        if (plain in SHOWN_FIRST or _is_left_system(name)) and (cells <= SIDE_CELLS or cells <= set(systems)):
            return LeftColumn(name, "side", False)
        if plain in ORDERS and _orders(table, name):
            return LeftColumn(name, "side", False)
        if plain in OF_A:
            return LeftColumn(name, "place of a", False)
    return None


def reading_of(table: RawTable, name: str) -> Literal["side", "swapped", "place of a"] | None:
    """How the cells of a column say who stood on the left; None where its name and cells leave that open.

    `not_swapped`, `a_first` with true and false, `position_b` and `shown_second` are open: some of them would be read
    against their meaning.
    """
    plain = plain_name(leaf_name(name))
    tokens, cells = set(plain.split("_")), {cell.lower() for cell in table.values(name)}
    if plain in OF_A:
        return "place of a"
    if plain == "left" or not cells:
        return "side"
    if is_turned(plain) or tokens & OTHER_PLACES:
        return None
    if get_close_matches(plain, SWAPS, 1, 0.75):
        return "swapped" if _flags(table, name) else None
    if cells <= CODES:
        return "side" if plain in SHOWN_FIRST | ORDERS and cells <= {"0", "1", "2"} else None
    return None if tokens & {"a", "b"} else "side"


def _flags(table: RawTable, name: str) -> bool:
    return set(map(str.lower, table.values(name))) <= {"true", "false", "yes", "no", "0", "1"}


def _orders(table: RawTable, name: str) -> bool:
    return all(re.fullmatch(r"[\[\"' ]*(a|b|ab|ba|a ?, ?b|b ?, ?a|0, ?1|1, ?0|model_[ab])[\]\"' ]*", value.lower())
               for value in table.values(name))  # fmt: skip


def _is_left_system(name: str) -> bool:
    """`left_model`, `System shown first`: the system that stood there."""
    tokens = set(_tokens(name))
    return bool(tokens & {"left", "first", "top"}) and bool(tokens & SYSTEM_WORDS) and not tokens & NO_SYSTEM


def lone_left_system(table: RawTable, free: Iterable[str]) -> str:
    """The column of the system on the left where none names the other one, and there are two systems; else empty."""
    found = [name for name in free if _is_left_system(name) and len({one_name(v) for v in table.values(name)}) == 2]
    return found[0] if len(found) == 1 else ""


def side_suspects(table: RawTable, free: Iterable[str], systems: Collection[str]) -> list[str]:
    """Columns with two values, whose cells are sides or whose names speak of the order: they may say who stood left."""
    suspects = []
    for name in free:
        values = {value.lower() for value in table.values(name)}
        sides = any(values <= words for words in ({"a", "b"}, {"ab", "ba"}, {"left", "right"}, {"[0, 1]", "[1, 0]"}))
        plain = plain_name(name)
        order = ORDER_NAME.search(plain.replace("_", " ")) or get_close_matches(plain, SWAPS, 1, 0.75)
        known = (
            plain in ANSWERS
            or plain in ("kind", "source")
            or (
                not re.search(r"order|position|swap|flip|shown|display|left|right|side", plain)
                and (plain in LIKELY["choice"] or ANSWER_WORDS & set(plain.split("_")))
            )
        )
        names = bool(systems) and {one_name(value) for value in values} <= set(systems)
        if len(values) == 2 and (sides or order or names) and not known:
            suspects.append(name)
    return suspects


def by_plain_name(names: Sequence[str]) -> dict[str, str]:
    """Plain name -> the first column of that name, whole or as the last part of a dotted one."""
    leaves = {plain_name(leaf_name(name)): name for name in reversed(names)}
    return leaves | {plain_name(name): name for name in reversed(names)}


def first_fit(field: str, free: Sequence[str]) -> str:
    """The column of a field by its usual names; empty where none has one of them."""
    plain = by_plain_name(free)
    return next((plain[word] for word in (field, *LIKELY[field]) if word in plain), "")


def is_row_number(table: RawTable, name: str) -> bool:
    """Whether a column counts the rows, so that it names no pair."""
    cells = table.text(name)
    if len(cells) < 2 or len(set(cells)) < len(cells):
        return False
    try:
        numbers = sorted(map(int, cells))
    except ValueError:
        return False
    return numbers == list(range(numbers[0], numbers[0] + len(numbers))) and numbers[0] in (0, 1)


def refuse_twins(table: RawTable, used: Iterable[str]) -> None:
    """A column that is used must be the only one of its name."""
    for name in used:
        if name in table.twins or (name in table.names and f"{name} (2)" in table.names):
            raise InputError(f"{table.path} has two columns called {name!r}; keep one.")


def commonest(cells: Iterable[str]) -> dict[str, str]:
    """Folded name -> the spelling that most rows have, so that `Alpha` and `alpha ` are one system."""
    spellings: dict[str, Counter[str]] = {}
    for cell, number in Counter(cells).items():
        spellings.setdefault(one_name(cell), Counter())[" ".join(cell.split())] += number
    return {name: found.most_common(1)[0][0] for name, found in spellings.items()}
