#!/bin/sh
# Everything that docs/results.md shows, from the corpora to its tables. Finished steps are skipped.
# Usage: sh examples/results.sh TEXT ANNOTATED [FOLDER]
#   TEXT: any release of MultiWOZ; ANNOTATED: one whose valid and test splits are annotated; FOLDER: runs/results
set -eu
text=${1:?give the corpus to train on: a folder or file of MultiWOZ}
annotated=${2:?give the annotated corpus to probe on: a folder or file of MultiWOZ}
folder=${3:-runs/results}
python=.venv/bin/python

sh examples/multiwoz_laptop.sh "$text" "$folder/multiwoz"
$python -m generation encode "$folder/multiwoz" --corpus "$annotated" --splits valid,test \
  --checkpoints untrained,last,best_bleu
$python -m probes run "$folder/multiwoz" --corpus "$annotated"

[ -d "$folder/toy/corpus" ] || $python -m dialogue toy "$folder/toy/corpus" --dialogues 500 --seed 0
$python -m generation train "$folder/toy" --models all --seeds 0-2 --preset tiny --epochs 4 --jobs 2
for checkpoint in untrained last; do
  $python -m generation sample "$folder/toy" --checkpoint $checkpoint --decoding greedy
done
$python -m generation score "$folder/toy"
$python -m generation encode "$folder/toy" --checkpoints untrained,last,best_bleu
$python -m probes run "$folder/toy"
$python -m generation encode "$folder/toy" --pooling decoder --checkpoints last --splits train,test
$python -m probes erase "$folder/toy" --tasks UtteranceLoc,IsMultiTopic,NumRecentInfo,RecentTopic
$python -m generation erased "$folder/toy" --limit 200
$python -m analysis erasure "$folder/toy"

$python examples/results.py docs/results multiwoz="$folder/multiwoz" toy="$folder/toy"
