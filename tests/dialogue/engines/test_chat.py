"""The chat client against a server that fails in every way: patient, resumable, and nothing is paid for twice."""

import functools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx._transports.default as transports
import pytest

from seedvote.dialogue.engines.chat import Budget, Call, Endpoint, Reply, ask_all, read_journal, sent_hash
from seedvote.dialogue.errors import InputError
from tests.dialogue.engines.chat_server import ChatServer
from tests.house.waiting import PATIENCE

KEY = "sk-a-key-that-nobody-may-see"
ROOT = Path(__file__).resolve().parents[3]
SLOW = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def certificates_are_read_once():
    """Each client reads all of the machine's, which is a quarter of the time of these tests; they do not change."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transports, "create_ssl_context", functools.cache(transports.create_ssl_context))
        yield


@pytest.fixture
def server():
    with ChatServer(key=KEY) as made:
        yield made


def calls(*texts, **options):
    return [Call([{"role": "user", "content": text}], {"max_tokens": 20, **options}) for text in texts]


def endpoint(server, **options):
    return Endpoint(server.url, "any", **{"key": KEY, "retries": 2, "first_wait": 0.0, "timeout": PATIENCE} | options)


def ask(server, asked, journal, *, budget=None, **options):
    return ask_all(endpoint(server, **options), asked, journal, lambda: None, budget=budget)


def texts(answered):
    return [None if reply is None else reply.text for reply in answered.replies]


def test_replies_come_in_the_order_of_the_calls_with_what_they_took(server, tmp_path):
    words = [f"word {n}" for n in range(20)]
    found = ask(server, calls(*words), tmp_path / "j.jsonl", concurrency=8)
    assert texts(found) == [word.upper() for word in words]
    reply = found.replies[0]
    assert (reply.tokens_in, reply.tokens_out, reply.model, reply.finish) == (10, 2, "any", "stop")
    assert reply.seconds >= 0


def test_the_same_call_is_made_once_and_not_again_by_a_later_run(server, tmp_path):
    asked = calls("a", "b", "a")
    for _ in range(2):
        assert texts(ask(server, asked, tmp_path / "j.jsonl")) == ["A", "B", "A"]
    assert len(server.asked) == 2


def test_whatever_is_sent_is_part_of_the_name_of_a_call(server, tmp_path):
    """With a journal that went by the item alone, another prompt got the old prompt's replies."""
    here = endpoint(server)
    system = Call([{"role": "system", "content": "Be brief."}, *calls("a")[0].messages], {"max_tokens": 20})
    different = [*calls("a"), *calls("b"), *calls("a", seed=1), *calls("a", temperature=0.5), system]
    names = {sent_hash(here, call) for call in different}
    names |= {sent_hash(Endpoint(here.url, "other"), different[0])}
    names |= {sent_hash(Endpoint("http://elsewhere/v1", "any"), different[0])}
    assert len(names) == 7
    same = Endpoint(here.url + "/", "any", key="another key", concurrency=9, retries=0)
    assert sent_hash(same, different[0]) == sent_hash(here, different[0])
    ask(server, calls("a"), tmp_path / "j.jsonl")
    ask(server, [system], tmp_path / "j.jsonl")
    assert len(server.asked) == 2


@pytest.mark.parametrize("trouble", [{"status": 429}, {"status": 500}, {"status": 503}, {"cut": True}], ids=str)
def test_what_may_pass_is_tried_again(server, tmp_path, trouble):
    server.script = [trouble, trouble]
    assert texts(ask(server, calls("a"), tmp_path / "j.jsonl")) == ["A"]
    assert len(server.asked) == 3


@pytest.mark.parametrize("trouble", [{"status": 500, "raw": b"down"}, {"cut": True}], ids=str)
def test_what_does_not_pass_is_said_and_what_was_answered_is_kept(server, tmp_path, trouble):
    ask(server, calls("a", "b"), tmp_path / "j.jsonl")
    server.script = [trouble] * 3
    with pytest.raises(InputError, match=r"3 times\. Answers so far are kept; run the same command again"):
        ask(server, calls("a", "b", "c"), tmp_path / "j.jsonl")
    assert texts(ask(server, calls("a", "b", "c"), tmp_path / "j.jsonl")) == ["A", "B", "C"]
    assert sorted(server.times.values()) == [1, 1, 4]


@pytest.mark.parametrize("header", ["86400", "Fri, 01 Jan 2100 00:00:00 GMT"])
def test_an_endpoint_that_wants_a_day_is_not_waited_for(server, tmp_path, header):
    server.script = [{"status": 429, "headers": {"Retry-After": header}}]
    with pytest.raises(InputError, match=r"answered 429 .* and asks to wait [\d,]+ seconds\. Answers so far are kept"):
        ask(server, calls("a"), tmp_path / "j.jsonl")


