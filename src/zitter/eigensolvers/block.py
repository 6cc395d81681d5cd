"""Blocks of states (first axis: the state) and the Rayleigh–Ritz method in their span."""

from __future__ import annotations

import abc
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.bases.base import Basis
from zitter.hamiltonian import Hamiltonian

# Inner products on a CPU are taken in so many pieces at most, each of so many numbers at least.
MOST_PIECES, LEAST_PIECE = 128, 2**14


class Precondition(eqx.Module):
    """An approximate inverse of H − E, and the start vectors that go with it."""

    @abc.abstractmethod
    def apply(self, residuals: jax.Array, energies: jax.Array) -> jax.Array: ...

    @abc.abstractmethod
    def start(self, H: Hamiltonian, count: int, given: Any) -> jax.Array: ...


def apply_block(H: Hamiltonian, block: jax.Array) -> jax.Array:
    return jax.vmap(H.operator.apply)(block).astype(block.dtype)


def gram(bra: jax.Array, ket: jax.Array) -> jax.Array:
    """The matrix ⟨bra_i|ket_j⟩ of plain inner products."""
    bra, ket = bra.reshape(bra.shape[0], -1).conj(), ket.reshape(ket.shape[0], -1)
    if runtime.settings().mesh is not None:  # cut into other pieces already
        return bra @ ket.T
    return jax.lax.platform_dependent(bra, ket, cpu=_gram_in_pieces, default=lambda b, k: b @ k.T)


