"""Tie distributions: exact laws, drawn ones, and what analyze_ties.py says and writes."""

import gzip
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.commands import ties as program
from analysis.reading.votes import votes_from_columns
from analysis.stats import laws
from analysis.ties.answer import UNITS, answer
from analysis.ties.text import document, parts, sentences
from dialogue.errors import InputError
from tests.house.typed import typed_program

ROOT = Path(__file__).resolve().parents[2]
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


def test_the_papers_figures_follow_from_the_counts_alone():
    law = laws.hypergeometric(2000, 700, 200)
    assert round(law.sd, 4) == 0.0320
    assert (law.quantile(0.025), law.quantile(0.975)) == (0.29, 0.415)
    assert f"{law.above(0.5):.1e}" == "1.5e-06"
    law = laws.binomial(0.35, 200)
    assert round(law.sd, 4) == 0.0337
    assert (law.quantile(0.025), law.quantile(0.975)) == (0.285, 0.415)
    assert f"{law.above(0.5):.1e}" == "4.9e-06"


def test_the_chance_line_is_tested_with_the_papers_numbers():
    ties = answer(paper_votes().select(np.arange(6000) < 2000))
    assert round(ties.pooled.chance.z_vote, 2) == 1.58
    assert round(ties.pooled.chance.p_vote, 2) == 0.12
    assert abs(ties.pooled.chance.p_vote - stats.binomtest(700, 2000, 1 / 3).pvalue) < 1e-12


@pytest.mark.parametrize(("votes", "ties", "size"), [(2000, 700, 200), (10, 0, 5), (10, 10, 5), (7, 3, 7), (1, 1, 1)])
def test_the_vote_laws_are_scipys(votes, ties, size):
    k = np.arange(size + 1)
    ours = laws.hypergeometric(votes, ties, size).probability
    np.testing.assert_allclose(ours, stats.hypergeom(votes, ties, size).pmf(k), rtol=1e-10, atol=1e-300)
    ours = laws.binomial(ties / votes, size).probability
    np.testing.assert_allclose(ours, stats.binom(size, ties / votes).pmf(k), rtol=1e-10, atol=1e-300)


def enumerated(votes, ties, draws, replace):
    """Slow twin: every ordered draw of whole clusters, one by one."""
    law = {}
    for chosen in itertools.product(range(len(votes)), repeat=draws):
        if replace or len(set(chosen)) == draws:
            share = round(sum(ties[i] for i in chosen) / sum(votes[i] for i in chosen), 12)
            law[share] = law.get(share, 0) + 1
    total = sum(law.values())
    return {share: count / total for share, count in sorted(law.items())}


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize(
    ("votes", "ties"), [([3] * 6, [0, 1, 1, 2, 3, 3]), ([2] * 5, [0, 0, 0, 2, 2]), ([1, 3, 2, 5, 3], [0, 3, 1, 1, 2])]
)
def test_the_cluster_laws_are_those_of_every_draw_one_by_one(votes, ties, replace):
    exact = laws.clusters_with_replacement if replace else laws.clusters_without_replacement
    law = exact(np.array(votes), np.array(ties), 4)
    if law is None:
        assert not replace and len(set(votes)) > 1
        return
    truth = enumerated(votes, ties, 4, replace)
    found = {round(s, 12): p for s, p in zip(law.share.tolist(), law.probability.tolist(), strict=True) if p > 1e-14}
    assert found.keys() == truth.keys()
    assert all(abs(found[share] - truth[share]) < 1e-13 for share in truth)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.data())
def test_every_vote_law_is_a_law_with_the_known_moments(votes, data):
    ties = data.draw(st.integers(0, votes))
    size = data.draw(st.integers(1, votes))
    p = ties / votes
    without, with_ = laws.hypergeometric(votes, ties, size), laws.binomial(p, size)
    for law in (without, with_):
        assert abs(law.probability.sum() - 1) < 1e-12 and (law.probability >= 0).all()
        assert abs(law.mean - p) < 1e-9
    assert abs(with_.sd**2 - p * (1 - p) / size) < 1e-9
    left = (votes - size) / (votes - 1) if votes > 1 else 0
    assert abs(without.sd**2 - p * (1 - p) / size * left) < 1e-9


