"""Every question to the data, with its options and their defaults: one table for commands, notebooks and `--json`.

To add a question: its file in this folder, with the function that asks it, its row here, and its page in docs/. Then
`python -m tests.house.reference` names it for type checkers and writes its options into docs/reference/.
Light, so that --help is quick; a question is imported when it is asked.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.analysis.arguments import (
    CLUSTERS,
    FIGURE,
    FLAG,
    LATEX,
    PEOPLE,
    QUESTION,
    READING,
    STATED,
    STATED_OF_STUDY,
    UNVERIFIED,
    VOTES,
    WITH_JUDGES,
    Option,
    Question,
    draws,
    follow_with,
    read_columns,
    read_values,
    repeat_clusters,
    split_names,
    study_beside,
)
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import next_command, repeat_options

if TYPE_CHECKING:
    from seedvote.analysis.showing.result import Result

SCORED = ("votes.jsonl", "scores.parquet", "metrics.parquet")  # each alone is enough for a report
PAIRS = Option("--pairs", "pairs.jsonl (default: the one beside the votes)", metavar="FILE", kind=Path)
MARGIN = Option(
    "--margin",
    "net preference, 0 to 1, below which systems count as equivalent (e.g. 0.1)",
    metavar="M",
    kind=float,
)


def seed(help: str) -> Option:
    """--seed of whatever a question draws."""
    return Option("--seed", help, 0, kind=int)


def votes_of_study(help: str = "votes of people (default: STUDY/votes.jsonl)") -> Option:
    """Other votes than those of the study."""
    return Option("--votes", help, metavar="FILE", kind=Path)


def study(help: str, *, metavar: str | None = None, nargs: str | None = None) -> Option:
    """The study folder."""
    return Option("study", help, metavar=metavar, kind=Path, nargs=nargs)


def folder_of(votes: Path) -> Path:
    """The folder of the votes, where files go that belong to them."""
    return votes if votes.is_dir() else votes.parent


def after_agreement(args: argparse.Namespace, result: Result) -> str:
    """Preference reads a, b and tie only, two or more; of other labels, what their votes vary with comes next."""
    if args.labels == "tie" and result.document["votes"] > 1:
        return follow_with("preference", "votes", *STATED, "clusters")(args, result)
    return report_or_plan(args)


def report_or_plan(args: argparse.Namespace, plan: str = "python -m analysis plan") -> str:
    """A study has its report; otherwise there are votes to plan."""
    if args.votes is not None and (folder := study_beside(args.votes)):
        options = [*repeat_clusters(args), *repeat_options(args, *STATED_OF_STUDY)]
        return next_command("python -m analysis report", folder, *options)
    return plan


def after_preference(args: argparse.Namespace, result: Result) -> str:
    """Probes where models were encoded and not probed yet; of a whole study the report, of votes alone theirs."""
    folder = study_beside(args.votes)
    if folder and (folder / "states").is_dir() and not (folder / "scores.parquet").exists():
        return next_command("python -m probes run", folder)
    return report_or_plan(args, follow_with("report", "votes", *STATED, "clusters")(args, result))


def after_ratings(args: argparse.Namespace, result: Result) -> str:
    """A study of ours has its report."""
    from seedvote.analysis.votes.inputs import ratings_file

    ours = ratings_file(args.table)
    return follow_with("report", "table", "question")(args, result) if ours else "python -m analysis plan"


def after_variance(args: argparse.Namespace, result: Result) -> str:
    """The report of the study that the first file belongs to; else how many seeds, or votes, would tell more."""
    first = args.scores[0]
    if first.is_dir() or first.name in SCORED:
        options = repeat_options(args, *STATED_OF_STUDY)
        return next_command("python -m analysis report", folder_of(first), *options)
    if args.score in ("tie", "net"):
        return next_command("python -m analysis plan", first, *repeat_options(args, *STATED))
    sds = [
        part["sd"]
        for table in result.document["tables"]
        for part in table["components"]
        if part["name"] == "model:seed"
    ]
    first_sd = next((sd for sd in sds if sd > 0), None)
    return next_command("python -m analysis plan", *([] if first_sd is None else ["--seed-sd", f"{first_sd:.4g}"]))


def after_compare_runs(args: argparse.Namespace, result: Result) -> str:
    """The same with a margin, or written down."""
    del result
    more = ("--json", "compared.json") if args.margin is not None else ("--margin", "0.02")
    options = repeat_options(args, "metric", "columns", "margin", "paired")
    options += [] if args.cluster == "auto" else ["--cluster", args.cluster]
    return next_command("python -m analysis compare-runs", *args.systems, *options, *more)


def after_browse(args: argparse.Namespace, result: Result) -> str:
    """The page is to be opened; of questions, their answers are to be counted."""
    if "questions" in result.document:
        return next_command("python -m analysis choose", args.votes)
    return next_command("python -m webbrowser", Path(result.written).resolve().as_uri())


def refuse_reading_of_nothing(args: argparse.Namespace) -> None:
    """A plan without votes has none to read."""
    if args.votes is None and (stated := repeat_options(args, *STATED)):
        raise InputError(f"{' '.join(stated)} says how votes are to be read: name their table too, or leave it out.")


def refuse_margin(text: str) -> None:
    """It was once the name of --within; elsewhere it is a net preference."""
    raise InputError(f"compare has no --margin; the wanted precision of a mean is --within {text}.")


def read_two(text: str) -> tuple[str, str]:
    """`A,B` of --compare."""
    first, _, second = (name.strip() for name in text.partition(","))
    return first, second


def read_sizes(texts: list[str]) -> list[dict[str, float]]:
    """`F=N,...` of each --sizes."""
    from seedvote.dialogue.importing.reading import parse_names

    return [{name: _read_size(name, size) for name, size in parse_names(text, "--sizes")} for text in texts]


def _read_size(name: str, text: str) -> float:
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not size > 0:
        raise InputError(f"--sizes has {name}={text}; a number above 0 is expected, e.g. seed=10,item=500.")
    return size


def read_weights(text: str) -> dict[str, float]:
    """`TASK=W,...` of --weights."""
    weights: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, weight = part.partition("=")
        try:
            value = float(weight or 1)
        except ValueError:
            value = -1.0
        if not 0 < value < math.inf or name in weights:
            raise InputError(f"--weights has {part!r}; write each task once with a number above 0: jga=1,combined=2")
        weights[name] = value
    return weights


QUESTIONS = (
    Question(
        name="agreement",
        title="agreement between raters, with intervals, and each rater's habits",
        about="""\
