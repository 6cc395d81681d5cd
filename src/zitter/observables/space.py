"""Where the probability is: the density, what lies outside a sphere, and what leaves it."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis, Refused
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Operator, Unsupported
from zitter.observables.base import Observable, require

PLANES = ("xy", "yx", "xz", "zx", "yz", "zy")


class Density(Observable):
    """|ψ|² on the grid, on bases around an origin dP/dr; `every` thins the records, since each is
    as large as ψ on a grid.

    With `plane`, "xy" or two other letters, |ψ|² of an atom in that plane through the nucleus: on
    `points` × `points` places up to `extent` to each side.
    """

    every: int = eqx.field(static=True)
    plane: str | None = eqx.field(static=True)
    extent: float = eqx.field(static=True)
    points: int = eqx.field(static=True)
    name: ClassVar[str] = "density"
    long_name: ClassVar[str] = "probability density"
    units: ClassVar[str] = "1/bohr^d"

    def __init__(
        self,
        every: int = 1,
        plane: str | None = None,
        extent: float | str = 20.0,
        points: int = 161,
    ):
        self.every = checks.integer("every", every, 1)
        self.plane = None if plane is None else checks.choice("plane", plane, PLANES)
        self.extent = float(checks.positive("extent", extent, "length"))
        self.points = checks.integer("points", points, 2, 4096)

    @property
    def on_host(self) -> bool:
        return self.plane is not None

    def prepare(self, H, eigenstates):
        if self.plane is None:
            require(self, H, H.basis.density)
        elif H.basis.lattice is not None:
            raise Unsupported(
                "Density in a plane is for bases around an origin; on a grid Density() has the "
                "density at all of its points"
            )
        else:
            zero = jnp.zeros(H.basis.shape, jnp.complex128)
            try:
                H.basis.evaluate(zero, 0.1, 0.1, 0.1)
            except Refused as refusal:
                raise Unsupported(str(refusal)) from None
        return self

    def evaluate(self, H, psi, t):
        if self.plane is None:
            return H.basis.density(psi)
        axes = np.eye(3)[["xyz".index(axis) for axis in self.plane]]
        return density_in_plane(H.basis, psi, axes, self._places)

    @property
    def _places(self) -> np.ndarray:
        return np.linspace(-self.extent, self.extent, self.points)

    def dims(self, H):
        if self.plane is None:
            return tuple(H.basis.density_axes().items())
        return tuple((axis, self._places) for axis in self.plane)

    def facts(self, H):
        return {} if self.plane is None else {"density_plane": self.plane}


def density_in_plane(basis: Basis, psi: Any, axes: np.ndarray, places: np.ndarray) -> jax.Array:
    """|ψ|², components of spinors summed, on `places` along the rows of `axes`, unit vectors."""
    first, second = np.meshgrid(places, places, indexing="ij")
    values = basis.evaluate(psi, *(x * first + y * second for x, y in axes.T))
    squares = jnp.abs(jnp.asarray(values)) ** 2
    return squares if squares.ndim == 2 else jnp.sum(squares, axis=0)


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
    of_probability: ClassVar[bool] = True

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
