"""The same votes give the same winner in every format, or both readings are told: never the loser with exit 0.

The truth: alpha beats beta 80 to 20. The sides are drawn by chance.
"""

import json
from random import Random

import pandas as pd
import pytest

from seedvote.analysis.votes.inputs import matches_of, ratings_of
from seedvote.analysis.votes.systems import contrasts
from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.reading import meanings, parse_names
from tests.analysis import worlds_tables as worlds

FORMATS = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet", "frame")


def truth(seed=3):
    """(number, who won, who is response a, which response stood on the left)."""
    rng = Random(seed)
    won = ["alpha"] * 80 + ["beta"] * 20
    rng.shuffle(won)
    return [(n, name, rng.choice(["alpha", "beta"]), rng.choice("ab")) for n, name in enumerate(won)]


def other(system):
    return {"alpha": "beta", "beta": "alpha", "a": "b", "b": "a", "left": "right", "right": "left"}[system]


def rows(choice, **more):
    """One row a vote: `choice` and every further column from (number, winner, response a, left)."""
    found = []
    for one in truth():
        n, _, a, _ = one
        row = {"pair": f"p{n % 50}", "rater": f"r{n // 5}", "model_a": a, "model_b": other(a), "choice": choice(*one)}
        row |= {name: cell(*one) for name, cell in more.items()}
        found.append({name: cell for name, cell in row.items() if cell is not None})
    return found


def response(_n, won, a, _left):
    return "a" if won == a else "b"


def place(_n, won, a, left):
    """The place of the winner."""
    return "left" if response(_n, won, a, left) == left else "right"


def letter_of_place(*one):
    return {"left": "A", "right": "B"}[place(*one)]


def left(_n, _won, _a, left):
    return left


def tally(source, *options):
    """Votes won by each system, ties aside."""
    typed = dict(zip(options[::2], options[1::2], strict=True))
    how = {"columns": meanings(parse_names(typed.get("--columns", ""), "--columns"), "--columns"),
           "values": parse_names(typed.get("--values", ""), "--values")}  # fmt: skip
    matches, known = matches_of(source, None, **how)
    (one,) = contrasts(matches)
    first, second = (one.first, one.second) if known else ("a", "b")
    return {first: int((one.votes.choice == 0).sum()), second: int((one.votes.choice == 1).sum())}


TRUE = {"alpha": 80, "beta": 20}


def source(tmp_path, rows, form):
    return pd.DataFrame(rows) if form == "frame" else worlds.write(tmp_path / f"votes.{form}", rows)


def right_way(doubt, tmp, file):
    """The outcomes of all ways that a refusal proposes."""
    return [tally(file, *(word for pair in way.items() for word in pair)) for way in doubt.value.ways]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("options", [(), ("--columns", "pair=pair,rater=rater")])
def test_one_table_has_one_winner_in_every_format(tmp_path, form, options):
    assert tally(source(tmp_path, rows(response), form), *options) == TRUE


@pytest.mark.parametrize("form", FORMATS)
def test_left_column_turns_answers_back(tmp_path, form):
    file = source(tmp_path, rows(place, left=left), form)
    assert tally(file) == TRUE
    with pytest.raises(Unclear, match=r"The readings differ in .*alpha 80, beta 20") as doubt:
        tally(file, "--values", "a=left,b=right")
    assert doubt.value.ways[0] == {"--values": "left=left,right=right"}
    assert tally(file, "--values", "left=left,right=right") == TRUE


@pytest.mark.parametrize("form", FORMATS)
def test_a_letter_that_may_be_a_place_is_refused_with_both_readings(tmp_path, form):
    file = source(tmp_path, rows(letter_of_place, left=left), form)
    both = r"\(as the response: alpha \d+, beta \d+\).*\(as the place: alpha 80, beta 20\)"
    with pytest.raises(Unclear, match=both) as doubt:
        tally(file)
    assert doubt.value.ways == ({"--values": "a=A,b=B"}, {"--values": "left=A,right=B"})
    assert tally(file, "--values", "left=A,right=B") == TRUE
    as_response = source(tmp_path, rows(lambda *one: response(*one).upper(), left=left), form)
    assert tally(as_response, "--values", "a=A,b=B") == TRUE


def test_letters_are_no_doubt_where_both_readings_agree(tmp_path):
    file = worlds.write(tmp_path / "votes.csv", rows(response, left=lambda *_: "a"))
    assert tally(file) == TRUE


