"""The commands, from states on disk to the score table."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from seedvote.dialogue.cards import PROBE
from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.formulas.counts import micro_f1
from seedvote.dialogue.records import Score
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.probes import measuring, suite, summary
from seedvote.probes.__main__ import COMMANDS
from seedvote.probes.plan import Options
from seedvote.probes.states import check_covers, common_items, find_states, read_states
from seedvote.probes.suite import convergence_warnings
from seedvote.probes.summary import gather_cells, read_task_scores

TASKS = "IsMultiTopic,AllTopics"


def probes(*words):
    return dispatch("probes", "", COMMANDS, [str(word) for word in words])


def write_states(folder, members, model, seed, checkpoint, width=6, **sidecar):
    """States that tell the topics more plainly after training."""
    rng = np.random.default_rng([seed, len(checkpoint)])
    topics = ["hotel", "train", "taxi", "restaurant", "attraction"]
    state = rng.standard_normal((len(members), width)).astype(np.float32)
    if checkpoint != "untrained":
        for row, example in enumerate(members):
            filled = example.context[-1].belief
            state[row, :5] += [4 * any(path.startswith(topic) for path in filled) for topic in topics]
    path = folder / f"{model}-{seed}-{checkpoint}.npy"
    folder.mkdir(parents=True, exist_ok=True)
    np.save(path, state)
    record = {"model": model, "seed": seed, "checkpoint": checkpoint, "ids": [e.item for e in members], "width": width}
    path.with_suffix(".json").write_text(json.dumps(record | sidecar))
    return path


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    dispatch("dialogue", "", {"toy": ""}, ["toy", str(folder), "--dialogues", "60", "--seed", "0"])
    return folder


@pytest.fixture(scope="module")
def members(corpus):
    return list(iterate_examples(read_corpus(corpus).dialogues))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A corpus on which a probe takes a moment, and states of two trainings: for what is done, whatever the scores."""
    folder = tmp_path_factory.mktemp("small")
    dispatch("dialogue", "", {"toy": ""}, ["toy", str(folder / "corpus"), "--dialogues", "30", "--seed", "0"])
    for seed in (0, 1):
        write_states(
            folder / "states", list(iterate_examples(read_corpus(folder / "corpus").dialogues)), "seq2seq", seed, "last"
        )
    return folder


@pytest.fixture(scope="module")
def study(tmp_path_factory, corpus, members):
    folder = tmp_path_factory.mktemp("study")
    for seed in range(3):
        for checkpoint in ("untrained", "last", "epoch-1"):
            write_states(folder / "states", members, "seq2seq", seed, checkpoint)
    probes("run", folder, "--corpus", corpus, "--tasks", TASKS, "--jobs", 1)
    return folder


def test_score_table_sums_to_micro_f1(study):
    table = pq.read_table(study / "scores.parquet")
    assert {*table.column_names, "reason"} == set(Score.__dataclass_fields__)  # none is missing here
    assert b"fit:train|choose:valid|report:test" in table.schema.metadata[b"signature"]
    rows = [
        row for row in table.to_pylist() if (row["model"], row["seed"], row["checkpoint"]) == ("seq2seq", 0, "last")
    ]
    rows = [row for row in rows if row["task"] == "AllTopics" and row["evaluator"] == "probe"]
    total = {name: sum(row["stats"][name] for row in rows) for name in ("tp", "fp", "fn")}
    (score,) = (
        s for s in read_task_scores(study / "scores.parquet")
        if (s.evaluator, s.task, s.seed, s.checkpoint) == ("probe", "AllTopics", 0, "last")
    )  # fmt: skip
    assert score.f1 == pytest.approx(100 * micro_f1(**total)) and score.examples == len(rows)


