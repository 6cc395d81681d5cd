"""Plant each fault of faults.toml into a copy of the source and see whether its tests find it.

    make faults                            all of them, with a table
    python tests/faults/plant.py WORD…     those whose names hold one of these words
    make faults JSON="--json FILE"         and a record, in the form of benchmarks/records.py

A fault is found where the tests named with it fail; where they pass, it has survived. The tests are
first run without any fault: what fails then finds nothing.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
LONGEST = 900  # seconds of the tests of one fault
# Modules of the ground that keep files, and those that watch a run; other folders have their names.
AREAS = {"solve": "guards"} | dict.fromkeys(
    ("files", "io", "checkpoints", "locks", "same_run"), "files"
)


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    file: str
    tests: tuple[str, ...]
    edits: tuple[tuple[str, str], ...]

    @property
    def area(self) -> str:
        folder = Path(self.file).parts[2].removesuffix(".py")
        return AREAS.get(folder, folder)

    def planted(self, text: str) -> str:
        for old, new in self.edits:
            if text.count(old) != 1:
                raise ValueError(f"{self.name}: {old!r} must occur once in {self.file}")
            text = text.replace(old, new)
        return text


def faults() -> list[Fault]:
    listed = tomllib.loads((HERE / "faults.toml").read_text(encoding="utf-8"))["fault"]
    return [
        Fault(
            each["name"],
            each["file"],
            tuple(each["tests"]),
            tuple((edit["old"], edit["new"]) for edit in each["edit"]),
        )
        for each in listed
    ]


def pytest(source: Path, tests: tuple[str, ...], longest: float = LONGEST) -> tuple[bool, str]:
    """(whether all passed, the first that failed) of fast tests against this source.

    What does not end has found nothing: it may be the machine that is slow.
    """
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    paths = [str(source), str(REPOSITORY / "tests"), os.environ.get("PYTHONPATH", "")]
    known = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    try:
        done = subprocess.run(
            [*words, *tests], cwd=REPOSITORY, env=known, capture_output=True, text=True,
            timeout=longest,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True, f"no end within {longest:g} s"
    if done.returncode == 5:
        return True, "no fast test among them"
    lines = [x for x in done.stdout.splitlines() if x.startswith("FAILED")]
    if done.returncode and not lines:  # a test that could not begin has found nothing
        print(f"pytest could not run {tests}:\n{done.stdout[-2000:]}{done.stderr}")
        return True, "no test could run"
    return done.returncode == 0, lines[0] if lines else ""


def tried(fault: Fault) -> tuple[bool, str]:
    """Whether it was found, and by which test."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(REPOSITORY / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        place = Path(folder) / fault.file
        place.write_text(fault.planted(place.read_text(encoding="utf-8")), encoding="utf-8")
        passed, line = pytest(source, fault.tests)
    return not passed, line


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="only faults whose names hold one of these")
    parser.add_argument("--unchanged", action="store_true", help="first without any fault")
    parser.add_argument("--jobs", type=int, default=1, help="so many at a time")
    parser.add_argument("--json", help="write the record of what was found here")
    options = parser.parse_args()
    chosen = [f for f in faults() if not options.words or any(w in f.name for w in options.words)]
    for fault in chosen:  # before any takes its time
        fault.planted((REPOSITORY / fault.file).read_text(encoding="utf-8"))
    if options.unchanged:
        needed = tuple(dict.fromkeys(test for fault in chosen for test in fault.tests))
        passed, line = pytest(REPOSITORY / "src", needed, 10 * LONGEST)
        if not passed or line:
            print(f"tests fail without any fault: {line}")
            return 1

    def shown(fault: Fault) -> dict[str, Any]:
        started = time.perf_counter()
        found, line = tried(fault)
        mark = "found   " if found else "SURVIVED"
        by = line.split(" - ")[0].removeprefix("FAILED ").split("tests/", 1)[-1]
        print(f"{mark} {time.perf_counter() - started:5.0f} s  {fault.name}  [{by}]", flush=True)
        return {"area": fault.area, "fault": fault.name, "found": found, "by": by}

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(shown, chosen))
    for area in dict.fromkeys(row["area"] for row in rows):
        found = [row["found"] for row in rows if row["area"] == area]
        print(f"{area:14} {found.count(True):3} of {len(found):3} found")
    survived = [row["found"] for row in rows].count(False)
    print(f"{len(rows) - survived} of {len(rows)} faults found")
    if options.json:
        keep(rows, Path(options.json))
    return 1 if survived else 0


def keep(rows: list[dict[str, Any]], file: Path) -> None:
    """What was found, with the commit; that of the tests counts here as well."""
    sys.path.insert(0, str(REPOSITORY / "benchmarks"))
    import records

    made = records.record("faults", "Do fast tests find faults that are planted?", rows)
    records.written(made | {"clean": records.commit("tests")[1]}, file)


if __name__ == "__main__":
    raise SystemExit(main())
