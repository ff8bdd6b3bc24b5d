"""Tables in other languages and of further tools: the true winner at the first or second try, and never the loser."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedvote.analysis.votes.cautions import told_of_reading
from seedvote.analysis.votes.inputs import ratings_of
from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.tools import OnScale
from tests.analysis import worlds_tables as worlds
from tests.dialogue.importing.layouts import OTHER, TRUE, Layout, table
from tests.dialogue.importing.test_shaping import first_or_second_try, read, tally, written

SIDES = ("a", "b")
TEXTS = {"alpha": "Yes.", "beta": "No."}


def plain(**columns):
    """Two systems, and columns that are made of each vote."""
    return lambda: table(lambda v: {**v.ids, **v.systems, **{name: cell(v) for name, cell in columns.items()}})


def bare(**columns):
    """Columns that are made of each vote, and a pair."""
    return lambda: table(lambda v: {"item": f"i{v.n}", **{name: cell(v) for name, cell in columns.items()}})


def each_response(**columns):
    """Two rows a pair, each of one system."""
    return lambda: [row for rows in table(lambda v: [
        {"item": f"i{v.n}", "model": system, **{name: cell(v, system) for name, cell in columns.items()}}
        for system in TEXTS
    ]) for row in rows]  # fmt: skip


def by_response(first, second):
    return lambda v: first if v.response == "a" else second


def by_place(first, second):
    return lambda v: first if v.place == "left" else second


def on_left(v):
    return v.on_left


def on_right(v):
    return v.on_right


def argilla_ranking(v):
    ranks = [{"value": f"response_{side}", "rank": 1 + (side != v.response)} for side in SIDES]
    return {"id": f"rec-{v.n}", "fields": {"prompt": "Hi"}, "metadata": v.systems,
            "responses": {"better": [{"value": ranks, "user_id": f"u{v.n // 5}"}]}}  # fmt: skip


def argilla_ratings(v):
    ratings = {f"rating_{side}": [{"value": 5 if side == v.response else 2, "user_id": "u"}] for side in SIDES}
    return {"id": f"rec-{v.n}", "fields": {"prompt": "Hi"}, "metadata": v.systems, "responses": ratings}


def prodigy_numbers(v):
    options = [{"id": 1, "text": "x", "meta": {"model": v.a}}, {"id": 2, "text": "y", "meta": {"model": v.b}}]
    return {"text": "Hi", "options": options, "accept": [1 + (v.response == "b")], "answer": "accept",
            "_input_hash": v.n, "_task_hash": v.n, "_session_id": f"s{v.n // 5}"}  # fmt: skip


def prodigy_compare(v):
    """The first file, which is alpha's, stands under accept or under reject."""
    alpha = ("accept", "reject")[v.left == "b"]
    answer = alpha if v.won == "alpha" else {"accept": "reject", "reject": "accept"}[alpha]
    mapping = {"A": alpha, "B": "reject" if alpha == "accept" else "accept"}
    return {"id": v.n, "A": {"text": "x"}, "B": {"text": "y"}, "mapping": mapping, "answer": answer,
            "_session_id": f"s{v.n // 5}"}  # fmt: skip


def jspsych_keys(left, right):
    return lambda: table(lambda v: {
        "trial_type": "html-keyboard-response", "trial_index": v.n, "rt": 900, "subject": f"s{v.n // 5}",
        "response": by_place(left, right)(v), "left_model": v.on_left, "right_model": v.on_right,
    })  # fmt: skip


