#!/bin/sh
# The papers' grid: 5 architectures x 3 seeds x 25 epochs at the papers' sizes, on CUDA if available.
# Usage: sh examples/multiwoz_full.sh CORPUS [STUDY]    (CORPUS: any release of MultiWOZ; STUDY: runs/multiwoz-full)
set -eu
corpus=${1:?give the corpus: a folder or file of MultiWOZ}
study=${2:-runs/multiwoz-full}
python=.venv/bin/python

$python -m generation train "$study" --corpus "$corpus" --models all --seeds 0-2 --preset paper --epochs 25 \
  --valid 1000 --device auto
for checkpoint in untrained last best_bleu; do
  $python -m generation sample "$study" --corpus "$corpus" --split test --checkpoint $checkpoint --decoding greedy \
    --device auto
done
$python -m generation sample "$study" --corpus "$corpus" --split test --checkpoint last --device auto
$python -m generation score "$study" --corpus "$corpus"
$python -m generation encode "$study" --corpus "$corpus" --checkpoints all --device auto
$python -m probes run "$study" --corpus "$corpus" --checkpoints all --classifier logistic,mlp
$python -m probes papers "$study" --corpus "$corpus"
$python -m generation pair "$study" --corpus "$corpus" --pairs 2000
