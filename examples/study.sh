#!/bin/sh
# The papers' human evaluation, command by command: examples/study.sh STUDY CORPUS
# Every command skips what is done, so an interrupted study goes on when this is run again.
set -eu
study=$1 corpus=$2

# Five architectures, three seeds, the papers' sizes and epochs: days on a laptop, hours on one GPU.
python -m generation train "$study" --corpus "$corpus" --models all --seeds 0-2 --preset paper --epochs 25 --jobs 2
python -m generation sample "$study" --corpus "$corpus" --checkpoint last --decoding greedy,nucleus:0.9
python -m generation score "$study" --corpus "$corpus"
python -m generation encode "$study" --corpus "$corpus" --checkpoints untrained,last,best_bleu

# The architecture with the smallest spread of BLEU over seeds, 2,000 contexts. Read the checks before the raters do.
python -m generation pair "$study" --corpus "$corpus" --model auto --pairs 2000 --preview
python -m crowd plan-checks
python -m crowd serve "$study" --dashboard # until three different raters have judged every pair; then Ctrl-C
python -m crowd export "$study"

# What the votes say, and with what certainty.
python analyze_ties.py "$study/votes.jsonl" --out "$study"
python -m analysis agreement "$study"
python -m analysis preference "$study" --margin 0.1
python -m probes run "$study" --corpus "$corpus" --tasks all --jobs 2
python -m analysis compare "$study" --published
python -m analysis report "$study"
