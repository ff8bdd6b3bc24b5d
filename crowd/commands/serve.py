"""Serve a study to raters on one port: the consent, the worked examples and the pairs of STUDY/pairs.jsonl.

Votes go to STUDY/crowd.sqlite, or to the PostgreSQL database given. Stop with Ctrl-C; run it again to go on.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.shell.command_line import next_command, repeat_options, tell_next

if TYPE_CHECKING:
    from flask import Flask

    from seedvote.crowd.forms.known import FormName

EVERYWHERE = ("0.0.0.0", "::")  # addresses that nobody can open
AT_THE_KEYBOARD = "here"  # who opens the page with --open, the same person every time
LASTING = True  # runs until it is stopped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Study, pairs, HIT, address and what stands in front of the server."""
    from seedvote.crowd.arguments import add_front, add_sites

    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study; created if missing")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="pairs to rate (default: STUDY/pairs.jsonl)")
    parser.add_argument("--questions", type=Path, metavar="FILE", help="questions to answer instead: the form choice")
    parser.add_argument(
        "--hit", type=Path, metavar="FILE", help="hit.toml (default: STUDY/hit.toml, or the paper's HIT)"
    )
    parser.add_argument("--database", metavar="URL", help="postgresql+psycopg://... (default: STUDY/crowd.sqlite)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8765, help="port, 0 for a free one (default: 8765)")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of order and sides, set at the first start (default: 0)"
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser, by an invitation of your own")
    parser.add_argument(
        "--walk-in",
        action="store_true",
        help="admit everybody who knows the address, under any name (?rater=ID): for a lab; "
        "default: by `crowd invite` or a marketplace only",
    )
    add_front(parser)
    add_sites(parser)
    parser.add_argument(
        "--invite", type=int, default=0, metavar="N", help="print links for N people, the same each time"
    )
    parser.add_argument("--dashboard", action="store_true", help="keep the figures on the researcher's page up to date")
    parser.add_argument("--quiet", action="store_true", help="log warnings only, not every request")
    parser.add_argument(
        "--simulated", action="store_true", help="let in simulated raters only (simulate --url), and no people"
    )
    parser.add_argument("--stop-with-stdin", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> None:
    """Prepare the store and serve until stopped."""
    from seedvote.crowd.arguments import chosen, sites_of
    from seedvote.crowd.forms.known import FORMS
    from seedvote.crowd.marketplaces.market import adopt_launches, refuse_walk_in, usual_entrances
    from seedvote.crowd.study_folder import hit_of, opened, pairs_file, prepare_study
    from seedvote.crowd.watching.refreshing import keep_fresh
    from seedvote.crowd.web.app import ServerConfig, create_app, log_to_stderr
    from seedvote.crowd.web.serving import LAST_CALL, serve

    hit = hit_of(args.study, args.hit, args.questions)
    options = {"seed": args.seed, "simulated": args.simulated}
    url = prepare_study(args.study, args.pairs or args.questions, hit, args.database, **options, tell=_tell_operator)
    pairs = pairs_file(args.study, args.pairs or args.questions, hit.form)
    _warn_of_texts(args, hit.form)
    log_to_stderr(quiet=args.quiet)
    sites = sites_of(args)
    with opened(args.study, args.database) as store:
        adopt_launches(store, args.study)
        refuse_walk_in(store, walk_in=args.walk_in)
    app = create_app(
        ServerConfig(
            database=url,
            hit=hit,
            folder=args.study,
            media=pairs.parent,
            source="simulated" if args.simulated else "local",
            prefix=args.prefix.rstrip("/"),
            proxies=args.proxies,
            https=args.https,
            frame_ancestors=(*args.frame_ancestor, *sites),
            submit_to=sites[0] if sites else "",
            entrances=usual_entrances(hit, sites[0] if sites else "", [row.source for row in chosen(args)]),
            invited=not (args.walk_in or args.simulated),
            rate=args.rate,
            address_rate=args.address_rate,
        )
    )
    if args.dashboard and FORMS[hit.form].is_sided:  # of questions there are no such figures
        keep_fresh(app.extensions["desk"].store, args.study, args.database, hit.lead.name if hit.lead else "")
    stopped = serve(
        app,
        args.host,
        args.port,
        lambda port: _announce_addresses(args, port, app),
        stop_with_stdin=args.stop_with_stdin,
    )
    if endpoints := app.extensions.get("endpoints"):
        endpoints.finish(LAST_CALL)
    if not args.stop_with_stdin:
        tell_next("python -m crowd export", args.study, *repeat_options(args, "database"))
    if stopped:
        raise KeyboardInterrupt


def _tell_operator(sentence: str) -> None:
    """What a start changed, or what may be amiss: beside the lines that say where the server is."""
    print(sentence, file=sys.stderr, flush=True)


def _warn_of_texts(args: argparse.Namespace, form: FormName) -> None:
    """What raters should not see: the names of the models, and marks that were meant to be formatted."""
    from seedvote.crowd.forms.known import FORMS
    from seedvote.crowd.rating.leaks import find_file_leaks, find_leaks, leak_warning, markup_warning
    from seedvote.crowd.study_folder import pairs_file, says_rendering
    from seedvote.dialogue.records import Pair

    path = pairs_file(args.study, args.pairs or args.questions, form)
    records = [FORMS[form].record_of(row.body) for row in FORMS[form].read_rows(path)]
    if not says_rendering(args.study) and (marked := markup_warning(records)):
        print(marked, file=sys.stderr, flush=True)
    pairs = [record for record in records if isinstance(record, Pair)]
    if leaks_found := [*find_leaks(pairs), *find_file_leaks(pairs, path.parent)]:
        lint = next_command("python -m crowd lint", args.study, *repeat_options(args, "pairs"))
        print(f"{leak_warning(leaks_found)} See all: {lint}", file=sys.stderr, flush=True)


def _announce_addresses(args: argparse.Namespace, port: int, app: Flask) -> None:
    from seedvote.crowd.arguments import chosen
    from seedvote.crowd.watching.address import keep_address, own_address
    from seedvote.crowd.web.app import study_token

    host = own_address() if args.host in EVERYWHERE else args.host
    host_text = f"[{host}]" if ":" in host else host
    address = f"http://{host_text}:{port}{args.prefix.rstrip('/')}/"
    walk_in = args.walk_in or args.simulated
    keep_address(args.study, address)
    print(f"Raters begin at {address}", flush=True)
    print(f"Watch the study at {address}study?token={study_token(app)}", flush=True)
    if walk_in:
        print("Walk-in: whoever has the address may take part, under any name and more than once.", flush=True)
    else:
        invite = next_command("python -m crowd invite", args.study, "20", *repeat_options(args, "database"))
        doors = " or ".join(row.title for row in chosen(args))
        print(f"They come from {doors}, or by" if doors else "Each needs", f"a link of their own: {invite}", flush=True)
    for name, link in _invitation_links(args, app, address):
        print(f"  {name}  {link}", flush=True)
    print("Stop with Ctrl-C. Every vote is kept; run the same command to go on.", flush=True)
    if args.open:
        import webbrowser

        from seedvote.crowd.web.invitations import invitation_link

        webbrowser.open(
            address if walk_in else invitation_link(app.extensions["desk"].secret, address, AT_THE_KEYBOARD)
        )


def _invitation_links(args: argparse.Namespace, app: Flask, address: str) -> list[tuple[str, str]]:
    """A link for each of the people that --invite counts."""
    from seedvote.crowd.web.invitations import invitation_link

    names = [f"person-{k}" for k in range(1, args.invite + 1)]
    return [(name, invitation_link(app.extensions["desk"].secret, address, name)) for name in names]
