"""`analysis judge`: habits, people beside the judge, and what it is worth, on studies on disk."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import hypergeom

from seedvote.analysis.notebook import judged, preference
from seedvote.analysis.questions.judge.against_people import (
    _condition_number,
    _influence_on_ac1,
    _influence_on_kappa,
)
from seedvote.analysis.questions.judge.answer import answer
from seedvote.analysis.questions.judge.labelling import chance_of_so_many
from seedvote.analysis.questions.judge.showing import describe_worth
from seedvote.analysis.stats.gain import Gain
from seedvote.analysis.votes.inputs import matches_of
from seedvote.analysis.votes.verdicts import benches_beside
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Candidate, Pair, Utterance, Verdict, Vote
from tests.analysis.judge_crowd import many_systems_folder, study_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return study_folder(tmp_path_factory.mktemp("judge") / "s", pairs=200, voted=80, raters=20, agreement=0.8)


@pytest.fixture(scope="module")
def found(folder):
    return judged(folder)


def rewritten(folder, path, kind, change):
    """The study again with one file's records changed."""
    path.mkdir()
    for name, each in (("pairs", Pair), ("votes", Vote), ("verdicts", Verdict)):
        records = list(read_records(folder / f"{name}.jsonl", each))
        made = change(records) if each is kind else records
        write_records(path / f"{name}.jsonl", made, signature="s", kind=each)
    return path


@pytest.mark.parametrize(
    ("influence", "chance_of"),
    [(_influence_on_kappa, lambda p, q: p @ q), (_influence_on_ac1, lambda p, q: ((p + q) * (2 - p - q)).sum() / 8)],
)
def test_how_a_vote_moves_agreement_by_chance_is_its_slope(influence, chance_of):
    generator = np.random.default_rng(0)
    choice, ruling = generator.integers(0, 3, (2, 50))

    def chance_at(weights):
        return chance_of(*(np.bincount(codes, weights, minlength=3) / weights.sum() for codes in (choice, ruling)))

    people, judge = (np.bincount(codes, minlength=3) / 50 for codes in (choice, ruling))
    expected, moves = influence(people, judge, choice, ruling)
    assert expected == pytest.approx(chance_at(np.ones(50)))
    steps = 1e-6 * np.eye(50)
    slopes = [(chance_at(1 + step) - chance_at(1 - step)) / 2e-6 for step in steps]
    assert 50 * np.array(slopes) == pytest.approx(moves, abs=1e-6)


def test_the_condition_number_is_that_of_answers_by_people_and_none_where_people_never_gave_one():
    assert _condition_number(np.diag([8, 4, 2])) == pytest.approx(1)
    # Of [[.9, .1], [.3, .7]] the squared singular values add to 1.4 and multiply to .36: their ratio is k².
    k = _condition_number(np.array([[9, 1], [3, 7]]))
    assert k is not None and 0.6 * (k + 1 / k) == pytest.approx(1.4)
    assert _condition_number(np.array([[8, 1, 1], [1, 8, 1], [0, 0, 0]])) is None
    assert _condition_number(np.ones((3, 3), int)) is None  # the same answers whatever people say


def test_people_alone_are_what_preference_says_to_the_last_digit(folder, found):
    net = preference(folder).document["net"]
    mine = found.document["judges"][0]["estimates"][0]["people"]
    assert (mine["value"], mine["se"], mine["low"], mine["high"]) == (net["value"], net["se"], net["low"], net["high"])


def test_a_good_judge_saves_votes_on_the_preference_and_says_how_many(found):
    row = found.document["judges"][0]["estimates"][0]
    assert (row["outcome"], row["votes"], row["pairs_without"]) == ("net", 240, 120)
    assert row["gain"]["shown"]
    assert 0 < row["votes_saved"]["low"] < row["votes_saved"]["value"] < row["votes_saved"]["high"] < 240
    assert row["effective_votes"] == pytest.approx(240 * row["gain"]["value"])
    assert row["ppi_plus_plus"]["se"] < row["people"]["se"]
    assert f"is worth {row['votes_saved']['value']:.0f} of 240 votes" in repr(found)


def test_a_worth_that_may_be_none_is_not_said_to_be_one(folder):
    faint = Gain(1.002, 1.00002, 1.01, 0.05, 0.004, 0.1)  # its interval of votes saved begins below half a vote
    matches = matches_of(folder / "votes.jsonl", folder / "pairs.jsonl")[0]
    row = replace(answer(benches_beside(folder, None), matches).judges[0].estimates[0], gain=faint, votes=1792)
    assert faint.shown
    assert describe_worth(row, "j").endswith("is not shown to be worth any vote: 4 of 1,792, 95 % interval 0 to 18.")


