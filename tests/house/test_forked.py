"""What is forked and killed ends as a process that was started and killed."""

import os
import signal

import pytest

from tests.house.forked import PIPE, Forked
from tests.house.waiting import PATIENCE

ECHO = "import os, sys\nprint(os.getpid(), os.getsid(0), flush=True)\nsys.exit(len(sys.stdin.read()))\n"


def test_forked_pipes_streams_and_returns_the_exit_code():
    with Forked(["-c", ECHO], stdin=PIPE, stdout=PIPE) as process:
        assert process.stdout.readline().split() == [str(process.pid)] * 2
        process.stdin.write("seven!\n")
    assert process.returncode == 7


@pytest.mark.parametrize("end", ["of itself", "of its group"])
def test_a_kill_is_told_from_every_exit_code_and_leaves_nothing(end):
    forks = "import os, time\nother = os.fork()\nif other:\n    print(other, flush=True)\ntime.sleep(10**6)\n"
    with Forked(["-c", forks], stdout=PIPE) as process:
        other = int(process.stdout.readline())
        if end == "of itself":
            process.kill()
            assert process.wait(PATIENCE) == -signal.SIGKILL
            os.kill(other, signal.SIGKILL)  # what it has forked lives on
        else:
            os.killpg(process.pid, signal.SIGKILL)
            assert process.wait(PATIENCE) == -signal.SIGKILL
    process.kill()  # nobody's any more
