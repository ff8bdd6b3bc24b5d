"""A study through Mephisto: really launched, in a process of its own, with Mephisto's mock provider."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.exchange import exporting
from seedvote.crowd.marketplaces.mephisto.market import free_port, task_module, task_name
from seedvote.crowd.study_folder import opened
from seedvote.crowd.web.entrance import OVER
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Vote
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.marketplaces.mturk_endpoint import serve
from tests.crowd.marketplaces.study import Person, make_study
from tests.house.forked import PIPE, Forked
from tests.house.waiting import PATIENCE, wait_for
from tests.house.warm import MEPHISTO

ROOT = Path(__file__).resolve().parents[3]


def votes(folder):
    with opened(folder, None) as store, store.read() as connection:
        return exporting.export(connection, votes_per_pair=3).votes


@contextmanager
def launched(folder, stop=signal.SIGINT, extra=()):
    """`crowd launch --mephisto` with nobody at the keyboard; gives the address it prints."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    command = ["-m", "crowd", "launch", str(folder), "--mephisto", "--port", "0", "--yes", *extra]
    process = Forked(command, names=MEPHISTO, cwd=ROOT, env={**os.environ, "HOME": str(home)}, stdout=PIPE, stderr=PIPE)
    url = None
    try:
        for line in process.stdout:
            if line.startswith("  page"):
                url = line.split()[1].strip(",").split("/?")[0].rstrip("/")
            if line.startswith("  cost"):
                break
        assert url, process.stderr.read()
        wait_for(lambda: healthy(url))
        yield url
    finally:
        process.send_signal(stop)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()  # a run that will not end fails this test alone
            said = process.stderr.read()
            process.stdout.close()
            process.stderr.close()
            process.wait(PATIENCE)
    assert "Traceback" not in said and "EOF" not in said, said
    assert list(home.iterdir()) == []


def healthy(url):
    """Whether the server answers."""
    try:
        return httpx.get(f"{url}/health", trust_env=False, timeout=PATIENCE).status_code == 200
    except httpx.TransportError:
        return False


def in_mephisto(folder):
    """What Mephisto's own data browser finds; read here, for to load Mephisto in a new process takes seconds."""
    return list(task_module(folder).handed_in(task_name(folder)))


def facts(vote):
    return (vote.pair, vote.rater, vote.choice, vote.round, vote.left, vote.counted)


@pytest.fixture
def folder(tmp_path):
    make_study(tmp_path, pairs_per_sitting=2).extensions["desk"].store.close()
    return tmp_path


def test_workers_of_mephisto_do_a_study_that_is_in_both_stores(folder):
    with launched(folder) as url:
        bad = Person(url, "mephisto", "bad", prefers="b", sitting="1")
        assert bad.work()["status"] == "no_more"
        assert "no more tasks" in Person(url, "mephisto", "bad", sitting="2").arrive().text
        *people, last = [Person(url, "mephisto", f"w{n}", sitting=str(n)) for n in range(8)]
        place = last.begin()
        with ThreadPoolExecutor(8) as pool:
            assert {one["status"] for one in pool.map(Person.work, people)} <= set(OVER)
        assert "Your work was handed in" in people[0].end()
        # The run ends with its last unit, so this one is still at work when somebody finds all nine taken.
        assert Person(url, "mephisto", "w9", sitting="9").begin()["status"] == "turned away"
        while place["status"] == "task":
            place = last.judge(place)
        assert place["status"] in OVER
        wait_for(lambda: len(in_mephisto(folder)) == 9)  # Mephisto writes in a thread of its own, after our page
    ours = votes(folder)
    assert {vote.source for vote in ours} == {"mephisto"} and sum(vote.counted for vote in ours) == 16
    assert {vote.rater_status for vote in ours if not vote.counted} <= {"blocked"}
    kept = in_mephisto(folder)
    assert sorted(one["rater_status"] for one in kept) == ["blocked"] + ["passed"] * 8
    assert dispatch("crowd", "", COMMANDS, ["import-mephisto", str(folder)]) == 0
    again = read_records(folder / "mephisto-votes.jsonl", Vote)
    assert sorted(map(facts, again)) == sorted(map(facts, ours))


def test_a_killed_run_goes_on_without_serving_a_finished_pair_again(folder):
    with launched(folder, signal.SIGKILL) as url:
        Person(url, "mephisto", "w0", sitting="0").work()
        half = Person(url, "mephisto", "w1", sitting="1")
        half.work(most=4)
    before = votes(folder)
    with launched(folder) as url:
        again = Person(url, "mephisto", "w1", sitting="1")
        assert again.work()["status"] in OVER
        assert not {name for name, _ in again.seen} & {name for name, _ in half.seen}
        for n in range(2, 10):
            Person(url, "mephisto", f"w{n}", sitting=str(n)).work()
    after = votes(folder)
    assert [vote.pair for vote in after[: len(before)]] == [vote.pair for vote in before]
    assert sum(vote.counted for vote in after) == 18 and all(vote.counted for vote in after)


def test_mephistos_own_mturk_provider_brings_workers_too(folder, monkeypatch):
    (folder / "hit.toml").write_text((folder / "hit.toml").read_text() + "pay_per_sitting = 0.5\n")
    (folder / "aws").write_text("[someone]\naws_access_key_id = example\naws_secret_access_key = example\n")
    server, port = serve(), free_port("127.0.0.1")
    place = ["--live", "--provider", "mturk", "--requester", "someone", "--public-url", f"http://127.0.0.1:{port}"]
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", server.url)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "aws"))
    with launched(folder, extra=[*place, "--port", str(port)]) as url:
        wait_for(lambda: len(server.turk.hits) >= 9)
        for n, hit in enumerate(list(server.turk.hits)[:2]):
            server.turk.locales[f"AWORKER{n}"] = "US"  # Mephisto asks for English-speaking countries
            assignment = server.turk.accept(hit, f"AWORKER{n}")
            worker = Person(url, "mturk", f"AWORKER{n}", "ab"[n], assignment, server.url, hit)
            assert worker.work()["status"] == ("done", "no_more")[n]
            assert f"{server.url}/mturk/externalSubmit" in worker.end()
            server.turk.submit({"assignmentId": assignment, "answers": "2"})
        wait_for(lambda: "AWORKER1" in {name for workers in server.turk.granted.values() for name in workers})
        wait_for(lambda: len(in_mephisto(folder)) == 2)
    assert {vote.source for vote in votes(folder)} == {"mephisto"}
    assert [one["rater_status"] for one in in_mephisto(folder)] == ["passed", "blocked"]
    assert {name for workers in server.turk.granted.values() for name in workers} == {"AWORKER1"}
    server.shutdown()
    server.server_close()


def test_a_profile_that_does_not_exist_is_one_sentence_and_not_a_question(folder, monkeypatch):
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "none"))
    words = [
        "--mephisto",
        "--live",
        "--provider",
        "mturk",
        "--public-url",
        "https://study.example.org",
        "--port",
        "0",
        "--yes",
    ]
    with pytest.raises(InputError, match="MOCK_REQUESTER is not an AWS profile of yours"):
        dispatch("crowd", "", COMMANDS, ["launch", str(folder), *words])


def test_a_study_that_mephisto_never_saw_cannot_be_restored_from_it(folder):
    with pytest.raises(InputError, match="was not launched through Mephisto"):
        dispatch("crowd", "", COMMANDS, ["import-mephisto", str(folder)])