How far raters agree: Fleiss' kappa, Krippendorff's alpha, Gwet's AC1, each label and each rater, with intervals.

The intervals draw pairs (or dialogues) and raters anew: --clusters. With --labels any, every value of the choice is a
label of its own: numbers are ordered as numbers, and --labels low,middle,high gives words an order. Without an order
there is no ordinal or interval alpha. The usual labels are ordered a, tie, b.
""",
        home="agreement.showing",
        options=(
            VOTES,
            *READING,
            Option(
                "--labels",
                "tie: a, b and tie (default); any: every value found; or the labels in rising order",
                "tie",
                "tie|any|L1,L2",
            ),
            CLUSTERS,
            *PEOPLE,
            seed("seed of the random halves (default 0)"),
            Option(
                "--posteriors",
                "write the probability that each label is a pair's true label, as CSV",
                metavar="FILE",
                kind=Path,
            ),
            Option(
                "--model",
                "whose probabilities --posteriors writes (default dawid-skene)",
                "dawid-skene",
                choices=("dawid-skene", "mace"),
            ),
            draws("draw the coefficients (STEM.png, .pdf) and the raters (STEM-raters.*, STEM-spam.*)"),
        ),
        follow=after_agreement,
    ),
    Question(
        name="variance",
        title="where a score's variance comes from, and whether a re-run would reverse the order",
        about="""\
Find out where a score's variance comes from (architecture, seed, item, rater), and what a re-run would show.