def test_the_table_is_joined_and_summed_batch_by_batch(study, tmp_path, monkeypatch):
    parts = sorted((study / "probes").glob("probe-*/*.parquet"))
    scores = read_task_scores(study / "scores.parquet")
    monkeypatch.setattr(suite, "GROUP_ROWS", 2 * pq.read_metadata(parts[0]).num_rows)
    rows = suite.join_parts(parts, tmp_path / "scores.parquet", "again")
    groups = pq.ParquetFile(tmp_path / "scores.parquet").metadata
    assert rows == groups.num_rows == sum(pq.read_metadata(part).num_rows for part in parts)
    assert 1 < groups.num_row_groups < len(parts)
    monkeypatch.setattr(summary, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(pq, "read_table", None)  # nothing may read it whole
    again = read_task_scores(tmp_path / "scores.parquet")
    assert again == [score for score in scores if score.evaluator != "baseline"]


def test_equal_lists_of_ids_are_kept_once(study):
    representations = find_states(study, None, "all")
    assert len(representations) > 2 and len({id(who.ids) for who in representations}) == 1
    assert common_items(representations) == set(representations[0].ids) and common_items([]) == set()


def test_trained_states_beat_the_untrained_ones_and_the_control(study):
    found = {(c.task, c.model, c.checkpoint): c for c in gather_cells(read_task_scores(study / "scores.parquet"))}
    for task in TASKS.split(","):
        trained, untrained = found[task, "seq2seq", "last"], found[task, "seq2seq", "untrained"]
        assert trained.seeds.mean > 80 > untrained.seeds.mean
        assert trained.above_shuffled > 20 and trained.selectivity > 20
        assert trained.seeds.low < trained.seeds.sd < trained.seeds.high
        for baseline in PROBE.baselines:
            assert (task, baseline, "") in found
    assert ("AllTopics", "seq2seq", "epoch-1") not in found


@pytest.mark.usefixtures("few_baselines")
def test_information_stands_in_bits_with_an_interval_over_seeds(study, corpus, capsys):
    words = ("information", study, "--corpus", corpus, "--tasks", "IsMultiTopic", "--c", "0.1,1", "--ranks", "all,2",
             "--jobs", 1)  # fmt: skip
    probes(*words)
    assert "0 of" in capsys.readouterr().out
    with (study / "probes" / "information-multiwoz.csv").open() as file:
        assert file.readline().startswith(
            "# information:logistic|c:0.1,1|ranks:all,2|fit:train|choose:valid|report:test"
        )
        rows = {(row["model"], row["checkpoint"]): row for row in csv.DictReader(file)}
    trained, untrained = rows["seq2seq", "last"], rows["seq2seq", "untrained"]
    assert float(trained["low"]) < float(trained["bits"]) < float(trained["high"])
    assert 0.3 < float(trained["bits"]) <= float(trained["label_bits"]) <= 1.2 and trained["seeds"] == "3"
    assert float(untrained["bits"]) < 0.1 and rows["turn_index", ""]["low"] == "" and ("constant", "") not in rows
    probes(*words)
    out = capsys.readouterr().out
    number = len(list((study / "probes").glob("*/*.information.json")))
    assert f"{number} of {number} were already measured." in out
    for wrong in (["--c", "0"], ["--c", "x"], ["--ranks", "8"], ["--ranks", "all,0"]):
        with pytest.raises(InputError, match="--ranks"):
            probes(*words[:-2], *wrong)


def test_a_second_run_does_nothing_and_gives_the_same_table(study, corpus, capsys):
    before = (study / "scores.parquet").read_bytes()
    probes("run", study, "--corpus", corpus, "--tasks", TASKS, "--jobs", 2)
    assert "44 of 44 probes were already done" in capsys.readouterr().out
    assert (study / "scores.parquet").read_bytes() == before


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])  # each process loads torch
def test_a_part_that_was_cut_off_is_made_again_and_several_processes_agree(study, corpus, capsys, jobs):
    before = (study / "scores.parquet").read_bytes()
    for victim in sorted((study / "probes").glob("probe-*-last/*.parquet"))[:3]:
        victim.write_bytes(victim.read_bytes()[:50])
    probes("run", study, "--corpus", corpus, "--tasks", TASKS, "--jobs", jobs)
    assert "41 of 44 probes were already done" in capsys.readouterr().out
    assert (study / "scores.parquet").read_bytes() == before


def named_again(states, checkpoint):
    """The same states under the name of another checkpoint."""
    path = states.with_name(f"{states.stem.rpartition('-')[0]}-{checkpoint}.npy")
    path.write_bytes(states.read_bytes())
    told = json.loads(states.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(json.dumps(told | {"checkpoint": checkpoint}))
    return path


@pytest.mark.usefixtures("few_baselines")
@pytest.mark.parametrize("command", ["run", pytest.param("codelength", marks=pytest.mark.slow)])
def test_run_fits_states_of_two_names_once(small, tmp_path, command, monkeypatch, capsys):
    shutil.copytree(small, tmp_path / "study")
    (tmp_path / "study" / "states" / "seq2seq-1-last.npy").unlink()
    last = tmp_path / "study" / "states" / "seq2seq-0-last.npy"
    best, epoch = named_again(last, "best_bleu"), named_again(last, "epoch-1")
    words = ("--corpus", small / "corpus", "--tasks", "UtteranceLoc,IsMultiTopic", "--jobs", 1, "--states")
    probes(command, tmp_path / "study", *words, last)
    fitted, module, name = [], *((suite, "fit_and_score") if command == "run" else (measuring, "online_code"))
    fit = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *args, **named: fitted.append(args) or fit(*args, **named))
    capsys.readouterr()
    probes(command, tmp_path / "study", *words, last, best, epoch)
    assert not fitted and "4 of " in (told := capsys.readouterr().out) and "that another checkpoint has too" in told
    probes(command, tmp_path / "study", *words, last, best, epoch)
    assert not fitted
    probes(command, tmp_path / "alone", *words, best)
    assert fitted
    parts = {
        path.relative_to(tmp_path / "alone"): path
        for path in (tmp_path / "alone/probes/probe-seq2seq-0-best_bleu").iterdir()
    }
    assert len(parts) == 2
    for name, path in parts.items():
        assert (tmp_path / "study" / name).read_bytes() == path.read_bytes()


