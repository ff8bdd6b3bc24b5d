"""The command line of evaluators."""

import sys

from seedvote.dialogue.shell.command_line import dispatch, exit_with

COMMANDS: dict[str, str] = {
    "questions": "questions for next-utterance choice: the truth among false options, with what length alone gets",
    "choose": "R@1, R@2 and MRR of models, frozen encoders and simple rules on the same questions",
    "discriminate": "whether replies can be told from people's, and by what",
    "score": "scores of responses by an evaluator that another package brings",
    "task": "task success of predictions: Inform, Success, joint goal accuracy, BLEU, with intervals",
    "judge": "a language model as one more rater: verdicts on pairs, kept apart from votes",
    "perturb": "the same dialogues told otherwise: typos, paraphrases, speech errors, unseen entities",
}
FIRST = "python -m evaluators task predictions.json --corpus multiwoz"

if __name__ == "__main__":
    exit_with(
        lambda: dispatch("evaluators", "Automatic evaluators of dialogue models.", COMMANDS, sys.argv[1:], first=FIRST)
    )
