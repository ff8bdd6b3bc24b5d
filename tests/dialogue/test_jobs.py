"""Jobs come to the same end on every engine: results, failures told by name, lost processes, preemption, Ctrl-C."""

import argparse
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from seedvote.dialogue import jobs
from seedvote.dialogue.engines import on_ray, running
from seedvote.dialogue.errors import InputError
from tests.dialogue.small_jobs import add, add_at_last, divide, first_preempted, full, killed, note_turn
from tests.house.waiting import PATIENCE, wait_for

ROOT = Path(__file__).resolve().parents[2]
# A Ray cluster takes seconds to begin and to end: one test here starts one, the other tests do so under make test-slow.
RAY = pytest.param("ray", marks=pytest.mark.slow)
every = pytest.mark.parametrize("on", ["local", RAY, "slurm:local"])


@pytest.fixture(autouse=True)
def engine_is_installed(request):
    """Engines are optional requirements: where one is absent its tests skip, saying so."""
    on = request.node.callspec.params.get("on", "") if hasattr(request.node, "callspec") else ""
    module = {"ray": "ray", "slurm": "submitit"}.get(on.partition(":")[0])
    if module and find_spec(module) is None:
        pytest.skip(f"{module} is not installed: pip install -e '.[scale]'")


def place(on, number=2):
    parser = argparse.ArgumentParser()
    running.add_job_arguments(parser)
    return running.place_of(parser.parse_args(["--on", on, "--jobs", str(number)]))


def carry_out(act, shared, pieces, logs, on, number=2):
    todo = [jobs.Job(f"job-{piece}", jobs.content_key(piece), piece) for piece in pieces]
    return list(running.run_jobs(jobs.Work(act, shared, logs), todo, place(on, number)))


@pytest.mark.parametrize("on", ["local", pytest.param("ray", marks=pytest.mark.slow), "slurm:local"])
def test_every_engine_does_every_job_in_another_process_with_one_thread(on, tmp_path):
    """On Ray, one process is killed on the way, which is made good."""
    act, shared = (add_at_last, tmp_path) if on == "ray" else (add, 10)
    pieces = range(2, 4) if on == "slurm:local" else range(4)  # each begins a Python of its own there
    found = carry_out(act, shared, pieces, tmp_path / "logs", on)
    assert sorted(total for total, *_ in found) == [10 + piece for piece in pieces]
    assert {threads for _, threads, _ in found} == {"1"}
    assert os.getpid() not in {process for *_, process in found}
    logs = {path.name: path.read_text() for path in (tmp_path / "logs").iterdir()}
    assert sorted(logs) == [f"job-{piece}.log" for piece in pieces]
    for piece in pieces:
        text = logs[f"job-{piece}.log"]
        assert text.count(" begun on ") == 1 + (act is add_at_last and piece == 3) and "done in" in text
        assert jobs.content_key(piece)[:12] in text


def test_workers_of_one_machine_take_turns_at_its_gpus(tmp_path):
    turns = carry_out(note_turn, None, range(4), tmp_path / "logs", "local")
    assert {turn for turn, _ in turns} <= {"0", "1", "2", "3"} and "0" in {turn for turn, _ in turns}
    assert len({turn for turn, _ in turns}) == len({process for _, process in turns}), "a worker changed its GPU"


def test_a_job_elsewhere_has_the_gpu_that_it_is_given():
    parser = argparse.ArgumentParser()
    running.add_job_arguments(parser)
    assert running.place_of(parser.parse_args([]), device="cuda:1").gpus == 1
    assert running.place_of(parser.parse_args(["--on", "ray"]), device="cuda").gpus == 1
    with pytest.raises(InputError, match=r"--device is 'cuda:1': a job of ray sees the one GPU that it is given\."):
        running.place_of(parser.parse_args(["--on", "ray"]), device="cuda:1")