@settings(max_examples=40, deadline=None)
@given(st.floats(0.01, 0.99), st.integers(2, 300), st.floats(1.0, 20.0))
def test_the_beta_binomial_has_the_variance_that_is_asked_for(share, size, effect):
    variance = min(effect / size, 0.9) * share * (1 - share)
    law = laws.beta_binomial(share, size, variance)
    assert abs(law.mean - share) < 1e-6 and abs(law.sd**2 - variance) < 1e-6


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


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("replace", [True, False])
def test_drawing_sets_gives_the_law_that_is_written_down(unit, replace):
    exact = answer(study(), size=24, unit=unit, replace=replace).pooled.law
    drawn = answer(study(), size=24, unit=unit, replace=replace, method="sample", sets=40_000).pooled.law
    assert drawn.method == "sampled"
    assert abs(exact.mean - drawn.mean) < 4 * exact.sd / 200
    assert abs(exact.sd / drawn.sd - 1) < 0.02
    for q in (0.025, 0.5, 0.975):
        assert abs(exact.quantile(q) - drawn.quantile(q)) <= 1 / 20


def test_the_same_seed_draws_the_same_sets_and_seed_zero_is_one_of_many():
    laws_ = [answer(study(), size=24, method="sample", sets=500, seed=seed).pooled.law for seed in (0, 0, 1)]
    assert laws_[0].probability.tolist() == laws_[1].probability.tolist()
    assert laws_[0].probability.tolist() != laws_[2].probability.tolist()


def test_automatic_ties_stand_apart_from_those_of_people():
    same = np.arange(120) < 30
    choice = np.where(same, "tie", np.resize(["a", "b", "tie"], 120))
    curve = answer(study(choice=choice, identical=same), size=24).pooled
    assert (curve.identical, curve.automatic, curve.ties) == (30, 30, 60)
    assert curve.share_of_different == 30 / 90
    said = sentences(answer(study(choice=choice, identical=same), size=24))
    assert said[2] == "12 raters voted, worth 12 raters with equal numbers of votes."
    assert "30 votes on two identical responses, 30 of them ties; among the other votes 33.3 %" in said[3]


def test_votes_of_one_rater_widen_the_interval_and_independent_votes_do_not():
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
        ({"source": ["simulated"] * 120}, "120 of 120 votes came from simulated raters"),
    ],
)
def test_what_cannot_be_told_is_said(changes, said):
    assert any(said in warning for warning in answer(study(**changes), size=24).warnings)


