"""The report of a study folder, whole or in parts."""

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.findings import limitations
from analysis.report import methods_of, render
from analysis.study import read_study
from dialogue.errors import InputError
from dialogue.files import write_records
from dialogue.records import Candidate, Pair, Rater, Response, Utterance, Vote

ODD = "<script>alert(1)</script> <unk>"


def candidate(seed):
    return Candidate(ODD, "bilstm_attn", seed, "last")


def vote(number, k, source):
    choice = ("a", "b", "tie")[(number * 7 + k) % 3]
    return Vote(f"p{number}", f"r{(number + k) % 9}", choice, k, source=source, dialogue=f"d{number // 2}")


@pytest.fixture
def folder(tmp_path):
    pairs = [
        Pair(
            f"p{n}",
            f"d{n // 2}:{n}",
            (Utterance("user", ODD),),
            candidate(n % 3),
            candidate((n + 1) % 3),
            dialogue=f"d{n // 2}",
        )
        for n in range(30)
    ]
    votes = [vote(n, k, "simulated") for n in range(30) for k in (1, 2, 3)]
    raters = [Rater(f"r{n}", "simulated", "blocked" if n == 0 else "passed", 5, n % 3, 10, None, 4.5) for n in range(9)]
    responses = [Response(p.item, "bilstm_attn", seed, "last", ODD) for p in pairs for seed in range(3)]
    for name, kind, records in [
        ("pairs", Pair, pairs),
        ("votes", Vote, votes),
        ("raters", Rater, raters),
        ("responses", Response, responses),
    ]:
        write_records(tmp_path / f"{name}.jsonl", records, signature=f"{name}:{len(records)}|v:0", kind=kind)
    return tmp_path


def add_ties(folder):
    command = [sys.executable, "analyze_ties.py", folder / "votes.jsonl", "--size", "20", "--out", folder]
    subprocess.run(command, check=True, capture_output=True)


def add_scores(folder):
    def rows(evaluator, model, seed, checkpoint, hits):
        for n in range(20):
            key = {"evaluator": evaluator, "task": "AllSlots", "model": model, "seed": seed, "checkpoint": checkpoint}
            stats = {"tp": float(n % 4 < hits), "fp": float(n % 4 >= hits), "fn": float(n % 4 >= hits)}
            place = {"item": f"d{n}:1", "cluster": f"d{n}", "rater": "logistic", "condition": "fit=valid,report=test"}
            yield key | place | {"score": stats["tp"], "stats": stats}

    trained = [row for seed in range(3) for row in rows("probe", "bilstm_attn", seed, "last", 2)]
    untrained = [row for seed in range(3) for row in rows("probe", "bilstm_attn", seed, "untrained", 1)]
    plain = list(rows("baseline", "turn_index", None, "none", 3))
    table = pa.Table.from_pylist([*trained, *untrained, *plain])
    pq.write_table(table.replace_schema_metadata({"signature": "tasks:AllSlots|v:0"}), folder / "scores.parquet")


def test_the_page_holds_every_part_and_shows_model_text_literally(folder):
    add_ties(folder)
    add_scores(folder)
    page, facts = render(read_study(folder), title="Two seeds")
    assert "<strong>90 of 90 votes came from simulated raters.</strong>" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &lt;unk&gt;" in page and "<script" not in page
    for heading in (
        "How many ties",
        "People, token metrics and probes",
        "Probes beside their baselines",
        "Raters",
        "What the models",
        "Which is preferred",
        "agree",
    ):
        assert heading in page
    assert "tasks:AllSlots|v:0" in page and "votes:90|v:0" in page
    assert len(facts["findings"]) == 4
    json.dumps(facts, allow_nan=False)


def test_the_findings_say_that_a_baseline_wins_and_that_three_seeds_are_few(folder):
    add_ties(folder)
    add_scores(folder)
    _, facts = render(read_study(folder), title="t")
    ties, _, seeds, probes = facts["findings"]
    assert "of 90 votes were ties" in ties and "if every vote stood alone" in ties
    assert "3 seeds are too few to rank the two" in seeds
    assert "On 1 of 1 probe tasks (AllSlots) a baseline" in probes
    assert any("fit on the validation split" in sentence for sentence in facts["limitations"])


def test_a_study_of_votes_alone_is_reported_too(folder):
    for name in ("pairs.jsonl", "raters.jsonl", "responses.jsonl"):
        (folder / name).unlink()
    page, facts = render(read_study(folder), title="t")
    assert facts["methods"] == [] and "Recipes" in page and '<h2 id="probes">' not in page


def test_a_study_of_scores_alone_says_that_nobody_voted(folder):
    add_scores(folder)
    (folder / "votes.jsonl").unlink()
    study = read_study(folder)
    assert "There are no votes here" in limitations(study, methods_of(study))[-1]


def test_a_folder_without_votes_or_scores_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds neither votes.jsonl nor a score table"):
        read_study(tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        read_study(tmp_path / "none")


def test_the_command_writes_the_page_and_its_facts(folder):
    done = subprocess.run([sys.executable, "-m", "analysis", "report", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "report.html").exists() and json.loads((folder / "report.json").read_text())["version"]
