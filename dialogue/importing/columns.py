"""Which column holds what, and why: as stated, as its tool writes it, by its name, or by its values.

Two columns name the systems where their names say so (`model_a` and `model_b`, `Modell 1` and `Modell 2`), or where
they hold the same few values, never the same one in a row, and in both orders.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, get_args

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.reading import IGNORED, type_names
from seedvote.dialogue.importing.words import fold_name, in_english
from seedvote.dialogue.judges import JUDGE, PEOPLE, folded_name, is_judge_name
from seedvote.dialogue.records import Source
from seedvote.dialogue.tables.table import RawTable, cell_text

Kind = Literal["letters", "places"]
FIELDS = (
    *("pair", "rater", "choice", "worse", "left", "right", "swapped", "left_text", "submitted", "seconds"),
    *("submission", "status"),
    *("system_a", "system_b", "item", "dialogue", "source", "question", "ranks", "scores", "tie"),
)
BETTER_WORDS = {"better", "prefer", "preferred", "best", "preference", "winner", "prefers"}
LIKELY = {
    "pair": (
        *("pair_id", "pairid", "item", "item_id", "example", "example_id", "question_id", "prompt_id", "instance_id"),
        *("sample_id", "context_id", "comparison_id", "task_id", "task", "prompt", "id"),
    ),
    "choice": (
        *("choice", "winner", "preference", "preferred", "label", "answer", "vote", "verdict", "judgement"),
        *("judgment", "better", "result", "annotation", "selected", "response", "chosen", "best", "pick"),
        *("target", "slider"),
    ),
    "worse": ("worse", "loser", "worst", "rejected", "dispreferred", "less_preferred", "lost"),
    "rater": (
        *("worker", "worker_id", "workerid", "annotator", "annotator_id", "user", "user_id", "participant"),
        *("participant_id", "judge", "rater_id", "prolific_id", "prolific_pid", "evaluator"),
    ),
}
ANSWER_WORDS = {
    *BETTER_WORDS,
    *("choice", "pick", "vote", "verdict", "judgement", "judgment", "chosen", "selected", "prediction", "predicted"),
}
NEGATIVE = {"worse", "worst", "loser", "rejected", "dispreferred", "lost", "least", "inferior", "weaker", "losing"}
# Words that turn the rest of a name round, or may: `not_preferred`, `second_best`, `Which do you like less?`
TURNING = {"not", "no", "non", "never", "isnt", "t", "without", "less", "second", "avoid", "avoided", "anti", "against"}
TURNED = re.compile(r"(un|non|dis)(prefer|chosen|select|lik|favou?r|swap|flip|switch|revers|invert|turn)\w*")
SYSTEM_WORDS = {
    *("model", "system", "assistant", "bot", "agent", "modell", "modele", "modelo", "chatbot", "generator", "engine"),
    *("llm", "method", "policy", "variant", "sut", "systeme", "sistema"),
}
TEXT_WORDS = {
    *("response", "text", "answer", "output", "completion", "reply", "message", "generation", "summary"),
    *("translation", "conversation", "story"),
}
NO_SYSTEM = {
    *("score", "scores", "rating", "rank", "seed", "length", "tokens", "cost", "id", "time", "url", "role"),
    *("seconds", "metadata", "logprob", "position", "pos", "prob", "winner", "wins", "loser", "better", "worse"),
    *("params", "size", "price", "tie", "n", "count", "counts", "votes", "elo"),
}
RIVALS = (  # columns of the two systems whose names say which of them is meant
    ("model", "system", "candidate", "ours", "challenger", "player", "treatment", "test"),
    ("opponent", "baseline", "reference", "rival", "other_model", "other_system", "theirs", "against", "control"),
)
SIDES: Mapping[Kind, tuple[tuple[str, str], ...]] = {
    "letters": (("a", "b"), ("1", "2"), ("first", "second"), ("1st", "2nd"), ("one", "two"), ("0", "1")),
    "places": (("left", "right"), ("top", "bottom"), ("upper", "lower")),
}
PREFIX = re.compile(r"^(?:input|fields|metadata|data|meta)\.", re.IGNORECASE)
ANSWERS = ("answer", "correct", "expected", "gold", "known_answer")  # what a hidden check should get
MOST_SYSTEMS = 200


@dataclass(frozen=True, slots=True)
class TwoColumns:
    """The column of response a, that of response b, and whether their names are letters or places."""

    a: str
    b: str
    kind: Kind
    why: str = "by their names"
    turned: bool = False  # a is the right one, or the one called b: stated so
    family: tuple[str, str] | tuple[()] = ()  # how they are told apart: a and b, 1 and 2, first and second


@dataclass(frozen=True, slots=True)
class LeftColumn:
    """A column that says which response stood on the left, and how its cells are read."""

    name: str
    reads: Literal["left", "right", "swapped", "place of a"]
    sure: bool  # stated, or called `left`
    word: str = ""  # of `swapped`: the cell that says so; empty where it is true, yes or 1

    @property
    def typed(self) -> str:
        """What the user types for this reading."""
        if self.reads == "swapped":
            return type_names([("swapped", f"{self.name}:{self.word}" if self.word else self.name)])
        return type_names([("right" if self.reads == "right" else "left", self.name)])


@dataclass(frozen=True, eq=False)
class Roles:
    """Our field -> its column, with the reason for each."""

    names: Mapping[str, str]
    why: Mapping[str, str]
    systems: TwoColumns | None
    texts: TextColumns | None = None
    left: LeftColumn | None = None
    suspects: Sequence[str] = ()  # columns of unknown name whose cells are sides
    seeds: tuple[str, str] | tuple[()] = ()  # the columns of the seeds of a and b, where they tell systems apart


TextColumns = TwoColumns


def plain_name(name: str) -> str:
    """A column's name without its tool's prefix, capitals and signs: `Input.Model A` is `model_a`."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", PREFIX.sub("", in_english(name).strip()))
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