@every
def test_a_failed_job_names_its_log_and_takes_no_other_with_it(on, tmp_path):
    logs = tmp_path / "logs"
    todo = [jobs.Job(f"job-{piece}", "key", piece) for piece in (0, 1, 2)]
    found = []
    with pytest.raises(InputError) as caught:
        found.extend(running.run_jobs(jobs.Work(divide, 6, logs), todo, place(on)))
    assert str(caught.value).startswith("job-0 failed with ZeroDivisionError: division by zero.")
    assert f"Log of job-0: {logs / 'job-0.log'}" in str(caught.value)
    assert "Traceback" in (logs / "job-0.log").read_text()
    assert "done in" in (logs / "job-1.log").read_text() and "done in" in (logs / "job-2.log").read_text()


def test_failed_jobs_are_all_named_with_their_errors(tmp_path):
    with pytest.raises(InputError) as caught:
        carry_out(divide, 6, [3, 0, 1], tmp_path, "local", 1)
    assert str(caught.value).startswith("Three is refused. Take another. Log of job-3: ")
    assert str(caught.value).endswith("2 of 3 jobs failed; the others: job-0.")
    assert "Traceback" not in (tmp_path / "job-3.log").read_text()


def test_a_full_disk_is_said_though_the_log_has_no_room_either(tmp_path):
    logs = tmp_path / "logs"
    logs.write_text("a file where the folder should be: no log can be written")
    with pytest.raises(InputError) as caught:
        carry_out(full, "runs", [0], logs, "local", 1)
    assert str(caught.value).startswith(
        "job-0 stopped: runs/states.npy cannot be used: No space left on device. Make room and run the same command"
    )


def test_a_killed_process_on_this_machine_is_told_with_the_next_step(tmp_path):
    with pytest.raises(InputError, match=r"A process was killed .* with fewer --jobs if memory is short"):
        carry_out(killed, tmp_path, range(2), tmp_path, "local")


@pytest.mark.parametrize("on", [RAY])
def test_ray_gives_up_at_last_and_says_so(on, tmp_path, monkeypatch):
    monkeypatch.setattr(on_ray, "RETRIES", 0)
    with pytest.raises(InputError, match=r"Ray gave up on job-0: .*Log of job-0: "):
        carry_out(killed, tmp_path, [0], tmp_path, on)


@pytest.mark.parametrize("on", ["slurm:local"])
def test_a_preempted_job_goes_back_into_the_queue_and_the_others_go_on(on, tmp_path):
    assert sorted(carry_out(first_preempted, tmp_path, [0, 1], tmp_path, on)) == [0, 1]
    begun = [(tmp_path / f"job-{piece}.log").read_text().count(" begun on ") for piece in (0, 1)]
    assert begun == [2, 1]


@pytest.mark.parametrize("on", ["slurm:local"])
def test_a_job_that_ended_without_a_word_is_named(on, tmp_path, monkeypatch):
    submitit = pytest.importorskip("submitit")
    monkeypatch.setattr(submitit.Job, "_results_timeout_s", 0)  # it looks 15 s for a result on a slow shared disk
    with pytest.raises(InputError, match=r"job-0 ended without a result: .*Log of job-0: "):
        carry_out(killed, tmp_path, [0], tmp_path, on)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--on", "dask"], "--on is 'dask'; it must be local, ray, ray:ADDRESS, slurm or slurm:local."),
        (["--on", "local:7"], "--on is 'local:7'"),
        (["--on", "slurm:gpu"], "--on is 'slurm:gpu'"),
        (["--jobs", "0"], "--jobs is 0; it must be at least 1."),
    ],
)
def test_wrong_options_get_a_sentence(words, sentence):
    parser = argparse.ArgumentParser()
    running.add_job_arguments(parser)
    with pytest.raises(InputError) as caught:
        running.place_of(parser.parse_args(words))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(("engine", "module"), [("ray", "ray"), ("slurm:local", "submitit")])
def test_missing_engine_names_its_install_command(engine, module, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=rf"(?i)needs {module}.*pip install '\.\[scale\]'"):
        carry_out(add, 1, [1], tmp_path, engine)


@pytest.mark.parametrize(
    ("on", "sentence"), [("slurm", "needs sbatch"), ("ray:127.0.0.1:9", "There is no Ray cluster")]
)
def test_an_engine_that_is_not_there_is_told(on, sentence, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=sentence):
        carry_out(add, 1, [1], tmp_path, on)


