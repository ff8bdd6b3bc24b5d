"""What stands in the folder for the paper: true of the study, whole, and with no person in it."""

import csv
import hashlib
import io
import itertools
import json
import random
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from seedvote.analysis.questions.agreement.answer import answer as agreement
from seedvote.analysis.questions.preference.answer import answer as preference
from seedvote.analysis.questions.ties.answer import answer as ties
from seedvote.analysis.report.assembly import build_report, render_page
from seedvote.analysis.report.paper import heds, public_data
from seedvote.analysis.report.paper.kit import MANIFEST, kit_folder, write_kit
from seedvote.analysis.showing.page import named_figures, sign_of
from seedvote.analysis.showing.words import signed
from seedvote.analysis.votes.inputs import matches_of
from seedvote.analysis.votes.study import read_study
from seedvote.analysis.votes.votes import read_votes
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Pair, Rater, Vote
from tests.analysis.report_study import add_votes
from tests.house.typed import typed

pytestmark = pytest.mark.usefixtures("hasty_throughout")

# The questions of HEDS 3.0 (Belz and Thomson 2025), as its form numbers them.
NUMBERS = re.findall(
    r"\S+",
    """
1.1.1 1.1.2 1.2 1.3.1.1 1.3.1.2 1.3.1.3 1.3.2.1 1.3.2.2 1.3.2.3 2.1 2.2 2.3 2.4 2.5 3.1.1 3.1.2 3.1.3.1 3.1.3.2 3.1.3.3
3.2.1 3.2.2.1 3.2.2.2 3.2.2.3 3.2.2.4 3.2.3 3.2.4 3.2.5 3.3.1 3.3.2 3.3.3.1 3.3.3.2 3.3.4.1 3.3.4.2 3.3.5 3.3.6 3.3.7
3.3.8 4.1.1 4.1.2 4.1.3 4.2.1 4.2.2 4.2.3 4.3.1 4.3.2 4.3.3 4.3.4 4.3.5 4.3.6 4.3.7 4.3.8 4.3.9 4.3.10 4.3.11.1
4.3.11.2 4.3.12.1 4.3.12.2 5.1 5.2 5.3 5.4
""",
)
SECRETS = {  # what a careless export would carry along
    "worker": "A2SUAM1J3GNN3B", "assignment": "3X4MXAO0BGO9", "prolific": "5f3c9a0e1b2d4c0007a1e9f2",
    "comment": "my name is on the list", "ip": "203.0.113.7",
}  # fmt: skip


def secret(letter, name):
    """A name as a marketplace or a keyed hash gives it, in an order of its own."""
    return f"{letter}{random.Random(f'{letter}{name}').getrandbits(72):018x}"


def with_secrets(folder):
    """The same study, its ids as revealing as ids can be, and further fields in every record."""
    add_votes(folder, source="mturk")
    read = {name: list(read_records(folder / f"{name}.jsonl", kind)) for name, kind in KINDS.items()}
    again = {
        "pairs": [replace(p, pair=secret("H", p.pair), dialogue=p.dialogue and secret("D", p.dialogue), extra=SECRETS)
                  for p in read["pairs"]],
        "votes": [
            replace(v, pair=secret("H", v.pair), rater=secret("W", v.rater), dialogue=secret("D", v.dialogue),
                    extra=SECRETS, choice=random.Random(f"{v.pair} {v.rater}").choice(("a", "a", "b", "tie")))
            for v in read["votes"]
        ],
        "raters": [replace(r, rater=secret("W", r.rater), consented="1 2026-11-02T09:58:13.412Z",
                           profile={"country": "Liechtenstein"}, extra=SECRETS) for r in read["raters"]],
    }  # fmt: skip
    for name, kind in KINDS.items():
        write_records(folder / f"{name}.jsonl", again[name], signature=f"{name}:1|v:0", kind=kind)
    return folder


