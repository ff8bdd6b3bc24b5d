"""Votes of any table: one path for every format and every tool, from columns and words to one judgement a row.

Each row becomes a vote, or is left out for a reason that is counted, or stops everything with one sentence. `as_votes`
makes records of ours of them: hashed raters, rounds by time, and the pairs that were shown. With the pairs file, every
judgement is looked up there, by the id of its pair or by its item and two systems.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.columns import (
    ANSWERS,
    Roles,
    TwoColumns,
    answer_cells,
    commonest_spellings,
    find_twins,
    plain_name,
)
from seedvote.dialogue.importing.meanings import TIED, Rows, same_text
from seedvote.dialogue.importing.reading import IGNORED, Reading, Stated, join_options
from seedvote.dialogue.importing.roles import WINNER_AND_LOSER, assign_roles
from seedvote.dialogue.importing.shaping import shape_table
from seedvote.dialogue.importing.sides import RowWinners, decide_sides, refuse_swapped_texts
from seedvote.dialogue.importing.tools import TOOLS, Tool
from seedvote.dialogue.importing.words import Kind, Meaning, fold_name, is_tie, read_word
from seedvote.dialogue.judges import JUDGE, door_of, is_judge_name, refusal, refuse_verdicts, whose
from seedvote.dialogue.records import Candidate, Choice, Pair, Side, Vote
from seedvote.dialogue.tables.table import RawTable

OWN = {"pair", "rater", "choice", "round", "left"}  # columns of our own votes, whose letters are responses
NO_ANSWERS = ("rejected", "discarded", "draft", "cancelled", "canceled", "skipped")  # states in which an answer is none
TOO_LATE = 1e11  # seconds since 1970 (the year 5138); a larger number is in milliseconds and not a time here
MOST_TRIED, MOST_WAYS = 20_000, 12  # rows of a table whose ways are tried, and ways that are printed
SEED, SEEDS = "seed", ("seed_a", "seed_b")
FEWEST_TURNED = 5  # votes that a rater gives both ways on one pair, and every later vote does
ZONES = {"UTC": "+0000", "GMT": "+0000", "PST": "-0800", "PDT": "-0700"}
COUNTS_FOR_IT = ", so a liking for that side counts as one for the system"
LETTERS: tuple[Choice, ...] = ("a", "b", "tie")


@dataclass(frozen=True, eq=False)
class Judgements:
    """The usable rows of a table as votes, in the order of their times where the tool tells them."""

    table: RawTable  # these rows, with all of their columns
    names: Mapping[str, str]  # our field -> its column
    choice: Sequence[Choice]
    pair: Sequence[str]
    left: Sequence[Side | None]
    a: Sequence[str]  # the system of each response; empty where none is named
    b: Sequence[str]
    times: Sequence[float]  # seconds since 1970; empty where some row has none
    reading: Reading
    tool: str
    texts: Sequence[tuple[str, str]] = ()

    def text(self, field: str) -> list[str]:
        """A field as text, empty where the table has none."""
        name = self.names.get(field)
        return [""] * len(self.choice) if name is None else self.table.text(name)


def read_judgements(table: RawTable, stated: Stated) -> Judgements:
    """The votes of a table, by the one reading that it has; several readings are refused with what settles them."""
    try:
        return _read_once(table, stated)
    except Unclear as doubt:
        raise (_settle_at_once(table, stated, doubt) if len(table) <= MOST_TRIED else doubt) from None


def _settle_at_once(table: RawTable, stated: Stated, doubt: Unclear) -> Unclear:
    """The doubt, with ways that also settle what would be asked next, and what every way gives."""
    later: list[str] = []
    ways = _try_ways(table, stated, doubt, later, 2)
    if len(ways) > MOST_WAYS or (doubt.results and not later):
        return doubt
    sentence = f"{doubt.sentence} Then: {later[0]}. Every command below settles all of it." if later else doubt.sentence
    results = [result for _, result in ways]
    return type(doubt)(sentence, *(way for way, _ in ways), results=results, conditional=doubt.conditional)


def _try_ways(
    table: RawTable, stated: Stated, doubt: Unclear, later: list[str], depth: int
) -> list[tuple[Mapping[str, str], str]]:
    """Every way to settle a doubt, and those that follow it (`later` gets their sentences), with its result."""
    ways: list[tuple[Mapping[str, str], str]] = []
    for way in doubt.ways:
        try:
            ways.append((way, _say_result(_read_once(table, stated.also(way)))))
        except Unclear as error:
            if error.conditional or len(error.ways) < 2:
                ways.append((way, ""))
                continue
            later.append(error.sentence.partition(". ")[0].removeprefix(f"{table.path}: ").rstrip("."))
            following = _try_ways(table, stated.also(way), error, later, depth - 1) if depth else []
            ways += [(join_options(way, more), result) for more, result in following] or [(way, "")]
        except InputError:
            ways.append((way, ""))
    return ways


def _say_result(judgements: Judgements) -> str:
    """`alpha 80, beta 20, tie 3`: how often each system won."""
    a, b = judgements.a or ["a"] * len(judgements.choice), judgements.b or ["b"] * len(judgements.choice)
    won = Counter(
        "tie" if choice == "tie" else (a if choice == "a" else b)[row] for row, choice in enumerate(judgements.choice)
    )
    return ", ".join(f"{name} {won[name]:,}" for name in sorted(won, key=lambda name: (name == "tie", name))[:8])


def _read_once(table: RawTable, stated: Stated) -> Judgements:
    refuse_verdicts(table.path, table.names)
    form = shape_table(table, stated)
    table, name, stated = form.table, form.tool, form.asked
    tool = TOOLS.get(name, Tool())
    table = _reshape(table, name, tool, stated)
    if not len(table):
        raise InputError(f"{table.path} holds no {'rows' if name == 'plain' else 'judgements'}.")
    table, roles, question = assign_roles(table, name, tool, stated)
    rows = _make_rows(table, roles)
    winners = _decide_winners(rows, tool, name, stated)
    rows = _tell_seeds_apart(rows)
    form_name = form.form or ("table of votes" if name == "plain" else f"{name} table")
    return _make_judgements(
        rows, winners, stated, name, form_name + question, Counter(form.dropped), form.rater, form.read
    )


def _reshape(table: RawTable, name: str, tool: Tool, stated: Stated) -> RawTable:
    try:
        return tool.reshape(table, stated.columns)
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{table.path} does not have the form of a {name} export ({error!r}).") from error


# Words and winners


def _decide_winners(rows: Rows, tool: Tool, name: str, stated: Stated) -> RowWinners:
    table, roles = rows.table, rows.roles
    own: dict[str, Meaning] = {}
    for word, ours in tool.values.items():
        kind: Kind = "tie" if ours == "tie" else "response" if tool.names_models else "place"
        own[word] = Meaning(kind, int(ours == "b"))
    letters = "response" if set(table.names) >= OWN and name == "plain" else tool.letters
    winners = decide_sides(rows, stated, own, letters)
    if roles.texts is not None:
        refuse_swapped_texts(rows, roles.names.get("pair"), winners.left)
    if "worse" in roles.names:
        winners = replace(winners, winner=[side if side in (None, TIED) else 1 - side for side in winners.winner])
    return winners


def _refuse_odd_names(table: RawTable, systems: TwoColumns, a: Sequence[str], b: Sequence[str]) -> None:
    """A sign or a tie is no system. Of winners and losers, two that are spelt nearly the same may be one."""
    for cells in (a, b):
        for cell in dict.fromkeys(cells):
            if cell and (is_tie(cell) or not any(sign.isalnum() for sign in cell)):
                where = table.place(cells.index(cell))
                raise InputError(
                    f"{where}: the system is {cell!r}, which is no name. Correct it, or leave the row out."
                )
    if systems.why == WINNER_AND_LOSER:
        for name in {*a} - {*b} - {""}:
            if near := get_close_matches(name, {*b} - {*a}, 1, 0.75):
                raise InputError(
                    f"{table.path}: {name!r} always won and {near[0]!r} always lost. If they are one "
                    "system, write its name in one way."
                )


def _make_rows(table: RawTable, roles: Roles) -> Rows:
    choice = answer_cells(table, roles.names.get("choice", roles.names.get("worse", "")))
    a: list[str] = []
    b: list[str] = []
    if (systems := roles.systems) is not None:
        a, b = table.text(systems.a), table.text(systems.b)
        kinds = table.text("kind") if "kind" in table.names else ["real"] * len(a)
        for name, cells in ((systems.a, a), (systems.b, b)):
            for row, cell in enumerate(cells) if "" in cells else ():
                if not cell and choice[row] and kinds[row] in ("real", ""):
                    raise InputError(f"{table.place(row)}: {name} is empty; every vote compares two systems.")
        _refuse_odd_names(table, systems, a, b)
        spelling = commonest_spellings([*filter(None, a), *filter(None, b)]) | {"": ""}
        spelt = {cell: spelling[fold_name(cell)] for cell in {*a, *b}}
        a, b = [spelt[cell] for cell in a], [spelt[cell] for cell in b]
    texts = roles.texts
    text_cells = ([], []) if texts is None else (table.text(texts.a), table.text(texts.b))
    return Rows(
        table, roles, choice, a, b, *text_cells, {fold_name(name): name for name in dict.fromkeys([*a, *b]) if name}
    )


def _tell_seeds_apart(rows: Rows) -> Rows:
    """Systems as `model-seed`, as studies name them, where two columns name the seeds and a system has several."""
    systems = rows.roles.systems
    twins = [two for shared, two in find_twins(rows.table.names) if SEED in shared] if systems else []
    if systems is None or len(twins) != 1:
        return rows
    (seeds,) = twins
    sides = (seeds.b, seeds.a) if systems.turned else (seeds.a, seeds.b)
    cells = [rows.table.text(name) for name in sides]
    named = {*zip(rows.a, cells[0], strict=True), *zip(rows.b, cells[1], strict=True)}
    if len(named) == len({system for system, _ in named}):
        return rows
    if seeds.kind != systems.kind:
        raise InputError(
            f"{rows.table.path}: {seeds.a} and {seeds.b} are seeds, and nobody knows which of them belongs to "
            f"{systems.a}. Name the columns of seeds as those of the systems, e.g. {SEED}_a and {SEED}_b."
        )
    a, b = (
        [f"{system}-{seed}" if seed else system for system, seed in zip(names, column, strict=True)]
        for names, column in zip((rows.a, rows.b), cells, strict=True)
    )
    return replace(rows, a=a, b=b, roles=replace(rows.roles, seeds=sides))


# What counts


def _make_judgements(
    rows: Rows,
    winners: RowWinners,
    stated: Stated,
    name: str,
    form: str,
    dropped: Counter[str],
    rater: Mapping[str, str],
    rows_read: int | None,
) -> Judgements:
    table, roles = rows.table, rows.roles
    names = dict(roles.names)
    pair = table.text(names["pair"]) if "pair" in names else [f"row {row + 1}" for row in range(len(table))]
    left_sides: list[Side | None] = [None if side is None else ("a", "b")[side] for side in winners.left]
    counted = _usable_rows(rows, names, pair, winners, dropped, own="round" in table.names)
    if not counted:
        reasons = "; ".join(f"{number} {reason}" for reason, number in dropped.items()) or "none"
        raise InputError(f"{table.path}: None of the {len(table)} judgements can be used: {reasons}.")
    times = _read_times(table, names, counted) if name != "plain" else []
    if times:
        order = sorted(range(len(counted)), key=lambda at: times[at])
        counted, times = [counted[at] for at in order], [times[at] for at in order]
    _refuse_failed_checks(rows, names, winners)
    notes = [*table.notes, *(["no column names the pair, so every row is one"] if "pair" not in names else [])]
    if note := _confounded_sides(rows, winners, counted):
        notes.append(note)
    columns_used = dict(names)
    if roles.systems is not None:
        columns_used |= {"system_a": roles.systems.a, "system_b": roles.systems.b}
        columns_used |= dict(zip(SEEDS, roles.seeds, strict=False))
    if roles.left is not None:
        columns_used["left"] = roles.left.name
    columns_used |= {**rater, **{ours: theirs for ours, theirs in stated.columns.items() if theirs == IGNORED}}
    silent = ("none", "blank", "text")
    words = {word: meaning.shown for word, meaning in winners.words.items() if meaning.kind not in silent}
    evidence = {**roles.why, **({"systems": roles.systems.why} if roles.systems else {}), **winners.evidence}
    number = len(table) if rows_read is None else rows_read
    unread = tuple(name for name in table.names if name not in columns_used.values())
    reading = Reading(form, number, columns_used, words, dict(dropped), tuple(notes), evidence=evidence, unread=unread)
    texts = [(rows.text_a[row], rows.text_b[row]) for row in counted] if roles.texts else []
    return Judgements(
        table.take(counted),
        names,
        [LETTERS[winners.winner[row] or 0] for row in counted],
        [pair[row] for row in counted],
        [left_sides[row] for row in counted],
        [rows.a[row] for row in counted] if rows.a else (),
        [rows.b[row] for row in counted] if rows.b else (),
        times,
        reading,
        name,
        texts,
    )


def _confounded_sides(rows: Rows, winners: RowWinners, counted: Sequence[int]) -> str:
    """That one system of every two always stood on the left, where it is known who did; empty otherwise."""
    responses = {word: read_word(word) for word, meaning in winners.words.items() if meaning.kind == "response"}
    places = {word for word, spoken_word in responses.items() if spoken_word and spoken_word.kind == "place"}
    left_sides = [0 if rows.choice[row] in places else winners.left[row] for row in counted]
    if None in left_sides and not (places and set(left_sides) <= {0, None}):
        return ""
    if not rows.a:
        is_constant = len({*left_sides}) == 1 and len(left_sides) > 1
        response = f"response {'ab'[left_sides[0] or 0]}"
        return f"{response} always stood on the left{COUNTS_FOR_IT}" if is_constant else ""
    on_left = {
        ((rows.a, rows.b)[side or 0][row], (rows.b, rows.a)[side or 0][row])
        for row, side in zip(counted, left_sides, strict=True)
    }
    if len(counted) < 2 or any((second, first) in on_left for first, second in on_left):
        return ""
    who = next(iter(on_left))[0] if len(on_left) == 1 else "one system of every two"
    return f"{who} always stood on the left{COUNTS_FOR_IT}"


def _usable_rows(
    rows: Rows, names: Mapping[str, str], pair: Sequence[str], winners: RowWinners, dropped: Counter[str], *, own: bool
) -> list[int]:
    """The rows that count, and why the others do not: rejected, blank, sent twice, a second vote of one rater."""
    table = rows.table
    cells = {field: table.text(names[field]) for field in ("rater", "status", "submission") if field in names}
    by_tool = names.get("status") not in (None, "status")
    cells |= {"rater": answer_cells(table, names["rater"])} if "rater" in names else {}
    _ask_what_blanks_are(rows, cells.get("status"), winners)
    raters, states, submissions = (cells.get(field) for field in ("rater", "status", "submission"))
    counted: list[int] = []
    sent, voted, again, turned = set[str](), dict[tuple[str, ...], str](), 0, 0
    for row in _first_to_last(table, names):
        word = rows.choice[row]
        kind = winners.words[word].kind
        if not pair[row]:
            raise InputError(f"{table.place(row)}: pair is empty; give every vote one, or take the row out.")
        submission = submissions[row] if submissions else ""
        system_a, system_b = (rows.a[row], rows.b[row]) if rows.a else ("a", "b")
        rater = raters[row] if raters else ""
        vote = (rater, pair[row], *((system_a, system_b) if system_a < system_b else (system_b, system_a)))
        if states and is_no_answer(states[row], by_tool):
            dropped["rejected, or skipped by the rater"] += 1
        elif kind == "blank":
            dropped["nothing was chosen"] += 1
        elif kind == "none":
            dropped[f"{word!r}, stated as no vote"] += 1
        elif system_a == system_b and system_a:
            dropped["both systems are the same"] += 1
        elif submission and submission in sent:
            dropped["the same submission again"] += 1
        elif rater and vote in voted and not own:
            dropped["a later vote of the same rater on the same pair"] += 1
            again += 1
            turned += word != voted[vote]
        else:
            counted.append(row)
            voted[vote] = word
        sent.add(submission)
    if turned == again >= max(FEWEST_TURNED, 0.8 * len(counted)):
        raise InputError(
            f"{table.path}: the same rater gives one answer and another on the same pair, {again:,} times of "
            f"{len(counted):,}. So {names['choice']} names the response that a row is about, and no choice. Compare "
            f"ratings of responses by python -m analysis ratings {table.path} --columns system={names['choice']}"
        )
    if again > len(counted):
        raise Unclear(
            f"{table.path}: {again:,} of {again + len(counted):,} answers are a further one of the same rater on the "
            f"same pair ({names['pair']}, {names['rater']}). Is every row a comparison of its own (pair=-), or is the "
            "rater not who answered (rater=-)? Otherwise name the right column: --columns pair=...",
            {"--columns": "pair=-"},
            {"--columns": "rater=-"},
        )
    return sorted(counted)


def is_no_answer(status: str, flags: bool) -> bool:
    """Whether a state says that the answer is none; `true` does where the column says that it was cancelled."""
    return status.lower() in NO_ANSWERS or (flags and status.lower() == "true")


def _first_to_last(table: RawTable, names: Mapping[str, str]) -> list[int]:
    """The rows by time, where every row has one that can be read; otherwise as they stand."""
    rows = list(range(len(table)))
    if "submitted" not in names:
        return rows
    try:
        times = [seconds_since_1970(cell, "") for cell in table.text(names["submitted"])]
    except InputError:
        return rows
    return sorted(rows, key=lambda row: times[row])


def _ask_what_blanks_are(rows: Rows, status: Sequence[str] | None, winners: RowWinners) -> None:
    """An empty answer where no word says tie may be a tie."""
    blank = [
        row
        for row, word in enumerate(rows.choice)
        if winners.words[word].kind == "blank" and (status is None or not is_no_answer(status[row], True))
    ]
    answered = any(meaning.kind not in ("blank", "none") for meaning in winners.words.values())
    if blank and answered and not any(meaning.kind in ("tie", "none") for meaning in winners.words.values()):
        raise Unclear(
            f"{rows.place(blank[0])}: the answer is empty ({len(blank):,} of {len(rows.choice):,} rows), and no answer "
            "says tie. Is an empty answer a tie, or no vote?",
            {"--values": 'tie=""'},
            {"--values": '""=-'},
        )


def _refuse_failed_checks(rows: Rows, names: Mapping[str, str], winners: RowWinners) -> None:
    """Hidden checks have a known answer: where most raters miss it, the sides are turned."""
    table = rows.table
    plain = {plain_name(name): name for name in table.names if name not in names.values()}
    answer = next((plain[word] for word in ANSWERS if word in plain), "")
    if "kind" not in table.names or not answer:
        return
    met = missed = 0
    for row, (kind, cell) in enumerate(zip(table.text("kind"), table.text(answer), strict=True)):
        if kind == "check" and cell in ("a", "b") and winners.winner[row] in (0, 1):
            met += winners.winner[row] == "ab".index(cell)
            missed += winners.winner[row] != "ab".index(cell)
    if missed > met and missed > 2:
        raise InputError(
            f"{table.path}: {missed} of {met + missed} hidden checks were answered against {answer!r}, so the sides "
            "seem to be turned. Say what the answers mean: --values a=...,b=..., or left=...,right=..."
        )


# Times


def _read_times(table: RawTable, names: Mapping[str, str], counted: Sequence[int]) -> list[float]:
    if "submitted" not in names:
        return []
    cells = table.text(names["submitted"])
    if not all(cells[row] for row in counted):
        return []
    return [seconds_since_1970(cells[row], table.place(row)) for row in counted]


def seconds_since_1970(cell: str, where: str) -> float:
    """A time as people and tools write it."""
    text = re.sub(r"\b(UTC|GMT|PST|PDT)\b", lambda match: ZONES[match[0]], cell)
    with contextlib.suppress(ValueError):
        if 0 <= float(text) < TOO_LATE:
            return float(text)
    for parse in (datetime.fromisoformat, lambda t: datetime.strptime(t, "%a %b %d %H:%M:%S %z %Y")):
        try:
            time = parse(text)
        except ValueError:
            continue
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    raise InputError(
        f"{where}: {cell!r} is not a time. Known forms: ISO 8601, seconds since 1970, and MTurk's `Mon Nov 16 21:23:44 "
        "PST 2020`."
    )


# As records of ours


@dataclass(frozen=True, slots=True)
class Imported:
    """The votes, and what became of everything that was read."""

    votes: Sequence[Vote]
    read: int
    dropped: Mapping[str, int]  # reason -> judgements
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class ImportRules:
    """What the user states about the file, because the file does not say it."""

    file_order: bool = False  # no times: the order of the file stands for the order of the votes
    judges: Mapping[str, str] | None = None  # plain names of judges, and where they are named
    with_judges: bool = False  # keep their votes, marked as theirs


def as_votes(
    judgements: Judgements, rules: ImportRules, pairs: Sequence[Pair] | None, rater_id: Callable[[str], str]
) -> Imported:
    """Every judgement becomes a vote, or the whole import stops."""
    if not judgements.times and not rules.file_order:
        raise InputError(
            f"{judgements.table.place(0)}: no time of submission, so the order of the votes is unknown. Name its "
            "column: --columns submitted=..., or state --file-order: then a round is a place in the file."
        )
    known = {pair.pair: pair for pair in pairs} if pairs is not None else None
    fields = {name: judgements.text(name) for name in ("rater", "source", "seconds", "item", "dialogue")}
    dropped, rounds = Counter(judgements.reading.dropped), defaultdict[str, int](int)
    votes = []
    for row, choice in enumerate(judgements.choice):
        cells = {name: column[row] for name, column in fields.items()}
        where = judgements.table.place(row)
        by_judge = _is_from_judge(where, cells, rules)
        if not cells["rater"]:
            raise InputError(f"{where}: rater is empty; every judgement needs one.")
        pair, lookup = _look_up(judgements, row, where, choice, pairs, known)
        if pair is not None and pair.kind == "check":
            dropped["an answer to a hidden check"] += 1
            continue
        rounds[lookup.pair] += 1
        votes.append(
            Vote(
                pair=lookup.pair,
                rater=cells["rater"] if by_judge else rater_id(cells["rater"]),
                choice=lookup.choice,
                round=rounds[lookup.pair],
                left=lookup.left,
                seconds=_read_number(cells["seconds"], where),
                submitted=format_utc(judgements.times[row]) if judgements.times else None,
                source="judge" if by_judge else "imported",
                kind=pair.kind if pair else "real",
                identical=pair.identical if pair else False,
                dialogue=(pair.dialogue if pair else None) or cells["dialogue"] or None,
                extra={"tool": judgements.tool, **lookup.systems, **({"item": lookup.item} if lookup.item else {})},
            )
        )
    if not votes:
        reasons = "; ".join(f"{number} {reason}" for reason, number in dropped.items())
        raise InputError(f"None of the {judgements.reading.read} judgements can be used: {reasons}.")
    return Imported(votes, judgements.reading.read, dict(dropped), _notes_on_votes(votes, known))


@dataclass(frozen=True, slots=True)
class _Turned:
    """A judgement in the names and sides of the pairs file; without one, in the order of the systems' names."""

    pair: str
    choice: Choice
    left: Side | None
    systems: Mapping[str, str]
    item: str


