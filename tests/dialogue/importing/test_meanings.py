"""Whatever the headers, words, sides, order and format: the true winner, or a refusal with exit code 2.

Files that nobody has seen are right at the first try, or asked about: one of the printed commands leads to the truth,
or none of them gives a number at all.
"""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.reading import Stated, meanings, parse_names
from seedvote.dialogue.importing.votes import read_judgements
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import table_in_memory
from tests.dialogue.importing.foreign_files import foreign_file
from tests.dialogue.importing.layouts import LAYOUTS, OTHER, TRUE, votes
from tests.dialogue.importing.test_shaping import written


def winners(table):
    """How often each system won by the reading that is taken; None where the table is refused."""
    try:
        found = read_judgements(table, Stated())
    except InputError:
        return None
    won = {}
    for row, choice in enumerate(found.choice):
        name = choice if choice == "tie" or not found.a else (found.a, found.b)["ab".index(choice)][row]
        won[name] = won.get(name, 0) + 1
    return won


def in_memory(rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    return table_in_memory("votes", {name: [row.get(name) for row in rows] for name in names})


def names_the_loser(won):
    """Whether a reading would print that beta is preferred."""
    tally = {name.casefold().strip(): number for name, number in (won or {}).items() if name != "tie"}
    return bool(tally) and max(tally, key=tally.__getitem__) == "beta"


MUTABLE = [name for name, one in LAYOUTS.items() if "frame" in one.formats and not one.options and not one.key]


def mutated(rows, random):
    """The rows with one or two headers or words changed, as people change them: mistyped, renamed, in other case.

    A word never becomes another legal one: that would be another vote.
    """
    rows = [dict(row) for row in rows]
    for _ in range(random.choice([1, 1, 2])):
        names = list(dict.fromkeys(name for row in rows for name in row))
        name = random.choice(names)
        if random.random() < 0.6:
            other = header(name, random)
            rows = [{other if key == name else key: cell for key, cell in row.items()} for row in rows]
        else:
            words = sorted({str(row.get(name)) for row in rows if isinstance(row.get(name), str)})
            if words and len(words) < 20:
                word = random.choice(words)
                other = spelling(word, random)
                rows = [{**row, name: other} if row.get(name) == word else row for row in rows]
    return rows


def header(name, random):
    at = random.randrange(max(1, len(name) - 1))
    turned = name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :]
    shorter = name[:at] + name[at + 1 :]
    ours = ["x", "left", "choice", "winner", "order", "label", "item", "response", "model", "source", "note"]
    return random.choice(
        [name.upper(), name.title(), name.replace("_", " "), name.replace("_", ""), f" {name} ", f"my_{name}",
         f"{name}_x", turned, shorter, f"col{at}", random.choice(ours)]
    )  # fmt: skip


def spelling(word, random):
    at = random.randrange(max(1, len(word)))
    shorter, longer = word[:at] + word[at + 1 :], f"{word}{word[-1:]}"
    return random.choice([word.upper(), word.title(), f" {word}", f"{word}.", shorter, longer, "", "?"])


def fuzz(number, seed):
    """The mutations whose reading names the loser, of `number`; every one of them is a wrong winner with exit 0."""
    from random import Random

    random, wrong, read = Random(seed), [], 0
    for _ in range(number):
        name = random.choice(MUTABLE)
        rows = mutated(LAYOUTS[name].rows(), random)
        won = winners(in_memory(rows))
        read += won is not None
        if names_the_loser(won):
            wrong.append((name, rows[:2], won))
    return wrong, read


def test_mutated_headers_and_words_never_name_the_loser():
    wrong, read = fuzz(150, 1)
    assert not wrong, wrong[:3]
    assert read > 30  # most are refused or read; a reader that refuses all would prove nothing


@pytest.mark.slow
def test_two_thousand_mutations_never_name_the_loser():
    wrong, read = fuzz(2000, 2)
    assert not wrong, wrong[:3]
    assert read > 500


