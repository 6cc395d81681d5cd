"""Which slow tests a run of the continuous integration takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import types

import pytest

import own_tests
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


def test_parameters_of_what_takes_minutes_are_dealt_by_themselves():
    durations = ["test_a.py::test_long[1]", "test_a.py::test_long[2]", "test_a.py::test_short"]
    assert shares.unit("test_a.py::test_long[2]", (), durations) == "test_a.py::test_long[2]"
    assert shares.unit("test_a.py::test_short[2]", (), durations) == "test_a.py::test_short"
    assert shares.unit("test_a.py::test_x[2]", ("report",), durations) == "test_a.py::report"


def test_time_goes_to_both_kinds_as_they_need_it(monkeypatch):
    """Of two workers each takes half of 600 s; the others run one by one."""
    known = {"slow": {"a": 400.0, "b": 200.0}, "multiprocess": {"c": 100.0}}
    monkeypatch.setattr(shares, "recorded", lambda: known)
    assert shares.part(20, "multiprocess") == pytest.approx(5)
    monkeypatch.setattr(shares, "recorded", lambda: {"slow": {"a": 1.0}, "multiprocess": {}})
    assert shares.part(21, "multiprocess") == 7


def test_recorded_durations_are_those_of_tests_that_exist():
    texts = {}
    for names in shares.recorded().values():
        for name in names:
            path, *_, test = shares.function(name).split("::")
            if path not in texts:
                texts[path] = (shares.TESTS.parent / path).read_text(encoding="utf-8")
            assert f"def {test}(" in texts[path], f"{name} in durations.json: there is no such test"


def test_shared_runs_are_fixtures():
    """Of a module each: nothing else makes tests of one file wait for a run of their own."""
    texts = [path.read_text(encoding="utf-8") for path in shares.TESTS.glob("*/test_*.py")]
    for name in shares.SHARED:
        fixture = f'@pytest.fixture(scope="module")\ndef {name}('
        assert any(fixture in text for text in texts), name


SECONDS = {f"test_{file}.py::test_{n}": 10.0 for file in "abcdef" for n in range(3)}
SECONDS["test_long.py::test"] = 100.0


def test_tests_of_changed_files_come_first_while_there_is_time():
    """The closest first, in what the share leaves, or a quarter of all; then the share."""
    drawn = {name for name in SECONDS if name[5] in "abl"}  # 160 s
    close = {"test_c.py": own_tests.USED, "test_d.py": own_tests.ITSELF}
    found = shares.in_turn(SECONDS, drawn, close, room=200.0)
    first, share, rest = found[:5], found[5:12], found[12:]
    assert [name[5] for name in first] == [*"dddcc"]  # 50 s, a quarter
    assert set(share) == drawn and share[0] == "test_long.py::test"
    assert rest == ["test_c.py::test_2"]
    assert [n[5] for n in shares.in_turn(SECONDS, drawn, close, 220.0)[:6]] == [*"dddccc"]


def test_what_is_drawn_takes_nothing_from_others_of_changed_files():
    close = {"test_a.py": own_tests.NAMED, "test_b.py": own_tests.NAMED}
    drawn = {name for name in SECONDS if name[5] in "al"}
    found = shares.in_turn(SECONDS, drawn, close, room=120.0)
    assert {name[5] for name in found[:6]} == {*"ab"}
    # A test that is too long for what is left does not keep shorter ones from it.
    found = shares.in_turn(SECONDS, set(), {"test_long.py": 0, "test_a.py": 1}, room=40.0)
    assert [name[5] for name in found] == [*"aaal"]


def test_other_files_come_last_after_each_five_landings():
    """A fifth of the files that is left out is among the first four fifths in the next turns."""
    names = {f"test_{n}.py::test": 10.0 for n in range(100)}
    last = [
        set(shares.in_turn(names, set(names), {}, 1e9, shares.GOLDEN * turn)[80:])
        for turn in range(5)
    ]
    assert not last[0] & last[1]
    assert len(set.union(*last)) > 75


def test_the_page_tells_the_rules():
    page = " ".join((own_tests.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    program = (own_tests.ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert (shares.SHARES, shares.OWN) == (5, 0.25)
    assert "one fifth of the slow tests" in page
    assert "in the time that the fifth leaves, a quarter of all at least" in page
    assert "of 38 minutes" in page and f"(({38 * 60} - SECONDS) / 60)" in program


def test_a_worker_takes_what_stands_together_of_a_file():
    durations = {"test_a.py::test_long": 90.0, "test_a.py::test_x[2]": 80.0}
    names = ["a.py::test_0", "a.py::test_1[1]", "a.py::test_long[1]", "a.py::test_long[2]"]
    names += ["b.py::test_0", "a.py::test_x[1]", "a.py::test_x[2]", "a.py::test_3"]
    found = shares.pieces([f"test_{name}" for name in names], durations)
    assert list(found.values()) == [1, 1, 2, 2, 3, 4, 5, 6]


def source(root, **modules: str) -> None:
    """A package with these modules, `__` for a folder."""
    for name, text in modules.items():
        path = root / "src" / "zitter" / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_changed_files_have_tests_of_their_own(tmp_path):
    files = {
        "tests/mesh/test_grids.py": 'devices.run("grid_quick", 2)',
        "tests/qmc/test_sweep.py": "from qmc import molecules",
        "tests/qmc/test_walk.py": "from qmc.molecules import water",
    }

    def own(*changed):
        return own_tests.own_tests(changed, files, tmp_path)

    assert own("tests/mesh/test_grids.py") == {"tests/mesh/test_grids.py": own_tests.ITSELF}
    assert own("tests/mesh/grid_quick.py") == {"tests/mesh/test_grids.py": own_tests.NAMED}
    assert own("src/zitter/qmc/walk/sweep.py") == {"tests/qmc/test_sweep.py": own_tests.ITSELF}
    both = {"tests/qmc/test_sweep.py", "tests/qmc/test_walk.py"}
    assert own("tests/qmc/molecules.py").keys() == both
    assert own("README.md", "src/zitter/units.py") == {}
    files["tests/test_steps.py"] = "from zitter.qmc import (\n    walk,\n)\nimport zitter.units"
    assert own("src/zitter/units.py") == {"tests/test_steps.py": own_tests.NAMED}
    assert own("src/zitter/qmc/walk.py") == {
        "tests/test_steps.py": own_tests.NAMED,
        "tests/qmc/test_walk.py": own_tests.ITSELF,
    }


def test_users_of_public_names_are_tests_of_the_module(tmp_path):
    source(
        tmp_path,
        public="from zitter.steps import LOBPCG, Lanczos, solve",
        steps__lanczos="class Lanczos: ...\ndef solve(): ...\ndef helper(): ...",
    )
    files = {
        "tests/test_a.py": "zt.Lanczos(order=3)",
        "tests/test_b.py": 'propagator = { type = "Lanczos" }',
        "tests/test_c.py": "from zitter import (\n    Grid,\n    solve,\n)",
        "tests/test_d.py": "other.solve(), zt.LanczosLike, helper()",
    }
    found = own_tests.own_tests(["src/zitter/steps/lanczos.py"], files, tmp_path)
    assert found == dict.fromkeys(list(files)[:3], own_tests.USED)


def test_what_helpers_name_counts(tmp_path):
    for name, text in {
        "mesh/runs.py": "from mesh import parts\n",
        "mesh/parts.py": "zt.Lanczos()",
        "qmc/parts.py": "zt.Other()",
        "qmc/runs.py": "zt.Other()",
    }.items():
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    texts = {"tests/mesh/test_a.py": 'run("runs")', "tests/test_b.py": 'run("runs")'}
    found = own_tests.with_helpers(texts, tmp_path)
    assert "zt.Lanczos" in found["tests/mesh/test_a.py"]
    assert found["tests/test_b.py"] == texts["tests/test_b.py"]  # a program of another folder


def test_data_kernels_and_examples_have_the_tests_that_name_them(tmp_path):
    source(tmp_path, kernels__update='read("update.cu")', kernels__other="", sets='("ccecp",)')
    files = {
        "tests/test_kernels.py": "from zitter.kernels import update",
        "tests/test_sets.py": "",
        "tests/test_examples.py": 'run("carbon-atom")',
        "tests/qmc/test_files.py": '"co.trexio.h5", "h2"',
    }

    def own(changed):
        return list(own_tests.own_tests([changed], files, tmp_path))

    assert own("src/zitter/kernels/update.cu") == ["tests/test_kernels.py"]
    assert own("src/zitter/data/ccecp.json") == ["tests/test_sets.py"]
    assert own("examples/carbon-atom.toml") == ["tests/test_examples.py"]
    assert own("tests/data/co.trexio.h5") == own("tests/data/h2.chk") == ["tests/qmc/test_files.py"]


def test_modules_that_no_test_knows_have_those_of_their_folder_or_of_importers(tmp_path):
    source(tmp_path, solvers__inner="", files="", loop="from zitter.files import write")
    tests = ["tests/solvers/test_levels.py", "tests/test_loop.py", "tests/test_solvers.py"]
    files = dict.fromkeys(tests, "")
    folder = dict.fromkeys([tests[0], tests[2]], own_tests.NEAR)
    assert own_tests.own_tests(["src/zitter/solvers/inner.py"], files, tmp_path) == folder
    importers = {"tests/test_loop.py": own_tests.NEAR}
    assert own_tests.own_tests(["src/zitter/files.py"], files, tmp_path) == importers
    below = {"tests/solvers/test_levels.py": own_tests.NEAR}
    assert own_tests.own_tests(["tests/solvers/conftest.py"], files, tmp_path) == below


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


CONFTEST = """
from pathlib import Path
import shares
def pytest_addoption(parser): shares.add_options(parser)
def pytest_configure(config): shares.register(config)
"""


def share(letter: str) -> int:
    return shares.number(f"test_it.py::test_{letter}") % shares.SHARES


def run(folder, *words: str) -> str:
    """What pytest says of these tests."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    command += ["--rootdir", str(folder), *words, "test_it.py"]
    env = {k: v for k, v in os.environ.items() if k not in (shares.UNTIL, "PYTEST_XDIST_WORKER")}
    env["PYTHONPATH"] = os.pathsep.join([str(shares.TESTS), env.get("PYTHONPATH", "")])
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True).stdout


