"""One command at a time moves a study's money, and a killed one holds nobody up."""

import multiprocessing
import os
import signal

import pytest

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.marketplaces.money_lock import money_lock
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.marketplaces.study import make_study
from tests.crowd.study import database


@pytest.mark.parametrize("words", [("pay",), ("extend",), ("request-return", "--submission", "s", "--reason", "x")])
def test_a_second_command_that_moves_money_is_told_to_wait(tmp_path, words):
    make_study(tmp_path, launched=False).extensions["desk"].store.close()
    name, *rest = words
    with money_lock(tmp_path, None, needed=True):
        with pytest.raises(InputError, match="Another command is moving the money"):
            dispatch("crowd", "", COMMANDS, [name, str(tmp_path), *rest, "--yes"])
        with pytest.raises(InputError, match="has not been launched"):  # which only looks, and so may
            dispatch("crowd", "", COMMANDS, [name, str(tmp_path), *rest])
    with pytest.raises(InputError, match="has not been launched"):
        dispatch("crowd", "", COMMANDS, [name, str(tmp_path), *rest, "--yes"])


def hold(study, told):
    with money_lock(study, None, needed=True):
        told.set()
        signal.pause()


def test_a_command_that_was_killed_holds_nobody_up(tmp_path):
    context = multiprocessing.get_context("spawn")
    told = context.Event()
    process = context.Process(target=hold, args=(tmp_path, told))
    process.start()
    told.wait()
    with pytest.raises(InputError, match="Wait until it ends"), money_lock(tmp_path, None, needed=True):
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with money_lock(tmp_path, None, needed=True):
        pass


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_folders_of_two_hosts_on_one_store_share_the_lock(tmp_path, backend):
    hosts = [tmp_path / name for name in ("here", "there")]
    for host in hosts:
        host.mkdir()
    with database(backend, tmp_path) as url:
        refused = pytest.raises(InputError, match="Another command is moving the money")
        with money_lock(hosts[0], url, needed=True), refused, money_lock(hosts[1], url, needed=True):
            pass
        with money_lock(hosts[1], url, needed=True):
            pass