KINDS = {"pairs": Pair, "votes": Vote, "raters": Rater}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return with_secrets(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def whole(folder):
    return build_report(read_study(folder), margin=0.1, paper="paper")


@pytest.fixture(scope="module")
def kit(whole, folder):
    assert write_kit(whole.material, folder / "paper", rng=random.Random(5)) == []
    return folder / "paper"


def everything(kit):
    return {path: path.read_bytes() for path in kit.rglob("*") if path.is_file()}


def test_no_person_and_no_place_of_a_person_is_in_any_file(kit, folder):
    records = [one for name, kind in KINDS.items() for one in read_records(folder / f"{name}.jsonl", kind)]
    names = {getattr(one, field, None) for one in records for field in ("rater", "pair", "dialogue")} - {None}
    forbidden = [*SECRETS.values(), "Liechtenstein", "2026-11-0", "09:58", "10:00:00"]
    for path, content in everything(kit).items():
        text = content.decode("utf-8", errors="replace")
        leaked = [word for word in (*forbidden, *names) if word in text]
        assert not leaked, f"{path.name}: {leaked}"


def rows(kit):
    return list(csv.DictReader(io.StringIO((kit / "data" / "votes.csv").read_text())))


def test_exported_columns_are_those_of_the_dictionary(kit):
    assert list(rows(kit)[0]) == list(public_data.COLUMNS)
    readme = (kit / "data" / "README.md").read_text()
    assert all(f"| {name} |" in readme for name in public_data.COLUMNS)
    lines = (kit / "data" / "pairs.jsonl").read_text().splitlines()
    fields = {name for line in lines[1:] for name in json.loads(line)}
    assert fields <= {"pair", "item", "context", "a", "b", "kind", "identical", "dialogue", "contrast", "answer"}
    assert all(json.loads(line)["answer"] is None for line in lines[1:])


def test_new_names_follow_neither_the_old_ones_nor_time_nor_another_run(kit, folder, whole):
    """Whoever holds raters.jsonl cannot walk down both lists, and two publications cannot be laid over each other."""
    old = sorted({vote.rater for vote in read_records(folder / "votes.jsonl", Vote)})
    drawn = [public_data.public_data(whole.study, rng=random.Random(k)) for k in range(8)]
    assert len({votes for votes, _ in drawn}) == 8
    new = [public_data._draw_names("r", old, random.Random(k)) for k in range(40)]
    first = {next(name for name, got in names.items() if got == "r1") for names in new}
    assert len(first) > len(old) / 2  # anybody may be the first
    assert [row["pair"] for row in rows(kit)] == sorted(row["pair"] for row in rows(kit))
    assert {row["seconds"] for row in rows(kit)} <= {*map(str, public_data.BOUNDS), ""}


def test_the_published_votes_give_the_numbers_of_the_study(kit, folder):
    ours, theirs = (read_votes(path) for path in (folder / "votes.jsonl", kit / "data" / "votes.csv"))
    for one, other in (
        (agreement(ours).statistics.fleiss_kappa, agreement(theirs).statistics.fleiss_kappa),
        (ties(ours, size=20).pooled.interval, ties(theirs, size=20).pooled.interval),
    ):
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=1e-9)
    found = [preference(matches_of(path, None)[0]) for path in (folder, kit / "data" / "votes.csv")]
    nets = [[(one.first, one.second, one.net.value, one.net.low) for one in answer.preferences] for answer in found]
    assert [row[:2] for row in nets[0]] == [row[:2] for row in nets[1]]
    assert [x for row in nets[0] for x in row[2:]] == pytest.approx([x for row in nets[1] for x in row[2:]])


def test_paragraph_has_the_numbers_of_the_answers(whole, kit, tmp_path):
    text = (kit / "methods.tex").read_text()
    assert "30 pairs of responses from 15 dialogues were each judged by 3 raters, which gave 90 votes by 9" in text
    share = whole.answers.ties.pooled.interval
    assert f"({100 * share.low:.1f}".replace("(", "interval ") in text and "schuirmann" in text
    for one in whole.answers.preference.led:
        assert f"{signed(100 * one.net.value)} points".replace("\N{MINUS SIGN}", "$-$") in text
    assert "simulated" not in text
    simulated = build_report(read_study(add_votes(tmp_path)), paper="paper")
    told = next(section for section in simulated.sections if section.key == "paper").text[-1]
    assert "All 90 votes are simulated" in told and "margin" not in told and "[@" not in told


def test_citations_and_bibliography_agree(kit, whole):
    cited = {
        key for keys in re.findall(r"\\cite\{(.*?)\}", (kit / "methods.tex").read_text()) for key in keys.split(",")
    }
    book = (kit / "references.bib").read_text()
    there = set(re.findall(r"^@\w+\{([\w-]+),", book, re.M))
    assert cited <= there and {"seedvote", "parthasarathi-2021", "parthasarathi-2020"} <= there
    assert book.count("{") == book.count("}") and "hovy" in book if whole.answers.agreement.spamming else True