def test_baselines_with_the_same_features_are_not_taken_for_one_another(small, tmp_path):
    """The majority is not fitted, and the features that stand for it may be those of another baseline."""
    found = [read_states(small / "states" / "seq2seq-0-last.npy", evaluator="baseline") for _ in range(2)]
    task = SimpleNamespace(task="T", digest="")
    one, other = (
        suite.ScorePart(replace(who, model=model), task, Options(), tmp_path / model, "k")
        for who, model in zip(found, ("majority", "constant"), strict=True)
    )  # fmt: skip
    assert suite.once_each([one, other]) == ([one, other], [])


def test_representations_share_a_job_while_every_process_has_one():
    todo = [SimpleNamespace(path=Path(f"seq2seq-{n}/{task}"), key=f"{n}{task}") for n in range(11) for task in "ab"]
    assert [suite.count_per_job(todo, n) for n in (1, 2, 3, 7, 11, 100, None)] == [4, 4, 3, 1, 1, 1, 1]
    assert suite.count_per_job([], 2) == 1
    jobs = suite.as_jobs(todo, per_job=4)
    assert [job.name.partition("+")[2] for job in jobs] == ["3", "3", "2"]
    assert [part for job in jobs for part in job.piece] == todo


def test_the_tables_are_written_as_csv_and_latex(study):
    lines = (study / "probes" / "table-multiwoz.csv").read_text().splitlines()
    assert lines[0].startswith("# probes:44|corpus:multiwoz") and lines[1].startswith("task,evaluator,model")
    assert len(lines) == 2 + 2 * 18
    latex = (study / "probes" / "table-multiwoz.tex").read_text()
    assert "seq2seq & untrained &" in latex and "bag\\_of\\_words" in latex and "[" in latex


def test_list_shows_every_task(corpus, capsys):
    probes("list", "--corpus", corpus)
    out = capsys.readouterr().out
    assert all(task in out for task in ("UtteranceLoc", "EntityValues", "NumRepeatInfo")) and "most frequent" in out


@pytest.mark.usefixtures("few_baselines")
def test_chosen_on_valid_and_the_papers_protocol_are_raters_of_their_own(small, tmp_path):
    states = small / "states" / "seq2seq-0-last.npy"
    common = ("run", tmp_path, "--corpus", small / "corpus", "--states", states, "--tasks", "IsMultiTopic", "--jobs", 1)
    for extra, raters in (
        (("--c", "0.001,1"), ["logistic"]),
        (("--protocol", "paper"), ["logistic", "paper"]),
        (("--solver", "sklearn"), ["logistic-sklearn"]),
        (("--classifier", "logistic,mlp", "--mlp-seeds", "0,1"), ["logistic", "mlp:0", "mlp:1"]),
    ):
        probes(*common, *extra)
        assert {s.rater for s in read_task_scores(tmp_path / "scores.parquet")} == {*raters, "majority"}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--c", "much"), "--c is 'much'"),
        (("--classifier", "forest"), "--classifier is 'forest'"),
        (("--c", "0"), "must be above zero"),
        (
            ("--device", "abacus", "--tasks", "NumAllTopics", "--jobs", 1),
            "Device 'abacus' is not available here. Choose from: auto, cpu",
        ),
        (("--checkpoints", "best_bleu"), "No states of checkpoint best_bleu. It has: epoch-1"),
        (("--tasks", "Everything"), "Everything is not a probe task"),
    ],
)
def test_wrong_options_get_a_sentence(study, corpus, words, complaint):
    with pytest.raises(InputError, match=complaint):
        probes("run", study, "--corpus", corpus, *words)


def test_a_study_without_states_says_how_to_make_them(tmp_path, corpus):
    with pytest.raises(InputError, match="python -m generation encode"):
        probes("run", tmp_path, "--corpus", corpus)