Takes a study folder and gives the tables of its report; or takes any long table: scores.parquet, metrics.parquet, CSV
or JSON Lines with a score column and one column per factor; or with --score tie or --score net a file of votes. Prints
the components with intervals, generalisability, the error of studies of other sizes (--sizes seed=10,item=500), and the
chance that new seeds, items or raters reverse two systems. --compare A,B adds the difference of two models in a corpus
metric, with seeds and items resampled together.
""",
        home="variance.showing",
        reported="variance",
        unknown="",
        options=(
            Option("scores", "a STUDY folder, or Parquet, CSV or JSON Lines", metavar="SCORES", kind=Path, nargs="+"),
            Option("--score", "score column; tie or net for votes (default score)", "score", "COLUMN|tie|net"),
            Option("--factors", "columns (default model,seed,item,rater)", "", "F1,F2,...", convert=split_names),
            Option("--target", "the factor whose levels are compared (default model)", "model", "FACTOR"),
            Option(
                "--sizes",
                "size of another study to predict; may be repeated",
                [],
                "F=N,...",
                action="append",
                convert=read_sizes,
            ),
            Option("--only", "only tables whose names contain all these words", "", "WORDS"),
            Option("--pairs", "votes: pairs.jsonl (default: the one beside them)", metavar="FILE", kind=Path),
            *READING,
            Option("--compare", "compare two models by the multi-bootstrap", metavar="A,B", convert=read_two),
            Option("--metric", "what --compare compares (default mean)", "mean", choices=("mean", "micro_f1", "bleu2")),
            Option("--paired", "for --compare: seed k is the same start or data order in both models", action=FLAG),
            Option("--sets", "simulated tables for the intervals (default 200)", 200, kind=int),
            seed("seed of the simulation (default 0)"),
            draws("draw the shares of variance: STEM.png and .pdf; the SDs of each table: STEM-1.png, ..."),
        ),
        follow=after_variance,
    ),
    Question(
        name="plan",
        title="votes, raters and seeds needed, their cost, and whether a running study may stop",
        about="""\
Find out how many votes, raters and seeds you need, what they cost, and whether a running study may stop.

Without VOTES the plan follows from what you assume (--ties, --pair-icc, --rater-icc). With VOTES it follows from what
they show, and each comparison gets an interval that stays valid no matter how often you look. The tables give the votes
needed to show a difference, or to show that two systems are equivalent within a margin: for independent votes, for
votes of a crowd, and for a study that may stop early.
""",
        home="planning.showing",
        options=(
            replace(VOTES, nargs="?"),
            *READING,
            PAIRS,
            Option("--difference", "net preference to be shown, 0 to 1 (default .16)", 0.16, "D", float),
            Option(
                "--margin",
                "net preference, 0 to 1, below which systems count as equivalent (default: .167 in the tables, none "
                "for a running study)",
                None,
                "M",
                float,
            ),
            Option("--size", "votes of the planned study (default 200)", 200, kind=int),
            Option("--power", "power (default .8)", 0.8, kind=float),
            Option("--alpha", "significance level (default .05)", 0.05, kind=float),
            Option("--ties", "share of ties (default .35, as in the papers)", 0.35, kind=float),
            Option("--per-pair", "votes per pair (default 3)", 3, kind=float),
            Option("--per-rater", "votes per rater (default 12)", 12, kind=float),
            Option("--pair-icc", "correlation of votes on one pair (default .3)", 0.3, kind=float),
            Option("--rater-icc", "correlation of one rater's votes (default .1)", 0.1, kind=float),
            Option("--per-dialogue", "pairs per dialogue (default 1)", 1, kind=float),
            Option(
                "--dialogue-icc",
                "correlation of votes on different pairs of one dialogue (default .1)",
                0.1,
                kind=float,
            ),
            Option(
                "--rater-cv", "SD of the votes per rater, divided by their mean (default 0: equal work)", 0, kind=float
            ),
            Option("--price", "pay for one vote", None, "DOLLARS", float),
            Option("--fee", "marketplace fee, as a share of the pay (default .2)", 0.2, kind=float),
            Option("--seed-sd", "a score's SD over seeds, to plan the seeds", None, "SD", float),
            Option(
                "--judge-correlation", "a judge's correlation with people's pair means (see judge)", None, "R", float
            ),
            Option("--unlabelled", "further pairs that the judge alone rules on", None, "N", int),
            Option("--rater-share", "part of the variance that raters make (default: this crowd's)", None, "S", float),
            Option("--verdict-price", "price of the judge's verdicts on one pair, all orders", None, "DOLLARS", float),
            Option(
                "--adaptive",
                "votes until the best of so many systems is known, given out evenly and adaptively (takes a minute)",
                None,
                "SYSTEMS",
                int,
            ),
            Option("--most", "votes that such a study may have at most (default 3000)", 3000, kind=int),
            CLUSTERS,
            seed("seed of the simulated early stopping (default 0)"),
            draws("draw power and stopping: STEM.png, STEM-stopping.png (and .pdf)"),
        ),
        follow=lambda args, _: report_or_plan(args, "python -m crowd plan-checks"),
        check=refuse_reading_of_nothing,
    ),
    Question(
        name="replay",
        title="how many votes a finished study would have needed, given out evenly or adaptively",
        about="""\
