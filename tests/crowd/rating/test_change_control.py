"""A study whose hit.toml changes under way: each key is applied by its own rule, told and logged, or refused."""

import dataclasses

import pytest
import sqlalchemy as sa

from seedvote.crowd.exchange import exporting
from seedvote.crowd.hit.hit import CHANGES, HIT_KEYS, Hit, hit_from
from seedvote.crowd.hit.live import LiveRule
from seedvote.crowd.hit.questions import questions_from
from seedvote.crowd.hit.tables import AdaptiveRule, Exclusion, MarksRule, PanelDoor
from seedvote.crowd.rating.change_control import changed_keys, refuse_changes, take_up
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.rating.moment import Refused, kept_hit
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.simulation.crowd import SimulatedCrowd
from seedvote.crowd.simulation.raters import Reader, draw_habits
from seedvote.crowd.store.store import read_events
from seedvote.crowd.store.tables import events as event_rows
from seedvote.crowd.store.tables import pairs, raters, votes
from seedvote.crowd.study_folder import prepare_study
from seedvote.crowd.web.page import hit_in
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from tests.crowd.marketplaces.study import served
from tests.crowd.rating.test_replaying import check_books
from tests.crowd.study import SHORT, database, desk_of, make_pairs, seated, vote, work
from tests.crowd.visitor import FETCH, Visitor, careful, live

GATED = dataclasses.replace(SHORT, first_checks=2, later_checks=2, max_failures=2)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


def rows(store, query):
    with store.read() as connection:
        return connection.execute(query).all()


def events(store, kind):
    with store.read() as connection:
        return [event.data for event in read_events(connection, kind)]


def sit(app, name, choice=careful):
    visitor = Visitor(app)
    visitor.arrive(name)
    return visitor.work(choice)[1]["status"]


def status_of(app):
    visitor = Visitor(app)
    visitor.arrive("somebody new")
    return visitor.look()["status"]


