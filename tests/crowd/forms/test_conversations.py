"""Pairs of whole conversations: the promises of pairs hold, and a page shows who is judged and nobody's name."""

import dataclasses
import json

import pytest

from seedvote.crowd.commands import conversations_from
from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.forms.conversations import ConversationForm
from seedvote.crowd.forms.form import body_of
from seedvote.crowd.forms.pairs import PairForm
from seedvote.crowd.hit.hit import Hit, hit_as_kept, hit_from, hit_from_kept
from seedvote.crowd.rating import pool
from seedvote.crowd.rating.change_control import changed_keys, refuse_changes
from seedvote.crowd.rating.gate import GateRule
from seedvote.crowd.rating.leaks import find_leaks
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.simulation.raters import Reader, draw_habits, read_of
from seedvote.crowd.store.store import open_store
from seedvote.crowd.store.tables import votes
from seedvote.crowd.study_folder import hit_of
from seedvote.crowd.watching.overview import overview
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.crowd.web.page import Frame, SittingProgress, consent_page, pair_fragment, task_page
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Pair, Utterance, Vote
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.conversations import WHOLE, as_talk, candidate, desk_of_talks, make_talks
from tests.crowd.rating import test_answer_sheet as sheets
from tests.crowd.rating import test_desk as desks
from tests.crowd.study import desk_of, make_pairs, seated, work
from tests.crowd.web import test_hostile as hostile

FRAME, PROGRESS = Frame("", "seat", ""), SittingProgress(0, 5, 10)
FETCH = {"X-Requested-With": "fetch"}
OF_DESKS = [
    desks.test_every_pair_gets_exactly_its_votes_from_different_raters,
    desks.test_a_page_loaded_again_shows_the_same_pair_on_the_same_side,
    desks.test_an_answer_sent_twice_is_one_vote_and_the_first_one_stands,
    desks.test_rater_waits_for_pairs_in_other_hands,
    desks.test_late_answer_to_a_full_pair_does_not_count,
    desks.test_late_rater_goes_on_at_the_same_pair,
    desks.test_undo_takes_back_the_last_answer_once_and_a_stale_click_is_refused,
    desks.test_three_failed_checks_block_for_good,
    desks.test_left_lease_is_shown_again_in_the_next_sitting,
    desks.test_pause_and_stop_give_nothing_new_and_still_save_what_was_in_hand,
    desks.test_forged_foreign_and_impossible_requests_are_refused,
]
OF_SHEETS = [
    sheets.test_the_files_have_one_row_a_question_and_the_comments_apart,
    sheets.test_undo_takes_all_answers_back_and_leaves_no_word_of_them,
    sheets.test_a_check_asks_any_of_the_questions,
    sheets.test_sides_are_balanced_and_each_pair_gets_exactly_its_votes,
]
ON_SQLITE = [
    (desks.test_identical_responses_are_shown_or_left_out_by_option, ("show", 3)),
    (desks.test_identical_responses_are_shown_or_left_out_by_option, ("skip", 2)),
    (desks.test_event_log_alone_gives_the_same_votes, (1,)),
    (desks.test_sides_are_balanced_in_each_pair_over_a_whole_study, ()),
    (desks.test_leaving_a_sitting_before_its_checks_does_not_get_round_them, ()),
]


@pytest.fixture(autouse=True)
def told_in_turns(monkeypatch):
    """The tests of desks and sheets, of which some are run here, meet pairs of whole conversations."""
    for module in (desks, sheets):
        monkeypatch.setattr(module, "desk_of", desk_of_talks)


@pytest.mark.parametrize("promise", [*OF_DESKS, *OF_SHEETS], ids=lambda one: one.__name__)
def test_what_is_promised_of_pairs_holds(tmp_path, promise):
    promise(f"sqlite:///{tmp_path / 'crowd.sqlite'}", tmp_path)


@pytest.mark.slow
def test_sixteen_raters_at_once_give_exactly_the_votes(tmp_path):
    desks.test_sixteen_raters_at_once_give_no_vote_too_many_and_none_too_few(f"sqlite:///{tmp_path}/s", tmp_path)


