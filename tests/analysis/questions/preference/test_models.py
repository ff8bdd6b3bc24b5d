"""The careful answer beside the default: when it is given, that it changes nothing else, and that all doors show it."""

import functools
import json
from dataclasses import replace

import numpy as np
import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.notebook import preference
from seedvote.analysis.questions.preference import models
from seedvote.analysis.questions.preference.answer import answer
from seedvote.analysis.questions.preference.models import (
    FEW_RATERS,
    MOST_VOTES,
    Credible,
    Forecast,
    careful_answer,
    careful_points,
    careful_sentences,
    disagreeing,
    time_needed,
)
from seedvote.analysis.questions.preference.showing import document
from seedvote.analysis.showing.words import signed
from seedvote.analysis.stats.paired import bayes_davidson
from seedvote.analysis.votes.systems import fixed_sides
from seedvote.analysis.votes.votes import votes_from_columns
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Vote
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.dialogue.shell.progress import announce
from tests.analysis.report_study import add_votes


def few(raters, votes=80, seed=0):
    """Votes on 20 pairs of `a` and `b`, which is somewhat better."""
    generator = np.random.default_rng(seed)
    return fixed_sides(
        votes_from_columns(
            {
                "pair": [f"p{k % 20}" for k in range(votes)],
                "rater": [f"r{k}" for k in generator.permutation(np.arange(votes) % raters)],
                "choice": generator.choice(["a", "b", "tie"], votes, p=[0.5, 0.2, 0.3]),
                "round": np.arange(votes) // 20 + 1,
            }
        )
    )


@functools.cache
def of_five_raters():
    return careful_answer(few(5), asked=None, clusters="auto", ranking=None, seed=0)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("raters", "asked", "given"),
    [(5, None, True), (5, False, False), (FEW_RATERS, None, False), (FEW_RATERS, True, True), (1, None, False)],
)
def test_it_is_given_where_raters_are_few_or_where_it_was_asked_for(raters, asked, given):
    found = careful_answer(few(raters), asked=asked, clusters="auto", ranking=None, seed=0)
    assert (found is not None) == given
    if found is not None:
        assert found.reason == (
            "it was asked for" if asked else "the votes of 5 raters are worth 5.0 equally busy ones"
        )


def test_it_stands_beside_the_default_and_changes_none_of_its_numbers():
    matches = few(5)
    with_it, without = (document(answer(matches, careful=careful)) for careful in (None, False))
    careful = with_it.pop("careful")
    assert without.pop("careful") is None
    assert with_it == without
    assert careful["r_hat"] < 1.1 and careful["draws"] >= 1000
    assert set(careful["spreads"]) == {"pair taste", "pair ties", "rater taste", "rater ties"}
    (contrast,) = careful["contrasts"]
    assert contrast["net"]["low"] < contrast["net"]["value"] < contrast["net"]["high"]
    assert contrast["p_first"] == pytest.approx(careful["systems"]["a"]["p_best"], abs=1e-12)
    for system in careful["systems"].values():
        assert sum(system["p_ranks"]) == pytest.approx(1.0)
        assert system["rank"] == system["default_rank"]


def test_mixed_model_follows_votes_and_seed():
    again, other = (careful_answer(few(5), asked=None, clusters="auto", ranking=None, seed=seed) for seed in (0, 1))
    one = of_five_raters()
    assert one == again
    assert one.contrasts[0].net.value == pytest.approx(other.contrasts[0].net.value, abs=0.03)


@pytest.mark.usefixtures("hasty")
def test_votes_taken_as_independent_have_no_raters_in_the_model_either():
    found = careful_answer(few(5), asked=None, clusters="vote", ranking=None, seed=0)
    assert found.spreads == {} and found.systems[0].system == "a"
    assert "SD on the log scale" not in "".join(careful_sentences(found))


def test_too_many_votes_are_refused_with_a_sentence():
    with pytest.raises(InputError, match=r"--careful takes up to 20,000 votes, and these are 20,001"):
        careful_answer(few(50, MOST_VOTES + 1), asked=True, clusters="auto", ranking=None, seed=0)
    assert careful_answer(few(5, MOST_VOTES + 1), asked=None, clusters="auto", ranking=None, seed=0) is None


