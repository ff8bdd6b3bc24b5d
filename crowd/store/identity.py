"""Who is who without saying who: every keyed hash of a study is made here, and nowhere else.

A person's id goes in and 20 hexadecimal digits come out, the same at every marketplace and after every restart.
Without the store's key nobody can go back, nor test a list of ids, which a bare hash would allow.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from functools import lru_cache

from seedvote.dialogue.seeds import child_seed

FORGOTTEN = "forgotten-"  # how the random name begins that stands for somebody who was forgotten


def fresh_key() -> str:
    """A random key of 256 bits."""
    return secrets.token_hex(32)


def simulated_key(seed: int) -> str:
    """The key of a study whose raters are all simulated: it follows from the seed, so that hashes can be repeated."""
    return f"{child_seed(seed, 'rater-key'):016x}"


def rater_hash(rater_key: str, worker: str) -> str:
    """The name under which a person stands beside votes: 80 bits, too many for two people to meet by chance."""
    return keyed(rater_key, "rater", worker)[:20]


def further_rater(rater_key: str, person: str) -> str:
    """The name of a further rater of the person with this keyed hash, each time another one."""
    return keyed(rater_key, "rater apart", person, secrets.token_hex(16))[:20]


def sitting_hash(rater_key: str, sitting: str) -> str:
    """The name of a visit: a marketplace's own id of it would lead back to the person."""
    return keyed(rater_key, "sitting", sitting)[:20]


def lease_token(secret: str, rater: str, pair: str, attempt: int) -> str:
    """The name by which a page speaks of a lease: unguessable, the same when asked for again, silent on the pair."""
    return keyed(secret, "lease", rater, pair, str(attempt))[:32]


def call_name(secret: str, *parts: object) -> str:
    """The name by which an endpoint may know a call that comes again: it says nothing of the rater."""
    return keyed(secret, "call", *map(str, parts))[:32]


def seat_proof(secret: str, body: str) -> str:
    """What showed, before seats had a version, that this study has let in the visit that a page's token names."""
    return keyed(secret, "seat", body)[:32]


def invitation_proof(secret: str, worker: str) -> str:
    """What shows that this study has invited this person."""
    return keyed(secret, "invitation", worker)[:32]


def expiring_proof(secret: str, worker: str, until: str) -> str:
    """The same for an invitation that ends at a time."""
    return keyed(secret, "invitation until", worker, until)[:32]


def invited_id(secret: str, worker: str) -> str:
    """The id of an invited person: with its proof, so that no name sent by a marketplace is ever the same person."""
    return f"{worker}.{invitation_proof(secret, worker)}"


def media_name(secret: str, sha256: str) -> str:
    """The name under which a page loads a file: it says neither whose it is, nor whether two files are the same."""
    return keyed(secret, "media", sha256)[:32]


def self_test_proof(secret: str) -> str:
    """What lets the test worker of a launch in, who looks at two pages and stores nothing."""
    return keyed(secret, "self-test")[:32]


def study_page_token(key: str) -> str:
    """What opens the researcher's page: the same in every process that serves this store."""
    return keyed(key, "study")[:32]


def reading_token(key: str) -> str:
    """What opens the researcher's page for who may only read it."""
    return keyed(key, "study read-only")[:32]


@lru_cache(16)  # it is asked for with every request
def cookie_key(secret: str) -> str:
    """What signs the raters' cookies."""
    return keyed(secret, "cookie")


def keyed(key: str, *parts: str) -> str:
    """HMAC-SHA256 over the parts, in hexadecimal.

    A unit separator parts them, which no checked id contains, so that ("ab", "c") and ("a", "bc") differ.
    """
    return hmac.new(key.encode(), "\x1f".join(parts).encode(), hashlib.sha256).hexdigest()