Find out how many votes a finished study would have needed for its conclusion.

Draws the study's dialogues anew and gives their votes out in batches, evenly or by the adaptive rule of `crowd serve`.
Counts how often the answer differs from that of all votes. Says what the adaptive rule saves where both err as often.
With --judge also what a judge's verdicts save beyond that.
""",
        home="replay",
        options=(
            VOTES,
            *READING,
            PAIRS,
            Option("--judge", "a judge's verdicts on these pairs, to help the adaptive design", None, "FILE", Path),
            Option(
                "--aim",
                "the question: best (which system is best, default), ranking, better (is A better than B), alike (are "
                "A and B equivalent within --margin)",
                "best",
                choices=("best", "ranking", "better", "alike"),
            ),
            Option("--systems", "the two systems of better and alike", "", "A,B", convert=split_names),
            Option("--margin", "net preference, 0 to 1, of alike (default .1)", 0.1, "M", float),
            Option("--fewest", "votes that each pair gets at least, in the adaptive design (default 2)", 2, kind=int),
            Option("--floor", "part of each batch that all comparisons share alike (default .2)", 0.2, kind=float),
            Option("--replays", "replays of each design (default 200)", 200, kind=int),
            seed("seed of the replays (default 0)"),
            FIGURE,
        ),
        follow=lambda args, _: next_command("python -m analysis plan", args.votes, *repeat_options(args, *STATED)),
    ),
    Question(
        name="preference",
        title="which system is preferred, the ranking, and which systems are equivalent",
        about="""\
Which system raters prefer, with what certainty, and whether two systems are equivalent.

Prints the net preference: the share for the first minus the share for the second, with ties in the denominator. Its
interval allows for dialogues and raters. Also printed are the exact sign test, left against right, change over the
rounds, and a ranking. The ranking is by Davidson's model with ties, or Rao and Kupper's, with the chance that the order
is wrong. Two systems are called equivalent only within a margin that you state before you look at the votes (--margin).
pairs.jsonl says which systems a and b are.
""",
        home="preference.showing",
        options=(
            VOTES,
            *READING,
            PAIRS,
            MARGIN,
            Option(
                "--model", "model of the ranking (default davidson)", "davidson", choices=("davidson", "rao-kupper")
            ),
            CLUSTERS,
            *PEOPLE,
            Option("--sets", "draws behind the sets of ranks (default 5000)", 5000, kind=int),
            Option(
                "--careful",
                "add a Bayesian hierarchical model, for few or unequal raters (default: if they are worth "
                "fewer than 8)",
                action=argparse.BooleanOptionalAction,
            ),
            Option(
                "--mixed",
                "add a mixed logit of the decisive votes, with crossed effects of raters and pairs",
                action=FLAG,
            ),
            Option(
                "--covariates",
                "also rank at equal length, markdown, lists, or measures of the study's scores",
                "",
                "NAME,...",
                convert=split_names,
            ),
            seed("seed of these samples (default 0)"),
            draws("draw the comparisons and the ranks: STEM.png, STEM-NAME.png and .pdf"),
        ),
        follow=after_preference,
    ),
    Question(
        name="ratings",
        title="which system is rated higher on a scale, by paired means and by odds",
        about="""\
Compare systems that people rated on a scale (1 to 5, say), or with a slider.

