#!/bin/sh
# PersonaChat, the papers' other corpus, on a laptop: 5 architectures x 2 seeds, tiny sizes, 250 dialogues, 3 epochs, and
# every table and figure of the papers from it. Without a train split of its own, valid trains.
# Usage: sh examples/personachat.sh CORPUS [STUDY] [SPLIT] [ENCODER]
#   CORPUS: any form of PersonaChat; STUDY: runs/personachat; SPLIT: the one to train on, valid (or train);
#   ENCODER: a folder of a sentence encoder of Hugging Face's form, which then picks a checkpoint too
set -eu
corpus=${1:?give the corpus: a folder or file of PersonaChat}
study=${2:-runs/personachat}
split=${3:-valid}
encoder=${4:-}
python=.venv/bin/python

$python -m generation train "$study" --corpus "$corpus" --train-on "$split" --models all --seeds 0-1 --preset tiny \
  --epochs 3 --dialogues 250 --at-least 2 --valid 100 ${encoder:+--encoder "$encoder"}
for checkpoint in untrained last; do
  $python -m generation sample "$study" --corpus "$corpus" --split test --limit 100 --checkpoint $checkpoint \
    --decoding greedy
done
$python -m generation score "$study" --corpus "$corpus" ${encoder:+--encoder "$encoder"}
$python -m generation encode "$study" --corpus "$corpus" --splits "$split,test" --limit 300 --checkpoints all
$python -m probes run "$study" --corpus "$corpus" --subset --checkpoints all
$python -m probes papers "$study" --corpus "$corpus"