def test_a_wait_that_is_asked_for_is_no_number_of_ours(server, tmp_path):
    server.script = [{"status": 429, "headers": {"Retry-After": wait}} for wait in ("0", "soon")]
    assert texts(ask(server, calls("a"), tmp_path / "j.jsonl")) == ["A"]


@pytest.mark.parametrize("status", [301, 400, 401, 404])
def test_what_will_not_pass_is_said_at_once(server, tmp_path, status):
    server.script = [{"status": status, "raw": b"no such model"}]
    with pytest.raises(InputError, match=rf"answered {status} .*Check the address, the model name and the key"):
        ask(server, calls("a"), tmp_path / "j.jsonl")
    assert len(server.asked) == 1


def test_chat_tries_the_other_name_of_max_tokens(server, tmp_path):
    refusal = b"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    server.script = [{"status": 400, "raw": refusal}]
    answered = ask(server, calls("a", "b", max_tokens=20), tmp_path / "j.jsonl", concurrency=1)
    assert texts(answered) == ["A", "B"]
    assert [body.get("max_completion_tokens") for _, body in server.asked] == [None, 20, 20]
    assert ["max_tokens" in body for _, body in server.asked] == [True, False, False]
    server.script = [{"status": 400, "raw": refusal}] * 2
    with pytest.raises(InputError, match=r"answered 400 .*Unsupported"):
        ask(server, calls("c"), tmp_path / "j.jsonl", concurrency=1)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("<think>\nA? No.\n</think>\n\nB", "B"),
        ("the template began it</think> B", "B"),
        ("<thinking>a</thinking>B", "B"),
        ("<think>out of tokens", ""),
        ("<think>one</think><think>two</think>B", "B"),
        ("I think B", "I think B"),
    ],
)
def test_what_a_model_thinks_is_not_what_it_says(text, spoken):
    reply = Reply(text, 1, 1, None, "m")
    assert reply.spoken == spoken and reply.empty is (not spoken) and reply.text == text


def test_long_reply_without_thoughts_is_read_in_one_pass():
    text = "x" * 1_000_000  # a pass from each of its characters would take minutes
    assert Reply(text, 1, 1, 0.1, "m").spoken == text


def test_an_error_in_one_call_loses_none_of_the_others_that_were_paid_for(server, tmp_path):
    """Three calls are under way when the first one fails: what the others cost must not be paid again."""
    server.script = [{}, {}, {"status": 401}]
    with pytest.raises(InputError, match="answered 401"):
        ask(server, calls("a", "b", "c"), tmp_path / "j.jsonl", concurrency=3)
    kept = len(read_journal(tmp_path / "j.jsonl"))
    assert kept == len(server.asked) - 1
    ask(server, calls("a", "b", "c"), tmp_path / "j.jsonl")
    assert len(server.asked) == 4  # three, of which one failed, and that one again


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_a_reply_without_text_is_empty_never_the_word_none_and_asked_once(server, tmp_path, content):
    server.script = [{"content": content, "finish": "content_filter"}]
    for _ in range(2):
        (reply,) = ask(server, calls("a"), tmp_path / "j.jsonl").replies
        assert reply.empty and reply.text == "" and reply.finish == "content_filter" and reply.tokens_in == 10
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "raw",
    [b"{}", b'{"choices": []}', b"[]", b"<html>", b"null", b'{"choices": [{"message": {"content": ["a"]}}]}',
     b'{"choices": [{"message": null}]}', b"[" * 5000],
)  # fmt: skip
def test_an_answer_in_another_form_is_said(server, tmp_path, raw):
    server.script = [{"raw": raw}]
    with pytest.raises(InputError, match=r"without choices|did not answer with JSON"):
        ask(server, calls("a"), tmp_path / "j.jsonl")


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": "many", "completion_tokens": True}], ids=str)
def test_tokens_that_nobody_counted_are_unknown_not_zero(server, tmp_path, usage):
    server.script = [{"usage": usage}]
    (reply,) = ask(server, calls("a"), tmp_path / "j.jsonl").replies
    assert (reply.tokens_in, reply.tokens_out) == (None, None)


