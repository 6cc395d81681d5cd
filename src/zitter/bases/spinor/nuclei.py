"""Whether a spinor basis can hold the lowest state of a nucleus."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zitter import checks
from zitter.bases.bsplines import RadialBSplines
from zitter.bases.edges import SmallBoxWarning
from zitter.bases.spinor.kinetic_balance import (
    dirac_bands,
    doublets,
    overlap_bands,
    potential_bands,
)
from zitter.keywords import caller
from zitter.linalg.bands import host_dense, host_product, lapack_upper
from zitter.linalg.base import total

if TYPE_CHECKING:
    from zitter.bases.spinor.basis import SpinorBasis

WORTH_A_WARNING = 1e-4  # relative error of 1s½


class CoarseSplinesWarning(UserWarning):
    """The splines are too coarse near the nucleus."""


def check(
    basis: SpinorBasis, Z: float, rms: float | None, potential: Callable[[Any], Any] | None
) -> None:
    """Refuse a point charge without a lowest state, and warn where the splines cannot hold that
    state, around a point or a nucleus of finite size with its potential."""
    if rms is not None and potential is not None:
        size = float(rms)
        _warn_if_wrong(
            basis, Z, 0.01 * size,
            lambda radial: finite_nucleus_error(radial, basis.c, Z, size, potential),
        )  # fmt: skip
        return
    if basis.c <= Z:
        raise checks.InputError(
            "Z",
            f"must be below c = {basis.c:g} for a point nucleus, but is {Z:g}; a nucleus of finite "
            "size (UniformNucleus, FermiNucleus) may have more",
        )
    if Z > 0:
        _warn_if_wrong(basis, Z, 1e-6 / Z, lambda radial: ground_state_error(radial, basis.c, Z))


def _warn_if_wrong(
    basis: SpinorBasis, Z: float, first: float, error_on: Callable[[RadialBSplines], float]
) -> None:
    """Where 1s½ is wrong, tell whether the box is to blame: then no splines in it would do."""
    error, rmax = error_on(basis.radial), basis.radial.rmax
    if error <= WORTH_A_WARNING:
        return
    fine = RadialBSplines(100, 7, rmax, "exponential", first=min(first, 1e-3 * rmax))
    if error_on(fine) > WORTH_A_WARNING:
        kind: type[UserWarning] = SmallBoxWarning
        text = (
            f"rmax = {rmax:g} is too small for Z = {Z:g}: 1s½ reaches beyond it; take "
            f"{10 / Z:.2g} or above"
        )
    else:
        kind = CoarseSplinesWarning
        text = (
            f"{basis.radial.n} splines to rmax = {rmax:g} are too few for Z = {Z:g}: the energy of "
            f"1s½ is wrong by {error:.1e} of itself; take more of them, or knots = "
            f'"exponential" with first = {1e-3 / Z:.1g} or below'
        )
    warnings.warn(text, kind, stacklevel=caller())


def ground_state_error(radial: RadialBSplines, c: float, Z: float) -> float:
    """|E/E_1s − 1| with E the mean energy of the spline closest to the exact 1s½,

        P = r^γ e^{−Zr},   Q = −(c/Z)(1 − γ) P,   γ² = 1 − Z²/c²

    at the cost of one banded solve.
    """
    gamma = np.sqrt(1 - (Z / c) ** 2)

    def exact(r):
        P = r**gamma * np.exp(-Z * r)
        return P, -c / Z * (1 - gamma) * P

    energy = _energy_of_closest(radial, c, exact, lambda r: -Z / r)
    return abs(energy / (-(Z**2) / (1 + gamma)) - 1)  # E = c²(γ − 1)


def finite_nucleus_error(
    radial: RadialBSplines, c: float, Z: float, size: float, potential: Callable[[Any], Any]
) -> float:
    """The same with the 1s½ of splines that resolve the nucleus and end where 1s½ is over.

    100 of them, from a hundredth of the nuclear radius to 40/Z: the level is right to 1e-8.
    """
    from zitter.bases.spinor.basis import SpinorBasis  # of which this module is a part

    reference = RadialBSplines(100, 7, 40 / Z, "exponential", first=0.01 * size)
    basis = SpinorBasis(reference, 1, 0.5, c)
    H, overlap = (host_dense(m) for m in _matrices(reference, c, potential))
    used = np.nonzero(basis.mask[list(basis.distinct_kappas).index(-1)] > 0)[0]
    H, overlap = (m[np.ix_(used, used)] for m in (H, overlap))
    scale = 1 / np.sqrt(np.diag(overlap))
    energies, vectors = scipy.linalg.eigh(
        scale[:, None] * H * scale, scale[:, None] * overlap * scale
    )
    first = int(np.searchsorted(energies, -2 * c**2))
    state = np.zeros(basis.shape)
    state[basis.channel(-1, 0.5), used] = scale * vectors[:, first]

    def exact(r):
        inside = np.minimum(r, reference.rmax)  # where both vanish
        values = basis.radial_values(jnp.asarray(state), inside.ravel())
        row = basis.channel(-1, 0.5)
        return tuple(np.asarray(v)[row].reshape(r.shape) for v in values)

    return abs(_energy_of_closest(radial, c, exact, potential) / energies[first] - 1)


def _energy_of_closest(
    radial: RadialBSplines,
    c: float,
    exact: Callable[[np.ndarray], tuple[np.ndarray, ...]],
    potential: Callable[[Any], Any],
) -> float:
    """The mean energy of the spline closest to (P, Q) of κ = −1."""
    d = doublets(radial, c, radial.degree + 4)
    P, Q = exact(d.r)
    local = total(
        np.einsum("jq,jqab->jab", d.weights * f, table[0] - table[1])
        for f, table in ((P, d.P), (Q, d.Q))
    )
    moments = np.zeros((len(d.r) + radial.degree, 2))
    for a in range(radial.degree + 1):
        np.add.at(moments, np.arange(len(d.r)) + a, local[:, a])
    moments = moments.reshape(-1)[2:-4]
    H, overlap = _matrices(radial, c, potential)
    vector = scipy.linalg.solveh_banded(lapack_upper(overlap), moments)
    return float(vector @ host_product(H, vector) / (vector @ host_product(overlap, vector)))


def _matrices(
    radial: RadialBSplines, c: float, potential: Callable[[Any], Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Bands of H and S for κ = −1."""
    r = doublets(radial, c, radial.degree + 4).r
    powers = [(-1) ** k for k in range(4)]
    overlap = total(p * s for p, s in zip(powers, overlap_bands(radial, c), strict=False))
    H = dirac_bands(radial, c).copy()
    H[:3] += potential_bands(radial, c, np.asarray(potential(r)))
    return total(p * h for p, h in zip(powers, H, strict=True)), overlap