def test_a_page_has_one_gain_a_number(found):
    assert repr(found).count("gain (95 %)") == 1
    assert "variance of people alone" not in repr(found)


def test_a_coin_is_not_shown_to_be_worth_a_vote(tmp_path):
    text = repr(judged(study_folder(tmp_path / "s", pairs=160, voted=80, agreement=0.0, seed=4)))
    assert "is not shown to be worth any vote" in text
    assert " is worth " not in text


def test_a_judge_that_prefers_one_system_everywhere_has_weight_zero(folder, tmp_path):
    first = {pair.pair: pair.a.model for pair in read_records(folder / "pairs.jsonl", Pair)}
    side = {name: "a" if model == min(first.values()) else "b" for name, model in first.items()}
    same = rewritten(
        folder, tmp_path / "s", Verdict, lambda some: [replace(one, choice=side[one.pair]) for one in some]
    )
    rows = judged(same).document["judges"][0]["estimates"]
    assert rows
    for row in rows:
        assert row["ppi_plus_plus"]["lambda"] == 0
        assert (row["gain"]["value"], row["gain"]["low"], row["gain"]["high"]) == (1, 1, 1)
        assert row["ppi_plus_plus"]["value"] == row["people"]["value"]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (lambda verdict: verdict.order[0], "chose the response shown first in all"),
        (lambda verdict: verdict.order[1], "chose the response shown second in all"),
        (lambda _: "tie", "called every pair a tie in all"),
    ],
)
def test_a_constant_judge_is_called_constant_and_agrees_with_nobody(folder, tmp_path, said, sentence):
    """Contradicting verdicts count as ties, so that one that always says A would "equal" half of the votes."""
    rewritten(folder, tmp_path / "s", Verdict, lambda some: [replace(one, choice=said(one)) for one in some])
    result = judged(tmp_path / "s")
    (judge,) = result.document["judges"]
    assert judge["people"] is None and judge["estimates"] == []
    assert f"{sentence} of its" in repr(result) and "a constant judge, worth 0 votes" in repr(result)
    assert "equals a vote" not in repr(result)


def test_swapping_a_and_b_everywhere_changes_no_estimate(folder, found, tmp_path):
    turn = {"a": "b", "b": "a"}.get

    def turned(records):
        if isinstance(records[0], Pair):
            return [replace(one, a=one.b, b=one.a) for one in records]
        extra = {"order": lambda one: turn(one.order[0]) + turn(one.order[1])}
        return [
            replace(
                one, choice=turn(one.choice, one.choice), **{n: f(one) for n, f in extra.items() if hasattr(one, n)}
            )
            for one in records
        ]

    path = tmp_path / "s"
    path.mkdir()
    for name, kind in (("pairs", Pair), ("votes", Vote), ("verdicts", Verdict)):
        records = turned(list(read_records(folder / f"{name}.jsonl", kind)))
        write_records(path / f"{name}.jsonl", records, signature="s", kind=kind)
    for one, other in zip(
        found.document["judges"][0]["estimates"], judged(path).document["judges"][0]["estimates"], strict=True
    ):
        assert one["ppi_plus_plus"]["value"] == pytest.approx(other["ppi_plus_plus"]["value"], abs=1e-12)
        assert one["stratified"]["value"] == pytest.approx(other["stratified"]["value"], abs=1e-12)


def test_without_votes_the_judge_speaks_for_itself_alone(tmp_path):
    found = judged(study_folder(tmp_path / "s", votes=False))
    assert "nothing calibrates it" in repr(found)
    assert found.document["judges"][0]["people"] is None
    assert found.document["judges"][0]["estimates"] == []


def test_with_every_pair_labelled_people_are_all_there_is(tmp_path):
    found = judged(study_folder(tmp_path / "s", pairs=40, voted=40))
    assert "Every pair has votes" in repr(found)
    row = found.document["judges"][0]["estimates"][0]
    assert row["ppi_plus_plus"]["value"] == row["people"]["value"]


@pytest.mark.parametrize("raters", [3, 12])
@pytest.mark.parametrize("voted", [2, 5])
def test_five_pairs_and_three_raters_are_answered_with_care(tmp_path, voted, raters):
    found = judged(study_folder(tmp_path / "s", pairs=30, voted=voted, raters=raters))
    json.dumps(found.document, allow_nan=False)
    assert "Under 30 pairs" in repr(found) or not found.document["judges"][0]["estimates"]


