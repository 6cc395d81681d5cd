"""Norm, energy, and expectation values of position and momentum."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.eigen.basis import EigenBasis
from zitter.bases.grid.basis import Grid
from zitter.bases.spherical.basis import SphericalBasis
from zitter.bases.spinor.basis import SpinorBasis
from zitter.hamiltonian import Driven, Hamiltonian
from zitter.linalg.base import real_like
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.sums import add, part_of_kind
from zitter.observables import atomic, spinor
from zitter.observables.base import (
    Observable,
    as_vector,
    require_basis,
    require_grid,
    vector_dims,
)
from zitter.terms.kinetic import momentum


class Norm(Observable):
    """‖ψ‖ = √⟨ψ|ψ⟩."""

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "norm"
    long_name: ClassVar[str] = "norm of the wave function"
    units: ClassVar[str] = "1"

    def evaluate(self, H, psi, t):
        return H.basis.norm(psi)


class Energy(Observable):
    """⟨ψ|H(t)|ψ⟩/⟨ψ|ψ⟩, the absorber left out."""

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "energy"
    long_name: ClassVar[str] = "expectation value of the Hamiltonian"
    units: ClassVar[str] = "hartree"

    def evaluate(self, H, psi, t):
        closed = Hamiltonian(H.basis, H.fixed, H.changing)
        return closed.at(t).expectation(psi)


def mean_position(grid: Grid, psi: jax.Array) -> jax.Array:
    """Σ_particles ⟨r⟩, not divided by the norm."""
    density = jnp.abs(psi) ** 2 * real_like(grid.volume, psi)
    values = []
    for axis in range(grid.dimension):
        terms = [
            jnp.sum(density * real_like(grid.coordinates(p)[axis], psi))
            for p in range(grid.particles)
        ]
        values.append(sum(terms[1:], terms[0]))
    return as_vector(values)


class Position(Observable):
    """⟨ψ|r|ψ⟩, summed over the particles, not divided by a norm that may have been absorbed."""

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "position"
    long_name: ClassVar[str] = "expectation value of the position"
    units: ClassVar[str] = "bohr"

    def prepare(self, H, eigenstates):
        require_basis(self, H, Grid, SphericalBasis, EigenBasis)
        atomic.require_whole_state(H.basis)
        return self

    def evaluate(self, H, psi, t):
        if isinstance(H.basis, atomic.AtomicBasis):
            return atomic.mean_position(H.basis, psi)
        return mean_position(require_grid(self, H), psi)

    def dims(self, H):
        return vector_dims(H.basis)


class Dipole(Observable):
    """d = −⟨r⟩, the dipole moment of electrons (charge −1)."""

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "dipole"
    long_name: ClassVar[str] = "electric dipole moment"
    units: ClassVar[str] = "e bohr"

    def prepare(self, H, eigenstates):
        require_basis(self, H, Grid, SphericalBasis, EigenBasis)
        atomic.require_whole_state(H.basis)
        return self

    def evaluate(self, H, psi, t):
        if isinstance(H.basis, atomic.AtomicBasis):
            return -atomic.mean_position(H.basis, psi)
        return -mean_position(require_grid(self, H), psi)

    def dims(self, H):
        return vector_dims(H.basis)


def _momenta(grid: Grid, psi: jax.Array) -> list[jax.Array]:
    """p_axis ψ, summed over the particles, for each space axis."""
    return [
        momentum(grid, np.tile(np.eye(grid.dimension)[axis], grid.particles), "spectral")
        .astype(jnp.finfo(psi.dtype).dtype)
        .apply(psi)
        for axis in range(grid.dimension)
    ]


class Momentum(Observable):
    """⟨p⟩ = ⟨−i∇⟩, the canonical momentum (in velocity gauge the velocity is p + A)."""

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "momentum"
    long_name: ClassVar[str] = "expectation value of the canonical momentum"
    units: ClassVar[str] = "a.u."

    def prepare(self, H, eigenstates):
        require_basis(self, H, Grid, SphericalBasis, EigenBasis, SpinorBasis)
        atomic.require_whole_state(H.basis)
        return self

    def evaluate(self, H, psi, t):
        if isinstance(H.basis, atomic.AtomicBasis):
            return atomic.mean_momentum(H.basis, psi)
        if isinstance(H.basis, SpinorBasis):
            return spinor.mean_momentum(H.basis, psi)
        grid = require_grid(self, H)
        return as_vector([jnp.real(grid.inner(psi, p)) for p in _momenta(grid, psi)])

    def dims(self, H):
        return vector_dims(H.basis)


class Acceleration(Observable):
    """−⟨∇V⟩ of the potentials, light excluded: the same number in every gauge.

    By Ehrenfest the electron's full acceleration is this minus E(t). It is evaluated as the
    commutator −2 Im⟨Vψ|pψ⟩, so no derivative of V is taken.
    """

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "acceleration"
    long_name: ClassVar[str] = "acceleration of the electrons without the laser's force"
    units: ClassVar[str] = "a.u."

    def prepare(self, H, eigenstates):
        require_basis(self, H, Grid, SphericalBasis, EigenBasis)
        atomic.require_whole_state(H.basis)
        return self

    def evaluate(self, H, psi, t):
        if isinstance(H.basis, atomic.AtomicBasis):
            return atomic.force(H, psi)
        grid = require_grid(self, H)
        parts = [H.fixed, *(c.at(t) for c in H.changing if not isinstance(c, Driven))]
        potential = part_of_kind(add(parts), Diagonal)
        if potential is None:
            return as_vector([jnp.zeros((), jnp.finfo(psi.dtype).dtype)] * grid.dimension)
        pulled = potential.apply(psi)
        return as_vector([-2 * jnp.imag(grid.inner(pulled, p)) for p in _momenta(grid, psi)])

    def dims(self, H):
        return vector_dims(H.basis)


class Density(Observable):
    """|ψ|² on the grid; `every` thins the records, since each is as large as ψ."""

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "density"
    long_name: ClassVar[str] = "probability density"
    units: ClassVar[str] = "1/bohr^d"

    def prepare(self, H, eigenstates):
        require_grid(self, H)
        return self

    def evaluate(self, H, psi, t):
        return jnp.abs(psi) ** 2

    def dims(self, H):
        return tuple(require_grid(self, H).axes().items())


def _outside(grid: Grid, radius: Any) -> np.ndarray:
    """1 where any particle is farther than `radius` from the centre of the grid."""
    outside = np.zeros((1,) * grid.ndim, bool)
    for p in range(grid.particles):
        center = grid.center[p * grid.dimension : (p + 1) * grid.dimension]
        squares = [(x - c) ** 2 for x, c in zip(grid.coordinates(p), center, strict=True)]
        outside = outside | (sum(squares[1:], squares[0]) > float(radius) ** 2)
    return outside


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
        require_basis(self, H, Grid, SphericalBasis, SpinorBasis)
        return self

    def evaluate(self, H, psi, t):
        if isinstance(H.basis, SphericalBasis):
            return 1 - atomic.inside(H.basis, psi, self.radius)
        if isinstance(H.basis, SpinorBasis):
            return 1 - spinor.inside(H.basis, psi, self.radius)
        grid = require_grid(self, H)
        inside = ~_outside(grid, self.radius)
        return 1 - jnp.sum(jnp.abs(psi) ** 2 * inside) * real_like(grid.volume, psi)


class Flux(Observable):
    """The rate at which probability leaves the sphere (on a line: the interval) of `radius`
    around the middle of the box.

    dP_out/dt = 2 Im⟨θψ|H(t)ψ⟩ with θ = 1 outside: the discrete continuity equation, exact on the
    grid and the same in every gauge.
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
        require_grid(self, H)
        return self

    def evaluate(self, H, psi, t):
        grid = require_grid(self, H)
        closed = Hamiltonian(H.basis, H.fixed, H.changing).at(t)
        outer = jnp.where(_outside(grid, self.radius), psi, 0)
        return 2 * jnp.imag(grid.inner(outer, closed.apply(psi)))
