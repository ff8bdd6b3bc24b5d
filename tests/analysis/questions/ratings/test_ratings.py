"""Ratings on a scale: one truth in every form, known numbers, and intervals that hold."""

import html
import json
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest
from scipy.special import logit

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.notebook import ratings
from seedvote.analysis.report.assembly import build_report
from seedvote.analysis.stats.ordinal import proportional_odds
from seedvote.analysis.votes.inputs import study_of_table
from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis import worlds_tables as worlds


def only(file, **options):
    (one,) = ratings(file, **options).document["differences"]
    return one


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    return worlds.write(tmp_path_factory.mktemp("long") / "likert.csv", worlds.likert())


def test_the_one_truth_in_long_form(long, capsys):
    one = only(long)
    assert [one[name] for name in ("higher", "lower", "equal")] == [101, 37, 62]
    assert one["net"]["value"] == pytest.approx(0.32)
    rows = worlds.likert()
    means = [np.mean([row["score"] for row in rows if row["system"] == name]) for name in ("alpha", "beta")]
    assert one["means"] == pytest.approx(means)
    assert one["difference"]["value"] == pytest.approx(means[0] - means[1]) and one["difference"]["low"] > 0
    assert one["odds"]["low"] > 1
    assert dispatch("analysis", "", COMMANDS, ["ratings", str(long)]) == 0
    said = capsys.readouterr().out
    assert "Read as: ratings (score=score, system=system, item=item, rater=rater)." in said
    assert "Read: 400 ratings of" in said and "400 compared. Left out: nothing." in said
    assert "alpha is rated higher than beta" in said and "101 / 62 / 37" in said


def test_one_column_a_system_and_one_row_a_person_say_the_same(tmp_path, long):
    rows = worlds.likert()
    both = {}
    for row in rows:
        both.setdefault((row["rater"], row["item"]), {})[row["system"]] = row["score"]
    wide = [{"rater": rater, "item": item, **scores} for (rater, item), scores in both.items()]
    file = worlds.write(tmp_path / "wide.xlsx", wide)
    assert only(file, systems=["alpha", "beta"]) == only(long)
    people = sorted({row["rater"] for row in rows})
    names = [f"{row['item']}/{row['system']}" for row in rows]
    given = {(row["rater"], f"{row['item']}/{row['system']}"): row["score"] for row in rows}
    sheet = [["Timestamp", "Email address", *names]]
    sheet += [["1/5/2026 10:00", who, *(given.get((who, name), "") for name in names)] for who in people]
    file = worlds.write(tmp_path / "form.csv", sheet)
    key = [
        {"column": name, "item": row["item"], "system": row["system"]} for name, row in zip(names, rows, strict=True)
    ]
    found = only(file, wide=worlds.write(tmp_path / "key.csv", key))
    for name in ("value", "low", "high"):
        assert found["difference"][name] == pytest.approx(only(long)["difference"][name])


def test_words_are_worth_what_is_stated_and_questions_are_not_pooled(tmp_path):
    words = {1: "not at all", 2: "a little", 3: "so, so", 4: "rather", 5: "fully"}
    rows = [{**row, "score": words[row["score"]], "criterion": name}
            for name in ("fluent", "useful") for row in worlds.likert()]  # fmt: skip
    file = worlds.write(tmp_path / "words.csv", rows)
    with pytest.raises(Unclear) as doubt:
        ratings(file)
    assert doubt.value.ways == ({"--question": "fluent"}, {"--question": "useful"})
    with pytest.raises(InputError, match=r"the score is '.*', which is not a number"):
        ratings(file, question="fluent")
    one = only(file, question="fluent", values=[(str(number), word) for number, word in words.items()])
    assert (one["higher"], one["lower"], one["equal"]) == (101, 37, 62)


def test_unpaired_ratings_are_counted_and_doubles_refused(tmp_path):
    rows = worlds.likert()
    result = ratings(worlds.write(tmp_path / "lone.csv", [*rows[1:], {**rows[5], "item": "x", "score": ""}]))
    assert result.read[1].endswith(
        "Left out: 1 (no score); 1 (no rating of the other system by the same rater on the same item)."
    )
    with pytest.raises(InputError, match=r"rated .* on item .* twice"):
        ratings(worlds.write(tmp_path / "twice.csv", [*rows, rows[0]]))


def test_the_odds_ratio_is_that_of_the_logit_where_the_scale_has_two_steps():
    """With two steps the model is the logit, whose odds ratio is the cross product of the fourfold table."""
    first, second = np.repeat([1.0, 0.0], [30, 10]), np.repeat([1.0, 0.0], [20, 20])
    found = proportional_odds(first, second, {})
    assert found.ratio == pytest.approx(30 * 20 / (10 * 20), rel=1e-3)
    assert proportional_odds(np.ones(9), np.ones(9), {}) is None  # all alike
    assert proportional_odds(np.full(9, 5.0), np.ones(9), {}) is None  # no overlap