@pytest.mark.parametrize(("promise", "more"), ON_SQLITE)
def test_what_is_promised_of_pairs_holds_whatever_happens(tmp_path, promise, more):
    promise(f"sqlite:///{tmp_path / 'crowd.sqlite'}", tmp_path, *more)


@pytest.fixture
def app(tmp_path):
    url, hit = f"sqlite:///{tmp_path / 'crowd.sqlite'}", dataclasses.replace(WHOLE, first_checks=1, later_checks=1)
    with desk_of(url, tmp_path, hit, [hostile.secret(pair) for pair in make_talks(8, checks=4)]):
        pass
    app = create_app(ServerConfig(url, hit, rate=0))
    desk = app.extensions["desk"]
    desk.rules = dataclasses.replace(desk.rules, gate=GateRule(max_failures=99))
    yield app
    app.extensions["desk"].store.close()


def test_checks_of_conversations_hide_every_name(app, monkeypatch):
    monkeypatch.setattr(hostile, "SECRETS", (*hostile.SECRETS, "secretspeaker", "secretpartner"))
    hostile.test_checks_answer_like_real_pairs(app)


@pytest.mark.slow
def test_fuzzed_requests_find_no_error_no_vote_and_no_leak(app):
    hostile.bombard(app, 60)
    hostile.test_nobody_answers_with_another_s_lease_or_an_invented_one(app)
    for choice in ("", "a", "LEFT", "left\x00", "left,right"):
        hostile.test_a_choice_that_is_none_is_no_vote(app, choice)


def test_two_tabs_give_one_vote_and_without_a_script_the_same_page_works(app):
    client = hostile.begin(app, "ann")
    one, other = (PageForm(client.get("/task").text).fields for _ in range(2))
    assert client.post("/answer", data=one | {"choice": "left"}).status_code == 303
    assert client.post("/answer", data=other | {"choice": "right"}, headers=FETCH).json["note"] == "again"
    (row,) = hostile.votes_in(app)
    assert row.choice == row.left


def page(a, b, hit=WHOLE, **more):
    record = Pair("p", "i", more.pop("context", ()), a, b)
    return task_page(hit, FRAME, ConversationForm().on_page("lease", record, "a", 1), PROGRESS, "")


def test_a_page_marks_who_is_judged_and_numbers_the_others():
    talk = candidate("Hi.", "Hello.")
    third = dataclasses.replace(talk, turns=(*talk.turns, Utterance("secret3", "Hey.")))
    shown = page(third, dataclasses.replace(talk, speaker="user"))
    told = [part.split("</span>")[0].partition(">")[2] for part in shown.split('class="says"')[1:]]
    assert told == ["Other speaker", "Speaker A", "Other speaker 2", "Speaker B", "Other speaker"]
    assert shown.count('class="judged"') == 2 and "secret3" not in shown and "user" not in shown


def test_hostile_texts_of_every_turn_stay_text():
    bad = ["<script>alert(1)</script>", "</li></ol></section><h3>X</h3>", "${b} {{ 7*7 }} <unk>", "", "\x00", " \n "]
    for rendering in ("literal", "markdown", "code"):
        shown = page(candidate(*bad), candidate(*bad[::-1]), dataclasses.replace(WHOLE, rendering=rendering))
        assert "<script>alert" not in shown and "<h3>X" not in shown and shown.count("</ol>") == 2
        assert shown.count("<li class=") == 12 and "{{ 7*7 }}" in shown
    assert page(candidate(*bad), candidate(*bad)).count("<em>(empty)</em>") == 4


def test_what_stands_above_both_is_shown_where_the_file_has_it():
    assert "You need a bed." not in page(candidate("a", "b"), candidate("c", "d"))
    shown = page(candidate("a", "b"), candidate("c", "d"), context=(Utterance("task", "You need a bed."),))
    assert shown.index("You need a bed.") < shown.index('id="question"') < shown.index('id="head-A"')