@pytest.mark.parametrize("before, after", [(1, 3), (3, 2), (3, 1)])
def test_new_number_of_votes_is_counted_anew(url, tmp_path, before, after):
    hit = dataclasses.replace(SHORT, votes_per_pair=before, pairs_per_sitting=20)
    with desk_of(url, tmp_path, hit, make_pairs(4)) as desk, live(url, hit) as app:
        for n in range(2):
            sit(app, f"r{n}")
        given = len(rows(desk.store, sa.select(votes)))
        told = take_up(desk.store, dataclasses.replace(hit, votes_per_pair=after), 1.0)
        assert told[0] == f"votes_per_pair was {before}, is {after}: votes counted anew."
        for row in rows(desk.store, sa.select(pairs)):
            assert row.votes == min(after, given // 4) and row.open == int(row.votes < after)
        place = status_of(app)
        assert place == ("task" if given // 4 < after else "complete")
        for name in ("somebody new", "r2", "r3"):
            sit(app, name)
        assert {row.votes for row in rows(desk.store, sa.select(pairs.c.votes))} == {after}
        assert sit(app, "r4") == "complete"
        assert events(desk.store, "hit") == [
            {"name": "votes_per_pair", "before": before, "after": after, "rule": "votes counted anew"}
        ]


def test_a_server_that_started_while_the_rules_changed_goes_by_those_in_force(url, tmp_path):
    hit = dataclasses.replace(SHORT, votes_per_pair=1)
    with desk_of(url, tmp_path, hit, make_pairs(3)) as desk:
        take_up(desk.store, dataclasses.replace(hit, votes_per_pair=2), 1.0)
        other = Desk(desk.store, hit, desk.clock)  # it had read its hit.toml before
        for rater in ("r", "s"):
            vote(other, seated(other, rater))
        check_books(desk)


def test_a_stricter_gate_blocks_and_a_milder_one_lets_in_again(url, tmp_path):
    with desk_of(url, tmp_path, GATED, make_pairs(6, checks=6)) as desk:
        seat = seated(desk, "one slip")
        while (place := desk.next_step(seat)).stage == "task":
            vote(desk, seat, "b" if place.done == 0 else "a")
        before = [row.counted for row in rows(desk.store, sa.select(votes.c.counted).order_by(votes.c.vote))]
        assert sum(before) == 4
        told = take_up(desk.store, dataclasses.replace(GATED, max_failures=1), 1.0)
        assert "1 passed now blocked" in told[1] and "4 no longer do" in told[1]
        assert desk.next_step(seated(desk, "one slip", "2")).stage == "no_more"
        take_up(desk.store, GATED, 2.0)
        assert [row.counted for row in rows(desk.store, sa.select(votes.c.counted).order_by(votes.c.vote))] == before


def test_identical_pairs_judged_by_people_stay_with_them(url, tmp_path):
    with desk_of(url, tmp_path, SHORT, make_pairs(1, identical=2)) as desk:
        seat = seated(desk, "r")
        while desk.next_step(seat).shown.pair.pair == "p0":
            vote(desk, seat)
        judged = desk.next_step(seat).shown.pair.pair
        vote(desk, seat, "tie")
        held = desk.next_step(seat).shown.pair.pair  # shown, not answered: a person has it
        hit = dataclasses.replace(SHORT, identical="tie")
        take_up(desk.store, hit, 1.0)
        with desk.store.read() as connection:
            found = exporting.export(connection, votes_per_pair=3, auto_ties=True)
        automatic = [vote.pair for vote in found.votes if vote.extra.get("auto")]
        assert judged not in automatic and held not in automatic
        by_pair = {}
        for one in found.votes:
            by_pair.setdefault(one.pair, []).append(one.round)
        assert all(len(set(rounds)) == len(rounds) for rounds in by_pair.values())
        assert work(desk, seated(desk, "q")) in ("done", "none_left")


def test_identical_pairs_that_nobody_saw_follow_the_key(url, tmp_path):
    with desk_of(url, tmp_path, SHORT, make_pairs(2, identical=2)) as desk:
        for policy, offered in (("tie", 2), ("show", 4), ("skip", 2)):
            take_up(desk.store, dataclasses.replace(SHORT, identical=policy), 1.0)
            assert sum(row.open for row in rows(desk.store, sa.select(pairs.c.open))) == offered


@pytest.mark.parametrize(
    "change, told",
    [
        ({"question": "Which is funnier?"}, "the votes so far answer the old one. Put the old value back"),
        ({"consent_text": "Other words."}, "raise consent_version too"),
        ({"first_checks": 3}, "first_checks was 2, is 3.*More later_checks are possible"),
    ],
)
def test_impossible_change_is_refused_with_a_way_out(url, tmp_path, change, told):
    with desk_of(url, tmp_path, GATED, make_pairs(6, checks=6)) as desk:
        vote(desk, seated(desk, "r"))
        work(desk, seated(desk, "r"))
        with pytest.raises(InputError, match=told):
            prepare_study(tmp_path, None, dataclasses.replace(GATED, **change), url, seed=0, simulated=False)
        with desk.store.read() as connection:
            assert kept_hit(connection) == GATED
        assert events(desk.store, "hit") == []


@pytest.mark.parametrize(
    "change",
    [{"rendering": "code"}, {"differences": "half"}, {"marks": MarksRule(("false",))}],
    ids=lambda change: next(iter(change)),
)
def test_what_a_page_shows_is_fixed_by_the_first_vote(url, tmp_path, change):
    with desk_of(url, tmp_path) as desk:
        seat = seated(desk, "ann")
        changed = dataclasses.replace(SHORT, **change)
        for hit in (changed, SHORT):  # before it, to and fro
            assert len(take_up(desk.store, hit, 1.0)) == 1
        desk.read_rules()
        vote(desk, seat)
        with pytest.raises(InputError, match="was changed, but raters have voted on pages of the old kind"):
            take_up(desk.store, changed, 1.0)


def test_before_the_first_vote_anything_may_change(url, tmp_path):
    with desk_of(url, tmp_path, GATED, make_pairs(6, checks=6)) as desk:
        changed = dataclasses.replace(GATED, question="Which is funnier?", first_checks=3)
        assert len(take_up(desk.store, changed, 1.0)) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Which is worse?"},
        {"questions": questions_from([{"name": "kinder", "ask": "Kinder?"}], "test")},
        {"rendering": "markdown"},
        {"marks": MarksRule(("fact", "style"))},
    ],
)
def test_answer_from_a_page_of_the_old_kind_is_refused_and_the_pair_comes_again(tmp_path, change):
    hit, url = dataclasses.replace(SHORT, marks=MarksRule(("style", "fact"))), f"sqlite:///{tmp_path}/crowd.sqlite"
    with desk_of(url, tmp_path, hit, make_pairs(2)) as desk, live(url, hit) as app:
        ann = Visitor(app)
        ann.arrive("ann")
        fields = PageForm(ann.look()["html"]).fields | {"choice": "left", "marks": "[[0, 0, 2, 1]]"}
        take_up(desk.store, dataclasses.replace(hit, **change), 1.0)
        sent = fields | {"q-kinder": "left"}
        assert ann.client.post("/answer", data=sent, headers=FETCH).status_code == 400
        assert rows(desk.store, sa.select(votes)) == []
        fields = PageForm(ann.look()["html"]).fields | {"choice": "left", "q-kinder": "left"}
        assert ann.client.post("/answer", data=fields, headers=FETCH).json()["note"] == "saved"


