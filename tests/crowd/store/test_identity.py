"""Hashes of ids: the same as those that stores of 0.2.0 hold, by the definition of HMAC in RFC 2104."""

import hashlib

import pytest

from seedvote.crowd.store import identity

WORKER, KEY = "A1B2C3", "5f" * 32


def by_definition(key, text):
    """H((key xor opad) | H((key xor ipad) | text)), written out."""
    block = key.encode().ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + text.encode()).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).hexdigest()


@pytest.mark.parametrize(
    ("made", "text", "length"),
    [
        (identity.rater_hash(KEY, WORKER), f"rater\x1f{WORKER}", 20),
        (identity.sitting_hash(KEY, "1"), "sitting\x1f1", 20),
        (identity.lease_token(KEY, "r", "p", 2), "lease\x1fr\x1fp\x1f2", 32),
        (identity.seat_proof(KEY, "body"), "seat\x1fbody", 32),
        (identity.study_page_token(KEY), "study", 32),
        (identity.cookie_key(KEY), "cookie", 64),
    ],
)
def test_every_hash_is_that_of_its_purpose_and_parts(made, text, length):
    assert made == by_definition(KEY, text)[:length]


def test_simulated_raters_keep_names_others_get_keys():
    assert identity.simulated_key(0) == identity.simulated_key(0) != identity.simulated_key(1)
    assert len(identity.fresh_key()) == 64 and identity.fresh_key() != identity.fresh_key()
