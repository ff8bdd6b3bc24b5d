"""The commands, as a person types them: serve, simulate, status, export."""

import re
import socket
import subprocess
from pathlib import Path

import pytest

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.study_folder import prepare_study
from seedvote.crowd.web.app import ServerConfig
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_header, read_records
from seedvote.dialogue.records import Pair, Rater, Vote
from tests.house.typed import typed
from tests.house.waiting import PATIENCE
from tests.house.warm import SERVING, warm

ROOT = Path(__file__).resolve().parents[3]
PAIRS = ROOT / "examples" / "pairs.jsonl"


def crowd(*arguments):
    return typed("crowd", *arguments)


def crowd_itself(*arguments):
    """In a process of its own: waitress leaves the sockets of a server that could not begin to the end of it."""
    return subprocess.run(
        [*warm(SERVING), "-m", "crowd", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    study = tmp_path_factory.mktemp("study")
    done = crowd("simulate", study, "--pairs", PAIRS, "--raters", 6, "--seed", 0)
    assert done.returncode == 0, done.stderr
    assert crowd("export", study).returncode == 0
    return study


def test_simulated_raters_complete_every_pair(simulated):
    votes = read_records(simulated / "votes.jsonl", Vote)
    counted = [vote for vote in votes if vote.counted]
    offered = {pair.pair for pair in read_records(PAIRS, Pair) if pair.kind != "check"}
    assert {vote.pair for vote in counted} == offered
    assert sorted((vote.pair, vote.round) for vote in counted) == [(p, r) for p in sorted(offered) for r in (1, 2, 3)]
    assert {vote.source for vote in votes} == {"simulated"}
    assert "simulated:" in read_header(simulated / "votes.jsonl")["signature"]
    assert len({(vote.pair, vote.rater) for vote in votes}) == len(votes)


def test_a_second_run_adds_nothing(simulated):
    before = (simulated / "votes.jsonl").read_bytes()
    again = crowd("simulate", simulated, "--pairs", PAIRS, "--raters", 6, "--seed", 0)
    assert again.stdout.startswith("0 judgements")
    assert crowd("export", simulated).returncode == 0
    assert (simulated / "votes.jsonl").read_bytes() == before


def test_exports_hold_the_same_votes_in_every_form(simulated, tmp_path):
    import pyarrow.parquet

    for form in ("csv", "parquet"):
        assert crowd("export", simulated, "--format", form, "--out", tmp_path, "--events").returncode == 0
    votes = read_records(simulated / "votes.jsonl", Vote)
    table = pyarrow.parquet.read_table(tmp_path / "votes.parquet")
    assert table.column("choice").to_pylist() == [vote.choice for vote in votes]
    assert len((tmp_path / "votes.csv").read_text().splitlines()) == len(votes) + 1
    assert len((tmp_path / "events.csv").read_text().splitlines()) > len(votes)


def test_raters_are_keyed_hashes_with_what_the_gate_says(simulated):
    raters = read_records(simulated / "raters.jsonl", Rater)
    assert all(len(rater.rater) == 20 and "simulated-" not in rater.rater for rater in raters)
    assert {rater.status for rater in raters} <= {"passed", "blocked", "incomplete"}


def test_status_says_where_the_study_stands(simulated):
    told = crowd("status", simulated).stdout
    assert "24 of 24 complete" in told and "72 of 72 counted" in told


def test_a_study_that_was_never_served_is_one_sentence(tmp_path):
    for command in (["status"], ["export"]):
        done = crowd(*command, tmp_path)
        assert done.returncode == 2 and done.stderr.startswith("error:") and "Traceback" not in done.stderr


def test_serving_without_pairs_says_what_to_do(tmp_path):
    done = crowd("serve", tmp_path / "new", "--port", "0")
    assert done.returncode == 2 and "generation pair" in done.stderr
    done = crowd("simulate", tmp_path / "new", "--seed", "0")
    assert done.returncode == 2 and "generation pair" in done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--port", "99999"], "--port is 99999; it may be 1 to 65535, or 0 for a free one."),
        (["--port", "0", "--host", "192.0.2.1"], "192.0.2.1:0 cannot be used: .* Choose another --host."),
    ],
)
def test_an_address_that_cannot_be_served_is_one_sentence(tmp_path, options, told):
    done = crowd_itself("serve", tmp_path, "--pairs", PAIRS, *options)
    assert done.returncode == 2 and re.fullmatch(f"error: {told}\n", done.stderr)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"prefix": "study"}, r"prefix is 'study'; it must be a path that begins with a slash, e.g. /study-1\."),
        ({"prefix": "/a b"}, "prefix is '/a b'"),
        ({"frame_ancestors": ("example.org",)}, "frame ancestor is 'example.org'.*https://example.org"),
        ({"frame_ancestors": ("https://x; script-src *",)}, "frame ancestor is"),
        ({"rate": -3}, "rate is -3, that of an address -3 and the number of proxies 0; none may be"),
        ({"proxies": -1}, "number of proxies -1"),
    ],
)
def test_settings_that_no_browser_would_understand_are_refused(wrong, told):
    with pytest.raises(InputError, match=told):
        ServerConfig("sqlite://", Hit(), **wrong)


