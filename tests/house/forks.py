"""`--forks N`: the tests are collected once, then N copies of this process carry them out, a file each at a time.

Workers that start from nothing would each import every library and collect every test: a tenth of the suite's time.
"""

import atexit
import collections
import contextlib
import itertools
import os
import signal
import sys
import traceback
from multiprocessing.connection import Pipe, wait

import pytest
from hypothesis import strategies

from tests.house.sweeping import note_fork
from tests.house.warm import home


def pytest_addoption(parser):
    parser.addoption("--forks", type=int, default=0, metavar="N", help="carry the tests out in N processes")


def pytest_runtestloop(session):
    """In the place of pytest's own loop, where --forks asks for it."""
    option = session.config.option
    if not option.forks or option.collectonly:
        return None
    if session.testsfailed and not option.continue_on_collection_errors:
        raise session.Interrupted(f"{session.testsfailed} errors while the tests were collected")
    share_out(session, files_of(session.items))
    return True


def files_of(items):
    """The numbers of the tests, a list a file: what a module's fixtures hold is made once."""
    numbered = itertools.groupby(enumerate(items), lambda one: one[1].nodeid.partition("::")[0])
    return collections.deque([number for number, _ in group] for _, group in numbered)


class Worker:
    """A copy of this process that runs the files it is given."""

    def __init__(self, session, name, others):
        self.pipe, there = Pipe()
        self.name, self.left, self.trace = name, [], ""
        self.pid = os.fork()
        if self.pid == 0:
            for other in [self, *others]:  # so that each sees when the first process is gone
                other.pipe.close()
            work(session, there, name)
        there.close()

    def end(self):
        """How it ended, in words, or nothing where it ended well."""
        self.pipe.close()
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return "" if code == 0 else f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"


def share_out(session, files):
    """Hand out files and take in reports until every test has been run."""
    config, workers = session.config, []
    names = itertools.count()
    home()  # one for all
    strategies.text().validate()  # its table of all characters takes seconds to make, where no run has left it before
    try:
        while True:
            while files and len(workers) < config.option.forks:
                workers.append(Worker(session, f"fork-{next(names)}", workers))
            if not workers:
                return
            for pipe in wait([worker.pipe for worker in workers]):
                worker = next(one for one in workers if one.pipe is pipe)
                try:
                    kind, said = pipe.recv()
                except (EOFError, ConnectionError):
                    workers.remove(worker)
                    lost(session, worker, files)
                    continue
                if kind == "more":
                    taken = files.popleft() if files else []
                    worker.left += taken
                    pipe.send(taken)
                elif kind == "trace":
                    worker.trace = f":\n{said}"
                elif kind == "done":
                    worker.left.remove(said)
                    item = session.items[said]
                    config.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
                else:
                    report = config.hook.pytest_report_from_serializable(config=config, data=said)
                    config.hook.pytest_runtest_logreport(report=report)
            for stop, problem in ((session.shouldfail, session.Failed), (session.shouldstop, session.Interrupted)):
                if stop:
                    raise problem(stop)
    finally:
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGTERM)
            worker.end()


def lost(session, worker, files):
    """What a worker left undone when it ended: its test has failed, the others are for somebody else."""
    how = worker.end()
    if not how and not worker.left:
        return
    at, *others = worker.left or [None]
    if others:
        files.appendleft(others)
    item = session.items[at] if at is not None else None
    nodeid, location = (item.nodeid, item.location) if item else (worker.name, (worker.name, None, worker.name))
    words = f"{worker.name} ended {how or 'early'} here{worker.trace}"
    report = pytest.TestReport(nodeid, location, {}, "failed", words, "call" if item else "teardown")
    session.config.hook.pytest_runtest_logreport(report=report)


def work(session, pipe, name):
    """The life of a worker. What ends with the first process (atexit) is not this one's to end."""
    code = 1
    try:
        atexit._clear()
        note_fork()
        settle(session.config, pipe, name)
        carry_out(session, pipe)
        if "coverage" in sys.modules and (tracer := sys.modules["coverage"].Coverage.current()):
            tracer.stop()
            tracer.save()
        atexit._run_exitfuncs()
        code = 0
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    except BaseException:  # noqa: BLE001 (nothing above this would say it)
        pipe.send(("trace", traceback.format_exc()))
    finally:
        os._exit(code)


def settle(config, pipe, name):
    """Of its own: what captures output, the folder of tmp_path, and to whom a report goes."""
    plugins = config.pluginmanager
    capturing = plugins.getplugin("capturemanager")
    capturing.stop_global_capturing()
    capturing.start_global_capturing()
    capturing.suspend_global_capture(in_=False)
    folders = config._tmp_path_factory
    folders._given_basetemp, folders._basetemp = folders.getbasetemp() / name, None
    plugins.unregister(plugins.getplugin("terminalreporter"))
    plugins.register(Teller(config, pipe))


class Teller:
    """Sends every report to the first process, whose plugins count and print it."""

    def __init__(self, config, pipe):
        self.config, self.pipe = config, pipe

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.pipe.send(("report", data))


def carry_out(session, pipe):
    """Run files until none is left. The next one is asked for before the last test, to tell what is torn down then."""

    def more():
        pipe.send(("more", None))
        return pipe.recv()

    left = more()
    while left:
        at, *left = left
        left = left or more()
        item = session.items[at]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=session.items[left[0]] if left else None)
        pipe.send(("done", at))
