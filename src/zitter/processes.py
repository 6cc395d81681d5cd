"""Several processes that compute together, each with its own devices.

All of them run the same program on the same input. What they do next must not depend on clocks,
signals or files that only one of them sees: process 0 decides (`from_first`, `agree`), writes and
prints. A process finds its place in one of

    ZITTER_PROCESS="ADDRESS COUNT INDEX"     set by who starts several, or by hand
    SLURM_…                                  of a step with several tasks (`srun`)
    OMPI_COMM_WORLD_…                        of Open MPI 4 and 5 (`mpirun`)

A process that dies, hangs or loses its network ends the others: within a collective operation at
once, elsewhere when its heartbeat has been missing for `HEARTBEAT` seconds.
"""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import socket
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from zitter import checks

T = TypeVar("T")
VARIABLE = "ZITTER_PROCESS"
HEARTBEAT = 20  # seconds without a sign of life after which a process counts as dead
LOST = 3  # exit status of a process that has lost the others
PORT, PORTS = 47631, 4096  # of process 0 where nobody names one: the first, and how many
_LOSS = re.compile(r"(?i)gloo|nccl|connection|heartbeat|coordination|peer|barrier|deadline|socket")


@dataclasses.dataclass(frozen=True)
class Place:
    """One process among `count`; process 0 listens at `address` (host:port), "" if unknown."""

    address: str
    count: int
    index: int
    local: int = 0  # its number on its node

    @property
    def text(self) -> str:
        return f"{self.address} {self.count} {self.index} {self.local}"


_joined: Place | None = None


def parse(text: str) -> Place:
    """What `Place.text` wrote, or somebody by hand."""
    words = text.split()
    fits = len(words) in (3, 4) and ":" in words[0] and all(map(checks.is_count, words[1:]))
    if not fits or not int(words[2]) < int(words[1]):
        raise checks.InputError(
            VARIABLE,
            f'must be like "host:{PORT} COUNT INDEX" with INDEX below COUNT, but is "{text}"',
        )
    return Place(words[0], *map(int, words[1:]))


def found(environment: Mapping[str, str] = os.environ) -> Place | None:
    """Where the environment puts this process, None where it is alone."""
    if environment.get(VARIABLE):
        place = parse(environment[VARIABLE])
    elif "OMPI_COMM_WORLD_SIZE" in environment:  # before Slurm, which may have started its daemons
        size, rank, local = (
            _number(environment, f"OMPI_COMM_WORLD_{n}") for n in ("SIZE", "RANK", "LOCAL_RANK")
        )
        place = Place(_open_mpi_address(environment, size), size, rank, local)
    elif "SLURM_STEP_NODELIST" in environment:
        tasks = "SLURM_STEP_NUM_TASKS"
        count = _number(environment, tasks if tasks in environment else "SLURM_NTASKS", 1)
        host = _first_host(environment["SLURM_STEP_NODELIST"])
        # Jobs and steps that share a node get ports of their own.
        job, step = (_number(environment, f"SLURM_{n}") for n in ("JOB_ID", "STEP_ID"))
        port = PORT + (job + 97 * step) % PORTS
        index, local = (_number(environment, f"SLURM_{n}") for n in ("PROCID", "LOCALID"))
        place = Place(f"{host}:{port}", count, index, local)
    else:
        return None
    return place if place.count > 1 else None


