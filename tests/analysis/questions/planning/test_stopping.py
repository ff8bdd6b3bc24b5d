"""Whether a running study may stop, as the command says it: nothing on one person, and a clear case does stop."""

import itertools
import json

import numpy as np
import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.questions.planning.answer import answer
from seedvote.analysis.questions.planning.showing import parts
from seedvote.analysis.questions.planning.stopping import Look, decide_questions
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.stats.power import Assumptions
from seedvote.analysis.stats.sequential import Now
from seedvote.analysis.votes.systems import Contrast
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.growing_study import Crowd, contrast, grown

pytestmark = pytest.mark.usefixtures("hasty_throughout")


def plan(capsys, *words):
    assert dispatch("analysis", "", COMMANDS, ["plan", *map(str, words)]) == 0
    return capsys.readouterr().out


def written(path, rows, head="pair,rater,choice"):
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def running(path, votes, net):
    generator = np.random.default_rng(0)
    choices = generator.choice(["a", "b", "tie"], votes, p=[0.325 + net / 2, 0.325 - net / 2, 0.35])
    return written(path, [f"p{k // 3},r{(k * 7) % 41},{choice}" for k, choice in enumerate(choices)])


@pytest.mark.parametrize(
    ("votes", "net", "margin", "words"),
    [
        (27, 0.0, 0.1, "go on (9 effective pairs so far; nothing is decided below 10)"),
        (600, 0.0, 0.02, "go on (neither"),
        (900, 0.5, 0.1, "stop (a is preferred)"),
        (3000, 0.0, 0.3, "stop (the two are equivalent within 0.3)"),
    ],
)
def test_the_command_says_whether_a_running_study_may_stop(capsys, tmp_path, votes, net, margin, words):
    shown = plan(capsys, running(tmp_path / "votes.csv", votes, net), "--margin", margin)
    assert words in shown
    assert f"measured on {votes:,} votes" in shown
    assert "However often you look, a false stop happens in at most 5 % of studies." in shown


def test_the_promise_names_what_it_takes_for_granted(capsys, tmp_path):
    path = running(tmp_path / "votes.csv", 900, 0.0)
    assert "This holds only if votes hang together by nothing but what --clusters vote names" in plan(
        capsys, path, "--clusters", "vote"
    )
    assert "This holds only if" not in plan(capsys, path, "--clusters", "pair+rater")


def test_running_study_needs_a_margin_for_equivalence(capsys, tmp_path):
    assert "go on (no difference is shown yet)" in plan(capsys, running(tmp_path / "votes.csv", 3000, 0.0))


def test_nothing_stops_on_the_votes_of_one_person(capsys, tmp_path):
    path = written(tmp_path / "votes.csv", [f"p{k},r,a" for k in range(60)])
    for words in ((), ("--clusters", "pair"), ("--clusters", "vote")):
        shown = plan(capsys, path, *words)
        assert "go on (all votes are one rater's, which says nothing about other people)" in shown
        assert "e-value" not in shown
    (look,) = json.loads(plan(capsys, path, "--json", "-"))["running"]
    assert look["decision"] == "go on" and look["betting"]["votes"] == 1 and look["betting"]["e"] < 2


def test_nothing_stops_where_all_votes_may_be_one_persons(capsys, tmp_path):
    path = written(tmp_path / "votes.csv", [f"p{k},a" for k in range(60)], head="pair,choice")
    assert "go on (no raters are named" in plan(capsys, path)
    assert json.loads(plan(capsys, path, "--json", "-"))["running"][0]["betting"] is None
    assert "stop (a is preferred)" in plan(capsys, path, "--clusters", "pair")  # taken at their word


def test_a_few_busy_raters_among_many_are_few(capsys, tmp_path):
    """Thirty raters, of whom two gave nearly all votes."""
    rows = [f"p{k},r{k if k < 28 else 28 + k % 2},a" for k in range(300)]
    assert "effective raters so far" in plan(capsys, written(tmp_path / "votes.csv", rows))


def test_a_unanimous_study_stops_and_says_on_what_it_rests(capsys, tmp_path):
    path = written(tmp_path / "votes.csv", [f"p{k // 3},r{(k * 7) % 20},a" for k in range(600)])
    shown = plan(capsys, path)
    assert "600 votes: stop (a is preferred)." in shown and "from 20 effective raters." in shown
    assert "All votes are the same, so this rests on the raters, not on the number of votes." in shown
    assert "An exact bet, which decides nothing, on the 20 votes that share no rater and no dialogue" in shown
    (look,) = json.loads(plan(capsys, path, "--json", "-"))["running"]
    assert 0.5 < look["low"] < 0.9 and look["high"] == 1  # twenty raters who agree are no proof of all the others
    five = written(tmp_path / "five.csv", [f"p{k // 3},r{(k * 7) % 5},a" for k in range(600)])
    assert "go on (5 effective raters so far" in plan(capsys, five)


