"""The application for servers that import one, e.g. `gunicorn 'seedvote.crowd.wsgi:from_environment()'`.

It is the application of `crowd serve`, with SEEDVOTE_... variables for the command's options. Several processes and
hosts may serve one study: what they share is in the store alone.
"""

from __future__ import annotations

import atexit
import os
from pathlib import Path

from flask import Flask

from seedvote.crowd.marketplaces.market import (
    adopt_launches,
    doors_in_environment,
    refuse_walk_in,
    sites_at,
    usual_entrances,
)
from seedvote.crowd.study_folder import hit_of, opened, prepare_study
from seedvote.crowd.web.app import LOG, ServerConfig, create_app, log_to_stderr
from seedvote.dialogue.errors import InputError

LAST_CALLS = 15.0  # seconds; a server such as gunicorn kills a worker that takes longer than its grace


def _tell(sentence: str) -> None:
    """What a start changed, or what may be amiss, as a line of the log."""
    LOG.warning("study", extra={"facts": {"told": sentence}})


def from_environment() -> Flask:
    """The application as SEEDVOTE_STUDY, SEEDVOTE_DATABASE, SEEDVOTE_PREFIX, ... describe it (see docs/crowd.md)."""
    variable = os.environ.get
    if not (folder := variable("SEEDVOTE_STUDY")):
        raise InputError("SEEDVOTE_STUDY is not set; it names the study folder, which holds pairs.jsonl.")
    study = Path(folder)
    log_to_stderr(quiet=variable("SEEDVOTE_QUIET", "") == "1")
    hit, seed = hit_of(study, None), int(variable("SEEDVOTE_SEED", "0"))
    simulated = variable("SEEDVOTE_SIMULATED", "") == "1"
    url = prepare_study(study, None, hit, variable("SEEDVOTE_DATABASE"), seed=seed, simulated=simulated, tell=_tell)
    places, walk_in = doors_in_environment(variable), variable("SEEDVOTE_WALK_IN", "") == "1"
    sites = sites_at(places)
    with opened(study, url) as store:
        adopt_launches(store, study)
        refuse_walk_in(store, walk_in=walk_in)
    app = create_app(
        ServerConfig(
            database=url,
            hit=hit,
            folder=study,
            entrances=usual_entrances(hit, sites[0] if sites else "", places),
            submit_to=sites[0] if sites else "",
            source="simulated" if simulated else "local",
            invited=not simulated and not walk_in,
            prefix=variable("SEEDVOTE_PREFIX", "").rstrip("/"),
            proxies=int(variable("SEEDVOTE_PROXIES", "0")),
            https=variable("SEEDVOTE_HTTPS", "") == "1",
            frame_ancestors=(*variable("SEEDVOTE_FRAME_ANCESTORS", "").split(), *sites),
            rate=float(variable("SEEDVOTE_RATE", "20")),
            address_rate=float(limit) if (limit := variable("SEEDVOTE_ADDRESS_RATE")) else None,
        )
    )
    if endpoints := app.extensions.get("endpoints"):  # what systems are answering has been paid for
        atexit.register(endpoints.finish, LAST_CALLS)
    return app