def test_another_model_half_way_is_refused_and_its_reply_not_kept(server, tmp_path):
    server.script = [{"model": "any-2026-01"}]
    assert ask(server, calls("a"), tmp_path / "j.jsonl").replies[0].model == "any-2026-01"  # the full name is fine
    server.script = [{"model": "any-2026-02"}]
    with pytest.raises(InputError, match=r"answers as 'any-2026-02' now, and earlier replies are of 'any-2026-01'"):
        ask(server, calls("a", "b"), tmp_path / "j.jsonl")
    assert len(read_journal(tmp_path / "j.jsonl")) == 1
    server.script = [{"model": "any-2026-01"}]
    assert texts(ask(server, calls("a", "b"), tmp_path / "j.jsonl")) == ["A", "B"]


def test_a_budget_is_never_passed_and_a_larger_one_goes_on(server, tmp_path):
    asked = calls(*"abcdefgh")
    each = 10 * 1.0 + 2 * 2.0  # dollars a call: 10 tokens in, 2 out
    budget = Budget(most=120.0, price_in=1e6, price_out=2e6)  # one call takes 77 dollars at most
    first = ask(server, asked, tmp_path / "j.jsonl", budget=budget)
    assert first.spent == 4 * each and len(server.asked) == 4 == first.unasked
    again = ask(server, asked, tmp_path / "j.jsonl", budget=budget)  # the cap holds over runs
    assert again.spent <= budget.most and len(server.asked) * each <= budget.most
    rest = ask(server, asked, tmp_path / "j.jsonl", budget=Budget(1000.0, 1e6, 2e6))
    assert rest.unasked == 0 and rest.spent == 8 * each and set(server.times.values()) == {1}


def test_a_call_whose_cost_nobody_tells_is_charged_at_its_bound(server, tmp_path):
    server.script = [{"usage": None}]
    found = ask(server, calls("abc"), tmp_path / "j.jsonl", budget=Budget(100.0, 1e6, 1e6))
    assert found.spent == (3 + 16 + len("user") + 16) + 20


def test_chat_key_reaches_no_file_or_message(server, tmp_path):
    server.script = [{"content": f"your key is {KEY}"}, {"status": 401, "raw": f"wrong key {KEY}".encode()}]
    ask(server, calls("a"), tmp_path / "j.jsonl")
    with pytest.raises(InputError) as refused:
        ask(server, calls("b"), tmp_path / "j.jsonl")
    assert KEY not in str(refused.value) and KEY not in repr(endpoint(server))
    assert KEY.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_short_key_that_is_a_word_changes_no_reply(tmp_path):
    with ChatServer(key="none") as server:
        server.script = [{"content": "none of them"}]
        assert texts(ask(server, calls("a"), tmp_path / "j.jsonl", key="none")) == ["none of them"]


def test_a_short_key_is_hidden_in_a_complaint(tmp_path):
    with ChatServer(key="mine-7") as server:
        server.script = [{"status": 401, "raw": b"wrong key mine-7"}]
        with pytest.raises(InputError, match=r"wrong key \[key\]"):
            ask(server, calls("a"), tmp_path / "j.jsonl", key="mine-7")


def test_a_line_that_was_cut_off_is_asked_again_and_a_wrong_one_is_said(server, tmp_path):
    journal = tmp_path / "j.jsonl"
    ask(server, calls("a", "é"), journal)
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-30])
    assert sorted(texts(ask(server, calls("a", "é"), journal))) == ["A", "É"]
    assert len(server.asked) == 3
    journal.write_text('["TOY0000:1", "old", 1, 2]\n')
    with pytest.raises(InputError, match=r"j\.jsonl:1: this is no reply of a chat endpoint\. Restore the file"):
        ask(server, calls("a"), journal)


def test_two_runs_at_once_do_not_pay_twice(server, tmp_path):
    journal = tmp_path / "j.jsonl"
    refused = []

    def second():
        try:
            ask(server, calls("a", "b"), journal)
        except InputError as error:
            refused.append(str(error))

    ask_all(endpoint(server, concurrency=1), calls("a", "b"), journal, second)
    assert all(re.search(r"Another run is asking for the replies in .*j\.jsonl", text) for text in refused)
    assert len(refused) == 2 and len(server.asked) == 2


def test_a_closed_door_is_said(tmp_path):
    with ChatServer() as closed:
        pass
    with pytest.raises(InputError, match="cannot be reached"):
        ask(closed, calls("a"), tmp_path / "j.jsonl", retries=1)


RUN = """
import sys
from pathlib import Path
from seedvote.dialogue.engines.chat import Call, Endpoint, ask_all
url, journal = sys.argv[1:]
calls = [Call([{"role": "user", "content": f"w{n}"}], {"max_tokens": 20}) for n in range(40)]
ask_all(Endpoint(url, "any", concurrency=4), calls, Path(journal), lambda: None)
"""