def broken(path, members, **change):
    write_states(path.parent, members, "m", 0, "last", **change)
    return path.parent / "m-0-last.npy"


def test_states_are_refused_by_name_and_count(tmp_path, members):
    items = [example.item for example in members]
    path = broken(tmp_path / "x.npy", members)
    assert read_states(path).name == "m-0-last"
    for change, complaint in (
        ({"ids": items[:-2]}, r"has \d+ rows, and m-0-last.json names"),
        ({"ids": [*items[:-2], items[0], items[1]]}, f"2 ids occur more than once .{items[0]}"),
        ({"ids": ["strange:1", *items[1:]]}, f"1 examples of the corpus have no state .{items[0]}"),
        ({"ids": None}, "needs at least"),
    ):
        with pytest.raises(InputError, match=complaint):
            check_covers(read_states(broken(tmp_path / "x.npy", members, **change)), items)


def test_states_with_holes_or_the_wrong_shape_are_refused(tmp_path, members):
    path = broken(tmp_path / "x.npy", members)
    values = np.load(path)
    values[3, 1], values[5, 0] = np.nan, np.inf
    np.save(path, values)
    with pytest.raises(InputError, match=f"2 rows hold NaN or infinity .{members[3].item}, {members[5].item}"):
        read_states(path)
    np.save(path, values[:, :4])
    with pytest.raises(InputError, match=r"is 4 numbers wide, and m-0-last.json says 6"):
        read_states(path)
    np.save(path, values[0])
    with pytest.raises(InputError, match="is not a matrix"):
        read_states(path)
    path.with_suffix(".json").unlink()
    np.save(path, values)
    with pytest.raises(InputError, match=r"m-0-last\.json needs at least"):
        read_states(path)
    path.write_bytes(b"\x93NUMPY")
    with pytest.raises(InputError, match="cannot be read as a NumPy array"):
        read_states(path)
    path.unlink()
    with pytest.raises(InputError, match=r"m-0-last\.npy is not there"):
        read_states(path)


@pytest.mark.usefixtures("few_baselines")
def test_the_split_that_chose_may_be_reported_as_the_papers_did(small, tmp_path, capsys):
    corpus = small / "corpus"
    (tmp_path / "states").symlink_to(small / "states")
    probes("run", tmp_path, "--corpus", corpus, "--tasks", "IsMultiTopic", "--jobs", 1, "--report", "valid")
    assert "Reported on valid, the split that also chose" in capsys.readouterr().out
    reported = {example.item for example in iterate_examples(read_corpus(corpus).split("valid"))}
    assert set(pq.read_table(tmp_path / "scores.parquet")["item"].to_pylist()) == reported


@pytest.mark.usefixtures("few_baselines")
def test_run_probes_partial_states_under_a_banner(tmp_path, corpus, members, capsys):
    write_states(tmp_path / "states", members[::2], "m", 0, "last")
    with pytest.raises(InputError, match="or probe what there is: --subset"):
        probes("run", tmp_path, "--corpus", corpus, "--tasks", "IsMultiTopic", "--jobs", 1)
    probes("run", tmp_path, "--corpus", corpus, "--tasks", "IsMultiTopic", "--jobs", 1, "--subset")
    assert f"A SUBSET: {len(members[::2])} of {len(members)} examples" in capsys.readouterr().out


def test_every_fit_leaves_its_end_and_what_fell_short_is_named(study, members):
    ends = pq.read_table(study / "probes" / "convergence-multiwoz.parquet")
    assert all(ends["converged"].to_pylist()) and max(ends["gap"].to_pylist()) <= 1e-5
    assert convergence_warnings(ends) == []
    short = ends.set_column(ends.column_names.index("converged"), "converged", pa.array([False] * len(ends)))
    sentences = convergence_warnings(short)
    gaps = {
        row["problem"]: row["gap"]
        for row in ends.to_pylist()
        if (row["representation"], row["task"], row["control"]) == ("seq2seq-0-last", "AllTopics", False)
    }
    worst = max(gaps, key=gaps.get)
    said = next(sentence for sentence in sentences if "AllTopics on seq2seq-0-last" in sentence)
    assert said.startswith(f"Not converged: {len(gaps)} problems of AllTopics on seq2seq-0-last, fitted by logistic (")
    assert f"({worst}, " in said
    assert said.endswith(f"), up to {100 * gaps[worst]:.2g} % of its value above its optimum.")


