"""[live] of hit.toml: what is refused, with what is legal, and what a store keeps of it."""

import json

import pytest

from seedvote.crowd.hit.hit import hit_as_kept, hit_from, hit_from_kept
from seedvote.crowd.hit.live import fixed_part
from seedvote.dialogue.errors import InputError

SYSTEMS = [{"name": name, "url": "http://127.0.0.1:8000/v1", "model": "m"} for name in ("ours", "theirs")]


def read(**live):
    return hit_from({"form": "live", "live": {"systems": SYSTEMS, **live}}, "hit.toml")


def test_a_store_gives_back_what_hit_toml_said():
    hit = read(turns=[1, 4], budget=3, reveal="each", prompt="On {topic}.")
    assert hit_from_kept(json.loads(json.dumps(hit_as_kept(hit)))) == hit
    assert hit.live.turns == (1, 4)
    assert hit.live.system("ours").concurrency == 4


@pytest.mark.parametrize(
    ("live", "says"),
    [
        ({"turns": [4, 2]}, "live.turns"),
        ({"turns": [0, 2]}, "live.turns"),
        ({"turns": [1, True]}, "live.turns"),
        ({"budget": 0}, "live.budget"),
        ({"characters": 5}, "live.characters"),
        ({"reveal": "slowly"}, "live.reveal"),
        ({"patience": 3}, "live is"),
        ({"systems": SYSTEMS[:1]}, "needs two or more"),
        ({"systems": [SYSTEMS[0], SYSTEMS[0]]}, "twice"),
        ({"systems": [*SYSTEMS, {"name": "x"}]}, "needs name, url and model"),
        ({"systems": [{**SYSTEMS[0], "price_in": 1}, SYSTEMS[1]]}, "live.budget must say"),
        ({"systems": [{**SYSTEMS[0], "url": "ftp://x"}, SYSTEMS[1]]}, "an address such as"),
        ({"systems": [{**SYSTEMS[0], "url": "http://user:pass@host/v1"}, SYSTEMS[1]]}, "an address such as"),
        ({"systems": [{**SYSTEMS[0], "temperature": 3}, SYSTEMS[1]]}, "temperature"),
    ],
)
def test_what_is_wrong_is_refused_with_what_is_legal(live, says):
    with pytest.raises(InputError, match=says):
        read(**live)


def test_a_key_in_place_of_its_name_is_refused_and_not_repeated():
    with pytest.raises(InputError, match="environment variable") as refusal:
        read(systems=[{**SYSTEMS[0], "key": "sk-12345-secret"}, SYSTEMS[1]])
    assert "12345" not in str(refusal.value)


def test_the_table_belongs_to_its_form():
    with pytest.raises(InputError, match='write form = "live"'):
        hit_from({"live": {"systems": SYSTEMS}}, "hit.toml")


def test_money_and_addresses_are_no_part_of_what_is_fixed():
    kept = hit_as_kept(read())["live"]
    moved = [{**system, "url": "http://elsewhere", "key": "K", "price_in": 2.0} for system in kept["systems"]]
    assert fixed_part(kept) == fixed_part({**kept, "systems": moved, "budget": 9.0, "timeout": 3})
    assert fixed_part(kept) != fixed_part({**kept, "turns": (1, 2)})
    assert fixed_part(None) == {}
