"""The arguments that several commands share, and the typed values made of them.

The commands that work on a launch get their flags and options from the table of marketplaces, so a new marketplace
changes nothing here. Only this file and the commands know `argparse`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seedvote.crowd.marketplaces.market import MARKETPLACES, Market, Marketplace, launch_of, sites_at
from seedvote.crowd.marketplaces.options import LaunchOptions, Wording, wordings
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import repeat_options

if TYPE_CHECKING:
    from decimal import Decimal

    from seedvote.crowd.marketplaces.ledger import Payout, Purpose
    from seedvote.crowd.marketplaces.paying import PayTerms
    from seedvote.crowd.rating.gate import Ruling
    from seedvote.crowd.store.store import Store


def add_study(parser: argparse.ArgumentParser) -> None:
    """The study and where its votes are."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    parser.add_argument("--database", metavar="URL", help="postgresql+psycopg://... (default: STUDY/crowd.sqlite)")


def add_launch(parser: argparse.ArgumentParser) -> None:
    """The arguments of `crowd launch`: one marketplace, and what it wants to know."""
    add_study(parser)
    flags = parser.add_mutually_exclusive_group(required=True)
    for row in MARKETPLACES:
        flags.add_argument(f"--{row.source}", action="store_true", help=row.makes)
    _add_options(parser, "launch", "launch it; first run without --yes and read the checklist")


def add_launched(parser: argparse.ArgumentParser, command: str) -> None:
    """The arguments of a command that works on an existing launch."""
    add_study(parser)
    for row in MARKETPLACES:
        if row.kept:
            text = f"the launch on {row.title}; needed only if the study has several launches"
            parser.add_argument(f"--{row.source}", action="store_true", help=text)
    _add_options(parser, command, "do it; without --yes, only print what would be done")


def _add_options(parser: argparse.ArgumentParser, command: str, yes: str) -> None:
    shared = _asked(LaunchOptions, command)
    for name, (default, wording) in shared.items():
        _add_option(parser, name, default, wording)
    parser.add_argument("--yes", action="store_true", help=yes)
    for row in MARKETPLACES:
        own = {name: entry for name, entry in _asked(row.options, command).items() if name not in shared}
        group = parser.add_argument_group(row.title) if own else parser
        for name, (default, wording) in own.items():
            _add_option(group, name, default, wording)


def _add_option(group: argparse._ActionsContainer, name: str, default: Any, wording: Wording) -> None:
    flag = f"--{name.replace('_', '-')}"
    if default is False:
        group.add_argument(flag, action="store_true", help=wording.help)
        return
    kind = int if isinstance(default, int) else str
    how: dict[str, Any] = {"default": default, "type": kind, "choices": wording.choices, "metavar": wording.metavar}
    group.add_argument(flag, help=wording.help, **how)


def _asked(kind: type[LaunchOptions], command: str) -> Mapping[str, tuple[Any, Wording]]:
    return {name: entry for name, entry in wordings(kind).items() if command in entry[1].commands}


def chosen(args: argparse.Namespace) -> list[Marketplace]:
    """The marketplaces that were named by their flags."""
    return [row for row in MARKETPLACES if vars(args).get(row.source)]


def options_of(args: argparse.Namespace, kind: type[LaunchOptions]) -> LaunchOptions:
    """The typed values of what was typed; options that the command does not ask for keep their defaults."""
    typed, values = vars(args), {}
    for name, (_, wording) in wordings(kind).items():
        if name in typed:
            values[name] = _value(name, typed[name], wording)
    return kind(args.study, args.database, **values)


def _value(name: str, typed: Any, wording: Wording) -> Any:
    flag = f"--{name.replace('_', '-')}"
    if wording.least is not None and typed < wording.least:
        raise InputError(f"{flag} is {typed}; it must be a whole number, {wording.least} or more.")
    if wording.most is not None and typed > wording.most:
        raise InputError(f"{flag} is {typed}; it must be a whole number, {wording.most} or less.")
    if wording.check and typed:
        wording.check(typed)
    return wording.read(typed) if wording.read and typed is not None else typed


