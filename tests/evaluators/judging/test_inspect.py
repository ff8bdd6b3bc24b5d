"""Our judge in inspect_ai: with its mock model where it is installed, and its logs as verdicts of a study anywhere."""

import json
import tomllib
import zipfile
from pathlib import Path

import pytest

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Candidate, Pair, Utterance
from seedvote.evaluators.judging.elsewhere import verdicts_from

ROOT = Path(__file__).resolve().parents[3]


def note(response, other, *verdicts, context="where to?", **more):
    """What the scorer leaves in a log."""
    made = [{"order": order, "choice": choice, "reply": "so", "tokens_in": 9, "tokens_out": 1, **more}
            for order, choice in verdicts]  # fmt: skip
    return {"judge": "mockllm/model", "prompt": "3f1c", "context": context, "response": response, "other": other,
            "verdicts": made}  # fmt: skip


def logged(path, *notes, epochs=1):
    """A log as inspect_ai writes it in JSON, with another scorer next to ours."""
    samples = [
        {"id": n, "epoch": epoch, "input": "?", "target": "", "scores": {
            "judge": {"value": 1.0, "metadata": {"seedvote": one}}, "match": {"value": "C"}}}
        for n, one in enumerate(notes) for epoch in range(1, epochs + 1)
    ]  # fmt: skip
    path.write_text(json.dumps({"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples}))
    return path


def pairs():
    context = [Utterance("user", "where to?")]
    return {"p0": Pair("p0", "i0", context, Candidate("left", "m"), Candidate("right", "n")),
            "p1": Pair("p1", "i1", context, Candidate("far", "m"), Candidate("near", "n"))}  # fmt: skip


def test_verdicts_of_a_log_are_turned_to_the_studys_sides(tmp_path):
    scores = {"scores": {"a": {"fit": 5}, "b": {"fit": 2}}}
    log = logged(
        tmp_path / "log.json", note("left", "right", ("ab", "a"), ("ba", "tie")),
        note("near", "far", ("ab", "a"), ("ba", "unusable"), **scores), note("left", "else", ("ab", "a")), epochs=2,
    )  # fmt: skip
    found = verdicts_from(log, "inspect", pairs())
    told = {(one.pair, one.order, one.draw): one.choice for one in found}
    assert told == {
        (name, order, draw): choice
        for draw in (0, 1)
        for name, order, choice in (("p0", "ab", "a"), ("p0", "ba", "tie"), ("p1", "ba", "b"), ("p1", "ab", "unusable"))
    }
    assert {one.judge for one in found} == {"mockllm/model"}
    assert next(one for one in found if one.pair == "p1").extra["scores"] == {"a": {"fit": 2}, "b": {"fit": 5}}


@pytest.mark.parametrize("verdict", [("ab", "left"), ("ab", ["a"]), ("first", "a"), (None, "a")])
def test_a_log_with_another_order_or_ruling_is_refused(tmp_path, verdict):
    log = logged(tmp_path / "log.json", note("left", "right", ("ab", "a"), verdict))
    with pytest.raises(InputError, match=r"sample 0 has a verdict .* in the order ab or ba"):
        verdicts_from(log, "inspect", pairs())


@pytest.mark.parametrize("raw", ["{", "[1]", '{"a":' * 5000 + "1" + "}" * 5000])
def test_a_broken_sample_of_a_log_is_named(tmp_path, raw):
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", raw)
    with pytest.raises(InputError, match=r"samples/1_epoch_1\.json is "):
        verdicts_from(tmp_path / "log.eval", "inspect", pairs())


def test_other_logs_and_other_files_are_refused(tmp_path):
    log = logged(tmp_path / "log.json", note("left", "else", ("ab", "a")))
    with pytest.raises(InputError, match="holds no verdict on a pair of this study"):
        verdicts_from(log, "inspect", pairs())
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(InputError, match="is no log of inspect_ai"):
        verdicts_from(tmp_path / "other.json", "inspect", pairs())


def test_the_entry_point_names_a_module_that_is_there():
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["inspect_ai"]
    (module,) = points.values()
    assert (ROOT / Path(*module.split(".")[1:])).with_suffix(".py").exists()


def evaluated(tmp_path, replies, **options):
    """Two samples, answered and judged by the mock model; the log and the scores."""
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from seedvote.evaluators.inspect_scorer import judge

    def outputs(texts):
        made = [ModelOutput.from_content("mockllm/model", text) for text in texts]
        for output in made:  # else the mock model counts tokens by a vocabulary from the network
            output.usage = ModelUsage(input_tokens=9, output_tokens=1, total_tokens=10)
        return made

    samples = [Sample(input="where to?", target="right", metadata={"rival": "near"}, id=n) for n in range(2)]
    grader = get_model("mockllm/model", custom_outputs=outputs(replies), memoize=False)
    task = inspect_ai.Task(dataset=samples, scorer=judge(grader, **options))
    (log,) = inspect_ai.eval(
        task, model=get_model("mockllm/model", custom_outputs=outputs(["left"] * 2), memoize=False),
        log_dir=str(tmp_path / "logs"), display="none", max_samples=1,
    )  # fmt: skip
    assert log.status == "success", log.error
    return log, [sample.scores["judge"].value for sample in log.samples]


@pytest.mark.filterwarnings("ignore")  # what its own dependencies deprecate
def test_the_mock_model_judges_both_orders_and_its_log_is_read(tmp_path):
    log, values = evaluated(tmp_path, ["It fits.\nA", "Both.\nB", "<think>B?</think>No.\nB", "Tie"])
    assert values == [1.0, 0.25]
    found = verdicts_from(Path(log.location), "inspect", pairs())
    assert [(one.pair, one.order, one.choice) for one in found] == [
        ("p0", "ab", "a"), ("p0", "ba", "a"), ("p0", "ab", "b"), ("p0", "ba", "tie")]  # fmt: skip
    assert {(one.tokens_in, one.tokens_out, one.judge) for one in found} == {(9, 1, "mockllm/model")}


@pytest.mark.filterwarnings("ignore")  # what its own dependencies deprecate
def test_a_mock_model_that_says_nothing_has_no_score_and_another_field_is_compared(tmp_path):
    log, values = evaluated(tmp_path, ["?"] * 4 + ["A", "B"], against="rival", answer="letter")
    assert values[0] != values[0] and values[1] == 1.0
    assert log.samples[0].scores["judge"].metadata["seedvote"]["other"] == "near"
