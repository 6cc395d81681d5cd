"""A share of the slow tests: one of five, chosen by the commit, and those of changed files.

    make test-share                 what .ci/run adds to the fast tests
    pytest -m … --share 3           share 3 of 0 … 4
    pytest -m … --share commit      the number of landings modulo 5, so that five in a row run all

Tests of one function stay together. Those in durations.json are dealt out so that shares take
equally long, others by a hash of their name; neither depends on which tests there are besides, so
that none changes its share, and is missed for it, when others come or go.

A changed file's own tests run in any case and come first, for half of the time at most. After
`--minutes` no further test is begun, and those left out are named at the end. Which files come last
is drawn by the commit.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

SHARES = 5
TESTS = Path(__file__).resolve().parent
DURATIONS = TESTS / "durations.json"
UNTIL = "ZITTER_TESTS_UNTIL"  # workers that replace others have the same end
LEFT_OUT = "left out: the time for slow tests was over"


def number(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)


def function(nodeid: str) -> str:
    """Parameters share what is compiled, and stay together."""
    return nodeid.split("[")[0]


def dealt(durations: Mapping[str, float]) -> dict[str, int]:
    """The share of each known function: the longest first, each to the share with the least."""
    sums = [0.0] * SHARES
    shares = {}
    for name in sorted(durations, key=lambda name: (-durations[name], name)):
        shares[name] = min(range(SHARES), key=lambda k: (sums[k], k))
        sums[shares[name]] += durations[name]
    return shares


def share_of(name: str, known: Mapping[str, int]) -> int:
    return known.get(name, number(name) % SHARES)


def recorded() -> dict[str, float]:
    return json.loads(DURATIONS.read_text(encoding="utf-8")) if DURATIONS.exists() else {}


def git(*words: str) -> str | None:
    try:
        said = subprocess.run(
            ["git", "-C", str(TESTS), *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return said.stdout.strip()


def share_of_commit() -> int:
    """By the number of landings: a merge is one, whatever it brings, and so is a single commit.

    First parents are counted. A clone that does not know them has the commit's name instead.
    """
    if git("rev-parse", "--is-shallow-repository") == "false":
        return int(git("rev-list", "--count", "--first-parent", "HEAD") or 0) % SHARES
    return number(git("rev-parse", "HEAD") or "") % SHARES


def changed_files() -> list[str]:
    """In the last five commits or merges, as far as this clone knows them, and since."""
    line = (git("rev-list", "--first-parent", "--max-count", "6", "HEAD") or "").split()
    found = git("diff", "--name-only", line[-1], "HEAD") if len(line) > 1 else ""
    edited = git("diff", "--name-only", "HEAD")
    return sorted({*(found or "").splitlines(), *(edited or "").splitlines()})


def own_tests(changed: Iterable[str], files: Mapping[str, str]) -> set[str]:
    """The test files that belong to changed ones, of `files` with their text.

    A test file is its own; `name.py` of the package has `test_name.py` and the tests that import
    it; a program or module among the tests has the tests that name it.
    """
    found = set()
    for path in map(Path, changed):
        if path.suffix != ".py":
            continue
        if path.parts[0] == "tests" and not path.name.startswith("test_"):
            words = (f'"{path.stem}"', f"import {path.stem}", f"{path.stem} import")
            found |= {file for file, text in files.items() if any(w in text for w in words)}
        if path.parts[:2] == ("src", "zitter"):
            *package, name = path.with_suffix("").parts[1:]
            module = re.compile(
                rf"(?:import|from) {'.'.join([*package, name])}\b"
                rf"|from {'.'.join(package)} import [^\n]*\b{name}\b"
            )
            found |= {file for file, text in files.items() if module.search(text)}
        found |= {file for file in files if Path(file).name in (path.name, f"test_{path.name}")}
    return found


class Share:
    """The hooks, where a share is asked for."""

    def __init__(self, share: int, minutes: float):
        self.share = share
        self.minutes = minutes
        self.commit = git("rev-parse", "HEAD") or ""
        self.own: set[str] = set()
        self.first: set[str] = set()  # of changed files, and not drawn
        self.left_out: list[str] = []
        os.environ.setdefault(UNTIL, str(time.time() + 60 * minutes))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]):
        """`trylast`: what markers leave out has gone."""
        names = {item.nodeid.split("::")[0]: item.path for item in items}
        texts = {name: path.read_text(encoding="utf-8") for name, path in names.items()}
        self.own = own_tests(changed_files(), texts)
        known = dealt(recorded())

        def drawn(item: pytest.Item) -> bool:
            return share_of(function(item.nodeid), known) == self.share

        def of_changed(item: pytest.Item) -> bool:
            return item.nodeid.split("::")[0] in self.own

        def turn(item: pytest.Item) -> tuple[bool, int]:
            """Files in an order that each commit draws anew; tests of one file stay as they are."""
            return drawn(item), number(self.commit + item.nodeid.split("::")[0])

        taken = [item for item in items if drawn(item) or of_changed(item)]
        others = [item for item in items if not drawn(item) and not of_changed(item)]
        self.first = {item.nodeid for item in taken if not drawn(item)}
        config.hook.pytest_deselected(items=others)
        items[:] = sorted(taken, key=turn)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """What was drawn keeps half of the time, however much has changed."""
        left = float(os.environ[UNTIL]) - time.time()
        if left < (30 * self.minutes if item.nodeid in self.first else 0):
            pytest.skip(LEFT_OUT)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and LEFT_OUT in str(report.longrepr):
            self.left_out.append(report.nodeid)

    def pytest_report_header(self) -> str:
        return f"share {self.share} of {SHARES} of these tests, and those of changed files"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.left_out:
            say = terminalreporter.write_line
            say(f"{len(self.left_out)} not begun within {self.minutes:g} minutes:")
            for name in sorted(self.left_out):
                say(f"  {name}")


class Durations:
    """Seconds of each function into durations.json, beside those that were not run now."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.ran: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = function(report.nodeid)
        self.seconds[name] = self.seconds.get(name, 0.0) + report.duration
        if report.when == "call" and report.passed:
            self.ran.add(name)  # what was left out or failed early says nothing of its length

    def pytest_sessionfinish(self) -> None:
        found = recorded() | {name: round(self.seconds[name], 1) for name in self.ran}
        lines = json.dumps(dict(sorted(found.items())), indent=1)
        DURATIONS.write_text(lines + "\n", encoding="utf-8")


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("zitter")
    group.addoption("--share", help=f"0 … {SHARES - 1}, or `commit`: this share of the tests")
    group.addoption("--minutes", type=float, default=20, help="begin no test of a share after that")
    group.addoption(
        "--write-durations", action="store_true", help="into tests/durations.json, for the shares"
    )


def register(config: pytest.Config) -> None:
    asked = config.getoption("--share")
    if asked is not None:
        share = share_of_commit() if asked == "commit" else int(asked)
        if not 0 <= share < SHARES:
            raise pytest.UsageError(f"--share: must be 0 … {SHARES - 1}, but is {share}")
        config.pluginmanager.register(Share(share, config.getoption("--minutes")), "share")
    if config.getoption("--write-durations") and "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(Durations(), "write durations")
