#!/bin/sh
# Debian's Chromium for the browser tests. Where it may not be installed those tests skip and say so (never in CI).
# Its headless build, where Debian has it, draws the same pages in two thirds of the processor time.
command -v chromium >/dev/null 2>&1 && command -v chromium-headless-shell >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends chromium-headless-shell || echo "The browser tests use chromium." >&2
    command -v chromium >/dev/null 2>&1 || apt-get install -y -qq --no-install-recommends chromium
fi
command -v chromium >/dev/null 2>&1 && exit 0
echo "Chromium is not installed: the browser tests will skip. On Debian: apt-get install chromium" >&2
[ -z "$CI" ]
