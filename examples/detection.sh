#!/bin/sh
# What docs/results.md shows of discriminators, from the corpora to its tables. Finished steps are skipped.
# Usage: sh examples/detection.sh TEXT [FOLDER]    (TEXT: any release of MultiWOZ; FOLDER: runs/detection)
set -eu
text=${1:?give the corpus: a folder or file of MultiWOZ}
folder=${2:-runs/detection}
python=.venv/bin/python

# One architecture of examples/multiwoz_laptop.sh under two seeds answers 600 contexts in four ways.
real=$folder/multiwoz
$python -m generation train "$real" --corpus "$text" --models seq2seq --seeds 0-1 --preset small --epochs 4 \
  --dialogues 2000 --at-least 2 --valid 200 --jobs 2
for split in valid test; do
  $python -m generation sample "$real" --corpus "$text" --split $split --limit 300 --jobs 2 \
    --decoding temperature:1,nucleus:0.9,beam:5,greedy
done
$python -m generation sample "$real" --corpus "$text" --limit 100 --decoding temperature:1 --draws 100 --jobs 2

# Both models by sampling, with the ranking of replies of one length; then four decodings of one model by the bag.
tell="$python -m evaluators discriminate $real --corpus $text --seeds 0-2 --folds 4 --same-length --json --jobs 2"
$tell --encoder lstm --decoding temperature:1 > "$real/models-lstm.json"
$tell --encoder bag --decoding temperature:1 --shared > "$real/models-bag.json"
$tell --encoder bag --models seq2seq-0 > "$real/decodings-bag.json"

# All five architectures under three seeds by the bag, the first seed of each by an LSTM.
all=$folder/all
sh examples/multiwoz_laptop.sh "$text" "$all"
for split in valid test; do
  $python -m generation sample "$all" --corpus "$text" --split $split --limit 300 --jobs 2 --decoding temperature:1
done
tell="$python -m evaluators discriminate $all --corpus $text --folds 4 --decoding temperature:1 --json --jobs 2"
$tell --encoder bag --shared > "$all/models-bag.json"
$tell --encoder lstm --seeds 0-2 --models seq2seq-0,seq2seq_attn-0,hred-0,bilstm_attn-0,transformer-0 \
  > "$all/models-lstm.json"

# The demo asks a bag of words about its six models; adversarial.json holds what it found. Then an LSTM is asked.
toy=$folder/toy
$python -m seedvote study "$toy"
cp "$toy/adversarial.json" "$toy/models-bag.json"
$python -m evaluators discriminate "$toy" --encoder lstm --seeds 0-2 --folds 4 --shared --json --jobs 2 > "$toy/lstm.json"
mv "$toy/lstm.json" "$toy/models-lstm.json"

$python examples/results.py docs/results detection="$real" detection_all="$all" detection_toy="$toy"