def test_odds_ratio_of_five_steps_is_recovered():
    """The logistic law, cut at the same four places for both systems; one shifted by the log of the ratio."""
    cuts, ratio = np.array([-2, -0.7, 0.7, 2]), 3.0
    marks = logit((np.arange(20_000) + 0.5) / 20_000)  # every quantile once, so no luck of a draw
    first, second = (np.digitize(marks + shift, cuts).astype(float) for shift in (np.log(ratio), 0.0))
    assert proportional_odds(first, second, {}).ratio == pytest.approx(ratio, rel=0.01)


@pytest.mark.slow
def test_odds_ratio_covers_one_in_95_of_100_crowds():
    rng, missed, sets = np.random.default_rng(5), 0, 300
    for _ in range(sets):
        item, rater = np.repeat(np.arange(30), 4), np.tile(np.arange(20), 6)
        lean = rng.normal(0, 0.7, 30)[item] + rng.normal(0, 0.7, 20)[rater]  # whoever favours one system does so often
        rated = [np.digitize(sign * lean / 2 + rng.logistic(size=120), [-2, -0.7, 0.7, 2]) for sign in (1, -1)]
        found = proportional_odds(*(part.astype(float) for part in rated), {"item": item, "rater": rater})
        missed += not found.low <= 1 <= found.high
    assert missed / sets < 0.085


