"""The page of results is filled from the folder that the scripts leave, whole or with parts missing."""

import importlib
import json
import math
import re
import shlex
import sys
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.dialogue.shell.command_line import dispatch

ROOT = Path(__file__).resolve().parents[2]
FINDINGS = ROOT / "docs" / "results.md"
sys.path.insert(0, str(ROOT / "examples"))
import results  # noqa: E402 (not installed)

PAGE = """Sentences stay.

<!-- responses full -->
<!-- end -->
<!-- baselines full -->
<!-- end -->
<!-- beaten full -->
<!-- end -->
<!-- probes full last -->
<!-- end -->
<!-- probes other last -->
of another study
<!-- end -->
"""


def row(evaluator, model, seed, checkpoint, hit, n, condition="fit=train,report=test"):
    stats = {"tp": hit, "fp": 1 - hit, "fn": 1 - hit}
    return {
        "evaluator": evaluator, "task": "T", "model": model, "seed": seed, "checkpoint": checkpoint,
        "item": f"d{n // 2}:{n}", "cluster": f"d{n // 2}", "rater": "logistic", "condition": condition,
        "score": hit, "stats": stats,
    }  # fmt: skip


@pytest.fixture
def study(tmp_path):
    """Two of the five architectures, three checkpoints, two controls and two baselines; responses of one decoding."""
    rates = {"untrained": 3, "last": 8, "best_bleu": 7}
    controls = {"shuffled": 2, "control-task": 6}
    scores = [
        row(evaluator, model, seed, checkpoint, float((7 * n + seed) % 10 < rate), n, f"fit=train,report=test{kind}")
        for n in range(40)
        for model in ("seq2seq", "transformer")
        for seed in range(3)
        for evaluator, checkpoint, rate, kind in (
            *(("probe", name, rate, "") for name, rate in rates.items()),
            *(("control", name, rate, f",labels={kind}") for name in rates for kind, rate in controls.items()),
        )
    ]
    plain = {"bag_of_last_turn": 9, "bag_of_words_narrow": 5}
    scores += [
        row("baseline", name, None, "", float(n % 10 < rate), n) for name, rate in plain.items() for n in range(40)
    ]
    pq.write_table(pa.Table.from_pylist(scores), tmp_path / "scores.parquet")
    bleu = {"match1": 1.0, "total1": 2.0, "match2": 1.0, "total2": 2.0, "length": 3.0, "reference": 3.0}
    metrics = [
        {"task": task, "model": "seq2seq", "seed": seed, "checkpoint": name, "condition": "greedy", "score": 10.0,
         "stats": bleu}
        for task in ("bleu2", "rouge_l") for seed in range(3) for name in rates
    ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(metrics), tmp_path / "metrics.parquet")
    for seed in range(3):
        folder = tmp_path / "models" / f"seq2seq-{seed}"
        folder.mkdir(parents=True)
        (folder / "log.jsonl").write_text(json.dumps({"seconds": 60, "valid_loss": 2.0}) + "\n")
    return tmp_path


def filled(study, monkeypatch, text=PAGE):
    page = study / "results.md"
    page.write_text(text)
    monkeypatch.setattr(sys, "argv", ["results.py", str(page), f"full={study}"])
    results.main()
    return page.read_text()


def test_every_table_is_filled_with_what_there_is(study, monkeypatch):
    text = filled(study, monkeypatch)
    assert "Sentences stay." in text and "of another study" in text
    assert "| seq2seq | last |" in text and "| hred" not in text  # not trained yet
    (line,) = (line for line in text.splitlines() if line.startswith("| T |") and "bag_of_last_turn)" in line)
    cells = cells_of(line)
    assert cells[:8] == ["T", "", "", "", "90.0", "", "", "90.0 (bag_of_last_turn)"]
    untrained, best, selectivity, above_shuffled, above, p = cells[8:]
    assert best.startswith("80.0 (seq2seq") and untrained == "30.0"
    (beaten,) = (line for line in text.splitlines() if line.startswith("| T | bag of last turn |"))
    hardest, above_it, p_here = cells_of(beaten)[2:5]
    assert hardest.startswith("seq2seq") and above_it == "+10.0" and 0 < float(p_here) <= 1
    assert (selectivity, above_shuffled) == ("20.0", "60.0") and above.startswith("-1") and float(p) == 1


