"""Images and recordings over HTTP: to whom, under which names, in which parts, and what no page tells."""

import re
from contextlib import closing

import httpx
import pytest

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.hit.hit import hit_from
from seedvote.crowd.rehearsing import _copy_study
from seedvote.crowd.simulation.crowd import reader_of
from seedvote.crowd.store.store import open_store
from seedvote.crowd.study_folder import prepare_study
from seedvote.crowd.web import media as serving
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Pair
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.evaluators.judging.asking import chosen_pairs
from tests.crowd.media import make_media_study, picture, tone
from tests.crowd.study import database
from tests.crowd.visitor import Visitor, live

HIT = hit_from(
    {"examples": [], "questions": [{"name": "better", "ask": "?"}], "first_checks": 0, "later_checks": 0}, "x"
)
ADDRESS = re.compile(r'src="(/media/[0-9a-f]{32}\?seat=[\w.-]+)"')


@pytest.fixture(params=["sqlite", "postgresql"])
def study(request, tmp_path):
    folder = tmp_path / "study"
    make_media_study(folder)
    with database(request.param, folder) as url:
        prepare_study(folder, None, HIT, url, seed=0, simulated=False)
        yield folder, url


@pytest.fixture
def files(study):
    """The page of every pair, what one rater may load, and who asks."""
    folder, url = study
    with live(url, HIT, folder=folder) as app:
        visitor = Visitor(app)
        visitor.arrive("ann")
        pages, place = [], visitor.look()
        while place["status"] == "task":
            pages.append(place["html"])
            place = send(visitor, place["html"])
        yield pages, [address for page in pages for address in ADDRESS.findall(page)], visitor


def send(visitor, page):
    fields = dict(re.findall(r'<input type="hidden" name="([\w-]+)" value="([^"]*)"', page))
    return visitor.client.post(
        "/answer", data=fields | {"q-better": "left"}, headers={"X-Requested-With": "fetch"}
    ).json()


def test_pages_hold_addresses_that_name_no_file_and_no_system(files):
    pages, addresses, visitor = files
    assert (
        len(pages) == 3 and len(addresses) == 3 + 1 * 2 + 2 * 2
    )  # three contexts, two pictures, two sounds with captions
    for page in pages:
        assert not re.search(
            r"gpt|ours/|\.png|\.wav|\.vtt|sha256|autoplay", page.replace("says gpt", "").replace("says ours", "")
        )
    (tool,) = [page for page in pages if "find_hotel" in page]
    assert tool.count("U+202E") == 2 and "\u202e" not in tool  # else a tool would seem to have given something else
    for address in set(addresses):
        reply = visitor.client.get(address)
        assert reply.status_code == 200 and reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Content-Type"].partition(";")[0] in ("image/png", "audio/wav", "text/vtt")
        assert reply.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert reply.headers["Content-Disposition"] == "inline" and "Last-Modified" not in reply.headers
        assert reply.headers["Cache-Control"].startswith("private")
        assert visitor.client.get(address, headers={"If-None-Match": reply.headers["ETag"]}).status_code == 304
    policy = visitor.client.get("/task").headers["Content-Security-Policy"]
    assert "img-src 'self'; media-src 'self';" in policy


