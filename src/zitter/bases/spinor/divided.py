"""Spinors on many devices, cut between values of μ and κ: what keeps them stays where it is."""

from __future__ import annotations

import hashlib
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.divided import DividedBasis
from zitter.bases.edges import Edge
from zitter.bases.spinor import operators, values
from zitter.bases.spinor.basis import SpinorBasis, solved_overlap
from zitter.bases.spinor.blocks import SpinorBlocks, row_by_row
from zitter.bases.spinor.by_kappa import made_by_kappa, over_kappa, per_row
from zitter.bases.spinor.edges import LastKappa
from zitter.bases.spinor.folded import FoldedChain
from zitter.bases.spinor.kinetic_balance import allowed, held, overlap_bands
from zitter.bases.spinor.levels import diagonalized
from zitter.bases.spinor.light import intervals
from zitter.bases.spinor.momentum import divided_momentum
from zitter.linalg.base import Operator, Solver, Unsupported
from zitter.linalg.pairs import times_rows
from zitter.linalg.radial_solver import RadialSolver
from zitter.linalg.resolvents import Factors, Resolvents
from zitter.linalg.sums import partition


class DividedSpinorBasis(DividedBasis):
    """A `SpinorBasis` in pairs of |μ| over the mesh axis "angular", each shared over "space"."""

    parent: SpinorBasis = eqx.field(static=True)
    layout: FoldedChain = eqx.field(static=True)

    def __init__(self, parent: SpinorBasis, layout: FoldedChain):
        self.parent, self.layout = parent, layout

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.layout.shape

    @property
    def shares(self) -> dict[str, list[int]]:
        """Channels over μ, and intervals of r among devices that share them."""
        found, cut = {"angular": self.layout.shares}, self.layout.segments
        if cut is not None:
            ends = np.minimum(np.arange(cut.count + 1) * cut.intervals, intervals(self.parent))
            found["space"] = np.diff(ends).tolist()
        return {axis: parts for axis, parts in found.items() if axis in self.layout.mesh.shape}

    @property
    def kappa_max(self) -> int:
        return self.parent.kappa_max

    @property
    def orthonormal(self) -> bool:
        return False

    def overlap(self, psi: jax.Array) -> jax.Array:
        bands = overlap_bands(self.parent.radial, self.parent.c)
        bands = jnp.asarray(bands, jnp.finfo(psi.dtype).dtype)
        kappas = self.layout.pairs.kappas
        return row_by_row(bands, psi, kappas) + psi - held(psi, kappas)

    def solve_overlap(self, image: jax.Array) -> jax.Array:
        dtype = jnp.finfo(image.dtype).dtype
        bands = made_by_kappa(
            self.layout, lambda kappas: self.parent.overlap_matrices(dtype, kappas)
        )
        complex_image = image.astype(jnp.result_type(image, jnp.complex64))
        solution = over_kappa(
            self.layout, lambda rows, bands: solved_overlap(bands, rows), complex_image, bands
        )
        return solution if jnp.iscomplexobj(image) else jnp.real(solution)

    def braket(self, bra: jax.Array, image: jax.Array) -> jax.Array:
        return jnp.vdot(bra, image)

    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        return jnp.vdot(bra, self.overlap(ket))

    def axes(self) -> dict[str, Any]:
        return self.parent.axes()

    def sphere(self, radius: float) -> Operator:
        return operators.sphere(self.parent, radius).divided(self.layout)

    def mean_momentum(self, psi: jax.Array) -> jax.Array:
        return divided_momentum(self.layout, psi)

    def density(self, psi: jax.Array) -> jax.Array:
        return values.density(self.parent, psi, self.layout.pairs.kappas)

    def density_axes(self) -> dict[str, np.ndarray]:
        return self.parent.density_axes()

    def kappa_weights(self, psi: jax.Array) -> tuple[np.ndarray, jax.Array]:
        weights = jnp.sum(jnp.real(jnp.conj(psi) * self.overlap(psi)), axis=1)
        distinct = self.parent.distinct_kappas
        mine = self.layout.pairs.kappas[None, :] == distinct[:, None]
        return distinct, jnp.asarray(mine, weights.dtype) @ weights

    def edges(self, driven: bool, open_end: bool) -> tuple[Edge, ...]:
        return (LastKappa(self),) if driven and self.kappa_max > 1 else ()

    # Implicit steps: levels and factors lie where all μ of their κ come together.

    def separate(self, operator: Operator) -> tuple[Operator | None, Operator | None]:
        return partition(operator, keeps_kappa)

    def resolvents(self, operator: Operator) -> Resolvents:
        if not isinstance(operator, DividedBlocks):
            raise Unsupported(f"{type(operator).__name__} couples channels: it has no levels")
        return DividedLevels(operator, self)

    def factored_resolvents(self, operator: Operator) -> Resolvents:
        if not isinstance(operator, DividedBlocks):
            raise Unsupported(f"{type(operator).__name__} couples channels and is not factored")
        return DividedFactors(operator, self)

    # Files.

    def in_order(self, array: Any) -> Any:
        return self.layout.in_order(array)

    def from_order(self, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        return self.layout.from_order(values, shape)


def keeps_kappa(operator: Operator) -> bool:
    return isinstance(operator, DividedBlocks) and operator.hermitian


class DividedBlocks(Operator):
    """`SpinorBlocks` on states of a `FoldedChain`."""

    blocks: SpinorBlocks
    layout: FoldedChain = eqx.field(static=True)

    def __init__(self, blocks: SpinorBlocks, layout: FoldedChain):
        self.blocks, self.layout = blocks, layout

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape

    @property
    def hermitian(self) -> bool:
        return self.blocks.hermitian

    @property
    def bounded_below(self) -> bool:
        return self.blocks.bounded_below

    @property
    def dtype(self) -> Any:
        return self.blocks.dtype

    def apply(self, psi: jax.Array) -> jax.Array:
        return row_by_row(self.blocks.coefficients, psi, self.layout.pairs.kappas)

    def scaled(self, factor: Any) -> DividedBlocks:
        return DividedBlocks(self.blocks.scaled(factor), self.layout)

    def merged(self, other: Operator) -> DividedBlocks | None:
        if not isinstance(other, DividedBlocks) or other.layout != self.layout:
            return None
        both = self.blocks.merged(other.blocks)
        return None if both is None else DividedBlocks(both, self.layout)

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        return self.blocks.bounds()


class DividedLevels(Resolvents):
    """Coefficients among the levels of H₀, kept by κ: (D, rows, 2n)."""

    energies: tuple[jax.Array, ...]  # (D·F, 2n) of each class
    vectors: tuple[jax.Array, ...]  # (D·F, 2n, level)
    basis: DividedSpinorBasis = eqx.field(static=True)

    def __init__(self, operator: DividedBlocks, basis: DividedSpinorBasis):
        self.basis = basis
        dtype = jnp.finfo(operator.dtype).dtype
        self.energies, self.vectors = _levels(operator.blocks, basis, dtype)

    def at(self, z):
        return Factors(1 / (1 + z * per_row(self.basis.layout, self.energies)))

    def enter(self, psi):
        return self._project(self.basis.overlap(psi))

    def leave(self, coefficients):
        return over_kappa(
            self.basis.layout,
            lambda rows, vectors: times_rows(rows, jnp.swapaxes(vectors, 1, 2)),
            coefficients,
            self.vectors,
            enters=False,
        )

    def image(self, operator, coefficients):
        return self._project(operator.apply(self.leave(coefficients)))

    def _project(self, image):
        return over_kappa(self.basis.layout, times_rows, image, self.vectors, leaves=False)


_recent: dict[tuple[Any, ...], Any] = {}


def _levels(blocks: SpinorBlocks, basis: DividedSpinorBasis, dtype: Any) -> Any:
    """(energies, vectors) for each class of κ, kept for the next caller as those of one device."""
    if checks.is_traced(blocks):
        return _diagonalized(blocks, basis, dtype)
    digest = hashlib.sha256(np.asarray(blocks.coefficients).tobytes()).hexdigest()
    key = (basis.parent, basis.layout.mesh, jnp.dtype(dtype), digest)
    if key not in _recent:
        _recent.clear()
        _recent[key] = _diagonalized(blocks, basis, dtype)
    return _recent[key]


@eqx.filter_jit
def _diagonalized(blocks: SpinorBlocks, basis: DividedSpinorBasis, dtype: Any) -> Any:
    def levels(kappas, blocks):
        bands = blocks.bands(kappas).astype(jnp.float64)
        overlaps = basis.parent.overlap_matrices(jnp.float64, kappas)
        found = diagonalized(bands, overlaps, allowed(kappas, basis.parent.radial.n))
        return tuple(x.astype(dtype) for x in found)

    classes = made_by_kappa(basis.layout, levels, blocks)
    return tuple(zip(*classes, strict=True))


class DividedFactors(Resolvents):
    """Banded factors of S + zH₀ for each κ."""

    operator: DividedBlocks
    basis: DividedSpinorBasis = eqx.field(static=True)

    @property
    def renewable(self) -> bool:
        return True

    def at(self, z):
        parent, precision = self.basis.parent, jnp.result_type(z, jnp.complex64)

        def factors(kappas, blocks, z):
            overlap = parent.overlap_matrices(jnp.finfo(precision).dtype, kappas)
            return RadialSolver((overlap + z * blocks.bands(kappas)).astype(precision))

        layout = self.basis.layout
        return DividedSolver(made_by_kappa(layout, factors, self.operator.blocks, z), layout)

    def resolved(self, solver, z: Any, coefficients: jax.Array) -> jax.Array:
        return solver.solve(self.basis.overlap(coefficients))


class DividedSolver(Solver):
    """`RadialSolver` with the matrices of each device's κ, for all μ at once."""

    factors: tuple[RadialSolver, ...]  # of each class
    layout: FoldedChain = eqx.field(static=True)

    def solve(self, rhs: jax.Array) -> jax.Array:
        return over_kappa(
            self.layout, lambda rows, factors: factors.solve_many(rows), rhs, self.factors
        )
