"""What the tests of the crowd have in common: a folder in memory, and clients that begin quickly."""

import collections
import functools
import os
import shutil
import zlib

import httpx._transports.default as transports
import pytest
import sqlalchemy as sa
from botocore.hooks import EventAliaser
from botocore.loaders import JSONFileLoader, Loader, create_loader
from werkzeug.routing.rules import Rule

from seedvote.crowd.store import postgresql
from tests.house.sweeping import MEMORY, make_folder

STRICT = dict(postgresql.ALWAYS)


def is_roomy(folder):
    """Whether studies and small programs have their place there: Docker gives 64 MB, and runs no program from it."""
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        return False
    return shutil.disk_usage(folder).free > 2**30 and not os.statvfs(folder).f_flag & os.ST_NOEXEC


@pytest.fixture
def tmp_path(tmp_path):
    """In memory where that can be: a store waits for the disk at every vote, and these tests cast thousands.

    A commit takes .08 ms there instead of 3.5. What survives a kill is the same: the system keeps it, not the disk.
    """
    if not is_roomy(MEMORY):
        yield tmp_path
        return
    folder = make_folder(MEMORY)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


BOTH = ("store/", "test_", "rating/test_desk.py", "rating/test_reserving.py", "marketplaces/test_money_lock.py")
HERE = "tests/crowd/"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """A test that holds in either database is run in one of them, by turns, and in the other in make test-slow.

    In both where the store itself is tested, or what happens at once.
    """
    alike = collections.defaultdict(dict)
    for item in items:
        if item.nodeid.startswith(HERE) and not item.nodeid.removeprefix(HERE).startswith(BOTH):
            for kind in ("sqlite", "postgresql"):
                if kind in item.nodeid.partition("[")[2]:
                    alike[item.nodeid.replace(kind, "")][kind] = item
    for name, pair in alike.items():
        if len(pair) == 2:
            pair[sorted(pair)[zlib.crc32(name.encode()) % 2]].add_marker("slow")


@pytest.fixture(scope="session", autouse=True)
def commits_do_not_wait_for_the_disk():
    """On PostgreSQL too, in a tenth of the time. Only a crash of the server could lose them, and no test crashes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(postgresql.ALWAYS, "synchronous_commit", "off")
        yield


@pytest.fixture(scope="session", autouse=True)
def files_of_libraries_are_read_once():
    """Each HTTP client reads all certificates of the machine, and each of Mechanical Turk lists and reads all of AWS.

    Those two take a third of the time of whoever sends two requests to a server on this machine; they do not change.
    """
    read = JSONFileLoader().load_file
    kept, services = functools.cache(lambda path: read(path)), Loader.list_available_services
    listed = functools.cache(lambda kind: services(create_loader(), kind))
    alias, aliases = EventAliaser._alias_event_name, {}

    def alias_once(self, name):
        if name not in aliases:
            aliases[name] = alias(self, name)
        return aliases[name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transports, "create_ssl_context", functools.cache(transports.create_ssl_context))
        patch.setattr(JSONFileLoader, "load_file", lambda self, path: kept(path))
        patch.setattr(Loader, "list_available_services", lambda self, kind: listed(kind))
        patch.setattr(EventAliaser, "_alias_event_name", alias_once)  # its hundred names are the same for each client
        yield


class OfEveryEngine(dict):
    """Compiled statements by the kind of database, where SQLAlchemy asks by the engine's own dialect."""

    def get(self, key):
        dialect, *others = key
        return super().get((dialect.name, *others))

    def __setitem__(self, key, compiled):
        dialect, *others = key
        super().__setitem__((dialect.name, *others), compiled)


@pytest.fixture(scope="session", autouse=True)
def statements_are_compiled_once():
    """A study of its own is an engine of its own, and would compile anew whatever the one before it compiled.

    That takes a tenth of the time of all tests here, and longer than the databases' own work.
    """
    create, known = sa.create_engine, OfEveryEngine()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sa, "create_engine", functools.partial(create, execution_options={"compiled_cache": known}))
        yield


@pytest.fixture(scope="session", autouse=True)
def routes_are_compiled_once():
    """Werkzeug writes, and compiles, two functions for each route of each application; they follow from its parts."""
    write, known = Rule._compile_builder, {}

    def written(rule, append_unknown=True):
        parts = (*map(tuple, rule._trace), repr(rule.defaults), append_unknown)
        if parts not in known:
            known[parts] = write(rule, append_unknown)
        return known[parts]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rule, "_compile_builder", written)
        yield
