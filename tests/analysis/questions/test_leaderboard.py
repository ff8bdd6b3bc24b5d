"""`analysis leaderboard`: order, simultaneous ranks, one-seed systems, printed numbers."""

import numpy as np
import pytest

from seedvote.analysis.notebook import leaderboard
from seedvote.analysis.questions.table import COMMANDS
from seedvote.dialogue.cards import Card, TaskCard
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import parser_of
from tests.analysis.conditions_study import lowered, make_study, scored, write_table

command = COMMANDS["leaderboard"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Three systems: one far ahead, two alike, of which one has a single seed."""
    folder, generator = tmp_path_factory.mktemp("study"), np.random.default_rng(1)
    base = scored("jga", "far", (0, 1, 2), 0.9, dialogues=60, generator=generator)
    one_seed = [row for row in base if row[2] == 0]
    rows = base + [(t, "near", s, i, v) for t, _, s, i, v in lowered(base, 0.3, generator=generator)]
    rows += [(t, "lone", s, i, v) for t, _, s, i, v in lowered(one_seed, 0.3, generator=generator)]
    write_table(folder / "task.parquet", rows)
    return folder


def test_systems_stand_in_order_with_ranks_that_say_what_is_not_known(study):
    found = leaderboard(study)
    systems = {one["system"]: one for one in found.document["systems"]}
    far, near, lone = (systems[name] for name in ("far", "near", "lone"))
    assert far["rank"] == far["trained"]["best"] == far["trained"]["worst"] == 1
    assert all((one["trained"]["best"], one["trained"]["worst"]) == (2, 3) for one in (near, lone))
    assert far["tasks"]["jga"] == far["macro"] == pytest.approx(90, abs=3)
    # Of three systems `lone` may be above either for all that its one seed says.
    assert (far["anew"]["best"], far["anew"]["worst"], near["anew"]["worst"]) == (1, 2, 3)
    assert far["anew"]["high"] - far["anew"]["low"] > far["trained"]["high"] - far["trained"]["low"]
    assert lone["anew"] is lone["over_seeds"] is lone["step"] is None
    assert "One seed: lone. So nothing is known of other trainings of them." in str(found)
    assert "3 seeds cannot rule out that 63 % of trainings collapse." in str(found)
    assert (far["over_seeds"]["level"], far["over_seeds"]["seeds"]) == (0.75, 3)


def test_neighbours_with_seeds_are_held_against_each_other(tmp_path):
    generator = np.random.default_rng(2)
    base = scored("jga", "high", (0, 1, 2), 0.9, dialogues=60, generator=generator)
    low = [(task, "low", *rest) for task, _, *rest in lowered(base, 0.3, generator=generator)]
    write_table(tmp_path / "task.parquet", base + low)
    high, low = leaderboard(tmp_path).document["systems"]
    assert high["step"]["low"] > 25 and high["step"]["p_holm"] < 0.001 and low["step"] is None
    assert (high["anew"]["worst"], low["anew"]["best"]) == (1, 2)


def test_averages_without_weights_need_one_unit(tmp_path):
    generator = np.random.default_rng(0)
    rows = [
        row for model in "ab" for task, level in (("jga", 0.5), ("inform", 0.8), ("success", 0.7), ("bleu", 20.0))
        for row in scored(task, model, (0, 1), level, generator=generator)
    ]  # fmt: skip
    share = {"unit": "share", "scale": 100.0, "better": "higher"}
    tasks = {
        "inform": TaskCard("Inform", level="dialogue", **share),
        "success": TaskCard("Success", level="dialogue", **share),
        "jga": TaskCard("joint goal accuracy", **share), "bleu": TaskCard("BLEU", "points", better="higher"),
    }  # fmt: skip
    write_table(tmp_path / "task.parquet", rows, {"task": Card("task success", 5, tasks)})
    found = leaderboard(tmp_path)
    first = found.document["systems"][0]
    assert len({tasks[name].level for name in found.document["weights"]}) == 1
    assert first["macro"] == pytest.approx(np.mean(list(first["tasks"].values())))
    assert "Of another unit, so not averaged:" in str(found) and "--weights" in str(found)
    every = leaderboard(tmp_path, weights=dict.fromkeys(tasks, 1.0))
    assert (
        list(every.document["weights"]) and len(every.document["weights"]) == 4 and "Of another unit" not in str(every)
    )


def test_weights_conditions_and_several_studies(study, tmp_path):
    other = make_study(tmp_path / "other")
    weighted = leaderboard(other, weights={"jga": 3, "bleu": 1}).document
    first = weighted["systems"][0]
    assert first["macro"] == pytest.approx((3 * first["tasks"]["jga"] + first["tasks"]["bleu"]) / 4)
    told = leaderboard(other, condition="typos@0.8-0").document["systems"][0]
    assert told["tasks"]["jga"] == pytest.approx(leaderboard(other).document["systems"][0]["tasks"]["jga"] - 20, abs=2)
    both = leaderboard(study, other)
    names = {one["system"] for one in both.document["systems"]}
    assert f"{study.name}/far" in names and "other/a" in names and "Not all dialogues were answered by" in str(both)


def test_a_task_that_some_system_lacks_does_not_count_and_is_named(tmp_path):
    generator = np.random.default_rng(0)
    rows = scored("jga", "a", (0, 1), 0.5, generator=generator) + scored("jga", "b", (0, 1), 0.6, generator=generator)
    write_table(tmp_path / "task.parquet", rows + scored("slot_f1", "a", (0, 1), 0.9, generator=generator), cards={})
    with pytest.raises(InputError, match="No scores were found that systems could be ordered by"):
        leaderboard(tmp_path)  # without a card nobody knows the unit
    card = Card("t", 5, {name: TaskCard(name, "share", 100.0, better="higher") for name in ("jga", "slot_f1")})
    write_table(
        tmp_path / "task.parquet", rows + scored("slot_f1", "a", (0, 1), 0.9, generator=generator), {"task": card}
    )
    found = leaderboard(tmp_path)
    assert list(found.document["weights"]) == ["jga"] and "slot_f1 does not count: b lacks it." in str(found)
    with pytest.raises(InputError, match="--weights names 'success'; there are jga, slot_f1"):
        leaderboard(tmp_path, weights={"success": 1.0})


def test_printed_numbers_stand_beside_and_those_that_differ_are_marked(study, tmp_path):
    macro = {one["system"]: one["macro"] for one in leaderboard(study).document["systems"]}
    path = tmp_path / "claims.csv"
    path.write_text(f"system,jga,macro\nfar,{macro['far']:.1f},99\nnear,,\nstranger,1,2\n")
    said = str(leaderboard(study, claims=path))
    assert "macro 99 !" in said and f"jga {macro['far']:.1f}," in said
    path.write_text("name,jga\nfar,1\n")
    with pytest.raises(InputError, match=r"claims\.csv:2: no system"):
        leaderboard(study, claims=path)
    path.write_text("system,jga\nfar,high\n")
    with pytest.raises(InputError, match="a number was expected"):
        leaderboard(study, claims=path)
    with pytest.raises(InputError, match="cannot be read"):
        leaderboard(study, claims=tmp_path / "none.csv")


@pytest.mark.parametrize("words", ["jga=0", "jga=-1", "jga=x", "jga=1,jga=2", "jga=nan"])
def test_weights_that_are_none_get_a_sentence(study, words):
    with pytest.raises(InputError, match="write each task once with a number above 0"):
        command.run(parser_of(command, "x").parse_args([str(study), "--weights", words]))


@pytest.mark.usefixtures("drawn")
def test_the_command_prints_and_draws(study, tmp_path, capsys):
    COMMANDS["leaderboard"].run(
        parser_of(COMMANDS["leaderboard"], "x").parse_args(
            [str(study), "--figure", str(tmp_path / "f"), "--weights", "jga"]
        )
    )
    assert "ranks:simultaneous" in capsys.readouterr().out and (tmp_path / "f.png").stat().st_size > 5_000


def test_two_systems_with_the_same_scores_and_one_system_alone(tmp_path):
    rows = scored("jga", "a", (0, 1), 0.5, generator=np.random.default_rng(0))
    write_table(tmp_path / "task.parquet", rows)
    (alone,) = leaderboard(tmp_path).document["systems"]
    assert (alone["trained"]["best"], alone["trained"]["worst"], alone["step"]) == (1, 1, None)
    write_table(tmp_path / "task.parquet", rows + [(t, "b", s, i, v) for t, _, s, i, v in rows])
    first, second = leaderboard(tmp_path).document["systems"]
    for name in ("trained", "anew"):
        assert [(one[name]["best"], one[name]["worst"]) for one in (first, second)] == [(1, 2), (1, 2)]
    assert first["step"]["p_holm"] == 1


def test_no_interval_reaches_beyond_what_scores_can_be(tmp_path):
    """Six dialogues, nearly all of them right or wrong: a t interval would go beyond 100 or below 0."""
    rows = [
        ("jga", model, seed, f"d{d}:1", float(model == "high") if d else 0.5)
        for model in ("high", "low") for seed in (0, 1) for d in range(6)
    ]  # fmt: skip
    write_table(tmp_path / "task.parquet", rows)
    high, low = leaderboard(tmp_path).document["systems"]
    for name in ("trained", "anew"):
        assert (high[name]["high"], low[name]["low"]) == (100, 0)
        assert high[name]["low"] < high["macro"] and low[name]["high"] > low["macro"]


def test_two_dialogues_are_enough_for_an_error_and_one_is_not(tmp_path):
    rows = scored("jga", "far", (0, 1, 2), 0.9, dialogues=2, generator=np.random.default_rng(3))
    rows += [(task, "near", *rest) for task, _, *rest in rows]
    write_table(tmp_path / "task.parquet", rows)
    assert leaderboard(tmp_path).document["dialogues"] == 2
    write_table(tmp_path / "task.parquet", [row for row in rows if row[3] == rows[0][3]])
    with pytest.raises(InputError, match="One dialogue alone tells no error"):
        leaderboard(tmp_path)