FILES = {
    "german letters": bare(Modell_A=lambda v: v.a, Modell_B=lambda v: v.b, Antwort=by_response("A", "B")),
    "german sentences": plain(choice=by_response("A ist besser", "B ist deutlich besser")),
    "german places": bare(Links=on_left, Rechts=on_right, Besser=by_place("links", "rechts")),
    "german worse": bare(Modell_A=lambda v: v.a, Modell_B=lambda v: v.b, schlechter=by_response("B", "A")),
    "german question": bare(Frage=lambda v: "Welche Antwort ist schlechter?", Modell_A=lambda v: v.a,
                            Modell_B=lambda v: v.b, Antwort=by_response("B", "A")),
    "german order": plain(Reihenfolge=lambda v: "AB" if v.left == "a" else "BA", Wahl=by_place("links", "rechts")),
    "french places": bare(modèle_gauche=on_left, modèle_droite=on_right, préférence=by_place("gauche", "droite")),
    "spanish worse": bare(modelo_a=lambda v: v.a, modelo_b=lambda v: v.b, peor=by_response("B", "A")),
    "chinese places": bare(左=on_left, 右=on_right, 选择=by_place("左", "右")),
    "chinese worse": bare(模型A=lambda v: v.a, 模型B=lambda v: v.b, 较差=by_response("B", "A")),
    "japanese winner": bare(モデルA=lambda v: v.a, モデルB=lambda v: v.b, 勝者=lambda v: v.won),
    "wins": plain(choice=lambda v: f"{v.won} wins"),
    "loses": plain(choice=lambda v: f"{OTHER[v.won]} loses"),
    "greater": plain(choice=lambda v: f"{v.won} > {OTHER[v.won]}"),
    "smaller": plain(choice=lambda v: f"{OTHER[v.won]} < {v.won}"),
    "unknown words": plain(choice=by_response("lavender", "mint")),
    "flag of a system": plain(alpha_better=lambda v: v.won == "alpha"),
    "flag of a loser": plain(beta_lost=lambda v: v.won == "alpha"),
    "one beats the other": plain(a_beats_b=lambda v: v.response == "a"),
    "b loses": plain(b_loses=lambda v: v.response == "a"),
    "probability": plain(prob_a=by_response(0.8, 0.1)),
    "outcome": bare(model=lambda v: v.a, opponent=lambda v: v.b, outcome=by_response("win", "loss")),
    "outcome of ours": bare(ours=lambda v: "alpha", baseline=lambda v: "beta",
                            choice=lambda v: "win" if v.won == "alpha" else "lose"),
    "best and worst of two": bare(best=lambda v: v.won, worst=lambda v: OTHER[v.won]),
    "more and less": bare(more_natural=lambda v: v.won, less_natural=lambda v: OTHER[v.won]),
    "one system on the left, winner named": plain(model_a=lambda v: None, model_b=lambda v: None,
                                                  system_left=on_left, winner=lambda v: v.won),
    "order of names": plain(order=lambda v: f"{v.on_left}, {v.on_right}", choice=lambda v: v.place),
    "text on the left": plain(response_a=lambda v: f"{v.a} {v.n}", response_b=lambda v: f"{v.b} {v.n}",
                              left_response=lambda v: f"{v.on_left} {v.n}", choice=lambda v: v.place),
    "ranks by number": bare(system1Id=lambda v: v.a, system2Id=lambda v: v.b, system1rank=by_response(1, 2),
                            system2rank=by_response(2, 1)),
    "names by rank": bare(rank_1=lambda v: v.won, rank_2=lambda v: OTHER[v.won]),
    "two questions in codes": plain(fluency_choice=by_response(2, 1), overall_choice=by_response(1, 2)),
    "codes and two pairs of columns": plain(better_response_id=by_response(0, 1), response_0=lambda v: TEXTS[v.a],
                                            response_1=lambda v: TEXTS[OTHER[v.a]], response_0_source=lambda v: v.a,
                                            response_1_source=lambda v: v.b, model_a=lambda v: None,
                                            model_b=lambda v: None),
    "keys": jspsych_keys("arrowleft", "arrowright"),
    "letters of keys": jspsych_keys("f", "j"),
    "scores of responses": plain(score_a=by_response(5, 2), score_b=by_response(3, 4)),
    "scores of places": bare(left_model=on_left, right_model=on_right, left_rating=by_place(5, 1),
                             right_rating=by_place(2, 3)),
    "errors": plain(errors_a=by_response(0, 4), errors_b=by_response(3, 1)),
    "losses": plain(losses_a=by_response(0, 1), losses_b=by_response(1, 0)),
    "names by place": bare(**{"1st": lambda v: v.won, "2nd": lambda v: OTHER[v.won]}),
    "names by first place": bare(first_place=lambda v: v.won, second_place=lambda v: OTHER[v.won]),
    "ordinals": bare(**{"1st_model": lambda v: v.a, "2nd_model": lambda v: v.b}, choice=by_response("1st", "2nd")),
    "ordinals of letters": plain(choice=by_response("1st", "2nd")),
    "superior and inferior": plain(choice=by_response("A is superior", "A is inferior")),
    "flag of a response": each_response(chosen=lambda v, system: system == v.won),
    "rank of a response": each_response(rank=lambda v, system: 1 if system == v.won else 2),
    "score of a response": each_response(score=lambda v, system: 5 if system == v.won else 2),
    "score that may be a rank": each_response(score=lambda v, system: 1 if system == v.won else 2),
    "potato 1": lambda: table(lambda v: {
        "user": f"u{v.n // 5}", "instance_id": f"p{v.n % 50}", **v.systems,
        "better:::A": by_response("A", "")(v), "better:::B": by_response("", "B")(v)}),
}  # fmt: skip
NESTED = {
    "ranks of answers": bare(answers=lambda v: [{"model": v.won, "rank": 1}, {"model": OTHER[v.won], "rank": 2}]),
    "list of systems": bare(models=lambda v: [v.a, v.b], winner_idx=by_response(0, 1)),
    "sides of a ranking": bare(meta=lambda v: v.systems, response=lambda v: {
        "ranking": [f"model_{v.response}", f"model_{OTHER[v.response]}"]}),
    "order and answer": bare(meta=lambda v: {**v.systems, "order": [v.on_left, v.on_right]},
                             response=lambda v: {"choice": v.place}),
    "judgement": bare(systems=lambda v: dict(zip(SIDES, (v.a, v.b), strict=True)),
                      judgement=lambda v: {"rater": "r", "choice": v.response}),
    "scores in a list": bare(models=lambda v: [v.a, v.b], scores=by_response([5, 2], [1, 4])),
    "shares in a list": plain(label=by_response([1, 0], [0, 1])),
    "ranks in a list": bare(models=lambda v: [v.a, v.b], ranks=by_response([1, 2], [2, 1])),
    "scores by name": bare(annotations=lambda v: {name: {"score": 80 if name == v.won else 30} for name in TEXTS}),
    "argilla ratings": lambda: table(argilla_ratings),
    "argilla ranking": lambda: table(argilla_ranking),
    "prodigy options with models": lambda: table(prodigy_numbers),
    "prodigy comparison": lambda: table(prodigy_compare),
}  # fmt: skip
# Every file in one of both formats, by turns; in the other one in make test-slow.
CASES = [
    pytest.param(name, files, form, marks=pytest.mark.slow if (number + turn) % 2 else [])
    for files, forms in ((FILES, ("csv", "jsonl")), (NESTED, ("json", "jsonl")))
    for number, name in enumerate(files)
    for turn, form in enumerate(forms)
]


