#!/bin/sh
# Debian's Chromium for the browser tests. Where it may not be installed those tests skip and say so (never in CI).
command -v chromium >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium && exit 0
fi
echo "Chromium is not installed: the browser tests will skip. On Debian: apt-get install chromium" >&2
[ -z "$CI" ]
