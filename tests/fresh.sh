#!/usr/bin/env bash
# The README's commands on a newcomer's machine: a minimal Debian with nothing but what the README names, and a clone of
# what is committed. First with a network, then without: nothing may be fetched twice. The host lends its way to the
# package registries (settings of pip and apt, certificates) and nothing else: no cache, font, browser or package.
#
#     sudo tests/fresh.sh [PART ...]      parts: setup demo first hit check test install; all of them without a word
#     sudo SUITE=trixie tests/fresh.sh install quick     another Debian, so another Python
#     sudo BASE=FILE.tar tests/fresh.sh setup         with the root that `mmdebstrap ... FILE.tar` made before
#
# Needs mmdebstrap and iproute2, and root, for the mounts. Logs and times: runs/fresh/.
set -euo pipefail
PARTS=(setup demo first hit check test install)
MORE=(quick) # a few tests of the analysis and of rating, on Pythons for which PyTorch may have no build
SUITE=${SUITE:-bookworm}
NAMED=make,git,python3-venv,ca-certificates # by the README

here=$(cd "$(dirname "$0")/.." && pwd)
for program in mmdebstrap ip; do
    command -v $program >/dev/null || { echo "make fresh needs $program: apt-get install mmdebstrap iproute2" >&2; exit 1; }
done
[[ $(id -u) = 0 ]] || { echo "make fresh mounts folders, so it needs root." >&2; exit 1; }
[[ -z $(git -C "$here" status --porcelain) ]] || echo "Uncommitted changes are not part of this test." >&2
parts=("${@:-${PARTS[@]}}")
for part in "${parts[@]}"; do
    [[ " ${PARTS[*]} ${MORE[*]} " = *" $part "* ]] || { echo "There is no $part, only: ${PARTS[*]} ${MORE[*]}" >&2; exit 1; }
done

logs=$here/runs/fresh
mkdir -p "$logs"
root=$(mktemp -d /var/tmp/fresh-XXXXXX)
child=
trap '{ [[ -z $child ]] || kill -KILL $child || true; wait; } 2>/dev/null; rm -rf --one-file-system "$root"' EXIT
trap 'exit 130' INT TERM

# The paths of this machine that pip's settings name: their files, and the wheels and certificates that these name.
settings=()
for file in /etc/pip.conf /etc/xdg/pip/pip.conf ~/.config/pip/pip.conf ~/.pip/pip.conf "${PIP_CONFIG_FILE:-}"; do
    if [[ -f $file ]]; then settings+=("$file"); fi
done
words=$({ env | grep ^PIP_ || true; [[ -z ${settings[*]} ]] || cat "${settings[@]}"; } | sed 's,file://,,g; s/[=,]/ /g')
lent=("${settings[@]}" /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt)
for word in $words; do
    if [[ $word = /?* && -e $word ]]; then lent+=("${word%/simple}"); fi # an index links to the files beside it
done
mapfile -t lent < <(printf '%s\n' "${lent[@]}" | sort -u)
mapfile -t environment < <(env | grep -E '^(PIP_|SSL_CERT|REQUESTS_CA|CURL_CA|(http|https|no|HTTP|HTTPS|NO)_proxy=)' || true)

inside() { # NETWORK COMMAND: runs it in the root, from the home folder, in namespaces that end with it
    local cut=()
    [[ $1 = network ]] || cut=(--net)
    unshare --mount --propagation private --pid --fork --kill-child "${cut[@]}" bash -euc '
        root=$1; command=$2; shift 2
        ip link set lo up
        mount --bind "$root" "$root"; mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
        while [[ $1 != -- ]]; do
            path=$1; shift
            if [[ -d $path ]]; then mkdir -p "$root$path"; else mkdir -p "$(dirname "$root$path")"; touch "$root$path"; fi
            mount --bind -o ro "$path" "$root$path"
        done
        shift
        exec chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            "$@" bash -euo pipefail -c "cd; $command"
    ' inside "$root" "$2" "${lent[@]}" -- "${environment[@]}" 2>&1 &
    child=$! # in the background, so that Ctrl-C ends this script, and this script what runs in the root
    wait $child
}

