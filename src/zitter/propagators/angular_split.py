"""One step split by what is easy where: radial motion in l, light in angle.

    ψ(t+τ) = e^{−iτ/2 F·r} C(τ) e^{−iτ/2 F·r} ψ(t),    F at t + τ/2

C(τ) is the diagonal Padé form of e^{−iτH₀}, one banded solve for each l (the Peaceman–Rachford idea
of Kulander, Schafer & Krause in Atoms in Intense Laser Fields (1992)). In length gauge r·n is
diagonal in the eigenvectors of the radial matrix r and of the angular matrix n, so its exponential
is exact and unitary: two matrix products that serve all channels at once.
"""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import scipy.linalg

from zitter import checks
from zitter.bases.bsplines import dense_matrix
from zitter.bases.spherical.basis import SphericalBasis
from zitter.bases.spherical.operators import radial_bands
from zitter.hamiltonian import Driven, Hamiltonian
from zitter.linalg.base import Unsupported, real_like
from zitter.linalg.blocks import AngularCoupling
from zitter.linalg.sums import Sum
from zitter.propagators.base import Propagator
from zitter.propagators.channel_implicit import factor, require_static

# e^z ≈ Π (1 + z/s)/(1 − z/s): s = 2 is Cayley's form, the pair that of the [2/2] Padé form.
_SHIFTS = {2: (2.0,), 4: (3 + 1j * math.sqrt(3), 3 - 1j * math.sqrt(3))}


class Angle(eqx.Module):
    """Eigenvectors of one angular matrix: n = U diag(μ) U†."""

    values: jax.Array
    vectors: jax.Array


class AngularSplit(Propagator):
    """The fast unitary step for light in length gauge on a `SphericalBasis`, order 2.

    `radial_order` 4 makes the field-free motion exact to fourth order with a second solve: worth it
    where phases over long times matter more than the strength of the field.
    """

    radial_order: int = eqx.field(static=True)
    points: Any
    forward: Any
    backward: Any
    angles: Any

    def __init__(self, radial_order: int = 2):
        self.radial_order = checks.choice("radial_order", radial_order, tuple(_SHIFTS))
        self.points = self.forward = self.backward = self.angles = None

    def check(self, H: Hamiltonian, t: float) -> tuple[Any, ...]:
        """The angular matrix of each direction of light, or `Unsupported` with the reason."""
        basis = H.basis
        if not isinstance(basis, SphericalBasis):
            raise Unsupported(f"AngularSplit needs a SphericalBasis, not a {type(basis).__name__}")
        if basis.radial.scaling is not None:
            raise Unsupported(
                "light in length gauge grows without bound on a complex coordinate; use "
                "VelocityGauge with CrankNicolson, or a ComplexAbsorber"
            )
        require_static(H, t)
        return tuple(_angular_matrix(piece) for piece in H.changing)

    def prepare(self, H, t, dt):
        angles = tuple(_angle(*found) for found in self.check(H, t[0]))
        basis = H.basis
        assert isinstance(basis, SphericalBasis)
        points, vectors = scipy.linalg.eigh(
            dense_matrix(radial_bands(basis.radial, "r")), dense_matrix(basis.radial.overlap)
        )
        overlap = dense_matrix(basis.radial.overlap)
        dtype = jnp.finfo(jnp.result_type(H.fixed.dtype)).dtype
        return eqx.tree_at(
            lambda p: (p.points, p.forward, p.backward, p.angles),
            self,
            (
                jnp.asarray(points, dtype),
                jnp.asarray((overlap @ vectors).T, dtype),
                jnp.asarray(vectors, dtype),
                angles,
            ),
            is_leaf=lambda x: x is None,
        )

    def init(self, H, psi, t, dt):
        assert isinstance(H.basis, SphericalBasis)
        radial = require_static(H, t)
        return tuple(
            factor(H.basis, radial, real_like(dt, psi) * (1j / s))
            for s in _SHIFTS[self.radial_order]
        )

    def enter(self, psi):
        """Coefficients on the eigenvectors of r, where the light is diagonal, as real and
        imaginary planes (channels, 2, n): all matrices but those of light along y are real.
        """
        return _radial(self.forward.T, jnp.stack([jnp.real(psi), jnp.imag(psi)], axis=1))

    def leave(self, psi):
        planes = _radial(self.backward.T, psi)
        return jax.lax.complex(planes[:, 0], planes[:, 1])

    def step(self, H, psi, t, dt, state):
        fields = [piece.factor(t + 0.5 * dt) for piece in H.changing if isinstance(piece, Driven)]
        psi = self._kick(psi, fields, dt, order=1)
        for solver in state:
            # (1 + z/s)/(1 − z/s) = 2/(1 − z/s) − 1, with 1 for S and rows of coefficients on r
            solved = solver.solve_planes(_radial(self.forward, psi))
            psi = 2 * _radial(self.forward.T, solved) - psi
        return self._kick(psi, fields, dt, order=-1), state

    def _kick(self, psi: jax.Array, fields: list[Any], dt: Any, order: int) -> jax.Array:
        """e^{−iτ/2 F·r}; several directions one after the other, mirrored the second time."""
        for angle, field in list(zip(self.angles, fields, strict=True))[::order]:
            turn = (real_like(0.5 * dt * field, psi) * angle.values)[:, None] * self.points
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


def _angular_matrix(piece: Any) -> tuple[jax.Array, Any]:
    """Σ f N over the Cartesian parts of one direction, which all share the radial r; the dtype."""
    operator = piece.operator if isinstance(piece, Driven) else None
    parts = operator.parts if isinstance(operator, Sum) else (operator,)
    matrix: Any = 0.0
    for part in parts:
        if not isinstance(part, AngularCoupling) or len(part.bands) != 1:
            raise Unsupported(
                "AngularSplit needs light in length gauge; use CrankNicolson in velocity gauge"
            )
        factor = part.phase if part.phase.imag else part.phase.real
        matrix = matrix + factor * part.angular[0].astype(jnp.float64)
    return matrix, parts[0].angular.dtype  # type: ignore[union-attr]


def _angle(matrix: jax.Array, dtype: Any) -> Angle:
    values, vectors = jnp.linalg.eigh(matrix)
    kind = jnp.result_type(dtype, jnp.complex64) if jnp.iscomplexobj(vectors) else dtype
    return Angle(values.astype(dtype), vectors.astype(kind))
