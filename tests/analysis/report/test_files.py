"""What stands beside the page: Markdown, LaTeX and print."""

import re
import shutil
import subprocess

import pytest
from markdown_it import MarkdownIt

from seedvote.analysis.report.assembly import as_latex, as_markdown, build_report, render_page
from seedvote.analysis.showing.page import Axis, round_steps
from seedvote.analysis.showing.tables import Table, latex_text, write_latex, write_markdown
from seedvote.analysis.votes.study import read_study
from tests.analysis.report_study import add_scores, add_votes

ODD = r"a_b & 50 % of {x} ~ ^ # $ <b> | \end *c* `d` [e]"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return build_report(
        read_study(add_scores(add_votes(tmp_path_factory.mktemp("study")), models=("bilstm_attn", "hred")))
    )


def rendered(text):
    return MarkdownIt("commonmark").enable("table").render(text)


def test_markdown_renders_every_table_with_every_row(whole):
    html = rendered(as_markdown(whole))
    tables = [table for section in whole.sections for table in (*section.inline, *section.tables)]
    assert html.count("<table>") == len(tables) > 6
    assert html.count("<tr>") == sum(len(table.rows) + 1 for table in tables)
    assert html.count("<h2>") == len(whole.sections) + 1
    assert "<em>" not in html and "<script" not in html


def test_markdown_shows_odd_text_to_the_letter():
    html = rendered(write_markdown(Table(("h", "i"), ((ODD, "2"),), "c")))
    cell = re.search(r"<td>(.*?)</td>", html).group(1)
    for name, sign in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        cell = cell.replace(name, sign)
    assert cell == ODD


def compiled(tex, folder):
    head = r"\documentclass{article}\usepackage{booktabs}\usepackage{graphicx}\begin{document}"
    (folder / "t.tex").write_text(head + "\n" + tex + "\n" + r"\end{document}", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")


def test_latex_compiles(whole, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed (Debian: texlive-latex-recommended)")
    odd = write_latex([Table((ODD, "E rho^2"), ((ODD, "−1.5"), ("ö–“", "2")), ODD)], recipe="votes:1\nset:2")
    for tex in (as_latex(whole), odd):
        done = compiled(tex, tmp_path)
        assert done.returncode == 0, done.stdout[-2000:]


def test_latex_is_well_formed_whether_it_can_be_compiled_or_not(whole):
    tex = as_latex(whole)
    opened, closed = (re.findall(rf"\\{word}\{{(\w+)\}}", tex) for word in ("begin", "end"))
    assert opened.count("tabular") == opened.count("table") == tex.count(r"\toprule") == 7
    assert sorted(opened) == sorted(closed)
    for block in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", tex, re.S):
        columns, body = block
        lines = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert lines and all(len(re.findall(r"(?<!\\)&", line)) == len(columns) - 1 for line in lines)
    assert tex.isascii() and tex.startswith("% ")


def test_no_sign_of_a_text_is_a_command_to_latex():
    assert latex_text(r"\input{x}") == r"\textbackslash{}input\{x\}"
    assert latex_text("ü") == "?"


@pytest.mark.browser
def test_the_page_prints_without_cutting_a_table_or_losing_a_section(whole, chromium, tmp_path):
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed (Debian: poppler-utils)")
    (tmp_path / "report.html").write_text(render_page(whole), encoding="utf-8")
    view = chromium.new_page()
    view.goto((tmp_path / "report.html").as_uri())
    view.pdf(path=str(tmp_path / "report.pdf"), prefer_css_page_size=True)
    view.close()
    command = ["pdftotext", "-layout", tmp_path / "report.pdf", "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    said = " ".join(text.split())
    for section in whole.sections:
        assert section.key == "dictionary" or section.title in said
    assert "E rho^2" in said and "What every field means" in said


def test_an_axis_keeps_values_within_and_names_round_ones():
    axis = Axis(-12, 31)
    assert axis.at(-100) == 0 and axis.at(100) == 100
    for low, high in ((0, 1), (-23, 31), (0.001, 0.0042), (5, 40000)):
        steps = round_steps(low, high)
        assert 2 <= len(steps) <= 7 and low <= steps[0] and steps[-1] <= high