def test_dialogues_that_matter_beyond_their_pairs_widen_the_interval_and_unnamed_ones_are_said():
    by_dialogue = np.where(study().dialogue % 2 == 0, "tie", "a")
    found = answer(study(choice=by_dialogue), size=24)
    pairs = answer(study(choice=by_dialogue), size=24, clusters="pair+rater").pooled.interval
    assert found.pooled.interval.unit == "dialogue+rater" and found.pooled.interval.se > 1.5 * pairs.se
    assert not any("name no dialogue" in warning for warning in found.warnings)
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
        ({}, {}, "HumanExp-1 has 40 votes, fewer than a set of 200; choose a smaller --size or add --replace"),
        ({}, {"size": 0}, "--size and --sets must be 1 or more"),
        ({"round": np.arange(1, 121)}, {"size": 1}, "round column has 120 different values"),
        ({"rater": None}, {"size": 9, "unit": "rater"}, "no rater column, and --unit rater needs it"),
        ({"rater": ["r"] * 120}, {"size": 9, "unit": "rater"}, "--unit rater needs two raters or more"),
        ({"round": None}, {"size": 150, "unit": "rater"}, "pooled has 12 raters, fewer than the 15"),
        ({}, {"size": 45, "unit": "dialogue"}, "10 dialogues, fewer than"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(changes, recipe, message):
    with pytest.raises(InputError, match=message):
        answer(study(**changes), **recipe)


def test_pairs_with_uneven_votes_are_drawn_where_no_law_can_be_written_down():
    uneven = study().select(np.arange(120) != 5)
    law = answer(uneven, size=24, unit="pair", sets=20_000).pooled.law
    assert law.method == "sampled"
    assert abs(law.mean - uneven.tie.mean()) < 0.01
    found = answer(uneven, size=24, unit="pair", sets=2_000)
    assert "sets:2000|seed:0" in found.signature and found.units[1].law.method == "exact clusters"


def test_help_of_the_program_is_light():
    command = (
        "import sys, analysis.commands.ties; print([m for m in ('numpy', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_all_ties_and_no_ties_have_an_interval_that_is_not_a_point():
    for choice, low, high in (("tie", 0.5, 1.0), ("a", 0.0, 0.5)):
        found = answer(study(choice=[choice] * 120), size=24)
        interval = found.pooled.interval
        assert (interval.low, interval.high)[choice == "tie"] == (0.0, 1.0)[choice == "tie"]
        assert low <= interval.low < interval.high <= high
        assert found.pooled.law.sd == 0 and found.pooled.chance.p is None
        json.dumps(document(found), allow_nan=False)


def test_one_vote_has_a_share_and_no_interval():
    found = answer(votes_from_columns({"pair": ["p"], "choice": ["tie"]}), size=1)
    assert found.pooled.share == 1 and found.pooled.interval is None
    assert "One vote has no interval." in found.warnings
    assert parts(found)[2] == "100.0 % of 1 vote are ties."


def test_raters_who_vote_once_are_as_good_as_independent_votes():
    found = answer(study(rater=np.arange(120)), size=24)
    assert found.effective_raters == 120
    rows = {curve.name: curve for curve in found.units}
    assert abs(rows["rater"].law.sd - rows["vote"].law.sd) < 1e-12


def run_program(*arguments):
    return typed_program(program, "analyze_ties.py", *arguments)


def test_the_program_writes_its_three_files_and_prints_a_table(tmp_path):
    command = [sys.executable, "analyze_ties.py", "examples/votes.csv", "--size", "50", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "HumanExp-3" in done.stdout and "pair+rater" in done.stdout
    document = json.loads((tmp_path / "ties.json").read_text())
    assert list(document) == [
        "experiments",
        "pooled",
        "units",
        "chance",
        "effective_raters",
        "recipe",
        "warnings",
        "signature",
    ]
    assert [curve["name"] for curve in document["experiments"]] == ["HumanExp-1", "HumanExp-2", "HumanExp-3"]
    assert (tmp_path / "ties.png").stat().st_size > 10_000
    assert (tmp_path / "ties.pdf").read_bytes().startswith(b"%PDF")


def test_bad_input_ends_with_one_sentence_and_code_2(tmp_path):
    done = run_program("examples/votes.csv", "--size", "5000", "--out", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: HumanExp-1 has ") and done.stderr.count("\n") == 1


def test_sets_are_drawn_on_demand_and_whole_studies_resampled_by_every_unit(tmp_path):
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


def whole_clusters(names, tie):
    """Votes and ties of every cluster, one loop."""
    return np.array([[(names == name).sum(), tie[names == name].sum()] for name in np.unique(names)]).T


def test_a_choice_with_two_meanings_and_a_folder_that_cannot_be_made_are_refused(tmp_path):
    done = run_program("examples/votes.csv", "--values", "a=a,b=a", "--out", str(tmp_path))
    assert (done.returncode, done.stderr) == (2, "error: --values gives 'a' two meanings, a and b. Keep one.\n")
    (tmp_path / "file").write_text("")
    done = run_program("examples/votes.csv", "--out", str(tmp_path / "file" / "folder"))
    assert done.returncode == 2 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


@pytest.mark.skipif(not MARCO.exists(), reason="the real evaluation is not here (shared/data/marco_human_eval)")
def test_a_real_evaluation_is_reproduced_from_its_raw_file_through_the_command_line(tmp_path):
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
    assert {name: round(sd, 4) for name, sd in spread.items()} == {"vote": 0.0329, "pair": 0.0455, "dialogue": 0.0495}
    verdicts = np.array([line.split(",") for line in lines[1:]])
    for unit, column in (("pair", 0), ("dialogue", 1)):
        votes, ties = whole_clusters(verdicts[:, column], verdicts[:, 3] == "Tie")
        drawn = np.random.default_rng(1).integers(0, len(votes), (100_000, round(200 / votes.mean())))
        assert abs((ties[drawn].sum(1) / votes[drawn].sum(1)).std() / spread[unit] - 1) < 0.008  # 3.5 errors of an SD
    assert abs(spread["vote"] - np.sqrt(1520 * 706 / 2226**2 / 200)) < 1e-12
    told = {"vote": 0.0325, "pair": 0.0451, "dialogue": 0.0491}  # drawn by others; one error of the SD of 2,000 sets:
    assert all(abs(sd / spread[unit] - 1) < 1 / np.sqrt(2 * 2000) for unit, sd in told.items())
    assert any("no rater column" in warning for warning in found["warnings"])
    assert found["pooled"]["interval"]["unit"] == "dialogue"