@pytest.mark.usefixtures("few_baselines")
def test_the_table_says_where_the_papers_protocol_departs(study, corpus, tmp_path, capsys):
    states = study / "states" / "seq2seq-0-untrained.npy"
    probes("run", tmp_path, "--corpus", corpus, "--states", states, "--tasks", "UtteranceLoc", "--jobs", 1,
           "--protocol", "paper")  # fmt: skip
    out = capsys.readouterr().out
    assert "The papers' protocol gives 0.0 instead of" in out and "for UtteranceLoc on constant." in out


def test_two_arrays_of_one_name_are_refused(tmp_path, corpus, members):
    twins = [write_states(tmp_path / folder, members, "m", 0, "last") for folder in ("a", "b")]
    with pytest.raises(InputError, match="2 arrays are called m-0-last"):
        probes("run", tmp_path, "--corpus", corpus, "--states", *twins)


@pytest.mark.usefixtures("few_baselines")
def test_codelength_writes_a_table_and_keeps_what_is_done(study, corpus, capsys, monkeypatch):
    words = (study, "--corpus", corpus, "--tasks", "AllTopics", "--jobs", 1)
    probes("codelength", *words)
    shown = capsys.readouterr().out
    path = study / "probes" / "codelength-multiwoz.csv"
    lines = path.read_text().splitlines()
    assert lines[0].startswith("# code:online|c:1|blocks:")
    assert "Compression" in shown
    rows = list(csv.DictReader(lines[1:]))
    assert max(rows, key=lambda row: float(row["compression"]))["checkpoint"] == "last"
    assert {r["model"] for r in rows} >= {"constant", "turn_index", "bag_of_words"}
    assert all(float(r["uniform_bits"]) / float(r["bits"]) == pytest.approx(float(r["compression"]), rel=1e-3)
               for r in rows)  # fmt: skip
    monkeypatch.setattr(measuring, "online_code", None)  # a second run must not code anything
    before = path.read_text()
    probes("codelength", *words)
    assert path.read_text() == before
    assert "12 of 12 code lengths were already there" in capsys.readouterr().out


@pytest.mark.usefixtures("few_baselines")
def test_codelength_is_the_same_with_any_jobs_and_threads(small, tmp_path, monkeypatch):
    words = ("--corpus", small / "corpus", "--states", small / "states" / "seq2seq-0-last.npy", "--tasks", "AllTopics")
    probes("codelength", tmp_path / "two", *words, "--jobs", 2)
    used, online = [], measuring.online_code
    monkeypatch.setattr(
        measuring, "online_code", lambda *a, **k: used.append(torch.get_num_threads()) or online(*a, **k)
    )
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        probes("codelength", tmp_path / "one", *words, "--jobs", 1)
    finally:
        torch.set_num_threads(before)
    assert set(used) == {1}
    one, two = (
        {path.relative_to(study): path.read_bytes() for path in (study / "probes").glob("**/*") if path.is_file()}
        for study in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two and sum(path.name.endswith(".codelength.json") for path in one) == 7
    assert len(list((tmp_path / "two" / "logs" / "codelength").iterdir())) == 7


@pytest.mark.usefixtures("few_baselines")
def test_codelength_repeats_only_what_changed(small, tmp_path, capsys):
    words = (tmp_path, "--corpus", small / "corpus", "--tasks", "IsMultiTopic", "--jobs", 1)
    probes("codelength", *words, "--states", small / "states" / "seq2seq-0-last.npy")
    part = tmp_path / "probes" / "baseline-constant" / "IsMultiTopic.codelength.json"
    held = part.read_bytes()
    part.unlink()
    probes("codelength", *words, "--states", small / "states" / "seq2seq-0-last.npy")
    assert "6 of 7 code lengths were already there" in capsys.readouterr().out and part.read_bytes() == held
    probes("codelength", *words, "--states", small / "states" / "seq2seq-1-last.npy")
    assert "6 of 7 code lengths were already there" in capsys.readouterr().out
    probes("codelength", *words, "--states", small / "states" / "seq2seq-1-last.npy", "--seed", 1)
    assert "0 of 7 code lengths were already there" in capsys.readouterr().out


@pytest.mark.usefixtures("few_baselines")
def test_codelength_says_on_what_it_is_fitted_where_that_is_not_all(corpus, members, tmp_path, capsys):
    path = write_states(tmp_path / "states", members[::2], "half", 0, "last")
    probes("codelength", tmp_path, "--corpus", corpus, "--tasks", "IsMultiTopic", "--subset", "--jobs", 1)
    assert "A SUBSET: " in capsys.readouterr().out and path.exists()


def test_codelength_refuses_a_penalty_of_no_size(study, corpus):
    with pytest.raises(InputError, match="above zero"):
        probes("codelength", study, "--corpus", corpus, "--c", "0")
