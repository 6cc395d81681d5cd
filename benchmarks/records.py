"""Records: what a benchmark found, with all that is needed to repeat or doubt it.

    schema     version of this form
    name, question, date
    commit     of the source; `clean` where nothing in it had been changed
    source     digest of the program files that ran, which `git` can compare with the commit
    data       the same of the other files of the package: kernels in CUDA, tables, orbitals;
               records made before there was this field have none
    command    the line that made the record
    device     kind and driver; host: the machine's processor, and its load before this program ran
    versions   of Python, zitter, JAX, NumPy, SciPy and of each peer
    precision  that zitter was configured for
    timings    how many actions were timed, how often each, and how far apart the times were; which
               number of which row was the furthest (`largest_in`), where rows hold such times
    measured   rows that were run
    projected  rows that follow from a model or from a part of the run; never ratios to a peer
    outcome    of a reproduction: whether its rows hold, and the seconds of its one run

Only the program that measured writes a record; where there was no git, adopt.py adds the commit,
by the digest. tests/test_records.py holds all of them to the form.
"""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zitter import runtime

SCHEMA = 1
REPOSITORY = Path(__file__).resolve().parent.parent
SOURCES = ("src/zitter", "benchmarks")
WRITTEN = {"--json", "--figure", "--faults", "--out"}  # options that name files of the outcome
LOAD = os.getloadavg()  # before anything was measured
TIMED: list[tuple[int, float]] = []  # (repetitions, (longest − shortest)/median) of each action


def record(
    name: str,
    question: str,
    measured: list[dict[str, Any]],
    *packages: str,
    projected: Iterable[dict[str, Any]] = (),
) -> dict[str, Any]:
    """What `finish` prints and writes; `packages` are the peers that took part."""
    found, clean = commit()
    return {
        "schema": SCHEMA,
        "name": name,
        "question": question,
        "date": datetime.date.today().isoformat(),
        "commit": found,
        "clean": clean,
        "source": digest_of_files(),
        "data": digest_of_files(data=True),
        "command": command(sys.argv),
        "device": device(),
        "host": {
            "processor": processor(),
            "cores": len(os.sched_getaffinity(0)),
            "load": list(LOAD),
        },
        "versions": versions(*packages),
        "precision": runtime.settings().precision,
        "timings": timings(measured),
        "measured": measured,
        "projected": list(projected),
    }


def finish(result: dict[str, Any], path: str | None) -> None:
    """Print the rows as a table and write the record, whole or not at all."""
    for kind in ("measured", "projected"):
        for row in result[kind]:
            mark = "" if kind == "measured" else "projected: "
            print(mark + "  ".join(f"{k}={_shown(v)}" for k, v in row.items()), flush=True)
    if path:
        written(result, Path(path))


