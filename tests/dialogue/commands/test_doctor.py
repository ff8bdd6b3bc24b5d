"""What is there is named with its version; what is missing, with the words that bring it."""

import os
import socket
import subprocess
import sys

import pytest

from seedvote.dialogue.commands import doctor
from seedvote.dialogue.commands import doctor as command
from tests.house.doc_blocks import ROOT


def rows():
    return {row.name: row for row in doctor.examine_machine()}


def test_this_environment_has_what_the_tests_need():
    examined = rows()
    assert examined["analysis"].remedy == examined["rating page"].remedy == examined["models and probes"].remedy == ""
    assert "scipy 1." in examined["analysis"].finding and "torch 2." in examined["models and probes"].finding
    assert examined["font"].finding == "DejaVu Sans, from matplotlib"
    assert examined["database"].finding.startswith("SQLite 3.")


def test_a_package_that_is_missing_or_too_old_is_named_with_what_brings_it(monkeypatch, capsys):
    versions = {"flask": None, "numpy": "1.9.2"}
    real = doctor._installed_version
    monkeypatch.setattr(doctor, "_installed_version", lambda name: versions[name] if name in versions else real(name))
    browser = doctor.Examination("browser", "there")  # to start each of them takes most of a second
    monkeypatch.setattr(doctor, "examine_browser", lambda: browser)
    examined = rows()
    assert examined["rating page"].finding.startswith("missing: flask; there: jinja2 ")
    assert "numpy is 1.9.2, 2.0 or later is needed" in examined["analysis"].finding
    assert examined["rating page"].remedy == "make setup"
    assert command.run(None) == 1
    assert "-> make setup\n" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "is_checkout", lambda: False)
    examined = rows()
    rating, analysis = examined["rating page"], examined["analysis"]
    assert rating.remedy == "pip install --upgrade 'seedvote[rate]'" and not rating.is_needed
    assert analysis.remedy == "pip install --upgrade 'seedvote'" and analysis.is_needed


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        (["psycopg[binary]>=3.3; extra == 'rate'"], {"rate"}),
        (["jinja2>=3.1", "jinja2>=3.1; extra == 'rate'"], {"core", "rate"}),
        (["flask>=3.0; extra == 'rate'", 'flask>=3.0; extra == "all"'], {"rate", "all"}),
        (["numpy>=2.0"], {"core"}),
    ],
)
def test_required_packages_names_who_needs_each(monkeypatch, lines, parts):
    monkeypatch.setattr(doctor, "requirement_lines", lambda: lines)
    ((_, bound, who),) = doctor.required_packages()
    assert who == parts and bound in lines[0]


def test_doctor_asks_the_database_and_hides_its_password(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setenv("SEEDVOTE_DATABASE", f"postgresql+psycopg://me:secret@127.0.0.1:{port}/study")
        answer = doctor.examine_database()
        assert answer.finding.endswith("the PostgreSQL of SEEDVOTE_DATABASE answers") and not answer.remedy
    answer = doctor.examine_database()
    assert "does not answer" in answer.finding and answer.remedy and "secret" not in answer.finding


def test_a_machine_without_a_browser_or_a_driver_is_told_how_to_get_them(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    assert doctor.examine_browser().remedy == "apt-get install chromium"
    monkeypatch.setattr(doctor, "_first_line", lambda *words: "")
    assert doctor.examine_browser().remedy == "apt-get install libatomic1"


def test_it_runs_where_no_package_is_installed_and_names_no_home():
    environ = {**os.environ, "HOME": str(ROOT.parent)}
    done = subprocess.run(
        [sys.executable, "-S", "-m", "dialogue", "doctor"], cwd=ROOT, env=environ, capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stderr == ""
    assert "missing: numpy, scipy, " in done.stdout and "Something is missing: see the arrows." in done.stdout
    assert f"at {ROOT.parent}" not in done.stdout
