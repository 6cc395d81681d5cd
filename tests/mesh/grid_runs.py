"""Whole runs on a grid, on one device and on several."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

import zitter as zt

PULSE = {"amplitude": 0.1, "frequency": 1.0, "cycles": 1}
RUNS = {
    "quick": ((13, 7), "zero", "spectral", zt.SplitOperator(), zt.LengthGauge),
    "split": ((13, 10, 9), "zero", "spectral", zt.SplitOperator(), zt.LengthGauge),
    "split4": ((9, 8, 6), "periodic", "spectral", zt.SplitOperator(4), zt.VelocityGauge),
    "lanczos": ((13, 10), "zero", "spectral", zt.Lanczos(8), zt.VelocityGauge),
    "taylor": ((13, 10, 9), "periodic", 4, zt.Taylor(12), zt.LengthGauge),
    "chebyshev": ((21, 8), "zero", 2, zt.Chebyshev(), zt.LengthGauge),
    "runge-kutta": ((16, 8), "zero", 2, zt.RungeKutta4(), zt.VelocityGauge),
}


def main(counts: list[int], names: list[str]) -> dict:
    found = {}
    for name in names:
        zt.configure()
        one = evolve(name)
        for devices in counts:
            zt.configure(mesh={"space": devices})
            many = evolve(name)
            n = RUNS[name][0][0]
            share = -(-n // devices)
            shares = [max(0, min(share, n - d * share)) for d in range(devices)]
            assert many.info["shares"] == str({"space": shares}), many.info
            assert many.info["mesh"] == str({"space": devices})
            pairs = [(one.final, many.final)]
            if one.states is not None:
                pairs.append((one.states, many.states))
            pairs += [(one.observables[k], many.observables[k]) for k in one.observables]
            found[f"{name} {devices}"] = max(difference(*pair) for pair in pairs)
    return found


def difference(one, many) -> float:
    assert np.shape(one) == np.shape(many)
    return float(np.max(np.abs(np.asarray(one) - np.asarray(many))))


def evolve(name: str):
    shape, boundary, order, propagator, gauge = RUNS[name]
    grid = zt.Grid(shape, 0.5, boundary)
    terms = [zt.Kinetic(order=order), zt.SoftCoulomb(), gauge(zt.SineSquared(**PULSE))]
    if name in ("split", "lanczos"):
        terms.append(zt.ComplexAbsorber(width=1.0))
    H = zt.discretize(zt.Model(terms), grid)
    psi = grid.normalize(grid.sample(lambda *x: jnp.exp(-sum((q - 0.2) ** 2 for q in x) + 0j)))
    watched = [zt.Norm(), zt.Dipole()]
    if name not in ("split", "taylor"):
        return zt.evolve(H, psi, (0.0, 0.5), 0.02, propagator, watched, save_every=5)
    watched += [zt.Momentum(), zt.Energy(), zt.Acceleration()]
    watched += [zt.Density(every=5), zt.Ionization(1.5), zt.Populations(jnp.stack([psi, psi]))]
    return zt.evolve(H, psi, (0.0, 0.5), 0.02, propagator, watched, save_every=5, save_states=True)