@pytest.mark.parametrize("name", ["lfet", "position", "shown"])
def test_a_column_of_sides_under_any_name_is_asked_for(tmp_path, name):
    file = worlds.write(tmp_path / "votes.csv", rows(letter_of_place, **{name: left}))
    with pytest.raises(Unclear) as doubt:
        tally(file)
    assert TRUE in right_way(doubt, tmp_path, file)


def turned_often(choice, **more):
    """Votes whose sides were swapped in about 85 % of the rows: there a letter read in the wrong way names beta."""
    rng, table = Random(5), []
    for n, won, a, _ in truth():
        vote = (n, won, a, "b" if rng.random() < 0.85 else "a")
        row = {"pair": f"p{n % 50}", "rater": f"r{n // 5}", "model_a": a, "model_b": other(a), "choice": choice(*vote)}
        table.append(row | {name: cell(*vote) for name, cell in more.items()})
    return table


def words(straight, turned):
    """A cell that has one word where a stood on the left, and another one where b did."""
    return lambda _n, _w, _a, left: straight if left == "a" else turned


def names_in_order(_n, _w, a, left):
    return f"{a}-{other(a)}" if left == "a" else f"{other(a)}-{a}"


OPEN_ORDERS = {
    "order": words("normal", "swapped"), "model_order": names_in_order,
    "in_order": words(True, False), "position": words(0, 1), "position_b": words(1, 0), "a_left": words(True, False),
    "a_on_left": words(1, 0), "b_on_left": words(0, 1), "b_first": words(False, True), "second_ab": words("b", "a"),
    "permutation": words("01", "10"), "randomized": words(0, 1), "no_flip": words(True, False),
    "not_swapped": words(True, False), "unswapped": words(1, 0), "never_swapped": words("yes", "no"),
    "right": words("b", "a"), "original_order": words("yes", "no"), "a_first": words(True, False),
    "vertauscht": words("nein", "ja"), "orders": words(21, 12),
}  # fmt: skip


@pytest.mark.parametrize("name", OPEN_ORDERS)
def test_a_letter_with_a_column_that_may_say_the_order_is_asked_about(tmp_path, name):
    file = worlds.write(tmp_path / "votes.csv", turned_often(letter_of_place, **{name: OPEN_ORDERS[name]}))
    with pytest.raises(Unclear, match=f"names the side that was shown, or the response.*{name}") as doubt:
        tally(file)
    assert doubt.value.ways[0] == {"--values": "a=A,b=B"} and TRUE in right_way(doubt, tmp_path, file)
    with pytest.raises(Unclear, match=f"{name} may say which response stood there") as doubt:
        tally(file, "--values", "left=A,right=B")
    assert all(name in way["--columns"] for way in doubt.value.ways)
    letters = turned_often(lambda *one: response(*one).upper(), **{name: OPEN_ORDERS[name]})
    assert tally(worlds.write(tmp_path / "letters.csv", letters), "--values", "a=A,b=B") == TRUE


@pytest.mark.parametrize("name", [name for name in OPEN_ORDERS if name not in ("order", "model_order")])
def test_a_place_is_not_turned_back_by_a_column_that_leaves_the_order_open(tmp_path, name):
    file = worlds.write(tmp_path / "votes.csv", turned_often(place, **{name: OPEN_ORDERS[name]}))
    with pytest.raises(Unclear, match=f"{name} may say which response stood there.*alpha 80, beta 20") as doubt:
        tally(file)
    outcomes = right_way(doubt, tmp_path, file)
    assert len(outcomes) == 2 and TRUE in outcomes
    if name not in ("right", "second_ab"):
        with pytest.raises(Unclear, match=r"do not say for sure") as doubt:
            tally(file, "--columns", f"left={name}")
        assert TRUE in right_way(doubt, tmp_path, file)


@pytest.mark.parametrize("name", ["position_a", "a_pos", "side_a"])
@pytest.mark.parametrize("cells", [(0, 1), (1, 2), ("left", "right")])
def test_the_place_of_a_may_be_counted_from_0_or_1(tmp_path, name, cells):
    file = worlds.write(tmp_path / "votes.csv", turned_often(place, **{name: words(*cells)}))
    with pytest.raises(Unclear, match=f"always on the left.*as {name} says: alpha 80, beta 20"):
        tally(file)
    assert tally(file, "--columns", f"left={name}") == TRUE
    with pytest.raises(InputError, match="is 1 in every row, which is the first place or the second"):
        tally(worlds.write(tmp_path / "ones.csv", turned_often(place, **{name: words(1, 1)})))


