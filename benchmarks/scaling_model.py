"""What would 8, 64 and 2048 GPUs give? A prediction from shapes, nothing is run.

A step takes T₁·padding/D + messages·latency + bytes/bandwidth, with no overlap of the three. T₁ is
measured on one H200 and read from the records in benchmarks/results; messages and bytes are those
that the tests hold against compiled programs (docs/scaling.md). Links, one direction, peak figures:
NVLink 4 450 GB/s and 10 µs within a node of 8 GPUs, InfiniBand NDR 50 GB/s for each GPU and 20 µs
between nodes.

    python benchmarks/scaling_model.py --json FILE
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import sys
from collections.abc import Callable
from typing import Any

from common import arguments
from records import REPOSITORY, finish, record

NODE = 8
NVLINK, INFINIBAND = 450e9, 50e9  # bytes per second
LATENCIES = (10e-6, 20e-6)
PORTIONS = 4  # of an exchange, as `Slabs` has them


def measured(name: str, key: str, **row: Any) -> float:
    """What a record says in the one row with these values."""
    rows = [r for r in _rows(name) if row.items() <= r.items()]
    if len(rows) != 1:
        raise ValueError(f"{name} has {len(rows)} rows with {row}")
    return float(rows[0][key])


@functools.cache
def _rows(name: str) -> list[dict[str, Any]]:
    file = REPOSITORY / "benchmarks" / "results" / f"{name}.json"
    found = json.loads(file.read_text(encoding="utf-8"))
    return found["measured"] if "measured" in found else found["rows"]


@dataclasses.dataclass(frozen=True)
class OnOne:
    """Seconds on one device."""

    split: float
    update: float
    exponential: float
    blocks: float
    dirac: float
    walkers: float  # a step of DMC: a sweep and the energies


def on_one() -> OnOne:
    return OnOne(
        split=1e-3 * measured("grid_steps_h200", "ms", method="SplitOperator", points=512),
        update=1e-6 * measured(
            "imaginary_time_h200", "microseconds", task="update 512³", dtype="float64",
            method="XLA",
        ),
        exponential=measured(
            "matrix_exponential_h200", "seconds_per_step", what="full exponential to rounding",
            precision="double",
        ),
        blocks=1e-6 * measured(
            "atoms_gpu_h200", "microseconds", what="product, length, kernel", l=101, states=640
        ),
        dirac=1e-3 * measured("dirac_gpu_h200", "ms", what="H(t) psi", kappa_max=80, splines=1205),
        walkers=1e-3 * sum(
            measured("qmc_h200", key, N=1290, precision="double")
            for key in ("ms_sweep", "ms_energy_with_ewald")
        ),
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Traffic:
    """From each device in one step; `outside` is the part of the bytes that leaves the node."""

    messages: float
    bytes: float
    outside: float

    def seconds(self, devices: int) -> float:
        latency = LATENCIES[devices > NODE]
        links = self.bytes * ((1 - self.outside) / NVLINK + self.outside / INFINIBAND)
        return self.messages * latency + links


@dataclasses.dataclass(frozen=True)
class Case:
    what: str
    seconds: float  # of a step on one device
    padding: Callable[[int], float]  # what the fullest device has of its equal share
    traffic: Callable[[int], Traffic]
    most: int  # devices

    def efficiency(self, devices: int) -> float | None:
        if devices > self.most:
            return None
        step = self.seconds * self.padding(devices) / devices
        return self.seconds / devices / (step + self.traffic(devices).seconds(devices))


def shares(n: int) -> Callable[[int], float]:
    return lambda D: math.ceil(n / D) * D / n


def all_to_all(amount: float, times: int = 1) -> Callable[[int], Traffic]:
    """Every device sends an equal part of `amount`/D to every other, in portions."""

    def traffic(D: int) -> Traffic:
        sent = times * amount / D * (D - 1) / D
        return Traffic(PORTIONS * times, sent, max(0, D - NODE) / max(D - 1, 1))

    return traffic


def neighbors(amount: float, messages: int = 2) -> Callable[[int], Traffic]:
    """To both neighbors; all wait for the device at the edge of a node, half of whose goes out."""
    return lambda D: Traffic(messages, amount, 0.5 * (D > NODE))


def tiles(n: int, products: int) -> Callable[[int], Traffic]:
    """Panels along rows and columns of R × C tiles; rows lie in a node."""

    def traffic(D: int) -> Traffic:
        R = 2 ** (int(math.log2(D)) // 2)
        C = D // R
        sent = 8 * n * n * ((C - 1) + (R - 1)) / (R * C)
        return Traffic(16 * products, products * sent, 0.0 if D <= NODE else (R - 1) / (R + C - 2))

    return traffic


def walkers(bytes_of_one: float, number: int) -> Callable[[int], Traffic]:
    """Nine small sums in each step, and every tenth one the comb: three rounds of √W/4 walkers."""
    moved = 3 * 2 * math.sqrt(number) / 4 * bytes_of_one / 10
    return lambda D: Traffic(9 + 0.6, moved, 0.5 * (D > NODE))


def spinors(seconds: float, kappa: int, splines: int) -> Case:
    """κ_max pairs of |μ| in a chain; values of M + 2 are computed where M are held."""
    pairs = kappa
    sent = 2 * (4 * kappa - 2 * kappa + 2) * 2 * splines * 16

    def padding(D: int) -> float:
        held = math.ceil(pairs / D)
        return held * D / pairs * (1 + 2 / held * 0.25)  # values are a quarter of the product

    return Case(f"Dirac product, κ ≤ {kappa}, {splines} splines, over μ", seconds, padding,
                neighbors(sent), pairs)  # fmt: skip


def shared_spinors(seconds: float, kappa: int, splines: int) -> Case:
    """The same with the GPUs of a node on segments of r: pairs lie on whole nodes."""
    rows = 2 * kappa + 2

    def parts(D: int) -> tuple[int, int, int]:
        """Devices over r, over μ, and pairs of |μ| on each of these."""
        over_r = min(D, NODE)
        return over_r, D // over_r, math.ceil(kappa / (D // over_r))

    def padding(D: int) -> float:
        over_r, over_mu, held = parts(D)
        tiles = math.ceil(splines / 8)
        uneven = math.ceil(tiles / over_r) * over_r / tiles
        return uneven * held * over_mu / kappa * (1 + 2 / held * 0.25)

    def traffic(D: int) -> Traffic:
        over_r, over_mu, held = parts(D)
        turned = 16 * 3 * (splines / over_r + 8) * (2 * held + 2) * rows * (over_r - 1) / over_r
        permuted = 2 * rows / over_r * 2 * splines * 16 if over_mu > 1 else 0.0
        total = turned + permuted
        return Traffic(2 + 2 * (over_mu > 1), total, permuted / total)

    return Case(f"Dirac product, κ ≤ {kappa}, {splines} splines, over μ and r", seconds, padding,
                traffic, NODE * kappa)  # fmt: skip


def cases(one: OnOne) -> list[Case]:
    return [
        Case("SplitOperator, 512³", one.split, shares(512), all_to_all(16 * 512**3, 2), 512),
        Case("SplitOperator, 1024³", 8 * one.split, shares(1024), all_to_all(16 * 1024**3, 2),
             1024),
        Case("ImaginaryTime, 512³, differences of second order", one.update, shares(512),
             neighbors(2 * 8 * 512**2, messages=1), 512),
        Case("MatrixExponential, N = 8192, six products", one.exponential, lambda D: 1.0,
             tiles(8192, 6), 4096),
        Case("MatrixExponential, N = 32 768, six products", 64 * one.exponential, lambda D: 1.0,
             tiles(32768, 6), 4096),
        Case("eigenstates, 640 for each l ≤ 100, one product", one.blocks, shares(101),
             neighbors(2 * 16 * 640), 101),
        spinors(one.dirac, 80, 1205),
        shared_spinors(one.dirac, 80, 1205),
        Case("DMC, N = 1290, 256 walkers for each GPU of 8, a step", 8 * one.walkers,
             lambda D: 1.0, walkers(6.4e6, 2048), 2048),
    ]  # fmt: skip


def weak(one: OnOne) -> list[dict[str, Any]]:
    """As much work on each device, whatever their number."""
    rows = []
    for devices in (8, 64, 2048):
        slab = all_to_all(16 * 512**3 * devices, 2)(devices)
        few = walkers(6.4e6, 256 * devices)(devices)
        for what, own, traffic in (
            ("SplitOperator, 512³ on each", one.split, slab),
            ("DMC, N = 1290, 256 walkers on each", one.walkers, few),
            ("scans and sweeps", 1.0, Traffic(0, 0, 0)),
        ):
            share = own / (own + traffic.seconds(devices))
            rows.append({"what": what, "devices": devices, "weak_efficiency": share})
    return rows


def main() -> None:
    options = arguments(__doc__).parse_args()
    try:
        one = on_one()
    except FileNotFoundError as missing:
        print(f"The model needs a record that is missing: {missing.filename}", file=sys.stderr)
        sys.exit(2)
    rows: list[dict[str, Any]] = [
        {
            "what": case.what,
            "devices": devices,
            "seconds_on_one": case.seconds,
            "bytes_from_each": case.traffic(devices).bytes if devices <= case.most else None,
            "efficiency": case.efficiency(devices),
        }
        for case in cases(one)
        for devices in (2, 8, 64, 2048)
    ]
    question = "What would 8, 64 and 2048 GPUs give?"
    finish(record("scaling_model", question, [], projected=rows + weak(one)), options.json)


if __name__ == "__main__":
    main()
