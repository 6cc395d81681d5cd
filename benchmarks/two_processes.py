"""What do two CPU processes cost, and does the model of `scaling_model.py` say so?

Each case runs in one process and in two, each bound to a core of its own, with n steps and with 3n:
the difference counts, so that what is done once does not. The link is measured by exchanges and
by sums alone. The model then says, of processor time, which a busy machine changes little, and of
the clock,

    T₂ = T₁/2 + messages·latency + bytes/bandwidth

with no padding, as all shapes are even. What the model says stands in the projected rows.
`load` is how many processes wanted a core on average, two of them ours. Bytes on the loopback are
those of both processes and of whoever else uses it.

    python benchmarks/two_processes.py --json FILE
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import scaling_model as model
from common import arguments, noted
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from records import TIMED, finish, record

import zitter as zt
from zitter import processes, runtime

Run = Callable[[int], Any]  # of a number of steps
ROUNDS = 5
SHAPE = (128, 128, 64)
PLANE = 16 * SHAPE[1] * SHAPE[2]  # bytes
N = 1024  # of the full matrix
WALKERS, ELECTRONS = 64, 14
LONG = 2**19  # numbers in an exchange that measures the bandwidth


def evolved(terms: list[Any], box: Any, propagator: Any) -> Run:
    pulse = zt.SineSquared(cycles=200, frequency=1.0, amplitude=0.01)
    H = zt.discretize(zt.Model([*terms, zt.LengthGauge(pulse)]), box)
    psi = np.exp(-0.25 * sum(x**2 for x in box.coordinates())).astype(complex)
    psi /= box.norm(psi)
    options = {"propagator": propagator, "observables": [zt.Norm()], "step_check": False}
    return lambda steps: zt.evolve(H, psi, (0, steps * 0.005), 0.005, save_every=steps, **options)


def waves() -> Run:
    return evolved([zt.Kinetic(), zt.Harmonic(0.5)], zt.Grid(SHAPE, 0.3), zt.SplitOperator())


def differences() -> Run:
    terms = [zt.Kinetic(order=4), zt.Harmonic(0.5)]
    return evolved(terms, zt.Grid(SHAPE, 0.3), zt.Taylor(4))


def dense() -> Run:
    terms = [zt.Kinetic(order=4), zt.Harmonic(0.2)]
    return evolved(terms, zt.Grid(N, 0.2), zt.MatrixExponential())


def gas() -> Run:
    psi = zt.qmc.SlaterJastrow(zt.qmc.ElectronGas(ELECTRONS, 5.0), [zt.qmc.U()])
    return lambda steps: zt.qmc.dmc(psi, 0.5, WALKERS, steps // 10, steps=10, equilibration=4)


class Case(NamedTuple):
    axis: str
    make: Callable[[], Run]
    steps: int
    traffic: Callable[[int], model.Traffic]
    messages: str = "exchange"  # or "sum": what they are mostly


# Of two devices each has one neighbor, to which each product sends two planes.
CASES = {
    "SplitOperator, 128 × 128 × 64": Case(
        "space", waves, 5, model.all_to_all(SHAPE[0] * PLANE, times=2)
    ),
    "Taylor(4) with differences of order 4, 128 × 128 × 64": Case(
        "space", differences, 5, model.neighbors(4 * 2 * PLANE, messages=4 * 2)
    ),
    "MatrixExponential, N = 1024": Case("columns", dense, 2, model.tiles(N, 6)),
    "DMC, 14 electrons, 64 walkers": Case(
        "walkers", gas, 40, model.walkers(8 * 2 * (ELECTRONS // 2) ** 2, WALKERS), "sum"
    ),
}


class Cost(NamedTuple):
    """Of a step."""

    processor: float  # seconds
    clock: float
    loopback: float  # bytes


def now() -> Cost:
    return Cost(time.process_time(), time.perf_counter(), _on_loopback())


def cost(run: Run, steps: int, rounds: int = ROUNDS) -> Cost:
    """The median difference of 3n and n steps; of several processes what the slower one took."""
    run(3 * steps)  # compiles
    found = []
    for _ in range(rounds):
        before = now()
        run(steps)
        between = now()
        run(3 * steps)
        after = now()
        taken = [(c - b) - (b - a) for a, b, c in zip(before, between, after, strict=True)]
        slower = np.max(np.atleast_2d(multihost_utils.process_allgather(np.array(taken))), axis=0)
        found.append(slower / (2 * steps))
    processor, clock, loopback = (list(map(float, column)) for column in zip(*found, strict=True))
    return Cost(noted(processor), noted(clock), statistics.median(loopback))


def exchange(x: Any) -> Any:
    return jax.lax.ppermute(x, "space", [(0, 1), (1, 0)])


def add(x: Any) -> Any:
    return jax.lax.pcast(0.5 * jax.lax.psum(x, "space"), "space", to="varying")


def link(collective: Callable[[Any], Any], doubles: int, repeats: int) -> Cost:
    """One collective of so many numbers between two processes."""
    mesh = runtime.settings().mesh
    assert mesh is not None

    def repeated(x, count):
        return jax.lax.fori_loop(0, count, lambda _, x: collective(x), x)

    specs = jax.P("space"), jax.P()
    program = jax.jit(jax.shard_map(repeated, mesh=mesh, in_specs=specs, out_specs=jax.P("space")))
    values = runtime.placed(np.zeros((2, doubles)), NamedSharding(mesh, jax.P("space")))
    return cost(lambda n: jax.block_until_ready(program(values, np.int32(n))), repeats)


def measured(count: int) -> dict[str, Any]:
    """In one process of `count`: what each case and the link take."""
    found: dict[str, Any] = {}
    for what, case in CASES.items():
        zt.configure(mesh={case.axis: count} if count > 1 else None)
        found[what] = cost(case.make(), case.steps)._asdict()
    if count > 1:
        zt.configure(mesh={"space": count})
        found["exchange"] = link(exchange, 16, 50)._asdict()
        found["sum"] = link(add, 16, 50)._asdict()
        found["long"] = link(exchange, LONG, 4)._asdict()
    return found | {"load": os.getloadavg()[0], "timed": TIMED}


def started(count: int) -> dict[str, Any]:
    """What `measured` finds in so many processes, each on a core of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    cores = sorted(os.sched_getaffinity(0))
    children = []
    for index in range(count):
        place = processes.Place(address, count, index, index)
        command = ["taskset", "-c", str(cores[index % len(cores)]), sys.executable, __file__]
        environment = os.environ | {processes.VARIABLE: place.text, "JAX_PLATFORMS": "cpu"}
        children.append(
            subprocess.Popen([*command, "--within"], env=environment, stdout=subprocess.PIPE)
        )
    said = [child.communicate()[0] for child in children]
    if any(child.returncode for child in children):
        raise SystemExit(f"{count} processes failed")
    found = json.loads(said[0].splitlines()[-1])
    TIMED.extend((count, spread) for count, spread in found.pop("timed"))
    return found


