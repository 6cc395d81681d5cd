"""One of several processes: of `zitter run` it meets the others, and it does not outlive its
launcher.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from typing import Any

from zitter import processes
from zitter.cli import streams
from zitter.cli.launching import LAUNCHER


def meet(mesh: Any) -> None:
    """Join the others, if the environment tells of any.

    `mesh` is that of the run: it says how many devices each process needs.
    """
    place = processes.found()
    if place is None:
        return
    watch_launcher()
    _keep_stdout_for_results()
    processes.join(place, max(1, devices(mesh) // place.count))


def devices(mesh: Any) -> int:
    """How many a mesh has, as a file or a command gives it; what is wrong with it is said later."""
    sizes = list(mesh.values()) if isinstance(mesh, dict) else []
    return max(1, math.prod(sizes)) if all(isinstance(n, int) for n in sizes) else 1


def watch_launcher() -> None:
    """End with the process that has started this one, if one has."""
    if os.environ.get(LAUNCHER):
        watch = threading.Thread(target=_watch, args=(int(os.environ[LAUNCHER]),), daemon=True)
        watch.start()


def _keep_stdout_for_results() -> None:
    """Libraries greet one another on the file that results go to: nobody is to hear that."""
    sys.stdout.flush()
    own, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    streams.move_stdout(own)


def _watch(launcher: int) -> None:
    while os.getppid() == launcher:
        time.sleep(1.0)
    os._exit(processes.LOST)
