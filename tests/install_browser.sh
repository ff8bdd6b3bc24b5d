#!/bin/sh
# What the browser tests need from the system: Debian's Chromium, and the library that Playwright's driver is linked to.
# Where nothing may be installed those tests skip and say so (never in CI). Chromium's headless build draws the same
# pages in two thirds of the processor time, so the whole Chromium comes only where Debian has no such build.
has_browser() { command -v chromium-headless-shell >/dev/null 2>&1 || command -v chromium >/dev/null 2>&1; }
driver_starts() { .venv/bin/playwright --version >/dev/null 2>&1; }
has_browser && driver_starts && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    driver_starts || apt-get install -y -qq --no-install-recommends libatomic1
    has_browser || apt-get install -y -qq --no-install-recommends chromium-headless-shell ||
        apt-get install -y -qq --no-install-recommends chromium
fi
missing=
has_browser || missing="$missing chromium"
driver_starts || missing="$missing libatomic1"
[ -z "$missing" ] && exit 0
echo "The browser tests will skip. On Debian, as root: apt-get install$missing" >&2
[ -z "$CI" ]