def test_fewer_first_checks_let_those_in_who_have_answered_as_many(url, tmp_path):
    with desk_of(url, tmp_path, GATED, make_pairs(6, checks=6)) as desk:
        vote(desk, seated(desk, "r"))
        assert rows(desk.store, sa.select(raters.c.status)) == [("incomplete",)]
        take_up(desk.store, dataclasses.replace(GATED, first_checks=1), 1.0)
        assert rows(desk.store, sa.select(raters.c.status)) == [("passed",)]


def test_every_key_has_a_rule_and_its_change_is_seen():
    other = {
        "exclude": Exclusion(seconds=1.0),
        "assignment": "adaptive",
        "adaptive": AdaptiveRule(),
        "panel": PanelDoor("C"),
        "live": LiveRule(()),
        "marks": MarksRule(("fact",)),
        "examples": (),
        "max_votes_per_rater": 7,
    }
    for name, key in HIT_KEYS.items():
        value = other.get(name, {str: "skip", int: 9, float: 2.5}.get(type(key.default)))
        (found,) = changed_keys(Hit(), dataclasses.replace(Hit(), **{name: value}))
        assert found.name == name and CHANGES[name] in str(found)


def test_an_unchanged_start_writes_nothing(url, tmp_path):
    with desk_of(url, tmp_path, GATED, make_pairs(6, checks=6)) as desk:
        work(desk, seated(desk, "r"))
        before = rows(desk.store, sa.select(sa.func.count()).select_from(event_rows))
        told = []
        prepare_study(tmp_path, None, GATED, url, seed=0, simulated=False, tell=told.append)
        assert not told and before == rows(desk.store, sa.select(sa.func.count()).select_from(event_rows))


def test_a_start_with_fewer_checks_than_asked_for_says_so(tmp_path):
    write_records(tmp_path / "pairs.jsonl", make_pairs(4, checks=5), signature="test", kind=Pair)
    told = []
    prepare_study(tmp_path, None, Hit(), None, seed=0, simulated=False, tell=told.append)
    assert len(told) == 1 and "holds 5 checks, but hit.toml asks for 8 in a first sitting" in told[0]


@pytest.mark.parametrize("first, second", [("local", "simulated"), ("simulated", "local"), ("simulated", "mturk")])
def test_a_study_stays_what_its_first_vote_made_it_from_every_door(url, tmp_path, first, second):
    with desk_of(url, tmp_path, SHORT, make_pairs(6)) as desk:
        early = desk.arrive("early", "1", second)  # came before the first vote, answers after it
        desk.consent(early)
        token = desk.next_step(early).shown.token
        seat = desk.arrive("r", "1", first)
        desk.consent(seat)
        vote(desk, seat)
        with pytest.raises(Refused):
            desk.arrive("late", "1", second)
        with pytest.raises(Refused):
            desk.answer(early, token, "left", 1.0)
        assert {row.source for row in rows(desk.store, sa.select(votes.c.source))} == {first}
        if second == "simulated":
            with pytest.raises(InputError, match="holds votes of people, so simulated raters are not let in"):
                prepare_study(tmp_path, None, SHORT, url, seed=0, simulated=True)
        else:
            told = []
            prepare_study(tmp_path, None, SHORT, url, seed=0, simulated=False, tell=told.append)
            assert "people are not let in" in told[0]


