"""Logs that the tools themselves write with their mock models, read with the numbers that they print."""

import json
import subprocess
import sys

import pytest

from seedvote.dialogue.importing.run_logs import read_runs

INSPECT = """
import sys, tiktoken
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate

class Words:  # the mock model counts tokens by a table that it would fetch
    def encode(self, text, **_):
        return text.split()

tiktoken.get_encoding = lambda name: Words()
samples = [Sample(id=f"s{n}", input=f"{n}+1?", target=str(n + 1), metadata={"passage": f"p{n // 3}"}) for n in range(9)]
outputs = [ModelOutput.from_content("mockllm/model", str(n)) for n in range(1, 19)]
for kind in ("eval", "json"):
    model = get_model("mockllm/model", custom_outputs=list(outputs))
    task = Task(dataset=samples, solver=generate(), scorer=[match(), includes()], epochs=2, name="sums")
    eval(task, model=model, log_dir=f"{sys.argv[1]}/{kind}", log_format=kind, display="none", max_samples=1)
"""
TASK = """
task: toy_sums
dataset_path: json
dataset_kwargs:
  data_files: {test: DATA}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: "{{choices}}"
doc_to_target: answer
metric_list: [{metric: acc}]
"""


def installed(folder, *packages):
    """The Python of a fresh environment with these packages; without a registry the test is skipped."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    for package in packages:
        done = subprocess.run(
            [python, "-m", "pip", "install", "-q", package], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"{package} cannot be installed here: {done.stderr[-300:]}")
    return python


@pytest.mark.slow
def test_logs_of_inspect_ai(tmp_path):
    python = installed(tmp_path / "venv", "inspect_ai", "tiktoken", "openai")
    subprocess.run([python, "-c", INSPECT, tmp_path], check=True, timeout=600)
    printed = json.loads(next((tmp_path / "json").glob("*.json")).read_text())["results"]["scores"]
    accuracies = {one["name"]: one["metrics"]["accuracy"]["value"] for one in printed}
    for kind in ("eval", "json"):
        (run,) = read_runs(tmp_path / kind)
        assert len(run.scores) == 2 * 9 * 2 and run.failed == 0
        for name, accuracy in accuracies.items():
            values = [score.score for score in run.scores if score.metric == name]
            assert kind == "eval" or sum(values) / len(values) == pytest.approx(accuracy)
        assert {score.fields["passage"] for score in run.scores} == {"p0", "p1", "p2"}


@pytest.mark.slow
def test_logs_of_lm_eval(tmp_path):
    python = installed(tmp_path / "venv", "torch==2.13.0", "lm_eval", "transformers")
    lines = [{"question": f"{n}+1?", "choices": [str(n + 1), "0"], "answer": 0, "passage": f"p{n}"} for n in range(12)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "toy.yaml").write_text(TASK.replace("DATA", str(tmp_path / "data.jsonl")))
    words = ["--model", "dummy", "--tasks", "toy_sums", "--include_path", tmp_path / "tasks", "--log_samples"]
    subprocess.run(
        [python, "-m", "lm_eval", *words, "--output_path", tmp_path / "out"],
        check=True, timeout=600, env={"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub"), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    results = json.loads(next((tmp_path / "out").rglob("results_*.json")).read_text())
    printed = results["results"]["toy_sums"]["acc,none"]
    (run,) = read_runs(tmp_path / "out")
    values = [score.score for score in run.scores]
    assert len(values) == 12 and sum(values) / 12 == pytest.approx(printed) and run.system == results["model_name"]
