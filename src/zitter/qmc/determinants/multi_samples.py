"""Stored samples of several determinants under other coefficients.

Coefficients change Γ alone (see `multi`). With it, and what is stored,

    ∇_i ln D = ∇_i ln D_0 + (∇φ_v − (∇φ_occ)T)·y_i        ∇²D/D = ∇²D_0/D_0 + Σ Γ∘B,

B = A⁻¹(∇²Φ_v − (∇²A)T): no orbital is evaluated again.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from zitter.qmc.determinants.base import Derivatives, Recalled
from zitter.qmc.determinants.excitations import Excitations
from zitter.qmc.determinants.spin_orbitals import contracted


class KeptSample(eqx.Module):
    """D_0 and the derivatives of all orbitals, in the form that Γ is contracted with."""

    phase: Any
    log: Any
    X: Any
    gradient: Any  # ∇_i ln D_0 (d, N)
    gradients: list[Any]  # ∇Φ_v − (∇A)T of each spin, (d, electrons, v)
    laplacian: Any  # Σ ∇²D_0/D_0
    laplacians: list[Any]  # A⁻¹(∇²Φ_v − (∇²A)T) of each spin, (n, v)


def kept_sample(table: Excitations, orbitals: Any, X: Any, phase: Any, log: Any) -> KeptSample:
    """`orbitals` are φ, ∇φ and ∇²φ of each spin, as rows of its tables."""
    n = table.n
    total = table.total(X)
    size = jnp.abs(total)
    gradient, gradients, laplacian, laplacians = [], [], jnp.zeros(()), []
    for spin, (_, slope, second) in enumerate(orbitals):
        count = slope.shape[1]
        columns, T = X[spin, :, :count], X[spin, :, n:]
        bare = contracted(slope, second, columns.T)
        gradient.append(bare[0])
        laplacian = laplacian + bare[1]
        gradients.append(slope[..., n:] - slope[..., :n] @ T)
        laplacians.append(columns @ (second[:, n:] - second[:, :n] @ T))
    return KeptSample(
        phase / (total / size), log - jnp.log(size), X,
        jnp.concatenate(gradient, axis=1), gradients, laplacian, laplacians,
    )  # fmt: skip


def recalled(table: Excitations, kept: KeptSample) -> Recalled:
    total, gradient, laplacian = jnp.ones(()), [], kept.laplacian
    for spin, weights in enumerate(table.both_weights(kept.X)):
        X = kept.X[spin]
        slopes = table.slopes(X, weights, spin)
        count = kept.gradients[spin].shape[1]
        y = table.along_rows(slopes, X[:, :count], spin).T  # (electrons, v)
        gradient.append(jnp.sum(kept.gradients[spin] * y, axis=-1))
        laplacian = laplacian + table.contraction(slopes, kept.laplacians[spin], spin)
        total = slopes.total
    size = jnp.abs(total)
    found = Derivatives(kept.gradient + jnp.concatenate(gradient, axis=1), laplacian)
    return Recalled(kept.phase * (total / size), kept.log + jnp.log(size), found)