def test_equivalence_by_ties_needs_enough_raters(capsys, tmp_path):
    rows = [f"p{k // 3},r{(k * 7) % 20},{'a' if k == 0 else 'b' if k == 5 else 'tie'}" for k in range(600)]
    path = written(tmp_path / "votes.csv", rows)
    assert "go on (neither" in plan(capsys, path, "--margin", 0.1)
    assert "stop (the two are equivalent within 0.3)" in plan(capsys, path, "--margin", 0.3)


def several(count, crowd, seed):
    generator = np.random.default_rng(seed)
    made = [contrast(grown(crowd, generator), crowd.votes).votes for _ in range(count)]
    return [Contrast(f"s{k}", f"t{k}", votes) for k, votes in enumerate(made)]


def test_a_bet_that_was_won_and_lost_again_says_so(capsys, tmp_path):
    """Its e-value falls, its interval stays where it was: without a word the two contradict each other."""
    choices = ["b"] * 20 + ["a"] * 20
    shown = plan(capsys, written(tmp_path / "v.csv", [f"p{k},r{k},{choice}" for k, choice in enumerate(choices)]))
    assert "It had passed 20 after" in shown and "its interval never widens" in shown


def test_several_comparisons_share_the_error():
    crowd = Crowd(40, 600)
    one, five = (answer(several(count, crowd, 1), assumed=Assumptions(0.35)) for count in (1, 5))
    assert one.looks[0].alpha == 0.05
    assert {look.alpha for look in five.looks} == {0.01}
    assert five.looks[0].now.high - five.looks[0].now.low > one.looks[0].now.high - one.looks[0].now.low
    price = [found.differences[0].peeking.most / found.differences[0].effort.votes_clustered for found in (one, five)]
    assert price[1] > 1.2 * price[0] > 1.2  # by luck of the draw alone it is 2 % dearer


def test_many_comparisons_are_a_table_and_one_without_votes_enough_is_open():
    sparse = Votes(pair=np.array([0]), pairs=("p",), choice=np.array([0]), rater=np.array([0]), raters=("r",))
    found = answer([*several(5, Crowd(40, 300), 2), Contrast("x", "y", sparse)], assumed=Assumptions(0.35))
    assert found.looks[-1].verdict == "one rater"
    tables = [part for part in parts(found) if isinstance(part, Table) and "comparison may stop" in part.caption]
    assert len(tables) == 1 and len(tables[0].rows) == 6
    assert any("over all 6 comparisons together" in part for part in parts(found) if isinstance(part, str))


def made_look(first, second, verdict, estimate=0.0):
    now = Now(estimate, 0.1, 1.0, estimate - 0.2, estimate + 0.2)
    return Look(first, second, 100, 30.0, "rater", 0.01, False, None, verdict, now)


def decided(*order, undecided=()):
    """Looks at all comparisons of these systems, the best first; some of them are undecided."""
    return [
        made_look(a, b, "open" if (a, b) in undecided else "preferred", 0.5) if n % 2 else
        made_look(b, a, "open" if (a, b) in undecided else "preferred", -0.5)
        for n, (a, b) in enumerate(itertools.combinations(order, 2))
    ]  # fmt: skip


def test_the_best_the_top_three_and_the_order_are_known_by_comparisons_that_may_stop():
    best, top, order = decide_questions(decided("one", "two", "three", "four", "five"))
    assert best.systems == ("one",) and top.systems == ("one", "two", "three")
    assert order.systems == ("one", "two", "three", "four", "five")


def test_what_is_undecided_keeps_its_questions_open_and_no_others():
    best, top, order = decide_questions(decided("one", "two", "three", "four", "five", undecided={("four", "five")}))
    assert best.systems and top.systems and not order.systems and order.undecided == (("four", "five"),)
    best, top, order = decide_questions(decided("one", "two", "three", "four", "five", undecided={("one", "two")}))
    assert not best.systems and set(top.systems) == {"one", "two", "three"} and not order.systems
    (pair,) = best.undecided
    assert set(pair) == {"one", "two"}


def test_a_comparison_that_was_not_made_is_undecided():
    looks = [look for look in decided("one", "two", "three") if {look.first, look.second} != {"one", "three"}]
    best, order = decide_questions(looks)
    assert not best.systems and set(best.undecided[0]) == {"one", "three"} and not order.systems
    assert decide_questions(looks[:1]) == ()


def test_the_plan_says_which_questions_are_known(capsys, tmp_path):
    generator = np.random.default_rng(0)
    lead = {("x", "y"): 0.7, ("x", "z"): 0.9, ("y", "z"): 0.0}
    rows = [
        f"{a}{b}{k // 3},{a},{b},r{(k * 7) % 41},{generator.choice(['a', 'b'], p=[0.5 + net / 2, 0.5 - net / 2])}"
        for (a, b), net in lead.items()
        for k in range(600)
    ]
    path = written(tmp_path / "votes.csv", rows, "pair,system_a,system_b,rater,choice")
    said = plan(capsys, path)
    assert "Which system is best is known, so the study may stop for it: x." in said
    assert "The whole order is not known yet: y against z is undecided." in said
    document = json.loads(plan(capsys, path, "--json", "-"))
    assert [row["systems"] for row in document["questions"]] == [["x"], []]
