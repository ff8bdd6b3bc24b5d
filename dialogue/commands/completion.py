"""Print the shell code that lets the TAB key complete commands, options and their values.

  bash   eval "$(python -m dialogue completion bash)"         in ~/.bashrc, or typed for one session
  zsh    eval "$(python -m dialogue completion zsh)"          in ~/.zshrc, after compinit
  fish   python -m dialogue completion fish | source

`seedvote` is completed anywhere; `python -m ...` while the shell is in this project's folder, other uses of python are
not affected. A start-up file
runs elsewhere, so save the code and source it: python -m dialogue completion bash > ~/.seedvote.bash
"""

from __future__ import annotations

import argparse

BASH = r"""
_seedvote() {
    local packages='analysis crowd dialogue evaluators generation probes' word=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    [ -f dialogue/shell/command_line.py ] || return
    if [ "${COMP_WORDS[1]}" = -m ]; then
        if [ "$COMP_CWORD" = 2 ]; then IFS=' ' COMPREPLY=($(compgen -W "$packages" -- "$word")); return; fi
        case " $packages " in *" ${COMP_WORDS[2]} "*) ;; *) return ;; esac
    elif [ "${COMP_WORDS[1]##*/}" != analyze_ties.py ] || [ "$COMP_CWORD" = 1 ]; then
        return
    fi
    _seedvote_ask
}
_seedvote_ask() {
    local word=${COMP_WORDS[COMP_CWORD]} IFS=$'\n' line
    COMPREPLY=()
    for line in $(SEEDVOTE_COMPLETE=$word "${COMP_WORDS[@]:0:COMP_CWORD}" 2>/dev/null </dev/null); do
        COMPREPLY+=("${line%%$'\t'*}")
    done
}
complete -o default -o bashdefault -F _seedvote python python3
complete -o default -o bashdefault -F _seedvote_ask seedvote
"""

ZSH = r"""
_seedvote() {
    local -a packages=(analysis crowd dialogue evaluators generation probes)
    if [[ -f dialogue/shell/command_line.py ]]; then
        if [[ $words[2] == -m && $CURRENT == 3 ]]; then compadd -a packages; return; fi
        if [[ $words[2] == -m && -n ${(M)packages:#$words[3]} || ${words[2]:t} == analyze_ties.py && $CURRENT -gt 2 ]]
        then
            _seedvote_ask
            return
        fi
    fi
    if (( $+functions[_python] )); then _python "$@"; else _files; fi
}
_seedvote_ask() {
    local -a found=(${(f)"$(SEEDVOTE_COMPLETE=$words[CURRENT] "${(@)words[1,CURRENT-1]}" 2>/dev/null </dev/null)"})
    if (( $#found )); then
        found=(${${found//:/\\:}//$'\t'/:})
        _describe command found
    else
        _files
    fi
}
compdef _seedvote python python3
compdef _seedvote_ask seedvote
"""

FISH = r"""
function __seedvote_here
    set -l words (commandline -opc)
    test -f dialogue/shell/command_line.py; or return 1
    test (count $words) -ge 2; or return 1
    string match -q '*analyze_ties.py' -- $words[2]; and return 0
    test "$words[2]" = -m; or return 1
    test (count $words) -eq 2; or contains -- $words[3] analysis crowd dialogue evaluators generation probes
end
function __seedvote
    set -l words (commandline -opc)
    if test (count $words) -eq 2 -a "$words[2]" = -m
        printf '%s\n' analysis crowd dialogue evaluators generation probes
        return
    end
    set -l found (SEEDVOTE_COMPLETE=(commandline -ct) $words 2>/dev/null </dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c python -c python3 -n __seedvote_here -f -a '(__seedvote)'
complete -c seedvote -f -a '(__seedvote)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.add_argument("shell", choices=sorted(SCRIPTS), help="bash, fish or zsh")


def run(args: argparse.Namespace) -> None:
    """Print its lines and no next command: the shell runs what is printed, and reads it whenever it starts."""
    print(SCRIPTS[args.shell].strip())