@pytest.mark.parametrize("lengths", [(1, 1), (1, 61), (60, 60)])
def test_a_simulated_rater_reads_what_the_page_shows(lengths):
    sides = [
        candidate(*(f"{side} says  {n}\n" for n in range(2 * length)))
        for side, length in zip("xy", lengths, strict=True)
    ]
    pair = Pair("p", "i", (), *sides)
    for layout in "ab":
        html = pair_fragment(WHOLE, FRAME, ConversationForm().on_page("t", pair, layout, 1), PROGRESS)
        _, *texts = PageForm(html).shown_texts()
        ordered = sides if layout == "a" else sides[::-1]
        assert texts == [read_of(side) for side in ordered]
        assert Reader([pair], seed=0).judge_texts(draw_habits(1, seed=0, clickers=0), [], *texts)[0] in (
            "left",
            "right",
            "tie",
        )


def test_the_consent_page_speaks_of_conversations():
    hit = hit_from({"form": "conversations"}, "")
    assert "3 short examples, then 11 pairs of whole conversations." in consent_page(hit, FRAME)
    asked = dataclasses.replace(hit, questions=sheets.QUESTIONS)
    assert "pairs of whole conversations, with 3 questions about each" in consent_page(asked, FRAME)
    assert 'aria-label="Speaker A' in page(candidate("a", "b"), candidate("c", "d"), asked)


def test_a_file_of_the_other_kind_is_refused_with_its_line(tmp_path):
    path = tmp_path / "pairs.jsonl"
    write_records(path, [*make_talks(2), *make_pairs(1)], signature="t", kind=Pair)
    with pytest.raises(InputError, match=r"pairs.jsonl:4: .*single responses .*conversations-from"):
        ConversationForm().read_rows(path)
    with pytest.raises(InputError, match=r'pairs.jsonl:2: .*Write form = "conversations" into hit.toml'):
        PairForm().read_rows(path)
    write_records(path, [dataclasses.replace(make_talks(0, checks=1)[0], answer=None)], signature="t", kind=Pair)
    with pytest.raises(InputError, match="check c0 has no answer"):
        ConversationForm().read_rows(path)


def test_a_study_keeps_its_form_and_what_was_shown_keeps_every_turn(tmp_path):
    made = make_talks()
    with desk_of(f"sqlite:///{tmp_path}/s", tmp_path, WHOLE, made) as desk:
        seen = desk.next_step(seated(desk, "r")).shown.pair.pair
        with pytest.raises(InputError, match="form was changed"):
            refuse_changes(desk.store, Hit())
        for number, pair in enumerate(made):
            if pair.pair == seen:
                lines = (*pair.a.turns[:-1], Utterance("secretspeaker", "another end"))
                text = "\n".join(f"{line.speaker}: {line.text}" for line in lines)
                made[number] = dataclasses.replace(pair, a=dataclasses.replace(pair.a, text=text, turns=lines))
        write_records(tmp_path / "pairs.jsonl", made, signature="t", kind=Pair)
        with pytest.raises(InputError, match="changed after launch"):
            pool.load(desk.store, tmp_path / "pairs.jsonl", WHOLE, 0.0)


def test_what_is_exported_are_votes_and_the_researcher_s_page_knows_them(tmp_path):
    with desk_of(f"sqlite:///{tmp_path}/s", tmp_path, WHOLE, make_talks(4)) as desk:
        for number in range(3):
            work(desk, seated(desk, f"r{number}"), choice="ab"[number == 2])
        with desk.store.read() as connection:
            found, now = export(connection, votes_per_pair=3), overview(connection, WHOLE, 0.0)
    assert found.kind is Vote and len(found.votes) == 12
    assert {(vote.choice, vote.source) for vote in found.votes} == {("a", "local"), ("b", "local")}
    assert now.chance == 1 / 3 and len(now.disputed) == 4 and "text a" in now.disputed[0].texts[0]


def test_conversation_that_names_its_model_is_reported():
    talk = candidate("Hi.", "I am GPT-x.")
    own = dataclasses.replace(talk, model="gpt-x")
    names = dataclasses.replace(candidate("Hi.", "Hello."), model="system")
    assert [leak.model for leak in find_leaks([Pair("p", "i", (), own, names)])] == ["gpt-x"]


@pytest.mark.parametrize(
    ("example", "says"),
    [
        ({}, "needs left, right, answer and why"),
        ({"answer": "a"}, "not one of left, right, tie"),
        ({"why": 1}, "which is not text"),
        ({"left": "Hello"}, "each line is"),
        ({"right": []}, "'system' says nothing .nobody does"),
        ({"speaker": "bot"}, "'bot' says nothing .system"),
    ],
)
def test_mistakes_in_a_worked_example_are_told(example, says):
    line = [{"speaker": "system", "text": "Hello."}]
    whole = {"left": line, "right": line, "answer": "tie", "why": "Both greet.", **example} if example else {}
    with pytest.raises(InputError, match=says):
        hit_from({"form": "conversations", "examples": [whole]}, "hit.toml")


