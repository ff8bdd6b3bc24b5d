#!/bin/sh
# A part of MultiWOZ on a laptop: 5 architectures x 3 seeds, small sizes, 2,000 dialogues, 4 epochs, two processes.
# Usage: sh examples/multiwoz_laptop.sh CORPUS [STUDY]    (CORPUS: any release of MultiWOZ; STUDY: runs/multiwoz-laptop)
set -eu
corpus=${1:?give the corpus: a folder or file of MultiWOZ}
study=${2:-runs/multiwoz-laptop}
python=.venv/bin/python

$python -m generation train "$study" --corpus "$corpus" --models all --seeds 0-2 --preset small --epochs 4 \
  --dialogues 2000 --at-least 2 --valid 200 --jobs 2
for checkpoint in untrained last; do
  $python -m generation sample "$study" --corpus "$corpus" --split test --limit 500 --checkpoint $checkpoint \
    --decoding greedy
done
$python -m generation score "$study" --corpus "$corpus"