def test_no_visitor_can_say_that_he_is_simulated_where_people_vote(url, tmp_path):
    with desk_of(url, tmp_path, SHORT, make_pairs(6)) as desk, live(url, SHORT) as app:
        assert Visitor(app).arrive("robot", source="simulated") == 403
        assert Visitor(app).arrive("person") == 200
        assert len(rows(desk.store, sa.select(raters))) == 1


def test_person_at_a_simulated_study_leaves_no_trace(url, tmp_path):
    with desk_of(url, tmp_path, SHORT, make_pairs(6)) as desk:
        robot = desk.arrive("robot", "1", "simulated")
        desk.consent(robot)
        vote(desk, robot)
        for source in ("local", "simulated"):
            with live(url, SHORT, source=source) as app:
                person = Visitor(app)
                page = person.client.get("/", params={"rater": "person"})
                if page.status_code == 200:
                    page = person.client.post("/consent", data=PageForm(page.text).fields)
                assert page.status_code == 403 and "This study is a simulation" in page.text, source
                assert "cookies" not in page.text
                told = person.client.get("/", params={"rater": "other", "source": "simulated"}, headers=FETCH)
                assert source == "simulated" or told.json()["saved"] is False  # a page's script gets what it can read
        assert len(rows(desk.store, sa.select(raters))) == 1


def test_simulated_raters_at_a_server_for_people_are_told_what_to_do(url, tmp_path):
    made = make_pairs(6)
    with desk_of(url, tmp_path, SHORT, made), live(url, SHORT) as app, served(app) as address:
        crowd = SimulatedCrowd(address, Reader(made, seed=0), [draw_habits(0, seed=0)], 1)
        with pytest.raises(InputError, match=r"is for people, so simulated raters.*serve STUDY --simulated"):
            crowd.run_rounds()


def test_answered_question_keeps_its_words_in_languages(url, tmp_path):
    asked = {"name": "better", "ask": "Which is better?", "strength": ["a bit", "much"]}
    age = {"name": "age", "ask": "How old?", "answers": ["young", "old"]}
    words = {"Which is better?": "Was ist besser?", "a bit": "etwas", "much": "viel", "How old?": "Wie alt?",
             "young": "jung", "old": "alt"}  # fmt: skip

    def hit(version, languages=("en", "de"), **said):
        wording = {"de": {"question": "Welche?", "words": words | said.pop("words", {}), **said}}
        wording |= {"fr": {"question": "Laquelle ?", "words": words}} if "fr" in languages else {}
        given = {"languages": list(languages), "texts": wording if languages[1:] else {}, "question": "Which?"}
        given |= {"questions": [asked], "about": [age], "examples": [], "first_checks": 0, "later_checks": 0}
        return hit_from({**given, "consent_version": version, "max_failures": 1}, "hit.toml")

    assert hit_in(hit("1"), "de").examples == ()  # none in one language are none in the others
    with desk_of(url, tmp_path, hit("1"), make_pairs(2)) as desk:
        take_up(desk.store, hit("2", question="Welche Antwort?"), 2.0)  # nobody has answered it yet
        desk.read_rules()
        seat = desk.arrive("anna", "1", "local")
        desk.consent(seat)
        desk.tell_about(seat, {})
        lease = desk.next_step(seat).shown.token
        desk.answer(seat, lease, {"better": {"choice": "left", "strength": 1}}, 1.0)
        for other in (hit("3"), hit("3", question="Welche Antwort?", words={"much": "sehr viel"}), hit("3", ("en",))):
            with pytest.raises(
                InputError, match=r"The question in de .* was changed, but the votes so far answer the old"
            ):
                take_up(desk.store, other, 3.0)
            with pytest.raises(InputError, match="The question in de"):
                refuse_changes(desk.store, other)
        same = hit("3", ("en", "de", "fr"), question="Welche Antwort?", title="Titel", words={"young": "jünger"})
        assert take_up(
            desk.store, dataclasses.replace(same, title="Title"), 3.0
        )  # whatever is no question, and a language
