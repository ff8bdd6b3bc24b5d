"""Make a study's pairs for live conversations: the systems of STUDY/hit.toml, two at a time, on every topic.

TOPICS has a topic on each line, or JSON Lines with topic, item, dialogue and context. Hidden checks set a system next
to a side that speaks of something else, in words taken from --checks-from. Nothing is asked of any system here.

  python -m crowd live-from topics.txt --checks-from conversations.jsonl --out runs/arena
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import refuse_below, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The topics, and how many of what."""
    add = parser.add_argument
    add("topics", type=Path, metavar="TOPICS", help="topics: a line of text each, or JSON Lines")
    add("--out", type=Path, required=True, metavar="STUDY", help="folder of the study, with its hit.toml")
    add("--systems", metavar="A,B,...", help="systems to compare (default: all of hit.toml)")
    add("--pairs", type=int, metavar="N", help="pairs at most (default: every two systems on every topic)")
    add("--checks", type=int, default=8, metavar="N", help="hidden checks (default: 8)")
    add("--checks-from", type=Path, metavar="FILE", help="conversations whose replies the wrong side of a check says")
    add("--check-system", metavar="NAME", help="system of the right side of checks (default: the first of hit.toml)")
    add("--seed", type=int, default=0, help="seed of pairing, sides and checks (default: 0)")


def run(args: argparse.Namespace) -> None:
    """Read everything, then write once."""
    from seedvote.crowd.hit.hit import read_hit
    from seedvote.dialogue.conversations.reading import read_conversations
    from seedvote.dialogue.conversations.topics import read_topics, topic_checks, topic_pairs
    from seedvote.dialogue.files import write_records
    from seedvote.dialogue.records import Pair
    from seedvote.dialogue.signature import signature

    refuse_below(args, pairs=1, checks=0)
    path, file = args.out / "pairs.jsonl", args.out / "hit.toml"
    if path.exists():
        raise InputError(f"{path} already exists. Name another study (--out), or move this file first.")
    hit = read_hit(file) if file.exists() else None
    if hit is None or hit.live is None:
        raise InputError(f'{file} must say form = "live" and name the systems. Begin with a copy of {EXAMPLE}.')
    known = [system.name for system in hit.live.systems]
    systems = [name.strip() for name in args.systems.split(",")] if args.systems else known
    check_system = args.check_system or known[0]
    if unknown := [name for name in (*systems, check_system) if name not in known]:
        raise InputError(f"{unknown[0]} is no system of {file}: {', '.join(known)}.")
    if len(set(systems)) < 2:
        raise InputError("--systems names fewer than two systems; a comparison needs two.")
    topics = read_topics(args.topics)
    real = topic_pairs(topics, list(dict.fromkeys(systems)), args.pairs, seed=args.seed)
    checks = []
    if args.checks_from:
        conversations = read_conversations(args.checks_from, stated={}, judged="system")
        turns = hit.live.turns[1] + 1
        checks = topic_checks(topics, conversations, check_system, args.checks, turns, seed=args.seed)
    elif hit.first_checks or hit.later_checks:
        raise InputError(
            "The study asks for hidden checks. Give conversations to take wrong replies from (--checks-from), or write "
            f"first_checks = 0, later_checks = 0 into {file}."
        )
    recipe = signature(pairs=len(real), checks=len(checks), systems=len(set(systems)), seed=args.seed)
    write_records(path, [*real, *checks], signature=recipe, kind=Pair)
    each = hit.votes_per_pair
    print(
        f"{path}: {len(real):,} pairs ({len(topics):,} topics), {len(checks):,} checks; {each} conversations on each "
        f"pair, {len(real) * each:,} in all."
    )
    tell_next("python -m crowd serve", args.out)


EXAMPLE = "examples/live/hit.toml"