def market_of(args: argparse.Namespace, store: Store) -> Market:
    """The launch that the command is about."""
    row = launch_of(store, args.study, [row.source for row in chosen(args)])
    return row.open_market(options_of(args, row.options), store)


@contextmanager
def launched_market(args: argparse.Namespace, *, moves_money: object = False) -> Iterator[tuple[Store, Market]]:
    """The store and the launch that the command is about; where it moves money, no other command does so meanwhile."""
    from seedvote.crowd.marketplaces.money_lock import money_lock
    from seedvote.crowd.study_folder import opened

    with money_lock(args.study, args.database, needed=moves_money), opened(args.study, args.database) as store:
        yield store, market_of(args, store)


def allow_spending(
    args: argparse.Namespace, store: Store, currency: str, cost: Decimal, dues: Collection[Payout] = ()
) -> None:
    """Refuse what is above the budget or the caps. With --yes new caps are kept; without, they change nothing.

    `dues` are the rows that cost it, some of which may be on disk; without any, all of it comes on top.
    """
    from seedvote.crowd.marketplaces.caps import refuse_above, set_caps
    from seedvote.crowd.marketplaces.ledger import check_cap
    from seedvote.crowd.marketplaces.money import check_budget

    options = options_of(args, LaunchOptions)
    check_budget(cost, currency, options.budget)
    if args.yes:
        set_caps(store, options.cap, options.month_cap)
    if not args.yes and (options.cap or options.month_cap):
        return  # nobody knows yet whether the new ones will do
    check_cap(store, dues)
    if not dues:
        with store.read() as connection:
            refuse_above(connection, cost)


def again(args: argparse.Namespace, **others: Any) -> list[str]:
    """The words of this command line, to be typed again; `others` are defaults of the command's own options.

    Options at their defaults are left out, so that what is printed is what a person typed.
    """
    defaults = {name: default for row in MARKETPLACES for name, (default, _) in wordings(row.options).items()}
    defaults = {**{row.source: False for row in MARKETPLACES}, **defaults, **others, "database": None}
    changed = [(name, vars(args)[name]) for name in defaults if vars(args).get(name, defaults[name]) != defaults[name]]
    words = [str(args.study)]
    for name, value in changed:
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return words


def pay_terms_of(args: argparse.Namespace) -> PayTerms:
    """What `crowd pay` was told of whom to pay how much."""
    from seedvote.crowd.marketplaces.ledger import ZERO
    from seedvote.crowd.marketplaces.money import money
    from seedvote.crowd.marketplaces.paying import PayTerms, read_bonuses, read_visits

    if args.min_answers < 1:
        raise InputError(f"--min-answers is {args.min_answers}; it must be a whole number, 1 or more.")
    if bool(args.hold) != bool((args.why or "").strip()):
        raise InputError("--hold ID and --why TEXT go together: whoever pays later must know what to look at.")
    bonus, per_answer, lost = (money(text) if text else ZERO for text in (args.bonus, args.per_answer, args.compensate))
    return PayTerms(
        bonus=bonus,
        bonuses=read_bonuses(Path(args.bonuses)) if args.bonuses else {},
        bonus_name=args.bonus_name.strip(),
        per_answer=per_answer,
        compensation=lost,
        least_hourly=options_of(args, LaunchOptions).least_hourly,
        top_up=args.top_up,
        min_answers=args.min_answers,
        reason=args.reason,
        only=read_visits(args.only),
        without=read_visits(args.without),
    )


def add_sites(parser: argparse.ArgumentParser) -> None:
    """The arguments of `crowd serve` that let a marketplace's people in, or the marketplace frame the page."""
    for row in MARKETPLACES:
        if row.places:
            text = f"the {row.title} site that workers come from; it may show the page in its frame"
            parser.add_argument(f"--{row.source}", choices=row.places, help=text)
        elif row.entrance:
            parser.add_argument(f"--{row.source}", action="store_true", help=f"admit people sent by {row.title}")


