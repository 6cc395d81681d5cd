"""Where the probability is: the density, what lies outside a sphere, and what leaves it."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks
from zitter.bases.base import Basis
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Operator, Unsupported
from zitter.observables.base import Observable, require


class Density(Observable):
    """|ψ|² on the grid, on bases around an origin dP/dr; `every` thins the records, since each is
    as large as ψ on a grid.
    """

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "density"
    long_name: ClassVar[str] = "probability density"
    units: ClassVar[str] = "1/bohr^d"

    def prepare(self, H, eigenstates):
        require(self, H, H.basis.density)
        return self

    def evaluate(self, H, psi, t):
        return H.basis.density(psi)

    def dims(self, H):
        return tuple(H.basis.density_axes().items())


def _sphere(basis: Basis, radius: float, psi: jax.Array) -> Operator:
    return basis.sphere(radius).astype(jnp.finfo(psi.dtype).dtype)


class Ionization(Observable):
    """1 − P(all particles within `radius`): what is far away, or already absorbed.

    On a grid the radius is counted from the middle of the box, `Grid(center=…)`; on splines it is
    moved to the nearest knot.
    """

    radius: float = eqx.field(static=True)
    every: int = eqx.field(static=True)
    name: ClassVar[str] = "ionization"
    long_name: ClassVar[str] = "probability outside the radius or absorbed"
    units: ClassVar[str] = "1"

    def __init__(self, radius: float | str = 20.0, every: int = 1):
        self.radius = float(checks.positive("radius", radius, "length"))
        self.every = checks.integer("every", every, 1)

    def prepare(self, H, eigenstates):
        require(self, H, lambda psi: self.evaluate(H, psi, 0.0))
        return self

    def evaluate(self, H, psi, t):
        inside = _sphere(H.basis, self.radius, psi).apply(psi)
        return 1 - jnp.real(H.basis.braket(psi, inside))


class Flux(Observable):
    """The rate at which probability leaves the sphere (on a line: the interval) of `radius`
    around the middle of the box.

    dP_out/dt = 2 Im⟨θψ|H(t)ψ⟩ with θ = 1 outside: the discrete continuity equation, exact on the
    basis and the same in every gauge.
    """

    radius: float = eqx.field(static=True)
    every: int = eqx.field(static=True)
    name: ClassVar[str] = "flux"
    long_name: ClassVar[str] = "probability flux through the radius"
    units: ClassVar[str] = "1/a.u. time"

    def __init__(self, radius: float | str = 20.0, every: int = 1):
        self.radius = float(checks.positive("radius", radius, "length"))
        self.every = checks.integer("every", every, 1)

    def prepare(self, H, eigenstates):
        if H.basis.complex_scaled:
            raise Unsupported(
                "Flux needs all of the state, but beyond the radius of ExteriorScaling it is not "
                "that of the electron; record Surface, or Ionization within it"
            )
        require(self, H, lambda psi: H.basis.sphere(self.radius).apply(psi))
        return self

    def evaluate(self, H, psi, t):
        inside = H.basis.solve_overlap(_sphere(H.basis, self.radius, psi).apply(psi))
        image = Hamiltonian(H.basis, H.fixed, H.changing).at(t).operator.apply(psi)
        return 2 * jnp.imag(H.basis.braket(psi - inside, image))
