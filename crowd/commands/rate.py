"""Let people compare what two or more systems answered: pairs, hidden checks, the rating page and a link a person.

RESPONSES are one table with the answers of all systems, or one file a system (NAME=FILE, or the file's name is the
system's): JSON Lines with a prompt and a response, chat messages, or the output of an OpenAI batch, which needs the
file of its requests beside it. The page is served in this machine's network until Ctrl-C; the same command goes on.

  python -m seedvote rate ours.jsonl theirs.jsonl
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import add_tool_calls, dispatch, refuse_below, tell_next

if TYPE_CHECKING:
    from seedvote.crowd.exchange.answer_tables import JoinedAnswers
    from seedvote.dialogue.records import Pair

LASTING = True  # it serves until it is stopped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The answers, the study, who is invited, and where the page is served."""
    add = parser.add_argument
    add("responses", nargs="+", metavar="[NAME=]FILE", help="one table of all systems, or one file a system")
    add("--out", type=Path, metavar="STUDY", help="folder of the study (default: named after the systems)")
    add("--systems", default="", metavar="S1,S2,...", help="one table: the columns of the systems to compare")
    add("--columns", default="", metavar="OURS=THEIRS,...", help="one table: id, context, kind, answer, system, text")
    add("--good", default="", metavar="SYSTEM", help="one table: whose answer is right in every row of kind check")
    add_tool_calls(parser)
    add(
        "--checks", type=int, metavar="N", help="hidden checks to make of the answers (default: 8 where there are none)"
    )
    add("--people", type=int, default=5, metavar="N", help="how many links to print (default: 5)")
    add("--host", metavar="ADDRESS", help="address to serve on (default: this machine's own in its network)")
    add("--port", type=int, default=8765, help="port, 0 for a free one (default: 8765)")
    add("--seed", type=int, default=0, help="seed of checks, order and sides (default: 0)")
    add("--prepare", action="store_true", help="write the study and do not serve it")


def run(args: argparse.Namespace) -> int | None:
    """Write the study where it is new, then serve it with its links."""
    from seedvote.crowd.exchange.answer_tables import pairs_of_answers
    from seedvote.crowd.exchange.made_checks import CHECKS, fitted_rules, make_checks
    from seedvote.crowd.watching.address import own_address
    from seedvote.dialogue.media import bring_files

    refuse_below(args, checks=0, people=0)
    answers = _read_answers(args)
    real = pairs_of_answers(answers.table, args.good)
    if all(pair.identical for pair in real):
        names = " and ".join(answers.table.systems)
        raise InputError(f"{names} gave the same answer to every prompt, so there is nothing to compare.")
    wanted = args.checks if args.checks is not None else 0 if any(pair.kind == "check" for pair in real) else CHECKS
    pairs = [*real, *make_checks(answers.table.rows, wanted, seed=args.seed)]
    study = args.out or Path("-".join(answers.table.systems))
    pairs = [bring_files(pair, study) for pair in pairs]
    _write_study(study, pairs, fitted_rules(pairs))
    print(f"Read: answers of {', '.join(answers.table.systems)} to {len(answers.table.rows):,} contexts.")
    for sentence in (*answers.remarks, *_study_remarks(pairs, study)):
        print(sentence, flush=True)
    host = args.host or own_address()
    words = [study, "--host", host, "--port", args.port, "--seed", args.seed, "--invite", args.people, "--quiet"]
    if args.prepare:
        tell_next("python -m crowd serve", *words[:-1])
        return None
    return dispatch("crowd", "", {"serve": ""}, ["serve", *map(str, words)])


def _read_answers(args: argparse.Namespace) -> JoinedAnswers:
    """One table of several systems, or a file each."""
    from seedvote.crowd.exchange.answer_tables import JoinedAnswers, answer_table, join_answers, read_answer_file
    from seedvote.dialogue.importing.reading import meanings, parse_names
    from seedvote.dialogue.tables.reading import read_table

    named_files = [_split_name(response_file) for response_file in args.responses]
    if len(named_files) > 1:
        if options_given := [name for name in ("systems", "columns", "good") if getattr(args, name)]:
            raise InputError(
                f"--{options_given[0]} is for one table of all systems; of a file each, name it NAME=FILE."
            )
        return join_answers([read_answer_file(path, name, args.tool_calls) for name, path in named_files])
    systems = [name.strip() for name in args.systems.split(",") if name.strip()]
    stated = meanings(parse_names(args.columns, "--columns"), "--columns")
    return JoinedAnswers(answer_table(read_table(named_files[0][1]), stated, systems, args.tool_calls))


def _split_name(word: str) -> tuple[str, Path]:
    """`NAME=FILE` in two, where no file has that name."""
    name, sign, file = word.partition("=")
    path = Path(file) if sign and not Path(word).exists() else Path(word)
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    return (name if path != Path(word) else "", path)


def _write_study(study: Path, pairs: list[Pair], rules: str) -> None:
    """The study's two files; those that it has already must hold the same pairs."""
    from seedvote.dialogue.files import atomic, read_records, write_records
    from seedvote.dialogue.records import Pair
    from seedvote.dialogue.signature import signature

    path, hit = study / "pairs.jsonl", study / "hit.toml"
    if path.exists():
        if read_records(path, Pair) != pairs:
            raise InputError(f"{path} holds other pairs. Name another study: --out STUDY.")
        return
    study.mkdir(parents=True, exist_ok=True)
    if rules and not hit.exists():
        with atomic(hit) as file:
            file.write(rules)
    write_records(path, pairs, signature=signature(pairs=len(pairs)), kind=Pair)


def _study_remarks(pairs: list[Pair], study: Path) -> list[str]:
    """What is served, and what to look at before people do."""
    checks = sum(pair.kind == "check" for pair in pairs)
    same = sum(pair.identical for pair in pairs)
    kinds = f"{len(pairs) - checks:,} pairs ({same:,} with the same text) and {checks:,} hidden checks"
    none = ["No hidden checks: careless raters will not be noticed. Answers of five words or more would make some."]
    return [f"{study}: {kinds}.", *(none if not checks else [])]
