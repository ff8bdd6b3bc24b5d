"""Tie distributions: exact laws, drawn ones, the share against chance, and what analyze_ties.py says and writes."""

import dataclasses
import gzip
import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from seedvote.analysis.questions.preference.answer import change_over_rounds
from seedvote.analysis.questions.table import COMMANDS
from seedvote.analysis.questions.ties import showing
from seedvote.analysis.questions.ties.answer import UNITS, Recipe, answer, law_of_sets
from seedvote.analysis.questions.ties.showing import document, parts, section, sentences, sets_figure, tables
from seedvote.analysis.stats.intervals import mean_interval, share_test
from seedvote.analysis.stats.laws import CHANCE
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.study import read_study
from seedvote.analysis.votes.votes import votes_from_columns
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Candidate, Pair
from tests.analysis.worlds import Crowd
from tests.house.typed import typed_program

ROOT = Path(__file__).resolve().parents[3]
MARCO = ROOT.parent / "shared" / "data" / "marco_human_eval" / "human_annotation.json.gz"


def paper_votes(ties=(700, 700, 700), pairs=2000, raters=508):
    """Votes as in the paper: one a pair and round, a given number of ties in each."""
    rows = {"pair": [], "rater": [], "choice": [], "round": []}
    for k, count in enumerate(ties, 1):
        rows["pair"] += list(range(pairs))
        rows["rater"] += [f"r{(pair * 7 + k) % raters}" for pair in range(pairs)]
        rows["choice"] += ["tie"] * count + ["a", "b"] * ((pairs - count) // 2)
        rows["round"] += [k] * pairs
    return votes_from_columns(rows)


def test_the_chance_line_is_tested_with_the_papers_numbers():
    ties = answer(paper_votes().select(np.arange(6000) < 2000))
    assert round(ties.pooled.chance.z_vote, 2) == 1.58
    assert round(ties.pooled.chance.p_vote, 2) == 0.12
    assert abs(ties.pooled.chance.p_vote - stats.binomtest(700, 2000, 1 / 3).pvalue) < 1e-12


def study(**changes):
    """120 votes on 40 pairs of 10 dialogues by 12 raters, generated."""
    generator = np.random.default_rng(1)
    table = {
        "pair": np.repeat(np.arange(40), 3),
        "dialogue": np.repeat(np.arange(40), 3) // 4,
        "rater": np.resize(np.arange(12), 120),
        "round": np.tile([1, 2, 3], 40),
        "choice": generator.choice(["a", "b", "tie"], 120),
    } | changes
    return votes_from_columns({name: column for name, column in table.items() if column is not None})


@pytest.mark.parametrize("method", ["exact", "sample"])
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("unit", UNITS)
def test_a_set_holds_exactly_the_votes_of_its_heading(unit, replace, method):
    """Raters of 3 to 27 votes: whole raters alone would make sets of 14 or of 50 under the heading of 24."""
    uneven = np.repeat(np.arange(12), [3, 3, 3, 3, 6, 6, 9, 12, 12, 18, 18, 27])
    law = answer(
        study(rater=uneven, item=np.repeat(np.arange(20), 6)), size=24, unit=unit, replace=replace, method=method,
        sets=500,
    ).pooled.law  # fmt: skip
    assert law.set_votes == 24
    np.testing.assert_allclose(law.share * 24, np.rint(law.share * 24), atol=1e-9)


PLAIN = [unit for unit in UNITS if "item" not in unit]


@pytest.mark.parametrize("unit", PLAIN)
@pytest.mark.parametrize("replace", [True, False])
def test_drawing_sets_gives_the_law_that_is_written_down(unit, replace):
    def pooled(method, sets):
        return law_of_sets(study(), "pooled", Recipe(sets, 24, 0, unit, replace, method))

    exact, drawn = pooled("exact", 0), pooled("sample", 40_000)
    assert drawn.method == "sampled"
    few = answer(study(), size=24, unit=unit, replace=replace, method="sample", sets=50).pooled.law
    assert few.probability.tolist() == pooled("sample", 50).probability.tolist()  # the answer draws by no other law
    assert abs(exact.mean - drawn.mean) < 4 * exact.sd / 200
    assert abs(exact.sd / drawn.sd - 1) < 0.02
    for q in (0.025, 0.5, 0.975):
        assert abs(exact.quantile(q) - drawn.quantile(q)) <= 1 / 20


def test_the_same_seed_draws_the_same_sets_and_seed_zero_is_one_of_many():
    laws_ = [answer(study(), size=24, method="sample", sets=500, seed=seed).pooled.law for seed in (0, 0, 1)]
    assert laws_[0].probability.tolist() == laws_[1].probability.tolist()
    assert laws_[0].probability.tolist() != laws_[2].probability.tolist()


def test_large_sets_stand_beside_those_with_replacement():
    found = answer(paper_votes(ties=(84, 84, 84), pairs=240))
    one = found.experiments[0]
    assert found.crowded and one.part == 200 / 240
    assert round(one.law.sd, 4) == 0.0138 and round(one.replaced.sd, 4) == 0.0337
    assert (one.replace, found.recipe.replace) == (False, False) and all(unit.replace for unit in found.units)
    assert found.warnings[0] == (
        "A set of 200 is 83 % of the 240 votes of HumanExp-1; in the papers it is a tenth. Without replacement two "
        "sets have 83 % of their votes in common. So their SD is 1.4 points, smaller than that of new votes. With "
        "replacement it is 3.4; the tables have both."
    )
    shown = document(found)
    assert shown["crowded"] and "|replace:no,yes|" in shown["signature"]
    for curve in [*shown["experiments"], shown["pooled"]]:
        assert curve["with_replacement"]["sd"] > curve["sd"] and curve["with_replacement"]["method"] == "binomial"
    rows = [row[0] for row in tables(found)[0].rows]
    assert rows == ["HumanExp-1", "  with replacement", "HumanExp-2", "  with replacement", "HumanExp-3",
                    "  with replacement", "pooled", "  with replacement"]  # fmt: skip


@pytest.mark.parametrize(
    ("pairs", "replace", "crowded"), [(2000, False, False), (1998, False, True), (240, True, False)]
)
def test_the_papers_own_sets_are_a_tenth_and_stand_alone(pairs, replace, crowded):
    found = answer(paper_votes(ties=(700, 700, 700) if pairs > 700 else (84, 84, 84), pairs=pairs), replace=replace)
    assert found.crowded is crowded
    assert any("in the papers it is a tenth" in warning for warning in found.warnings) is crowded
    every = [*found.experiments, found.pooled]
    assert all((curve.replaced is not None) is crowded for curve in every)
    # Both panels of the figure draw alike, and what is filled above is drawn below.
    assert {unit.replace for unit in found.units} == {replace or crowded}
    assert found.units[0].law.method == ("binomial" if replace or crowded else "hypergeometric")


def test_report_shows_both_laws_for_large_sets(tmp_path):
    (tmp_path / "votes.jsonl").write_text('{"pair": "p", "choice": "tie"}\n')
    crowded, plain = answer(paper_votes(ties=(84, 84, 84), pairs=240)), answer(paper_votes())
    for found in (crowded, plain):
        drawn = sets_figure(found)
        assert [bool(row.beside) for row in drawn.rows] == [found.crowded] * 3 + [False]
        assert drawn.caption.startswith("Filled: sets drawn with replacement. Dashed: without") is found.crowded
        page = section(found, read_study(tmp_path))
        table = page.tables[0]
        assert ("  with replacement" in [row[0] for row in table.rows]) is found.crowded
        assert {len(row) for row in table.rows} == {len(table.head)}
        assert any("in the papers it is a tenth" in note for note in page.notes) is found.crowded
    low, high = (100 * crowded.experiments[0].replaced.quantile(q) for q in (0.025, 0.975))
    assert f"within {low:.1f} % to {high:.1f} % with replacement" in sets_figure(crowded).rows[0].described


def test_the_recipe_names_what_is_drawn_anew_for_sets_and_for_the_interval():
    found = answer(study(), size=4, unit="rater")
    assert "|unit:rater|" in found.signature and "|clusters:dialogue+rater|" in found.signature
    assert "|clusters:pair|" in answer(study(), size=4, clusters="pair").signature
    assert "|clusters:vote|" in answer(study(), size=4, clusters="vote").signature
    assert found.pooled.chance.unit == "dialogue+rater"


def test_sets_by_item_are_shown_where_the_interval_allows_for_items():
    names = [curve.name for curve in answer(study(item=np.repeat(np.arange(20), 6)), size=4).units]
    assert names == PLAIN
    names = [curve.name for curve in answer(study(dialogue=None, item=np.repeat(np.arange(20), 6)), size=4).units]
    assert names == ["vote", "pair", "item", "rater", "pair+rater", "item+rater"]


def test_rounds_numbered_from_zero_keep_their_first_experiment():
    found = answer(study(round=np.tile([0, 1, 2], 40)), size=4)
    assert [curve.name for curve in found.experiments] == ["HumanExp-0", "HumanExp-1", "HumanExp-2"]
    assert sum(curve.votes for curve in found.experiments) == 120
    assert not any("extra vote" in warning for warning in found.warnings)
    found = answer(study(round=np.tile([0, 1, 2], 40), counted=[True] * 120), size=4)
    assert len(found.experiments) == 3


def test_votes_that_our_own_files_do_not_count_are_no_round_of_their_own():
    late = {"round": np.tile([1, 2, 0], 40), "counted": np.tile([True, True, False], 40)}
    votes = votes_from_columns({"pair": np.repeat(np.arange(40), 3), "choice": np.resize(["a", "tie"], 120), **late},
                               uncounted=True)  # fmt: skip
    found = answer(votes, size=4)
    assert found.pooled.votes == 120
    assert [(curve.name, curve.votes) for curve in found.experiments] == [("HumanExp-1", 40), ("HumanExp-2", 40)]
    assert change_over_rounds(votes).pairs == 40


def test_automatic_ties_stand_apart_from_those_of_people():
    same = np.arange(120) < 30
    choice = np.where(same, "tie", np.resize(["a", "b", "tie"], 120))
    curve = answer(study(choice=choice, identical=same), size=24).pooled
    assert (curve.identical, curve.automatic, curve.ties) == (30, 30, 60)
    assert curve.share_of_different == 30 / 90
    said = sentences(answer(study(choice=choice, identical=same), size=24))
    assert "12 raters voted, worth 12 raters with equal numbers of votes." in said
    assert any("30 of them ties; among the other votes 33.3 %" in sentence for sentence in said)


def test_votes_of_one_rater_widen_the_interval():
    stubborn = np.where(study().rater % 2 == 0, "tie", "a")
    rows = {curve.name: curve for curve in answer(study(choice=stubborn), size=24).units}
    assert rows["rater"].interval.design_effect > 8
    assert rows["rater"].law.sd > 2.5 * rows["vote"].law.sd
    assert rows["pair+rater"].law.sd >= rows["rater"].law.sd - 1e-9


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"round": None}, "no round column"),
        ({"rater": None}, "no rater column"),
        ({"round": np.tile([1, 2, 2], 40)}, "different numbers of votes"),
        ({"round": np.resize([1, 1, 2], 120)}, "some rounds have more (40 extra votes)"),
        ({"rater": ["r"] * 120}, "All votes are from one rater"),
        ({"rater": np.repeat(np.arange(40), 3)}, "the same pair more than once (80 repeated votes)"),
    ],
)
def test_what_cannot_be_told_is_said(changes, said):
    assert any(said in warning for warning in answer(study(**changes), size=24).warnings)


