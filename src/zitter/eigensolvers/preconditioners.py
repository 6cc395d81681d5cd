"""Approximate inverses of H − E for `LOBPCG`, and the start vectors of iterative solvers."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.eigensolvers.block import Precondition, column, norms, random_block
from zitter.eigensolvers.separable import (
    Separable,
    kinetic_matrices,
    separate,
    separate_for,
    start_vectors,
)
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported
from zitter.segments import shaped

LONGEST_AXIS = 2048  # beyond, diagonalizing one axis as a dense matrix costs more than it saves


class MeanField(Precondition):
    """S (H_sep − E)⁻¹ S for each state, S = (1 + (V − V_sep)₊/8w)^{−1/2}, w the spread of levels.

    What lies within one level spacing of E is not amplified; S takes back what the separable part
    gives too much where the potential rises beyond it (corners of coupled oscillators).
    """

    separable: Separable

    def apply(self, residuals, energies):
        spread = jnp.maximum(energies[-1] - energies[0], 1e-3 * jnp.abs(energies[0]))
        floor = spread / energies.shape[0]
        scale = jax.lax.rsqrt(1 + self.separable.missing / (8 * spread))

        def one(residual, energy):
            return scale * self.separable.solve(scale * residual, energy, floor)

        return jax.vmap(one)(residuals, energies)

    def start(self, H, count, given):
        guess = start_vectors(H, self.separable, count)
        noise = random_block(H.basis, count, H.operator.dtype)
        return with_given(_seeded(self, guess, noise), given)


@eqx.filter_jit
def _seeded(precondition: MeanField, guess: jax.Array, noise: jax.Array) -> jax.Array:
    """A little of everything: symmetric start vectors alone would miss whole symmetry classes."""
    smooth = precondition.apply(noise, jnp.linspace(0.0, 1.0, noise.shape[0]))
    return guess.astype(noise.dtype) + 1e-3 * smooth / column(norms(smooth), smooth)


def with_given(guess: jax.Array, given: Any) -> jax.Array:
    """The states given by the caller in place of the first guesses."""
    if given is None:
        return guess
    given = jnp.asarray(given).astype(guess.dtype)[: guess.shape[0]]
    return jnp.concatenate([given, guess[given.shape[0] :]])


def can_separate(H: Hamiltonian) -> bool:
    """Whether H = Σ_a T_a + V on an orthonormal basis, with axes that are not too long."""
    short = H.basis.orthonormal and max(H.shape) <= LONGEST_AXIS
    return short and kinetic_matrices(H) is not None


def prepare(H: Hamiltonian, count: int, given: Any) -> tuple[MeanField, jax.Array]:
    """The preconditioner for the lowest `count` states, and vectors to start from."""
    if not can_separate(H):
        raise Unsupported(
            "LOBPCG needs a kinetic energy along each axis, as on a Grid, and at most "
            f"{LONGEST_AXIS} points along an axis; use ChebyshevFilter"
        )
    guess = _mean_field(H, separate(H)).start(H, count, given)
    return _mean_field(H, separate_for(H, guess)), guess


def _mean_field(H: Hamiltonian, separable: Separable) -> MeanField:
    dtype = jnp.finfo(H.operator.dtype).dtype
    return MeanField(jax.tree.map(lambda x: x.astype(dtype), separable))


def shape_of_mean_field(H: Hamiltonian) -> MeanField:
    """The preconditioner of H as shapes, for what its application takes."""
    real = jnp.finfo(H.operator.dtype).dtype
    vectors = tuple(shaped(real, k, k) for k in H.basis.whole)
    values = tuple(shaped(real, k) for k in H.basis.whole)
    return MeanField(
        Separable(vectors, values, shaped(real), shaped(real, *H.shape), H.basis.slabs)
    )


def start_block(H: Hamiltonian, count: int, given: Any) -> jax.Array:
    """Start vectors: those of the separable part where there is one, else random ones."""
    if can_separate(H):
        return _mean_field(H, separate(H)).start(H, count, given)
    return with_given(random_block(H.basis, count, H.operator.dtype), given)