@pytest.mark.parametrize(("more", "points"), [("", 3.3 * 72), ("-wide", 6.4 * 72)])
def test_figures_come_by_name_for_a_column_and_a_page(whole, kit, more, points):
    named = named_figures(whole.figures)
    assert len(list((kit / "figures").iterdir())) == 4 * len(whole.figures) > 8
    assert {"net-preference", "ranks", "control-ties", "tie-sets", "agreement"} <= set(named)
    for name, figure in named.items():
        path = kit / "figures" / f"{name}{more}.svg"
        drawn = ET.parse(path)
        assert float(drawn.getroot().get("width").removesuffix("pt")) == pytest.approx(points, abs=0.5)
        words = " ".join("".join(node.itertext()) for node in drawn.iter() if node.tag.endswith("text"))
        assert all(word in words for row in figure.rows for word in row.label.split())
        assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")


def test_a_name_that_comes_twice_is_numbered_and_nobody_elses_changes(whole):
    first, *others = whole.figures
    assert [*named_figures([first, *others, first])][-1] == f"{first.name}-2"
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", name) for name in named_figures(whole.figures))


def test_no_two_systems_have_one_mark():
    signs = [sign_of(place) for place in range(40)]
    assert len(set(signs)) == 40
    assert all(one[0] != other[0] and one[1] != other[1] for one, other in itertools.pairwise(signs))


@pytest.mark.parametrize(("kind", "name"), [("onecolumn", "one-column"), ("twocolumn", "two-columns")])
def test_the_tables_fit_their_page(kit, tmp_path, kind, name):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed (Debian: texlive-latex-recommended)")
    head = rf"\documentclass[{kind}]{{article}}\usepackage{{booktabs}}\usepackage{{graphicx}}\begin{{document}}"
    body = "\n".join((kit / one).read_text() for one in ("methods.tex", f"tables-{name}.tex"))
    (tmp_path / "t.tex").write_text(f"{head}\n{body}\n\\end{{document}}", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout.split(r"\end{document}")[0] or "\\hbox" not in done.stdout


def test_the_datasheet_has_every_question_of_its_version_once(whole, kit):
    items = heds.fill_datasheet(whole.study, whole.answers)
    assert [one.number for one in items] == NUMBERS
    text = (kit / "heds.md").read_text()
    assert all(f"**{number} " in text for number in NUMBERS)
    left = {one.number for one in items if not one.answer}
    assert {"1.1.1", "2.4", "3.3.1", "5.1", "5.2", "5.4"} <= left  # no file can know these
    assert next(one for one in items if one.number == "3.2.1").answer == "9"


def test_what_the_author_has_edited_stays_and_the_new_one_stands_beside_it(whole, folder, tmp_path):
    write_kit(whole.material, tmp_path, rng=random.Random(1))
    sheet = tmp_path / "heds.md"
    sheet.write_text(sheet.read_text() + "\nApproved by the committee.\n")
    for _ in range(2):  # also by a third run
        assert write_kit(whole.material, tmp_path, rng=random.Random(2)) == ["heds.md"]
        assert sheet.read_text().endswith("Approved by the committee.\n")
    assert (tmp_path / "heds.md.new").exists()
    stale = tmp_path / "figures" / "99-gone.pdf"
    stale.write_bytes(b"old")
    known = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps(known | {"figures/99-gone.pdf": hashlib.sha256(b"old").hexdigest()}))
    write_kit(whole.material, tmp_path, rng=random.Random(2))
    assert not stale.exists()


def test_page_links_every_file_of_its_own_folder(whole, kit, tmp_path):
    html = render_page(whole)
    addresses = re.findall(r'<a href="(paper/[^"]+)"', html)
    assert len(addresses) == 7 and all((kit.parent / address).exists() for address in addresses)
    assert "For your paper" in html
    assert kit_folder(tmp_path / "ours.html").name == "ours-paper"


def test_the_command_writes_it_and_says_where(folder):
    done = typed("analysis", "report", folder, "--out", folder / "other.html")
    assert done.returncode == 0, done.stderr
    assert f"For your paper: {folder}/other-paper/" in done.stdout
    assert (folder / "other-paper" / "data" / "votes.csv").exists()
