"""What references cost while parts of what was read come from other dialogues: STUDY/patched/.

Reads the plans of `probes patch`. Each target's reference is scored behind every site (a layer, or a group of
positions) of a dialogue with the same label, and of one with another label.

  python -m generation patched runs/demo
  python -m generation patched runs/demo --hugging-face smollm2
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue import jobs
from seedvote.dialogue.engines import running
from seedvote.dialogue.shell.command_line import tell_next

if TYPE_CHECKING:
    from seedvote.generation.patching import Subject
    from seedvote.generation.vocabulary import Vocabulary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which models."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--checkpoint", default="last", help="of the study's own models (default last)")
    add("--hugging-face", metavar="MODEL", help="a pretrained model as it is, in place of the study's own")
    add("--name", help="its name (default: that of the model)")
    add("--template", help="how it reads a dialogue, as for import")
    add("--fetch", action="store_true", help="MODEL may be fetched from the hub")
    running.add_job_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Score what is not there yet."""
    from itertools import groupby

    from tqdm import tqdm

    from seedvote.dialogue.corpora.examples import iterate_examples
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.generation.checkpoints import find_repliers
    from seedvote.generation.numbering import number_examples
    from seedvote.generation.patching import list_parts, patch_subject, read_plans, study_subjects
    from seedvote.generation.vocabulary import read_vocabulary

    plans = read_plans(args.study)
    corpus = read_corpus(args.corpus or args.study / "corpus")
    wanted = {item for plan in plans for pair in plan.pairs for item in (pair[0], pair[3])}
    splits = dict.fromkeys(plan.split for plan in plans)
    chosen = [e for split in splits for e in iterate_examples(corpus.split(split)) if e.item in wanted]
    if args.hugging_face:
        vocabulary, subjects = _pretrained_subject(args)
    else:
        vocabulary = read_vocabulary(args.study / "vocabulary.json")
        subjects = study_subjects(find_repliers(args.study), args.checkpoint)
    rows = {row.item: row for row in number_examples(chosen, vocabulary)}
    parts = list_parts(args.study, subjects, plans, vocabulary, rows)
    groups = [(name, list(group)) for name, group in groupby(parts, lambda part: part.path.parent.name)]
    todo = [
        jobs.Job(name, jobs.content_key(*[part.key for part in group]), group)
        for name, group in groups
        if not all(part.done for part in group)
    ]
    work = jobs.Work(patch_subject, (rows, vocabulary), args.study / "logs" / "patched")
    missing = sum(not part.done for part in parts)
    with tqdm(total=len(parts), initial=len(parts) - missing, disable=None, unit="task") as bar:
        for done in running.run_jobs(work, todo, running.place_of(args)):
            bar.update(done)
    print(f"{args.study / 'patched'}: {len(parts)} files of {len(rows):,} contexts")
    print(f"{len(parts) - missing} of {len(parts)} files were already there.")
    tell_next("python -m analysis patching", args.study)


def _pretrained_subject(args: argparse.Namespace) -> tuple[Vocabulary, list[Subject]]:
    from seedvote.generation.imports.hugging_face import model_place
    from seedvote.generation.patching import Subject
    from seedvote.generation.pretrained import base_of, unpack_base

    base = unpack_base(args.hugging_face, args.study / "base", fetch=args.fetch)
    vocabulary, sizes, template = base_of(base, lora=0, template=args.template, fetch=args.fetch)
    print(template.describe() + "\n" if template.name else "", end="")
    name = str(args.name or model_place(args.hugging_face).name).replace("/", "_")
    return vocabulary, [Subject(name, None, "pretrained", sizes["weights"], sizes)]
