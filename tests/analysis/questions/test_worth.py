"""`analysis worth`: evaluators as good as one rater, the truth, a coin, a constant; real votes; what is refused."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.notebook import worth
from seedvote.analysis.stats.gain import gain_of
from seedvote.analysis.votes.scores.paired import signed_ranks
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Candidate, Pair, Utterance, Verdict, Vote
from seedvote.dialogue.shell.command_line import dispatch
from tests.analysis.judge_crowd import study, study_folder

NET = {"a": 1.0, "b": -1.0, "tie": 0.0}
CHOICES = {"MarCo": "a", "HDSA": "b", "Tie": "tie"}
CARD = {"title": "my metric", "order": 9, "tasks": {"mine": {"title": "mine", "unit": "none", "better": "higher"}}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return study_folder(tmp_path_factory.mktemp("worth") / "s", pairs=160, voted=100, raters=30, agreement=0.0, seed=3)


def scores(path, evaluator, task, by_side, *, card=None):
    """A score table of (model, seed, checkpoint, item) -> score."""
    rows = [
        {"evaluator": evaluator, "task": task, "model": model, "seed": seed, "checkpoint": checkpoint, "item": item,
         "rater": "program", "score": float(score), "condition": ""}
        for (model, seed, checkpoint, item), score in by_side.items()
    ]  # fmt: skip
    schema = pa.schema(
        [(name, {"seed": pa.int64(), "score": pa.float64()}.get(name, pa.string())) for name in rows[0]],
        metadata={"format": "scores", **({} if card is None else {"cards": json.dumps({evaluator: card})})},
    )
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)


def sides(pairs, of_pair):
    """Scores whose difference a - b on a pair is `of_pair` of it."""
    found = {}
    for pair in pairs:
        for side, part in ((pair.a, 0.5), (pair.b, -0.5)):
            found[side.model, side.seed, side.checkpoint, pair.item] = part * of_pair(pair)
    return found


def with_score(folder, path, of_pair, card=CARD):
    """The study with a further metric and without its judge; what the metric is found to be worth."""
    path.mkdir()
    for name, kind in (("pairs", Pair), ("votes", Vote)):
        write_records(path / f"{name}.jsonl", read_records(folder / f"{name}.jsonl", kind), signature="s", kind=kind)
    pairs = list(read_records(folder / "pairs.jsonl", Pair))
    scores(path / "mine.parquet", "mine", "mine", sides(pairs, of_pair), card=card)
    return worth(path)


def row(found, name, outcome="net"):
    rows = [*found.document["evaluators"], *found.document["together"]]
    return next(one for one in rows if (one["name"], one["outcome"]) == (name, outcome))


def opinions(folder, rank=None):
    """Mean vote of every pair, or that of one place."""
    found = {}
    for vote in read_records(folder / "votes.jsonl", Vote):
        if rank in (None, vote.round):
            found.setdefault(vote.pair, []).append(NET[vote.choice])
    return {pair: float(np.mean(some)) for pair, some in found.items()}


def test_a_coin_and_the_length_are_not_shown_to_be_worth_a_vote(folder):
    found = worth(folder)
    assert [one["name"] for one in found.document["evaluators"][::2]] == ["length in words", "judge gpt-x"]
    for name in ("length in words", "judge gpt-x", "all together"):
        assert not row(found, name)["shown"]
        assert row(found, name)["worth"]["low"] == 0 <= row(found, name)["worth"]["value"] < 0.1
    said = repr(found)
    assert "By these 300 votes length in words is worth " in said
    assert "Shown to be worth votes on preference: none." in said


def test_worth_command_agrees_with_the_notebook(folder, capsys):
    assert dispatch("analysis", "", COMMANDS, ["worth", str(folder), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["evaluators"] == worth(folder).document["evaluators"]
    assert dispatch("analysis", "", COMMANDS, ["worth", str(folder)]) == 0
    assert capsys.readouterr().out.endswith(f"Next: python -m analysis report {folder}\n")


def test_truth_is_worth_more_than_a_copy_or_constant(folder, tmp_path):
    mean, single = opinions(folder), opinions(folder, rank=1)
    all_people = row(with_score(folder, tmp_path / "all", lambda pair: mean.get(pair.pair, 0.0)), "mine")
    one_person = row(with_score(folder, tmp_path / "one", lambda pair: single.get(pair.pair, 0.0)), "mine")
    constant = row(with_score(folder, tmp_path / "same", lambda pair: 0.0), "mine")
    assert all_people["correlation"] > 0.95  # of ranks
    assert all_people["shown"] and one_person["shown"]
    assert all_people["endless"]["value"] > one_person["endless"]["value"] > 1.2
    assert constant["endless"]["value"] == constant["now"]["value"] == 1
    assert constant["correlation"] == 0 and constant["signs"] == [0, 0]
    assert all_people["signs"][0] == all_people["signs"][1] > 50


def test_score_with_better_low_end_leans_the_right_way(folder, tmp_path):
    mean = opinions(folder)
    card = {**CARD, "tasks": {"mine": {"title": "mine", "unit": "none", "better": "lower"}}}
    found = row(with_score(folder, tmp_path / "s", lambda pair: -mean.get(pair.pair, 0.0), card), "mine")
    assert found["correlation"] > 0.95


def test_knowing_only_which_system_is_better_is_worth_nothing(folder, tmp_path):
    """x wins in people's eyes and in the metric's; yet it knows no pair from another."""
    found = row(with_score(folder, tmp_path / "s", lambda pair: 1.0 if pair.a.model == "x" else -1.0), "mine")
    assert found["endless"]["value"] == 1
    assert found["signs"][0] > found["signs"][1] / 2


def test_votes_saved_now_are_fewer_than_with_pairs_without_end(folder, tmp_path):
    mean = opinions(folder)
    generator = np.random.default_rng(0)
    found = row(
        with_score(folder, tmp_path / "s", lambda pair: mean.get(pair.pair, generator.choice([-1, 0, 1]))), "mine"
    )
    assert found["others"] == 60
    assert 0 < found["votes_saved"]["value"] < 300 * found["worth"]["value"]


def test_swapping_the_sides_of_every_pair_changes_nothing(folder, tmp_path):
    turned = {"a": "b", "b": "a", "tie": "tie"}
    kinds = {"pairs": Pair, "votes": Vote, "verdicts": Verdict}
    for name, kind in kinds.items():
        some = list(read_records(folder / f"{name}.jsonl", kind))
        if kind is Pair:
            some = [replace(one, a=one.b, b=one.a) for one in some]
        else:
            some = [replace(one, choice=turned[one.choice]) for one in some]
        write_records(tmp_path / f"{name}.jsonl", some, signature="s", kind=kind)
    one, other = worth(folder).document, worth(tmp_path).document
    for here, there in zip(one["evaluators"], other["evaluators"], strict=True):
        assert here["worth"] == pytest.approx(there["worth"])
        assert here["signs"] == there["signs"]


def test_an_evaluator_that_scored_few_pairs_is_named_and_left_out(folder, tmp_path):
    found = with_score(folder, tmp_path / "s", lambda pair: 1.0)
    pairs = list(read_records(folder / "pairs.jsonl", Pair))
    scores(tmp_path / "s" / "few.parquet", "few", "few", sides(pairs[:4], lambda pair: 1.0))
    found = worth(tmp_path / "s")
    assert "few scored both sides of 4 pairs with votes, and 10 are needed." in found.document["warnings"]
    assert "few" not in {one["name"] for one in found.document["evaluators"]}


def test_single_evaluator_has_no_joint_worth(folder, tmp_path):
    for name, kind in (("pairs", Pair), ("votes", Vote)):
        write_records(
            tmp_path / f"{name}.jsonl", read_records(folder / f"{name}.jsonl", kind), signature="s", kind=kind
        )
    assert worth(tmp_path).document["together"] == []
    (tmp_path / "pairs.jsonl").unlink()
    with pytest.raises(InputError, match=r"has no pairs\.jsonl"):
        worth(tmp_path)


def test_too_few_votes_are_refused_with_their_number(tmp_path):
    small = study_folder(tmp_path / "s", pairs=20, voted=4)
    with pytest.raises(InputError, match=r"No evaluator scored both sides of 10 pairs with votes; .* scored 4"):
        worth(small)


def test_votes_that_are_all_ties_can_say_nothing_of_anybody(folder, tmp_path):
    pairs = read_records(folder / "pairs.jsonl", Pair)
    votes = [replace(vote, choice="tie") for vote in read_records(folder / "votes.jsonl", Vote)]
    write_records(tmp_path / "pairs.jsonl", pairs, signature="s", kind=Pair)
    write_records(tmp_path / "votes.jsonl", votes, signature="s", kind=Vote)
    said = repr(worth(tmp_path))
    assert "length in words is worth an unknown part of the votes on preference" in said
    assert "The votes on ties do not differ within comparisons, so no evaluator can be held against them." in said


def test_ranks_keep_signs_and_put_no_weight_on_one_large_difference():
    assert signed_ranks([0.0, -5.0, 2.0, 100.0]).tolist() == [0.0, -0.75, 0.5, 1.0]
    assert signed_ranks([]).tolist() == []


def marco(shared):
    with gzip.open(shared / "data" / "marco_human_eval" / "human_annotation.json.gz") as handle:
        for dialogue in json.load(handle):
            yield from ((dialogue["file"], f"{dialogue['file']}:{turn['turn_num']}", turn) for turn in dialogue["info"])


@pytest.fixture(scope="module")
def completion(pytestconfig, tmp_path_factory):
    """MarCo against HDSA, 742 turns, three votes each; BLEU-2 against what the human system said."""
    from seedvote.generation.metrics.overlap import bleu2, bleu_counts

    shared = pytestconfig.rootpath.parent / "shared"
    if not shared.is_dir():
        pytest.skip("the real data (../shared) is not here")
    folder, pairs, votes, bleu = tmp_path_factory.mktemp("marco"), [], [], {}
    for dialogue, name, turn in marco(shared):
        both = [Candidate(turn[model], model) for model in ("MarCo", "HDSA")]
        pairs.append(Pair(name, name, (Utterance("user", turn["user"]),), *both, dialogue=dialogue))
        for k, said in enumerate(turn["MarCo vs. HDSA"]["Completion"], 1):
            votes.append(Vote(name, f"position-{k}", CHOICES[said], k, dialogue=dialogue))
        for side in both:
            counts = bleu_counts(side.text.split(), turn["system"].split())
            bleu[side.model, None, side.checkpoint, name] = bleu2(counts, smooth="exp")
    write_records(folder / "pairs.jsonl", pairs, signature="marco", kind=Pair)
    write_records(folder / "votes.jsonl", votes, signature="marco", kind=Vote)
    scores(folder / "metrics.parquet", "token", "bleu2", bleu)
    return worth(folder, clusters="dialogue")


def test_real_bleu_is_worth_nothing(completion):
    bleu, slots = row(completion, "BLEU-2"), row(completion, "number of placeholders")
    assert bleu["votes"] == 2226
    assert bleu["endless"]["value"] == pytest.approx(1.0, abs=0.006)
    assert not bleu["shown"]
    assert 1.05 <= slots["ceiling"] <= slots["endless"]["value"] <= 1.10
    assert slots["shown"]
    assert "number of placeholders is worth 7 % (0.3 to 25) of the votes on preference" in repr(completion)
    assert "2,226 votes BLEU-2 is worth 0 % (0 to 6) of the votes on preference and 0 % (0 to " in repr(completion)
    assert "Shown to be worth votes on preference: number of placeholders, all together." in repr(completion)


@pytest.mark.slow
def test_null_evaluators_are_seldom_shown_to_be_worth_anything(tmp_path):
    """100 studies whose judge and lengths know nothing: at most 5 % and the error of a simulation."""
    shown = {}
    for seed in range(100):
        found = worth(study_folder(tmp_path / "s", pairs=160, voted=80, raters=20, agreement=0.0, seed=2000 + seed))
        for one in (*found.document["evaluators"], *found.document["together"]):
            shown.setdefault((one["name"], one["outcome"]), []).append(one["shown"])
    assert {name: sum(some) for name, some in shown.items() if sum(some) > 9} == {}


@pytest.mark.slow
@pytest.mark.parametrize("agreement", [0.4, 0.7])
@pytest.mark.parametrize("tie", [False, True])
def test_the_interval_holds_what_a_study_of_fifty_times_the_size_finds(agreement, tie):
    def found(seed, pairs, raters):
        generator = np.random.default_rng(seed)
        sample = study(generator, pairs=pairs, raters=raters, agreement=agreement, others=10, tie=tie)
        return gain_of(sample, generator, endless=True)

    truth = np.mean([found(900 + k, 4000, 1000).correlation for k in range(3)])
    studies = [found(seed, 80, 20) for seed in range(150)]
    held = np.mean([one.correlation_low <= truth <= one.correlation_high for one in studies])
    assert held > 0.9


def test_each_criterion_of_a_rubric_is_an_evaluator_of_its_own(folder, tmp_path):
    """One criterion is what the voters go by, the other a coin: the judge's scores say which."""
    for name in ("pairs.jsonl", "votes.jsonl"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    means = {}
    for vote in read_records(folder / "votes.jsonl", Vote):
        means.setdefault(vote.pair, []).append(NET[vote.choice])
    generator = np.random.default_rng(0)
    verdicts = []
    for pair in read_records(folder / "pairs.jsonl", Pair):
        mean = np.mean(means.get(pair.pair, [generator.choice([-1, 0, 1])]))
        fit = float(np.clip(round(2 * mean + generator.standard_normal()), -2, 2))
        tone = int(generator.integers(1, 6))
        given = {"a": {"fit": 3 + fit, "tone": tone}, "b": {"fit": 3, "tone": 3}}
        verdicts.append(Verdict(pair.pair, "gpt-x", "ab", "tie", prompt="3f1c", extra={"scores": given}))
    write_records(tmp_path / "verdicts.jsonl", verdicts, signature="s", kind=Verdict)
    rows = {row["name"]: row for row in worth(tmp_path).document["evaluators"] if row["outcome"] == "net"}
    assert {"judge gpt-x", "judge gpt-x: fit", "judge gpt-x: tone"} <= set(rows)
    assert rows["judge gpt-x: fit"]["shown"] and not rows["judge gpt-x: tone"]["shown"]
    assert rows["judge gpt-x: fit"]["correlation"] > 0.5 > abs(rows["judge gpt-x: tone"]["correlation"])
