"""The basis made of an atom's eigenstates: their energies and dipole elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import checks, runtime
from zitter.bases.eigen.basis import EigenBasis
from zitter.bases.spherical.basis import SphericalBasis
from zitter.linalg.bands import host_dense
from zitter.linalg.base import Unsupported

if TYPE_CHECKING:
    from zitter.bases.spherical.channels import Channels


def eigenbasis(
    channels: Channels,
    states: int | None,
    energy_max: float | str | None,
    valence: tuple[int, int] | None = None,
) -> EigenBasis:
    """The lowest `states` of each l, or all up to `energy_max`, with both dipole forms."""
    basis = channels.basis
    if not channels.one_m or basis.complex_scaled:
        raise Unsupported("an EigenBasis needs one m and a real radial coordinate")
    if states is not None and energy_max is not None:
        raise checks.InputError(
            "states", "must not be given together with energy_max, but both are given"
        )
    if states is not None:
        states = checks.integer("states", states, 1, basis.radial.n)
    energies, vectors = map(runtime.of_first, channels.states(states))
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
        valence=valence,
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