def test_names_match_by_case_and_blanks(tmp_path):
    file = worlds.write(tmp_path / "votes.csv", rows(lambda _n, won, *_: f" {won.title()}"))
    assert tally(file) == TRUE


def test_sides_accept_a_word_for_a_system(tmp_path):
    long = {"alpha": "gpt-4o-2024-08-06", "beta": "claude-3-5"}
    table = rows(lambda _n, won, *_: {"alpha": "GPT-4o", "beta": "Claude"}[won])
    table = [{**row, "model_a": long[row["model_a"]], "model_b": long[row["model_b"]]} for row in table]
    file = worlds.write(tmp_path / "votes.csv", table)
    with pytest.raises(InputError, match=r"--values gpt-4o-2024-08-06=GPT-4o|--values claude-3-5=Claude") as doubt:
        tally(file)
    assert "a=" not in str(doubt.value)
    named = {"gpt-4o-2024-08-06": 80, "claude-3-5": 20}
    assert tally(file, "--values", "gpt-4o-2024-08-06=GPT-4o,claude-3-5=Claude") == named
    with pytest.raises(InputError, match="looks like the system 'gpt-4o-2024-08-06'"):
        tally(file, "--values", "a=GPT-4o,b=Claude")


@pytest.mark.parametrize("names", [("Modell_A", "Modell_B"), ("option_1", "option_2"), ("Variante 1", "Variante 2")])
@pytest.mark.parametrize("form", FORMATS)
def test_systems_under_other_names_are_recognised(tmp_path, names, form):
    table = [{names[0]: row.pop("model_a"), names[1]: row.pop("model_b"), **row} for row in rows(response)]
    assert tally(source(tmp_path, table, form)) == TRUE


def test_systems_under_names_that_say_no_side_are_asked_for(tmp_path):
    table = [{"ours": row.pop("model_a"), "theirs": row.pop("model_b"), **row} for row in rows(response)]
    file = worlds.write(tmp_path / "votes.csv", table)
    with pytest.raises(Unclear, match="ours and theirs hold the same names") as doubt:
        tally(file)
    assert TRUE in right_way(doubt, tmp_path, file)


def test_columns_called_left_and_right_may_hold_the_systems(tmp_path):
    table = rows(place)
    table = [{"left": row["model_a"], "right": row["model_b"], "pair": row["pair"], "rater": row["rater"],
              "choice": "left" if won == row["model_a"] else "right"}
             for row, (_, won, *_) in zip(table, truth(), strict=True)]  # fmt: skip
    assert tally(worlds.write(tmp_path / "votes.csv", table)) == TRUE
    assert tally(tmp_path / "votes.csv", "--columns", "system_a=left,system_b=right") == TRUE


def test_the_worse_response_is_no_choice(tmp_path):
    table = rows(lambda *one: other(response(*one)))
    table = [{"worse" if name == "choice" else name: cell for name, cell in row.items()} for row in table]
    file = worlds.write(tmp_path / "votes.csv", table)
    assert tally(file) == TRUE and tally(file, "--columns", "worse=worse") == TRUE
    with pytest.raises(Unclear, match="seems to name the worse response"):
        tally(file, "--columns", "choice=worse")


def test_a_column_of_choices_under_an_unknown_name_is_asked_for(tmp_path):
    table = [{"wrose" if name == "choice" else name: cell for name, cell in row.items()}
             for row in rows(lambda *one: other(response(*one)))]  # fmt: skip
    file = worlds.write(tmp_path / "votes.csv", table)
    with pytest.raises(Unclear, match="the better response, or the worse one") as doubt:
        tally(file)
    assert TRUE in right_way(doubt, tmp_path, file)


def renamed(table, name):
    """The rows with their answers under another name."""
    return [{name if key == "choice" else key: cell for key, cell in row.items()} for row in table]


TURNED_NAMES = ["less preferred response", "not_preferred", "non_preferred", "Which is less preferred?", "winner_not",
                "Which response would you not prefer?", "which response is not better", "second_best", "never_best",
                "preferred_not", "better_avoided", "Which do you prefer less?", "unpreferred best"]  # fmt: skip