def test_mixed_model_too_large_for_memory_is_refused():
    many = few(5, 400)
    votes = replace(many.votes, pair=np.arange(400) // 2, pairs=tuple(f"p{k}" for k in range(200)))
    votes = replace(votes, dialogue=np.arange(400) // 4, dialogues=tuple(f"d{k}" for k in range(100)))
    lone = replace(many, votes=votes, systems=tuple(f"m{k}" for k in range(60)))
    with pytest.raises(InputError, match=r"18,605 effects of raters, dialogues and pairs on 60 systems"):
        careful_answer(lone, asked=True, clusters="auto", ranking=None, seed=0)
    assert careful_answer(lone, asked=None, clusters="auto", ranking=None, seed=0) is None


def test_mixed_model_announces_its_time():
    seconds, steps, announced = iter([10.0, 15.0, 110.0, 120.0, 310.0]), [], []
    forecast = Forecast(2400, clock=lambda: next(seconds), say=steps.append, announce=announced.append)
    assert steps == ["careful answer of 2,400 votes: timing its first rounds"]
    for done in range(1, 211):
        forecast(done, 210)
        assert len(announced) == (done >= 10), "one round in twenty is timed"
    for done in range(1, 421):
        forecast(done, 420)
    assert announced == [  # 5 s for 10 of 210 rounds, then 10 s for 21 of 420
        "careful answer of 2,400 votes: about 2 minutes, or up to 7 times that if its chains disagree; "
        "--no-careful leaves it out",
        "careful answer of 2,400 votes: about 4 minutes, as its chains disagree and are drawn again; "
        "--no-careful leaves it out",
    ]
    assert len(steps) == 1 and time_needed(20, is_again=True).endswith("drawn again")


def test_minutes_are_announced_where_no_terminal_shows_them(capsys):
    announce("careful answer of 2,400 votes: about 2 minutes")
    assert capsys.readouterr().err == "careful answer of 2,400 votes: about 2 minutes.\n"


def test_every_round_of_the_chains_is_counted(monkeypatch):
    counted = []

    class Counting(Forecast):
        def __call__(self, done, rounds):
            counted.append((done, rounds))

    monkeypatch.setattr(models, "Forecast", Counting)
    careful_answer(few(5), asked=None, clusters="auto", ranking=None, seed=0)
    assert counted[:210] == [(done, 210) for done in range(1, 211)]


def test_chains_that_disagree_are_said_to():
    found = of_five_raters()
    assert disagreeing(found) == disagreeing(None) == []
    (sentence,) = disagreeing(replace(found, r_hat=1.4))
    assert sentence.startswith("The chains of the careful answer disagree (R-hat 1.40)")


def test_a_system_that_moves_is_named_with_both_ranks():
    found = of_five_raters()
    first, second = found.systems
    assert "There is no default ranking to compare it with." in careful_sentences(found)[0]
    kept = replace(found, systems=(replace(first, default_rank=1), replace(second, default_rank=2)))
    assert "It leaves every system at its rank." in careful_sentences(kept)[0]
    turned = replace(found, systems=(replace(first, default_rank=2), replace(second, default_rank=1)))
    assert "It moves a (from 2 to 1), b (from 1 to 2); where the chance" in careful_sentences(turned)[0]


def test_the_report_names_the_leader_first_in_points():
    found = of_five_raters()
    (one,) = found.contrasts
    net = one.net
    said = careful_points(found)
    assert f"a over b +{100 * net.value:.1f} ({signed(100 * net.low)} to {signed(100 * net.high)})." in said
    turned = replace(
        found, contrasts=(replace(one, first="b", second="a", net=Credible(-net.value, -net.high, -net.low)),)
    )
    assert careful_points(turned) == said


@pytest.fixture
def of_four(tmp_path):
    """A study whose votes are of four raters."""
    add_votes(tmp_path)
    votes = [
        Vote(**{f: getattr(v, f) for f in Vote.__slots__ if f != "rater"}, rater=f"r{int(v.rater[1:]) % 4}")
        for v in read_records(tmp_path / "votes.jsonl", Vote)
    ]
    write_records(tmp_path / "votes.jsonl", votes, signature="votes:few|v:0", kind=Vote)
    return tmp_path


@pytest.fixture
def say(capsys):
    """What a command of the analysis writes."""

    def told(*words):
        assert dispatch("analysis", "", COMMANDS, [*map(str, words)]) == 0
        return capsys.readouterr().out

    return told


@pytest.mark.usefixtures("hasty")
def test_chains_that_never_agree_are_redrawn_and_warned_of(of_four, say, monkeypatch):
    for module in (bayes_davidson, models):
        monkeypatch.setattr(module, "AGREED", 0.0)
    lengths, draws = [], bayes_davidson.hamiltonian_draws

    def seen(*args, **options):
        lengths.append((options["warm_up"], options["draws"]))
        return draws(*args, **options)

    monkeypatch.setattr(bayes_davidson, "hamiltonian_draws", seen)
    found = preference(of_four)
    assert lengths == [(12, 12), (24, 24), (48, 48)]
    (warning,) = (one for one in found.document["warnings"] if "chains of the careful answer" in one)
    r_hat = found.document["careful"]["r_hat"]
    assert warning.startswith(f"The chains of the careful answer disagree (R-hat {r_hat:.2f}), so do not rely on it")
    assert found.document["careful"]["draws"] == 4 * 48
    assert warning in str(found)
    assert warning in json.loads(say("preference", of_four, "--json", "-"))["warnings"]
    say("report", of_four)
    assert warning in json.loads((of_four / "report.json").read_text())["preference"]["warnings"]
    for suffix, heading in (("html", "<h2"), ("md", "\n## ")):
        page = (of_four / f"report.{suffix}").read_text().replace("\\", "")
        (section,) = (one for one in page.split(heading) if "The careful answer is given because" in one)
        assert warning in section, suffix


@pytest.mark.usefixtures("hasty")
def test_command_notebook_and_report_show_the_same_careful_answer(of_four, say):
    told = json.loads(say("preference", of_four, "--json", "-"))
    assert told["careful"]["reason"] == "the votes of 4 raters are worth 3.9 equally busy ones"
    shown = say("preference", of_four)
    assert "Careful answer: Bayesian hierarchical Davidson" in shown and "P(best)" in shown
    say("report", of_four)
    assert json.loads((of_four / "report.json").read_text())["preference"] == told
    for suffix in ("html", "md"):
        page = (of_four / f"report.{suffix}").read_text().replace("\\", "")
        assert "The careful answer is given because" in page
        assert "By the careful answer, in points with 95" in page
    assert preference(of_four, careful=False).document["careful"] is None
    assert json.loads(say("preference", of_four, "--no-careful", "--json", "-"))["careful"] is None
