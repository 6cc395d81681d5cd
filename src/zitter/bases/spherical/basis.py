"""Radial functions times spherical harmonics: ψ(r) = Σ_{lm} P_lm(r)/r · Y_lm(θ, φ).

    zt.SphericalBasis(radial, lmax=20)            one m (0), for light polarized along z
    zt.SphericalBasis(radial, lmax=20, m="all")   every m, for light of any polarization

Coefficients have the shape (channels, n): one row of radial coefficients for each l ≥ |m|, or for
each pair (l, m) in the order (0,0), (1,−1), (1,0), (1,1), …; harmonics have the Condon–Shortley
phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse
from jax.sharding import Mesh

from zitter import checks, runtime
from zitter.bases import other_splines
from zitter.bases.base import Basis
from zitter.bases.bsplines import RadialBSplines
from zitter.bases.edges import Edge, LastL
from zitter.bases.overlap_solver import solve_overlap
from zitter.bases.places import Places
from zitter.bases.spherical import box, channels, measuring, operators
from zitter.bases.spherical.divided import DividedSphericalBasis
from zitter.bases.spherical.edges import Wall
from zitter.bases.spherical.implicit import RadialResolvents
from zitter.bases.spherical.split import angular_split
from zitter.bases.split import LightSplit
from zitter.bases.unit_vector import unit_vector
from zitter.linalg.bands import banded_product, sparse_bands
from zitter.linalg.base import Operator
from zitter.linalg.blocks import RadialBlocks
from zitter.linalg.chain import Chain
from zitter.linalg.resolvents import Resolvents
from zitter.linalg.sums import partition


class SphericalBasis(Basis):
    """(radial B-splines) ⊗ Y_lm; ⟨φ|ψ⟩ = Σ_lm φ_lm† S ψ_lm with the radial overlap S."""

    radial: RadialBSplines = eqx.field(static=True)
    lmax: int = eqx.field(static=True)
    m: int | Literal["all"] = eqx.field(static=True)

    def __init__(self, radial: RadialBSplines, lmax: int, m: int | Literal["all"] = 0):
        self.radial = checks.instance("radial", radial, RadialBSplines)
        self.lmax = checks.integer("lmax", lmax, 0)
        if m != "all":
            m = checks.integer("m", m, -self.lmax, self.lmax)
        self.m = m
        channels = (self.lmax + 1) ** 2 if m == "all" else self.lmax + 1 - abs(m)
        runtime.require_memory("lmax", 8 * channels * radial.n)
        runtime.require_memory("radial.n", 8 * radial.n**2)  # eigenvectors of r, dense states

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.channels), self.radial.n)

    @property
    def channels(self) -> tuple[tuple[int, int], ...]:
        """The pairs (l, m), one for each row of coefficients."""
        if self.m == "all":
            return tuple((l, m) for l in range(self.lmax + 1) for m in range(-l, l + 1))
        return tuple((l, self.m) for l in range(abs(self.m), self.lmax + 1))

    @property
    def l(self) -> np.ndarray:  # noqa: E743
        return np.asarray([l for l, _ in self.channels])

    @property
    def orthonormal(self) -> bool:
        return False

    @eqx.filter_jit  # its many small operations would be called one by one
    def overlap(self, psi: jax.Array) -> jax.Array:
        return banded_product(jnp.asarray(self.radial.overlap), psi)

    def solve_overlap(self, image: jax.Array) -> jax.Array:
        """S⁻¹ is the same for each row."""
        return solve_overlap(self.radial, image).astype(jnp.result_type(image))

    def braket(self, bra: jax.Array, image: jax.Array) -> jax.Array:
        return jnp.vdot(bra, image)

    @eqx.filter_jit
    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        """⟨bra|ket⟩; with exterior scaling the integral over the real coordinate x."""
        bands = jnp.asarray(self.radial.hermitian_overlap, _precision_of(ket))
        return jnp.vdot(bra, banded_product(bands, ket))

    def axes(self) -> dict[str, Any]:
        if self.m == "all":
            return {"channel": np.arange(self.shape[0]), "spline": self.radial.centers}
        return {"l": self.l, "spline": self.radial.centers}

    # Implicit steps.

    def separate(self, operator: Operator) -> tuple[Operator | None, Operator | None]:
        """Matrices within channels are factored; what couples channels is the rest."""
        return partition(operator, lambda part: isinstance(part, RadialBlocks))

    def resolvents(self, operator: Operator) -> Resolvents:
        return RadialResolvents(operator, self.radial)

    def light_split(self, atom: Operator, lights: Sequence[Operator]) -> LightSplit:
        return angular_split(self, atom, lights)

    # Angles.

    def direction(self, component: int) -> tuple[complex, np.ndarray, np.ndarray]:
        """(f, N, K): the unit vector n_x, n_y or n_z (`component` 0, 1, 2) is f·N between channels.

        N and K are real. The gradient acts on P(r) as f·(N d/dr + K/r), with K = −(l+1) N from l
        to l + 1 and K = l N from l to l − 1. As full matrices, to be looked at: operators keep the
        few neighbors of each channel only.
        """
        factor = -1j if component == 1 else 1.0 + 0.0j
        neighbors, weights = unit_vector(self.channels, component)
        unit, centrifugal = (neighbors.matrix(w).toarray() for w in (weights / factor).real)
        return factor, unit, centrifugal

    def row(self, l: int, m: int | None = None) -> int:
        """The place of channel (l, m); m may be left out where the basis has only one."""
        m = self.m if m is None and self.m != "all" else (0 if m is None else m)
        if (l, m) not in self.channels:
            raise checks.InputError("l", f"must be a channel of the basis, but is ({l}, {m})")
        return self.channels.index((l, m))

    # Operators.

    @property
    def directions(self) -> tuple[int, ...]:
        return (0, 1, 2) if self.m == "all" else (2,)

    @property
    def complex_scaled(self) -> bool:
        return self.radial.scaling is not None

    def places(self) -> Places:
        return Places(("r",), (self.radial.radius,))

    def multiply(self, values: Any) -> Operator:
        """V(r), or one row of values for each channel."""
        return operators.multiply(self, values)

    def kinetic(self, mass: Any = 1.0, order: Any = "spectral") -> Operator:
        return operators.kinetic(self, mass)

    def position(self, unit: Any) -> Operator:
        return operators.position(self, unit)

    def momentum(self, unit: Any, order: Any = "spectral") -> Operator:
        return operators.momentum(self, unit)

    def depths(self, width: float) -> list[tuple[np.ndarray, float]]:
        last = float(np.diff(self.radial.knots).max())
        return [(operators.depth(self, width, self.radial.points), last)]

    def mask_depths(self, width: float) -> list[np.ndarray]:
        """Each coefficient at the centre of its spline, the last of which may lie at rmax."""
        return [np.minimum(operators.depth(self, width, self.radial.centers), 0.999)]

    def sphere(self, radius: float) -> Operator:
        return operators.sphere(self, radius)

    # Measuring and showing.

    def density(self, psi: jax.Array) -> jax.Array:
        return measuring.density(self, psi)

    def density_axes(self) -> dict[str, np.ndarray]:
        return {"r": self.radial.samples}

    def evaluate(self, psi: jax.Array, x: Any, y: Any, z: Any) -> Any:
        return measuring.values(self, psi, x, y, z)

    def on_sphere(self, psi: jax.Array, radius: float) -> jax.Array:
        return measuring.on_sphere(self, psi, radius)

    def edges(self, driven: bool, open_end: bool) -> tuple[Edge, ...]:
        last = (LastL(self),) if driven and self.shape[0] > 1 else ()
        wall = (Wall(self.radial),) if open_end and not self.complex_scaled else ()
        return last + wall

    # Stationary states.

    def sparse_overlap(self):
        return sparse.kron(sparse.identity(self.shape[0]), sparse_bands(self.radial.overlap))

    def closer(self) -> SphericalBasis:
        return SphericalBasis(self.radial.closer(), self.lmax, self.m)

    def poorer(self, operator: Operator) -> dict[str, tuple[Basis, ...]]:
        """The last l counts where H couples channels; otherwise each l stands alone.

        With one l alone nothing is coupled, and light may still be there: one more l tells.
        """
        splines = other_splines.poorer(self.radial)
        found: dict[str, tuple[Basis, ...]] = {
            name: (SphericalBasis(radial, self.lmax, self.m),) for name, radial in splines.items()
        }
        lowest = 0 if self.m == "all" else abs(self.m)
        if not isinstance(operator, RadialBlocks):
            other = self.lmax - 1 if self.lmax > lowest else self.lmax + 1
            found["lmax"] = (SphericalBasis(self.radial, other, self.m),)
        return found

    def richer(self, name: str) -> Basis | None:
        if name == "splines":
            return SphericalBasis(other_splines.richer(self.radial), self.lmax, self.m)
        return None

    def one_more_channel(self, operator):
        if not isinstance(operator, RadialBlocks):
            return None
        return SphericalBasis(self.radial, self.lmax + 1, self.m), self.lmax + 1, "lmax"

    def finds_states(self, operator):
        return isinstance(operator, RadialBlocks)

    def stationary(self, operator, n, near):
        return channels.stationary(self, operator, n, near)

    def named_state(self, operator, l, below, m):
        return channels.named_state(self, operator, l, below, m)

    def box_errors(self, operator, energies, states):
        return box.box_errors(self, operator, energies, states)

    # Devices.

    @property
    def mesh_axes(self) -> tuple[str, ...]:
        return ("l",)

    def divided(self, mesh: Mesh) -> DividedSphericalBasis:
        """Between values of l; of all m, between channels whose couplings reach the next device
        and no other."""
        reach = 2 * self.lmax + 1 if self.m == "all" else 1
        return DividedSphericalBasis(self, Chain(self.shape, mesh, reach=reach))

    # Spectra.

    def channels_of(self, operator=None) -> channels.Channels:
        return channels.channels_of(self, operator)

    def __repr__(self) -> str:
        return f"SphericalBasis: l ≤ {self.lmax}, m = {self.m}, {self.radial}"


def _precision_of(array: jax.Array) -> Any:
    return jnp.finfo(jnp.result_type(array)).dtype