Takes any table with one row a rating (columns score, system, item, rater) or one column a system (--systems
ours,theirs). With --wide KEY it takes one row a person; the key's columns are column, item and system. The ratings of
one rater on one item belong together. So the difference of their means has an interval that allows for items and
raters. So does the odds ratio of a proportional-odds model, which does not take the steps as equal. It also prints how
often each system was rated higher, and the net preference that follows. Where raters or items differ from system to
system, a linear mixed model compares all ratings (rater, item and seed random). Several questions are analysed one by
one (--question).
""",
        home="ratings.showing",
        options=(
            Option("table", "ratings: CSV, JSON, Excel, Parquet, ...; or a STUDY", metavar="FILE", kind=Path),
            Option("--systems", "one column a system: their names", "", "S1,S2,...", convert=split_names),
            Option("--columns", "score, system, item, rater, dialogue", "", "OURS=THEIRS,...", convert=read_columns),
            Option(
                "--values",
                'words in numbers, e.g. 1="Not at all",2=Somewhat',
                "",
                "NUMBER=WORD,...|FILE",
                convert=read_values,
            ),
            Option("--wide", "one row a person: KEY says item and system of each column", metavar="KEY"),
            Option("--question", "which of several questions", "", "NAME"),
            draws("draw the differences: STEM.png and STEM.pdf"),
            Option("--mixed", "a mixed model also where ratings come in pairs", action=FLAG),
            CLUSTERS,
        ),
        follow=after_ratings,
    ),
    Question(
        name="ranks",
        title="which system is ranked higher where several are judged at once, by mean ranks",
        about="""\
Compare systems that people ranked, several at a time: mean ranks, and every two systems within the same rankings.

Takes the ratings.jsonl of a study of response sets, or any table with one row a rank (columns rank, system, item,
rater) or one column a system (--systems ours,theirs). Rank 1 is the best; equals share the mean of their ranks. The
comparisons that one ranking implies are one answer of one rater, so the intervals allow for items and raters and never
take them as independent votes. Several questions are analysed one by one (--question).
""",
        home="ratings.showing",
        options=(
            Option("table", "ranks: CSV, JSON, Excel, Parquet, ...; or a STUDY", metavar="FILE", kind=Path),
            Option("--systems", "one column a system: their names", "", "S1,S2,...", convert=split_names),
            Option("--columns", "rank, system, item, rater, dialogue", "", "OURS=THEIRS,...", convert=read_columns),
            Option("--question", "which of several questions", "", "NAME"),
            draws("draw the mean ranks: STEM.png and STEM.pdf"),
            CLUSTERS,
        ),
        follow=after_ratings,
    ),
    Question(
        name="judge",
        title="what a judge (a language model as rater) is like, and how many votes of people it is worth",
        about="""\
What a judge, that is a program which rules on pairs as a rater would, is worth beside people.

Prints its habits, which need no person (orders that contradict each other, the first place, ties, length, its own
family, circles); its agreement with votes, next to what one more person would reach; and people's net preference, win
rate and ties with its help on the pairs that nobody voted on, with intervals that allow for pairs and raters. The gain
says how many votes the judge is worth. Verdicts stand in STUDY/verdicts.jsonl: `python -m evaluators judge` makes them.
""",
        home="judge.showing",
        reported="judge",
        unknown="What the judges are worth is unknown.",
        options=(
            study("study folder with pairs.jsonl"),
            votes_of_study(),
            Option("--verdicts", "verdicts of judges (default: STUDY/verdicts.jsonl)", metavar="FILE", kind=Path),
            Option("--judges", "these judges only (default: all)", "", "NAME,...", convert=split_names),
            Option(
                "--labels",
                "how the pairs with votes were drawn: random, strata COLUMN, weights COLUMN (fields of pairs.jsonl)",
                metavar=("HOW", "COLUMN"),
                nargs="+",
            ),
            Option(
                "--tuned-on", "pairs that the prompt was written by, one id a line: left out", metavar="FILE", kind=Path
            ),
            *READING,
            CLUSTERS,
            seed("seed of folds and groups (default 0)"),
            FIGURE,
        ),
        follow=follow_with("report", "study", "clusters"),
        function="judged",
    ),
    Question(
        name="worth",
        title="what every evaluator that scores both sides of a pair is worth in votes of people",
        about="""\