def test_player_gets_the_parts_that_it_asks_for(files):
    _, addresses, visitor = files
    sound = next(one for one in addresses if visitor.client.get(one).headers["Content-Type"] == "audio/wav")
    whole = visitor.client.get(sound).content

    def ask(wanted, **headers):
        return visitor.client.get(sound, headers={"Range": wanted, **headers})

    reply = ask("bytes=10-19")
    assert (reply.status_code, reply.content) == (206, whole[10:20])
    assert reply.headers["Content-Range"] == f"bytes 10-19/{len(whole)}" and reply.headers["Accept-Ranges"] == "bytes"
    assert ask("bytes=-5").content == whole[-5:] and ask("bytes=0-").content == whole
    reply = ask(f"bytes=-{len(whole) + 1}")  # the last bytes, of which there are fewer
    assert (reply.status_code, reply.content) == (206, whole)
    assert reply.headers["Content-Range"] == f"bytes 0-{len(whole) - 1}/{len(whole)}"
    reply = ask(f"bytes={len(whole)}-")
    assert reply.status_code == 416 and reply.headers["Content-Range"] == f"bytes */{len(whole)}"
    for wanted in ("bytes=0-1,5-6", "lines=1-2", "bytes=x-", "bytes=5-1"):
        assert ask(wanted).status_code in (200, 416)
    for condition in ('"another"', "Sat, 01 Jan 2022 00:00:00 GMT"):  # which no reply of ours has named
        assert ask("bytes=0-1", **{"If-Range": condition}).content == whole
    tag = visitor.client.get(sound).headers["ETag"]
    assert ask("bytes=0-1", **{"If-Range": tag}).content == whole[:2]
    assert ask("bytes=0-1", **{"If-None-Match": tag}).status_code == 304
    head = visitor.client.head(sound)
    assert head.headers["Content-Length"] == str(len(whole)) and not head.content


def test_nobody_else_gets_a_file(files, study):
    _, addresses, visitor = files
    name = addresses[0].partition("?")[0]
    stranger = httpx.Client(base_url="http://127.0.0.1", transport=visitor.client._transport)
    assert stranger.get(name).status_code == 404 and stranger.get(f"{name}?seat=made-up").status_code == 400
    for wrong in ("/media/gpt/1.png", "/media/1.png", "/media/..%2Fpairs.jsonl", "/media/" + "0" * 32, "/media/"):
        assert visitor.client.get(wrong).status_code in (400, 404)


def test_file_that_changed_under_way_is_not_served(files, study):
    _, addresses, visitor = files
    images = [one for one in addresses if visitor.client.get(one).headers["Content-Type"] == "image/png"]
    for system in ("gpt", "ours"):
        (study[0] / system / "1.png").write_bytes(picture("green"))
    assert {visitor.client.get(one).status_code for one in images} == {404}
    with pytest.raises(InputError, match="changed after launch: pair audio0 was shown"):  # whose context it is
        prepare_study(study[0], None, HIT, study[1], seed=0, simulated=False)


def test_part_is_as_long_as_it_was_asked_for(tmp_path):
    """Players of Apple refuse a shorter one, so no recording above a limit of ours would play on a phone of theirs."""
    make_media_study(tmp_path)
    (tmp_path / "ours" / "1.wav").write_bytes(tone(440) + bytes(1_300_000))
    with database("sqlite", tmp_path) as url:
        prepare_study(tmp_path, None, HIT, url, seed=0, simulated=False)
        with live(url, HIT, folder=tmp_path) as app:
            visitor, size = Visitor(app), (tmp_path / "ours" / "1.wav").stat().st_size
            visitor.arrive("ann")
            place, sizes = visitor.look(), []
            while place["status"] == "task":
                asked = {"Range": f"bytes=0-{size - 1}"}
                replies = [visitor.client.get(address, headers=asked) for address in ADDRESS.findall(place["html"])]
                sizes += [len(reply.content) for reply in replies]
                place = send(visitor, place["html"])
            assert max(sizes) == size > 1_200_000


def test_pair_whose_file_is_gone_is_not_shown_until_it_is_back(study):
    folder, url = study
    (folder / "ours" / "1.png").rename(folder / "away.png")
    (folder / "ours" / "1.wav").write_bytes(tone(1))
    with live(url, HIT, folder=folder) as app:
        visitor = Visitor(app)
        visitor.arrive("ann")
        place, seen = visitor.look(), []
        while place["status"] == "task":
            seen.append(place["html"])
            place = send(visitor, place["html"])
            assert place["saved"]  # the answer before it is
        assert place["status"] == "later" and len(seen) < 3
        page = visitor.client.get("/task")
        assert page.status_code == 503 and "Something failed on our side" in page.text and "/answer" not in page.text
        assert 'http-equiv="refresh"' in page.text
        make_media_study(folder)  # as they were
        while (place := visitor.look())["status"] == "task":
            seen.append(place["html"])
            for address in ADDRESS.findall(place["html"]):
                assert visitor.client.get(address).status_code == 200
            send(visitor, place["html"])
        assert len(seen) == 3


