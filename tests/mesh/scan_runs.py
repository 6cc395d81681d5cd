"""Scans spread over the devices of the axis `batch`."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np

import zitter as zt
from zitter import batches
from zitter.bases.edges import ConvergenceWarning

GRID = zt.Grid(64, 0.5)


def main(meshes: list[dict], counts: list[int]) -> dict:
    zt.configure()
    terms = [zt.Kinetic(), zt.SoftCoulomb(softening=2.0)]
    start = zt.eigenstates(zt.discretize(zt.Model(terms), GRID), 1).states[0]

    def dipole(amplitude, cep):
        pulse = zt.SineSquared(cycles=2, frequency=0.8, amplitude=amplitude, cep=cep)
        H = zt.discretize(zt.Model([*terms, zt.LengthGauge(pulse)]), GRID)
        run = zt.evolve(H, start, (0.0, 4.0), 0.1, zt.SplitOperator(), [zt.Dipole()], 10)
        return run.observables["dipole"]

    def points(count: int) -> dict:
        return {"amplitude": np.linspace(0.05, 0.2, count), "cep": np.linspace(0.0, 1.0, count)}

    alone = {count: np.asarray(zt.scan(dipole, **points(count))) for count in counts}
    rows = []
    for sizes in meshes:
        zt.configure(mesh=sizes)
        for count in counts:
            for batch in (None, 2):
                values = zt.scan(dipole, batch, **points(count))
                error = float(np.max(np.abs(np.asarray(values) - alone[count])))
                filled = batches.spread(points(count), count)["cep"]
                told = jax.tree.map(shards, (filled, values))
                rows.append(
                    {
                        "devices": sizes["batch"],
                        "count": count,
                        "batch": batch,
                        "error": error,
                        "points": told[0],
                        "values": told[1],
                        "shares": batches.shares(count),
                    }
                )
    return {"rows": rows, "warned": warned(), "refused": refused(dipole)}


def shards(array: jax.Array) -> list[int]:
    """How many items each device holds."""
    return [part.data.shape[0] for part in array.addressable_shards]


def warned() -> list[str]:
    """The worst point is on the first device; others stay within their basis."""
    basis = zt.SphericalBasis(zt.RadialBSplines(20, 5, 15.0), 1)
    terms = [zt.Kinetic(), zt.Coulomb(Z=1)]
    psi = jnp.zeros(basis.shape, complex).at[0].set(1.0)
    psi = basis.normalize(psi)

    def last(amplitude):
        pulse = zt.SineSquared(cycles=1, frequency=2.0, amplitude=amplitude)
        H = zt.discretize(zt.Model([*terms, zt.LengthGauge(pulse)]), basis)
        return zt.evolve(H, psi, (0.0, 1.0), 0.1, zt.AngularSplit(), save_every=5).final

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        zt.scan(last, amplitude=[1.0, 1e-6, 1e-6])
    return sorted({str(w.message) for w in told if w.category is ConvergenceWarning})


def refused(run) -> list[str]:
    found = []
    for sizes in ({"batch": 2, "space": 2}, {"walkers": 2}):
        zt.configure(mesh=sizes)
        try:
            zt.scan(run, amplitude=[0.1, 0.2], cep=[0.0, 0.1])
        except zt.InputError as error:
            found.append(str(error))
    zt.configure(mesh={"batch": 2})
    try:
        run(0.1, 0.0)
    except zt.InputError as error:
        found.append(str(error))
    return found
