"""Print links that each let one person in; whoever has none, or a guessed one, is not admitted.

A link is the person: give each to one person, and do not post it. The same --name has the same link again, or with
--expires another link for the same person. `crowd block STUDY NAME --invitation` takes one back. Votes show a keyed
hash, never the name; `crowd forget STUDY NAME` erases one person.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import repeat_options, tell_next

DEFAULT_URL = "http://127.0.0.1:8765"
PROOF = "." + 32 * "0"  # as long as what is added to a name
DAY = 86_400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many, or who; and where the study is served."""
    from seedvote.crowd.arguments import add_study

    add_study(parser)
    parser.add_argument("number", type=int, nargs="?", metavar="N", help="number of new people to invite")
    parser.add_argument("--name", action="append", default=[], help="invite this person; repeat for several")
    parser.add_argument("--url", help="address of the study (default: where it was served last)")
    parser.add_argument(
        "--expires", metavar="DAYS|DATE", help="days, or the last day (2026-12-31, UTC), on which the links let in"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write them as CSV (name, link) in place of printing")


def run(args: argparse.Namespace) -> None:
    """Sign and print."""
    from seedvote.crowd.store.store import settings
    from seedvote.crowd.study_folder import opened
    from seedvote.crowd.watching.address import kept_address
    from seedvote.crowd.web.invitations import fresh_names, invitation_link

    names = [*_check_names(args.name), *fresh_names(_read_number(args))]
    with opened(args.study, args.database) as store, store.read() as connection:
        until = _end_time(args.expires, store.now())
        secret = settings(connection)["secret"]
    address = _check_address(args.url or kept_address(args.study) or DEFAULT_URL)
    links = [(name, invitation_link(secret, address, name, until)) for name in names]
    if args.out:
        _write_links(args.out, links)
        print(f"{len(links)} links: {args.out}. Each lets in one person; give each to one person.")
    else:
        for name, link in links:
            print(f"{name}  {link}")
    tell_next("python -m crowd status", args.study, *repeat_options(args, "database"))


def _read_number(args: argparse.Namespace) -> int:
    from seedvote.dialogue.errors import InputError

    if args.number is None and not args.name:
        raise InputError("Say how many people to invite (python -m crowd invite STUDY 20), or name them: --name.")
    if args.number is not None and not 1 <= args.number <= 100_000:
        raise InputError(f"N is {args.number}; it must be a whole number from 1 to 100000.")
    return args.number or 0


def _end_time(expires: str | None, now: float) -> float | None:
    """The moment at which the links end: the end of a day, or so many times 24 hours from now."""
    from datetime import UTC, datetime

    from seedvote.dialogue.errors import InputError

    if expires is None:
        return None
    try:
        days = float(expires) if expires.isdigit() else None
        last = None if days is not None else datetime.strptime(expires, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise InputError(f"--expires is {expires!r}; give a number of days or a date, e.g. 14 or 2026-12-31.") from None
    end = now + (days or 0) * DAY if last is None else last + DAY
    if end <= now:
        raise InputError(
            f"--expires is {expires}, so the links would let nobody in. Give 1 day or more, or a later date."
        )
    return end


def _check_names(names: list[str]) -> list[str]:
    from seedvote.crowd.rating.desk import Desk
    from seedvote.crowd.rating.moment import Refused
    from seedvote.dialogue.errors import InputError

    for name in names:
        try:
            Desk.check_ids(name, name + PROOF)
        except Refused as error:
            raise InputError(f"--name is {name!r}; a name has 1 to 95 printable characters.") from error
    return names


def _check_address(url: str) -> str:
    from urllib.parse import urlsplit

    from seedvote.dialogue.errors import InputError

    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise InputError(f"--url is {url!r}; give the address that raters open, e.g. https://study.example.org.")
    return url


def _write_links(path: Path, links: list[tuple[str, str]]) -> None:
    import csv

    from seedvote.dialogue.files import atomic

    with atomic(path) as file:
        csv.writer(file, lineterminator="\n").writerows([("name", "link"), *links])
