"""Differences of near-identical responses: which words they are, who sees them, and what is stored and exported."""

import dataclasses
import difflib
import json
import random
import re

import pytest
import sqlalchemy as sa

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.hit.hit import Hit, hit_as_kept, hit_from, hit_from_kept
from seedvote.crowd.rating.change_control import take_up
from seedvote.crowd.rating.differing import MOST_WORDS, are_differences_shown, find_differences
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.tables import votes
from seedvote.crowd.web.rendering import box_differing
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.study import SHORT, database, desk_of, make_pairs, press, seated
from tests.crowd.visitor import FETCH, Visitor, live

HALF = dataclasses.replace(SHORT, differences="half")
NEAR = ("The train leaves at nine & stops in <York>.", "The train leaves at ten & stops in <York>.")
FAR = ("Yes, of course.", "I do not know.")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path, monkeypatch):
    """With one secret for all studies: it draws who sees differences, and of nine pages some must show them."""
    monkeypatch.setattr("seedvote.crowd.store.store.fresh_key", lambda: "key")
    with database(request.param, tmp_path) as found:
        yield found


def with_texts(pair, left, right):
    return dataclasses.replace(pair, a=Candidate(left, "m", 0), b=Candidate(right, "m", 1))


def near_pairs(number):
    """The last of them has two responses that have little in common."""
    *near, far = make_pairs(number)
    return [*(with_texts(pair, *NEAR) for pair in near), with_texts(far, *FAR)]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("a b c d", "a b c e", (["d"], ["e"])),
        ("a b c d", "a b c d e", ([], ["e"])),
        ("a b c d e f g h", "x y c d e f g h", (["a b"], ["x y"])),
        ("don't go there now.", "don't go there now!", (["."], ["!"])),
        ("火车三点开来", "火车四点开来", (["三"], ["四"])),
        ("हम सुबह चार बजे मिलेंगे", "हम सुबह पाँच बजे मिलेंगे", (["चार"], ["पाँच"])),
        ("one 😀 two three four", "one 😃 two three four", (["😀"], ["😃"])),
        ("a\r\nb  c\0 d", "a b c\0 d", None),
        ("#️⃣ one two three", "*️⃣ one two three", (["#️⃣"], ["*️⃣"])),  # no sign is torn from what stands on it
        ("ข้าวที่นี่", "ข้าวทีนี่", (["ที่"], ["ที"])),
        ("ភាសាខ្មែរ", "ភាសាខ្សែរ", (["ខ្មែ"], ["ខ្សែ"])),
        ("a b c", "x y z", None),
        ("", "", None),
        ("", "a", None),
        ("a " * MOST_WORDS, "a " * MOST_WORDS + "b", None),
    ],
)
def test_words_that_the_other_text_lacks(left, right, expected):
    found = find_differences(left, right)
    texts = (left, right)
    words = found and tuple([text[s:e] for s, e in side] for text, side in zip(texts, found, strict=True))
    assert words == expected
    assert find_differences(right, left) is None if expected is None else find_differences(right, left) is not None


def test_what_is_left_is_the_same_in_both_and_as_much_as_can_be():
    draw = random.Random(0)
    highlighted = 0
    for _ in range(300):
        left = [draw.choice("abcde") for _ in range(12)]
        right = [draw.choice("abcde") if draw.random() < 0.15 else word for word in left]
        if found := find_differences(" ".join(left), " ".join(right)):
            highlighted += 1
            rest = []
            for words, ranges in zip((left, right), found, strict=True):
                rest.append([w for n, w in enumerate(words) if not any(s <= 2 * n < e for s, e in ranges)])
            matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
            assert rest[0] == rest[1] and len(rest[0]) >= sum(block.size for block in matcher.get_matching_blocks())
            assert len(rest[0]) >= 0.7 * 12
    assert highlighted > 100


def test_both_boxes_align_the_texts_in_one_way():
    draw, moved = random.Random(1), 0
    for _ in range(200):
        left = [draw.choice("abcdef") for _ in range(12)]
        right = list(left)
        for _ in range(2):
            one, other = draw.randrange(12), draw.randrange(12)
            right[one], right[other] = right[other], right[one]
        texts = " ".join(left), " ".join(right)
        found = find_differences(*texts)
        assert find_differences(*texts[::-1]) == (found and found[::-1])
        rest = [
            re.sub("<span.*?</span>|<.*?>", "", box_differing(*some, "said")).split() for some in (texts, texts[::-1])
        ]
        if found:
            moved += 1
            assert rest[0] == rest[1]  # a word that counts as common in one box is common in the other
    assert moved > 50


def test_hostile_text_stays_text():
    box = box_differing("<b>one</b>\0 two three four", "<b>one</b>\0 two three <i>", "said")
    assert "<b>" not in box and "&lt;b&gt;" in box and "\0" not in box and box.count("<span") == 1
    assert "<script>" not in box_differing("a b c d e <script>", "a b c d e f", "said")


def test_half_is_a_half_and_follows_from_the_secret():
    pair = near_pairs(2)[0]
    drawn = [are_differences_shown("half", "key", f"r{n}", pair) for n in range(1000)]
    assert 440 < sum(drawn) < 560
    assert drawn == [are_differences_shown("half", "key", f"r{n}", pair) for n in range(1000)]
    assert drawn != [are_differences_shown("half", "other key", f"r{n}", pair) for n in range(1000)]
    assert {are_differences_shown("on", "key", f"r{n}", pair) for n in range(9)} == {True}
    assert are_differences_shown("off", "key", "r", pair) is None
    assert are_differences_shown("on", "key", "r", near_pairs(2)[1]) is None


