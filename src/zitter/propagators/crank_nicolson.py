"""(1 + iΔt/2 H) ψ(t+Δt) = (1 − iΔt/2 H) ψ(t), with H at the midpoint."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp

from zitter import checks
from zitter.bases.eigen.basis import EigenBasis
from zitter.bases.spherical.basis import SphericalBasis
from zitter.bases.spinor.basis import SpinorBasis
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.banded import Banded
from zitter.linalg.banded_solver import BandedSolver
from zitter.linalg.base import Unsupported, real_like
from zitter.propagators.base import Exponential
from zitter.propagators.channel_implicit import ChannelCrankNicolson
from zitter.propagators.eigen_crank_nicolson import EigenCrankNicolson
from zitter.propagators.gauss_collocation import GaussCollocation
from zitter.propagators.schemes import Midpoint, TimeScheme
from zitter.terms.light import gauges


class CrankNicolson(Exponential):
    """Cayley's form of the exponential, order 2, unitary, stable for every Δt.

    The banded system is solved directly: `Kinetic(order=2)` makes it tridiagonal, orders 4 to 8
    give 2 to 4 side diagonals. A static H is factored once. On a `SphericalBasis` each channel is
    solved directly and the coupling by iteration until it changes by less than `tol`. On a
    `SpinorBasis` BiCGSTAB solves it, with the factors of S + iΔt/2 H₀ of each κ as preconditioner;
    on an `EigenBasis` too, where H₀ is diagonal.
    """

    tol: float = eqx.field(static=True)
    scheme: TimeScheme

    def __init__(self, tol: float = 1e-12):
        self.tol = float(checks.positive("tol", tol))
        self.scheme = Midpoint()

    def convergence_order(self, H: Hamiltonian) -> int:
        return 2

    def prepare(self, H, t, dt):
        if isinstance(H.basis, SpinorBasis):
            return GaussCollocation(1, self.tol).prepare(H, t, dt)
        if isinstance(H.basis, EigenBasis):
            return EigenCrankNicolson(self.tol).prepare(H, t, dt)
        if not H.basis.orthonormal:
            _refuse_growing_light(H)
            return ChannelCrankNicolson(self.tol).prepare(H, t, dt)
        try:
            H.mix([1.0], [t[0]]).as_banded()
        except Unsupported as reason:
            raise Unsupported(f"CrankNicolson cannot treat this Hamiltonian: {reason}") from None
        return self

    def init(self, H, psi, t, dt):
        if H.time_dependent:
            return None
        return _factor(H.operator.as_banded(), dt, psi)

    def exponential(self, operator, psi, tau, state):
        banded = operator.as_banded()
        solver = _factor(banded, tau, psi) if state is None else state
        half = 0.5j * real_like(tau, psi)
        return solver.solve(psi - half * banded.apply(psi)).astype(psi.dtype), state


def _refuse_growing_light(H: Hamiltonian) -> None:
    turned = isinstance(H.basis, SphericalBasis) and H.basis.radial.scaling is not None
    if turned and "length" in gauges(H):
        raise Unsupported(
            "light in length gauge grows without bound on a complex coordinate; use VelocityGauge, "
            "or a ComplexAbsorber"
        )


def _factor(banded: Banded, tau, psi) -> BandedSolver:
    """Factors of 1 + iτ/2 H."""
    bands = (0.5j * real_like(tau, psi)) * banded.bands
    return BandedSolver(bands.at[banded.half_width].add(1).astype(jnp.result_type(psi)))