def test_votes_from_elsewhere_need_a_word_on_how_pairs_were_drawn(tmp_path):
    folder = study_folder(tmp_path / "s", door="imported")
    with pytest.raises(InputError, match="--labels random"):
        judged(folder)
    assert judged(folder, labels="random").document["labels"] == "random"
    with pytest.raises(InputError, match="--labels at random is not known"):
        judged(folder, labels=["at", "random"])


def test_votes_where_the_judge_was_unsure_are_no_sample(folder, tmp_path):
    def sure(records):
        voted = {f"p{n}" for n in range(80)}
        return [replace(one, choice="tie" if one.pair in voted else one.choice) for one in records]

    with pytest.raises(InputError, match=r"only where gpt-x was unsure .* --labels weights COLUMN"):
        judged(rewritten(folder, tmp_path / "s", Verdict, sure))

    stated = rewritten(folder, tmp_path / "stated", Verdict, sure)
    assert judged(stated, labels="random").document["labels"] == "random"  # a stated design is taken at its word


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (4, 5))])
def test_a_random_sample_of_many_systems_is_never_refused(tmp_path, seed):
    """Two votes a contrast, on which the judge says one thing and on the rest another, are chance, not a choice."""
    text = repr(judged(many_systems_folder(tmp_path / "s", seed=seed)))
    assert "gpt-x is worth" in text and "Shown are the 30 estimates with the most votes" in text
    assert "make sure that the pairs with votes are a random part" not in text


def test_the_chance_of_so_many_unsure_pairs_is_hypergeometric():
    for unsure_drawn, drawn, unsure, pairs in ((3, 5, 10, 40), (0, 5, 3, 9), (5, 5, 5, 30)):
        expected = hypergeom.sf(unsure_drawn - 1, pairs, unsure, drawn)
        assert chance_of_so_many(unsure_drawn, drawn, unsure, pairs) == pytest.approx(expected)


def test_strata_and_chances_come_from_fields_of_the_pairs(folder, tmp_path):
    def marked(records):
        return [replace(one, extra={"part": f"{n % 2}", "chance": 0.4}) for n, one in enumerate(records)]

    path = rewritten(folder, tmp_path / "s", Pair, marked)
    for labels in (["strata", "part"], ["weights", "chance"]):
        row = judged(path, labels=labels).document["judges"][0]["estimates"][0]
        assert row["ppi_plus_plus"]["se"] < row["people"]["se"] * 1.05
    with pytest.raises(InputError, match="has no field 'colour'"):
        judged(path, labels=["strata", "colour"])
    with pytest.raises(InputError, match=r"part of pair .* a chance is above 0"):
        judged(path, labels=["weights", "part"])


def test_pairs_that_the_prompt_was_written_by_are_held_out(folder, tmp_path):
    (tmp_path / "shaped.txt").write_text("".join(f"p{n}\n" for n in range(20)))
    row = judged(folder, tuned_on=tmp_path / "shaped.txt").document["judges"][0]["estimates"][0]
    assert row["votes"] == 180
    (tmp_path / "shaped.txt").write_text("nothing\n")
    with pytest.raises(InputError, match="none of which has a vote"):
        judged(folder, tuned_on=tmp_path / "shaped.txt")


def test_a_prompt_of_its_own_is_a_judge_of_its_own(folder, tmp_path):
    twice = rewritten(
        folder, tmp_path / "s", Verdict, lambda some: [*some, *(replace(one, prompt="beef", draw=1) for one in some)]
    )
    found = judged(twice).document
    assert [one["title"] for one in found["judges"]] == ["gpt-x (prompt 3f1c)", "gpt-x (prompt beef)"]
    assert found["alike"][0]["share"] == 1
    with pytest.raises(InputError, match="no verdicts of 'gpt-y'"):
        judged(folder, judges=["gpt-y"])


CONTEXT = [Utterance("user", "hello")]


def little(path, rulings, kind="real", **more):
    """One pair a ruling `order choice`, all of texts short and long."""
    sides = Candidate("a b c d", "m1", 0), Candidate("a", "gpt-mini", 0)
    pairs = [Pair(f"p{n}", "i", CONTEXT, *sides, kind=kind, **more) for n in range(len(rulings))]
    said = [Verdict(f"p{n}", "gpt-x", order, choice) for n, some in enumerate(rulings) for order, choice in some]
    path.mkdir()
    write_records(path / "pairs.jsonl", pairs, signature="s", kind=Pair)
    write_records(path / "verdicts.jsonl", said, signature="s", kind=Verdict)
    return judged(path).document["judges"][0]["habits"]