@st.composite
def studies(draw):
    """Votes with drawn sides, order, words and columns of who stood where."""
    seed, words = draw(st.integers(0, 10_000)), draw(st.sampled_from([("a", "b"), ("A", "B"), ("model_a", "model_b")]))
    by_name, places = draw(st.booleans()), draw(st.booleans())
    rows = []
    for vote in votes(seed):
        row = {**vote.ids, "model_a": vote.a, "model_b": vote.b}
        if places:
            row |= {"left": vote.left, "choice": vote.place}
        else:
            row["choice"] = vote.won if by_name else words["ab".index(vote.response)]
        rows.append(row)
    return draw(st.permutations(rows))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(rows=studies(), form=st.sampled_from(["csv", "jsonl", "json", "frame"]))
def test_sides_order_and_format_change_no_winner(tmp_path, rows, form):
    source = written(tmp_path, rows, form)
    table = in_memory(rows) if form == "frame" else read_table(source)
    assert winners(table) == TRUE
    turned = [{**row, "model_a": row["model_b"], "model_b": row["model_a"], "left": OTHER.get(row.get("left"))}
              for row in rows]  # fmt: skip
    if "left" in rows[0]:  # the responses change their letters, and so does the left one: the place stays
        assert winners(in_memory(turned)) == TRUE


# Foreign files

MOST_TRIES = 5


def wins(table, options):
    """How often each system won; where none are named, alpha is response a, as the user knows."""
    columns = meanings(parse_names(options.get("--columns", ""), "--columns"), "--columns")
    values = meanings(parse_names(options.get("--values", ""), "--values"), "--values", theirs_first=True)
    judgements = read_judgements(table, Stated(columns=columns, values=values, tool=options.get("--from", "")))
    won = Counter()
    for row, choice in enumerate(judgements.choice):
        systems = {"a": judgements.a[row], "b": judgements.b[row]} if judgements.a else {}
        system = systems.get(choice, choice)
        won[{"a": "alpha", "b": "beta"}.get(system, system.casefold())] += 1
    return dict(won)


def added(options, way):
    """The options with those of a way that a refusal prints."""
    return {name: ",".join(filter(None, [options.get(name), way.get(name)])) for name in {*options, *way}}


def outcomes(table, options=None, tries=1):
    """Every end that a user who follows the printed commands can reach: a number of tries, `misled` or `refused`."""
    options = options or {}
    try:
        return [tries if wins(table, options) == TRUE else "misled"]
    except InputError as refusal:
        ways = getattr(refusal, "ways", ()) if tries < MOST_TRIES else ()
    ends = [end for way in ways for end in outcomes(table, added(options, way), tries + 1)]
    return ends or ["refused"]


def tried(numbers):
    """How files end, counted: right at which try, refused, wrong, or misled (numbers, and no command is right)."""
    ends, wrong = Counter(), []
    for number in numbers:
        file = foreign_file(number)
        names = dict.fromkeys(name for row in file.rows for name in row)
        reached = outcomes(table_in_memory("votes", {name: [row.get(name) for row in file.rows] for name in names}))
        right = [end for end in reached if isinstance(end, int)]
        end = min(right) if right else "misled" if "misled" in reached else "refused"
        end = "wrong" if reached == ["misled"] else end
        ends[end] += 1
        wrong += [file.name] if end in ("misled", "wrong") else []
    return ends, wrong


def test_foreign_files_are_right_or_asked_about():
    ends, wrong = tried(range(60))
    assert not wrong, wrong[:5]
    assert ends[1] + ends[2] > 40 and ends["refused"] < 4


@pytest.mark.slow
def test_two_thousand_foreign_files_are_right_or_asked_about():
    ends, wrong = tried(range(1000, 3000))
    assert not wrong, wrong[:5]
    assert ends["refused"] < 100
