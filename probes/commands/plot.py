"""Draw the figures of a study's probes into STUDY/probes/. A figure is drawn if its data exist.

layers        scores by layer, with baselines, control and untrained twin; models without layers at the right
evolution     scores over epochs, a band over seeds (needs epoch-N or step-N: probes run --checkpoints all)
difficulty    means over easy, medium and hard tasks, by untrained models, or by a bag of words where there are none
selection     scores at the checkpoint that each metric selected, or else at every checkpoint
beside-bleu2  probe scores against a token metric, with their rank correlation (needs STUDY/metrics.parquet)
states        states of the first and the last checkpoint on common principal axes (fitted on train)

Of a model with layers, all but the first show its highest layer.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and where its parts lie."""
    add = parser.add_argument
    add("study", type=Path, metavar="STUDY", help="folder of the study")
    add("--corpus", type=Path, metavar="PATH", help="the corpus (default: STUDY/corpus)")
    add("--states", nargs="+", type=Path, metavar="FILE", help="these arrays (default: those in STUDY/states)")
    add("--scores", type=Path, metavar="FILE", help="score table (default: STUDY/scores.parquet)")
    add("--classifier", default="logistic", help="classifier whose scores are drawn (default: logistic)")
    add("--metric", default="bleu2", help="token metric to compare with (default: bleu2)")


def run(args: argparse.Namespace) -> None:
    """Draw what can be drawn; say what cannot and why."""
    from seedvote.probes.plots import FigureRequest, figures_of, save_figures

    request = FigureRequest(args.study, args.corpus, args.states, args.scores, args.classifier, args.metric)
    folder = args.study / "probes"
    for name, reason in save_figures(figures_of(request), folder).items():
        print(f"{name}: not drawn, {reason}" if reason else f"{name}: {folder / name}.png and .pdf")
    tell_next("python -m analysis compare", args.study)