def test_every_habit_counts_by_hand(tmp_path):
    found = little(
        tmp_path / "s",
        [[("ab", "a"), ("ba", "a")], [("ab", "a"), ("ba", "b")], [("ab", "tie"), ("ba", "tie")],
         [("ab", "unusable"), ("ba", "b")]],
    )  # fmt: skip

    def counted(name):
        return found[name]["part"], found[name]["whole"]

    assert counted("same_in_both_orders") == (2, 3)
    assert counted("first_place") == (4, 5)
    assert counted("ties") == (2, 7)
    assert counted("unusable") == (1, 8)
    assert counted("longer") == (3, 5)
    assert found["own_names"] == ["gpt-mini"]
    assert counted("own") == (2, 5)


def test_checks_are_judged_by_the_gates_rule(tmp_path):
    found = little(tmp_path / "s", [[("ab", "a"), ("ba", "a")], [("ab", "b"), ("ba", "a")]], kind="check", answer="a")
    assert (found["checks_failed"]["part"], found["checks_failed"]["whole"]) == (1, 2)
    assert found["ties"]["whole"] == 0


def test_three_systems_can_run_in_a_circle(tmp_path):
    names = [("x", "y"), ("y", "z"), ("z", "x")]
    pairs = [Pair(f"p{n}", "i", CONTEXT, Candidate("t", a), Candidate("u", b)) for n, (a, b) in enumerate(names)]
    path = tmp_path / "s"
    path.mkdir()
    write_records(path / "pairs.jsonl", pairs, signature="s", kind=Pair)
    write_records(
        path / "verdicts.jsonl", [Verdict(f"p{n}", "j", "ab", "a") for n in range(3)], signature="s", kind=Verdict
    )
    found = judged(path)
    assert found.document["judges"][0]["habits"]["circles"]["part"] == 1
    assert "in ONE order" in repr(found)


def test_the_study_must_have_pairs_and_verdicts(tmp_path):
    with pytest.raises(InputError, match=r"has no pairs\.jsonl"):
        judged(tmp_path)
    folder = study_folder(tmp_path / "s")
    (folder / "verdicts.jsonl").unlink()
    with pytest.raises(InputError, match="python -m evaluators judge"):
        judged(folder)