commands() { # PART NETWORK: what a newcomer types for it
    case $1 in
        setup) echo 'cd seedvote; make setup' ;;
        demo) echo 'cd seedvote; make demo; test -s runs/demo/report.html' ;;
        first) echo 'cd seedvote; . .venv/bin/activate; python analyze_ties.py examples/votes.csv --out runs/first
            test -s runs/first/ties.png' ;;
        hit) echo 'printf "#!/bin/sh\nprintf %%s \"\$1\" > /tmp/address\n" > /tmp/browser; chmod +x /tmp/browser; rm -f /tmp/address
            cd seedvote; set -m; env --default-signal=INT BROWSER="/tmp/browser %s" make hit > /tmp/hit.log 2>&1 & server=$!
            until [[ -s /tmp/address ]]; do kill -0 $server; sleep 1; done
            python3 -c "import sys, urllib.request as u
page = u.build_opener(u.HTTPCookieProcessor()).open(sys.argv[1]).read().decode()
assert \"<form\" in page, page" "$(cat /tmp/address)"
            kill -INT -- -$server; wait $server || true; cat /tmp/hit.log; grep -q "^Next: " /tmp/hit.log' ;;
        check) echo 'cd seedvote; make check' ;;
        # Without a network, so that no server of the host answers: PostgreSQL above all.
        test) if [[ $2 = network ]]; then echo 'cd seedvote; make setup-dev'; else echo 'cd seedvote; make test'; fi ;;
        install) echo 'mkdir -p own/analysis own/tests own/templates; cd own
            for name in analysis tests templates; do echo "raise SystemExit(\"mine\")" > $name/__init__.py; done
            test -e analysed || { python3 -m venv .venv; .venv/bin/pip install ../seedvote; }
            .venv/bin/seedvote dialogue examples
            .venv/bin/seedvote ties examples/votes.csv --out first; test -s first/ties.png
            .venv/bin/python -c "import seedvote as sv; print(sv.ties(\"examples/votes.csv\"))"
            .venv/bin/seedvote report examples/votes.csv
            for package in torch flask sqlalchemy boto3 psycopg gunicorn babel; do
                test -e analysed || ! ls -d .venv/lib/python3*/site-packages/$package
            done
            test -e analysed || .venv/bin/pip install "../seedvote[rate]"
            touch analysed
            .venv/bin/seedvote crowd simulate study/$(date +%s) --pairs examples/pairs.jsonl --raters 4 --seed 0
            grep -qx "raise SystemExit(\"mine\")" analysis/__init__.py' ;;
        quick) echo 'cd seedvote
            test -e ../tried || { python3 -m venv ../tried; ../tried/bin/pip install ".[rate,markets]" pytest pytest-timeout hypothesis; }
            ../tried/bin/python -m pytest -q -m "not slow and not browser" \
                tests/analysis/questions tests/analysis/showing tests/crowd/rating' ;;
    esac
}

table=()
timed() { # NAME COMMAND...
    local name=$1 start=$SECONDS
    shift
    if "$@" > "$logs/$SUITE-$name.log"; then
        table+=("$(printf '%-16s %5d s' "$name" $((SECONDS - start)))")
        echo "${table[-1]}"
    else
        echo "$name failed; the end of $logs/$SUITE-$name.log:" >&2
        tail -40 "$logs/$SUITE-$name.log" >&2
        exit 1
    fi
}

build() {
    local sources=()
    mapfile -t sources < <(grep -lsr "$SUITE" /etc/apt/sources.list /etc/apt/sources.list.d --include=*.sources --include=*.list)
    if [[ -n ${BASE:-} ]]; then
        tar -xf "$BASE" -C "$root" --exclude './dev/*' || return
    else
        mmdebstrap --quiet --variant=minbase --include=$NAMED "$SUITE" "$root" "${sources[@]}" 2>&1 || return
    fi
    printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(hostname)" > "$root/etc/hosts" # as Debian's installer does
    apt-config dump | grep -E '^Acquire::(http|https|Check|Retries)' > "$root/etc/apt/apt.conf.d/99host" || true
    git clone --quiet --bare --depth 1 "file://$here" "$root/srv/seedvote.git" 2>&1 || return
    inside network 'git clone --quiet /srv/seedvote.git seedvote'
}

main() { # read as a whole before anything runs, so that the file may change meanwhile
    local part
    timed machine build
    for part in "${parts[@]}"; do
        timed "$part" inside network "$(commands "$part" network)"
    done
    for part in "${parts[@]}"; do
        timed "$part-offline" inside none "$(commands "$part" none)"
    done
    printf '%s\n' "${table[@]}" > "$logs/$SUITE.txt"
    echo "All of it works on a fresh $SUITE: $(git -C "$root/srv/seedvote.git" rev-parse --short HEAD). Times: $logs/$SUITE.txt"
    exit
}
main