def _look_up(
    judgements: Judgements,
    row: int,
    where: str,
    choice: Choice,
    pairs: Sequence[Pair] | None,
    known: Mapping[str, Pair] | None,
) -> tuple[Pair | None, _Turned]:
    name, item, left_side = (
        judgements.pair[row],
        judgements.text("item")[row] if "item" in judgements.names else "",
        judgements.left[row],
    )
    systems = (judgements.a[row], judgements.b[row]) if judgements.a else None
    if pairs is None or known is None:
        if systems is None:
            return None, _Turned(name, choice, left_side, {}, item)
        first, second = sorted(systems)
        turned = systems[0] != first
        names = {"system_a": first, "system_b": second}
        return None, _Turned(f"{name}|{first}|{second}", *_turn_vote(choice, left_side, turned), names, item or name)
    if systems is None:
        if name not in known:
            raise InputError(f"{where}: pair {name!r} is not in the pairs file. Give the file that was shown.")
        _refuse_swapped(judgements, row, where, known[name], ("a", "b"))
        return known[name], _Turned(name, choice, left_side, {}, item)
    near = [known[name]] if name in known else [pair for pair in pairs if pair.item == name]
    fits = [
        (pair, turned)
        for pair in near
        for turned, (first, second) in ((False, systems), (True, systems[::-1]))
        if first in _names_of_side(pair.a) and second in _names_of_side(pair.b)
    ]
    if len(fits) != 1:
        raise InputError(f"{where}: {len(fits)} pairs compare {' and '.join(systems)} on item {name!r}.")
    pair, turned = fits[0]
    _refuse_swapped(judgements, row, where, pair, systems)
    names = {"system_a": pair.a.model, "system_b": pair.b.model}
    return pair, _Turned(pair.pair, *_turn_vote(choice, left_side, turned), names, item or name)