def four_systems(folder, path):
    """The study again, with x and y in two seeds each, so that four systems are compared in four ways."""

    def seeded(pairs):
        return [replace(pair, a=replace(pair.a, seed=n % 2), b=replace(pair.b, seed=(n // 2) % 2))
                for n, pair in enumerate(pairs)]  # fmt: skip

    return rewritten(folder, path, Pair, seeded)


def test_agreement_by_systems_and_lengths_and_the_order_of_four_systems(folder, tmp_path):
    found = judged(four_systems(folder, tmp_path / "s"))
    met = found.document["judges"][0]["people"]
    assert len({part["name"] for part in met["contrasts"]}) == 4
    for parts in (met["contrasts"], met["lengths"]):
        assert sum(part["votes"] for part in parts) == met["votes"] == 240
        assert sum(part["pairs"] for part in parts) == met["pairs"] == 80
        whole = sum(part["votes"] * part["agreement"] for part in parts) / 240
        assert whole == pytest.approx(met["equals_vote"]["value"])
    assert met["order"]["systems"] == 4 and 0 <= met["order"]["alike"] <= met["order"]["compared"] <= 6
    text = repr(found)
    assert "By which systems are compared" in text and "By how much the lengths of the responses differ" in text
    assert f"Of 4 systems the judge puts {met['order']['alike']} of {met['order']['compared']} pairs of systems" in text


def test_a_judge_that_copies_people_puts_the_systems_in_their_order(folder, tmp_path):
    four = four_systems(folder, tmp_path / "s")
    said = {}
    for vote in read_records(four / "votes.jsonl", Vote):
        said.setdefault(vote.pair, []).append(vote.choice)
    copied = [
        Verdict(pair, "copy", order, choice, draw=draw)
        for pair, some in said.items() for draw, choice in enumerate(some) for order in ("ab", "ba")
    ]  # fmt: skip
    write_records(four / "verdicts.jsonl", copied, signature="s", kind=Verdict)
    order = judged(four).document["judges"][0]["people"]["order"]
    assert order["tau"] == pytest.approx(1) and order["alike"] == order["compared"]


def test_two_systems_have_no_order_to_compare(found):
    met = found.document["judges"][0]["people"]
    assert met["order"] is None and met["contrasts"] == []


def test_many_systems_are_ranked_with_the_judges_help(tmp_path):
    found = judged(many_systems_folder(tmp_path / "s", systems=6, items=60, pairs_an_item=4, voted=0.4))
    ranking = found.document["judges"][0]["ranking"]
    assert len(ranking["helped"]["systems"]) == 6 and ranking["others"] > ranking["voted"] > 60
    assert ranking["gain"]["value"] > 1.1 and ranking["votes"] == 3 * ranking["voted"]
    alone, helped = (
        np.mean([system["strength"]["high"] - system["strength"]["low"] for system in ranking[way]["systems"]])
        for way in ("people", "helped")
    )
    assert helped < alone
    text = repr(found)
    assert "Ranking by Davidson's model from the votes and the verdicts of gpt-x" in text
    assert f"On the ranking of 6 systems gpt-x is worth {round(ranking['votes_saved']['value'])} of" in text


def test_two_systems_have_no_ranking(folder):
    assert judged(folder).document["judges"][0]["ranking"] is None


def test_equal_stated_chances_rank_as_a_random_draw_does(tmp_path):
    many = many_systems_folder(tmp_path / "s", systems=4, items=40, pairs_an_item=4, voted=0.4)
    plain = judged(many).document["judges"][0]["ranking"]
    stated = {"chance": 0.4, "group": "all"}
    field = rewritten(many, tmp_path / "t", Pair, lambda some: [replace(one, extra=stated) for one in some])
    for labels in (["weights", "chance"], ["strata", "group"]):
        ranking = judged(field, labels=labels).document["judges"][0]["ranking"]
        for way in ("people", "helped"):
            for its, same in zip(ranking[way]["systems"], plain[way]["systems"], strict=True):
                assert its["system"] == same["system"]
                assert its["strength"]["value"] == pytest.approx(same["strength"]["value"], abs=0.01)
                assert its["strength"]["se"] == pytest.approx(same["strength"]["se"], rel=0.02)
        assert ranking["gain"]["value"] == pytest.approx(plain["gain"]["value"], rel=0.02)


def test_a_stratum_without_votes_is_named_and_left_out(tmp_path):
    many = many_systems_folder(tmp_path / "s", systems=4, items=40, pairs_an_item=4, voted=0.4)
    voted = {vote.pair for vote in read_records(many / "votes.jsonl", Vote)}

    def group(pair, n):
        return "late" if pair.pair not in voted and n % 2 else "early"

    def divide(pairs):
        return [replace(pair, extra={"wave": group(pair, n)}) for n, pair in enumerate(pairs)]

    named = rewritten(many, tmp_path / "t", Pair, divide)
    answer = judged(named, labels=["strata", "wave"])
    ranking, plain = (its.document["judges"][0]["ranking"] for its in (answer, judged(many)))
    assert ranking["unvoted"] == ["late"] and 0 < ranking["others"] < plain["others"]
    assert "leaves out the pairs of 1 value of --labels strata wave that have no votes: late." in repr(answer)


def test_strata_too_small_for_their_own_estimate_are_named(tmp_path):
    """Of four voted pairs and of none the two-system estimate joins the strata, and says so."""
    many = many_systems_folder(tmp_path / "s", systems=2, items=160, pairs_an_item=1, voted=0.4)
    voted = sorted({vote.pair for vote in read_records(many / "votes.jsonl", Vote)})

    def group(pair):
        return (
            "tiny" if pair.pair in voted[:4] else "none" if pair.pair not in voted and pair.pair[-1] in "37" else "big"
        )

    named = rewritten(many, tmp_path / "t", Pair, lambda some: [replace(p, extra={"wave": group(p)}) for p in some])
    assert "2 values of --labels strata wave had under 5 voted pairs" in (
        text := repr(judged(named, labels=["strata", "wave"]))
    )
    assert "joined the next smallest: none (0), tiny (4)." in text
    assert "joined the next smallest" not in repr(judged(named, labels=["random"]))


def test_likelier_pairs_do_not_move_the_ranking(tmp_path):
    """One system's lost pairs are voted on five times as often: unweighted votes rank it lower than it is."""
    many = many_systems_folder(tmp_path / "s", systems=4, items=200, pairs_an_item=4, voted=1.0)
    pairs = {pair.pair: pair for pair in read_records(many / "pairs.jsonl", Pair)}
    votes = read_records(many / "votes.jsonl", Vote)
    won = {vote.pair: getattr(pairs[vote.pair], vote.choice).model for vote in votes if vote.choice != "tie"}
    theirs = {name for name, pair in pairs.items() if "m03" in (pair.a.model, pair.b.model)}
    lost = {name for name, winner in won.items() if name in theirs and winner != "m03"}
    generator = np.random.default_rng(0)
    chances = {pair: 0.6 if pair in lost else 0.12 for pair in pairs}
    drawn = {pair for pair in pairs if generator.random() < chances[pair]}
    fewer = rewritten(many, tmp_path / "t", Vote, lambda some: [vote for vote in some if vote.pair in drawn])
    stated = rewritten(
        fewer, tmp_path / "u", Pair, lambda some: [replace(one, extra={"chance": chances[one.pair]}) for one in some]
    )

    def strengths(folder, **more):
        ranking = judged(folder, **more).document["judges"][0]["ranking"]
        return {its["system"]: its["strength"] for its in ranking["helped"]["systems"]}

    truth, weighed = strengths(many), strengths(stated, labels=["weights", "chance"])
    blind = strengths(stated, labels=["random"])

    def distance(answer):
        return np.sqrt(np.mean([(answer[name]["value"] - truth[name]["value"]) ** 2 for name in truth]))

    assert distance(weighed) < 0.5 * distance(blind)
    assert all(weighed[name]["low"] < truth[name]["value"] < weighed[name]["high"] for name in truth)


def several_judges(folder, path, change):
    """The study again with two more judges of the same verdicts, changed."""

    def seat(verdicts):
        return [*verdicts, *(replace(one, judge=f"judge-{k}", choice=change(k, n, one.choice))
                             for k in (1, 2) for n, one in enumerate(verdicts))]  # fmt: skip

    return rewritten(folder, path, Verdict, seat)


def test_three_judges_that_say_the_same_count_as_one(folder, found, tmp_path):
    panel = judged(several_judges(folder, tmp_path / "s", lambda k, n, choice: choice)).document["panel"]
    assert panel["judges"] == 3
    assert (panel["correlation_of_errors"], panel["counts_as"]) == pytest.approx((1, 1))
    alone = found.document["judges"][0]["estimates"][0]
    assert panel["estimates"][0]["gain"]["value"] == pytest.approx(alone["gain"]["value"], rel=0.02)
    assert found.document["panel"] is None


def test_judges_that_err_apart_are_worth_more_together(folder, tmp_path):
    generator = np.random.default_rng(0)
    noisy = several_judges(
        folder, tmp_path / "s",
        lambda k, n, choice: str(generator.choice(["a", "b", "tie"])) if generator.random() < 0.4 else choice,
    )  # fmt: skip
    result = judged(noisy)
    document, text = result.document, repr(result)
    gains = [judge["estimates"][0]["gain"]["value"] for judge in document["judges"]]
    assert document["panel"]["estimates"][0]["gain"]["value"] > min(gains)
    assert 1 < document["panel"]["counts_as"] < 3
    assert "The panel of 3 judges is the mean of all judges" in text
    assert f"3 judges count as {document['panel']['counts_as']:.1f} independent ones" in text


def test_shares_by_the_judge_stand_next_to_what_its_errors_make_of_them(found):
    rows = found.document["judges"][0]["estimates"]
    for row in rows:
        shares = row["rogan_gladen"]
        assert 0 < shares["naive"] < 1 and shares["sensitivity"] + shares["specificity"] > 1
    assert rows[0]["rogan_gladen"]["corrected"]["low"] > 0
    assert "corrected by its sensitivity and specificity (Rogan and Gladen)" in repr(found)


def test_a_checkpoint_that_nobody_voted_on_changes_no_ranking(tmp_path):
    many = many_systems_folder(tmp_path / "s", systems=4, items=40, pairs_an_item=4, voted=0.4)
    more = Pair("z", "d0:1", CONTEXT, Candidate("t", "m00", 0, "untrained"), Candidate("u", "m01", 0), dialogue="d0")
    wider = rewritten(many, tmp_path / "t", Pair, lambda some: [*some, more])
    one, other = (judged(path).document["judges"][0]["ranking"] for path in (many, wider))
    assert one["helped"] == other["helped"] and one["gain"] == other["gain"]
