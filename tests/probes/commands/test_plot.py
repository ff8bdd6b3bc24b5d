"""The plot command draws what it can, and says what it cannot draw and why."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.probes import baselines, plots
from seedvote.probes.__main__ import COMMANDS
from seedvote.probes.comparisons import layer_curves, means_by_difficulty
from seedvote.probes.summary import read_task_scores
from tests.house.warm import sketch

EVERY = ("untrained", "epoch-1", "epoch-2", "last", "best_bleu", "best_rouge")


def probes(*words):
    return dispatch("probes", "", COMMANDS, [str(word) for word in words])


def write_study(folder, checkpoints):
    dispatch("dialogue", "", {"toy": ""}, ["toy", str(folder / "corpus"), "--dialogues", "40", "--seed", "1"])
    members = list(iterate_examples(read_corpus(folder / "corpus").dialogues))
    (folder / "states").mkdir()
    rows = []
    for model in ("seq2seq", "hred"):
        for seed in (0, 1):
            for step, checkpoint in enumerate(checkpoints):
                state = np.random.default_rng([seed, step, len(model)]).standard_normal((len(members), 5))
                state[:, 0] += step * np.array([len(example.context) for example in members])
                path = folder / "states" / f"{model}-{seed}-{checkpoint}.npy"
                np.save(path, state.astype(np.float32))
                record = {"model": model, "seed": seed, "checkpoint": checkpoint, "ids": [e.item for e in members]}
                path.with_suffix(".json").write_text(json.dumps(record))
                rows.append({"task": "bleu2", "score": step + seed / 10 + len(model), **record, "ids": None})
    return rows


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    rows = write_study(folder, EVERY)
    pq.write_table(pa.Table.from_pylist(rows).drop_columns("ids"), folder / "metrics.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines, "BAGS", {"bag_of_words": baselines.bag_of_words})  # as few_baselines has it
        probes("run", folder, "--tasks", "IsMultiTopic,UtteranceLoc", "--checkpoints", "all", "--jobs", 1)
    return folder


def test_plot_draws_every_picture_with_the_same_bytes(study, capsys, monkeypatch):
    save = plots.save_figure

    def save_one(figure, stem):
        """One picture rendered; the others laid out, as they are rendered alike."""
        with monkeypatch.context() as patch:
            if stem.name != "evolution":
                patch.setattr("matplotlib.figure.Figure.savefig", sketch)
            save(figure, stem)

    monkeypatch.setattr(plots, "save_figure", save_one)
    probes("plot", study)
    assert "not drawn" not in capsys.readouterr().out
    for name in ("layers", "evolution", "difficulty", "selection", "beside-bleu2", "states"):
        for suffix, start in ((".png", b"\x89PNG"), (".pdf", b"%PDF")):
            written = (study / "probes" / f"{name}{suffix}").read_bytes()
            assert written.startswith(start if name == "evolution" else b"sketch")
    before = (study / "probes" / "evolution.png").read_bytes()
    monkeypatch.setattr(
        plots, "save_figure", lambda figure, stem: save(figure, stem) if stem.name == "evolution" else None
    )
    (study / "probes" / "evolution.png").unlink()
    probes("plot", study)
    assert (study / "probes" / "evolution.png").read_bytes() == before


@pytest.mark.usefixtures("sketched", "few_baselines")
def test_plot_draws_own_arrays_by_layer(tmp_path, capsys):
    folder = tmp_path / "own"
    dispatch("dialogue", "", {"toy": ""}, ["toy", str(folder / "corpus"), "--dialogues", "40", "--seed", "1"])
    ids = [e.item for e in iterate_examples(read_corpus(folder / "corpus").dialogues)][::2]
    draw = np.random.default_rng(0)
    for name, sidecar in {
        "plain": {}, "thin": {"model": "thin"},
        **{f"deep{n}{c}": {"model": "deep", "layer": n, "checkpoint": c, "seed": s} for n in (0, 3)
           for c, s in (("step-10", None), ("untrained", 0), ("untrained", 1))},
    }.items():  # fmt: skip
        name += str(sidecar.get("seed", ""))
        np.save(folder / f"{name}.npy", draw.standard_normal((len(ids), 1 if "thin" in name else 4)))
        (folder / f"{name}.json").write_text(json.dumps({"ids": ids, **sidecar}))
    files = sorted(folder.glob("*.npy"))
    probes("run", folder, "--tasks", "UtteranceLoc", "--jobs", 1, "--subset", "--states", *files)
    capsys.readouterr()
    probes("plot", folder, "--states", *files)
    out = capsys.readouterr().out
    drawn = {line.split(":")[0] for line in out.splitlines() if " and .pdf" in line}
    assert drawn == {"layers", "difficulty", "selection", "states"}
    assert "evolution: not drawn" in out and "beside-bleu2: not drawn" in out


@pytest.mark.usefixtures("sketched", "few_baselines")
def test_what_cannot_be_drawn_is_said(tmp_path, capsys):
    write_study(tmp_path, ("last",))
    with pytest.raises(InputError, match=rf"Make it: python -m probes run {tmp_path}\."):
        probes("plot", tmp_path)
    (tmp_path / "scores.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"cannot be read as a score table. Make it again: python -m probes run"):
        probes("plot", tmp_path)
    probes("run", tmp_path, "--tasks", "IsMultiTopic", "--jobs", 1)
    capsys.readouterr()
    probes("plot", tmp_path)
    out = capsys.readouterr().out
    assert out.count("not drawn") == 2 and f"probes run {tmp_path} --checkpoints all" in out
    assert "beside-bleu2: not drawn" in out
    (tmp_path / "models").mkdir()  # a study of ours, whose epochs can be encoded
    probes("plot", tmp_path)
    out = capsys.readouterr().out
    first, then = f"generation encode {tmp_path} --checkpoints all", f"probes run {tmp_path} --checkpoints all"
    assert out.index(first) < out.index(then)  # to probe them before they are encoded would change nothing


@pytest.mark.usefixtures("sketched", "few_baselines")
def test_one_epoch_is_no_course_and_is_not_asked_for_again(tmp_path, capsys):
    """All was encoded and probed: to name these commands once more would send people round for ever."""
    write_study(tmp_path, ("untrained", "epoch-1", "last"))
    (tmp_path / "models").mkdir()
    probes("run", tmp_path, "--tasks", "IsMultiTopic", "--jobs", 1, "--checkpoints", "all")
    capsys.readouterr()
    probes("plot", tmp_path)
    out = capsys.readouterr().out
    assert "evolution: not drawn, a course needs three checkpoints" in out and "--checkpoints all" not in out


def test_plot_names_an_unknown_classifier(study):
    with pytest.raises(InputError, match=r"no scores by mlp. It has: logistic. Name one: --classifier."):
        probes("plot", study, "--classifier", "mlp")


def test_plot_recipe_fits_and_axis_of_layers_is_optional(study):
    recipe = "|".join(f"part {n} of the recipe:{n}" for n in range(12))
    scores = [s for s in read_task_scores(study / "scores.parquet") if s.classifier in ("logistic", "majority")]
    means = {(s.task, s.model, s.checkpoint): s.f1 for s in scores if s.evaluator == "probe"}
    bars = plots.draw_difficulty_bars(means_by_difficulty(means, "last"), recipe)
    panels = plots.draw_layers(layer_curves(scores), {}, recipe)
    for figure in (bars, panels):
        drawn = FigureCanvasAgg(figure).get_renderer()
        (foot,) = (text for text in figure.texts if text.get_text().startswith("part 0"))
        assert foot.get_window_extent(drawn).x1 < figure.bbox.width and foot.get_text().replace("\n", "") == recipe
    assert not any(panel.get_xticks().size for panel in panels.axes if panel.get_visible())
    assert {text.get_text() for text in panels.texts} >= {"Probe scores with their controls and baselines"}