@pytest.mark.parametrize("options", [["--clickers", "2"], ["--leave", "-1"]])
def test_shares_of_simulated_raters_lie_between_0_and_1(tmp_path, options):
    done = crowd("simulate", tmp_path, "--pairs", PAIRS, "--seed", "0", *options)
    assert done.returncode == 2 and "both must be shares from 0 to 1" in done.stderr and not list(tmp_path.iterdir())


def test_a_port_in_use_is_one_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = crowd_itself("serve", tmp_path, "--pairs", PAIRS, "--port", port)
    assert done.returncode == 2
    assert done.stderr == f"error: 127.0.0.1:{port} cannot be used: Address already in use. Choose another --port.\n"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "127.0.0.1:8765", "http://[x"])
def test_a_crowd_sent_to_no_server_is_told_at_once(tmp_path, url):
    done = crowd("simulate", tmp_path, "--pairs", PAIRS, "--seed", "0", "--url", url)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: No server answers at {url} ") and "crowd serve" in done.stderr


def test_a_hit_given_once_is_the_study_s_own_from_then_on(tmp_path):
    from seedvote.crowd.study_folder import hit_of

    given, study = tmp_path / "my.toml", tmp_path / "study"
    given.write_text("votes_per_pair = 5\n")
    assert hit_of(study, None).votes_per_pair == 3
    assert hit_of(study, given).votes_per_pair == hit_of(study, None).votes_per_pair == 5
    given.write_text("votes_per_pair = 7\n")
    with pytest.raises(InputError, match="keeps one HIT"):
        hit_of(study, given)


def test_dashboard_and_status_show_the_tie_interval(simulated):
    from seedvote.analysis.notebook import ties
    from seedvote.crowd.study_folder import hit_of
    from seedvote.crowd.web.app import create_app, study_token

    interval = ties(simulated / "votes.jsonl", replace=True).document["pooled"]["interval"]
    app = create_app(ServerConfig(f"sqlite:///{simulated / 'crowd.sqlite'}", hit_of(simulated, None), rate=0))
    client = app.test_client()
    client.get(f"/study?token={study_token(app)}")
    page = client.get("/study").get_data(as_text=True).replace("\xa0", " ")
    app.extensions["desk"].store.close()
    assert interval["unit"] == "pair+rater" and interval["n"] == 72
    assert f"95 % interval {100 * interval['low']:.1f} to {100 * interval['high']:.1f} %" in page
    assert (
        f"of 72 votes, 95% interval {interval['low']:.1%} to {interval['high']:.1%}\n"
        in crowd("status", simulated).stdout
    )


def next_of(done):
    """The command on the last line."""
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("Next: python -m crowd ")
    return last.removeprefix("Next: python -m crowd ").split()[0]


def test_every_command_ends_with_the_next_one(simulated, tmp_path):
    study = tmp_path / "copied"
    study.mkdir()
    for name in ("crowd.sqlite", "votes.jsonl"):
        (study / name).write_bytes((simulated / name).read_bytes())
    rater = read_records(simulated / "raters.jsonl", Rater)[0].rater
    assert next_of(crowd("status", study)) == "export"
    assert next_of(crowd("regate", study, "--max-failures", "1")) == "export"
    assert next_of(crowd("forget", study, rater)) == "export"
    assert next_of(crowd("plan-checks")) == "serve"
    assert next_of(crowd("preview", "--out", tmp_path / "preview")) == "serve"
    assert next_of(crowd("simulate", study, "--pairs", PAIRS, "--raters", 6, "--seed", 0)) == "export"


def test_the_next_step_of_a_study_follows_from_its_state(tmp_path):
    study = tmp_path / "new"
    prepare_study(study, PAIRS, Hit(), None, seed=0, simulated=True)
    assert next_of(crowd("status", study)) == "serve"
    assert crowd("pause", study).returncode == 0
    assert next_of(crowd("status", study)) == "resume"
    assert crowd("stop", study).returncode == 0
    assert next_of(crowd("status", study)) == "export"
