"""Draw questions for next-utterance choice: a context, what was really said, and false options of other dialogues.

What length, shared words and TF-IDF get is printed at once, next to chance. A set on which the shortest option is right
too often measures length. Candidate sets of others (MuTual, ParlAI, a table) come in with --from.

Example: python -m evaluators questions runs/demo --n 200
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import refuse_below, tell_next

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seedvote.dialogue.records import Question
    from seedvote.evaluators.choosing.drawing import DrawingCount, DrawingRules


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which contexts, which false options."""
    add = parser.add_argument
    add("study", type=Path, help="study folder; questions.jsonl is written there")
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--split", choices=("train", "valid", "test"), default="test", help="split of all options (default test)")
    add("--n", type=int, default=400, metavar="N", help="contexts that are asked about (default 400)")
    add("--options", type=int, default=5, metavar="K", help="options of a question, the true one too (default 5)")
    add(
        "--false",
        choices=("uniform", "same-turn", "hard"),
        default="uniform",
        help="false options: any utterance of "
        "another dialogue (default), one of the same turn, or those most alike the truth by TF-IDF",
    )
    add("--draws", type=int, default=1, metavar="D", help="sets of false options a context (default 1)")
    add("--context", type=int, default=6, metavar="T", help="newest turns that are shown, at most (default 6)")
    add(
        "--context-law",
        choices=("lowe2015", "all"),
        default="lowe2015",
        help="how many are shown: drawn as by Lowe et al. 2015 (default), or all",
    )
    add(
        "--versions",
        type=int,
        default=4,
        metavar="V",
        help="parts of the questions, of which a person sees one (default 4)",
    )
    add("--checks", type=int, default=8, metavar="C", help="hidden checks of each version (default 8)")
    add("--mentions", action="store_true", help="show @names as @user")
    add("--prune", type=Path, metavar="FILE", help="words, one a line: what holds one is not shown (default: none)")
    add("--from", type=Path, metavar="FILE", help="candidate sets of others: MuTual's JSON, ParlAI's text, or a table")
    add("--count-from", type=int, choices=(0, 1), default=0, help="number of the first option there (default 0)")
    add(
        "--ties",
        choices=("shared", "middle"),
        default="shared",
        help="equal scores share what they get (default), or "
        "the truth ranks in their middle, as in some published numbers",
    )
    add("--seed", type=int, default=0, metavar="S", help="seed of every draw (default 0)")


def run(args: argparse.Namespace) -> None:
    """Draw or read, write, describe."""
    from seedvote.dialogue.questions import write_questions
    from seedvote.evaluators.choosing.drawing import describe_questions, questions_lines

    refuse_below(args, n=1, options=2, draws=1, context=1, versions=1, checks=0)
    source = getattr(args, "from")
    questions, drawing, left, recipe = _read_brought(args, source) if source else _draw_questions_here(args)
    path = args.study / "questions.jsonl"
    _refuse_beside_answers(path, questions)
    write_questions(path, questions, **recipe)
    print(f"{path}:")
    print("\n".join(questions_lines(describe_questions(questions, args.ties), drawing, left)))
    models = (args.study / "models").is_dir()
    tell_next(f"python -m {'generation rank' if models else 'evaluators choose'}", args.study)


Made = tuple["Sequence[Question]", "DrawingCount | None", "Mapping[str, int]", "dict[str, object]"]


def _read_brought(args: argparse.Namespace, source: Path) -> Made:
    from seedvote.evaluators.choosing.candidate_sets import read_candidate_sets

    questions = read_candidate_sets(source, first=args.count_from, versions=args.versions)
    return questions.questions, None, questions.left, {"source": source.name, "versions": args.versions}


def _draw_questions_here(args: argparse.Namespace) -> Made:
    from seedvote.dialogue.corpora.examples import iterate_examples
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.evaluators.choosing.drawing import draw_questions, drawing_recipe, pool_of

    rules = _parse_rules(args)
    corpus = read_corpus(args.corpus or args.study / "corpus")
    pool = pool_of(list(iterate_examples(corpus.split(args.split))), rules, corpus.name)
    return (
        draw_questions(pool),
        pool.counts,
        {},
        {"corpus": corpus.digest, "split": args.split, **drawing_recipe(rules)},
    )


def _parse_rules(args: argparse.Namespace) -> DrawingRules:
    from seedvote.evaluators.choosing.drawing import DrawingRules

    if args.false == "hard" and args.draws > 1:
        raise InputError("--false hard takes the options most alike the truth, which are the same in every draw.")
    if args.draws > args.versions:
        raise InputError(
            f"--draws {args.draws} needs {args.draws} versions or more, so that nobody meets one context twice."
        )
    return DrawingRules(
        options=args.options,
        n=args.n,
        context=args.context,
        law=args.context_law,
        false=args.false,
        draws=args.draws,
        versions=args.versions,
        checks=args.checks,
        mentions=args.mentions,
        pruned=_read_word_list(args.prune),
        seed=args.seed,
    )


def _read_word_list(path: Path | None) -> frozenset[str]:
    if path is None:
        return frozenset()
    try:
        return frozenset(word.strip().lower() for word in path.read_text("utf-8").splitlines() if word.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}). Write one word a line.") from None


def _refuse_beside_answers(path: Path, questions: Sequence[Question]) -> None:
    """Answers of people and ranks of models belong to the texts that they are of."""
    from seedvote.dialogue.files import read_header
    from seedvote.dialogue.questions import check_texts, read_texts_hash, texts_hash

    answers, ranks = path.with_name("choices.jsonl"), path.with_name("ranks.parquet")
    if answers.exists():
        check_texts(answers, read_texts_hash(read_header(answers)), texts_hash(questions))
    if ranks.exists() and (texts := read_texts_hash({"signature": _read_signature(ranks)})) not in (
        "",
        texts_hash(questions),
    ):
        raise InputError(
            f"{ranks} holds the ranks of other questions (texts:{texts}), which would be lost. Draw into a folder of "
            "their own, or delete it: `generation rank` makes the ranks of the new ones."
        )


def _read_signature(ranks: Path) -> str:
    from pyarrow import parquet

    return str((parquet.read_schema(ranks).metadata or {}).get(b"signature", b"").decode())
