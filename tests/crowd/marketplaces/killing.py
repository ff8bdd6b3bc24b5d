"""Commands that are killed at random, before and after any call to a marketplace and any write to the store.

`in_a_process` ends them by kill -9, which no `except` and no `finally` of ours hears; each process is forked from one
that has imported everything. `in_here` raises `Killed` at the same places, for tests that must be quick: it leaves
through everything, as no `except Exception` would, and what was committed stays.
"""

import contextlib
import multiprocessing
import os
import random
import signal
import time
from contextlib import contextmanager
from types import SimpleNamespace

import botocore.endpoint
import httpx
import pytest
from botocore.httpsession import URLLib3Session

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.marketplaces import ledger
from seedvote.crowd.marketplaces.prolific import calling
from seedvote.crowd.store.store import Store
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from tests.house.waiting import PATIENCE

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.crowd.marketplaces.killing", "tests.crowd.marketplaces.loaded"])
DONE, REFUSED, KILLED = 0, 3, -9


class Killed(BaseException):
    """The process is gone."""


def in_here(words, *, seed, odds, later=0.0):
    """`crowd WORDS...`: DONE, REFUSED with a sentence, or KILLED; its ledger has a clock that is `later`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "time", SimpleNamespace(time=lambda: time.time() + later))
        _die_at_calls(patch.setattr, random.Random(seed), odds, _raise)
        try:
            dispatch("crowd", "", COMMANDS, list(words))
        except InputError:
            return REFUSED
        except Killed:
            return KILLED
    return DONE


def in_a_process(words, *, seed, odds, later=0.0):
    """The same in a process of its own, by a real kill -9."""
    return join(start(words, seed=seed, odds=odds, later=later), words)


def start(words, *, seed, odds, later=0.0):
    """Begin it, beside whatever else runs."""
    process = FORKS.Process(target=_command, args=(list(words), dict(os.environ), seed, odds, later))
    process.start()
    return process


def join(process, words):
    """How it ended."""
    process.join(PATIENCE)
    assert process.exitcode in (DONE, REFUSED, KILLED), f"{words} ended with {process.exitcode}"
    return process.exitcode


def _command(words, environment, seed, odds, later):
    os.environ.update(environment)
    ledger.time = SimpleNamespace(time=lambda: time.time() + later)
    _die_at_calls(setattr, random.Random(seed), odds, lambda: os.kill(os.getpid(), signal.SIGKILL))
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        try:
            dispatch("crowd", "", COMMANDS, words)
        except InputError:
            os._exit(REFUSED)
        os._exit(DONE)


def _raise():
    raise Killed


def _die_at_calls(put, draw, odds, die):
    def may_die():
        if draw.random() < odds:
            die()

    def surrounded(call):
        def made(*args, **options):
            may_die()
            reply = call(*args, **options)
            may_die()
            return reply

        return made

    write = Store.write

    @contextmanager
    def written(store):
        with write(store) as connection:
            yield connection
            may_die()
        may_die()

    put(httpx.Client, "request", surrounded(httpx.Client.request))
    put(URLLib3Session, "send", surrounded(URLLib3Session.send))
    put(Store, "write", written)
    put(botocore.endpoint, "time", SimpleNamespace(sleep=lambda _seconds: None))  # it waits before it tries again
    put(calling, "time", SimpleNamespace(sleep=lambda _seconds: None, time=time.time))
