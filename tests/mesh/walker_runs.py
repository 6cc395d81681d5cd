"""Whole Monte Carlo runs on one device and on several."""

from __future__ import annotations

from typing import Any

import numpy as np

import zitter as zt
from zitter import qmc
from zitter.qmc.runs import Run
from zitter.qmc.walk import variational

TWISTS = [(0.1, 0.2, 0.3), (0.3, 0.2, 0.1), (0.25, 0.25, 0.25), (0.1, 0.1, 0.4)]
# Two electrons are enough for all but blocks of moves.
ELECTRONS = {"vmc": 14, "dmc": 14}


def main(meshes: list[dict], names: list[str], walkers: int = 24) -> dict:
    """Whether walkers end at the same bits as in the first run, and the largest differences of
    traces and of estimators."""
    found = {}
    for name in names:
        zt.configure()
        one = run(name, walkers)
        for mesh in meshes:
            zt.configure(mesh=mesh)
            check_shards(name, mesh, walkers)
            many = run(name, walkers)
            parts = {axis: (4 if axis == "twists" else walkers) // n for axis, n in mesh.items()}
            told = {axis: [parts[axis]] * n for axis, n in mesh.items()}
            assert many.info["shares"] == str(told), many.info["shares"]
            same = np.array_equal(np.asarray(one.positions), np.asarray(many.positions))
            apart = max(
                (
                    float(np.max(np.abs(one.estimators[k]["mean"] - many.estimators[k]["mean"])))
                    for k in one.estimators
                ),
                default=0.0,
            )
            off = max(float(np.max(np.abs(one.traces[k] - many.traces[k]))) for k in one.traces)
            found[f"{name} {mesh}"] = (same, off, apart)
    return found


def check_shards(name: str, mesh: dict, walkers: int) -> None:
    """Every array of the walkers is cut, inverses too."""
    twists = TWISTS if name == "twists" else ()
    psi = wavefunction(name)
    ready = Run.checked(psi, walkers, 4, (), 0, None, None, twists, None, 30.0, False, False)
    first: Any = variational.first_states(ready).walkers
    for leaf in (first.r, first.log, first.slater):
        whole = leaf.shape[: 2 if twists else 1]
        share = tuple(
            n // mesh.get(axis, 1)
            for n, axis in zip(whole, ("twists", "walkers")[-len(whole) :], strict=True)
        )
        for shard in leaf.addressable_shards:
            assert shard.data.shape[: len(whole)] == share, (leaf.shape, leaf.sharding)


def wavefunction(name: str):
    if name == "t-moves":
        return pseudo_atom()
    gas = qmc.ElectronGas(ELECTRONS.get(name, 2), 5.0)
    return qmc.SlaterJastrow(gas, [qmc.U(order=3)])


def pseudo_atom():
    from pseudo_atoms import SOFT, SP  # type: ignore[import-not-found]

    nuclei = [qmc.Nucleus(pseudopotential=SOFT)]
    system = qmc.Electrons((4, 3), nuclei)
    return qmc.SlaterJastrow(system, [qmc.U(order=3, cutoff=3.0)], orbitals=SP(0.9, 0.7), delay=3)


def run(name: str, walkers: int):
    psi = wavefunction(name)
    options: dict[str, Any] = {"walkers": walkers, "blocks": 4}
    if name in ("vmc", "quick vmc"):
        watched = [qmc.PairCorrelation(8), qmc.Density(4)]
        return qmc.vmc(psi, **options, equilibration=10, stride=6, estimators=watched)
    more: dict[str, Any] = {"twists": TWISTS} if name == "twists" else {}
    tau = 0.1 if name == "t-moves" else 2.0
    found = qmc.dmc(psi, tau, **options, equilibration=2, steps=8, **more)
    assert "0.0 % of the steps" not in found.info["notes"][0], found.info["notes"]
    return found
