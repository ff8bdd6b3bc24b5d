"""`make check` runs the tests that belong to what has changed."""

import subprocess

from tests.house import changed

GATE = "from seedvote.crowd.rating import gate\nfrom tests.crowd.study import desk_of\n"
FILES = {
    "crowd/rating/gate.py": "",
    "crowd/rating/pool.py": "",
    "tests/crowd/study.py": "",
    "tests/crowd/rating/test_gate.py": GATE,
    "tests/crowd/rating/test_desk.py": "import seedvote.crowd.rating.pool\n",
    "tests/crowd/rating/test_pool.py": "",
    "tests/analysis/report/test_pool.py": "",
    "crowd/web/gate.py": "",
    "crowd/web/limits.py": "",
    "tests/crowd/rating/test_limits.py": "",
    "tests/house/test_layout.py": "",
    "tests/house/test_demo.py": "import seedvote.crowd.rating.gate\n",
    "README.md": "",
}


def lay_out(root):
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_chosen_tests_import_or_mirror_the_change(tmp_path):
    lay_out(tmp_path)
    house = "tests/house/test_layout.py"
    expected = {
        "crowd/rating/gate.py": ["tests/crowd/rating/test_gate.py", house],
        "crowd/rating/pool.py": ["tests/crowd/rating/test_desk.py", "tests/crowd/rating/test_pool.py", house],
        "crowd/web/gate.py": ["tests/crowd/rating/test_gate.py", house],
        "crowd/web/limits.py": ["tests/crowd/rating/test_limits.py", house],
        "tests/crowd/study.py": ["tests/crowd/rating/test_gate.py", house],
        "tests/analysis/report/test_pool.py": ["tests/analysis/report/test_pool.py", house],
        "README.md": [house],
    }
    assert {path: changed.chosen({path}, tmp_path) for path in expected} == expected


def test_chosen_counts_tests_of_a_module_all_import(tmp_path):
    lay_out(tmp_path)
    for n in range(changed.MANY):
        (tmp_path / f"tests/crowd/test_{n}.py").write_text("from seedvote.crowd.rating.gate import passes\n")
    said = []
    found = changed.chosen({"crowd/rating/gate.py"}, tmp_path, said.append)
    assert found == ["tests/crowd/rating/test_gate.py", "tests/house/test_layout.py"]
    assert said == ["13 test files import crowd/rating/gate.py: make test runs them"]


def test_a_name_that_two_rooms_have_brings_the_test_of_its_own_room(tmp_path):
    lay_out(tmp_path)
    (tmp_path / "tests/crowd/web").mkdir()
    (tmp_path / "tests/crowd/web/test_gate.py").write_text("")
    assert changed.chosen({"crowd/web/gate.py"}, tmp_path)[0] == "tests/crowd/web/test_gate.py"
    assert "tests/crowd/web/test_gate.py" not in changed.chosen({"crowd/rating/gate.py"}, tmp_path)


def test_changed_counts_commits_edits_and_new_files(tmp_path, monkeypatch):
    monkeypatch.setattr(changed, "ROOT", tmp_path)

    def git(*words):
        names = ["-c", "user.name=n", "-c", "user.email=e@x.org", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *names, *words], cwd=tmp_path, check=True, capture_output=True)

    lay_out(tmp_path)
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    assert changed.changed() == set()
    git("switch", "-c", "branch")
    (tmp_path / "README.md").write_text("committed on the branch")
    git("commit", "-am", "second")
    (tmp_path / "crowd/rating/gate.py").write_text("not committed")
    (tmp_path / "tests/crowd/test_new.py").write_text("not known")
    assert changed.changed() == {"README.md", "crowd/rating/gate.py", "tests/crowd/test_new.py"}


def test_every_file_that_is_left_to_make_test_exists():
    assert all((changed.ROOT / name).exists() for name in (*changed.LONG, *changed.ALWAYS))
