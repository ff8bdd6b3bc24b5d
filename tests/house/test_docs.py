"""Every command that README and the documents show is read by its own parser, and run by make test-slow.

The shell examples are read too, and the targets of make held to what is shown.
"""

import ast
import doctest
import json
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from tests.house.doc_blocks import DOCUMENTS, PACKAGES, ROOT, blocks, checkout, lines, parse, parser_for, run
from tests.house.typed import typed

# Commands that a test cannot run, each with the reason. Those of ours are still read by their parser.
NOT_RUN = {
    r"compare-runs": "logs of your own; tests/analysis/questions/test_compare_runs.py runs it on logs of every tool",
    r"crowd check (void|fix)": "the walked study has no check of that name",
    r"make |python3 -m venv|pip install|^\. \.venv": "sets up; test_first_command runs README's first block",
    r"seedvote study|(seedvote|crowd) rate|ruff |^mypy|^pytest": "other tests run it",
    r"crowd launch .*--(mturk|prolific|panel)": "needs an account; tests/crowd/marketplaces run it on a stand-in",
    r"crowd serve .*--panel": "needs [panel] in hit.toml; tests/crowd/marketplaces/test_panel.py has one",
    r"crowd (pay|extend|expire|resume|verify|request-return|compensate) ": "needs a launch; the same tests run it",
    r"--mephisto": "runs until every unit is done; tests/crowd/marketplaces/test_mephisto.py runs it",
    r"--protocol paper": "takes minutes; tests/probes/commands/test_run.py runs both classifiers and the papers' way",
    r"--on (ray|slurm)|ray start|export (RAY|SBATCH)_": "needs a cluster; dialogue/engines/test_engines.py starts one",
    r"--seeds 0-9": "trains fifty models; the same command with fewer stands in generation.md",
    r"^seedvote |^pipx |^uv ": "needs the installed command; tests/house/test_installed.py installs and runs it",
    r"evaluators judge": "needs an endpoint or a model; tests/evaluators ask a stand-in and a tiny model",
    r"--labels politeness": "needs labels of one's own; tests/probes/tasks/test_own.py has some",
    r"--base ": "needs a pretrained model; tests/generation/test_pretrained.py makes tiny ones and runs the whole line",
    r"--hugging-face ": "needs a model; tests/generation/imports make tiny ones",
    r"analysis judge": "needs verdicts; tests/analysis/questions/test_judge.py makes them",
    r"runs/agents": "trains agents; tests/generation/speaking and tests/probes/commands run them on small studies",
    r"evaluators task": "needs predictions; tests/evaluators make and read them",
    r"evaluators discriminate": "needs 50 dialogues; tests/evaluators/commands run it on them",
    r"--draws 100": "takes minutes; the same command with fewer stands in generation.md",
    r"analysis (robustness|leaderboard)": "needs scores under conditions; tests/analysis/questions make them",
    r"probes patch|generation patched|analysis patching": "tests/analysis/questions run it, from plan to report",
    r"--pooling decoder|probes erase|generation erased|analysis erasure": "tests/analysis/questions run the whole line",
    r"runs/people": "needs people; tests/crowd/forms and tests/crowd/test_faults.py run the whole line",
    r"analysis report (STUDY|runs/simulated)$": "the walk along the printed commands runs it",
    r"docker compose": "needs Docker; the commands inside are run by themselves",
    r"gunicorn": "needs PostgreSQL; tests/crowd/test_faults.py runs it",
}
KEEP_SMALL = {  # what a walk along the printed commands adds, so that the study takes seconds
    "generation train": "--models seq2seq --seeds 0-1 --preset tiny --epochs 1 --jobs 1",
    "generation sample": "--limit 12 --jobs 1",
    "generation encode": "--jobs 1",
    "generation pair": "--pairs 12 --checks 6",
    "probes run": "--tasks IsMultiTopic --jobs 1",
}
MTURK = "AssignmentId,WorkerId,SubmitTime,Input.pair,Input.left,Answer.better\n"
SMALLER = {  # in the documents' own commands, for the same reason
    "questions runs/demo\n": "questions runs/demo --n 40\n",
    "encode runs/demo --questions": "encode runs/demo --questions --limit 100 --jobs 1",
    "--dual-encoder 0-2": "--dual-encoder 0 --heads 0",
    "--models all": "--models seq2seq",
    "--raters 60": "--raters 12",
    "--epochs 5 --jobs 2": "--epochs 1 --jobs 1",
    "--limit 500": "--limit 12 --jobs 1",
    "--checkpoints untrained,best_bleu,last": "--checkpoints untrained,best_bleu,last --limit 20 --jobs 1",
    "rank runs/demo\n": "rank runs/demo --jobs 1\n",
    "sample runs/demo --split": "sample runs/demo --limit 12 --jobs 1 --split",
    "probes run runs/demo  ": "probes run runs/demo --tasks AllTopics --jobs 1  ",
    "probes codelength runs/demo  ": "probes codelength runs/demo --tasks IsMultiTopic --jobs 1  ",
    "probes information runs/demo  ": "probes information runs/demo --tasks IsMultiTopic --jobs 1  ",
}
WALK = [
    *("dialogue toy", "dialogue describe", "generation train", "generation sample", "generation score"),
    *("generation encode", "generation pair", "crowd serve", "crowd export", "analyze_ties.py", "analysis agreement"),
    *("analysis preference", "probes run", "probes plot", "analysis compare", "analysis report"),
]
SHOWN = [document for document in DOCUMENTS if document.name != "tutorial.md" and any(blocks(document))]


