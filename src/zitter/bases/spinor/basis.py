"""Relativistic basis: ψ = Σ_κμ r⁻¹ (P_κμ(r) X_κμ, i Q_κμ(r) X_−κμ).

    zt.SpinorBasis(radial, kappa_max=3)              every κ = ±1 … ±3 and |μ| < |κ|
    zt.SpinorBasis(radial, 40, mu_max=10.5)          only |μ| ≤ 10.5

Coefficients have the shape (channels, 2n): one row for each pair (κ, μ), and in it unknown 2i + b
for spline i of block b + 1 (`kinetic_balance.py`). The overlap S(κ) = s0 + κs1 + κ²s2 is banded in
each channel.
"""

from __future__ import annotations

import functools
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from zitter import checks, runtime, units
from zitter.bases import other_splines
from zitter.bases.base import Basis, Refused
from zitter.bases.bsplines import RadialBSplines
from zitter.bases.edges import Edge
from zitter.bases.places import Places
from zitter.bases.spinor import nuclei, operators, values
from zitter.bases.spinor.edges import LastKappa
from zitter.bases.spinor.kinetic_balance import (
    allowed,
    masked,
    overlap_bands,
    polynomial,
)
from zitter.bases.spinor.light import SpinorLight
from zitter.bases.spinor.momentum import mean_momentum
from zitter.linalg.bands import banded_product, dense_from_bands
from zitter.linalg.base import Operator
from zitter.linalg.resolvents import Resolvents
from zitter.linalg.sums import partition