@pytest.mark.parametrize("name", TURNED_NAMES)
@pytest.mark.parametrize("by_name", [False, True])
def test_a_name_that_may_say_the_opposite_of_better_is_asked_about(tmp_path, name, by_name):
    loser = rows(lambda n, won, a, left: other(won if by_name else response(n, won, a, left)))
    file = worlds.write(tmp_path / "votes.csv", renamed(loser, name))
    with pytest.raises(Unclear, match="the better response, or the worse one") as doubt:
        tally(file)
    assert [next(iter(way.values())) for way in doubt.value.ways] == [f"choice={name}", f"worse={name}"]
    assert right_way(doubt, tmp_path, file)[1] == TRUE


@pytest.mark.parametrize("name", ["a_not_preferred", "not_a_better", "is_a_less_preferred", "a_preferred_less"])
@pytest.mark.parametrize("words", [("True", "False"), ("1", "0"), ("yes", "no")])
def test_a_flag_whose_name_may_say_worse_is_asked_about_both_ways(tmp_path, name, words):
    table = renamed(rows(lambda *one: words[response(*one) == "a"]), name)
    file = worlds.write(tmp_path / "votes.csv", table)
    with pytest.raises(Unclear, match="response a is better or worse") as doubt:
        tally(file)
    assert right_way(doubt, tmp_path, file) == [{"alpha": 20, "beta": 80}, TRUE]


def counted(name, good=8, bad=2):
    return [{"item": f"q{n}", "model_a": "alpha", "model_b": "beta", name.format("a"): good, name.format("b"): bad}
            for n in range(20)]  # fmt: skip


@pytest.mark.parametrize("name", ["word_count_{}", "token_count_{}", "n_tokens_{}", "n_words_{}", "n_errors_{}"])
@pytest.mark.parametrize("answer", ["winner", "preference", "preferred", "vote", "better", "label"])
def test_a_count_of_words_is_no_count_of_votes(tmp_path, name, answer):
    longer = {"alpha": 5, "beta": 30}
    table = [{**row, name.format("a"): longer[row["model_a"]], name.format("b"): longer[row["model_b"]]}
             for row in renamed(rows(response), answer)]  # fmt: skip
    assert tally(worlds.write(tmp_path / "votes.csv", table)) == TRUE


LOSSES = ["n_losses_{}", "votes_against_{}", "n_worse_{}", "count_rejected_{}", "rejected_count_{}", "count_bad_{}",
          "won_against_{}", "wins_over_{}", "lost_votes_{}", "not_preferred_{}", "{}_lost_n", "{}_losses"]  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("few", [(2, 8), (1, 3)])
def test_losses_are_no_wins(tmp_path, name, few):
    file = worlds.write(tmp_path / "votes.csv", counted(name, *few))
    with pytest.raises(InputError, match="no column 'choice'"):
        tally(file)


@pytest.mark.parametrize("name", ["wins_{}", "n_wins_{}", "win_count_{}", "votes_{}", "n_{}", "{}_wins"])
def test_counts_of_wins_become_votes(tmp_path, name):
    table = counted(name)
    assert tally(worlds.write(tmp_path / "votes.csv", table)) == {"alpha": 160, "beta": 40}
    file = worlds.write(tmp_path / "both.csv", [{**row, "preference": "ab"[n > 15]} for n, row in enumerate(table)])
    with pytest.raises(Unclear, match="seem to count votes, and preference seems to hold the answer") as doubt:
        tally(file)
    assert right_way(doubt, tmp_path, file) == [{"alpha": 16, "beta": 4}]


@pytest.mark.parametrize("name", ["Answer.worse", "Answer.least_preferred", "Answer.not_preferred"])
def test_question_for_the_worse_is_not_read_as_the_better(tmp_path, name):
    table = [{"HITId": f"H{n}", "WorkerId": f"W{n // 5}", "Input.pair": row["pair"], "Input.model_a": row["model_a"],
              "Input.model_b": row["model_b"], name: row["choice"]}
             for n, row in enumerate(rows(lambda *one: other(response(*one))))]  # fmt: skip
    file = worlds.write(tmp_path / "votes.csv", table)
    with pytest.raises(Unclear) as doubt:
        tally(file)
    worse = () if doubt.value.ways[0] == {"--values": "a=a,b=b"} else ("--columns", f"worse={name}")
    if worse:
        assert {"--columns": f"worse={name}"} in doubt.value.ways
    assert tally(file, *worse, "--values", "a=a,b=b") == TRUE


@pytest.mark.parametrize(("name", "question"), [("question", "Which response is worse?"), ("task", "Pick the loser."),
    ("instruction", "Click the WORSE response"), ("criterion", "least helpful"),
    ("instructions", "Which is not better?"), ("question", "Which answer do you like less?"),
    ("dimension", "inferior")])  # fmt: skip
