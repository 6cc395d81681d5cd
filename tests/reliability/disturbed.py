"""Every kind of run, really killed (SIGKILL), and then resumed.

A run is killed at a system call of its files, half-way through it if it writes, or at any moment.
Every run is a process of its own, forked from this one, in which JAX has not started anything yet;
those on disks that fail (`faulty_disks`) share one.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import time
import traceback
from pathlib import Path
from typing import Any

import jax  # noqa: F401  imported here, so that no process has to do it again

import zitter.cli.running
import zitter.cli.sweeping  # noqa: F401
from reliability import faulty_disks
from reliability.disks import Killing, Watched, put
from reliability.faulty_disks import spread
from reliability.runs import Run, same
from zitter import io

SOME = 20  # calls at which a disk becomes read-only


class Ending(Killing):
    """A real end at call number k."""

    def before(self, call: str, path: Any) -> None:
        Watched.before(self, call, path)
        if len(self.calls) > self.k:
            os.kill(os.getpid(), signal.SIGKILL)


def ended(run: Run, disk: Watched, *more: str, after: float | None = None) -> tuple[int, str]:
    """(status, or minus the signal; what was said) of a process with that disk.

    It is killed after so many seconds, unless that is None.
    """
    run.command()  # writes the input
    said = run.folder / "said.txt"
    pid = os.fork()
    if not pid:
        code = 70
        try:
            handle = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, 1)
            os.dup2(handle, 2)
            with put(disk):
                code = run.status(*more)
            (run.folder / "moments.txt").write_text(" ".join(map(str, disk.moments())))
        finally:
            os._exit(code)
    if after is not None:
        time.sleep(after)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code, said.read_text(errors="replace")


def numbers(run: Run) -> dict[str, Any]:
    """All arrays of the result; JAX has no part in it."""
    return {name: v.data for name, v in io.read(run.out / "result.h5").variables.items()}


class Trials:
    """Disturbances of one kind of run, with what became of them."""

    def __init__(self, kind: str, folder: Path, seed: int = 0):
        self.kind, self.folder = kind, folder
        self.chance = random.Random(f"{kind} {seed}")
        self.faults: list[Any] = []
        whole = Run(kind, folder / "whole")
        for _ in range(2):  # the first one compiles
            shutil.rmtree(whole.out, ignore_errors=True)
            tick = time.monotonic()
            code, said = ended(whole, Watched())
            assert code == 0, said
            self.seconds = time.monotonic() - tick
        self.wanted = numbers(whole)
        self.moments = [int(k) for k in (whole.folder / "moments.txt").read_text().split()]

    def kills(self, count: int) -> tuple[int, int]:
        """(tried, survived): every other one at a call, the others at any time."""
        tried = survived = 0
        for number in range(count):
            run = Run(self.kind, self.folder / "killed")
            k, after = 10**9, None
            if number % 2:
                after = self.chance.uniform(0.05, 0.95) * self.seconds
            else:
                k = self.chance.randrange(self.moments[-1])
            code, _ = ended(run, Ending(k), after=after)
            if code == -signal.SIGKILL:  # else it was over before that
                tried += 1
                survived += self._resumed(run, ["kill", k, after])
            shutil.rmtree(run.folder)
        return tried, survived

    def failing_disks(self, most: int | None) -> dict[str, tuple[int, int]]:
        """(tried, survived) of disks that fail: full at every call, or at about `most` of them;
        read-only, without large files, or with the folder gone."""
        told = self.folder / "failing.json"
        pid = os.fork()
        if not pid:
            code = 70
            try:
                disks = faulty_disks.Faults(self.kind, self.folder / "disks")
                calls, files = disks.moments(), list(range(1, disks.replacements() + 1))
                found = {
                    "full disks": disks.full_disks(spread(calls, most)),
                    "read-only disks": disks.read_only_disks(spread(calls, most or SOME)),
                    "limits of size": disks.limits_of_size(faulty_disks.SIZES[:most]),
                    "removed folders": disks.removed_folders(spread(files, most)),
                }
                told.write_text(json.dumps([found, disks.wrong]))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert code == 0, f"disks that fail ended with status {code}"
        found, wrong = json.loads(told.read_text())
        self.faults += wrong
        return {name: (tried, survived) for name, (tried, survived) in found.items()}

    def _resumed(self, run: Run, how: list[Any]) -> bool:
        code, said = ended(run, Watched(), "--resume")
        fine = code == 0 and same(numbers(run), self.wanted) and not run.leftovers()
        if not fine:
            self.faults.append([*how, code, said[-300:], run.leftovers()])
        return fine
