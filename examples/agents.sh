#!/bin/sh
# The agents of docs/results.md: five architectures under three seeds on the built-in corpus, on clean dialogues and
# under every kind of perturbation. Finished steps are skipped.
# Usage: sh examples/agents.sh [FOLDER]    FOLDER: runs/agents
set -eu
folder=${1:-runs/agents}
python=.venv/bin/python

[ -d "$folder/corpus" ] || $python -m dialogue toy "$folder/corpus" --dialogues 500 --seed 0
[ -d "$folder/chats" ] || $python -m dialogue toy "$folder/chats" --dialogues 100 --kind personachat
$python -m generation train "$folder" --speak task --models all --seeds 0-2 --preset tiny --epochs 10 --jobs 2
$python -m evaluators perturb "$folder" --kinds typos --doses 0,.1,.8 --replace
$python -m evaluators perturb "$folder" --kinds typos,verbose,simple,paraphrase,speech,entities,outside \
  --doses .5 --wer .2 --from "$folder/chats" --replace
$python -m generation sample "$folder" --jobs 2
$python -m generation sample "$folder" --condition all --jobs 2
$python -m evaluators task "$folder"
$python -m evaluators task "$folder" --condition all
$python -m analysis robustness "$folder" --figure "$folder/robustness" --json "$folder/robustness.json"

$python -m evaluators perturb "$folder" --kinds outside --doses .2 --split train --seed 1 --from "$folder/chats" --replace
$python -m generation encode "$folder" --splits train,test --checkpoints last --jobs 2
$python -m generation encode "$folder" --condition outside@0.2-1,outside@0.5-0 --checkpoints last --jobs 2
$python -m probes outside "$folder"
$python examples/results.py docs/results agents="$folder"
