"""Which slow tests a run of the continuous integration takes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import types

import pytest

import shares

DURATIONS = {f"tests/test_a.py::test_{n}": 5.0 + n % 7 for n in range(40)} | {"tests/b": 60.0}
UNKNOWN = [f"tests/test_c.py::test_{n}" for n in range(200)]


def test_every_test_is_in_one_share():
    known = shares.dealt(DURATIONS)
    parts = [
        {name for name in [*DURATIONS, *UNKNOWN] if shares.share_of(name, known) == k}
        for k in range(shares.SHARES)
    ]
    assert set.union(*parts) == {*DURATIONS, *UNKNOWN}
    assert sum(map(len, parts)) == len(DURATIONS) + len(UNKNOWN)
    # A hash spreads 200 names evenly: 40 ± 6, of which 20 is three and a half away.
    assert all(len(part - DURATIONS.keys()) > 20 for part in parts)


def test_shares_take_equally_long():
    """Dealt out by falling length, sums differ by less than the longest of the others."""
    known = shares.dealt(DURATIONS)
    sums = [sum(s for n, s in DURATIONS.items() if known[n] == k) for k in range(shares.SHARES)]
    assert max(sums) - min(sums) < 11.0
    assert max(sums) >= 60.0


def test_a_share_does_not_depend_on_the_other_tests():
    known = shares.dealt(DURATIONS)
    assert shares.share_of("tests/new.py::test", known) == shares.share_of("tests/new.py::test", {})


def test_changed_files_have_tests_of_their_own():
    files = {
        "tests/mesh/test_grids.py": 'devices.run("grid_quick", 2)',
        "tests/qmc/test_sweep.py": "from qmc import molecules",
        "tests/qmc/test_walk.py": "from qmc.molecules import water",
    }
    own = shares.own_tests
    assert own(["tests/mesh/test_grids.py"], files) == {"tests/mesh/test_grids.py"}
    assert own(["tests/mesh/grid_quick.py"], files) == {"tests/mesh/test_grids.py"}
    assert own(["src/zitter/qmc/walk/sweep.py"], files) == {"tests/qmc/test_sweep.py"}
    both = {"tests/qmc/test_sweep.py", "tests/qmc/test_walk.py"}
    assert own(["tests/qmc/molecules.py"], files) == both
    assert own(["README.md", "src/zitter/units.py"], files) == set()
    files["tests/test_steps.py"] = "from zitter.qmc import walk\nfrom zitter.units import hartree"
    assert own(["src/zitter/units.py"], files) == {"tests/test_steps.py"}
    assert own(["src/zitter/qmc/walk.py"], files) == {
        "tests/test_steps.py",
        "tests/qmc/test_walk.py",
    }


def git(folder, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True)


def commit(folder, name: str) -> None:
    (folder / name).write_text(name)
    git(folder, "add", name)
    git(folder, "commit", "-q", "-m", name)


@pytest.fixture
def history(tmp_path, monkeypatch):
    """Eight commits, of one file each."""
    whole = tmp_path / "whole"
    subprocess.run(["git", "init", "-q", str(whole)], check=True)
    for n in range(8):
        commit(whole, f"{n}.py")
    monkeypatch.setattr(shares, "TESTS", whole)
    return whole


def test_five_commits_in_a_row_take_all_shares(history):
    found = []
    for n in range(shares.SHARES):
        commit(history, f"more {n}.py")
        found.append(shares.share_of_commit())
    assert sorted(found) == list(range(shares.SHARES))


def test_five_merges_take_all_shares_whatever_they_bring(history):
    found = []
    for n in range(shares.SHARES):
        git(history, "checkout", "-q", "-b", f"branch-{n}")
        for part in range(5):
            commit(history, f"part {n} {part}.py")
        git(history, "checkout", "-q", "-")
        git(history, "merge", "-q", "--no-ff", "-m", "landed", f"branch-{n}")
        found.append(shares.share_of_commit())
    assert sorted(found) == list(range(shares.SHARES))


def test_the_last_five_commits_say_what_has_changed(history):
    assert shares.changed_files() == ["3.py", "4.py", "5.py", "6.py", "7.py"]
    (history / "0.py").write_text("edited")
    assert "0.py" in shares.changed_files()


@pytest.mark.parametrize(("depth", "known"), [(1, []), (3, ["6.py", "7.py"])])
def test_a_shallow_clone_has_a_share_and_what_it_knows(history, monkeypatch, depth, known):
    shallow = history.parent / "shallow"
    words = ["git", "clone", "-q", "--depth", str(depth), history.as_uri(), str(shallow)]
    subprocess.run(words, check=True)
    monkeypatch.setattr(shares, "TESTS", shallow)
    assert shares.changed_files() == known
    assert shares.share_of_commit() == shares.number(shares.git("rev-parse", "HEAD") or "") % 5


def test_a_folder_without_git_has_a_share(tmp_path, monkeypatch):
    monkeypatch.setattr(shares, "TESTS", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert shares.changed_files() == []
    assert 0 <= shares.share_of_commit() < shares.SHARES


def share(letter: str) -> int:
    return shares.number(f"test_it.py::test_{letter}") % shares.SHARES


def run(folder, *words: str) -> str:
    """What pytest says of two tests in the first one's share, or shares."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    command += ["--rootdir", str(folder), "--share", str(share("a")), *words, "test_it.py"]
    env = {k: v for k, v in os.environ.items() if k not in (shares.UNTIL, "PYTEST_XDIST_WORKER")}
    env["PYTHONPATH"] = os.pathsep.join([str(shares.TESTS), env.get("PYTHONPATH", "")])
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True).stdout