def _turn_vote(choice: Choice, left_side: Side | None, turned: bool) -> tuple[Choice, Side | None]:
    if not turned:
        return choice, left_side
    turned_choice: dict[str | None, Choice] = {"a": "b", "b": "a", "tie": "tie"}
    side: dict[str | None, Side | None] = {"a": "b", "b": "a", None: None}
    return turned_choice[choice], side[left_side]


def _names_of_side(side: Candidate) -> tuple[str, str]:
    return side.model, f"{side.model}-{side.seed}"


def _refuse_swapped(judgements: Judgements, row: int, where: str, pair: Pair, sides: tuple[str, str]) -> None:
    """Texts that the table and the pairs file both have must stand on the same sides."""
    if not judgements.texts:
        return
    texts = dict(zip(sides, judgements.texts[row], strict=True))
    for side, response, rival in (("a", pair.a, pair.b), ("b", pair.b, pair.a)):
        text = next((texts[name] for name in (side, *_names_of_side(response)) if name in texts), "")
        if text and same_text(text, rival.text) and not same_text(text, response.text):
            raise InputError(
                f"{where}: the table and the pairs file have the two responses of pair {pair.pair!r} on opposite "
                f"sides: response {side} there is the other response here. Give the pairs file that was shown, "
                "or mend the columns of the texts."
            )


