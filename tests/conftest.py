"""What several test files need: the real data, and a real browser; and in which order the files come."""

import contextlib
import gc
import os
import shutil
import sys
from pathlib import Path

import hypothesis
import pytest

from tests.house.changed import LONG
from tests.house.forks import pytest_addoption, pytest_runtestloop  # noqa: F401 (hooks)
from tests.house.sweeping import watch
from tests.house.waiting import PATIENCE
from tests.house.warm import sketch

# One thread a process: two workers with two threads each wait for each other, and the last bits depend on the number.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Where this is set (as in many containers) every process that a test starts would compile the checkout anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Hypothesis would fail an example that takes more than 200 ms, and a test whose examples come slowly.
hypothesis.settings.register_profile("patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A page lives for a second here: to optimize its scripts (axe above all) takes longer than they do.
    "--js-flags=--no-opt --no-maglev",
]


# Files of more than eight seconds of processor time, after those of LONG.
MEDIUM = (
    "tests/analysis/questions/planning/",
    "tests/analysis/stats/test_power.py",
    "tests/analysis/test_one_answer.py",
    "tests/analysis/test_notebook.py",
    "tests/house/",
    "tests/probes/commands/",
    "tests/crowd/marketplaces/",
    "tests/analysis/showing/test_plots.py",
    "tests/analysis/report/",
    "tests/analysis/questions/test_erasure.py",
    "tests/generation/test_decoding.py",
    "tests/generation/test_training.py",
    "tests/generation/test_commands.py",
    "tests/crowd/web/",
    "tests/analysis/votes/test_cautions.py",
    "tests/analysis/commands/",
    "tests/crowd/test_backups.py",
)


# What is collected lives to the end: looking through it for garbage, again and again, is a tenth of all processor time.
gc.disable()


def pytest_sessionstart():
    """What this run makes is gone when it ends, whichever way it ends."""
    watch()


def pytest_collection_finish():
    """From here on there is garbage, but not among the modules and tests that are there."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000)  # most of it is gone without being looked for
    if "matplotlib" in sys.modules:
        from tests.house.pictures import share_fonts_of_pdfs

        share_fonts_of_pdfs()


def pytest_collection_modifyitems(items):
    """The files that take longest come first: the workers that share the files then end together."""
    order = (*LONG, *MEDIUM)
    items.sort(key=lambda item: next((n for n, name in enumerate(order) if item.nodeid.startswith(name)), len(order)))


@pytest.fixture(scope="session")
def shared(pytestconfig):
    """The folder of real data beside the checkout; tests that need it skip where it is absent."""
    folder = Path(pytestconfig.rootpath).parent / "shared"
    if not folder.is_dir():
        pytest.skip("the real data (../shared) is not here")
    return folder


@pytest.fixture
def sketched(monkeypatch):
    """Pictures laid out and not rendered, for tests that do not look at them."""
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", sketch)


class Patient:
    """A browser whose pages wait as long as a busy machine takes; Playwright's own limit is 30 seconds."""

    def __init__(self, browser):
        self.browser = browser

    def new_context(self, **options):
        context = self.browser.new_context(**options)
        context.set_default_timeout(PATIENCE * 1000)
        return context

    def new_page(self, **options):
        page = self.browser.new_page(**options)
        page.set_default_timeout(PATIENCE * 1000)
        return page


def miss(reason):
    """Skip what needs a browser, but never in continuous integration."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason}; in CI the browser tests may not skip")
    pytest.skip(reason)


class Browsers:
    """The one Chromium of this process: started when a test asks for it, ended when the next test needs none."""

    def __init__(self):
        self.ways_out, self.here = contextlib.ExitStack(), None

    def give(self, path):
        if self.here and not self.here.browser.is_connected():
            self.end()
        if not self.here:
            from playwright.sync_api import sync_playwright

            try:
                playwright = self.ways_out.enter_context(sync_playwright())
            except Exception as error:  # noqa: BLE001 (of no class of its own: whatever keeps a process from starting)
                miss(f"Playwright's driver does not start ({error}): apt-get install libatomic1")
            options = {"executable_path": path, "args": FLAGS, "timeout": PATIENCE * 1000}
            self.here = Patient(self.ways_out.enter_context(playwright.chromium.launch(**options)))
        return self.here

    def end(self):
        self.here = None
        self.ways_out.close()


BROWSERS = Browsers()


@pytest.fixture(scope="module")
def chromium():
    """Debian's Chromium, headless; without it browser tests skip, but never in continuous integration."""
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")  # the same engine without a window
    if path is None:
        miss("Chromium is not installed (Debian: apt-get install chromium)")
    return BROWSERS.give(path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """A browser lasts from module to module where one follows that needs it too: to start it takes a second.

    No longer: while Playwright is open its event loop runs in this thread, and where a loop runs Mephisto's operator
    refuses to start.
    """
    try:
        return (yield)
    finally:
        if not nextitem or (nextitem.path != item.path and not nextitem.get_closest_marker("browser")):
            BROWSERS.end()