def without_empty(rows):
    empty = [name for name in rows[0] if all(row[name] is None for row in rows)]
    return [{name: cell for name, cell in row.items() if name not in empty} for row in rows]


@pytest.mark.parametrize(("name", "files", "form"), CASES)
def test_the_true_winner_is_read_at_the_first_or_second_try(tmp_path, name, files, form):
    layout = Layout(lambda: without_empty(files[name]()))
    assert tally(*first_or_second_try(tmp_path, layout, form)) == TRUE


def test_several_doubts_are_settled_by_one_command_that_says_its_result(tmp_path):
    file = written(tmp_path, without_empty(FILES["codes and two pairs of columns"]()), "csv")
    with pytest.raises(Unclear, match="Every command below settles all of it") as doubt:
        read(file, ())
    way = {"--columns": "system_a=response_0_source,system_b=response_1_source", "--values": "a=0,b=1"}
    assert dict(zip(map(str, doubt.value.ways), doubt.value.results, strict=True))[str(way)] == "alpha 80, beta 20"
    assert all(doubt.value.results)


@pytest.mark.parametrize("rows", [
    plain(score_first=by_place(5, 1), score_second=by_place(1, 5)),
    each_response(not_chosen=lambda v, system: system != v.won, opponent=lambda v, system: "other"),
    each_response(won=lambda v, system: system == v.won, opponent=lambda v, system: "other"),
    plain(rating_x=by_response(5, 2), rating_y=by_response(2, 5)),
])  # fmt: skip
def test_scores_that_may_be_those_of_either_system_are_no_votes(tmp_path, rows):
    with pytest.raises(InputError) as error:
        read(written(tmp_path, rows(), "csv"), ())
    assert "scores=" not in str(error.value)


def test_typed_scores_belong_to_the_systems_that_their_names_say(tmp_path):
    rows = plain(alpha_score=lambda v: 5 if v.won == "alpha" else 1, beta_score=lambda v: 3)()
    file = written(tmp_path, rows, "csv")
    assert tally(*read(file, ("--columns", "scores=beta_score|alpha_score"))) == TRUE
    rows = plain(one=by_response(5, 2), other=by_response(2, 5))()
    with pytest.raises(InputError, match="nothing says which of one and other is the score of model_a"):
        read(written(tmp_path, rows, "csv"), ("--columns", "scores=one|other"))