@pytest.mark.parametrize("answer", ["choice", "preference"])
def test_a_question_for_the_worse_response_is_asked_about(tmp_path, name, question, answer):
    table = renamed(rows(lambda *one: other(response(*one)), **{name: lambda *_: question}), answer)
    file = worlds.write(tmp_path / "votes.csv", table)
    with pytest.raises(Unclear, match=f"{name} asks .*{question[:20]}") as doubt:
        tally(file)
    assert right_way(doubt, tmp_path, file)[1] == TRUE
    plain = renamed(rows(response, **{name: lambda *_: "Which response is better?"}), answer)
    assert tally(worlds.write(tmp_path / "plain.csv", plain)) == TRUE


@pytest.mark.parametrize(
    "name", ["winner", "bleu_winner", "auto_choice", "label", "result", "predicted_winner", "prediction"]
)
def test_of_two_columns_of_answers_neither_is_taken(tmp_path, name):
    table = renamed(rows(response, **{name: lambda _n, _w, a, _left: "a" if a == "beta" else "b"}), "human_choice")
    file = worlds.write(tmp_path / "votes.csv", table)
    with pytest.raises(Unclear, match=r"may hold the choice|2 columns hold answers"):
        tally(file)
    assert tally(file, "--columns", "choice=human_choice") == TRUE


def test_a_system_that_is_called_like_a_column_of_the_other_one_is_refused(tmp_path):
    names = {"alpha": "Model B", "beta": "Model A"}
    table = [{**row, "model_a": names[row["model_a"]], "model_b": names[row["model_b"]]}
             for row in rows(lambda _n, won, *_: names[won])]  # fmt: skip
    with pytest.raises(InputError, match="is the name of a system and of a column"):
        tally(worlds.write(tmp_path / "votes.csv", table))


@pytest.mark.parametrize("first", [0, 1])
def test_the_number_of_a_response_in_a_list_may_count_from_0_or_1(tmp_path, first):
    table = [{"id": f"x{n}", "responses": [{"model": a}, {"model": other(a)}], "best": first + (won != a)}
             for n, won, a, _ in truth()]  # fmt: skip
    file = worlds.write(tmp_path / "votes.jsonl", table)
    with pytest.raises(Unclear) as doubt:  # as 1 may be the second, counted from 0
        tally(file, "--columns", "choice=best")
    assert tally(file, "--columns", "choice=best", "--values", doubt.value.ways[0]["--values"]) == TRUE


def test_an_empty_answer_that_may_be_a_tie_is_asked_for(tmp_path):
    table = rows(response)
    for row in table[:10]:
        row["choice"] = ""
    file = worlds.write(tmp_path / "votes.csv", table)
    with pytest.raises(Unclear, match="Is an empty answer a tie, or no vote") as doubt:
        tally(file)
    assert doubt.value.ways == ({"--values": 'tie=""'}, {"--values": '""=-'})
    votes = matches_of(file, None, values=[("tie", "")])[0].votes
    assert int(votes.tie.sum()) == 10
    assert len(matches_of(file, None, values=[("", "-")])[0].votes) == 90


def test_repeated_votes_count_once_and_are_asked_about(tmp_path):
    table = rows(response)
    again = worlds.write(tmp_path / "again.csv", [*table, *table[:10]])
    votes = matches_of(again, None)[0].votes
    assert len(votes) == 100 and votes.ledger.dropped == {"a later vote of the same rater on the same pair": 10}
    thrice = worlds.write(tmp_path / "thrice.csv", [*table, *table, *table])
    with pytest.raises(Unclear, match="200 of 300 answers are a further one of the same rater"):
        tally(thrice)


@pytest.mark.parametrize("word", ["GPT-4", "gpt4o-judge", "wiki", "auto-rater"])
@pytest.mark.parametrize("form", ["csv", "jsonl", "frame"])
def test_a_source_that_is_not_listed_is_no_persons(tmp_path, word, form):
    file = source(tmp_path, rows(response, source=lambda *_: word), form)
    with pytest.raises(InputError, match=r"source is .*(delete such rows|give the column another name)"):
        tally(file)
    assert tally(file, "--columns", "source=-") == TRUE
    assert tally(source(tmp_path, rows(response, source=lambda *_: "prolific"), form)) == TRUE