What every evaluator that scores both sides of a pair is worth in votes of people.

Takes token metrics, judges, your own scores (import-scores) and the length of a response. Prints for each, and for all
together, the correlation of its differences with people's votes and the part of the votes that it could save. Intervals
allow for dialogues and raters. No language model is needed.
""",
        home="worth",
        reported="worth",
        unknown="",
        options=(
            study("study folder with pairs.jsonl and votes"),
            votes_of_study(),
            *READING,
            CLUSTERS,
            seed("seed of folds and groups (default 0)"),
            FIGURE,
        ),
        follow=follow_with("report", "study", "clusters"),
    ),
    Question(
        name="compare",
        title="people, metrics and probes side by side: spread over seeds and what certainty costs",
        about="""\
Compare people, token metrics and probes: how much each varies with seeds, items and raters.

Reads votes.jsonl, pairs.jsonl and every score table of STUDY, as their cards say. Prints one table of
methods, the chance that a re-run reverses the order of two architectures, and the cost of knowing a mean; draws one
figure. --published adds the papers' numbers, with each printed "+-" converted to a standard deviation.
""",
        home="comparison.showing",
        options=(
            study("study folder, e.g. runs/demo", metavar="STUDY"),
            Option("--published", "add the papers' own numbers", action=FLAG),
            Option("--within", "wanted precision of a mean, in points (default 2)", 2.0, "POINTS", float),
            Option("--margin", argparse.SUPPRESS, convert=refuse_margin),
            Option("--pay", "pay for an hour of rating, to price the study", None, "MONEY", float),
            Option("--machine", "price of an hour of training, to price the study", None, "MONEY", float),
            FIGURE,
            CLUSTERS,
            QUESTION,
            UNVERIFIED,
            WITH_JUDGES,
        ),
        follow=follow_with("report", "study", *STATED_OF_STUDY),
    ),
    Question(
        name="compare-runs",
        title="which system scores higher, by logs of inspect_ai, lm-eval, lighteval, HELM or a table",
        about="""\
Which evaluated system scores higher, from the logs of inspect_ai, lm-eval, lighteval, HELM or a table of scores.

Each argument is one system, by its file or folder: `NAME=PATH`, and `NAME=PATH,PATH` for several runs of one system
(training seeds). Differences are paired by item; items of one document or dialogue are drawn together. A table with
one row a training run (columns model, seed, bleu) has no items: its runs are compared by Welch's t.
""",
        home="compare_runs",
        options=(
            Option("systems", "logs of one system", metavar="[NAME=]PATH[,PATH]", nargs="+"),
            Option("--metric", "only this metric, or TASK:METRIC", "", "NAME"),
            Option(
                "--cluster",
                "field of an item that groups items, dotted where nested; `none`; default: a field by a known name",
                "auto",
                "FIELD",
            ),
            Option("--margin", "differences within it count as equivalent", None, "SCORE", float),
            Option("--paired", "one row a run: seed k is the same start or data order in all systems", action=FLAG),
            Option(
                "--columns",
                "columns of a table: item, score, system, run, epoch, task",
                "",
                "item=NAME,...",
                convert=lambda text: dict(read_columns(text)),
            ),
            FIGURE,
        ),
        follow=after_compare_runs,
        function="compare_runs",
    ),
    Question(
        name="choose",
        title="who picks what was really said: people and models on the same questions",
        about="""\
Next-utterance choice: how often people and models picked what was really said, and how far they lie apart.

Reads questions.jsonl, people's answers (choices.jsonl, or any table) and models' scores (nuc.parquet, written by
`evaluators choose`). Shares have intervals for dialogues and raters, or for dialogues and training seeds; Wilson's
stands beside them, and --as-published prints the table as Lowe et al. (2016) do. People and models are compared on the
same questions.