def name_of(line):
    words = shlex.split(line)
    return words[1] if words[1].endswith(".py") else " ".join(words[2:4])


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """A study made by typing nothing but the command that the last one printed, and the names of those commands."""
    folder = checkout(tmp_path_factory.mktemp("walk"))
    line, names = "python -m dialogue toy 'runs/my study/corpus' --dialogues 30", []
    while line and len(names) < len(WALK):  # the report names a next command too
        names.append(name_of(line))
        if names[-1] == "crowd serve":
            run("python -m crowd simulate 'runs/my study' --raters 12 --seed 0", folder)  # the people
        printed = run(f"{line} {KEEP_SMALL.get(names[-1], '')}", folder)
        line = next(iter(re.findall(r"^Next: (.*)$", printed, re.M)), None)
        if names[-1] == "crowd serve":
            line = re.findall(r"^Next: (.*)$", (folder / "serve.log").read_text(), re.M)[0]
    return folder / "runs" / "my study", names


@pytest.mark.slow
def test_whoever_types_the_next_command_each_time_arrives_at_the_report(walked):
    study, names = walked
    assert names == WALK
    assert (study / "report.html").exists()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_alone_says_what_to_type_first(package):
    told = subprocess.run([sys.executable, "-m", package], cwd=ROOT, capture_output=True, text=True)
    assert told.returncode == 2
    parse(re.findall(r"^Next: (.*)$", told.stdout, re.M)[0])


@pytest.fixture
def folder(walked, tmp_path):
    """What the documents' names stand for: the walked study, its corpus, and a table of another tool."""
    found = checkout(tmp_path / "project")
    for name in ("demo", "study", "simulated"):
        shutil.copytree(walked[0], found / "runs" / name)
    for name in ("crowd.sqlite", "votes.jsonl", "raters.jsonl"):
        (found / "runs" / "study" / name).unlink()
    for batch in (1, 2):
        (found / f"Batch_{batch}.csv").write_text(f"{MTURK}S{batch},W{batch},2020-11-1{batch},q01,a,A\n")
    return found


def filled(block, rater):
    """The block with names put in for STUDY, PATH and RATER, and with less to compute."""
    for name, value in (("STUDY", "runs/simulated"), ("PATH", "runs/demo/corpus")):
        block = re.sub(rf"(?<![\w$]){name}\b", value, block)
    for words, fewer in SMALLER.items():
        block = block.replace(words, fewer)
    return re.sub(r"(?<![\w$])RATER\b", rater, block)


def reason(line):
    return next((why for pattern, why in NOT_RUN.items() if re.search(pattern, line)), None)


def test_readme_is_among_the_documents_that_are_run():
    shown = [line for block in blocks(ROOT / "README.md") for line in lines(block)]
    assert ROOT / "README.md" in SHOWN
    assert [line for line in shown if line.startswith("python ") and not reason(line)]