def test_two_flags_that_are_equal_are_asked_about(tmp_path):
    rows = each_response(chosen=lambda v, system: system == v.won and v.n > 9)()
    with pytest.raises(Unclear, match="Is an empty answer a tie, or no vote"):
        read(written(tmp_path, rows, "csv"), ())


@pytest.mark.parametrize("columns", [
    {"rank_a": by_response(1, 2), "rank_b": by_response(2, 1)}, {"ranking": lambda v: f"{v.won} > {OTHER[v.won]}"},
])  # fmt: skip
@pytest.mark.parametrize("judge", [{"source": lambda v: "gpt-4"}, {"annotator_type": lambda v: "llm"}])
def test_a_judges_ranking_is_no_vote(tmp_path, columns, judge):
    with pytest.raises(InputError, match="judge"):
        read(written(tmp_path, plain(**columns, **judge)(), "csv"), ())
    assert tally(*read(written(tmp_path, plain(**columns)(), "csv"), ())) == TRUE


@pytest.mark.parametrize("word", ["skip", "N/A", "don't know"])
def test_word_for_no_answer_prints_both_commands(tmp_path, word):
    rows = plain(choice=lambda v: v.response if v.n else word)()
    file = written(tmp_path, rows, "csv")
    with pytest.raises(Unclear, match="Is it no vote, or a tie") as doubt:
        read(file, ())
    assert [tally(*read(file, ("--values", way["--values"])))["beta"] for way in doubt.value.ways] == [19, 19]
    assert doubt.value.results == ["alpha 80, beta 19", "alpha 80, beta 19, tie 1"]


@pytest.mark.parametrize(("a", "b"), [("model_a", "model_b"), ("left_model", "right_model")])
def test_systems_named_like_sides_are_asked_about(tmp_path, a, b):
    called = {"alpha": "B", "beta": "A"}
    rows = bare(**{a: lambda v: called[v.a], b: lambda v: called[v.b]}, choice=lambda v: called[v.won])()
    file = written(tmp_path, rows, "csv")
    with pytest.raises(Unclear, match=r"the name of a system and of a side\. Which does it name here") as doubt:
        read(file, ())
    assert tally(*read(file, ("--values", doubt.value.ways[0]["--values"]))) == {"B": 80, "A": 20}
    assert doubt.value.results[0] == "A 20, B 80" != doubt.value.results[1]


def test_an_unknown_order_is_asked_about_with_the_winner_of_either(tmp_path):
    rows = bare(model_1=lambda v: v.a, model_2=lambda v: v.b, choice=by_response("first", "second"))()
    with pytest.raises(Unclear, match="or always the other") as doubt:
        read(written(tmp_path, rows, "csv"), ())
    assert doubt.value.ways == ({"--values": "a=first,b=second"}, {"--values": "b=first,a=second"})
    assert doubt.value.results == ["alpha 80, beta 20", "alpha 20, beta 80"]


def test_wins_and_losses_without_any_system_are_those_of_one(tmp_path):
    rows = bare(result=lambda v: "win" if v.won == "alpha" else "lose")()
    file = written(tmp_path, rows, "csv")
    with pytest.raises(Unclear, match="the outcome of the same system") as doubt:
        read(file, ())
    assert dict(doubt.value.ways[0])["--columns"] == "choice=result" and doubt.value.results == ["a 80, b 20"]


def test_what_was_shown_on_a_side_does_not_tell_whose_it_was(tmp_path):
    rows = plain(left_text=lambda v: f"Yes {v.n}", right_text=lambda v: f"No {v.n}", choice=lambda v: v.place)()
    with pytest.raises(InputError, match="not which system it came from") as error:
        read(written(tmp_path, rows, "csv"), ())
    assert not getattr(error.value, "ways", ())


def test_links_are_no_left_side_where_they_hold_something_else(tmp_path):
    rows = plain(choice=lambda v: v.response, links=lambda v: f"page {v.n % 3}")()
    assert tally(*read(written(tmp_path, rows, "csv"), ())) == TRUE


def test_numbers_in_a_ranking_may_be_ranks_or_places(tmp_path):
    """Of two systems both say the same; of three, `[2, 3, 1]` has the first or the third as the best."""
    rows = bare(models=lambda v: [v.a, v.b], ranking=by_response([1, 2], [2, 1]))()
    assert tally(*read(written(tmp_path, rows, "jsonl"), ())) == TRUE
    rows = bare(models=lambda v: [v.a, v.b, "gamma"], ranking=by_response([1, 2, 3], [2, 3, 1]))()
    with pytest.raises(InputError, match="may be ranks, or numbers of responses"):
        read(written(tmp_path, rows, "jsonl"), ())