Example: python -m analysis choose runs/demo --by knowledge
""",
        home="choice.showing",
        reported="choice",
        options=(
            study("study folder with questions.jsonl", metavar="STUDY"),
            Option(
                "--choices", "people's answers (default: STUDY/choices.jsonl), or any table", metavar="FILE", kind=Path
            ),
            Option(
                "--columns",
                "names of its columns, e.g. first=best,second=next",
                "",
                "OURS=THEIRS,...",
                convert=read_columns,
            ),
            Option("--count-from", "number of the first option there (default 0)", 0, kind=int, choices=(0, 1)),
            Option(
                "--by",
                "strata of people: what raters.jsonl says of them, e.g. knowledge; under 5 people are hidden",
                "",
                "NAME",
            ),
            Option("--raters", "a table of people instead, whose column --by names", metavar="TABLE", kind=Path),
            Option("--uncounted", "use late answers and those of blocked raters too", action=FLAG),
            Option("--as-published", "half-widths and stars as Lowe et al. 2016 print them", action=FLAG),
            Option("--published", "their own cells of people, with the answers that these imply", action=FLAG),
            Option("--participants", "who took part; answers of under 5 people are hidden", action=FLAG),
            draws("draw R@1: STEM.png and STEM.pdf"),
            LATEX,
            CLUSTERS,
        ),
        follow=follow_with("report", "study", "clusters"),
        function="choice",
    ),
    Question(
        name="robustness",
        title="what typos, paraphrases and speech errors cost: paired drops by dose, with intervals",
        about="""\
What typos, paraphrases and speech errors cost: the drop of every score, paired by dialogue, with seeds as a level.

Reads the score tables of STUDY (the clean corpus) and of STUDY/conditions/KIND@DOSE-SEED (made by evaluators perturb).
Prints every drop with its interval, what the highest dose costs beyond the lowest, and whether BLEU notices what joint
goal accuracy notices; draws dose against drop, one panel a kind.
""",
        home="robustness",
        reported="robustness",
        unknown="",
        options=(
            study("study folder with conditions/, e.g. runs/demo", metavar="STUDY"),
            Option("--kinds", "kinds of perturbation, separated by commas (default: all)", "", convert=split_names),
            Option("--tasks", "tasks such as jga,success (default: all main ones, and bleu)", "", convert=split_names),
            Option("--models", "models, separated by commas (default: all)", "", convert=split_names),
            Option("--by", "ask for each domain, or each slot, by itself", "", choices=("domain", "slot")),
            draws("write STEM.png and STEM.pdf, a figure a task"),
        ),
        follow=follow_with("leaderboard", "study"),
    ),
    Question(
        name="leaderboard",
        title="systems in order of a mean over tasks, with ranks that hold all at once",
        about="""\
Systems in order of a weighted mean of tasks: intervals for dialogues and seeds, ranks that hold all at once.

A system is the mean over its training seeds; one that has a single seed is marked. Ranks are simultaneous 95 %
intervals, and neighbours are compared paired by dialogue with Holm's correction.

Example: python -m analysis leaderboard runs/demo --weights jga=1,combined=1
""",
        home="leaderboard",
        reported="leaderboard",
        unknown="",
        options=(
            study("study folders whose systems answered the same dialogues", metavar="STUDY", nargs="+"),
            Option(
                "--weights",
                "tasks that count, e.g. jga=1,combined=1 (default: all main ones)",
                "",
                "TASK=W",
                convert=read_weights,
            ),
            Option("--condition", "order under a condition, e.g. typos@0.5-0 (default: clean)", "", "NAME"),
            Option(
                "--claims", "printed numbers to hold against: system, columns named as tasks", metavar="CSV", kind=Path
            ),
            Option("--seed", "seed of the draws behind the ranks (default 0)", 0, "S", int),
            FIGURE,
        ),
        follow=lambda args, _: next_command("python -m analysis compare", args.study[0]),
        spreads=True,
    ),
    Question(
        name="erasure",
        title="whether decoders use what their encoders hold: what changes when a task is erased",
        about="""\
Does the decoder use what the encoder holds? What changes when a task is erased, beyond random erasers of its rank.

Reads STUDY/erasers (probes erase) and STUDY/erased (generation erased). Prints what a probe reads before and after,
what the reference then costs, and how many replies change and how. Each has an interval for new dialogues and seeds.
Says whether the decoder uses the task, does not, or whether that is not known.