@pytest.mark.slow
@pytest.mark.parametrize("document", SHOWN, ids=lambda document: document.name)
def test_the_commands_of_a_document_run(document, folder):
    raters = (folder / "runs" / "demo" / "raters.jsonl").read_text(encoding="utf-8")
    rater = re.search(r'"rater": *"([0-9a-f]{20})"', raters)[1]
    for block in blocks(document):
        script = filled(block, rater).replace("\\\n", " ")
        run("\n".join(line for line in script.splitlines() if not reason(line)), folder)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_command_is_read_by_its_parser_or_has_a_reason(document):
    for line in (line for block in blocks(document) for line in lines(filled(block, "0" * 20))):
        if re.match(r"python (-m (analysis|crowd|dialogue|evaluators|generation|probes|seedvote)|analyze_ties)", line):
            parse(line)
        elif reason(line):
            assert re.match(
                r"make |pip |\. \.venv/bin/activate$|python3 -m venv|\.venv/bin/pip|"
                r"SEEDVOTE_STUDY|export |ray start |seedvote |docker compose ",
                line,
            ), line


def make_targets(*documents):
    shown = [line for document in documents for block in blocks(document) for line in lines(block)]
    return {line.split()[1] for line in shown if line.startswith("make ")}


def test_make_targets_that_are_shown_exist():
    assert {"demo", "hit", "test"} <= make_targets(ROOT / "README.md")
    for target in make_targets(*DOCUMENTS):
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_those_without_make_find_the_same_commands():
    readme, makefile = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile"))
    commands = re.findall(r"\$\(BIN\)/python ((?:-m seedvote study|-m crowd serve)[^\n]*)", makefile)
    assert len(commands) == 2
    for command in commands:
        assert command in readme


def script_commands():
    for script in (ROOT / "examples").glob("*.sh"):
        text = script.read_text(encoding="utf-8").replace("\\\n", " ")
        for package, name, rest in re.findall(r"python -m (\w+) ([a-z-]+)([^\n|>#]*)", text):
            if package in PACKAGES:
                yield script.name, package, name, frozenset(re.findall(r"--[a-z-]+", rest))


def test_every_command_and_option_in_the_shell_examples_exists():
    found = set(script_commands())
    assert {script for script, *_ in found} >= {"study.sh"}
    for package, name in {(package, name) for _, package, name, _ in found}:
        told = typed(package, name, "--help")
        assert told.returncode == 0, f"{package} {name}: {told.stderr}"
        options = set(re.findall(r"--[a-z-]+", told.stdout))
        for script, of, called, used in found:
            assert (of, called) != (package, name) or used <= options, f"{script}: {package} {name} {used - options}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_commands_stand_in_blocks_of_their_own_kind(document):
    """So that none escapes the tests above: in a block of another kind, or indented without one."""
    text = document.read_text(encoding="utf-8")
    for block in blocks(document):
        text = text.replace(block, "")
    assert re.findall(r"^(?: *|    )(?:python |make |pip |sh )[^\n]*", text, re.M) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_commands_within_sentences_are_known_with_their_options(document):
    for found in re.findall(
        rf"`(python (?:-m (?:{'|'.join(PACKAGES)}) [a-z-]+|analyze_ties\.py)[^`]*)`",
        document.read_text(encoding="utf-8"),
    ):
        parser, words = parser_for(shlex.split(found))
        known = {option for action in parser._actions for option in action.option_strings}
        assert {word for word in words if word.startswith("--")} <= known, found


def test_the_examples_of_the_notebook_page_are_true(tmp_path, monkeypatch):
    monkeypatch.chdir(checkout(tmp_path / "project"))
    (tmp_path / "project" / "runs" / "first").mkdir(parents=True)
    text = "\n".join(blocks(ROOT / "docs" / "notebooks.md", "pycon"))
    found = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(text, {}, "notebooks.md", None, 0))
    assert found.attempted > 10 and found.failed == 0


def test_every_cell_of_the_notebook_shows_an_answer(tmp_path, monkeypatch):
    """Run as a kernel would: in the notebook's folder, one namespace, the last expression of a cell is shown."""
    notebook = json.loads((ROOT / "examples" / "seedvote.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], len({cell["id"] for cell in notebook["cells"]})) == (4, len(notebook["cells"]))
    shutil.copy(ROOT / "examples" / "votes.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
            *statements, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module(statements, []), cell["id"], "exec"), names)
            answer = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
            assert len(getattr(answer, "_repr_html_", answer.__str__)()) > 20
    assert names["ties"].document["pooled"]["votes"] == 1200
    assert names["runs"].document["metrics"][0]["items"] == 40


def test_other_documents_show_no_python_that_nobody_runs():
    assert [
        d.name
        for d in DOCUMENTS
        if d.name != "notebooks.md" and any(map(any, (blocks(d, "pycon"), blocks(d, "python"))))
    ] == []