def test_no_test_is_begun_when_time_is_over_and_those_left_out_are_named(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import shares\n"
        "def pytest_addoption(parser): shares.add_options(parser)\n"
        "def pytest_configure(config): shares.register(config)\n"
    )
    (tmp_path / "test_it.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    names = [f"test_it.py::test_{x}" for x in "ab" if share(x) == share("a")]
    late = run(tmp_path, "--minutes", "-1")
    assert f"{len(names)} not begun within -1 minutes:\n" in late
    assert all(f"  {name}\n" in late for name in names)
    assert "passed" not in late
    in_time = run(tmp_path)
    assert f"{len(names)} passed" in in_time
    assert "not begun" not in in_time


def test_what_was_drawn_keeps_half_of_the_time(monkeypatch):
    monkeypatch.setenv(shares.UNTIL, str(time.time() + 6 * 60))
    share = shares.Share(0, minutes=10)
    share.first = {"changed"}
    changed, drawn = (types.SimpleNamespace(nodeid=name) for name in ("changed", "drawn"))
    share.pytest_runtest_setup(changed)
    monkeypatch.setenv(shares.UNTIL, str(time.time() + 4 * 60))
    share.pytest_runtest_setup(drawn)
    with pytest.raises(pytest.skip.Exception):
        share.pytest_runtest_setup(changed)


def test_durations_are_those_of_tests_that_ran(tmp_path, monkeypatch):
    monkeypatch.setattr(shares, "DURATIONS", tmp_path / "durations.json")
    (tmp_path / "durations.json").write_text('{"test_old.py::test": 7.0}', encoding="utf-8")
    kept = shares.Durations()
    for name, when, outcome, seconds in (
        ("test_it.py::test_a[1]", "setup", "passed", 1.0),
        ("test_it.py::test_a[1]", "call", "passed", 2.0),
        ("test_it.py::test_a[2]", "call", "passed", 4.0),
        ("test_it.py::test_b", "setup", "skipped", 0.0),
        ("test_it.py::test_c", "call", "failed", 3.0),
    ):
        kept.pytest_runtest_logreport(
            pytest.TestReport(name, ("", 0, ""), {}, outcome, None, when, duration=seconds)
        )
    kept.pytest_sessionfinish()
    assert shares.recorded() == {"test_old.py::test": 7.0, "test_it.py::test_a": 7.0}
