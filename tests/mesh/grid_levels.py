"""Stationary states on a grid, on one device and on several."""

from __future__ import annotations

import numpy as np

import zitter as zt

SOLVERS = {
    "lobpcg": ("spectral", zt.LOBPCG(tol=1e-8)),
    "chebyshev": (4, zt.ChebyshevFilter(tol=1e-8)),
    "imaginary": (2, zt.ImaginaryTime(tol=1e-6)),
}


def main(counts: list[int]) -> dict:
    found = {}
    for name in SOLVERS:
        zt.configure()
        one = levels(name)
        for devices in counts:
            zt.configure(mesh={"space": devices})
            many = levels(name)
            assert many.info["mesh"] == str({"space": devices})
            assert many.states.shape == one.states.shape
            found[f"{name} {devices}"] = float(np.max(np.abs(many.energies - one.energies)))
    return found


def levels(name: str):
    order, solver = SOLVERS[name]
    grid = zt.Grid((15, 12, 13), 0.7)
    model = zt.Model([zt.Kinetic(order=order), zt.Harmonic([1.0, 1.2, 1.3])])
    return zt.eigenstates(zt.discretize(model, grid), 3, solver)