def share(place: Place | None, items: Sequence[T]) -> Sequence[T]:
    """Those of many items that a process takes where each works by itself: a stretch of them."""
    if place is None:
        return items
    first, end = (len(items) * i // place.count for i in (place.index, place.index + 1))
    return items[first:end]


def take_gpus(place: Place, devices: int) -> None:
    """Keep so many of a node's GPUs for a process that works by itself; before JAX has begun."""
    names = _visible_gpus()
    if names:
        own = [names[i] for i in _own(place, devices, len(names))]
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(own)


def join(place: Place, devices: int | None = None) -> None:
    """Meet the other processes; before JAX has made its first array.

    A process has so many `devices`, one unless given; of GPUs, where it sees those of others on
    its node as well, the ones of its number.
    """
    import jax

    if not place.address:
        raise checks.InputError(
            VARIABLE,
            f'must be given as "host:{PORT} COUNT INDEX" for each process, since this mpirun does '
            "not say where the first one is",
        )
    global _joined
    _joined = place
    if devices is not None:
        jax.config.update("jax_num_cpu_devices", devices)
    # It would swallow the signal to stop.
    jax.config.update("jax_enable_preemption_service", False)
    try:
        jax.distributed.initialize(
            place.address,
            place.count,
            place.index,
            # Without them JAX would take the one of this number, also where only one is seen.
            local_device_ids=_own(place, devices or 1, len(_visible_gpus())) or None,
            heartbeat_timeout_seconds=HEARTBEAT,
            shutdown_timeout_seconds=HEARTBEAT,
            initialization_timeout=60,
        )
    except Exception as error:
        first_line = str(error).strip().split("\n")[0]
        raise checks.RunError(
            f"process {place.index} of {place.count} could not meet the others at "
            f"{place.address}: {first_line}."
        ) from error


def count() -> int:
    """How many processes compute together."""
    import jax

    return jax.process_count()


def first() -> bool:
    """Whether this is the process that decides, writes and prints."""
    import jax

    return jax.process_index() == 0


def joined() -> Place | None:
    """The place of this process among others, once it has joined them."""
    return _joined


def label() -> str:
    """How a sentence begins that one of the other processes says, "" for process 0."""
    if _joined is None or _joined.index == 0:
        return ""
    return f"process {_joined.index} of {_joined.count}: "


def hosts() -> int:
    """On how many machines the processes are; all of them ask together."""
    if count() == 1:
        return 1
    from jax.experimental import multihost_utils

    own = np.uint32(zlib.crc32(socket.gethostname().encode()))
    return len(np.unique(multihost_utils.process_allgather(own)))


def agree(*values: float) -> tuple[float, ...]:
    """The values of process 0, everywhere."""
    if count() == 1:
        return values
    from jax.experimental import multihost_utils

    shared = multihost_utils.broadcast_one_to_all(np.asarray(values, np.float64))
    return tuple(float(x) for x in np.asarray(shared))


def anywhere(flag: bool) -> bool:
    """Whether a flag is set on some process."""
    if count() == 1:
        return flag
    from jax.experimental import multihost_utils

    return bool(np.any(multihost_utils.process_allgather(np.asarray(flag))))


def wait(name: str) -> None:
    """Until all processes have come here."""
    if count() > 1:
        from jax.experimental import multihost_utils

        multihost_utils.sync_global_devices(name)


def stopping() -> list[int]:
    """Signals that ask to stop: Ctrl-C, the end of a queue's time, a terminal that is closed.

    One that whoever started this process has told it to ignore, as `nohup` does, stays ignored.
    """
    asking = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [n for n in asking if signal.getsignal(n) is not signal.SIG_IGN]


class Elsewhere(checks.RunError):
    """Process 0 has refused something, and said so."""


class Alone(checks.RunError):
    """This process has failed by itself: no other can say why."""


class Lost(checks.RunError):
    """Another process has died, hangs, or cannot be reached."""


def is_loss(error: BaseException) -> bool:
    """Whether an error comes from operations in which another process did not take part."""
    if isinstance(error, Lost):
        return True
    known = type(error).__name__ in ("JaxRuntimeError", "XlaRuntimeError", "ValueError")
    return count() > 1 and known and bool(_LOSS.search(str(error)))


def from_first(decide: Callable[[], float]) -> float:
    """A number that process 0 finds, everywhere; what it raises ends the others in silence."""
    if count() == 1:
        return decide()
    problem, value = None, 0.0
    if first():
        try:
            value = float(decide())
        except checks.ZitterError as error:
            problem = error
    value, failed = agree(value, float(problem is not None))
    if problem is not None:
        raise problem
    if failed:
        raise Elsewhere("process 0 ended")
    return value


def _own(place: Place, devices: int, visible: int) -> list[int]:
    """Which of the visible GPUs are those of a process: of its number on its node, counted around,
    since a process that sees no others' sees fewer than the node has."""
    return [(place.local * devices + i) % visible for i in range(min(devices, visible))]


def _visible_gpus() -> list[str]:
    """Names of the GPUs that this process sees: none on CPUs."""
    if os.environ.get("JAX_PLATFORMS", "").split(",")[0] == "cpu":
        return []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return _gpus() if visible is None else [name for name in visible.split(",") if name]


def _gpus() -> list[str]:
    """Numbers of the GPUs of this node."""
    found = (re.fullmatch(r"nvidia(\d+)", name) for name in os.listdir("/dev"))
    return sorted((match[1] for match in found if match), key=int)


def _number(environment: Mapping[str, str], name: str, otherwise: int = 0) -> int:
    text = environment.get(name, str(otherwise))
    if not checks.is_count(text):
        raise checks.InputError(name, f'must be a whole number, but is "{text}"')
    return int(text)


def _first_host(nodes: str) -> str:
    """Of a list as Slurm writes it: "rack[0-1]n[003-005,9]-ib,login1" → "rack0n003-ib"."""
    match = re.match(r"(?:[^,\[\]]|\[[^\[\]]*\])*", nodes)
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", match[0]) if match else ""


def _open_mpi_address(environment: Mapping[str, str], size: int) -> str:
    """Where Open MPI's own daemon is (version 4), this node if all processes are here, or the first
    one that Slurm gave; nothing where nobody says.
    """
    job = environment.get("OMPI_MCA_ess_base_jobid") or environment.get("PMIX_NAMESPACE", "")
    port = PORT + zlib.crc32(job.encode()) % PORTS
    match = re.search(r"tcp6?://\[?([^\],;:/]+)", environment.get("OMPI_MCA_orte_hnp_uri", ""))
    if match is not None:
        return f"{match[1]}:{port}"
    if environment.get("OMPI_COMM_WORLD_LOCAL_SIZE") == str(size):
        return f"127.0.0.1:{port}"
    host = _first_host(environment.get("SLURM_JOB_NODELIST", ""))
    return f"{host}:{port}" if host else ""