def add_front(parser: argparse.ArgumentParser) -> None:
    """The arguments of `crowd serve` about what stands in front of it, and how often anybody may ask."""
    parser.add_argument("--prefix", default="", metavar="PATH", help="path of the study behind a reverse proxy: /study")
    parser.add_argument(
        "--proxies", type=int, default=0, metavar="N", help="number of trusted reverse proxies (default: 0)"
    )
    parser.add_argument("--https", action="store_true", help="raters use https: send cookies over https only")
    parser.add_argument(
        "--frame-ancestor", action="append", default=[], metavar="URL", help="site that may frame the page"
    )
    parser.add_argument(
        "--rate", type=float, default=20.0, help="most requests per second from one rater (default: 20; 0: no limit)"
    )
    parser.add_argument(
        "--address-rate",
        type=float,
        metavar="N",
        help="most requests per second from one network address whose rater is not known yet, e.g. 200 for a classroom "
        "(default: as --rate)",
    )


def sites_of(args: argparse.Namespace) -> tuple[str, ...]:
    """The sites of the place that `add_sites` was given: the first takes finished forms, all may frame the page."""
    return sites_at({row.source: vars(args)[row.source] for row in MARKETPLACES if row.places})


def add_rater(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """The arguments of a command that decides about one rater."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    how: dict[str, Any] = {} if required else {"nargs": "?"}
    parser.add_argument("rater", metavar="RATER", help="the person's id, or the hash in votes.jsonl", **how)
    parser.add_argument("--database", metavar="URL", help="postgresql+psycopg://... (default: STUDY/crowd.sqlite)")


def decided_by_hand(args: argparse.Namespace, ruling: Ruling | None, why: str | None) -> str:
    """Decide about the rater that the command names; what followed, for people."""

    from seedvote.crowd.rating.deciding import known_rater, rule_on
    from seedvote.crowd.study_folder import opened

    with opened(args.study, args.database) as store:
        done = rule_on(store, known_rater(store, args.rater), ruling, why, store.now())
    return f"This rater was {done.before}, is {done.now}.\n{done.effect.says()}"


def add_submissions(parser: argparse.ArgumentParser, command: str, what: str) -> None:
    """The arguments of a command that sends messages about submissions, each of which is named."""
    add_launched(parser, command)
    parser.add_argument("--submission", metavar="ID", action="append", required=True, help=f"{what}; may be repeated")


def send_by_hand(
    args: argparse.Namespace, purpose: Purpose, reason: str, own: Mapping[str, str], tell: Callable[[str], None]
) -> tuple[int, list[str]]:
    """Show the named submissions that a message is about; with --yes send it to each. The exit code, and what is next.

    `own` are the command's own options, of which the last is what the person reads.
    """
    from seedvote.crowd.marketplaces.reviewing import COMMANDS, DONE, send_messages, to_review

    with launched_market(args, moves_money=args.yes) as (store, market):
        reviewed = to_review(market, store, purpose, args.submission)
        for submission in reviewed:
            tell(f"  {submission.facts}")
        if not args.yes:
            tell(f"Nothing was sent. They would read: {list(own.values())[-1]!r}. Add --yes to send it.")
            names = [word for name in args.submission for word in ("--submission", name)]
            return 0, [f"python -m crowd {COMMANDS[purpose]}", *again(args, **dict.fromkeys(own)), *names, "--yes"]
        rows = send_messages(market, store, purpose, reviewed, reason)
    for row in rows:
        word = {"confirmed": DONE[purpose], "refused": "refused"}.get(row.state, "uncertain")
        tell(f"  {word}  {row.submission}{f': {row.why}' if row.why else ''}")
    following = ["python -m crowd verify", str(args.study), *repeat_options(args, "database")]
    return 0 if all(row.state == "confirmed" for row in rows) else 1, following