@pytest.mark.parametrize("on", ["slurm:local"])
def test_an_engine_leaves_open_the_logs_of_the_program_that_calls_it(on, tmp_path):
    """A set-up of logging that an import brings would close them; with absl loaded, even the file behind stderr."""
    script = (
        "import logging, sys; from pathlib import Path; from dialogue import jobs; "
        "from seedvote.dialogue.engines import running\n"
        "log = logging.FileHandler(sys.argv[2] + '/log'); logging.getLogger().addHandler(log)\n"
        "list(running.run_jobs(jobs.Work(print, 'done', Path(sys.argv[2])), [jobs.Job('job', 'key', '')],"
        " jobs.Place(*sys.argv[1].split(':'), limit=1)))\n"
        "assert 'submitit' in sys.modules and log.stream"
    )
    subprocess.run([sys.executable, "-c", script, on, tmp_path], cwd=ROOT, check=True)


def test_a_key_follows_from_inputs_settings_and_the_version(monkeypatch):
    key = jobs.content_key("weights", 1, None)
    assert key == jobs.content_key("weights", 1, None) and len(key) == 64
    assert key not in {jobs.content_key("weights", 1), jobs.content_key("weights", "1 None"), jobs.content_key()}
    monkeypatch.setattr(jobs, "VERSION", "other")
    assert key != jobs.content_key("weights", 1, None)


def is_running(process):
    """Whether a process of this number computes still; a zombie does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def heed_ctrl_c():
    """A shell that runs the tests in the background makes its processes deaf to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def begun(folder):
    """The processes of both endless jobs, once both are at work."""
    told = [path.read_text() for path in folder.glob("begun-*")]
    return [int(one) for one in told] if len(told) == 2 and all(told) else None


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at processes in /proc")
@every
def test_ctrl_c_stops_every_job_and_leaves_no_files(on, tmp_path):
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    short = Path("/tmp", f"seedvote-{os.getpid()}")  # the sockets' paths are short of room
    short.symlink_to(tmp_path / "tmp")
    words = [str(tmp_path), "--jobs", "2", "--on", on]
    environment = os.environ | {"HOME": str(tmp_path / "home"), "TMPDIR": str(short)}
    try:
        with subprocess.Popen(
            [sys.executable, "-c", f"from tests.dialogue import endless; endless.main(*{words})"],
            cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c,
        ) as parent:  # fmt: skip
            workers = wait_for(lambda: begun(tmp_path))
            logs = [path.read_text() for path in tmp_path.glob("logs/*.log")]
            assert sorted(int(text.partition("process ")[2].partition(",")[0]) for text in logs) == sorted(workers)
            assert parent.pid not in workers and all(map(is_running, workers))
            parent.send_signal(signal.SIGINT)
            _, complaint = parent.communicate(timeout=PATIENCE)
        assert parent.returncode == 130
        assert complaint.strip().startswith("Stopped. Finished work is kept; run the same command again to continue.")
        assert on.startswith("slurm") or complaint.count("\n") == 2  # submitit's rehearsal adds words of its own
        wait_for(lambda: not any(map(is_running, workers)))
        assert not list((tmp_path / "home").iterdir())
        left = [path.name for path in (tmp_path / "tmp").iterdir()]
        assert not [name for name in left if "ray" in name or name.startswith("pymp")]  # pymp: Python's own sockets
    finally:
        short.unlink()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks at processes in /proc")
def test_a_killed_command_takes_its_workers_with_it(tmp_path):
    words = [str(tmp_path), "--jobs", "2"]
    with subprocess.Popen(
        [sys.executable, "-c", f"from tests.dialogue import endless; endless.main(*{words})"], cwd=ROOT,
        stderr=subprocess.DEVNULL,
    ) as parent:  # fmt: skip
        workers = wait_for(lambda: begun(tmp_path))
        assert parent.pid not in workers and all(map(is_running, workers))
        parent.kill()
    wait_for(lambda: not any(map(is_running, workers)))
