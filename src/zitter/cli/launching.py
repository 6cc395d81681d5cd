"""`--processes N`: the same command N times on this node, and an eye on all of them.

Each process gets the address of the first one (a free port of the loopback), and its number. Those
of `zitter run` compute together: if one dies the others cannot go on, so they are ended, and one
sentence says what happened and what is saved. Those of `zitter sweep` go on.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from zitter import checks, processes

LAUNCHER = "ZITTER_LAUNCHER"  # the launcher's number, which its processes watch
GRACE = 10.0  # seconds in which processes end by themselves when one has died
INPUT_AT_FAULT = 2  # exit status
SAID = (1, INPUT_AT_FAULT)  # exit status of a process that has said why
HELD = 5  # exit status of a process that did not begin, as another one refused its input
GATE = "ZITTER_GATE"  # a folder where processes say that they have checked their input
GO, STOP = "go", "stop"  # what the launcher puts there then
LEAST = 2**28  # bytes of a process that has not yet begun


def wanted(count: int | None) -> bool:
    """Whether this command is to start others."""
    if count is None or os.environ.get(processes.VARIABLE):
        return False
    if checks.integer("--processes", count, 1) == 1:
        return False
    from zitter import runtime  # which takes a second

    memory = runtime.host_memory()
    if memory is not None and count > memory // LEAST:
        raise checks.InputError(
            "--processes",
            f"must be at most {memory // LEAST}, as many as this node's {runtime.readable(memory)} "
            f"hold with {runtime.readable(LEAST)} each before they begin, but is {count}",
        )
    return True


def launch(count: int, arguments: list[str], out: Path) -> int:
    """Run the command line `arguments` in so many processes; the exit status of process 0."""
    address = f"127.0.0.1:{_free_port()}"
    with tempfile.TemporaryFile("w+") as said:
        started = [
            _start(processes.Place(address, count, index, index), arguments, said)
            for index in range(count)
        ]
        with _forwarded(started):
            died = _watched(started)
        first = started[0].returncode
        if died is None or first in SAID:
            return first
        said.seek(0)
        named = f"error: process {died} of {count}: "
        for line in said:
            if line.startswith(named):
                raise checks.RunError(line.removeprefix("error: ").strip())
        said.seek(0)
        _show_errors(said)
    how = how_ended(started[died].returncode)
    raise checks.RunError(
        f"process {died} of {count} {how}, so that the others were ended. {_saved(out)}"
    )


def launch_apart(count: int, arguments: list[str]) -> list[int]:
    """Run the command line in so many processes that do not need one another; how each ended."""
    address = f"127.0.0.1:{_free_port()}"
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryDirectory() as gate:
        started = [
            _start(processes.Place(address, count, index, index), arguments, said, gate)
            for index in range(count)
        ]
        with _forwarded(started):
            _open_for_all(started, Path(gate))
            codes = [process.wait() for process in started]
        said.seek(0)
        wanted = ["warning: "] if codes[0] in SAID else ["warning: ", "error: "]
        for line in dict.fromkeys(said):
            if line.startswith(tuple(wanted)):
                print(line, end="", file=sys.stderr)
        if any(code not in (0, *SAID) for code in codes):
            said.seek(0)
            _show_errors(said)
    return codes


def _open_for_all(started: list[subprocess.Popen[bytes]], gate: Path) -> None:
    """Once all processes have checked their input: on with them, or not if one has refused it."""
    while any(p.poll() is None and not (gate / str(i)).exists() for i, p in enumerate(started)):
        time.sleep(0.05)
    refused = any(process.poll() == INPUT_AT_FAULT for process in started)
    (gate / (STOP if refused else GO)).touch()


def may_begin(place: processes.Place | None) -> bool:
    """Wait until all processes of a launcher have checked their input; whether none refused it."""
    if place is None or not os.environ.get(GATE):
        return True
    gate = Path(os.environ[GATE])
    (gate / str(place.index)).touch()
    while not (gate / GO).exists():
        if (gate / STOP).exists():
            return False
        time.sleep(0.05)
    return True


def how_ended(code: int) -> str:
    """What an exit status says, as the end of a sentence about a process."""
    if code == processes.LOST:
        return "lost the others"
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with status {code}"


def _start(
    place: processes.Place, arguments: list[str], said: IO[str], gate: str = ""
) -> subprocess.Popen[bytes]:
    """Those that begin at a gate work apart, and print no result."""
    quiet = place.index > 0
    return subprocess.Popen(
        [sys.executable, "-m", "zitter", *arguments],
        env=os.environ
        | {
            processes.VARIABLE: place.text,
            LAUNCHER: str(os.getpid()),
            GATE: gate,
        },
        stdout=subprocess.DEVNULL if quiet or gate else None,
        stderr=said if quiet else None,
        start_new_session=True,  # signals come from here, once
    )


def _watched(started: list[subprocess.Popen[bytes]]) -> int | None:
    """Wait for all; the one that failed, None if all is well."""
    died, end = None, math.inf
    while any(process.poll() is None for process in started):
        time.sleep(0.05)
        if time.monotonic() > end:  # those that are ended now are not to blame
            for process in started:
                if process.poll() is None:
                    process.kill()
            continue
        died = _to_blame(started, died)
        end = end if died is None else min(end, time.monotonic() + GRACE)
    return _to_blame(started, died) if time.monotonic() <= end else died


def _to_blame(started: list[subprocess.Popen[bytes]], before: int | None) -> int | None:
    """Which process is: the first to fail, but for those that have only lost the others."""
    codes = [process.poll() for process in started]
    ended = [index for index, code in enumerate(codes) if code]
    guilty = [i for i in ended if codes[i] not in (processes.LOST, -signal.SIGABRT)]
    if before is not None and (before in guilty or not guilty):
        return before
    return next(iter(guilty or ended), None)


def _saved(out: Path) -> str:
    if not any((out / "checkpoint").glob("**/state*.h5")):
        return "Nothing was saved."
    return f"The state is saved in {out / 'checkpoint'}. --resume continues from there."


def _show_errors(said: IO[str]) -> None:
    """What a process said before it failed in a way that nobody foresaw."""
    text = said.read()
    if "Traceback" in text:
        print(text[text.rindex("Traceback") :], file=sys.stderr)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def _forwarded(started: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    """What asks the launcher to stop asks all."""

    def forward(number, frame):
        for process in started:
            if process.poll() is None:
                process.send_signal(number)

    previous = {n: signal.signal(n, forward) for n in processes.stopping()}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
