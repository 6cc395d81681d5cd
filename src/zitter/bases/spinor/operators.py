"""Operators on spinors that keep κ and μ: c α·p + (β − 1)c², V(r), and 1 within a sphere."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.bsplines import RadialBSplines
from zitter.bases.spherical.operators import check_finite, nearest_knot
from zitter.bases.spinor.blocks import SpinorBlocks
from zitter.bases.spinor.kinetic_balance import dirac_bands, doublets, potential_bands

if TYPE_CHECKING:
    from zitter.bases.spinor.basis import SpinorBasis


def points(basis: SpinorBasis) -> np.ndarray:
    """The radii of the integrals, (intervals, points)."""
    return doublets(basis.radial, basis.c, basis.radial.degree + 4).r


def dirac(basis: SpinorBasis) -> SpinorBlocks:
    return SpinorBlocks(dirac_bands(basis.radial, basis.c), basis, floor=False)


def multiply(basis: SpinorBasis, values: Any) -> SpinorBlocks:
    check_finite(values)
    bands = potential_bands(basis.radial, basis.c, values)
    return SpinorBlocks(bands, basis, not jnp.iscomplexobj(values))


def sphere(basis: SpinorBasis, radius: float) -> SpinorBlocks:
    """1 within a sphere; its radius is moved to the nearest knot."""
    edge = nearest_knot(basis.radial, radius)
    return SpinorBlocks(_sphere(basis.radial, basis.c, edge), basis)


@functools.lru_cache(maxsize=32)
def _sphere(radial: RadialBSplines, c: float, edge: float) -> np.ndarray:
    with jax.ensure_compile_time_eval():
        r = doublets(radial, c, radial.degree + 4).r
        return np.asarray(potential_bands(radial, c, (r < edge).astype(float)))