JUDGED = [("annotator_type", "human", "llm"), ("rater_type", "human", "model"), ("is_human", "True", "False"),
          ("is_llm", "0", "1"), ("judge_model", "", "gpt-4o"), ("evaluator_type", "person", "machine"),
          ("annotated_by", "human", "GPT-4"), ("origin", "human", "gpt-4"), ("annotator_kind", "expert", "auto"),
          ("type", "human", "ai"), ("kind_of_rater", "crowd", "LLM-as-judge"), ("human", "yes", "no")]  # fmt: skip


@pytest.mark.parametrize(("name", "person", "judge"), JUDGED)
@pytest.mark.parametrize("form", ["csv", "frame"])
def test_a_judges_rows_are_refused_under_any_name_of_their_column(tmp_path, name, person, judge, form):
    people = rows(response, **{name: lambda *_: person})
    verdicts = [{**row, "pair": f"j{row['pair']}", name: judge, "choice": other(row["choice"])} for row in people * 3]
    with pytest.raises(InputError, match=r"this vote is a judge's|source is .*, which"):
        tally(source(tmp_path, [*people, *verdicts], form))
    assert tally(source(tmp_path, people, form)) == TRUE


@pytest.mark.parametrize("rater", ["gpt-4", "GPT-4o", "gpt-4o-judge", "claude-3-opus", "llm_judge", "LLM", "ChatGPT",
                                   "AI", "gemini", "auto", "model"])  # fmt: skip
def test_a_rater_with_a_judges_name_is_no_person(tmp_path, rater):
    people = rows(response)
    verdicts = [{**row, "rater": rater, "choice": other(row["choice"])} for row in people]
    with pytest.raises(InputError, match="this vote is a judge's"):
        tally(worlds.write(tmp_path / "votes.csv", [*people, *verdicts]))


def test_the_number_of_a_row_names_no_pair(tmp_path):
    table = [{"id": n, **{name: cell for name, cell in row.items() if name not in ("pair", "rater")}}
             for n, row in enumerate(rows(response))]  # fmt: skip
    votes = matches_of(worlds.write(tmp_path / "votes.csv", table), None)[0].votes
    assert "no column names the pair" in votes.ledger.line and "pair=id" not in votes.ledger.line
    table = [{"prompt_id": row.pop("pair"), **row} for row in rows(response)]
    assert tally(worlds.write(tmp_path / "prompts.csv", table)) == TRUE


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("swapped", lambda _n, _w, _a, left: left == "b"),
        ("order", lambda _n, _w, _a, left: {"a": "AB", "b": "BA"}[left]),
        ("left_model", lambda _n, _w, a, left: a if left == "a" else other(a)),
    ],
)
def test_who_stood_on_the_left_may_be_said_in_other_ways(tmp_path, form, name, cell):
    table = rows(place, **{name: cell})
    file = source(tmp_path, table, form)
    try:
        assert tally(file) == TRUE
    except Unclear as doubt:
        ways = [tally(file, *(word for pair in way.items() for word in pair)) for way in doubt.ways]
        assert TRUE in ways


def test_checks_that_most_people_miss_show_that_sides_are_turned(tmp_path):
    table = rows(response)
    checks = [
        {**row, "pair": f"c{n}", "kind": "check", "answer": other(row["choice"])} for n, row in enumerate(table[:10])
    ]
    file = worlds.write(tmp_path / "votes.csv", [*({**row, "kind": "real", "answer": ""} for row in table), *checks])
    with pytest.raises(InputError, match="10 of 10 hidden checks were answered against 'answer'"):
        tally(file)


def scores(tmp_path, table, **how):
    found = ratings_of(worlds.write(tmp_path / "ratings.csv", table), **how)
    (one,) = found.contrasts
    return {one.contrast.first: float(one.first.mean()), one.contrast.second: float(one.second.mean())}