def test_hit_toml_refuses_what_would_not_hold():
    assert (
        hit_from_kept(json.loads(json.dumps(hit_as_kept(hit_from({"differences": "half"}, "x"))))).differences == "half"
    )
    assert Hit().differences == "off"
    for values, says in (
        ({"differences": "yes"}, "one of off, on, half"),
        ({"differences": "on", "rendering": "markdown"}, 'needs rendering = "literal"'),
        ({"differences": "half", "marks": {"categories": ["a"]}}, "exclude each other"),
        ({"differences": "on", "form": "choice"}, "is for the form pairs"),
    ):
        with pytest.raises(InputError, match=says):
            hit_from(values, "x")


def test_what_was_shown_is_stored_undone_and_exported(url, tmp_path):
    with desk_of(url, tmp_path, HALF, near_pairs(4)) as desk:
        expected = {}
        for name in ("ann", "bob", "eve"):
            seat = seated(desk, name)
            while (place := desk.next_step(seat)).stage == "task":
                desk.answer(seat, place.shown.token, press(place, "a"), 1.0)
                if not expected:
                    _, again = desk.undo(seat, place.shown.token)
                    desk.answer(seat, again.shown.token, press(again, "b"), 1.0)
                shown = are_differences_shown("half", desk.secret, seat.rater, place.shown.pair)
                expected[seat.rater, place.shown.pair.pair] = shown
        with desk.store.read() as connection:
            found = export(connection, votes_per_pair=3)
            stored = connection.execute(sa.select(votes.c.differences)).scalars().all()
        assert {(vote.rater, vote.pair): vote.differences for vote in found.votes} == expected
        assert set(expected.values()) == {True, False, None} and stored.count(None) == 3


def test_preview_shows_what_raters_will_see(tmp_path):
    write_records(tmp_path / "pairs.jsonl", near_pairs(2), signature="test", kind=Pair)
    (tmp_path / "hit.toml").write_text('differences = "half"', encoding="utf-8")
    files = ["--pairs", str(tmp_path / "pairs.jsonl"), "--hit", str(tmp_path / "hit.toml")]
    dispatch("crowd", "", COMMANDS, ["preview", *files, "--out", str(tmp_path / "out")])
    pages = [(tmp_path / "out" / f"pair-{n}.html").read_text(encoding="utf-8") for n in (1, 2)]
    assert [page.count('class="differs"') for page in pages] == [2, 0]


def stored_differences(desk):
    with desk.store.read() as connection:
        return connection.execute(sa.select(votes.c.differences).order_by(votes.c.vote)).scalars().all()


def test_what_was_shown_is_stored_whatever_changes_before_the_answer(url, tmp_path):
    with desk_of(url, tmp_path, dataclasses.replace(SHORT, differences="on"), near_pairs(6)[:5]) as desk:
        ann = seated(desk, "ann")
        first = desk.next_step(ann).shown
        take_up(desk.store, SHORT, now=1.0)  # nobody has voted
        desk.read_rules()
        assert first.differs and desk.next_step(ann).shown == first
        bob = seated(desk, "bob")
        assert not desk.next_step(bob).shown.differs
        for seat in (ann, bob):
            desk.answer(seat, desk.next_step(seat).shown.token, "left", 1.0)
        assert stored_differences(desk) == [1, None]


def test_half_that_was_drawn_stays_where_the_secret_is_rotated(url, tmp_path):
    with desk_of(url, tmp_path, HALF, near_pairs(6)[:5]) as desk:
        seats = [seated(desk, f"r{n}") for n in range(6)]
        shown = [desk.next_step(seat).shown for seat in seats]
        for secret in ("one", "two", "three"):
            desk.secret = secret
            assert [desk.next_step(seat).shown.differs for seat in seats] == [pair.differs for pair in shown]
        for seat, pair in zip(seats, shown, strict=True):
            desk.answer(seat, pair.token, "left", 1.0)
        assert stored_differences(desk) == [int(pair.differs) for pair in shown]


def test_page_shows_what_is_stored_whatever_a_form_says(url, tmp_path):
    with desk_of(url, tmp_path, HALF, near_pairs(4)) as desk, live(url, HALF) as app:
        pages = []
        for name in ("ann", "bob", "eve"):
            visitor = Visitor(app)
            visitor.arrive(name)
            while (place := visitor.look())["status"] == "task":
                html = place["html"]
                assert html.count('class="differs"') == 2 * html.count('class="differing"') and "<mark" not in html
                pages.append(int("differing" in html))
                _, *texts = PageForm(html).shown_texts()  # as simulated raters read them
                assert sorted(texts) in (sorted(NEAR), sorted(FAR))
                sent = PageForm(html).fields | {"choice": "left", "differences": "7", "differing": "0"}
                assert visitor.client.post("/answer", data=sent, headers=FETCH).json()["saved"]
        with desk.store.read() as connection:
            stored = connection.execute(sa.select(votes.c.differences).order_by(votes.c.vote)).scalars().all()
        assert [int(bool(one)) for one in stored] == pages and stored.count(None) == 3 and 0 < sum(pages) < 9