Example: python -m analysis erasure runs/demo
""",
        home="erasure",
        reported="erasure",
        unknown="What the decoders use is unknown.",
        options=(
            study("study folder with erasers/ and erased/", metavar="STUDY"),
            Option("--margin", "nats a token that are too few to matter (default .01)", 0.01, kind=float),
            FIGURE,
        ),
        follow=follow_with("compare", "study"),
    ),
    Question(
        name="patching",
        title="where decoders find what they use: sites patched with another dialogue",
        about="""\
Where does what a decoder uses lie? What a reference costs when a site comes from a dialogue of another label.

Reads STUDY/patched (generation patched). A site is a layer or a group of positions. The null is a dialogue of the same
label. Prints the effect of each site and its share of that of the whole context, with intervals for new dialogues and
seeds.

Example: python -m analysis patching runs/demo
""",
        home="patching",
        reported="patching",
        unknown="Where decoders find what they use is unknown.",
        options=(
            study("study folder with patched/", metavar="STUDY"),
            Option("--margin", "share of the effect of everything that is too little to matter (.1)", 0.1, kind=float),
            FIGURE,
        ),
        follow=follow_with("compare", "study"),
    ),
    Question(
        name="browse",
        title="one page of every pair with its votes, to filter and to search",
        about="""\
Write a page of every pair (STUDY/browse.html): its conversation, both responses, and the votes that count.

Filter it by system, length, turn, agreement and any further field of pairs.jsonl (e.g. domain), search it, and read
what raters commented. The page is one file that needs no network; without script it is a list. No rater appears in it.
Prints what the votes say in each slice, with the intervals of the analysis. A table of votes alone has no texts: give
--pairs. A study of the form choice gives a page of its questions, with the picks of each option and the comments; one
of the form responses a page of its sets, with every rank and rating (--pairs names the file of sets, where it lies
elsewhere).
""",
        home="browse.page",
        options=(
            VOTES,
            *READING,
            Option(
                "--pairs",
                "pairs.jsonl, or response_sets.jsonl, with the texts (default: beside VOTES)",
                metavar="FILE",
                kind=Path,
            ),
            Option(
                "--out",
                "the page (default: browse.html beside the votes, browse-NAME.html with --question)",
                metavar="FILE",
                kind=Path,
            ),
            Option("--title", "heading of the page (default: the name of the study)"),
            CLUSTERS,
        ),
        follow=after_browse,
        in_notebook=False,
    ),
    Question(
        name="ties",
        title="the share of ties in each HumanExp, with intervals (= analyze_ties.py)",
        about="""\
Show the share of ties in each HumanExp, how much it varies in sets of votes, and its 95 % interval.

Writes ties.json, ties.png and ties.pdf beside the votes (or to --out) and prints tables and plain sentences.
""",
        home="ties.showing",
        options=(
            VOTES,
            *READING,
            Option("--sets", "sets to sample if there is no exact distribution (default 50000)", 50_000, kind=int),
            Option("--size", "votes in a set, exactly (default: 200, or half of a HumanExp that has fewer)", kind=int),
            seed("seed of the sampled sets (default 0)"),
            Option(
                "--unit",
                "what is drawn to form a set: single votes, as in the papers (default), or whole pairs, dialogues, "
                "...; the last one is cut at random",
                "vote",
                choices=("vote", "pair", "item", "dialogue", "rater", "pair+rater", "item+rater", "dialogue+rater"),
            ),
            CLUSTERS,
            Option("--replace", "draw sets with replacement", action=FLAG),
            Option(
                "--method",
                "compute the distribution exactly (default) or sample it",
                "exact",
                choices=("exact", "sample"),
            ),
            Option("--mixed", "add a mixed logit with crossed effects of raters and pairs", action=FLAG),
            Option(
                "--out",
                "where to write (default: beside the votes)",
                metavar="DIR",
                kind=Path,
                otherwise=lambda args: folder_of(args.votes),
            ),
        ),
        follow=follow_with("agreement", "votes", *STATED, "clusters"),
    ),
)

COMMANDS = {question.name: question for question in QUESTIONS}
NAMES = {question.function or question.name: question for question in QUESTIONS if question.in_notebook}  # in Python
