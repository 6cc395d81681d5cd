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
import numpy as np
import scipy.linalg

from zitter import checks
from zitter.bases.bsplines import dense_matrix
from zitter.bases.spherical import SphericalBasis, multiply_rows
from zitter.operators.base import Unsupported, real_like
from zitter.operators.blocks import AngularCoupling, mix_channels
from zitter.operators.hamiltonian import Driven
from zitter.operators.sums import Sum
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

    def prepare(self, H, t, dt):
        basis = H.basis
        if not isinstance(basis, SphericalBasis):
            raise Unsupported(f"AngularSplit needs a SphericalBasis, not a {type(basis).__name__}")
        if basis.radial.scaling is not None:
            raise Unsupported(
                "light in length gauge grows without bound on a complex coordinate; use "
                "VelocityGauge with CrankNicolson, or a ComplexAbsorber"
            )
        require_static(H, t[0])
        angles = tuple(_angle(piece) for piece in H.changing)
        points, vectors = scipy.linalg.eigh(
            dense_matrix(basis.radial.matrix(lambda r: r)), dense_matrix(basis.radial.overlap)
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
        solvers = tuple(
            factor(H.basis, radial, real_like(dt, psi) * (1j / s))
            for s in _SHIFTS[self.radial_order]
        )
        return solvers, multiply_rows(self.forward, psi)

    def step(self, H, psi, t, dt, state):
        solvers, local = state
        if H.mask is not None:
            local = multiply_rows(self.forward, psi)  # what was kept is older than the mask
        fields = [piece.factor(t + 0.5 * dt) for piece in H.changing if isinstance(piece, Driven)]
        local = self._kick(local, fields, dt, order=1)
        for solver in solvers:
            # (1 + z/s)/(1 − z/s) = 2/(1 − z/s) − 1, with 1 for S and rows of coefficients on r
            solved = solver.solve(multiply_rows(self.forward.T, local))
            local = 2 * multiply_rows(self.forward, solved) - local
        local = self._kick(local, fields, dt, order=-1)
        return multiply_rows(self.backward, local), (solvers, local)

    def _kick(self, local: jax.Array, fields: list[Any], dt: Any, order: int) -> jax.Array:
        """e^{−iτ/2 F·r}; several directions one after the other, mirrored the second time."""
        for angle, field in list(zip(self.angles, fields, strict=True))[::order]:
            turn = real_like(0.5 * dt * field, local) * angle.values
            phases = jnp.exp(-1j * turn[:, None] * self.points).astype(local.dtype)
            turned = phases * mix_channels(angle.vectors.conj().T, local)
            local = mix_channels(angle.vectors, turned)
        return local


def _angle(piece: Any) -> Angle:
    """Eigenvectors of Σ f N over the Cartesian parts of one direction; all share the radial r."""
    operator = piece.operator if isinstance(piece, Driven) else None
    parts = operator.parts if isinstance(operator, Sum) else (operator,)
    matrix: Any = 0.0
    for part in parts:
        if not isinstance(part, AngularCoupling) or len(part.bands) != 1:
            raise Unsupported(
                "AngularSplit needs light in length gauge; use CrankNicolson in velocity gauge"
            )
        if checks.is_traced(part.angular):
            raise checks.InputError(
                "propagator", "must not be AngularSplit where the operators are traced"
            )
        factor = part.phase if part.phase.imag else part.phase.real
        matrix = matrix + factor * np.asarray(part.angular[0], np.float64)
    values, vectors = np.linalg.eigh(matrix)
    dtype = parts[0].angular.dtype  # type: ignore[union-attr]
    kind = jnp.result_type(dtype, jnp.complex64) if np.iscomplexobj(vectors) else dtype
    return Angle(jnp.asarray(values, dtype), jnp.asarray(vectors, kind))