def test_the_json_holds_every_number(long, tmp_path, capsys):
    assert dispatch("analysis", "", COMMANDS, ["ratings", str(long), "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["scale"] == [3.0, 5.0] and document["recipe"].startswith("ratings:400|scale:3,5|clusters:")


@pytest.fixture(scope="module")
def reported(long, tmp_path_factory):
    """Text, page and numbers of a report of the one truth."""
    out = tmp_path_factory.mktemp("report") / "report.html"
    printed = StringIO()
    with redirect_stdout(printed):
        assert dispatch("analysis", "", COMMANDS, ["report", str(long), "--out", str(out)]) == 0
    told = json.loads(out.with_suffix(".json").read_text())
    return printed.getvalue(), html.unescape(out.read_text()), told, out


def test_a_report_of_ratings_has_the_commands_numbers_and_says_them(long, reported):
    said, page, told, out = reported
    assert told["ratings"] == json.loads(json.dumps(dict(ratings(long).document)))
    assert told["ties"] is told["preference"] is told["agreement"] is None
    assert said.splitlines()[:2] == list(ratings(long).read)
    assert "- alpha is rated higher than beta, by 0.32 steps of the scale (95 % interval +" in said
    for words in ("Is alpha rated higher than beta?", "Which is rated higher", "new items and raters",
                  "<dt>ratings</dt><dd>400</dd>", "<dt>raters</dt><dd>20</dd>", "101 / 62 / 37"):  # fmt: skip
        assert words in page, words
    assert "There are no votes here" not in page and "person-0" not in page
    assert "alpha - beta" in out.with_suffix(".tex").read_text()
    assert not (out.parent / "paper").exists()


def test_a_report_finds_ratings_however_they_are_written(tmp_path):
    both = {}
    for row in worlds.likert():
        both.setdefault((row["rater"], row["item"]), {})[row["system"]] = row["score"]
    wide = worlds.write(tmp_path / "wide.csv", [{"rater": r, "item": i, **scores} for (r, i), scores in both.items()])
    named = study_of_table(wide, systems=["alpha", "beta"])
    renamed = worlds.write(tmp_path / "renamed.csv", [{"who": r["rater"], "item": r["item"], "of": r["system"],
                           "points": r["score"]} for r in worlds.likert()])  # fmt: skip
    stated = study_of_table(renamed, columns={"system": "of", "rater": "who"})
    for study in (named, stated):
        assert study.ratings.people == 20 and study.ratings.items == 200 and study.ratings.compared == 400
    sheet = [["Timestamp", "Email address", "q1", "q2", "q3", "q4"], *([f"1/5/2026 10:0{k}", f"m{k}", 5, 4, k % 5, 3]
                                                                        for k in range(6))]  # fmt: skip
    key = [{"column": f"q{k + 1}", "item": f"i{k // 2}", "system": "ab"[k % 2]} for k in range(4)]
    form = worlds.write(tmp_path / "form.csv", sheet)
    found = study_of_table(form, wide=str(worlds.write(tmp_path / "key.csv", key)))
    assert found.ratings.compared == 24 and found.ratings.systems == ("a", "b")


def test_largest_of_three_differences_is_named(tmp_path):
    more = [{**row, "system": "gamma", "score": 1} for row in worlds.likert() if row["system"] == "alpha"]
    three = build_report(study_of_table(worlds.write(tmp_path / "three.csv", [*worlds.likert(), *more])))
    assert three.title == "Which of 3 systems is rated highest?"
    assert "in 3 of 3 comparisons" in three.findings[0] and "alpha is rated higher than gamma" in three.findings[0]
    assert "by 2.85 steps" in three.findings[0]
    assert three.study.ratings.compared == 600  # a rating is counted once, however many others it meets
    alike = build_report(
        study_of_table(worlds.write(tmp_path / "alike.csv", [{**row, "score": 3} for row in worlds.likert()]))
    )
    assert len(alike.findings) == 1 and "both have a mean of 3.00" in alike.findings[0]


def test_a_margin_of_votes_is_refused_for_ratings(long):
    with pytest.raises(InputError, match="--margin is a net preference of votes, and this table holds ratings"):
        dispatch("analysis", "", COMMANDS, ["report", str(long), "--margin", ".1"])


def written(path, rows):
    return worlds.write(path, [dict(zip(("item", "rater", "system", "score"), row, strict=True)) for row in rows])


def test_unanimous_ratings_make_up_no_odds(tmp_path):
    rows = [
        (f"i{k}", f"r{k % 30}", name, score) for k in range(300) for name, score in (("a", 3 + k % 2), ("b", 2 + k % 2))
    ]
    result = ratings(written(tmp_path / "all.csv", rows))
    (one,) = result.document["differences"]
    assert one["p"] < 1e-4 and one["odds"] is None and one["net"]["high"] == 1.0
    assert one["difference"]["low"] > 0 and one["difference"]["high"] <= 2
    text = "\n".join(map(str, result.parts))
    assert (
        "a is rated higher than b" in text
        and "p < .0001" in text
        and "no rating of one system is below any of the other" in text
    )


def test_a_near_agreement_has_no_odds_and_no_net_beyond_one():
    """17 of 18 higher, one equal: all of the first are 4 or 5, all of the second 3 or 4."""
    first, second = np.array([4.0] * 12 + [5.0] * 6), np.array([3.0] * 11 + [4.0] + [4.0] * 6)
    assert proportional_odds(first, second, {"rater": np.arange(18) % 3}) is None


def test_a_slider_is_a_number_and_has_no_odds_ratio(tmp_path):
    generator = np.random.default_rng(0)
    rows = [(f"i{k}", f"r{k % 9}", name, int(generator.integers(0, 101))) for k in range(120) for name in "xy"]
    result = ratings(written(tmp_path / "slider.csv", rows))
    assert result.document["steps"] > 11 and result.document["differences"][0]["odds"] is None
    assert "steps, so they are compared as numbers: there are no odds ratios." in "\n".join(map(str, result.parts))


def test_ratings_by_other_people_use_a_mixed_model(tmp_path):
    generator, rows = np.random.default_rng(3), []
    lean = generator.normal(0, 0.4, 12)
    for item in range(40):
        for rater in generator.choice(12, 4, replace=False):
            name = "xy"[rater % 2]
            rows.append((f"i{item}", f"r{rater}", name, 3 + lean[rater] + 2 * (name == "x") + generator.normal(0, 0.7)))
    file = written(tmp_path / "others.csv", rows)
    result = ratings(file)
    (one,) = result.document["differences"]
    assert 0.5 < one["difference"]["low"] < 2 < one["difference"]["high"] < 3 and one["difference"]["df"] < 14
    assert one["net"] is None and one["p_holm"] < 0.01
    assert {spread["name"] for spread in result.document["spreads"]} >= {"item", "rater", "single ratings"}
    assert result.read[1].endswith("160 compared. Left out: nothing.")
    page = build_report(study_of_table(file))
    assert page.title == "Is x rated higher than y?" and page.findings[0].startswith("x is rated higher than y")
    one_each = written(tmp_path / "one.csv", [row for row in rows if row[1] in ("r0", "r1")])
    with pytest.raises(InputError, match="Each system has one rater, so nothing tells how far another rater"):
        ratings(one_each)


def test_seeds_of_a_system_are_random_and_the_mixed_model_can_be_asked_for(tmp_path, long):
    generator, rows = np.random.default_rng(4), []
    for item in range(30):
        for rater in range(4):
            for seed in range(3):
                rows += [{"item": f"i{item}", "rater": f"r{rater}", "system": name, "seed": seed,
                          "score": generator.normal(level + 0.5 * np.sin(7 * seed + level))}
                         for name, level in (("x", 2.0), ("y", 3.0))]  # fmt: skip
    result = ratings(worlds.write(tmp_path / "seeds.csv", rows))
    spreads = {spread["name"]: spread for spread in result.document["spreads"]}
    assert spreads["seed"]["levels"] == 6 and result.document["differences"][0]["difference"]["df"] < 6
    asked, paired = ratings(long, mixed=True).document["differences"][0], only(long)
    assert asked["difference"]["value"] == pytest.approx(paired["difference"]["value"], abs=1e-6)
    assert asked["net"] is None and asked["odds"]["ratio"] > paired["odds"]["ratio"] > 1  # of one rater: not averaged
    assert "an ordinal mixed model (cumulative logit)" in str(ratings(long, mixed=True))


def test_the_figure_has_a_row_for_every_difference_with_an_interval(long):
    result = ratings(long)
    (figure,), (difference,) = result.draw(), result.document["differences"]
    (row,) = figure.rows
    gap = difference["difference"]
    assert row.label == "alpha over beta" and f"{gap['value']:+.2f}" in row.note and f"{gap['low']:+.2f}" in row.note