def test_the_hit_is_kept_as_it_is():
    hit = hit_from({"form": "conversations", "exclude": {"ties": 0.9}}, "hit.toml")
    assert hit_from_kept(json.loads(json.dumps(hit_as_kept(hit)))) == hit
    assert changed_keys(hit, hit_from_kept(json.loads(json.dumps(hit_as_kept(hit))))) == []


def files(folder, names=("ours", "theirs"), each=20, **more):
    for name in names:
        said = [f"{name} speaks of {n} in words that are enough for a check" for n in range(each)]
        lines = [{"goal": n, "turns": ["Hello there.", said[n]] * 2, **more} for n in range(each)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return [str(folder / f"{name}.jsonl") for name in names]


def make(*words):
    return dispatch("crowd", "", {"conversations-from": ""}, ["conversations-from", *map(str, words)])


def test_the_command_makes_a_study_that_can_be_served_at_once(tmp_path, capsys):
    make(*files(tmp_path), "--out", tmp_path / "study", "--checks", "4")
    told = capsys.readouterr().out
    assert (
        "40 conversations (20 of ours, 20 of theirs), 4 to 4 turns" in told and "20 pairs, paired on one goal" in told
    )
    assert hit_of(tmp_path / "study", None) == hit_from({"form": "conversations"}, "")
    made = read_records(tmp_path / "study" / "pairs.jsonl", Pair)
    assert [pair.kind for pair in made] == ["real"] * 20 + ["control"] * 2 + ["check"] * 4
    store = open_store(f"sqlite:///{tmp_path / 'crowd.sqlite'}", seed=0, simulated=True)
    pool.load(store, tmp_path / "study" / "pairs.jsonl", hit_of(tmp_path / "study", None), 0.0)
    store.close()
    again = tmp_path / "again"
    make(*files(tmp_path), "--out", again, "--checks", "4")
    assert (again / "pairs.jsonl").read_bytes() == (tmp_path / "study" / "pairs.jsonl").read_bytes()


def test_the_command_takes_names_random_pairs_and_checks_of_people(tmp_path, capsys):
    one, two = files(tmp_path)
    (people,) = files(tmp_path, ("people",))
    make(f"new={one}", f"old={two}", "--out", tmp_path / "s", "--at-random", "--pairs", 5, "--checks-from", people)
    assert "30 of them stand in no real pair" in capsys.readouterr().out
    made = read_records(tmp_path / "s" / "pairs.jsonl", Pair)
    assert {side.model for pair in made if pair.kind == "real" for side in (pair.a, pair.b)} == {"new", "old"}
    assert len([pair for pair in made if pair.kind == "real"]) == 5
    rights = {(pair.a if pair.answer == "a" else pair.b).model for pair in made if pair.kind == "check"}
    assert rights == {"people"}


def test_the_command_leaves_a_study_alone_and_says_why(tmp_path):
    given = files(tmp_path)
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "hit.toml").write_text("votes_per_pair = 2\n")
    with pytest.raises(InputError, match=r'of the form pairs\. Write form = "conversations"'):
        make(*given, "--out", tmp_path / "s")
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == ["hit.toml"]
    (tmp_path / "s" / "hit.toml").write_text(conversations_from.FORM + "\nvotes_per_pair = 2\n")
    make(*given, "--out", tmp_path / "s")
    with pytest.raises(InputError, match="already exists"):
        make(*given, "--out", tmp_path / "s")


def test_pairs_and_their_bodies_in_the_store_are_written_as_before():
    (one,) = make_pairs(1)
    assert "turns" not in body_of(one) and "speaker" not in json.loads(body_of(one))["a"]
    body = body_of(as_talk(one))
    assert ConversationForm().record_of(body).a.turns[0].text == "p0 text a"
    assert "turns" not in votes.c and "speaker" not in votes.c  # the table is that of pairs: no column more