def test_the_same_objects_are_read_from_lines_and_from_an_array(tmp_path):
    table = rows(response)
    (tmp_path / "v.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table))
    (tmp_path / "v.json").write_text(json.dumps(table))
    assert tally(tmp_path / "v.jsonl") == tally(tmp_path / "v.json") == TRUE


@pytest.mark.parametrize(
    "names", [("text_left", "text_right"), ("left_text", "right_text"), ("LeftResponse", "RightResponse")]
)
def test_texts_that_were_shown_left_and_right_make_a_letter_a_doubt(tmp_path, names):
    """A and B of a page may be its two boxes; which system wrote the text in each is not in the table."""
    shown = dict(zip(names, (lambda *one: f"text {one[0]} l", lambda *one: f"text {one[0]} r"), strict=True))
    with pytest.raises(Unclear, match="names the side that was shown, or the response"):
        tally(source(tmp_path, rows(letter_of_place, **shown), "csv"))


def test_sides_of_one_system_never_propose_the_loser(tmp_path):
    table = [
        {"item": f"q{n}", "model": "alpha", "baseline": "beta", "result": "win" if won == "alpha" else "loss"}
        for n, won, *_ in truth()
    ]
    file = source(tmp_path, table, "csv")
    with pytest.raises(Unclear, match=r"If it is that of model: Add: --columns choice=result,system_a=model") as doubt:
        tally(file)
    assert "a=loss" not in str(doubt.value)
    assert right_way(doubt, tmp_path, file) == [TRUE]


def test_the_header_of_files_that_were_put_together_is_no_vote(tmp_path):
    table = rows(response)
    half = len(table) // 2
    text = pd.DataFrame(table[:half]).to_csv(index=False) + pd.DataFrame(table[half:]).to_csv(index=False)
    (tmp_path / "both.csv").write_text(text)
    assert tally(tmp_path / "both.csv") == tally(source(tmp_path, table, "csv"))


def test_alpaca_eval_leaderboard_is_no_annotation_file(tmp_path):
    """There 0 is a win of output_1; among annotations 0 is a tie and 1 a win of output_1."""
    table = [
        {"instruction": f"q{n}", "output_1": f"one {n}", "output_2": f"two {n}", "generator_1": "beta",
         "generator_2": "alpha", "annotator": "p1", "preference": float(won == "alpha")}
        for n, won, *_ in truth()
    ]  # fmt: skip
    with pytest.raises(InputError, match="how often output_2 wins, from 0 to 1"):
        tally(source(tmp_path, table, "json"))
    assert (
        tally(source(tmp_path, [row | {"preference": row["preference"] + 1} for row in table], "json"))["alpha"] == 80
    )


def test_a_number_of_a_scale_is_never_proposed_as_no_vote(tmp_path):
    """Typed, it left 1 and 2 of the scale to be read as letters."""
    table = [row | {"choice": n % 7 + 1} for n, row in enumerate(rows(response))]
    with pytest.raises(InputError) as doubt:
        tally(source(tmp_path, table, "csv"))
    assert '=-"' not in str(doubt.value)


@pytest.mark.parametrize("strengths", [(2, -1, 0, 9), (1, 5), (90, 20)])
def test_strengths_of_another_scale_are_not_read_as_helpsteers(tmp_path, strengths):
    table = [
        {"prompt": f"q{n}", "model_1": "alpha", "model_2": "beta", "response_1": f"one {n}", "response_2": f"two {n}",
         "preference_strength": strengths[n % len(strengths)]}
        for n in range(20)
    ]  # fmt: skip
    with pytest.raises(InputError, match="HelpSteer's are -3 to 3"):
        tally(source(tmp_path, table, "csv"))


@pytest.mark.parametrize("name", ["shown", "position"])
def test_fixed_order_is_not_proposed_beside_a_left_column(tmp_path, name):
    with pytest.raises(Unclear) as doubt:
        tally(source(tmp_path, rows(place, **{name: left}), "csv"))
    assert [way for way in doubt.value.ways if "--values" in way] == []


TIED = range(0, 100, 5)
WINNERS = [won for n, won, _, _ in truth() if n not in TIED]
WITH_TIES = {system: WINNERS.count(system) for system in ("alpha", "beta")}


def won_and_lost(name, yes, no):
    """Rows with a winner and a loser, where a column says which of them are ties."""
    return [
        {"item": n % 50, "rater": n // 5, "winner": won, "loser": other(won), name: yes if n in TIED else no}
        for n, won, _, _ in truth()
    ]


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        *(("draw", True, False), ("is_tie", "yes", "no"), ("Tie", 1, 0), ("both_equal", "x", "")),
        *(("result", "draw", "win"), ("Unentschieden", "ja", "nein"), ("égalité", "oui", "non")),
    ],
)
def test_ties_flagged_beside_a_winner_are_ties(tmp_path, name, yes, no):
    assert tally(worlds.write(tmp_path / "votes.csv", won_and_lost(name, yes, no))) == WITH_TIES


