"""Stationary states of the Dirac equation, one κ at a time: H₀(κ) c = E S(κ) c.

The spectrum has no floor: positrons lie below −2c². "Lowest" means lowest of the electron's states,
those above the middle of the gap, −c².
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zitter import checks
from zitter.bases.spinor.blocks import SpinorBlocks
from zitter.bases.spinor.kinetic_balance import overlap_bands, polynomial
from zitter.linalg.bands import host_dense
from zitter.linalg.base import Operator, Unsupported

if TYPE_CHECKING:
    from zitter.bases.spinor.basis import SpinorBasis

HOW = "LAPACK, one κ at a time"


def stationary(
    basis: SpinorBasis, operator: Operator, n: int, near: float | None
) -> tuple[np.ndarray, Any, str] | None:
    """One κ at a time, where H keeps κ and μ."""
    if not basis.finds_states(operator):
        return None
    if near is not None:
        return *nearest_spinors(basis, operator, n, near), HOW
    return *lowest_electrons(basis, operator, n), HOW


def _matrices(operator: Operator) -> np.ndarray:
    """The coefficients of a Hamiltonian that keeps κ and μ."""
    if not isinstance(operator, SpinorBlocks):
        raise Unsupported("states of one κ need a Hamiltonian without light; use H.static")
    if operator.bounded_below:
        raise Unsupported("states of one κ need the kinetic energy: add Dirac() to the model")
    return np.asarray(operator.coefficients)


def kappa_states(
    basis: SpinorBasis, operator: Operator, kappa: int
) -> tuple[np.ndarray, np.ndarray]:
    """All energies of one κ, positrons first, and the states as columns (2n, states); cᵀSc = 1.

    The unknowns that this κ does not use are zero, so there may be fewer than 2n states. P is
    positive near the nucleus.
    """
    matrices = _matrices(operator)
    place = np.nonzero(basis.distinct_kappas == checks.integer("kappa", kappa))[0]
    if len(place) == 0:
        raise checks.InputError("kappa", f"must be in ±1 … ±{basis.kappa_max}, but is {kappa}")
    used = basis.mask[place[0]] > 0
    matrix, overlap = (
        host_dense(polynomial(np.asarray(coefficients), [kappa])[0])[np.ix_(used, used)]
        for coefficients in (matrices, overlap_bands(basis.radial, basis.c))
    )
    matrix = 0.5 * (matrix + matrix.T)
    # With unit diagonal S is well conditioned, however fine the knots are near the nucleus.
    scale = 1 / np.sqrt(np.diag(overlap))
    matrix, overlap = (scale[:, None] * m * scale for m in (matrix, overlap))
    _, vectors = scipy.linalg.eigh(matrix, overlap)
    # Rayleigh's quotient: its error is the square of the state's, and LAPACK's that of ‖H‖ ~ c/h.
    vectors = vectors / np.sqrt(np.einsum("in,in->n", vectors, overlap @ vectors))
    energies = np.einsum("in,in->n", vectors, matrix @ vectors)
    states = np.zeros((len(used), vectors.shape[1]))
    states[used] = scale[:, None] * vectors
    upper = states[0::2] if kappa < 0 else states[2::2]
    large = np.argmax(np.abs(upper) > 1e-8 * np.abs(upper).max(axis=0), axis=0)
    signs = np.sign(upper[large, np.arange(upper.shape[1])])
    order = np.argsort(energies)
    return energies[order], (states * signs)[:, order]


def lowest_electrons(basis: SpinorBasis, operator: Operator, n: int) -> tuple[np.ndarray, Any]:
    """The n lowest electron states over all channels, as arrays of the basis' shape.

    Among equal energies of one κ they come as μ = ½, −½, 3/2, …
    """
    found: list[tuple[float, int, np.ndarray]] = []
    for size in range(1, basis.kappa_max + 1):
        shell = [item for kappa in (-size, size) for item in _electrons(basis, operator, kappa, n)]
        found = sorted(found + shell, key=lambda item: _rank(basis, *item[:2]))[:n]
        # Energies rise with |κ|: once n states lie below those of this |κ|, no later one can.
        if len(found) == n and found[-1][0] <= min(item[0] for item in shell):
            break
    if len(found) < n:
        raise checks.InputError(
            "n", f"must be at most {len(found)}, the number of electron states here, but is {n}"
        )
    return _as_arrays(basis, found)


def nearest_spinors(
    basis: SpinorBasis, operator: Operator, n: int, near: float
) -> tuple[np.ndarray, Any]:
    """The n states nearest to an energy over all channels, positrons among them."""
    found: list[tuple[float, int, np.ndarray]] = []
    for kappa in basis.distinct_kappas:
        energies, vectors = kappa_states(basis, operator, int(kappa))
        for i in np.argsort(np.abs(energies - near))[:n]:
            channels = np.nonzero(basis.kappas == kappa)[0]
            found += [(float(energies[i]), int(channel), vectors[:, i]) for channel in channels]
    found = sorted(found, key=lambda item: abs(item[0] - near))[:n]
    return _as_arrays(basis, sorted(found, key=lambda item: _rank(basis, *item[:2])))


def named_state(
    basis: SpinorBasis, operator: Operator, l: int, below: int, m: int | None
) -> tuple[float, Any]:
    """j = l + ½, the upper level of a shell, and μ = ½."""
    if m is not None:
        raise checks.InputError("m", f"must be left out on a SpinorBasis (μ = 1/2), but is {m}")
    kappa = -(l + 1)
    if l >= basis.kappa_max:
        raise checks.InputError(
            "l", f"must be below kappa_max = {basis.kappa_max} of the basis, but is {l}"
        )
    energies, vectors = kappa_states(basis, operator, kappa)
    electrons = np.nonzero(energies > -(basis.c**2))[0]
    if below >= len(electrons):
        raise checks.InputError("n", f"must be at most {l + len(electrons)} on this basis")
    chosen = electrons[below]
    channel = np.nonzero((basis.kappas == kappa) & (basis.mus == 0.5))[0][0]
    found, states = _as_arrays(basis, [(float(energies[chosen]), channel, vectors[:, chosen])])
    return float(found[0]), states[0]


def _as_arrays(basis: SpinorBasis, found: list[tuple[float, int, np.ndarray]]):
    states = np.zeros((len(found), *basis.shape))
    for i, (_, channel, vector) in enumerate(found):
        states[i, channel] = vector
    return np.asarray([energy for energy, _, _ in found]), jnp.asarray(states)


def _rank(basis: SpinorBasis, energy: float, channel: int) -> tuple[float, ...]:
    kappa, mu = basis.kappas[channel], basis.mus[channel]
    return energy, abs(kappa), kappa, abs(mu), -mu


def _electrons(
    basis: SpinorBasis, operator: Operator, kappa: int, n: int
) -> list[tuple[float, int, np.ndarray]]:
    """(energy, channel, coefficients) of the n lowest electron states of one κ, for every μ."""
    energies, vectors = kappa_states(basis, operator, kappa)
    return [
        (float(energies[i]), int(channel), vectors[:, i])
        for i in np.nonzero(energies > -(basis.c**2))[0][:n]
        for channel in np.nonzero(basis.kappas == kappa)[0]
    ]