def written(result: dict[str, Any], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(file.name + ".part")
    part.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(file)


def commit(*also: str) -> tuple[str, bool]:
    """(commit, whether the files are those of it, `also` in these folders).

    Of a bare copy adopt.py finds it later.
    """
    folders = (*SOURCES, *also)
    words = [["git", "rev-parse", "HEAD"], ["git", "status", "--porcelain", "--", *folders]]
    try:
        found, changed = (
            subprocess.run(w, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
            for w in words
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown", False
    return found.strip(), not changed.strip()


def counted(name: str, data: bool) -> bool:
    """Whether a file is a program, or of the package's `data`; results here are neither."""
    if data:
        own = name.startswith("src/zitter/") and "__pycache__" not in name
        return own and not name.endswith(".py")
    return name.endswith(".py")


def digest_of_files(data: bool = False) -> str:
    """Of all programs that may have run, or of the package's `data`, by path and content."""
    files = (f for folder in SOURCES for f in (REPOSITORY / folder).rglob("*") if f.is_file())
    names = ((str(file.relative_to(REPOSITORY)), file) for file in files)
    return digest((name, file.read_bytes()) for name, file in names if counted(name, data))


def digest_of_commit(commit: str, data: bool = False) -> str:
    """The same of a commit, from git."""
    git = ["git", "-C", str(REPOSITORY)]
    listed = [*git, "ls-tree", "-r", "--name-only", "-z", commit, "--", *SOURCES]
    names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")
    names = [name for name in names if counted(name, data)]
    asked = "".join(f"{commit}:{name}\n" for name in names).encode()
    found = subprocess.run(
        [*git, "cat-file", "--batch"], input=asked, capture_output=True, check=True
    ).stdout
    files, at = [], 0
    for name in names:
        head = found.index(b"\n", at)
        size = int(found[at:head].split()[-1])
        files.append((name, found[head + 1 : head + 1 + size]))
        at = head + size + 2
    return digest(files)


def digest(files: Iterable[tuple[str, bytes]]) -> str:
    total = hashlib.sha256()
    for name, content in sorted(files):
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def command(argv: list[str]) -> str:
    """The line without the files that it writes: they say nothing of what was measured."""
    words, skip = [], False
    for word in argv[1:]:
        if not (skip or word.partition("=")[0] in WRITTEN):
            words.append(word)
        skip = word in WRITTEN
    program = Path(argv[0]).resolve()
    inside = program.is_relative_to(REPOSITORY)
    name = str(program.relative_to(REPOSITORY)) if inside else program.name
    return shlex.join(["python", name, *words])


def device() -> dict[str, Any]:
    chosen = runtime.settings().device
    if chosen.platform == "cpu":
        return {"kind": processor(), "platform": "cpu", "driver": None}
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        said = subprocess.run(query, capture_output=True, text=True, check=True).stdout
        driver = said.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        driver = str(chosen.client.platform_version).splitlines()[0]
    return {"kind": chosen.device_kind, "platform": chosen.platform, "driver": driver}


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(x.split(":")[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def versions(*packages: str) -> dict[str, str]:
    """Of zitter that of its source: metadata of an installation may be older."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {"python": platform.python_version(), "zitter": project["version"]}
    for name in ("jax", "jaxlib", "numpy", "scipy", *packages):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            module = sys.modules.get(name.replace("-", "_"))
            found[name] = str(getattr(module, "__version__", "absent"))
    return found


def present(*packages: str) -> list[str]:
    """Those of them that this machine has: peers that a part of a program does without."""
    found = versions(*packages)
    return [name for name in packages if found[name] != "absent"]


class Timed(float):
    """A time, or a rate of it, with how far apart its repetitions were in units of it.

    Multiplied with a number, or divided by one, it keeps that; a ratio of two times has none.
    """

    spread: float

    def __new__(cls, value: float, spread: float) -> Timed:
        made = super().__new__(cls, value)
        made.spread = spread
        return made

    def __getnewargs__(self) -> tuple[float, float]:
        return float(self), self.spread

    def __mul__(self, other: Any) -> Any:
        return self._scaled(float.__mul__(self, other), other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._scaled(float.__truediv__(self, other), other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._scaled(float.__rtruediv__(self, other), other)

    def _scaled(self, value: Any, by: Any) -> Any:
        one = isinstance(value, float) and not isinstance(by, Timed)
        return Timed(value, self.spread) if one else value


def timings(rows: list[dict[str, Any]]) -> dict[str, Any]:
    if not TIMED:
        return {"actions": 0}
    of_rows = [
        {"row": index, "key": key, "spread": value.spread}
        for index, row in enumerate(rows)
        for key, value in row.items()
        if isinstance(value, Timed)
    ]
    largest = max(of_rows, key=lambda found: found["spread"], default=None)
    counts, spreads = zip(*TIMED, strict=True)
    return {
        "actions": len(TIMED),
        "repetitions": [min(counts), max(counts)],
        "spread_median": statistics.median(spreads),
        "spread_largest": max(spreads),
        **({} if largest is None else {"largest_in": largest}),
    }


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
