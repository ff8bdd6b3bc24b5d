"""One command at a time moves a study's money, and a killed one holds nobody up."""

import multiprocessing
import os
import signal

import pytest

from crowd.__main__ import COMMANDS
from crowd.marketplaces.alone import alone
from dialogue.command_line import dispatch
from dialogue.errors import InputError


@pytest.mark.parametrize("words", [("pay",), ("extend",), ("request-return", "--submission", "s", "--reason", "x")])
def test_a_second_command_that_moves_money_is_told_to_wait(tmp_path, words):
    name, *rest = words
    with alone(tmp_path, needed=True):
        with pytest.raises(InputError, match="Another command is moving the money"):
            dispatch("crowd", "", COMMANDS, [name, str(tmp_path), *rest, "--yes"])
        with pytest.raises(InputError, match="has not been launched"):  # which only looks, and so may
            dispatch("crowd", "", COMMANDS, [name, str(tmp_path), *rest])
    with pytest.raises(InputError, match="has not been launched"):
        dispatch("crowd", "", COMMANDS, [name, str(tmp_path), *rest, "--yes"])


def hold(study, told):
    with alone(study, needed=True):
        told.set()
        signal.pause()


def test_a_command_that_was_killed_holds_nobody_up(tmp_path):
    context = multiprocessing.get_context("spawn")
    told = context.Event()
    process = context.Process(target=hold, args=(tmp_path, told))
    process.start()
    told.wait()
    with pytest.raises(InputError, match="Wait until it ends"), alone(tmp_path, needed=True):
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with alone(tmp_path, needed=True):
        pass