@pytest.mark.parametrize("after", [1, 7, pytest.param(23, marks=SLOW)])
def test_kill_minus_nine_after_a_call_pays_for_no_kept_reply_twice(tmp_path, after):
    """What is lost at most is what was under way: one call for each of four threads."""
    journal, running = tmp_path / "j.jsonl", []

    def killing(number):
        if number == after:
            os.kill(running[0].pid, signal.SIGKILL)

    with ChatServer(answered=killing) as server:
        server.lock.acquire()  # no answer before the process is known
        running.append(subprocess.Popen([sys.executable, "-c", RUN, server.url, str(journal)], cwd=ROOT))
        server.lock.release()
        assert running[0].wait(PATIENCE) == -signal.SIGKILL
        lines = journal.read_text().splitlines(keepends=True)
        written = [json.loads(line) for line in lines if line.endswith("\n")]
        kept = [line["text"] for line in written if "sent" in line]
        before = len(server.asked)
        assert before - len(kept) <= 4 + 1
        server.answered = lambda number: None
        asked = calls(*(f"w{n}" for n in range(40)))
        answered = ask(server, asked, journal, key="second", concurrency=4, budget=Budget(1e9, 1e6, 0.0))
        assert texts(answered) == [f"W{n}" for n in range(40)]
        # Whoever asked may have been charged for what never arrived: it counts at its bound, and is asked again.
        assert answered.lost == sum("tried" in line for line in written) - len(kept) >= before - len(kept)
        assert answered.spent >= 10 * (40 + answered.lost)
        # By their key: on a busy machine the server hears late of a call that the killed process had sent.
        assert sum(key == "Bearer second" for key, _ in server.asked) == 40 - len(kept)
        times = {json.loads(body)["messages"][0]["content"].upper(): n for body, n in server.times.items()}
        assert all(times[text] == 1 for text in kept)


LOSSES = {
    "cut off": {"cut": True},
    "no JSON": {"raw": b"{"},
}


@pytest.mark.parametrize("loss", LOSSES)
def test_an_answer_that_is_lost_on_the_way_counts_at_its_bound(loss, tmp_path):
    """The endpoint charged for it, whether it arrived or not: a rerun that forgot it would pass the budget."""
    journal, prices = tmp_path / "j.jsonl", Budget(1e9, 1e6, 1e6)
    with ChatServer() as server:
        server.script = [LOSSES[loss]]
        if loss == "no JSON":
            with pytest.raises(InputError, match="did not answer with JSON"):
                ask(server, calls("a"), journal, budget=prices)
        answered = ask(server, calls("a"), journal, budget=prices)
        again = ask(server, calls("a"), journal, budget=prices)
    bound = len(b"a") + 16 + len(b"user") + 16 + calls("a")[0].options.get("max_tokens", 0)
    assert answered.lost == again.lost == 1
    assert answered.spent == again.spent == pytest.approx(12 + bound)


def test_a_budget_ends_where_lost_answers_have_used_it_up(tmp_path):
    journal = tmp_path / "j.jsonl"
    with ChatServer() as server:
        server.script = [{"cut": True}] * 50
        with pytest.raises(InputError, match="lost an answer on the way"):
            ask(server, calls("a"), journal, budget=Budget(100, 1e6, 1e6))
        charged = len(server.asked)
        rerun = ask(server, calls("a"), journal, budget=Budget(100, 1e6, 1e6))
        assert rerun.unasked == 1 and len(server.asked) == charged


def test_errors_that_the_endpoint_answers_are_charged_nothing(tmp_path):
    with ChatServer() as server:
        server.script = [{"status": 503}, {"status": 429}]
        answered = ask(server, calls("a"), tmp_path / "j.jsonl", budget=Budget(1e9, 1e6, 1e6))
    assert (answered.lost, answered.spent) == (0, 12)


@pytest.mark.parametrize("option", ["temperature", "seed"])
def test_an_option_that_the_endpoint_refuses_is_left_out_and_named(option, tmp_path):
    asked = [Call([{"role": "user", "content": text}], {"temperature": 0.0, "seed": 1}) for text in "abc"]
    with ChatServer() as server:
        server.refuse = option
        answered = ask(server, asked, tmp_path / "j.jsonl", concurrency=1)
        assert texts(answered) == ["A", "B", "C"] and answered.refused_options == (option,)
        assert all(option not in body for _, body in server.asked[-2:])


def test_thoughts_in_a_field_of_their_own_are_noticed(tmp_path):
    with ChatServer() as server:
        server.script = [{"content": None, "finish": "length", "message": {"reasoning_content": "Let me see"}}]
        (reply,) = ask(server, calls("a"), tmp_path / "j.jsonl").replies
    assert reply.thought and reply.was_cut and reply.empty
