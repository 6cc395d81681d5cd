"""A share of the slow tests: one of five, chosen by the commit, and those of changed files.

    make test-share                 what .ci/run adds to the fast tests
    pytest -m … --share 3           share 3 of 0 … 4
    pytest -m … --share commit      the number of landings modulo 5, so that five in a row run all
    python tests/shares.py 25       of 25 minutes, those for the tests with several processes

Tests of one function are dealt as one, and so are those that share a long run (`SHARED`); of
functions that take minutes each parameter is dealt by itself. What durations.json knows is dealt
out so that shares take equally long, the rest by a hash of its name; neither depends on which tests
there are besides, so that none changes its share, and is missed for it, when others come or go.

The tests of changed files (`own_tests.py`) are added, whatever their share, the closest first: in
the time that the share leaves, a quarter of all at least. Those for which that is too short come
after the share, while there is time.
No test is begun that would not end within `--minutes`, and those left out are named at the end.
Which come last is another part of the share after every five landings.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from own_tests import own_tests, with_helpers

SHARES = 5
TESTS = Path(__file__).resolve().parent
DURATIONS = TESTS / "durations.json"
UNTIL = "ZITTER_TESTS_UNTIL"  # workers that replace others have the same end
LEFT_OUT = "left out of the share: the time for slow tests was over"
MORE = "left out: no more time for tests of changed files"
KINDS = ("slow", "multiprocess")  # these run one after the other; in durations.json each by itself
WORKERS = {"slow": 2, "multiprocess": 1}
SHARED = {"report", "one_photon", "in_a_large_box"}  # fixtures of modules: a run of a minute
TYPICAL = 20.0  # seconds, where none are known
LONG = 60.0  # seconds: tests begun first, and not kept with their file
VERY_LONG = 200.0  # functions of which each parameter is dealt by itself
OWN = 0.25  # of the time is for changed files, whatever the share takes
GOLDEN = 0.6180339887498949


def number(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)


def fraction(text: str) -> float:
    return number(text) / 16**12


def function(nodeid: str) -> str:
    """Parameters share what is compiled."""
    return nodeid.split("[")[0]


def file_of(nodeid: str) -> str:
    return nodeid.split("::")[0]


def unit(nodeid: str, fixtures: Collection[str], durations: Collection[str]) -> str:
    """Under which name a test is dealt, and its duration kept."""
    for name in sorted(SHARED.intersection(fixtures)):
        return f"{file_of(nodeid)}::{name}"
    return nodeid if nodeid in durations else function(nodeid)


def dealt(durations: Mapping[str, float]) -> dict[str, int]:
    """The share of each known unit: the longest first, each to the share with the least."""
    sums = [0.0] * SHARES
    shares = {}
    for name in sorted(durations, key=lambda name: (-durations[name], name)):
        shares[name] = min(range(SHARES), key=lambda k: (sums[k], k))
        sums[shares[name]] += durations[name]
    return shares


def share_of(name: str, known: Mapping[str, int]) -> int:
    return known.get(name, number(name) % SHARES)


def recorded() -> dict[str, dict[str, float]]:
    """Seconds of each unit, by kind."""
    found = json.loads(DURATIONS.read_text(encoding="utf-8")) if DURATIONS.exists() else {}
    return {kind: found.get(kind, {}) for kind in KINDS}


def part(minutes: float, kind: str) -> float:
    """Of that much time, what tests of this kind need of all; a third where that is not known."""
    sums = {k: sum(known.values()) / WORKERS[k] for k, known in recorded().items()}
    return minutes * (sums[kind] / sum(sums.values()) if all(sums.values()) else 1 / 3)


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


def landings() -> int:
    """A merge is one, whatever it brings, and so is a single commit.

    First parents are counted. A clone that does not know them has the commit's name instead.
    """
    if git("rev-parse", "--is-shallow-repository") == "false":
        return int(git("rev-list", "--count", "--first-parent", "HEAD") or 0)
    return number(git("rev-parse", "HEAD") or "")


def share_of_commit() -> int:
    return landings() % SHARES


def changed_files() -> list[str]:
    """In the last five commits or merges, as far as this clone knows them, and since."""
    line = (git("rev-list", "--first-parent", "--max-count", "6", "HEAD") or "").split()
    found = git("diff", "--name-only", line[-1], "HEAD") if len(line) > 1 else ""
    edited = git("diff", "--name-only", "HEAD")
    return sorted({*(found or "").splitlines(), *(edited or "").splitlines()})


def in_turn(
    seconds: Mapping[str, float],
    drawn: Collection[str],
    close: Mapping[str, int],
    room: float,
    shift: float = 0.0,
) -> list[str]:
    """What is run, and in which order, where all workers have so many seconds together.

    First what belongs to changed files, as far as there is time for it; then the share, its long
    tests before the others, so that no worker is left with one at the end; then what is left over.
    """
    own = [name for name in seconds if file_of(name) in close]
    left = max(OWN * room, room - sum(seconds[name] for name in drawn))
    first = set()
    for name in sorted(own, key=lambda n: (close[file_of(n)], seconds[n])):
        more = 0.0 if name in drawn else seconds[name]
        if more <= left:
            first.add(name)
            left -= more
    own.sort(key=lambda n: close[file_of(n)])
    share = [name for name in seconds if name in drawn]
    long = sorted((n for n in share if seconds[n] >= LONG), key=lambda n: -seconds[n])
    share.sort(key=lambda n: (fraction(file_of(n)) + shift) % 1)
    return list(dict.fromkeys([*(n for n in own if n in first), *long, *share, *own]))


def pieces(names: Iterable[str], durations: Mapping[str, float]) -> dict[str, int]:
    """What one worker takes at a time: the tests of a file that stand together.

    They share what is made and compiled; what takes long anyway is a piece of its own.
    """
    found, piece, last = {}, 0, ""
    for nodeid in names:
        name = unit(nodeid, (), durations)
        place = name if durations.get(name, 0.0) >= LONG else file_of(nodeid)
        piece += place != last
        last, found[nodeid] = place, piece
    return found


class Share:
    """The hooks, where a share is asked for."""

    def __init__(self, share: int, minutes: float):
        self.share = share
        self.minutes = minutes
        self.seconds: dict[str, float] = {}  # that each test may take
        self.drawn: set[str] = set()
        self.left_out: list[str] = []
        self.more = 0  # left out that belong to changed files only
        os.environ.setdefault(UNTIL, str(time.time() + 60 * minutes))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]):
        """`trylast`: what markers leave out has gone."""
        several = any(item.get_closest_marker("multiprocess") for item in items)
        durations = recorded()[KINDS[several]]
        units = {item.nodeid: unit(item.nodeid, fixtures(item), durations) for item in items}
        known, members = dealt(durations), Counter(units.values())
        typical = statistics.median(durations.values()) if durations else TYPICAL
        self.seconds = {n: durations.get(u, typical) / members[u] for n, u in units.items()}

        paths = {file_of(item.nodeid): item.path for item in items}
        texts = {name: path.read_text(encoding="utf-8") for name, path in paths.items()}
        close = own_tests(changed_files(), with_helpers(texts))
        self.drawn = {name for name, u in units.items() if share_of(u, known) == self.share}
        room = 60 * self.minutes * int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        shift = GOLDEN * (landings() // SHARES)  # others are last after each five landings
        turns = {n: k for k, n in enumerate(in_turn(self.seconds, self.drawn, close, room, shift))}

        config.hook.pytest_deselected(items=[i for i in items if i.nodeid not in turns])
        taken = [item for item in items if item.nodeid in turns]
        items[:] = sorted(taken, key=lambda item: turns[item.nodeid])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        from xdist.scheduler import LoadScopeScheduling

        durations = {name: s for known in recorded().values() for name, s in known.items()}

        class Pieces(LoadScopeScheduling):
            @functools.cached_property
            def pieces(self) -> dict[str, int]:
                return pieces(self.collection or (), durations)

            def _split_scope(self, nodeid: str) -> str:
                return str(self.pieces[nodeid])

        config.option.loadscopereorder = False  # they have been put in their order
        return Pieces(config, log)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if time.time() + self.seconds.get(item.nodeid, 0.0) > float(os.environ[UNTIL]):
            pytest.skip(LEFT_OUT if item.nodeid in self.drawn else MORE)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        said = str(report.longrepr) if report.skipped else ""
        self.left_out += [report.nodeid] * (LEFT_OUT in said)
        self.more += MORE in said

    def pytest_report_header(self) -> str:
        return f"share {self.share} of {SHARES} of these tests, and those of changed files"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.left_out:
            say = terminalreporter.write_line
            say(f"{len(self.left_out)} not begun within {self.minutes:g} minutes:")
            for name in sorted(self.left_out):
                say(f"  {name}")
        if self.more:
            terminalreporter.write_line(f"{self.more} more of changed files not begun")


def fixtures(item: pytest.Item) -> Collection[str]:
    return getattr(item, "fixturenames", ())


def used() -> float:
    """Seconds of the processor so far."""
    return sum(os.times()[:4])


class Durations:
    """Seconds of each unit into durations.json, beside those that were not run now.

    Of the slow tests those of the processor, with what their children used: two workers share two
    cores, and other work on the machine does not count. Several processes wait for one another:
    there it is the clock's.
    """

    def __init__(self) -> None:
        self.before = used()
        self.seconds: dict[str, dict[str, float]] = {kind: {} for kind in KINDS}
        self.ran: set[str] = set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Workers tell what the one process that writes cannot see."""
        for item in items:
            name = unit(item.nodeid, fixtures(item), {item.nodeid})
            item.user_properties.append(("dealt as", name))

    def pytest_runtest_logstart(self) -> None:
        self.before = used()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        before, self.before = self.before, used()
        report.user_properties.append(("processor", self.before - before))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = dict(report.user_properties)
        name, kind = told.get("dealt as", report.nodeid), KINDS["multiprocess" in report.keywords]
        # Of a test that took its worker with it nothing is known.
        new = report.duration if kind == "multiprocess" else told.get("processor", 0.0)
        self.seconds[kind][name] = self.seconds[kind].get(name, 0.0) + new
        if report.when == "call" and report.passed:
            self.ran.add(name)  # what was left out or failed early says nothing of its length

    def pytest_sessionfinish(self) -> None:
        if "PYTEST_XDIST_WORKER" in os.environ:
            return
        found = recorded()
        for kind, seconds in self.seconds.items():
            parts: dict[str, dict[str, float]] = {}
            for name in sorted(self.ran & seconds.keys()):
                parts.setdefault(function(name), {})[name] = round(seconds[name], 1)
            for name, new in parts.items():
                found[kind].pop(name, None)
                old = [key for key in found[kind] if function(key) == name]
                new = {key: found[kind].pop(key) for key in old} | new
                total = sum(new.values())
                each = len(new) > 1 and total >= VERY_LONG
                found[kind] |= new if each else {name: round(total, 1)}
        ordered = {kind: dict(sorted(found[kind].items())) for kind in KINDS}
        DURATIONS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("zitter")
    group.addoption("--share", help=f"0 … {SHARES - 1}, or `commit`: this share of the tests")
    group.addoption(
        "--minutes", type=float, default=20, help="begin no test of a share that would end later"
    )
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
    if config.getoption("--write-durations"):
        config.pluginmanager.register(Durations(), "write durations")


if __name__ == "__main__":
    print(f"{part(float(sys.argv[1]), 'multiprocess'):.1f}")