def test_another_server_serves_the_same_names_from_its_own_folder(study, tmp_path):
    folder, url = study
    make_media_study(tmp_path / "other", real=1)
    with live(url, HIT, folder=folder) as first, live(url, HIT, folder=tmp_path / "other") as second:
        names = []
        for app in (first, second):
            visitor = Visitor(app)
            visitor.arrive("bob")
            (address, *_) = ADDRESS.findall(visitor.look()["html"])
            names.append(address.partition("?")[0])
            assert visitor.client.get(address).status_code == 200
        assert names[0] == names[1]
        make_media_study(folder, real=2)  # more pairs, which a server takes up that starts now
        prepare_study(folder, None, HIT, url, seed=0, simulated=False)
        assert Visitor(first).arrive("carl") == 200


def test_backup_holds_the_files_and_what_is_restored_serves_them(study, tmp_path):
    folder, url = study
    at = [] if url.startswith("sqlite") else ["--database", url]
    assert dispatch("crowd", "", COMMANDS, ["backup", str(folder), str(tmp_path / "b.zip"), *at]) == 0
    again = tmp_path / "again"
    with database("sqlite", again):
        assert dispatch("crowd", "", COMMANDS, ["restore", str(again), str(tmp_path / "b.zip")]) == 0
        for name in ("gpt/1.png", "ours/1.wav", "said.vtt"):
            assert (again / name).read_bytes() == (folder / name).read_bytes()
        restored = f"sqlite:///{again / 'crowd.sqlite'}"
        prepare_study(again, None, HIT, restored, seed=0, simulated=False)
        with closing(open_store(restored)) as store, store.read() as connection:
            assert len(list(serving.stored_media(connection))) == 5


def test_lint_says_what_a_file_gives_away(tmp_path, capsys):
    make_media_study(tmp_path)
    pairs = read_records(tmp_path / "pairs.jsonl", Pair)
    path = tmp_path / "ours" / "1.png"
    path.write_bytes(path.read_bytes() + b"tEXtSoftware\0made by brushstroke-xl")
    named = [Pair(**{**{name: getattr(pair, name) for name in Pair.__slots__}, "b": pair.b.__class__(
        pair.b.text, "brushstroke-xl", 0, parts=pair.b.parts)}) for pair in pairs]  # fmt: skip
    write_records(tmp_path / "pairs.jsonl", named, signature="test", kind=Pair)
    assert dispatch("crowd", "", COMMANDS, ["lint", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "image0: a file names its model brushstroke-xl" in told and "5 images, recordings and videos" in told
    (tmp_path / "said.vtt").unlink()
    with pytest.raises(InputError, match=r"pairs.jsonl:3: said.vtt cannot be read"):
        dispatch("crowd", "", COMMANDS, ["lint", str(tmp_path)])


def test_who_reads_words_alone_refuses_what_it_cannot_see(tmp_path):
    pairs = make_media_study(tmp_path)
    with pytest.raises(InputError, match="simulated raters read words alone"):
        reader_of(tmp_path / "pairs.jsonl", "pairs", seed=0)
    with pytest.raises(InputError, match="simulated raters read words alone"):
        _copy_study(tmp_path, tmp_path / "rehearsal", 5, print)
    assert not (tmp_path / "rehearsal").exists()
    with pytest.raises(InputError, match="this judge is asked in words"):
        chosen_pairs(tmp_path, pairs, only="", limit=None)
