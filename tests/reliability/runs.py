"""One small run of each kind, as a command line, and what it must leave."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

import zitter as zt
from zitter import cli

LINE = """
[basis]
type = "Grid"
shape = 31
spacing = 0.5
[model]
terms = ["Kinetic", { type = "SoftCoulomb", Z = 1 }]
"""
TRAP = """
[system]
type = "Trap"
frequency = 1.0
width = 0.8
"""
GAS = """
[system]
type = "ElectronGas"
n = 2
rs = 2.0
[wavefunction]
jastrow = [{ type = "U", order = 2 }]
"""
CASES = {
    "evolve": LINE + "[evolve]\nt = [0, 2.625]\ndt = 0.125\nsave_every = 2\n",
    "eigenstates": LINE.replace("31", "[10, 10]")
    + '[eigenstates]\nn = 2\nsolver = { type = "LOBPCG", tol = 1e-8 }\n',
    "sweep": LINE + "[evolve]\nt = [0, 1]\ndt = 0.1\nsave_every = 2\n",
    "vmc": TRAP + "[vmc]\nwalkers = 4\nblocks = 20\nequilibration = 10\n",
    "optimize": GAS + "[optimize]\nwalkers = 8\ndraws = 4\n"
    'method = { type = "LinearMethod", iterations = 2 }\n',
    "dmc": TRAP + "[dmc]\nwalkers = 4\nblocks = 20\nsteps = 2\nequilibration = 4\n"
    "timestep = 0.05\n",
}


@dataclasses.dataclass(frozen=True)
class Run:
    """A kind of run with its folder."""

    kind: str
    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def command(self, *more: str) -> list[str]:
        """The command line; checkpoints are written as often as there is an occasion."""
        case = self.folder / "case.toml"
        if not case.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            case.write_text(CASES[self.kind], encoding="utf-8")
        verb = ["run"]
        if self.kind == "sweep":
            verb, more = ["sweep"], tuple(m for m in more if m != "--resume")
            more += ("--over", "model.terms.1.Z=1,2", "--batch", "1")
        return [*verb, str(case), "--out", str(self.out), "-q", "--checkpoint-every", "0", *more]

    def status(self, *more: str) -> int:
        return cli.status(self.command(*more))

    def numbers(self) -> dict[str, Any]:
        """All arrays of the result, by name."""
        return arrays(zt.load(self.out))

    def leftovers(self) -> list[str]:
        """What a run that has ended should not leave."""
        wanted = {"result.h5", "log.txt", "items", "jastrow.h5"}
        found = {path.name for path in self.out.iterdir()} - wanted
        return sorted(found) + [str(p) for p in self.out.glob("**/.*")]


def arrays(result: Any) -> dict[str, np.ndarray]:
    return {name: v.data for name, v in result.dataset().variables.items()}


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    """Whether all numbers are equal, bit by bit."""
    return one.keys() == other.keys() and all(
        one[name].tobytes() == other[name].tobytes() for name in one
    )