def test_two_rows_of_one_name_are_refused(study, monkeypatch):
    with pytest.raises(SystemExit, match=r"Two drops are called typos, 0\.5, hred"):
        results.index_by_name([(("typos", 0.5, "hred"), 1), (("typos", 0.5, "hred"), 2)], "drops")
    one = {"kind": "typos", "dose": 0.5, "task": "bleu", "drop": 1.0, "low": 0.5, "high": 2.0, "se": 0.4, "p_holm": 0.5}
    drops = [one | {"model": model} for model in (*results.MODELS, results.MODELS[0])]
    (study / "robustness.json").write_text(json.dumps({"drops": drops}))
    with pytest.raises(SystemExit, match="Two drops"):
        list(results.drops(study, "bleu"))
    page = study / "results.md"
    page.write_text(PAGE)
    monkeypatch.setattr(sys, "argv", ["results.py", str(page), f"full={study}", f"full={study / 'other'}"])
    with pytest.raises(SystemExit, match="Two studies are called full"):
        results.main()
    assert page.read_text() == PAGE


def test_a_folder_without_probes_says_how_to_make_them(study, monkeypatch):
    (study / "scores.parquet").unlink()
    with pytest.raises(SystemExit, match=r"Make it: python -m probes run"):
        filled(study, monkeypatch)


def test_full_study_probes_every_encoded_checkpoint():
    lines = (ROOT / "examples" / "multiwoz_full.sh").read_text().splitlines()
    places = [
        next(n for n, line in enumerate(lines) if word in line) for word in (" encode ", "probes run", "probes papers")
    ]
    assert places == sorted(places)
    assert all("--checkpoints all" in lines[n] for n in places[:2])


def commands_of(script, **words):
    """The commands of a script as lists of words, with its loop over checkpoints written out."""
    text = script.replace("\\\n", " ")
    loop = re.search(r"for checkpoint in ([\w ]+); do\n(.*?)done\n", text, re.DOTALL)
    each = "".join(loop[2].replace("$checkpoint", name) for name in loop[1].split())
    lines = text.replace(loop[0], each).splitlines()
    for line in (line.strip() for line in lines):
        if line.startswith("$python -m "):
            yield shlex.split(re.sub(r'"?\$(\w+)"?', lambda found: str(words[found[1]]), line[11:]))


@pytest.mark.slow
def test_full_script_fills_every_table_of_the_page(tmp_path, monkeypatch, capsys):
    """The script's own commands with smaller numbers: nothing crashes, and no course is missing for ever."""
    write_toy(tmp_path / "corpus", 40, seed=0)
    text, folder = (ROOT / "examples" / "multiwoz_full.sh").read_text(), tmp_path / "study"
    for big, small in (
        ("--models all --seeds 0-2", "--models seq2seq,hred --seeds 0-1"), ("--preset paper", "--preset tiny"),
        ("--epochs 25", "--epochs 2"), ("--valid 1000", "--valid 8"), ("--split test", "--split test --limit 6"),
        ("--pairs 2000", "--pairs 4"), ("--classifier logistic,mlp", "--tasks UtteranceLoc,RecentTopic --jobs 1"),
        ("--device auto", "--jobs 1"),
    ):  # fmt: skip
        assert big in text
        text = text.replace(big, small)
    for package, *words in commands_of(text, corpus=tmp_path / "corpus", study=folder):
        table = importlib.import_module(f"seedvote.{package}.__main__").COMMANDS
        assert dispatch(package, "", table, words) == 0, words
    page = (folder / "papers" / "index.md").read_text()
    assert page.count("**not here**") == 2  # the MLP, and the papers' classifier
    assert "4 of 4 figures" in capsys.readouterr().out
    text = filled(folder, monkeypatch, f"{PAGE}<!-- paper full courses -->\n<!-- end -->\n")
    assert "| hred | last |" in text and "| UtteranceLoc |" in text and "| untrained | epoch 1 | epoch 2 |" in text


