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