def _gram_in_pieces(bra: jax.Array, ket: jax.Array) -> jax.Array:
    """The product on a CPU copies all of `ket`, which no compiler's count of memory shows."""
    length = bra.shape[1]
    pieces = min(MOST_PIECES, max(1, length // LEAST_PIECE))
    size = length // pieces

    def added(k: Any, found: jax.Array) -> jax.Array:
        one, other = (jax.lax.dynamic_slice_in_dim(x, k * size, size, 1) for x in (bra, ket))
        return found + one @ other.T

    rest = bra[:, pieces * size :] @ ket[:, pieces * size :].T  # fewer columns than pieces
    return jax.lax.fori_loop(0, pieces, added, rest)


def combine(mix: jax.Array, block: jax.Array) -> jax.Array:
    """Σ_i mix[i, j] block_i."""
    flat = mix.T @ block.reshape(block.shape[0], -1)
    return flat.reshape(-1, *block.shape[1:])


def rayleigh_ritz(overlap: jax.Array, matrix: jax.Array, count: int) -> tuple[jax.Array, jax.Array]:
    """The `count` lowest solutions of A c = E B c, with directions of no length left out.

    B is scaled to a unit diagonal and diagonalized; what has an eigenvalue below rounding adds
    nothing but noise and is moved to the top of the spectrum. Shapes stay fixed, as JAX needs.
    """
    eps = jnp.finfo(overlap.dtype).eps
    scale = 1 / jnp.sqrt(jnp.maximum(jnp.real(jnp.diag(overlap)), jnp.finfo(overlap.dtype).tiny))
    b = overlap * scale[:, None] * scale[None, :]
    a = matrix * scale[:, None] * scale[None, :]
    size, vectors = jnp.linalg.eigh(0.5 * (b + b.conj().T))
    kept = size > 100 * eps * b.shape[0]
    root = jnp.where(kept, 1 / jnp.sqrt(jnp.where(kept, size, 1)), 0)
    basis = vectors * root[None, :].astype(vectors.dtype)
    reduced = basis.conj().T @ (0.5 * (a + a.conj().T)) @ basis
    top = 2 * jnp.max(jnp.abs(reduced)) * b.shape[0] + 1
    reduced = reduced + jnp.diag(jnp.where(kept, 0, top)).astype(reduced.dtype)
    energies, mix = jnp.linalg.eigh(reduced)
    return energies[:count], (scale[:, None] * (basis @ mix[:, :count])).astype(overlap.dtype)


class Ritz(eqx.Module):
    """The best states φ in the span of a block, Hφ, their energies and residuals ‖Hφ − Eφ‖."""

    states: jax.Array
    images: jax.Array
    energies: jax.Array
    residuals: jax.Array


def ritz(H: Hamiltonian, block: jax.Array) -> Ritz:
    """Rayleigh–Ritz in the span of a block.

    Where states became alike, so that the span has lost directions, noise takes their place; what
    is lost even then has an infinite residual, so that nobody takes it for an eigenstate.
    """
    found, lost = ritz_step(H, block)
    if np.any(lost):
        noise = random_block(H.basis, block.shape[0], block.dtype, seed=21)
        found, lost = ritz_step(H, _replaced(found.states, lost, noise))
        found = eqx.tree_at(lambda r: r.residuals, found, jnp.where(lost, jnp.inf, found.residuals))
    return found


@eqx.filter_jit
def ritz_step(H: Hamiltonian, block: jax.Array) -> tuple[Ritz, jax.Array]:
    images = apply_block(H, block)
    energies, mix = rayleigh_ritz(gram(block, block), gram(block, images), block.shape[0])
    block, images = combine(mix, block), combine(mix, images)
    residuals = norms(images - column(energies, block) * block)
    return Ritz(block, images, energies, residuals), norms(block) < 0.5


@eqx.filter_jit
def _replaced(block: jax.Array, lost: jax.Array, noise: jax.Array) -> jax.Array:
    """Noise that is orthogonal to the states which are left, in place of the lost ones."""
    block = jnp.where(column(lost, block) != 0, 0, block)
    noise = noise - combine(gram(block, noise), block)
    return jnp.where(column(lost, block) != 0, noise / column(norms(noise), noise), block)


def most_growth(dtype: Any, count: int) -> float:
    """ln of how much longer one direction of a block may become than another before
    `rayleigh_ritz` drops the latter, with some reserve.
    """
    return 0.7 * 0.5 * abs(float(np.log(100 * count * jnp.finfo(dtype).eps)))


def random_block(basis: Basis, count: int, dtype: Any, seed: int = 20) -> jax.Array:
    """Products of pseudo-random rows, one for each axis; the same each time, so runs repeat."""
    numbers = np.random.default_rng(seed)
    shape = basis.whole
    return _products(basis, [numbers.standard_normal((count, n)).astype(dtype) for n in shape])


@eqx.filter_jit
def _products(basis: Basis, rows: list[Any]) -> jax.Array:
    block = jnp.ones((rows[0].shape[0],) + (1,) * len(rows), rows[0].dtype)
    for axis, row in enumerate(rows):
        block = block * row.reshape(
            row.shape[0], *[row.shape[1] if a == axis else 1 for a in range(len(rows))]
        )
    return basis.divide(block)


def floor_of_rounding(H: Hamiltonian, states: jax.Array) -> float:
    """The residual that rounding alone leaves: a few eps ‖H‖."""
    low, high = H.operator.bounds()
    return 4 * float(jnp.finfo(states.dtype).eps) * float(jnp.maximum(jnp.abs(low), jnp.abs(high)))


def column(values: jax.Array, block: jax.Array) -> jax.Array:
    """One number for each state, shaped to multiply the block."""
    return values.astype(block.dtype).reshape(-1, *([1] * (block.ndim - 1)))


def norms(block: jax.Array) -> jax.Array:
    """The plain length of each state."""
    return jnp.sqrt(jnp.real(jax.vmap(jnp.vdot)(block, block)))


def block_size(n: int, guard: int | None, basis: Basis) -> int:
    """n states and some more, so that the last level asked for is not cut in two."""
    size = math.prod(basis.whole)
    return max(n, min(n + (max(3, n // 4) if guard is None else guard), size // 4))


def normalized(H: Hamiltonian, states: jax.Array) -> jax.Array:
    """States of plain length one, as states of norm one in the basis."""
    return states / H.basis.norm(states[0]).astype(jnp.finfo(states.dtype).dtype)


def not_converged(name: str, limit: str, count: int, residuals: Any, tol: float) -> checks.RunError:
    worst = float(np.max(residuals))
    # Nothing is advised in place of what is advised.
    other = "" if name == "LOBPCG" else ", or a solver that converges faster (LOBPCG on grids)"
    return checks.RunError(
        f"{name} stopped at {limit} = {count} with a residual of {worst:.1e} hartree, above "
        f"tol = {tol:.1e}: allow more or take a larger tol{other}."
    )
