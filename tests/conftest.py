"""What several test files need: the real data, and a real browser."""

import os
import shutil
from pathlib import Path

import pytest

# One thread a process: two workers with two threads each wait for each other, and the last bits depend on the number.
os.environ.setdefault("OMP_NUM_THREADS", "1")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def shared(pytestconfig):
    """The folder of real data beside the checkout; tests that need it skip where it is absent."""
    folder = Path(pytestconfig.rootpath).parent / "shared"
    if not folder.is_dir():
        pytest.skip("the real data (../shared) is not here")
    return folder


@pytest.fixture(scope="session")
def chromium():
    """Debian's Chromium, headless; without it browser tests skip, but never in continuous integration."""
    path = shutil.which("chromium")
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("Chromium is missing, and in CI the browser tests may not skip")
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()