def _is_from_judge(where: str, cells: Mapping[str, str], rules: ImportRules) -> bool:
    """A judge's answer stops the import, unless judges may be among the raters."""
    judges = rules.judges or {}
    by_name = whose("", cells["rater"], judges)
    if by_name is None and is_judge_name(cells["rater"]):
        by_name = f"is {cells['rater']!r}, a judge's name"
    if door_of(cells["source"], where) != JUDGE and by_name is None:
        return False
    if not rules.with_judges:
        raise refusal(where, by_name or "")
    return True


def _read_number(cell: str, where: str) -> float | None:
    if not cell:
        return None
    try:
        if math.isfinite(float(cell)):
            return float(cell)
    except ValueError:
        pass
    raise InputError(f"{where}: seconds is {cell!r}, which is not a number.")


def format_utc(seconds: float) -> str:
    """A time as our files write it: ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _notes_on_votes(votes: Sequence[Vote], known: Mapping[str, Pair] | None) -> list[str]:
    """What the reader of the votes should know."""
    times = Counter(Counter(vote.pair for vote in votes).values())
    notes = []
    if judged := [vote.rater for vote in votes if vote.source == JUDGE]:
        verb, who, them = ("is", "a judge's", "it") if len(judged) == 1 else ("are", "judges'", "them")
        notes.append(
            f"{len(judged):,} of {len(votes):,} votes {verb} {who} ({', '.join(sorted(set(judged)))}). Every analysis "
            f"refuses {them}, unless --with-judges says to treat judges as raters."
        )
    if len(times) > 1:
        notes.append("Votes a pair: " + ", ".join(f"{k} on {n} of them" for k, n in sorted(times.items())) + ".")
    if known is not None:
        real = {name for name, pair in known.items() if pair.kind != "check"}
        if empty := len(real - {vote.pair for vote in votes}):
            notes.append(f"{empty} of {len(real)} pairs have no vote.")
    sides = {vote.choice for vote in votes} - {"tie"}
    if len(sides) == 1 and len(votes) >= 20:
        notes.append(f"Nobody chose {'b' if sides == {'a'} else 'a'}: check how the tool writes it.")
    return notes
