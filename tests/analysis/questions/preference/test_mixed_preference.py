"""The mixed logit of preference: near the default on easy votes, silent where nobody asked, and covering in crowds."""

import json

import numpy as np
import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.notebook import preference
from seedvote.analysis.questions.preference.answer import prefer
from seedvote.analysis.questions.preference.models import MOST_CONTRASTS, mixed_answer
from seedvote.analysis.votes.systems import Contrast
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.worlds import Crowd

pytestmark = pytest.mark.usefixtures("hasty_throughout")


def voted(crowd, seed):
    """One study of a simulated crowd as the analysis reads it."""
    drawn = crowd.study(np.random.default_rng(seed))
    names = {way: tuple(f"{way}{k}" for k in range(int(drawn[way].max()) + 1)) for way in ("pair", "rater")}
    return Contrast(
        "x",
        "y",
        Votes(
            pair=drawn["pair"],
            pairs=names["pair"],
            choice=np.select([drawn["score"] == 1, drawn["score"] == -1], [0, 1], 2),
            rater=drawn["rater"],
            raters=names["rater"],
            dialogue=drawn["dialogue"] if crowd.pairs_each > 1 else None,
        ),
    )


@pytest.fixture(scope="module")
def easy():
    return voted(Crowd(150, raters=30, sd_pair=0.1, sd_rater=0.1, sd_habit=0.1), 0)


def test_on_easy_votes_it_agrees_with_the_default(easy):
    (found,), default = mixed_answer([easy], "auto"), prefer(easy, margin=None).net
    assert found.net.value == pytest.approx(default.value, abs=0.015)
    assert found.net.high - found.net.low == pytest.approx(default.high - default.low, rel=0.25)
    assert set(found.spreads) == {"pair", "rater"} and found.converged
    assert found.decisive == int((easy.votes.choice < 2).sum())


def test_turned_round_it_is_the_same_model(easy):
    votes = easy.votes
    other = Votes(**{**vars(votes), "choice": np.array([1, 0, 2])[votes.choice]})
    ((one,), (turned,)) = (mixed_answer([c], "auto") for c in (easy, Contrast("y", "x", other)))
    assert turned.share.value == pytest.approx(1 - one.share.value, abs=0.005)
    assert turned.net.low == pytest.approx(-one.net.high, abs=0.005)


def rows(choices, raters=5):
    return {
        "pair": [f"p{k // 3}" for k in range(len(choices))],
        "rater": [f"r{k * 7 % raters}" for k in range(len(choices))],
        "choice": choices,
        "round": [k % 3 + 1 for k in range(len(choices))],
    }


def test_it_stands_beside_the_default_only_where_it_is_asked_for():
    choices = np.random.default_rng(2).choice(["a", "b", "tie"], 90, p=[0.5, 0.3, 0.2]).tolist()
    without, asked = preference(rows(choices)), preference(rows(choices), mixed=True)
    assert without.document["mixed"] is None and "Mixed logit" not in str(without)
    (one,) = asked.document["mixed"]
    assert f"{100 * one['share']['value']:.1f} %" in str(asked) and f"{one['net']['value']:+.3f}" in str(asked)
    assert "over new pairs and raters" in str(asked)
    rest = ({k: v for k, v in found.document.items() if k != "mixed"} for found in (without, asked))
    assert next(rest) == next(rest)


def test_one_rater_is_not_called_new_raters():
    choices = np.random.default_rng(2).choice(["a", "b"], 60).tolist()
    shown = str(preference(rows(choices, raters=1), mixed=True))
    assert "over new pairs." in shown


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        (["a", "tie"] * 15, "No mixed logit of a and b: all decisive votes prefer a."),
        (["tie"] * 28 + ["a", "b"], "No mixed logit of a and b: A mixed model needs votes that share raters"),
        (["tie"] * 29 + ["a"], "No mixed logit of a and b: fewer than two votes are decisive."),
    ],
)
def test_votes_without_a_model_say_why(choices, sentence):
    found = preference(rows(choices, raters=30), mixed=True)
    assert sentence in str(found)
    (one,) = found.document["mixed"]
    assert one["net"] is None and one["reason"]


def test_the_command_gives_it_and_refuses_what_would_take_long(tmp_path, capsys, easy):
    with pytest.raises(InputError, match="--mixed takes up to 20,000 votes on 30 comparisons"):
        mixed_answer([easy] * (MOST_CONTRASTS + 1), "auto")
    path = tmp_path / "votes.csv"
    made = rows(np.random.default_rng(3).choice(["a", "b", "tie"], 60).tolist())
    lines = [f"{','.join(map(str, row))}\n" for row in zip(*made.values(), strict=True)]
    path.write_text("pair,rater,choice,round\n" + "".join(lines))
    assert dispatch("analysis", "", COMMANDS, ["preference", str(path), "--mixed", "--json", "-"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["mixed"]
    assert one["first"] == "a" and set(one["spreads"]) == {"pair", "rater"}


CROWDS = (
    Crowd(100, raters=10),
    Crowd(100, raters=10, work="pareto"),
    Crowd(200, raters=40),
    Crowd(200, raters=40, work="pareto"),
    Crowd(20, 5, raters=30, sd_dialogue=0.5),
    Crowd(100, raters=20, sd_rater=0.8, centre=0.6),
)


@pytest.mark.slow
@pytest.mark.parametrize("crowd", CROWDS)
def test_its_net_preference_covers_that_of_everybody(crowd):
    """Votes come from thresholds on a utility, not from the model itself."""
    truth, held = crowd.truth()[1], np.empty((200, 4))
    for k in range(len(held)):
        study = voted(crowd, k)
        for place, one in ((0, mixed_answer([study], "auto")[0].net), (2, prefer(study, margin=None).net)):
            held[k, place : place + 2] = one.low < truth < one.high, one.high - one.low
    print(crowd, held.mean(0).round(3))
    assert 0.9 <= held[:, 0].mean() <= 1