def name_words(name: str) -> list[str]:
    """The words of a name, `assistantA` as two of them."""
    plain = re.sub(r"(?<=[a-z])(?=\d)", "_", plain_name(name))
    if joined := re.fullmatch(rf"({'|'.join(SYSTEM_WORDS | TEXT_WORDS)})([ab])", plain):
        return [joined[1], joined[2]]
    return plain.split("_")


def _read_sides(name: str) -> Iterator[tuple[tuple[str, ...], Kind, int, int]]:
    """Every reading of a name as one of two sides: what is left of it, and which side."""
    tokens = name_words(name)
    for at, token in enumerate(tokens):
        shared = (*tokens[:at], "", *tokens[at + 1 :])
        for kind, families in SIDES.items():
            for family, sides in enumerate(families):
                if token in sides:
                    yield shared, kind, family, sides.index(token)


def find_twins(names: Iterable[str]) -> list[tuple[tuple[str, ...], TwoColumns]]:
    """Every two columns whose names differ by their side alone, with what the names share."""
    groups: dict[tuple[tuple[str, ...], Kind, int], dict[int, list[str]]] = {}
    for name in names:
        for shared, kind, family, side in _read_sides(name):
            groups.setdefault((shared, kind, family), {}).setdefault(side, []).append(name)
    return [
        (tuple(filter(None, shared)), TwoColumns(sides[0][0], sides[1][0], kind, family=SIDES[kind][family]))
        for (shared, kind, family), sides in groups.items()
        if len(sides) == 2 and len(sides[0]) == len(sides[1]) == 1
    ]


def system_columns(table: RawTable, stated: Mapping[str, str]) -> TwoColumns | None:
    """Those that the user names; else those whose names say it; else those whose values do. Several are a doubt."""
    a, b = (stated.get(f"system_{side}") for side in "ab")
    if IGNORED in (a, b):
        return None
    if a and b:
        return _stated_columns(table, a, b)
    if a or b:
        raise InputError("--columns names one of system_a and system_b; name both.")
    free = [name for name in table.names if name not in stated.values() and table.values(name)]
    named_systems, likely = [], []
    for shared, two in find_twins(free):
        leaf = set(name_words(leaf_name(two.a)))
        is_id = leaf & NO_SYSTEM == {"id"} and holds_systems(table, two.a, two.b)
        if set(shared) & SYSTEM_WORDS and (is_id or not leaf & NO_SYSTEM):
            named_systems.append(two)
        elif not leaf & NO_SYSTEM and holds_systems(table, two.a, two.b, by_name=bool(shared)):
            likely.append(replace(two, why="by their names and values"))
    candidates = named_systems or likely
    if len(candidates) > 1:
        raise Unclear(
            "Two pairs of columns may name the systems: "
            + "; ".join(f"{pair.a} and {pair.b}" for pair in candidates)
            + ".",
            *({"--columns": type_names([("system_a", pair.a), ("system_b", pair.b)])} for pair in candidates),
        )
    return candidates[0] if candidates else None


def _stated_columns(table: RawTable, a: str, b: str) -> TwoColumns:
    table.check_columns([a, b])
    for _, two in find_twins([a, b]):
        return TwoColumns(a, b, two.kind, "as stated", turned=two.a != a, family=two.family)
    return TwoColumns(a, b, "letters", "as stated")