class SpinorBasis(Basis):
    """Dual-kinetic-balance B-splines ⊗ spherical spinors, packed over (κ, μ).

    `c` is the speed of light, for the limit without relativity. `order` says how the channels
    follow each other: κ = −1, 1, −2, 2, … with μ rising inside ("kappa"), or μ rising with κ
    inside ("mu"); results do not depend on it.
    """

    radial: RadialBSplines = eqx.field(static=True)
    kappa_max: int = eqx.field(static=True)
    mu_max: float = eqx.field(static=True)
    c: float = eqx.field(static=True)
    order: Literal["kappa", "mu"] = eqx.field(static=True)

    def __init__(
        self,
        radial: RadialBSplines,
        kappa_max: int,
        mu_max: float | None = None,
        c: float = units.SPEED_OF_LIGHT,
        order: Literal["kappa", "mu"] = "kappa",
    ):
        self.radial = checks.instance("radial", radial, RadialBSplines)
        if radial.scaling is not None or radial.outer != "zero":
            raise checks.InputError(
                "radial", 'must have no exterior scaling and end with outer = "zero" for spinors'
            )
        if radial.degree < 3:
            raise checks.InputError(
                "radial.degree", f"must be at least 3 for spinors, but is {radial.degree}"
            )
        self.kappa_max = checks.integer("kappa_max", kappa_max, 1)
        self.mu_max = _largest_mu(mu_max, self.kappa_max)
        channels = self.kappa_max * min(2 * self.kappa_max, 2 * self.mu_max + 1)  # or half as many
        runtime.require_memory("kappa_max", 8 * channels * radial.n)
        runtime.require_memory("kappa_max", 32 * self.kappa_max * radial.n**2)  # states of H₀
        self.c = float(checks.positive("c", c))
        self.order = checks.choice("order", order, ("kappa", "mu"))

    @property
    def _channels(self) -> _Channels:
        return _channels(self.kappa_max, self.mu_max, self.order)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self._channels.kappas), 2 * self.radial.n)

    @property
    def kappas(self) -> np.ndarray:
        """κ of each channel."""
        return self._channels.kappas

    @property
    def mus(self) -> np.ndarray:
        """μ of each channel."""
        return self._channels.mus

    @property
    def distinct_kappas(self) -> np.ndarray:
        """−1, 1, −2, 2, …: the first axis of what `by_kappa` gives."""
        return _distinct(self.kappa_max)

    @property
    def mask(self) -> np.ndarray:
        """1 for unknowns in use and 0 for those held at zero (of the first two), (κ, 2n)."""
        return allowed(self.distinct_kappas, self.radial.n)

    def channel(self, kappa: int, mu: float) -> int:
        """The row of channel (κ, μ)."""
        found = np.nonzero((self.kappas == kappa) & (self.mus == mu))[0]
        if len(found) == 0:
            raise checks.InputError(
                "kappa", f"must be a channel of the basis, but is ({kappa}, {mu})"
            )
        return int(found[0])

    @property
    def channels_by_kappa(self) -> np.ndarray:
        """The channel of (distinct κ, μ), or the number of channels where there is none."""
        return self._channels.grouped

    def by_kappa(self, psi: jax.Array) -> jax.Array:
        """(channels, …) → (distinct κ, μ, …); places without a channel hold zeros."""
        zero = jnp.zeros((1, *psi.shape[1:]), psi.dtype)
        return jnp.concatenate([psi, zero])[self._channels.grouped]

    def packed(self, grouped: jax.Array) -> jax.Array:
        """(distinct κ, μ, …) → (channels, …)."""
        flat = grouped.reshape(-1, *grouped.shape[2:])
        return flat[self._channels.places]

    @property
    def orthonormal(self) -> bool:
        return False

    def overlap_matrices(self, dtype: Any = np.float64, kappas: Any = None) -> jax.Array:
        """Bands of S(κ) for the distinct κ, or others; one on the diagonal of unknowns held at
        zero."""
        kappas = self.distinct_kappas if kappas is None else kappas
        mask = allowed(kappas, self.radial.n)
        coefficients = jnp.asarray(overlap_bands(self.radial, self.c))
        # Without the barrier the compiler would work out (and store) the matrices of all κ.
        coefficients = jax.lax.optimization_barrier(coefficients)
        bands = masked(polynomial(coefficients, kappas), mask)
        p = bands.shape[1] // 2
        return bands.at[:, p, :2].add(1 - mask[:, :2]).astype(dtype)

    @eqx.filter_jit  # one operation after another would hold ψ once for each band
    def overlap(self, psi: jax.Array) -> jax.Array:
        bands = self.overlap_matrices(_precision_of(psi))
        return self.product(bands, psi)

    def product(self, bands: jax.Array, psi: jax.Array) -> jax.Array:
        """The matrix of each distinct κ, as bands, by the rows of its channels."""
        if not jnp.iscomplexobj(psi) or jnp.iscomplexobj(bands):
            return self.packed(banded_product(bands[:, None], self.by_kappa(psi)))
        # Both parts in one product: of two, the compiler for GPUs writes every band times its rows
        # to memory (at |κ| ≤ 33, 460 MB) before it adds them.
        parts = jnp.stack([jnp.real(psi), jnp.imag(psi)], axis=1)
        image = self.packed(banded_product(bands[:, None, None], self.by_kappa(parts)))
        return jax.lax.complex(image[:, 0], image[:, 1])

    def solve_overlap(self, image: jax.Array) -> jax.Array:
        """S⁻¹ by a Cholesky decomposition for each κ: right for single products, not for loops."""
        bands = self.overlap_matrices(_precision_of(image))
        complex_image = image.astype(jnp.result_type(image, jnp.complex64))
        solution = self.packed(solved_overlap(bands, self.by_kappa(complex_image)))
        return solution if jnp.iscomplexobj(image) else jnp.real(solution)

    def braket(self, bra: jax.Array, image: jax.Array) -> jax.Array:
        return jnp.vdot(bra, image)

    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        return jnp.vdot(bra, self.overlap(ket))

    def axes(self) -> dict[str, Any]:
        splines = np.repeat(self.radial.centers, 2)
        return {"channel": np.arange(self.shape[0]), "unknown": splines}

    def radial_values(self, psi: jax.Array, r: Any) -> tuple[jax.Array, jax.Array]:
        """P and Q at the radii r, each (channels, len(r))."""
        return values.radial_values(self, psi, r)

    def spinor_values(self, psi: jax.Array, r: Any, theta: Any) -> tuple[np.ndarray, jax.Array]:
        """m and the four components, ψ_a(r, θ, φ) = Σ_m e^{imφ}/√2π · values[a, m, θ, r].

        `m` runs from −⌈mu_max⌉ to ⌈mu_max⌉; the components are up and down of the upper half of ψ,
        then of the lower half.
        """
        return values.spinor_values(self, psi, r, theta)

    # Operators.

    def places(self) -> Places:
        return Places(("r",), (operators.points(self),))

    def multiply(self, values: Any) -> Operator:
        """V(r) on both halves of the spinor."""
        return operators.multiply(self, values)

    def kinetic(self, mass: Any = 1.0, order: Any = "spectral") -> Operator:
        raise Refused(self, "the kinetic energy", "use Dirac()")

    def position(self, unit: Any) -> Operator:
        raise Refused(self, "the position", "Momentum and Ionization are measured on it")

    def momentum(self, unit: Any, order: Any = "spectral") -> Operator:
        raise Refused(self, "the momentum", "its mean value alone is known, by Momentum()")

    def dirac(self) -> Operator:
        return operators.dirac(self)

    def travelling_light(self, lmax: int) -> SpinorLight:
        return SpinorLight(self, lmax)

    @property
    def light_advice(self) -> str:
        return "use DiracLight(pulse, lmax)"

    def check_nuclei(self, charges: Any, positions: Any, rms: Any = None, potential: Any = None):
        nuclei.check(self, float(np.squeeze(charges)), rms, potential)

    def sphere(self, radius: float) -> Operator:
        return operators.sphere(self, radius)

    # Measuring and showing.

    def mean_momentum(self, psi: jax.Array) -> jax.Array:
        return mean_momentum(self, psi)

    def density(self, psi: jax.Array) -> jax.Array:
        return values.density(self, psi)

    def density_axes(self) -> dict[str, np.ndarray]:
        return {"r": self.radial.samples}

    def evaluate(self, psi: jax.Array, x: Any, y: Any, z: Any) -> jax.Array:
        """The four components in front."""
        return values.at_places(self, psi, x, y, z)

    def kappa_weights(self, psi: jax.Array) -> tuple[np.ndarray, jax.Array]:
        weights = jnp.sum(jnp.real(jnp.conj(psi) * self.overlap(psi)), axis=1)
        return self.distinct_kappas, jnp.sum(self.by_kappa(weights[:, None])[..., 0], axis=1)

    def edges(self, driven: bool, open_end: bool) -> tuple[Edge, ...]:
        return (LastKappa(self),) if driven and self.kappa_max > 1 else ()

    # Stationary states. What works with this basis imports it, so it is imported when asked for.

    def closer(self) -> SpinorBasis:
        rest = self.kappa_max, self.mu_max, self.c, self.order
        return SpinorBasis(self.radial.closer(), *rest)

    def poorer(self, operator: Operator) -> dict[str, tuple[Basis, ...]]:
        rest = self.kappa_max, self.mu_max, self.c, self.order
        fewer = other_splines.poorer(self.radial)["splines"]
        others = {
            "splines": [fewer, other_splines.nearer(self.radial)],
            "rmax": [other_splines.larger_box(self.radial)],
        }
        return {
            name: tuple(SpinorBasis(radial, *rest) for radial in radials)
            for name, radials in others.items()
        }

    def richer(self, name: str) -> Basis | None:
        if name == "splines":
            rest = self.kappa_max, self.mu_max, self.c, self.order
            return SpinorBasis(other_splines.richer(self.radial), *rest)
        return None

    def one_more_channel(self, operator):
        if not self.finds_states(operator):
            return None
        larger = SpinorBasis(self.radial, self.kappa_max + 1, self.mu_max, self.c, self.order)
        return larger, self.kappa_max, "kappa_max"

    def finds_states(self, operator):
        from zitter.bases.spinor.blocks import SpinorBlocks

        return isinstance(operator, SpinorBlocks)

    def stationary(self, operator, n, near):
        from zitter.bases.spinor import states

        return states.stationary(self, operator, n, near)

    def named_state(self, operator, l, below, m):
        from zitter.bases.spinor import states

        return states.named_state(self, operator, l, below, m)

    def kappa_states(self, operator, kappa):
        from zitter.bases.spinor import states

        return states.kappa_states(self, operator, kappa)

    # Spectra.

    def levels_of(self, operator=None):
        from zitter.bases.spinor.levels import levels_of

        if operator is None:
            raise Refused(self, "field-free levels", "spinor_levels(H) finds those of H")
        return levels_of(operator, self)

    def plane_waves(self, psi):
        from zitter.bases.spinor.plane_waves import SpinorWaves

        return SpinorWaves(self, psi)

    # Implicit steps.

    def separate(self, operator: Operator) -> tuple[Operator | None, Operator | None]:
        """What keeps κ and μ is diagonalized; light and absorbers are the rest."""
        from zitter.bases.spinor.implicit import keeps_kappa

        return partition(operator, keeps_kappa)

    def resolvents(self, operator: Operator) -> Resolvents:
        """Among the levels of H₀: one factor each."""
        from zitter.bases.spinor.implicit import level_resolvents

        return level_resolvents(self, operator)

    def factored_resolvents(self, operator: Operator) -> Resolvents:
        """Among the splines, for bases too large to diagonalize: banded factors for each κ."""
        from zitter.bases.spinor.implicit import FactoredResolvents

        return FactoredResolvents(operator, self)

    # Devices.

    @property
    def mesh_axes(self) -> tuple[str, ...]:
        return ("angular", "space")

    def divided(self, mesh: Mesh) -> Basis:
        from zitter.bases.spinor.divided import DividedSpinorBasis
        from zitter.bases.spinor.folded import FoldedChain

        return DividedSpinorBasis(self, FoldedChain(self, mesh))

    def __repr__(self) -> str:
        return (
            f"SpinorBasis: |κ| ≤ {self.kappa_max}, |μ| ≤ {self.mu_max:g}, "
            f"{self.shape[0]} channels, c = {self.c:g}, {self.radial}"
        )


