"""What a small language model on this machine is worth beside real people: the numbers of docs/judge.md.

Run: python benchmarks/judge_beside_people.py HUMAN_ANNOTATION.json.gz STUDY [PAIRS]

The file is MarCo's human evaluation (Wang et al. 2020; three votes of MarCo against HDSA on completion a turn). Pairs
stand in random order; the first PAIRS (300) are judged by smollm2 in both orders. `analysis judge` gets the votes on
the first half of these only, so that there are pairs without votes, and reads the judge's probabilities, then its
verdicts alone; `analysis worth` gets the votes on all of them. A run that is broken off goes on where it ended.
"""

import gzip
import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from seedvote.analysis.questions.judge.showing import judged  # noqa: E402
from seedvote.analysis.questions.worth import worth  # noqa: E402
from seedvote.dialogue.files import write_records  # noqa: E402
from seedvote.dialogue.judges import read_verdicts  # noqa: E402
from seedvote.dialogue.records import Candidate, Pair, Utterance, Verdict, Vote  # noqa: E402

CHOICES = {"MarCo": "a", "HDSA": "b", "Tie": "tie"}
QUESTION = 'question = "Which response gives the user more of what was asked for?"\n'


def main(source, study, number):
    """Write the study, judge it, and print both answers."""
    found = list(turns(source))
    random.Random(0).shuffle(found)
    study.mkdir(parents=True, exist_ok=True)
    (study / "hit.toml").write_text(QUESTION)
    write_records(study / "pairs.jsonl", [pair for pair, _ in found], signature="marco", kind=Pair)
    judge = ["-m", "evaluators", "judge", str(study), "--local", "smollm2", "--limit", str(number)]
    subprocess.run([sys.executable, *judge], cwd=ROOT, check=True)
    plain = [replace(one, probability=None) for one in read_verdicts(study / "verdicts.jsonl")]
    write_records(study / "plain.jsonl", plain, signature="marco", kind=Verdict)
    half, whole = (study / f"votes-{part}.jsonl" for part in (number // 2, number))
    for path, part in ((half, number // 2), (whole, number)):
        write_records(path, [one for _, some in found[:part] for one in some], signature="marco", kind=Vote)
    way = {"labels": "random", "clusters": "dialogue"}
    print("By its probabilities\n", judged(study, votes=half, **way), sep="\n")
    print("By its verdicts alone\n", judged(study, votes=half, verdicts=study / "plain.jsonl", **way), sep="\n")
    print("All evaluators\n", worth(study, votes=whole, clusters="dialogue"), sep="\n")


def turns(source):
    """Every turn as a pair with its three votes."""
    with gzip.open(source) as handle:
        dialogues = json.load(handle)
    for dialogue in dialogues:
        for turn in dialogue["info"]:
            name, context = f"{dialogue['file']}:{turn['turn_num']}", (Utterance("user", turn["user"]),)
            sides = Candidate(turn["MarCo"], "MarCo"), Candidate(turn["HDSA"], "HDSA")
            said = turn["MarCo vs. HDSA"]["Completion"]
            votes = [Vote(name, f"position-{k}", CHOICES[one], k, dialogue=dialogue["file"])
                     for k, one in enumerate(said, 1)]  # fmt: skip
            yield Pair(name, name, context, *sides, dialogue=dialogue["file"]), votes


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]).resolve(), int(sys.argv[3]) if len(sys.argv) > 3 else 300)