def shown_tables():
    return "\n".join(page.read_text() for page in sorted((ROOT / "docs" / "results").glob("*.md")))


def test_what_the_page_says_of_its_sds_is_what_its_tables_show():
    """How many pairs of architectures in a row have SDs whose printed intervals do not overlap, or F tells apart."""
    text, pages = FINDINGS.read_text(), shown_tables()
    tables = re.findall(r"<!-- probes (?:multiwoz|toy) \w+ -->\n(.*?)<!-- end -->", pages, flags=re.DOTALL)
    rows = [re.findall(r"; ([\d.]+)-([\d.]+)\)", line) for table in tables for line in table.splitlines()]
    pairs = [pair for row in rows for pair in combinations([(float(low), float(high)) for low, high in row], 2)]
    apart = sum(one[0] > other[1] or other[0] > one[1] for one, other in pairs)
    # The upper ends are the SDs times one number, and have more digits.
    ends = [sorted((one[1], other[1])) for one, other in pairs]
    ratio = math.sqrt(float(stats.f.isf(0.025, 2, 2)))
    unlike = sum(large > ratio * small for small, large in ends)
    said = re.search(
        r"of the (\d+)\s+pairs of architectures .*? the intervals of (\d+) do not overlap, and (\d+) differ by an\s+F",
        text, re.DOTALL,
    )  # fmt: skip
    assert said is not None and said.groups() == (str(len(pairs)), str(apart), str(unlike))


def test_page_on_baselines_agrees_with_its_tables():
    """On which tasks a baseline beats each of these trained encoders; never the reverse."""
    text, pages = FINDINGS.read_text(), shown_tables()

    def rows(kind, study):
        found = re.search(rf"<!-- {kind} {study} -->\n(.*?)<!-- end -->", pages, re.DOTALL)
        return {cells[0]: cells[1:] for cells in map(cells_of, found[1].splitlines()[2:])}

    def below(cell):
        return float(cell.removeprefix("<")) < 0.05

    toy, chat = rows("beaten", "toy"), rows("beaten", "chat")
    assert (
        sum(below(row[3]) for row in toy.values()) == 10 and "On ten tasks one baseline is shown to beat each" in text
    )
    assert [task for task, row in chat.items() if below(row[3])] == ["UtteranceLoc", "PersonalInfo"]
    for study in ("toy", "chat"):
        best = rows("baselines", study)
        assert all(float(row[-1]) == 1 for row in best.values())  # nowhere was training shown to help
        assert all(float(row[6].split()[0]) >= float(row[8].split()[0]) for row in best.values())


def test_what_the_page_says_of_erasing_is_what_its_table_shows():
    found = re.search(r"<!-- erased toy -->\n(.*?)\n\n", shown_tables(), re.DOTALL)
    said = " ".join(FINDINGS.read_text().split())
    rows = [cells_of(line) for line in found[1].splitlines()[2:]]
    read = [[float(number) for number in re.findall(r"[\d.]+", row[3])] for row in rows]
    assert all(after == constant for _, after, constant in read) and "a constant scores, in every line" in said
    held = [
        before - constant for row, (before, _, constant) in zip(rows, read, strict=True) if row[8] == "does not use it"
    ]
    assert len(held) == 3 and f"{min(held):.0f} to {max(held):.0f} points above the constant from three" in said
    used = [tuple(row[:2]) for row in rows if row[8] == "uses it"]
    assert used == [("seq2seq", "RecentTopic"), ("seq2seq_attn", "NumRecentInfo")] and "is shown twice" in said
    above = [row for row in rows if row[8] != "uses it" and re.search(r"\(\+", row[4])]
    assert len(above) == 6 and "In six further lines the interval" in said
    changed = [float(row[6].split(",")[0]) for row in rows if row[0] in ("hred", "transformer")]
    assert f"{min(changed):.0f} to {max(changed):.0f} %" in said


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]