Rows = list[dict[str, Any]]


def compared(one: dict[str, Any], two: dict[str, Any]) -> tuple[Rows, Rows]:
    """(what was measured, what the model says)."""
    rows: Rows = []
    projected: Rows = []
    for clock in ("processor", "clock"):
        bandwidth = 8 * LONG / (two["long"][clock] - two["exchange"][clock])
        rows.append(
            {"what": "the link", "time": clock, "exchange_us": 1e6 * two["exchange"][clock],
             "sum_us": 1e6 * two["sum"][clock], "bandwidth_GB_s": bandwidth / 1e9,
             "load": two["load"]}
        )  # fmt: skip
        for what, case in CASES.items():
            alone, together, sent = one[what][clock], two[what][clock], case.traffic(2)
            exchanges = sent.messages * two[case.messages][clock] + sent.bytes / bandwidth
            predicted = alone / 2 + exchanges
            rows.append(
                {
                    "what": what,
                    "time": clock,
                    "seconds_on_one": alone,
                    "seconds_on_two": together,
                    "efficiency": alone / 2 / together,
                    "bytes_from_each": sent.bytes,
                    "bytes_on_loopback": two[what]["loopback"],
                    "load": [one["load"], two["load"]],
                }
            )
            projected.append(
                {
                    "what": what,
                    "time": clock,
                    "predicted_on_two": predicted,
                    "predicted_exchanges": exchanges,
                    "measured_over_predicted": together / predicted,
                }
            )
    return rows, projected


def _on_loopback() -> float:
    lines = Path("/proc/net/dev").read_text(encoding="ascii").splitlines()
    (found,) = (line.split(":")[1].split() for line in lines if line.strip().startswith("lo:"))
    return float(found[8])  # sent


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--within", action="store_true", help="be one of the processes")
    options = parser.parse_args()
    if options.within:
        place = processes.parse(os.environ[processes.VARIABLE])
        if place.count > 1:
            processes.join(place, 1)
        found = measured(place.count)
        if place.index == 0:
            print(json.dumps(found), flush=True)
        return
    rows, projected = compared(started(1), started(2))
    question = (__doc__ or "").splitlines()[0]
    finish(record("two_processes", question, rows, projected=projected), options.json)


if __name__ == "__main__":
    main()
