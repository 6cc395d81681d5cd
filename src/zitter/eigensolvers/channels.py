"""Eigenstates channel by channel, H_l c = E S c with banded H_l and S; the basis made of them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zitter import checks
from zitter.bases.eigen.basis import EigenBasis
from zitter.bases.spherical.basis import SphericalBasis
from zitter.eigensolvers.shift_invert import nearest
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.bands import host_dense, sparse_bands
from zitter.linalg.base import Unsupported
from zitter.linalg.blocks import RadialBlocks


def channel_blocks(H: Hamiltonian) -> tuple[SphericalBasis, RadialBlocks]:
    """The basis and the matrices of a Hamiltonian that does not couple channels."""
    if not isinstance(H.basis, SphericalBasis) or not isinstance(H.operator, RadialBlocks):
        raise Unsupported(
            "eigenstates channel by channel need a SphericalBasis and a Hamiltonian without light; "
            "use H.static"
        )
    return H.basis, H.operator


def channel_states(H: Hamiltonian, count: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The lowest `count` (default: all) energies (channels, count) and states
    (channels, n, count) of each channel, with cᵀSc = 1 and P(r) > 0 near the origin.
    """
    basis, operator = channel_blocks(H)
    count = basis.radial.n if count is None else checks.integer("count", count, 1, basis.radial.n)
    overlap = host_dense(basis.radial.overlap)
    # LAPACK finds all states by divide and conquer faster than an eighth of them one by one.
    few = 8 * count < basis.radial.n
    how: dict[str, Any] = {"subset_by_index": (0, count - 1)} if few else {"driver": "gvd"}
    found: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
    order = []
    for bands in np.asarray(operator.bands):
        key = bands.tobytes()  # channels that differ in m only share their matrix
        order.append(key)
        if key not in found:
            matrix = host_dense(bands)
            matrix = 0.5 * (matrix + matrix.T)
            states = scipy.linalg.eigh(matrix, overlap, **how)[1][:, :count]
            found[key] = _refined(matrix, overlap, states)
    energies, states = zip(*(found[key] for key in order), strict=True)
    return np.stack(energies), np.stack(states)


def _refined(matrix: np.ndarray, overlap: np.ndarray, states: np.ndarray):
    """Rayleigh quotients: their error is the square of the states' error."""
    norms = np.einsum("in,in->n", states, overlap @ states)
    states = states / np.sqrt(norms)
    # The first coefficient that is not noise decides the sign.
    large = np.argmax(np.abs(states) > 1e-8 * np.abs(states).max(axis=0), axis=0)
    states = states * np.sign(states[large, np.arange(states.shape[1])])
    return np.einsum("in,in->n", states, matrix @ states), states


def eigenbasis(
    H: Hamiltonian, states: int | None = None, energy_max: float | str | None = None
) -> EigenBasis:
    """The lowest `states` eigenstates of each l, or all up to `energy_max`, with both dipole forms.

    H is the atom without light on a `SphericalBasis` with one m:
    `zt.eigenbasis(zt.discretize(atom, basis), states=640)`.
    """
    basis, _ = channel_blocks(H)
    if basis.m == "all" or basis.radial.scaling is not None:
        raise Unsupported("an EigenBasis needs one m and a real radial coordinate")
    if states is not None and energy_max is not None:
        raise checks.InputError(
            "states", "must not be given together with energy_max, but both are given"
        )
    if states is not None:
        states = checks.integer("states", states, 1, basis.radial.n)
    energies, vectors = channel_states(H, states)
    sizes = (energies.shape[1],) * len(energies)
    if energy_max is not None:
        limit = float(checks.scalar("energy_max", energy_max, "energy"))
        sizes = tuple(int(k) for k in np.sum(energies <= limit, axis=1))
        if min(sizes) == 0:
            raise checks.InputError(
                "energy_max", f"must leave states in every l, but {limit:g} leaves none in one"
            )
        widest = max(sizes)
        energies, vectors = energies[:, :widest].copy(), vectors[:, :, :widest].copy()
        for channel, size in enumerate(sizes):
            energies[channel, size:] = 0.0
            vectors[channel, :, size:] = 0.0
    length, velocity = dipole_blocks(basis, vectors)
    return EigenBasis(
        energies,
        length,
        velocity,
        sizes=sizes,
        first=int(basis.l[0]),
        vectors=vectors,
        parent=basis,
    )


def dipole_blocks(basis: SphericalBasis, vectors: Any) -> tuple[np.ndarray, np.ndarray]:
    """⟨l,i| z |l+1,j⟩ and ⟨l,i| ∂_z |l+1,j⟩ of states given by their coefficients."""
    _, angular, slope = basis.direction(2)
    radial = basis.radial
    r = host_dense(radial.matrix(lambda r: r))
    derivative = host_dense(radial.matrix(1.0, 0, 1))
    inverse_r = host_dense(radial.matrix(lambda r: 1 / r))
    length, velocity = [], []
    for i in range(len(vectors) - 1):
        low, high = vectors[i], vectors[i + 1]
        length.append(angular[i, i + 1] * (low.T @ (r @ high)))
        gradient = angular[i, i + 1] * derivative + slope[i, i + 1] * inverse_r
        velocity.append(low.T @ (gradient @ high))
    n = vectors.shape[2]
    empty = np.zeros((0, n, n))
    return np.stack(length) if length else empty, np.stack(velocity) if velocity else empty


def lowest_of_all(H: Hamiltonian, n: int) -> tuple[np.ndarray, Any]:
    """The n lowest states over all channels, as arrays of the basis' shape."""
    basis, _ = channel_blocks(H)
    energies, vectors = channel_states(H, min(n, basis.radial.n))
    return _selected(basis, energies, vectors, np.argsort(energies, axis=None)[:n])


def nearest_of_all(H: Hamiltonian, n: int, near: float) -> tuple[np.ndarray, Any]:
    """The n states nearest to an energy over all channels, by shift-invert in each."""
    basis, operator = channel_blocks(H)
    overlap = sparse_bands(basis.radial.overlap)
    found = [
        nearest(sparse_bands(bands), overlap, min(n, basis.radial.n), near)
        for bands in np.asarray(operator.bands)
    ]
    energies, vectors = (np.stack(kind) for kind in zip(*found, strict=True))
    chosen = np.argsort(np.abs(energies - near), axis=None)[:n]
    return _selected(basis, energies, vectors, chosen[np.argsort(energies.ravel()[chosen])])


def _selected(basis: SphericalBasis, energies, vectors, chosen: np.ndarray):
    channel, index = np.unravel_index(chosen, energies.shape)
    states = np.zeros((len(chosen), *basis.shape))
    states[np.arange(len(chosen)), channel] = vectors[channel, :, index]
    return energies[channel, index], jnp.asarray(states)
