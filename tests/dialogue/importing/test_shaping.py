"""Each of about eighty layouts gives the true winner at the first or second try, and the same votes in every format."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from seedvote.analysis.votes.inputs import matches_of
from seedvote.analysis.votes.systems import contrasts
from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.reading import Stated, meanings, parse_names
from seedvote.dialogue.importing.votes import read_judgements
from seedvote.dialogue.tables.reading import read_table
from tests.analysis import worlds_tables as worlds
from tests.dialogue.importing.layouts import LAYOUTS, TRUE, survey_key


def written(folder, rows, form):
    """The rows in one format; a frame stays in memory."""
    path = folder / f"votes.{form}"
    if form == "frame":
        return pd.DataFrame(rows)
    if form == "json":
        path.write_text(json.dumps(rows))
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "xlsx":
        pd.DataFrame(rows).to_excel(path, index=False)
    elif form == "parquet":
        pd.DataFrame(rows).to_parquet(path)
    else:
        text = io.StringIO()
        names = list(dict.fromkeys(name for row in rows for name in row))
        cells = [
            [json.dumps(c) if isinstance(c := row.get(name, ""), (list, dict)) else c for name in names] for row in rows
        ]
        csv.writer(text, delimiter="\t" if form == "tsv" else ",").writerows([names, *cells])
        path.write_text(text.getvalue())
    return path


def read(source, options, key=None):
    typed = dict(zip(options[::2], options[1::2], strict=True))
    how = {"columns": meanings(parse_names(typed.get("--columns", ""), "--columns"), "--columns"),
           "values": parse_names(typed.get("--values", ""), "--values")}  # fmt: skip
    if key is not None:
        how["wide"] = key
    if "--from" in typed:
        how["tool"] = typed["--from"]
    return matches_of(source, None, **how)


def tally(matches, known):
    (one,) = contrasts(matches)
    names = (one.first, one.second) if known else ("alpha", "beta")  # a is the first name
    first, second = (name.removesuffix("-2024-08") for name in names)
    return {first: int((one.votes.choice == 0).sum()), second: int((one.votes.choice == 1).sum())}


def first_or_second_try(folder, layout, form):
    """The votes as a user gets them: by what the table says, or by the right way of those its refusal prints."""
    key = None
    if layout.key:
        key = folder / "key.csv"
        pd.DataFrame(survey_key(layout.key)).to_csv(key, index=False)
    source = written(folder, layout.rows(), form)
    try:
        return read(source, layout.options, key)
    except Unclear as doubt:
        assert doubt.ways
        for way in doubt.ways:
            typed = [*layout.options, *(word for pair in way.items() for word in pair)]
            try:
                matches, known = read(source, typed, key)
            except InputError:
                continue
            if tally(matches, known) == TRUE:
                return matches, known
        raise


def two_of(number, formats):
    """Two formats of a layout, by turns: neighbours have others, so that each is read some twenty times."""
    return tuple(dict.fromkeys(formats[(number + step) % len(formats)] for step in (0, len(formats) // 2)))


# Two formats of each layout; all of them in make test-slow.
FORMATS = [
    pytest.param(name, forms, id=f"{name}-{which}", marks=marks)
    for number, (name, layout) in enumerate(LAYOUTS.items())
    for which, forms, marks in (
        ("two", two_of(number, layout.formats), []),
        ("all", layout.formats, pytest.mark.slow),
    )
]


@pytest.mark.parametrize(("name", "forms"), FORMATS)
def test_every_format_of_a_layout_gives_the_true_winner_and_the_same_rows(tmp_path, name, forms):
    layout, seen = LAYOUTS[name], []
    for form in forms:
        matches, known = first_or_second_try(tmp_path, layout, form)
        assert tally(matches, known) == TRUE, form
        votes, systems = matches.votes, np.array(matches.systems)
        raters = np.zeros(len(votes)) if votes.rater is None else np.array(votes.raters)[votes.rater]
        rows = [np.array(votes.pairs)[votes.pair], systems[matches.a], systems[matches.b], votes.choice, raters]
        seen.append([tuple(map(str, row)) for row in zip(*rows, strict=True)])
    assert all(rows == seen[0] for rows in seen)


def test_at_least_seventy_layouts_are_tried():
    assert len(LAYOUTS) >= 70


@pytest.mark.parametrize("columns", [("ours", "baseline"), ("x", "y")])
def test_ranks_of_sides_beside_systems_of_other_names_ask_whose_they_are(tmp_path, columns):
    table = [dict(zip(("item", *columns, "rank_a", "rank_b"), (f"i{n}", *sides, 1 + (won == "b"), 1 + (won == "a")),
                      strict=True))
             for n in range(40) for sides in [("alpha", "beta") if n % 3 else ("beta", "alpha")]
             for won in ["a" if (n % 5 != 0) == (sides[0] == "alpha") else "b"]]  # fmt: skip
    path = worlds.write(tmp_path / "ranks.csv", table)
    with pytest.raises(Unclear, match="rank two responses") as doubt:
        read_judgements(read_table(path), Stated())
    assert [*doubt.value.results] == ["alpha 32, beta 8", "alpha 8, beta 32"]


def test_ranks_of_letters_beside_systems_of_places_are_refused(tmp_path):
    table = [{"item": n, "model_left": "ab"[n % 2] * 3, "model_right": "ba"[n % 2] * 3, "rank_a": 1, "rank_b": 2}
             for n in range(20)]  # fmt: skip
    with pytest.raises(InputError, match="rank_left beside model_left"):
        read_judgements(read_table(worlds.write(tmp_path / "ranks.csv", table)), Stated())


def test_counts_beside_the_order_of_showing_are_votes(tmp_path):
    table = [{"item": n, "model_a": "alpha", "model_b": "beta", "left_is": "ab"[n % 2], "a_wins": int(n % 4 > 0),
              "b_wins": int(n % 4 == 0) if n != 4 else "NA"} for n in range(20)]  # fmt: skip
    stated = Stated(values={"a": "a", "b": "b"})  # left_is may mean that the letters are places: asked
    votes = read_judgements(read_table(worlds.write(tmp_path / "counts.csv", table)), stated)
    assert (votes.choice.count("a"), votes.choice.count("b")) == (15, 4)


def test_a_table_of_votes_that_begins_with_a_time_is_no_survey(tmp_path):
    table = [{"timestamp": f"2026-01-{n + 1:02}", "pair": f"p{n}", "model_a": "x1", "model_b": "y1",
              "preferred": "Response A" if n % 3 else "Response B"} for n in range(20)]  # fmt: skip
    assert read_judgements(read_table(worlds.write(tmp_path / "votes.csv", table)), Stated()).choice.count("a") == 13
