"""One hostile command in this process, and what is to be said against how it ended.

A command may refuse (status 2, nothing written), fail (status 1, and no result is there) or succeed
(status 0, and the result can be read). Whatever it says against the input is one sentence.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import re
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from test_examples import EXAMPLES
from zitter import checks, cli, files, initial, kinds, runtime, segments, solve
from zitter.qmc import sizes
from zitter.qmc.optimizers import needs as optimizing
from zitter.results import Sweep
from zitter.solve import needs as solve_needs

LIMIT = 20.0  # seconds, after which a command counts as hanging
COMPILING = 120.0  # the same where programs of Monte Carlo are compiled: they take longer
LONGEST = 1000  # characters of a sentence
# Bytes of the machine that commands believe to be on: what fits a larger one may be long by right.
MEMORY = 8 * 1024**3
# Words of Python's own in what is said to people.
PYTHON = re.compile(
    r"\b(dict|NoneType|float64|int64|ndarray|KeyError|TypeError|ValueError|unhashable|"
    r"positional argument|keyword argument|has no attribute|not subscriptable|object is not|"
    r"Traceback|datetime\.|<class|OverflowError|can't|takes \d+|maximum recursion)"
)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a command ended; `fault` is "" where nothing is to be said against it."""

    fault: str
    status: int | None
    said: str
    seconds: float

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


class Hang(BaseException):
    """The time is up; no handler of ordinary errors catches it."""


@contextlib.contextmanager
def limited(seconds: float, late: Callable[[], None] | None = None) -> Iterator[None]:
    """`Hang` inside the block after that much time of the processor, or as long asleep.

    A busy machine is no fault of the input. `late` is for runs, which may be long by right: it is
    called first, to ask them to stop, and they have the same time again.
    """
    asked, begun, before = False, time.process_time(), time.process_time()

    def alarm(number, frame):
        nonlocal asked, begun, before
        now = time.process_time()
        asleep, used, before = now - before < 0.01 * seconds, now - begun, now
        if not asleep and used < seconds:
            return
        if late is None or asked:
            raise Hang
        asked, begun = True, now
        late()

    previous = signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextlib.contextmanager
def small_machine() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "host_memory", lambda: MEMORY)
        yield


def terminate() -> None:
    """Of a command that listens; one that has just ended would take all tests with it."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        os.kill(os.getpid(), signal.SIGTERM)


def tried(
    action: Callable[[], int],
    judge: Callable[[int], str] = lambda status: "",
    late: Callable[[], None] | None = None,
    limit: float = LIMIT,
) -> Outcome:
    """Run `action`, which gives an exit status, and judge what is left and what was said."""
    out, err = io.StringIO(), io.StringIO()
    started, status, fault, more = time.perf_counter(), None, "", ""
    try:
        quiet = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
        with quiet[0], quiet[1], small_machine(), limited(limit, late):
            status = action()
    except Hang:
        fault, more = "hang", traceback.format_exc(limit=-12)
    except KeyboardInterrupt:  # where nobody made a sentence of what `late` asked for
        fault, more = "interrupted", traceback.format_exc(limit=-12)
    except checks.ZitterError as error:  # of a Python function
        status, more = 2, f"error: {error}"
    except Exception:
        fault, more = "traceback", traceback.format_exc(limit=-12)
    said = err.getvalue() + more
    if not fault:
        fault = _speech(status, said) or judge(status or 0)
    return Outcome(fault, status, said[-3000:], time.perf_counter() - started)


def _speech(status: int | None, said: str) -> str:
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    if status not in (0, 1, 2):
        return "status"
    if status and len(errors) != 1:
        return "no sentence"
    if any(len(line) > LONGEST for line in said.splitlines()):
        return "too long"
    return "python words" if any(PYTHON.search(line) for line in errors) else ""


@contextlib.contextmanager
def silent() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def command(*arguments: object) -> Callable[[], int]:
    return lambda: cli.status([str(a) for a in arguments])


def nothing_in(folder: Path) -> Callable[[int], str]:
    """After a dry run."""
    return lambda status: "partial output" if os.path.lexists(folder) else ""


def whole_or_nothing(folder: Path) -> Callable[[int], str]:
    """After a run: the result, or what a failed run may leave."""

    def judge(status: int) -> str:
        if status == 2 and folder.exists():
            return "partial output"
        result = folder / "result.h5"
        if any(folder.glob(f"**/{files.TEMPORARY}")) or (status == 0 and not result.exists()):
            return "partial output"
        if result.exists():
            try:
                found = kinds.load(result)
                found.summary()
            except Exception:
                return "unreadable result"
            # A sweep of which some items failed keeps the others.
            return "partial output" if status and not isinstance(found, Sweep) else ""
        return ""

    return judge


def scene(folder: Path) -> Path:
    """A folder with the examples' files and with everything that a name may lead to."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in EXAMPLES.glob("*.chk"):
        shutil.copy(file, folder)
    for name in ("fifo", "fifo.h5", "fifo.npy"):
        os.mkfifo(folder / name)
    for name in ("loop", "loop.h5"):
        (folder / name).symlink_to(name)
    (folder / "empty.h5").touch()
    (folder / "text.h5").write_text("1 2 3\n4 5 6\n")
    (folder / "deep.toml").write_text("a = " + "[" * 5000 + "]" * 5000)
    (folder / "folder.h5").mkdir()
    (folder / "locked.h5").touch(mode=0)
    with h5py.File(folder / "good.h5", "w") as file:
        file["potential"] = np.linspace(-1, 1, 255) ** 2
    np.save(folder / "good.npy", np.linspace(-1, 1, 255) ** 2)
    with h5py.File(folder / "huge.h5", "w") as file:
        file.create_dataset("potential", (10**12,), "f8", chunks=(1024,))
        file.create_dataset("energies", (10**12,), "f8", chunks=(1024,))
    head = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    with open(folder / "huge.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, head)
    with contextlib.suppress(ImportError):
        import zipfile

        with zipfile.ZipFile(folder / "huge.npz", "w") as archive:
            archive.write(folder / "huge.npy", "potential.npy")
    return folder


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Dry runs that pass every check, but do not compile and time their loop."""
    nothing = sizes.Needs(sizes.Size(1, 1.0, 1.0), 0.0, 0.0, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "compiled", lambda *_: segments.Program(lambda *_: None, 1, 1, 0.0))
        patch.setattr(solve.Plan, "tried", lambda plan, psi: segments.Trial(0.0, 0))
        patch.setattr(sizes, "needs", lambda *_: nothing)
        patch.setattr(optimizing, "needs", lambda *_: (1, 0.0, 0.0))
        patch.setattr(solve_needs, "of_solver", lambda *_: solve_needs.Needs(1, 0.0))
        patch.setattr(solve_needs, "memory_of_solver", lambda *_: 1)
        patch.setattr(initial, "of_solver", lambda *_: solve_needs.Needs(1, 0.0))
        yield
