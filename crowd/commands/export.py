"""Write votes.jsonl (of questions: choices.jsonl) and raters.jsonl into the study folder, and the event log on request.

Choices name the response and not the side it was shown on, rater ids are keyed hashes, and nothing about payment is
written. CSV and Parquet hold the same columns. With several questions a vote is one row a question, and what raters
wrote goes into a file of its own, comments.jsonl; passages that they marked into marks.jsonl, live conversations into
conversations.jsonl.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Study, place and form."""
    from seedvote.crowd.arguments import add_study

    add_study(parser)
    parser.add_argument(
        "--format", choices=("jsonl", "csv", "parquet"), default="jsonl", help="form of the files (default: jsonl)"
    )
    parser.add_argument(
        "--preferences",
        action="store_true",
        help="write preference data as well: prompt, chosen, rejected and soft labels, into DIR/preferences",
    )
    parser.add_argument(
        "--licence", metavar="NAME", help="licence of the preference data, for its card, e.g. cc-by-4.0"
    )
    parser.add_argument("--events", action="store_true", help="write the event log as well")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write them (default: STUDY)")


def run(args: argparse.Namespace) -> None:
    """Read once, write each file whole."""

    from seedvote.crowd.exchange import exporting, preference_data
    from seedvote.crowd.rating.desk import Desk
    from seedvote.crowd.rating.excluding import exclude_by_rule
    from seedvote.crowd.rating.talk_books import held_conversations
    from seedvote.crowd.study_folder import hit_in_force, not_yet_in_force, opened
    from seedvote.dialogue.errors import InputError
    from seedvote.dialogue.records import Comment, HeldConversation, MarkedPassage, Rater

    if args.licence and not args.preferences:
        raise InputError("--licence is the licence of preference data; give --preferences as well.")
    out = args.out or args.study
    with opened(args.study, args.database) as store:
        hit, notes = hit_in_force(store, args.study), not_yet_in_force(store, args.study)
        if hit.exclude:
            notes.append(exclude_by_rule(store, store.now()))
        with store.read() as connection:
            exported = exporting.export(connection, votes_per_pair=hit.votes_per_pair, auto_ties=hit.identical == "tie")
            log = list(exporting.exported_events(connection)) if args.events else []
        held = Desk(store, hit).look(held_conversations) if hit.live else []
    if args.preferences and hit.live:
        raise InputError(
            "Each rater of live conversations judged a conversation of their own, so no prompt has two responses. Take "
            "conversations.jsonl and votes.jsonl, and leave out --preferences."
        )
    preferences = preference_data.preference_data(exported) if args.preferences else None
    answers = out / f"{exported.name}.{args.format}"
    exporting.write(answers, exported.votes, exported.kind, exported.recipe)
    exporting.write(out / f"raters.{args.format}", exported.raters, Rater, exported.recipe)
    if args.events:
        exporting.write(out / f"events.{args.format}", log, None, exported.recipe)
    gave = sum(rater.votes > 0 for rater in exported.raters)
    came = "" if gave == len(exported.raters) else f" ({len(exported.raters)} came)"
    print(f"{exported.given} {exported.name} of {gave} rater{'s' * (gave != 1)}{came}: {answers}")
    if hit.live:
        exporting.write(out / "conversations.jsonl", held, HeldConversation, exported.recipe)
        print(f"{len(held)} conversations: {out}/conversations.jsonl. Read them before you publish any.")
    if exported.comments:
        exporting.write(out / f"comments.{args.format}", exported.comments, Comment, exported.recipe)
        print(f"{len(exported.comments)} comments: {out}/comments.{args.format}. Read them before you publish any.")
    if exported.passages is not None:
        exporting.write(out / f"marks.{args.format}", exported.passages, MarkedPassage, exported.recipe)
        print(f"{len(exported.passages)} marked passages: {out}/marks.{args.format}")
    if preferences:
        folder = out / preference_data.FOLDER
        preference_data.write_preferences(
            folder,
            preferences,
            form=args.format,
            licence=args.licence or "unknown",
            title=args.study.resolve().name,
        )
        clear, even = len(preferences.preferences), len(preferences.ties)
        print(f"{clear} preference{'s' * (clear != 1)} and {even} pair{'s' * (even != 1)} without one: {folder}")
        notes += [f"Left out: {reason}." for reason in preferences.omitted]
        if not args.licence:
            notes.append("The card of the preferences says licence: unknown. State it with --licence, e.g. cc-by-4.0.")
    if recorded := len(exported.votes) - exported.given:
        print(f"And {recorded} ties recorded for identical responses: nobody gave them, and they say so (auto).")
    if unverified := sum(vote.extra.get("verified") is False for vote in exported.votes):
        notes.append(
            f"{unverified} {exported.name} do not count: no marketplace has confirmed their visit. See crowd verify."
        )
    print("\n".join([exported.recipe, *notes]))
    tell_next(*exporting.analysis_of(answers, exported.votes))