def solved_overlap(bands: jax.Array, grouped: jax.Array) -> jax.Array:
    """S(κ)⁻¹ of complex rows (distinct κ, μ, 2n)."""

    def solve(pair):
        matrix, rows = pair
        factor = jax.scipy.linalg.cho_factor(dense_from_bands(matrix))
        parts = jnp.concatenate([jnp.real(rows), jnp.imag(rows)]).T
        parts = jax.scipy.linalg.cho_solve(factor, parts).T
        return jax.lax.complex(parts[: len(rows)], parts[len(rows) :])

    return jax.lax.map(solve, (bands, grouped))


class _Channels(NamedTuple):
    kappas: np.ndarray
    mus: np.ndarray
    grouped: np.ndarray  # (distinct κ, μ) → channel, or the number of channels where there is none
    places: np.ndarray  # channel → place in the flattened group


def _distinct(kappa_max: int) -> np.ndarray:
    return np.asarray([s * k for k in range(1, kappa_max + 1) for s in (-1, 1)])


@functools.lru_cache(maxsize=32)
def _channels(kappa_max: int, mu_max: float, order: str) -> _Channels:
    distinct, most = _distinct(kappa_max), round(mu_max + 0.5)
    pairs = [
        (k, m, kappa, m + 0.5)
        for k, kappa in enumerate(distinct)
        for m in range(-min(abs(kappa), most), min(abs(kappa), most))
    ]
    if order == "mu":
        pairs.sort(key=lambda pair: (pair[1], pair[0]))
    k, m, kappas, mus = (np.asarray(x) for x in zip(*pairs, strict=True))
    places = k * 2 * most + m + most
    grouped = np.full(len(distinct) * 2 * most, len(pairs))
    grouped[places] = np.arange(len(pairs))
    return _Channels(kappas, mus, grouped.reshape(len(distinct), -1), places)


def _largest_mu(mu_max: float | None, kappa_max: int) -> float:
    if mu_max is None:
        return kappa_max - 0.5
    value = float(checks.positive("mu_max", mu_max))
    if value % 1 != 0.5:
        raise checks.InputError("mu_max", f"must be 1/2, 3/2, 5/2, …, but is {value:g}")
    if value > kappa_max:
        raise checks.InputError(
            "mu_max",
            f"must be at most {kappa_max - 0.5:g}, since |μ| < |κ| ≤ kappa_max = {kappa_max}, "
            f"but is {value:g}",
        )
    return value


def _precision_of(array: Any) -> Any:
    return jnp.finfo(jnp.result_type(array)).dtype
