"""What cannot be divided is refused in a sentence, before anything runs."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

import zitter as zt


def main() -> dict:
    return {name: refused(*case) for name, case in cases().items()}


def cases() -> dict:
    line, small, box = zt.Grid(32, 0.4), zt.Grid((5, 8), 0.5), zt.Grid((8, 8, 8), 0.5)
    radial = zt.SphericalBasis(zt.RadialBSplines(20, 5, 10.0), 2)
    every_m = zt.SphericalBasis(zt.RadialBSplines(20, 5, 10.0), 2, "all")
    levels = zt.EigenBasis(np.zeros((3, 2)), np.ones((2, 2, 2)))
    spinors = zt.SpinorBasis(zt.RadialBSplines(12, 4, 6.0), 3)
    waves, sharp = zt.Kinetic(), zt.Kinetic(order=8)
    return {
        "walkers": ({"walkers": 2}, box, waves, zt.Lanczos()),
        "product": ({"space": 2, "walkers": 2}, box, waves, zt.Lanczos()),
        "basis": ({"space": 2}, radial, waves, zt.CrankNicolson()),
        "line": ({"space": 2}, line, waves, zt.Lanczos()),
        "implicit": ({"space": 2}, line, sharp, zt.CrankNicolson()),
        "planes": ({"space": 8}, small, waves, zt.Lanczos()),
        "halo": ({"space": 8}, box, zt.Kinetic(order=4), zt.Lanczos()),
        "channels": ({"l": 4}, levels, zt.FieldFree(), zt.Lanczos()),
        "few l": ({"l": 4}, radial, waves, zt.CrankNicolson()),
        "every m": ({"l": 4}, every_m, waves, zt.CrankNicolson()),
        "explicit": ({"l": 2}, radial, waves, zt.Lanczos()),
        "pairs": ({"angular": 8}, spinors, zt.Dirac(), zt.CrankNicolson()),
        "segments": ({"angular": 2, "space": 3}, spinors, zt.Dirac(), zt.CrankNicolson()),
        "matrix": ({"space": 2}, line, sharp, zt.MatrixExponential()),
    }


def refused(mesh, basis, kinetic, propagator) -> str:
    zt.configure(mesh=mesh)
    alone = isinstance(kinetic, zt.FieldFree | zt.Dirac)
    terms = [kinetic] if alone else [kinetic, zt.Harmonic(1.0)]
    H = zt.discretize(zt.Model(terms), basis)
    try:
        zt.evolve(H, jnp.ones(basis.shape), (0.0, 0.1), 0.01, propagator)
    except (zt.InputError, zt.Unsupported) as refusal:
        return str(refusal)
    return "not refused"
