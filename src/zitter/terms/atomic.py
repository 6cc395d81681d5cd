"""What terms need on atomic bases: central potentials, r and ∇ as operators.

    r·u = r ⊗ N_u        u·∇ = (d/dr) ⊗ N_u + (1/r) ⊗ K_u        on radial functions P(r) = rR(r)

with the angular matrices of `SphericalBasis.direction`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.bsplines import RadialBSplines
from zitter.bases.eigen.basis import EigenBasis
from zitter.bases.spherical.basis import SphericalBasis
from zitter.bases.spinor.basis import SpinorBasis
from zitter.bases.spinor.blocks import SpinorBlocks
from zitter.bases.spinor.kinetic_balance import doublets, potential_bands
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.blocks import AngularCoupling, DipoleBlocks, RadialBlocks
from zitter.linalg.sums import add


@functools.lru_cache(maxsize=64)
def radial_bands(radial: RadialBSplines, kind: str, edge: float = 0.0) -> np.ndarray:
    """Bands that are needed again and again: "r", "1/r", "d/dr", and 1 within `edge`."""
    with jax.ensure_compile_time_eval():
        match kind:
            case "r":
                bands = radial.matrix(lambda r: r)
            case "1/r":
                bands = radial.matrix(lambda r: 1 / r)
            case "d/dr":
                bands = radial.matrix(1.0, 0, 1)
            case _:
                bands = radial.matrix(1.0 * (radial.points < edge), hermitian=True)
        return np.asarray(bands)


def is_hermitian(basis: SphericalBasis) -> bool:
    """Complex scaling makes matrices symmetric instead."""
    return basis.radial.scaling is None


def radial_blocks(basis: SphericalBasis, bands: Any, hermitian: bool = True) -> RadialBlocks:
    """The same radial matrix in each channel, or one for each."""
    full = jnp.broadcast_to(bands, (basis.shape[0], *jnp.shape(bands)[-2:]))
    return RadialBlocks(full, hermitian and is_hermitian(basis))


def central_potential(
    basis: SphericalBasis | SpinorBasis, function: Callable[..., Any], per_l: bool = False
) -> RadialBlocks | SpinorBlocks:
    """V(r), or V(r, l) with `per_l`, in every channel; on spinors on both halves."""
    if isinstance(basis, SpinorBasis):
        r = doublets(basis.radial, basis.c, basis.radial.degree + 4).r
        values = _finite(function(r))
        return SpinorBlocks(potential_bands(basis.radial, basis.c, values), basis)
    points = basis.radial.radius
    if not per_l:
        return radial_blocks(basis, basis.radial.matrix(_finite(function(points))))
    bands = {l: basis.radial.matrix(_finite(function(points, l))) for l in map(int, set(basis.l))}
    return radial_blocks(basis, jnp.stack([bands[int(l)] for l in basis.l]))


def _finite(values: Any) -> Any:
    if not checks.is_traced(values) and not np.all(np.isfinite(np.asarray(values))):
        raise checks.InputError("potential", "must be finite for 0 < r ≤ rmax, but is not")
    return values


def position(basis: SphericalBasis | EigenBasis, unit: np.ndarray) -> Operator:
    """u·r."""
    if isinstance(basis, EigenBasis):
        _along_z(basis, unit)
        if basis.length is None:
            raise Unsupported("this EigenBasis has no dipoles in length form; use VelocityGauge")
        return DipoleBlocks(basis.length, float(unit[2]))
    bands = jnp.asarray(radial_bands(basis.radial, "r"))[None]
    parts = [
        AngularCoupling(bands, u * angular[None], phase, is_hermitian(basis))
        for u, phase, angular, _ in _directions(basis, unit)
    ]
    return add(parts)


def momentum(basis: SphericalBasis | EigenBasis, unit: np.ndarray) -> Operator:
    """u·p = −i u·∇."""
    if isinstance(basis, EigenBasis):
        _along_z(basis, unit)
        if basis.velocity is None:
            raise Unsupported("this EigenBasis has no dipoles in velocity form; use LengthGauge")
        return DipoleBlocks(basis.velocity, float(unit[2]), -1j)
    if basis.radial.outer == "free":
        raise Unsupported('momentum needs splines that vanish at rmax: outer = "zero"')
    bands = jnp.stack([radial_bands(basis.radial, kind) for kind in ("d/dr", "1/r")])
    parts = [
        AngularCoupling(bands, u * np.stack([angular, slope]), -1j * phase, is_hermitian(basis))
        for u, phase, angular, slope in _directions(basis, unit)
    ]
    return add(parts)


def _directions(basis: SphericalBasis, unit: np.ndarray):
    _along_z(basis, unit)
    return [(u, *basis.direction(c)) for c, u in enumerate(np.asarray(unit, float)) if u != 0]


def _along_z(basis: SphericalBasis | EigenBasis, unit: np.ndarray) -> None:
    if (isinstance(basis, EigenBasis) or basis.m != "all") and np.any(np.asarray(unit)[:2]):
        raise Unsupported(
            'light off the z axis couples different m: use SphericalBasis(…, m="all"), '
            "or polarize along z"
        )
