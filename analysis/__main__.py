"""The command line of analysis."""

import sys

from seedvote.dialogue.command_line import dispatch, exit_with

COMMANDS: dict[str, str] = {
    "read": "what the program makes of a file of judgements, and why",
    "agreement": "agreement between raters, with intervals, and each rater's habits",
    "variance": "where a score's variance comes from, and whether a re-run would reverse the order",
    "plan": "votes, raters and seeds needed, their cost, and whether a running study may stop",
    "preference": "which system is preferred, the ranking, and which systems are equivalent",
    "ratings": "which system is rated higher on a scale, by paired means and by odds",
    "ranks": "which system is ranked higher where several are judged at once, by mean ranks",
    "judge": "what a judge (a language model as rater) is like, and how many votes of people it is worth",
    "worth": "what every evaluator that scores both sides of a pair is worth in votes of people",
    "compare": "people, metrics and probes side by side: spread over seeds and what certainty costs",
    "compare-runs": "which system scores higher, by logs of inspect_ai, lm-eval, lighteval, HELM or a table",
    "choose": "who picks what was really said: people and models on the same questions",
    "robustness": "what typos, paraphrases and speech errors cost: paired drops by dose, with intervals",
    "leaderboard": "systems in order of a mean over tasks, with ranks that hold all at once",
    "erasure": "whether decoders use what their encoders hold: what changes when a task is erased",
    "import-scores": "bring the scores of your own metric into a study, beside people",
    "report": "one self-contained HTML page of a whole study",
    "browse": "one page of every pair with its votes, to filter and to search",
    "ties": "the share of ties in each HumanExp, with intervals (= analyze_ties.py)",
    "watch": "keep the tie figures of a running study up to date",
}
FIRST = "python analyze_ties.py examples/votes.csv --out runs/first"

if __name__ == "__main__":
    exit_with(
        lambda: dispatch(
            "analysis",
            "Analyse votes and scores, with the uncertainty of every number.",
            COMMANDS,
            sys.argv[1:],
            first=FIRST,
        )
    )