def test_no_test_is_begun_when_time_is_over_and_those_left_out_are_named(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    names = [f"test_it.py::test_{x}" for x in "ab" if share(x) == share("a")]
    late = run(tmp_path, "--share", str(share("a")), "--minutes", "-1")
    assert f"{len(names)} not begun within -1 minutes:\n" in late
    assert all(f"  {name}\n" in late for name in names)
    assert "passed" not in late
    for workers in "02":
        in_time = run(tmp_path, "--share", str(share("a")), "-n", workers)
        assert f"{len(names)} passed" in in_time
        assert "not begun" not in in_time


def test_no_test_is_begun_that_would_end_too_late(monkeypatch):
    monkeypatch.setenv(shares.UNTIL, str(time.time() + 60))
    share = shares.Share(0, minutes=10)
    share.seconds = {"short": 40.0, "long": 80.0}
    share.drawn = {"long"}
    short, long = (types.SimpleNamespace(nodeid=name) for name in share.seconds)
    share.pytest_runtest_setup(short)
    with pytest.raises(pytest.skip.Exception, match="of the share"):
        share.pytest_runtest_setup(long)


def report(name, when="call", outcome="passed", seconds=1.0, **more):
    """Of a second by the clock, whatever the processor was used."""
    keywords = dict.fromkeys(more.pop("keywords", ()), 1)
    told = [("processor", seconds), *more.pop("told", ())]
    return pytest.TestReport(
        name, ("", 0, ""), keywords, outcome, None, when, (), 1.0, user_properties=told
    )


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(shares, "DURATIONS", tmp_path / "durations.json")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    return shares.Durations()


def test_durations_are_those_of_tests_that_ran(kept):
    shares.DURATIONS.write_text('{"slow": {"test_old.py::test": 7.0}}', encoding="utf-8")
    for name, when, outcome, seconds in (
        ("test_it.py::test_a[1]", "setup", "passed", 1.0),
        ("test_it.py::test_a[1]", "call", "passed", 2.0),
        ("test_it.py::test_a[2]", "call", "passed", 4.0),
        ("test_it.py::test_b", "setup", "skipped", 0.0),
        ("test_it.py::test_c", "call", "failed", 3.0),
    ):
        kept.pytest_runtest_logreport(report(name, when, outcome, seconds))
    kept.pytest_runtest_logreport(report("test_it.py::test_m", keywords=["multiprocess"]))
    kept.pytest_sessionfinish()
    assert shares.recorded() == {
        "slow": {"test_old.py::test": 7.0, "test_it.py::test_a": 7.0},
        "multiprocess": {"test_it.py::test_m": 1.0},
    }


def test_durations_of_long_functions_are_kept_by_parameter(kept):
    def recorded(*reports):
        kept.__init__()
        for each in reports:
            kept.pytest_runtest_logreport(each)
        kept.pytest_sessionfinish()
        return shares.recorded()["slow"]

    a, b = "test_it.py::test_a[1]", "test_it.py::test_a[2]"
    assert recorded(report(a), report(b)) == {"test_it.py::test_a": 2.0}
    assert recorded(report(a, seconds=150.0), report(b, seconds=100.0)) == {a: 150.0, b: 100.0}
    assert recorded(report(b, seconds=120.0)) == {a: 150.0, b: 120.0}
    run = [("dealt as", "test_it.py::report")]
    both = report("test_it.py::x", told=run), report("test_it.py::y", told=run)
    assert recorded(*both) == {a: 150.0, b: 120.0, "test_it.py::report": 2.0}


def test_the_processor_counts_that_a_test_and_its_children_use(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST + "shares.DURATIONS = Path('durations.json')\n")
    (tmp_path / "test_it.py").write_text(
        "import subprocess, sys, time, pytest\n"
        "@pytest.fixture\n"
        "def report(): time.sleep(0.5)\n"
        "def test_a(report): pass\n"
        "def test_b():\n"
        "    program = 'import time\\nwhile time.process_time() < 1: pass'\n"
        "    subprocess.run([sys.executable, '-c', program])\n"
    )
    run(tmp_path, "--write-durations", "-n", "2")
    found = json.loads((tmp_path / "durations.json").read_text())["slow"]
    assert found.keys() == {"test_it.py::report", "test_it.py::test_b"}
    assert found["test_it.py::report"] < 0.4
    assert 0.9 < found["test_it.py::test_b"] < 3