@pytest.mark.parametrize(
    ("encoding", "words"), [("gb18030", ("左边的回答更好", "右边的回答更好")), ("cp1252", ("Größe", "Süß"))]
)
def test_bytes_that_are_no_utf8_are_chinese_or_western(tmp_path, encoding, words):
    rows = plain(choice=lambda v: v.response, note=by_response(*words))()
    file = tmp_path / "votes.csv"
    file.write_bytes(worlds.as_csv(rows).encode(encoding))
    matches, known = read(file, ())
    assert tally(matches, known) == TRUE
    assert {"gb18030": "GB18030", "cp1252": "Windows-1252"}[encoding] in told_of_reading(matches.votes)[0]


# Ratings


def points(v, system):
    return 5 if v.won == system else 2


def rated(**columns):
    return [{"item": f"i{v.n}", "rater": f"r{v.n % 5}", "system": system, "score": points(v, system),
             **{name: cell(v) for name, cell in columns.items()}}
            for v in table(lambda v: v) for system in ("alpha", "beta")]  # fmt: skip


@pytest.mark.parametrize(("columns", "message"), [
    ({"source": lambda v: "gpt-4"}, "seems to be a judge"),
    ({"source": lambda v: ("human", "judge")[v.n % 2]}, "this rating is a judge's"),
    ({"annotator_type": lambda v: ("human", "llm")[v.n % 2]}, "this rating is a judge's"),
    ({"is_human": lambda v: v.n % 2 == 0}, "this rating is a judge's"),
    ({"rater": lambda v: ("ann", "gpt-4o")[v.n % 2]}, "its rater is 'gpt-4o', a judge's name"),
    ({"bewertet_von": lambda v: "GPT-4"}, "this rating is a judge's"),
])  # fmt: skip
def test_a_judge_among_raters_is_refused(tmp_path, columns, message):
    with pytest.raises(InputError, match=message):
        ratings_of(worlds.write(tmp_path / "ratings.csv", rated(**columns)))


def test_source_text_of_a_translation_is_no_vote_source(tmp_path):
    def sentence(v):
        return f"Satz Nummer {v.n}"

    assert len(ratings_of(worlds.write(tmp_path / "ratings.csv", rated(source=sentence)))) == 200
    rows = plain(choice=lambda v: v.response, source=sentence)()
    assert tally(*read(written(tmp_path, rows, "csv"), ())) == TRUE


@pytest.mark.parametrize("rows", [
    bare(model_a=lambda v: v.a, model_b=lambda v: v.b, score_a=by_response(5, 2), score_b=by_response(2, 5)),
    bare(SystemID1=lambda v: v.a, SystemID2=lambda v: v.b, Score1=by_response(80, 40), Score2=by_response(40, 80)),
    bare(annotations=lambda v: {name: {"score": points(v, name)} for name in ("alpha", "beta")}),
])  # fmt: skip
def test_scores_of_both_responses_are_ratings_and_said_so(tmp_path, rows):
    file = written(tmp_path, rows(), "jsonl")
    with pytest.raises(OnScale, match="python -m analysis ratings"):
        read(file, ())
    (contrast,) = ratings_of(file).contrasts
    assert contrast.first.mean() > contrast.second.mean() and contrast.contrast.first == "alpha"


# Any words

VERBS = {True: ("{} wins", "{} is better", "{} > {}", "{} beats {}", "{} over {}"),
         False: ("{} loses", "{} is worse", "{} < {}", "{} loses to {}")}  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([*((True, verb) for verb in VERBS[True]), *((False, verb) for verb in VERBS[False])]),
                min_size=1, max_size=4), st.booleans())  # fmt: skip
def test_a_verb_never_turns_the_winner(tmp_path_factory, verbs, capitals):
    def answer(v):
        won, verb = verbs[v.n % len(verbs)]
        first, second = (v.won, OTHER[v.won]) if won else (OTHER[v.won], v.won)
        text = verb.format(first, second)
        return text.upper() if capitals else text

    file = written(tmp_path_factory.mktemp("verbs"), plain(choice=answer)(), "jsonl")
    assert tally(*read(file, ())) == TRUE
