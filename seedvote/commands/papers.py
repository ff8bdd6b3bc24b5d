"""List every table and figure of the five papers that this tool grew from, with its command and what ran here.

  python -m seedvote papers
  python -m seedvote papers --paper 004

Commands take a study of your own; STUDY stands for its folder. "Ran here" names the page with our numbers. Where it
says "not run", the command is tested on small data and nobody has paid for the papers' size yet.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from seedvote.dialogue.shell.wording import as_typed


@dataclass(frozen=True, slots=True)
class PaperItem:
    """One table or figure."""

    name: str
    shows: str
    command: str
    ran: str  # where, and on what; "not run" and why


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper, by the number that its seed has in the issues."""

    number: str
    title: str
    items: tuple[PaperItem, ...]


LAPTOP = (
    "docs/results/multiwoz.md, 2,000 dialogues, our own protocol; the papers' size: not run (examples/multiwoz_full.sh)"
)
PERSONA = "docs/results/personachat.md, a laptop's size, our own protocol"
MLP = (
    "tests: on small data; not run on these corpora, where it is fitted three times for each task and encoder: "
    "docs/results/multiwoz.md and docs/results/personachat.md have the logistic classifier"
)
AGENTS = "docs/results/agents.md, the built-in corpus"
PAPERS = (
    Paper(
        "000",
        "Parthasarathi, Pineau and Chandar 2021, Do Encoder Representations of Generative Dialogue Models Encode "
        "Sufficient Information about the Task?",
        (
            PaperItem(
                "Table 5",
                "probe tasks, MLP (printed under the logistic caption)",
                "python -m probes run STUDY --classifier mlp --protocol paper",
                MLP,
            ),
            PaperItem(
                "Table 6",
                "means over easy, medium and hard tasks",
                "python -m probes papers STUDY",
                "tests: all 15 printed cells from the printed scores; docs/results/multiwoz.md",
            ),
        ),
    ),
    Paper(
        "001",
        "Parthasarathi, Pineau and Chandar 2020, How To Evaluate Your Dialogue System",
        (
            PaperItem(
                "tie shares",
                "histogram of ties in 50,000 sets of 200 votes, HumanExp 1 to 3",
                "python analyze_ties.py STUDY/votes.jsonl",
                "simulated raters and public votes (docs/method.md); no votes of our own on MTurk",
            ),
            PaperItem(
                "BLEU-2",
                "five architectures, two corpora, three seeds",
                "python -m generation score STUDY",
                LAPTOP + "; " + PERSONA,
            ),
            PaperItem(
                "model sizes",
                "parameters of each architecture",
                "python -m generation train STUDY --preset paper",
                "tests: every size at the papers' settings",
            ),
            PaperItem(
                "Table 5",
                "probe tasks on PersonaChat, logistic",
                "python -m probes run STUDY --classifier logistic --protocol paper",
                PERSONA,
            ),
            PaperItem(
                "Tables 6 and 7",
                "probe tasks on MultiWOZ, logistic",
                "python -m probes run STUDY --classifier logistic --protocol paper",
                LAPTOP,
            ),
            PaperItem(
                "Tables 9 to 11",
                "scores by the metric that selected the checkpoint",
                "python -m probes papers STUDY",
                PERSONA + ", two seeds",
            ),
            PaperItem(
                "Table 12",
                "probe tasks on PersonaChat, MLP",
                "python -m probes run STUDY --classifier mlp --protocol paper",
                MLP,
            ),
            PaperItem(
                "Tables 13 and 14",
                "probe tasks on MultiWOZ, MLP",
                "python -m probes run STUDY --classifier mlp --protocol paper",
                MLP,
            ),
            PaperItem(
                "label distributions",
                "the most frequent labels of each task",
                "python -m probes list --corpus STUDY/corpus",
                "tests: counts of the official valid and test files",
            ),
            PaperItem(
                "courses",
                "probe scores after every epoch",
                "python -m probes papers STUDY",
                "make demo, the built-in corpus",
            ),
            PaperItem(
                "PCA pictures",
                "encoder states of the first and last epoch",
                "python -m probes papers STUDY",
                "docs/results/personachat.md",
            ),
        ),
    ),
    Paper(
        "002",
        "Lowe et al. 2016, On the Evaluation of Dialogue Systems with Next Utterance Classification",
        (
            PaperItem(
                "Figure 1",
                "the page of a question",
                "python -m crowd preview --questions examples/questions.jsonl",
                "docs/choose.md",
            ),
            PaperItem(
                "Table 1",
                "who took part",
                "python -m analysis choose STUDY --participants",
                "simulated raters; no survey of our own",
            ),
            PaperItem(
                "Table 2",
                "R@1 and R@2 of people by expertise, and of models",
                "python -m analysis choose STUDY --by knowledge --as-published --published",
                "tests: the paper's stars, 20 of 20; simulated raters",
            ),
            PaperItem(
                "dual encoder",
                "the row of the model, at the paper's settings",
                "python -m evaluators choose STUDY --dual-encoder 0,1,2 --paper",
                "not run: its corpora are not here, and on MultiWOZ an epoch takes about an hour of one core "
                "(docs/choose.md)",
            ),
        ),
    ),
    Paper(
        "003",
        "Kannan and Vinyals 2017, Adversarial Evaluation of Dialogue Models",
        (
            PaperItem(
                "62.5 %",
                "accuracy of the discriminator",
                "python -m evaluators discriminate STUDY",
                "docs/results/detection.md, own models; the paper's mail is not public",
            ),
            PaperItem(
                "Figure 1a",
                "score against length of the reply",
                "python -m evaluators discriminate STUDY",
                "docs/results/detection.md",
            ),
            PaperItem(
                "Figure 1b",
                "precision against recall",
                "python -m evaluators discriminate STUDY",
                "docs/results/detection.md",
            ),
            PaperItem(
                "people",
                "beyond the paper: whether people tell the model's replies from people's",
                "python -m generation pair STUDY --people",
                "simulated raters; no people of our own",
            ),
            PaperItem(
                "Table 1",
                "first replies of one length, by discriminator and by model; correlation -.02",
                "python -m evaluators discriminate STUDY --same-length",
                "docs/results/detection.md",
            ),
        ),
    ),
    Paper(
        "004",
        "Peng et al. 2021, RADDLE: An Evaluation Benchmark and Analysis Platform for Robust Task-oriented Dialog",
        (
            PaperItem("Table 1", "sizes of tasks and splits", "python -m evaluators perturb STUDY --describe", AGENTS),
            PaperItem(
                "Table 2",
                "all systems, the mean over tasks",
                "python -m analysis leaderboard STUDY",
                AGENTS + "; intent accuracy counts where predictions name intents (docs/task.md)",
            ),
            PaperItem(
                "Tables 3 to 5",
                "the same dialogues with changed turns and speech errors, by domain",
                "python -m analysis robustness STUDY --by domain",
                AGENTS,
            ),
            PaperItem("Figure 2", "scores by dose", "python -m analysis robustness STUDY --figure robustness", AGENTS),
            PaperItem(
                "Table 6",
                "out of domain: F1 of noticing it, and joint goal accuracy",
                "python -m probes outside STUDY",
                AGENTS,
            ),
            PaperItem(
                "Table 7",
                "unseen entities, slot by slot",
                "python -m analysis robustness STUDY --kinds entities --by slot",
                "docs/results/agents.md, all slots at once, built-in corpus",
            ),
            PaperItem(
                "Table 7, slots",
                "accuracy of each slot of predictions, of our own agents or published ones",
                "python -m evaluators task FILE --corpus CORPUS --by slot",
                "docs/task.md, three published systems on 1,000 dialogues, and a tracker's stored 94.83",
            ),
            PaperItem(
                "intent and act accuracy",
                "of predictions that name intents and acts, or of a model asked with --name-fields intents,acts",
                "python -m evaluators task FILE --corpus CORPUS",
                "docs/task.md, a bag of words on MultiWOZ 2.1; tests: a scripted chat server on the built-in corpus; "
                "no published predictions name any, and the paper's own splits are private",
            ),
            PaperItem(
                "Figure 3",
                "corpus against human evaluation",
                "python -m analysis compare STUDY",
                "docs/results.md, MarCo's public votes on three systems; not on our own agents: people have not voted "
                "on them, and simulated votes would show what was simulated",
            ),
        ),
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which paper."""
    numbers = tuple(paper.number for paper in PAPERS)
    parser.add_argument("--paper", choices=numbers, help=f"one of them: {', '.join(numbers)} (default: all)")


def run(args: argparse.Namespace) -> None:
    """Print the list."""
    for paper in PAPERS:
        if args.paper in (None, paper.number):
            print(as_typed("\n".join(list_items(paper))))


def list_items(paper: Paper) -> list[str]:
    """A paper's lines."""
    lines = [f"{paper.number}  {paper.title}"]
    for item in paper.items:
        lines += [f"  {item.name}: {item.shows}", f"    {item.command}", f"    ran here: {item.ran}"]
    return [*lines, ""]
