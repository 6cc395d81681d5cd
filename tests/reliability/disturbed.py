"""Every kind of run, really killed (SIGKILL) and on a disk that fails, and then resumed.

A run is killed at a system call of its files, half-way through it if it writes, or at any moment;
or from such a call on the disk has no space. Every run is a process of its own, forked from this
one, in which JAX has not started anything yet.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import jax  # noqa: F401  imported here, so that no process has to do it again

import zitter.cli.running
import zitter.cli.sweeping  # noqa: F401
from reliability.disks import Failing, Killing, Watched, put
from reliability.runs import Run, same
from zitter import io


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

    def full_disks(self, moments: list[int]) -> tuple[int, int]:
        """(tried, survived): no space from one of these calls on."""
        survived = 0
        for k in moments:
            run = Run(self.kind, self.folder / "failed")
            code, said = ended(run, Failing(k))
            lines = [line for line in said.splitlines() if not line.startswith("warning: ")]
            fine = code == 0  # a log that could not be written ends nothing
            if code == 1:
                fine = len(lines) == 1 and "No space left on device" in lines[0]
            if not fine:
                self.faults.append(["full disk", k, code, said[-300:]])
            survived += self._resumed(run, ["full disk", k]) and fine
            shutil.rmtree(run.folder)
        return len(moments), survived

    def _resumed(self, run: Run, how: list[Any]) -> bool:
        code, said = ended(run, Watched(), "--resume")
        fine = code == 0 and same(numbers(run), self.wanted) and not run.leftovers()
        if not fine:
            self.faults.append([*how, code, said[-300:], run.leftovers()])
        return fine