def test_influential_dialogues_widen_the_interval():
    by_dialogue = np.where(study().dialogue % 2 == 0, "tie", "a")
    found = answer(study(choice=by_dialogue), size=24)
    pairs = answer(study(choice=by_dialogue), size=24, clusters="pair+rater").pooled.interval
    assert found.pooled.interval.unit == "dialogue+rater" and found.pooled.interval.se > 1.5 * pairs.se
    assert not any("name no dialogue" in warning for warning in found.warnings)
    alone = answer(study(choice=by_dialogue, dialogue=["d"] * 120), size=24)
    assert any("All votes are on one dialogue" in warning for warning in alone.warnings)
    unnamed = answer(study(choice=by_dialogue, dialogue=None), size=24)
    assert any("The votes name no dialogue" in warning for warning in unnamed.warnings)


def test_missing_columns_leave_out_their_units_only():
    found = answer(study(rater=None, round=None, dialogue=None), size=24)
    assert [curve.name for curve in found.units] == ["vote", "pair"]
    assert found.experiments == () and found.pooled.interval.unit == "pair"
    assert found.effective_raters is None


@pytest.mark.parametrize(
    ("changes", "recipe", "message"),
    [
        (
            {},
            {"size": 200},
            "HumanExp-1 has 40 votes, fewer than a set of 200; choose a smaller --size or add --replace",
        ),
        ({}, {"size": 0}, "--size and --sets must be 1 or more"),
        ({"round": np.arange(1, 121)}, {"size": 1}, "round column has 120 different values"),
        ({"rater": None}, {"size": 9, "unit": "rater"}, "no rater column, and --unit rater needs it"),
        ({"rater": ["r"] * 120}, {"size": 9, "unit": "rater"}, "--unit rater needs two raters or more"),
        ({"round": None}, {"size": 121, "unit": "rater"}, "pooled has 120 votes, fewer than a set of 121"),
        ({}, {"size": 45, "unit": "dialogue"}, "HumanExp-1 has 40 votes, fewer than a set of 45"),
        ({}, {"size": 9, "clusters": "item"}, "no item column, and --clusters item needs it"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(changes, recipe, message):
    with pytest.raises(InputError, match=message):
        answer(study(**changes), **recipe)


def test_uneven_votes_are_drawn_without_a_law():
    uneven = study().select(np.arange(120) != 5)
    law = answer(uneven, size=24, unit="pair", sets=20_000).pooled.law
    assert law.method == "sampled"
    assert abs(law.mean - uneven.tie.mean()) < 0.01
    found = answer(uneven, size=24, unit="pair", sets=2_000)
    assert "sets:2000|seed:0" in found.signature and found.units[1].law.method == "exact clusters"


def test_help_of_the_program_is_light():
    heavy = "[m for m in ('numpy', 'scipy', 'matplotlib') if m in sys.modules]"
    command = f"import sys, seedvote.analysis.questions.table; print({heavy})"
    done = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_all_ties_and_no_ties_have_an_interval_that_is_not_a_point():
    for choice, low, high in (("tie", 0.5, 1.0), ("a", 0.0, 0.5)):
        found = answer(study(choice=[choice] * 120), size=24)
        interval = found.pooled.interval
        assert (interval.low, interval.high)[choice == "tie"] == (0.0, 1.0)[choice == "tie"]
        assert low <= interval.low < interval.high <= high
        assert found.pooled.law.sd == 0 and found.pooled.chance.t is None
        json.dumps(document(found), allow_nan=False)


def test_one_vote_has_a_share_and_no_interval():
    found = answer(votes_from_columns({"pair": ["p"], "choice": ["tie"]}), size=1)
    assert found.pooled.share == 1 and found.pooled.interval is None
    assert "One vote has no interval." in found.warnings
    assert parts(found)[2] == "The only vote is a tie."


def test_raters_who_vote_once_are_as_good_as_independent_votes():
    found = answer(study(rater=np.arange(120)), size=24)
    assert found.effective_raters == 120
    rows = {curve.name: curve for curve in found.units}
    assert abs(rows["rater"].law.sd - rows["vote"].law.sd) < 1e-12


def run_program(*arguments):
    return typed_program(COMMANDS["ties"], "analyze_ties.py", *arguments)


@pytest.mark.usefixtures("drawn", "coarse")
def test_the_program_writes_its_three_files_and_prints_a_table(tmp_path, monkeypatch, capsys):
    words = ["analyze_ties.py", "examples/votes.csv", "--size", "50", "--out", str(tmp_path)]
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as end:
        runpy.run_path(words[0], run_name="__main__")
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert "HumanExp-3" in printed and "pair+rater" in printed
    document = json.loads((tmp_path / "ties.json").read_text())
    assert list(document) == [
        "experiments",
        "pooled",
        "units",
        "traits",
        "chance",
        "effective_raters",
        "devices",
        "differences",
        "mixed",
        "recipe",
        "crowded",
        "voters",
        "warnings",
        "signature",
        "reading",
    ]
    assert [curve["name"] for curve in document["experiments"]] == ["HumanExp-1", "HumanExp-2", "HumanExp-3"]
    assert (tmp_path / "ties.png").stat().st_size > 10_000
    assert (tmp_path / "ties.pdf").read_bytes().startswith(b"%PDF")


def test_bad_input_ends_with_one_sentence_and_code_2(tmp_path):
    done = run_program("examples/votes.csv", "--size", "5000", "--out", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: HumanExp-1 has ") and done.stderr.count("\n") == 1


def test_drawn_sets_and_resampled_studies_by_every_unit(tmp_path):
    done = run_program(
        "examples/votes.csv", "--size", "200", "--out", str(tmp_path), "--method", "sample", "--sets", "500"
    )
    assert done.returncode == 0, done.stderr
    assert "bootstrap" in done.stdout and "<0.002" in done.stdout
    for curve in json.loads((tmp_path / "ties.json").read_text())["units"]:
        assert curve["method"] == "sampled" and curve["bootstrap"]["sets"] == 500
        assert 0.6 < curve["bootstrap"]["sd"] / curve["interval"]["se"] < 1.8


def test_json_goes_to_standard_output_alone(tmp_path):
    done = run_program("examples/votes.csv", "--size", "50", "--out", str(tmp_path), "--json", "-")
    assert json.loads(done.stdout)["pooled"]["votes"] > 100


def plain_sets(names, tie, size, sets):
    """Shares in sets of `size` votes of clusters drawn with replacement, in plain loops: votes, not counts."""
    generator = np.random.default_rng(1)
    clusters = [tie[names == name].tolist() for name in np.unique(names)]
    shares = []
    for _ in range(sets):
        held = []
        while len(held) < size:
            more = clusters[generator.integers(len(clusters))]
            held += more if len(held) + len(more) <= size else generator.permutation(more)[: size - len(held)].tolist()
        shares.append(sum(held) / size)
    return shares


def test_ambiguous_choice_and_unwritable_folder_are_refused(tmp_path):
    done = run_program("examples/votes.csv", "--values", "a=a,b=a", "--out", str(tmp_path))
    assert (done.returncode, done.stderr) == (2, "error: --values gives 'a' two meanings, a and b. Keep one.\n")
    (tmp_path / "file").write_text("")
    done = run_program("examples/votes.csv", "--out", str(tmp_path / "file" / "folder"))
    assert done.returncode == 2 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


@pytest.mark.skipif(not MARCO.exists(), reason="the real evaluation is not here (shared/data/marco_human_eval)")
def test_real_evaluation_is_reproduced_by_the_command(tmp_path):
    lines = ["cell,file,position,verdict"]
    for talk in json.loads(gzip.decompress(MARCO.read_bytes())):
        for turn in talk["info"]:
            for position, verdict in enumerate(turn["MarCo vs. HDSA"]["Completion"], 1):
                lines.append(f"{talk['file']}:{turn['turn_num']},{talk['file']},{position},{verdict}")
    (tmp_path / "marco.csv").write_text("\n".join(lines) + "\n")
    names = ["--columns", "pair=cell,choice=verdict,round=position,dialogue=file", "--values", "a=MarCo,b=HDSA,tie=Tie"]
    done = run_program(str(tmp_path / "marco.csv"), *names)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "ties.json").read_text())
    pooled = found["pooled"]
    shares = {label: round(100 * count / pooled["votes"], 2) for label, count in pooled["choices"].items()}
    assert shares == {"tie": 68.28, "a": 20.98, "b": 10.74}
    spread = {curve["name"]: curve["sd"] for curve in found["units"]}
    assert {name: round(sd, 4) for name, sd in spread.items()} == {"vote": 0.0329, "pair": 0.0456, "dialogue": 0.0489}
    verdicts = np.array([line.split(",") for line in lines[1:]])
    for unit, column in (("pair", 0), ("dialogue", 1)):
        drawn = plain_sets(verdicts[:, column], verdicts[:, 3] == "Tie", 200, 4_000)
        assert abs(np.std(drawn) / spread[unit] - 1) < 0.04  # 3.5 errors of an SD from 4,000 sets
    assert abs(spread["vote"] - np.sqrt(1520 * 706 / 2226**2 / 200)) < 1e-12
    told = {"vote": 0.0325, "pair": 0.0451, "dialogue": 0.0491}  # drawn by others; one error of the SD of 2,000 sets:
    assert all(abs(sd / spread[unit] - 1) < 1 / np.sqrt(2 * 2000) for unit, sd in told.items())
    assert any("no rater column" in warning for warning in found["warnings"])
    assert found["pooled"]["interval"]["unit"] == "dialogue"


def excluded(interval, share=CHANCE):
    return not interval.low <= share <= interval.high


@settings(max_examples=300, deadline=None)
@given(st.integers(2, 40), st.integers(1, 7), st.integers(1, 7), st.floats(0, 1), st.integers(0, 10**6))
def test_p_below_5_percent_agrees_with_the_tie_interval(votes, pairs, raters, share, seed):
    generator = np.random.default_rng(seed)
    ties = generator.random(votes) < share
    by = {"pair": generator.integers(0, pairs, votes), "rater": generator.integers(0, raters, votes)}
    by = {name: codes for name, codes in by.items() if len(set(codes.tolist())) > 1}
    interval = mean_interval(ties, by=by, share=True)
    t, p = share_test(interval, CHANCE)
    assert 0 <= p <= 1 and (p < 0.05) == excluded(interval)
    assert (t is None) == (interval.value in (0, 1))


@pytest.mark.parametrize(("choice", "chance"), [("tie", CHANCE), ("a", 1 - CHANCE)])
@pytest.mark.parametrize("raters", [2, 3, 5, 9, 10, 40])
def test_where_all_votes_are_alike_p_is_the_chance_that_all_clusters_agree(choice, chance, raters):
    votes = {"pair": np.arange(2 * raters), "rater": np.arange(2 * raters) % raters, "choice": [choice] * (2 * raters)}
    pooled = answer(votes_from_columns(votes), size=1).pooled
    assert pooled.chance.p == pytest.approx(min(1.0, 2 * chance**raters))
    assert pooled.chance.differs == excluded(pooled.interval)
    assert pooled.interval.effective_n == pytest.approx(raters)  # not the number of votes


def test_equal_clusters_leave_an_interval_with_a_width():
    """Sixteen votes, four raters, half of each one's votes ties: no spread between them, and hardly any knowledge."""
    table = {"pair": np.repeat(np.arange(4), 4), "rater": np.tile(np.arange(4), 4)}
    votes = votes_from_columns({**table, "choice": np.where((table["pair"] + table["rater"]) % 2, "tie", "a")})
    pooled = answer(votes, size=1).pooled
    assert pooled.share == 0.5 and pooled.interval.high - pooled.interval.low > 0.4
    assert pooled.chance.p > 0.05 and not pooled.chance.differs
    json.dumps(document(answer(votes, size=1)), allow_nan=False)


def test_a_wide_interval_stands_beside_few_votes_that_would_say_as_much():
    table = {"pair": np.repeat(np.arange(40), 3), "rater": np.tile(np.arange(3), 40)}
    choice = np.random.default_rng(0).choice(["a", "b", "tie"], 120)
    found = answer(votes_from_columns({**table, "choice": choice}), size=10)
    assert found.pooled.interval.worth < 40
    assert f": {found.pooled.interval.worth:.0f} independent votes would be as informative." in sentences(found)[1]


@pytest.mark.parametrize("choice", ["tie", "a"])
def test_votes_that_are_all_the_same_have_sets_that_are(choice):
    table = {"pair": np.arange(30), "rater": np.arange(30) % 5, "choice": [choice] * 30}
    said = " ".join(sentences(answer(votes_from_columns(table), size=20)))
    assert "all sets of them are too" in said and "SD" not in said


def test_a_p_next_to_nothing_is_not_called_zero():
    table = {"pair": np.arange(3000), "rater": np.arange(3000) % 500}
    found = answer(votes_from_columns({**table, "choice": np.where(np.arange(3000) % 10, "tie", "a")}), size=100)
    assert found.pooled.chance.p < 1e-20
    assert any(
        sentence.endswith("differs from that of random clicking (33.3 %; p < .0001).") for sentence in sentences(found)
    )


def at_chance(crowd):
    """The same crowd with thresholds at which a third of all votes are ties."""

    def excess(threshold):
        return dataclasses.replace(crowd, threshold=threshold).truth(200_000)[0] - CHANCE

    return dataclasses.replace(crowd, threshold=brentq(excess, 0.05, 5, xtol=1e-4))


def rejected(crowd, studies, seed=3):
    """Shares of studies whose p against a third is below .05: by the logit, by the share, by vote."""
    generator, crowd, found = np.random.default_rng(seed), at_chance(crowd), np.zeros(3)
    for _ in range(studies):
        study = crowd.study(generator)
        names = {name: study[name].astype(str) for name in ("pair", "dialogue", "rater")}
        votes = votes_from_columns({**names, "choice": np.where(study["score"] == 0, "tie", "a")})
        interval = mean_interval(votes.tie, by=clusters_of(votes), share=True)
        plain, alone = (mean_interval(votes.tie, by=by) for by in (clusters_of(votes), {}))
        found += share_test(interval, CHANCE)[1] < 0.05, excluded(plain), excluded(alone)
    return found / studies


@pytest.mark.slow
def test_true_third_is_seldom_rejected_in_crowds():
    by_logit, _, by_vote = rejected(Crowd(30, 5, work="pareto", raters=40, sd_dialogue=1.0, sd_habit=1.0), 300)
    assert by_logit < 0.09 and by_vote > 0.3


NULLS = [
    Crowd(dialogues, each, raters=raters, work=work, sd_dialogue=sd, sd_habit=0.8)
    for raters, work in ((10, "even"), (10, "pareto"), (40, "pareto"), (100, "log-normal"), (500, "pareto"))
    for dialogues, each, sd in ((200, 1, 0.0), (100, 5, 0.5), (25, 20, 1.0))
]


@pytest.mark.slow
@pytest.mark.parametrize("crowd", NULLS, ids=str)
def test_the_level_of_p_against_a_third(crowd):
    by_logit, by_share, by_vote = rejected(crowd, 1500)
    c = crowd
    print(f"\n| {c.raters}, {c.work} | {c.dialogues} x {c.pairs_each} | {c.sd_dialogue:g} | {by_logit:.3f} | "
          f"{by_share:.3f} | {by_vote:.3f} |")  # fmt: skip
    assert by_logit <= (0.08 if crowd.raters <= 10 else 0.07) + 2 * np.sqrt(0.05 * 0.95 / 1500)


def test_rounds_of_equal_size_with_a_vote_a_pair_need_no_caution():
    for rounds in (np.tile([1, 2, 3], 40), np.ones(120, int)):
        warnings = " ".join(answer(study(round=rounds), size=24).warnings)
        assert "different numbers of votes" not in warnings


def test_the_line_of_a_half_is_named_where_there_is_room(monkeypatch):
    found = answer(study(), size=24)
    axis = showing._law_axis(found.experiments or (found.pooled,))
    between = axis.at(0.5) - axis.at(1 / 3)
    for room, named in ((between - 0.01, ["chance 33 %", "half"]), (between + 0.01, ["chance 33 %"])):
        monkeypatch.setattr(showing, "ROOM", room)
        assert [name for _, name in sets_figure(found).across] == named


def on_devices(shares, raters=60, votes_each=20):
    """Votes whose raters sit at one device each, with a true share of ties there."""
    generator = np.random.default_rng(0)
    rows = {"pair": [], "rater": [], "choice": [], "device": []}
    for rater in range(raters):
        device = [*shares][rater % len(shares)]
        rows["pair"] += generator.choice(300, votes_each, replace=False).tolist()
        rows["rater"] += [f"r{rater}"] * votes_each
        rows["choice"] += np.where(generator.random(votes_each) < shares[device], "tie", "a").tolist()
        rows["device"] += [device] * votes_each
    return votes_from_columns(rows)


def test_ties_are_compared_by_device_with_intervals_that_know_the_raters():
    votes = on_devices({"phone": 0.6, "desktop": 0.3, None: 0.3})
    found = answer(votes)
    rows = {row.device: row for row in found.devices}
    assert set(rows) == {"phone", "desktop", "unknown"} and sum(row.votes for row in rows.values()) == len(votes)
    assert rows["phone"].ties.unit == "pair+rater" and rows["phone"].apart.low > 0 > rows["desktop"].apart.high
    by_hand = votes.tie[votes.device == votes.devices.index("phone")].mean()
    assert rows["phone"].ties.value == pytest.approx(by_hand)
    assert any("The tie share on phone" in sentence for sentence in sentences(found))
    assert "Ties by the device" in "\n".join(map(str, parts(found)))
    assert [row["device"] for row in document(found)["devices"]] == [row.device for row in found.devices]


def test_votes_of_one_device_or_of_none_are_not_compared():
    for shares in ({"phone": 0.4}, {None: 0.4}):
        found = answer(on_devices(shares))
        assert found.devices == () and "device" not in "\n".join(map(str, parts(found)))


def with_differences(shown_share, hidden_share, raters=60, votes_each=20):
    """Votes with a true share of ties where differences are underlined (a random half) and where not."""
    generator = np.random.default_rng(0)
    rows = {"pair": [], "rater": [], "choice": [], "differences": []}
    for rater in range(raters):
        shown = generator.random(votes_each) < 0.5
        rows["pair"] += [f"p{n}" for n in generator.choice(300, votes_each, replace=False)]
        rows["rater"] += [f"r{rater}"] * votes_each
        tied = generator.random(votes_each) < np.where(shown, shown_share, hidden_share)
        rows["choice"] += np.where(tied, "tie", "a").tolist()
        rows["differences"] += [bool(one) if n else None for n, one in enumerate(shown)]
    return votes_from_columns(rows)


def test_ties_and_preference_are_compared_by_differences_shown():
    votes = with_differences(0.2, 0.5)
    sides = (Candidate("one", "x", 0), Candidate("two", "y", 0))
    pairs = {f"p{n}": Pair(f"p{n}", "d:1", (), *(sides if n % 2 else sides[::-1])) for n in range(300)}
    row = answer(votes, pairs=pairs).differences
    assert row.shown + row.hidden == int((votes.differences >= 0).sum()) == len(votes) - 60
    assert row.ties.value == pytest.approx(votes.tie[votes.differences == 1].mean()) and row.ties.unit == "pair+rater"
    assert row.apart.high < 0 and row.apart.value == pytest.approx(row.ties.value - row.ties_hidden.value)
    assert row.system == "x-0" and row.preference.low < 0 < row.preference.high  # `a` is either system, by turns
    straight = {name: Pair(name, "d:1", (), *sides) for name in pairs}
    found = answer(votes, pairs=straight)
    assert found.differences.preference.value == pytest.approx(-found.differences.apart.value)
    words = "\n".join(map(str, parts(found)))
    assert "Underlining what differs changes the tie share" in words and "not" in words
    assert "changes the net preference for x-0" in words and "whether their differences" in words
    assert document(found)["differences"]["system"] == "x-0"
    assert answer(votes).differences.preference is None  # the systems are not known
    same = answer(with_differences(0.3, 0.3))
    assert "No effect of underlining on the tie share was shown" in "\n".join(map(str, sentences(same)))


def test_differences_shown_to_all_or_nobody_are_not_compared():
    votes = with_differences(0.3, 0.3)
    for kept in (votes.differences == 1, votes.differences < 1):
        part = votes.select(kept & (votes.differences >= 0))
        assert answer(part, size=50).differences is None
    assert answer(on_devices({"phone": 0.4})).differences is None
