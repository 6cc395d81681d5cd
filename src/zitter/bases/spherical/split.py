"""Light in length gauge on B-splines times harmonics: diagonal in radius and in angle.

r·n is diagonal in the eigenvectors of the radial matrix r and of the angular matrix n, so that its
exponential is exact and unitary: two matrix products that serve all channels at once (the
Peaceman–Rachford idea of Kulander, Schafer & Krause in Atoms in Intense Laser Fields (1992)).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zitter.bases.bsplines import RadialBSplines
from zitter.bases.spherical.operators import Angles
from zitter.bases.split import NEEDS_LENGTH_GAUGE, LightSplit
from zitter.linalg.bands import host_dense
from zitter.linalg.base import Operator, Unsupported, real_like
from zitter.linalg.blocks import AngularCoupling, RadialBlocks
from zitter.linalg.chain import Chain
from zitter.linalg.radial_solver import RadialSolver
from zitter.linalg.sums import parts_of


class Angle(eqx.Module):
    """Eigenvectors of one angular matrix: n = U diag(μ) U†."""

    values: jax.Array
    vectors: jax.Array


class AngularKicks(LightSplit):
    """Coefficients on the eigenvectors of r, where the light is diagonal, as real and imaginary
    planes (channels, 2, n): all matrices but those of light along y are real."""

    points: jax.Array
    forward: jax.Array
    backward: jax.Array
    matrices: tuple[jax.Array, ...]  # n of each direction, in double precision
    angles: tuple[Angle, ...] | None  # their eigenvectors, once `ready`
    layout: Chain | None  # of channels on many devices

    def ready(self):
        angles = tuple(_angle(matrix, self.points.dtype) for matrix in self.matrices)
        return AngularKicks(self.points, self.forward, self.backward, (), angles, self.layout)

    def enter(self, psi):
        return _radial(self.forward.T, jnp.stack([jnp.real(psi), jnp.imag(psi)], axis=1))

    def leave(self, psi):
        planes = _radial(self.backward.T, psi)
        return jax.lax.complex(planes[:, 0], planes[:, 1])

    def kick(self, psi, angles, order):
        assert self.angles is not None
        kicks = tuple(zip(self.angles, (real_like(a, psi) for a in angles), strict=True))[::order]
        if self.layout is None:
            return _kicked(psi, self.points, kicks)
        # All channels of a radius are wanted together.
        return self.layout.across(_kicked, psi, self.points, kicks)

    def cayley(self, family, solver, z, psi):
        assert isinstance(solver, RadialSolver)
        solved = solver.solve_planes(_radial(self.forward, psi))
        return 2 * _radial(self.forward.T, solved) - psi


def angular_split(
    basis: Angles, atom: Operator, lights: Sequence[Operator], layout: Chain | None = None
) -> AngularKicks:
    """The kicks, or `Unsupported` with the reason why there are none."""
    if basis.complex_scaled:
        raise Unsupported(
            "AngularSplit needs a real r, which ExteriorScaling turns; use VelocityGauge with "
            "CrankNicolson, or a ComplexAbsorber"
        )
    parts = [part for light in lights for part in parts_of(light)]
    if any(isinstance(part, RadialBlocks) for part in parts):
        raise Unsupported("AngularSplit needs a central potential that does not change with time")
    if any(not isinstance(part, RadialBlocks) for part in parts_of(atom)):
        raise Unsupported("AngularSplit needs a field-free part that does not couple channels")
    matrices = tuple(_angular_matrix(light) for light in lights)
    dtype = jnp.finfo(atom.dtype).dtype
    points, forward, backward = (jnp.asarray(x, dtype) for x in _eigenvectors(basis.radial))
    return AngularKicks(points, forward, backward, matrices, None, layout)


@functools.lru_cache(maxsize=8)
def _eigenvectors(radial: RadialBSplines) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(r_i, (SC)ᵀ, C) of the matrix r: rC = SC diag(r_i), CᵀSC = 1."""
    with jax.ensure_compile_time_eval():
        r = host_dense(radial.matrix(lambda r: r))
    overlap = host_dense(radial.overlap)
    points, vectors = scipy.linalg.eigh(r, overlap)
    return points, (overlap @ vectors).T, vectors


def _kicked(psi: jax.Array, points: jax.Array, kicks: Sequence[tuple[Angle, Any]]) -> jax.Array:
    """Π e^{−iθ r n} ψ of all channels at some radii."""
    for angle, theta in kicks:
        turn = (theta * angle.values)[:, None] * points
        cosine, sine = jnp.cos(turn), jnp.sin(turn)
        mixed = _angular(angle.vectors.conj().T, psi)
        real, imaginary = mixed[:, 0], mixed[:, 1]
        turned = [cosine * real + sine * imaginary, cosine * imaginary - sine * real]
        psi = _angular(angle.vectors, jnp.stack(turned, axis=1))
    return psi


def _radial(matrix: jax.Array, psi: jax.Array) -> jax.Array:
    """ψM over the last axis of (channels, 2, n), as one product of matrices."""
    return (psi.reshape(-1, psi.shape[2]) @ matrix).reshape(psi.shape)


def _angular(matrix: jax.Array, psi: jax.Array) -> jax.Array:
    """Aψ over channels, on both planes."""
    if not jnp.iscomplexobj(matrix):
        return (matrix @ psi.reshape(psi.shape[0], -1)).reshape(psi.shape)
    mixed = matrix @ jax.lax.complex(psi[:, 0], psi[:, 1])
    return jnp.stack([jnp.real(mixed), jnp.imag(mixed)], axis=1)


def _angular_matrix(light: Operator) -> jax.Array:
    """Σ f N over the Cartesian parts of one direction, which all share the radial r."""
    matrix: Any = 0.0
    for part in parts_of(light):
        if not isinstance(part, AngularCoupling) or len(part.bands) != 1:
            raise Unsupported(NEEDS_LENGTH_GAUGE)
        factor = part.phase if part.phase.imag else part.phase.real
        matrix = matrix + factor * part.angular_matrices()[0].astype(jnp.float64)
    return matrix


def _angle(matrix: jax.Array, dtype: Any) -> Angle:
    values, vectors = jnp.linalg.eigh(matrix)
    kind = jnp.result_type(dtype, jnp.complex64) if jnp.iscomplexobj(vectors) else dtype
    return Angle(values.astype(dtype), vectors.astype(kind))