def holds_systems(table: RawTable, a: str, b: str, *, by_name: bool = True) -> bool:
    """Whether two columns have the cells that names of systems have.

    The same few values, in both orders; or, where the names of the columns belong together, few values at all.
    """
    first, second = ([fold_name(cell) for cell in table.text(name)] for name in (a, b))
    pairs = [(system_a, system_b) for system_a, system_b in zip(first, second, strict=True) if system_a and system_b]
    if len(pairs) < max(4, 0.8 * len(first)):
        return False
    values = {system_a for row in pairs for system_a in row}
    if len(values) > min(MOST_SYSTEMS, max(2, len(pairs) // 2)) or any(len(value) > 80 for value in values):
        return False
    if all(re.fullmatch(r"[-\d.]*|true|false|a|b|tie|left|right", value) for value in values):
        return False
    if sum(system_a == system_b for system_a, system_b in pairs) > 0.02 * len(pairs):
        return False
    orders = set(pairs)
    if any((system_b, system_a) in orders for system_a, system_b in orders):
        return True
    return by_name and len(values) <= max(2, len(pairs) // 10)


def unnamed_systems(table: RawTable, taken: Iterable[str]) -> list[tuple[str, str]]:
    """Two columns of any name that hold the systems, in no order that is known."""
    used = set(taken)
    free = [name for name in table.names if name not in used and len(table.values(name)) <= MOST_SYSTEMS]
    return [
        (column_a, column_b)
        for column_a, column_b in combinations(free[:40], 2)
        if holds_systems(table, column_a, column_b, by_name=False)
    ]


def are_aligned(systems: TwoColumns, texts: TwoColumns) -> bool:
    """Whether the texts are called as the systems are, so that the first text is that of the first system."""
    return systems.kind == texts.kind and (systems.family or ("a", "b")) == texts.family


def text_columns(names: Iterable[str]) -> TwoColumns | None:
    """The two columns of texts, by their names; None where there is no such pair, or more than one.

    >>> text_columns(["Response A", "Response B", "winner"]).a
    'Response A'
    """
    candidates = [
        two
        for shared, two in find_twins(names)
        if shared and shared[-1] in TEXT_WORDS and len(name_words(leaf_name(two.a))) < 3
    ]
    if len(candidates) == 2 and len({two.kind for two in candidates}) == 2:  # a and b, and the same as shown
        return next(two for two in candidates if two.kind == "letters")
    return candidates[0] if len(candidates) == 1 else None


def by_plain_name(names: Sequence[str]) -> dict[str, str]:
    """Plain name -> the first column of that name, whole or as the last part of a dotted one."""
    leaves = {plain_name(leaf_name(name)): name for name in reversed(names)}
    return leaves | {plain_name(name): name for name in reversed(names)}


def find_column(field: str, free: Sequence[str]) -> str:
    """The column of a field by its usual names; empty where none has one of them.

    >>> find_column("pair", ["id_paire", "évaluateur"])
    'id_paire'
    """
    plain = by_plain_name(free)
    plain = {f"{word.removeprefix('id_')}_id": name for word, name in plain.items() if word.startswith("id_")} | plain
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


def commonest_spellings(cells: Iterable[str]) -> dict[str, str]:
    """Folded name -> the spelling that most rows have, so that `Alpha` and `alpha ` are one system."""
    spellings: dict[str, Counter[str]] = {}
    for cell, number in Counter(cells).items():
        spellings.setdefault(fold_name(cell), Counter())[" ".join(cell.split())] += number
    return {name: counts.most_common(1)[0][0] for name, counts in spellings.items()}


# The one answer of a row, however its tool spells it: a word, a group of true and false columns, a list of one


def answer_cells(table: RawTable, name: str) -> list[str]:
    """The cells of a column, of its `.selection` or `.label`, or in each row the one of `name.*` that is true."""
    for key in (name, f"{name}.selection", f"{name}.label"):
        if key in table.columns:
            cells = table.columns[key]
            if all(type(cell) is str for cell in cells):
                words = {cell: _answer_text(cell) for cell in set(cells)}
                return [words[cell] for cell in cells]
            return [_answer_text(cell) for cell in cells]
    group = {key[len(name) + 1 :]: table.columns[key] for key in table.names if key.startswith(f"{name}.")}
    answers = []
    for row in range(len(table)):
        marked = [key for key, cells in group.items() if str(cells[row]).strip().lower() in ("true", "1", "on")]
        if len(marked) > 1:
            raise InputError(
                f"{table.place(row)}: {name} has several answers at once: {', '.join(marked)}. Make the question "
                "single-choice."
            )
        answers.append(marked[0] if marked else "")
    return answers


def pick_answer(row: Mapping[str, Any], name: str) -> str:
    """The same for one row as a mapping."""
    return next((_answer_text(row[key]) for key in (name, f"{name}.selection", f"{name}.label") if key in row), "")


def _answer_text(value: Any) -> str:
    """A cell as text; Label Studio's `[{"selected": "left"}]` and `{"choices": ["Tie"]}` as the word inside."""
    if isinstance(value, str) and value[:1] in "[{" and ("selected" in value or "choices" in value):
        with contextlib.suppress(ValueError, SyntaxError):
            value = ast.literal_eval(value)  # JSON, or Python's own spelling, which older versions wrote
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        value = value.get("selected", value.get("choices", value))
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return cell_text(value).strip()


def flatten_answers(values: Mapping[str, Any]) -> dict[str, Any]:
    """`{"x": {"a": true}}` as `{"x.a": true}`, the way Potato's and MTurk's tables name it."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= {f"{name}.{key}": v for key, v in value.items()} if isinstance(value, dict) else {name: value}
    return flat


# Which rows a judge answered, where a table says so in a column that is not called `source`


MOST_SOURCES, ITEM_SOURCE = 20, "source of the item"  # more of them are no sources of answers
ADDED_SOURCE = "source, as other columns say it"  # a column that is added
RATER = r"(annotator|rater|evaluator|judge|labell?er|grader|worker|voter|assessor|preference|label|annotation|feedback)"
KIND = re.compile(rf"{RATER}s?_(type|kind|source|class|category)|(kind|type|source|class)_of_{RATER}s?")
PERSON = re.compile(rf"((is|by|from)_)?(a_)?(human|person)(_{RATER})?|{RATER}_is_(a_)?(human|person)")
MACHINE = re.compile(
    rf"((is|by|from)_)(an?_)?(llm|model|judge|ai|bot|machine|gpt|automatic|synthetic)(_{RATER})?|(llm|ai)_{RATER}"
    rf"|{RATER}_(is_)?(an?_)?(llm|model|ai|bot|machine)|(llm|ai|synthetic|automatic)"
)
MAYBE = re.compile(
    r"origin|type|quelle|herkunft|provenance|(annotated|labell?ed|rated|judged|evaluated|graded)_by|by|who"
    r"|(bewertet|beurteilt|annotiert)_(von|durch)|bewertung_(von|durch)|score_(von|durch)"
)
NO_WORDS = {"", "false", "no", "0", "0.0", "none", "nan", "null", "n/a", "human", "person", "nein", "non"}
YES_WORDS = {"true", "yes", "1", "1.0", "human", "person", "ja", "oui"}


def _holds_sources_of_items(words: Sequence[str]) -> bool:
    """Whether a column called `source` holds what was translated or asked: many texts, no word for raters."""
    known = {*PEOPLE, *get_args(Source), JUDGE}
    return len(words) > MOST_SOURCES and not any(folded_name(word) in known or is_judge_name(word) for word in words)


def add_source(table: RawTable, taken: Collection[str], source: str) -> tuple[RawTable, str]:
    """The table with the column that holds the source of every row, and its name; empty where nothing says it.

    A word for raters that is not known to mean people is refused by whoever reads the source. `taken` are the columns
    that hold something else.
    """
    if source and _holds_sources_of_items(table.values(source)):
        columns = {ITEM_SOURCE if name == source else name: cells for name, cells in table.columns.items()}
        table, source = replace(table, columns=columns), ""
    cells, is_said = table.text(source) if source else [""] * len(table), False
    for name in table.names:
        plain = plain_name(leaf_name(name))
        if name in taken or name == source or not table.values(name):
            continue
        words = table.text(name)
        if KIND.fullmatch(plain):
            marks = words
        elif PERSON.fullmatch(plain) and {word.lower() for word in table.values(name)} <= NO_WORDS | YES_WORDS:
            marks = [JUDGE if word and word.lower() not in YES_WORDS else "" for word in words]
        elif MACHINE.fullmatch(plain):
            marks = ["" if word.lower() in NO_WORDS else JUDGE for word in words]
        elif MAYBE.fullmatch(plain):
            marks = [JUDGE if is_judge_name(word) else "" for word in words]
        else:
            continue
        if any(marks):
            cells, is_said = [mark or cell for mark, cell in zip(marks, cells, strict=True)], True
    return (table.with_columns(**{ADDED_SOURCE: cells}), ADDED_SOURCE) if is_said else (table, source)