FLAGS_TO_ASK_ABOUT = [
    *(("outcome", "Tie", "decisive"), ("category", "both", "single", "named"), ("status", "draw", "won", "lost")),
    *(("gleich", True, False), ("no_difference", 1, 0), ("equally_good", "yes", "no"), ("undecided", "y", "n")),
    *(("same_quality", True, False), ("ex aequo", 1, 0), ("n_tie", 1, 0), ("draw_flag", "D", "W")),
    *(
        ("decisive", False, True),
        ("clear preference", "no", "yes"),
        ("has_winner", 0, 1),
        ("margin", 0, 2),
        ("preference_strength", 0.0, 1.5),
    ),
    *(("degree", "same", "much better"), ("gap", "none", "large")),
]


@pytest.mark.parametrize("flag", FLAGS_TO_ASK_ABOUT, ids=lambda flag: flag[0])
def test_what_may_mark_a_tie_beside_a_winner_is_asked_about(tmp_path, flag):
    name, yes, no, *not_asked = flag
    named = [{**row, name: yes if n in TIED else no} for n, row in enumerate(rows(response))]
    for form, table in (("lost", won_and_lost(name, yes, no)), ("named", named)):
        path = worlds.write(tmp_path / f"{form}.csv", table)
        if form not in not_asked:
            with pytest.raises(Unclear, match=rf"{name} is .*, and the answer names a winner.* Is it a tie\?") as doubt:
                tally(path)
            ways = [tally(path, "--columns", way["--columns"]) for way in doubt.value.ways]
            assert ways[0] == WITH_TIES and ways[-1] == TRUE
        assert tally(path, "--columns", f"tie={name}:{yes}") == WITH_TIES


def test_a_word_of_ties_that_no_cell_holds_is_refused(tmp_path):
    path = worlds.write(tmp_path / "votes.csv", won_and_lost("kind", "x", "y"))
    with pytest.raises(InputError, match="no cell of kind is 'z' "):
        tally(path, "--columns", "tie=kind:z")


@pytest.mark.parametrize(("name", "yes", "no"), [
    *(("tie_break", "yes", "no"), ("round", 1, 2), ("draw", "no", "no"), ("confidence", 0, 3)),
    *(("length_difference", 0, 12), ("same_topic", True, False)),
])  # fmt: skip
def test_what_flags_no_tie_changes_no_vote(tmp_path, name, yes, no):
    assert tally(worlds.write(tmp_path / "votes.csv", won_and_lost(name, yes, no))) == TRUE


def test_a_tie_with_a_winner_named_is_asked_about(tmp_path):
    table = [{**row, "tie": n in TIED} for n, row in enumerate(rows(response))]
    path = worlds.write(tmp_path / "votes.csv", table)
    with pytest.raises(Unclear, match="tie says that it is a tie"):
        tally(path)
    assert tally(path, "--columns", "tie=tie") == WITH_TIES and tally(path, "--columns", "tie=-") == TRUE
    for row in table:
        row["choice"] = "" if row["tie"] else row["choice"]
    assert tally(worlds.write(tmp_path / "blank.csv", table)) == WITH_TIES


def test_a_flag_that_nobody_can_read_is_refused(tmp_path):
    path = worlds.write(
        tmp_path / "votes.csv", [{**row, "tie": "?" if n else "yes"} for n, row in enumerate(rows(response))]
    )
    with pytest.raises(InputError, match="tie is neither yes nor no"):
        tally(path)


def test_a_column_called_as_answers_are_is_named_where_some_words_are_unknown(tmp_path):
    table = [{**row, "chosen_model": "none" if n in TIED else row[f"model_{row.pop('choice')}"]}
             for n, row in enumerate(rows(response))]  # fmt: skip
    path = worlds.write(tmp_path / "votes.csv", [{k: v for k, v in row.items() if k != "choice"} for row in table])
    with pytest.raises(Unclear, match="'chosen_model' seems to hold it") as doubt:
        tally(path)
    assert [dict(way) for way in doubt.value.ways] == [
        {"--columns": "choice=chosen_model", "--values": "none=-"},
        {"--columns": "choice=chosen_model", "--values": "tie=none"},
    ]


def test_rows_of_one_item_are_one_pair_in_battles_too(tmp_path):
    table = [{"item": row.pop("pair"), "winner": f"model_{row.pop('choice')}", **row} for row in rows(response)]
    votes = matches_of(worlds.write(tmp_path / "battles.csv", table), None)[0].votes
    assert votes.ledger.columns["pair"] == "item"
