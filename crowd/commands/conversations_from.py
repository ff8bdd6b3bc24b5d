"""Make a study's pairs of whole conversations from those that two or more systems held.

Each file holds the conversations of one system (NAME=FILE, or its name is the file's), or its lines say which (model).
Messages, ShareGPT, turns of speaker and text, and published corpora are read. Conversations on one goal or topic are
paired; where none has a goal, at random. Hidden checks and controls come with them, and STUDY/hit.toml is begun.

  python -m crowd conversations-from ours=ours.jsonl theirs=theirs.jsonl --out runs/talks
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import add_tool_calls, refuse_below, tell_next

if TYPE_CHECKING:
    from seedvote.dialogue.conversations.reading import RatedConversation
    from seedvote.dialogue.records import Pair

FORM = 'form = "conversations"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The conversations, how they are read, and how many of what."""
    add = parser.add_argument
    add("files", nargs="+", metavar="[NAME=]FILE", help="conversations of one system, or of several (field model)")
    add("--out", type=Path, required=True, metavar="STUDY", help="folder of the study; pairs.jsonl there must be new")
    add("--columns", default="", metavar="OURS=THEIRS,...", help="fields that say system, goal, seed, checkpoint")
    add("--judge", choices=("system", "user"), default="system", help="the speaker who is judged (default: system)")
    add_tool_calls(parser)
    add("--at-random", action="store_true", help="pair whatever the goals are")
    add("--pairs", type=int, metavar="N", help="real pairs at most (default: all that can be made)")
    add("--controls", type=int, metavar="N", help="pairs of a system with itself (default: a tenth of the real ones)")
    add("--checks", type=int, default=12, metavar="N", help="hidden checks (default: 12)")
    add(
        "--checks-from",
        metavar="FILE",
        type=Path,
        help="conversations of people, for checks alone",
    )
    add("--seed", type=int, default=0, help="seed of pairing, sides and checks (default: 0)")


def run(args: argparse.Namespace) -> None:
    """Read everything, then write once."""
    from dataclasses import replace

    from seedvote.crowd.hit.hit import read_hit
    from seedvote.dialogue.conversations.pairing import conversation_checks, pairs_of_systems, within_systems
    from seedvote.dialogue.conversations.reading import read_conversations
    from seedvote.dialogue.files import atomic, write_records
    from seedvote.dialogue.importing.reading import meanings, parse_names
    from seedvote.dialogue.media import bring_files
    from seedvote.dialogue.records import Pair
    from seedvote.dialogue.signature import signature

    refuse_below(args, pairs=1, controls=0, checks=0)
    path, hit = args.out / "pairs.jsonl", args.out / "hit.toml"
    if path.exists():
        raise InputError(f"{path} already exists. Name another study (--out), or move this file first.")
    if hit.exists() and (form := read_hit(hit).form) != "conversations":
        raise InputError(f"{hit} is of the form {form}. Write {FORM} into it, or name another study (--out).")
    how: dict[str, Any] = {
        "stated": meanings(parse_names(args.columns, "--columns"), "--columns"),
        "judged": args.judge,
        "tool_calls": args.tool_calls,
    }
    conversations = [
        conversation for typed in args.files for conversation in read_conversations(*_split_name(typed), **how)
    ]
    if args.at_random:
        conversations = [replace(conversation, goal="") for conversation in conversations]
    real = pairs_of_systems(conversations, args.pairs, seed=args.seed)
    controls = within_systems(
        conversations, len(real) // 10 if args.controls is None else args.controls, seed=args.seed
    )
    check_conversations = read_conversations(args.checks_from, **how) if args.checks_from else conversations
    checks = conversation_checks(check_conversations, args.checks, seed=args.seed)
    real, controls, checks = ([bring_files(pair, args.out) for pair in pairs] for pairs in (real, controls, checks))
    recipe = signature(pairs=len(real), controls=len(controls), checks=len(checks), judged=args.judge, seed=args.seed)
    write_records(path, [*real, *controls, *checks], signature=recipe, kind=Pair)
    if not hit.exists():
        with atomic(hit) as file:
            file.write(_hit_text())
    _tell_pairs(path, conversations, real, controls, checks)
    tell_next("python -m crowd preview", "--hit", hit, "--pairs", path)


def _hit_text() -> str:
    """The form, and what the report quotes, where the researcher may change it."""
    from seedvote.crowd.hit.hit import usual_hit

    usual = usual_hit("conversations")
    usual_lines = (f"{name} = {json.dumps(getattr(usual, name))}" for name in ("title", "question", "lease_minutes"))
    return "\n".join([FORM, *usual_lines, ""])


def _split_name(text: str) -> tuple[Path, str]:
    """A file, and the system that its name before `=` says, unless a file is called that."""
    name, sign, path_text = text.partition("=")
    return (Path(text), "") if Path(text).exists() or not sign else (Path(path_text), name.strip())


def _tell_pairs(
    path: Path, conversations: list[RatedConversation], real: list[Pair], controls: list[Pair], checks: list[Pair]
) -> None:
    lengths = sorted(len(conversation.turns) for conversation in conversations)
    how = (
        "on one goal"
        if all(conversation.goal for conversation in conversations)
        else "at random, since none has a goal"
    )
    systems = ", ".join(
        f"{number} of {name}"
        for name, number in sorted(Counter(conversation.system for conversation in conversations).items())
    )
    print(f"Read: {len(conversations):,} conversations ({systems}), {lengths[0]} to {lengths[-1]} turns.")
    met = {side for pair in real for side in (pair.a.text, pair.b.text)}
    if left := sum(conversation.as_side().text not in met for conversation in conversations):
        print(f"{left:,} of them stand in no real pair: no other system has a further one on their goal.")
    identical = sum(pair.identical for pair in real)
    print(
        f"{path}: {len(real):,} pairs, paired {how} ({identical} of two identical conversations), "
        f"{len(controls):,} controls, {len(checks):,} checks."
    )
