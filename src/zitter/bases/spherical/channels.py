"""A Hamiltonian that does not couple channels: its radial matrices, and their eigenstates

H_l c = E S c      with banded H_l and S, one problem for each l
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zitter import checks
from zitter.bases.bsplines import RadialBSplines
from zitter.linalg.bands import host_dense, lapack_upper, sparse_bands
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.blocks import RadialBlocks
from zitter.linalg.shift_invert import nearest

if TYPE_CHECKING:
    from zitter.bases.eigen.basis import EigenBasis
    from zitter.bases.spherical.basis import SphericalBasis


@dataclasses.dataclass(frozen=True)
class Channels:
    """The rows of coefficients of a `SphericalBasis`, and H₀ in each where there is one."""

    basis: SphericalBasis
    matrices: np.ndarray | None  # bands of H_l, (channels, 2p + 1, n)

    @property
    def radial(self) -> RadialBSplines:
        """The functions P(r) are expanded in; their overlap has bands `radial.overlap`."""
        return self.basis.radial

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """(l, m) of each channel."""
        return self.basis.channels

    @property
    def l(self) -> np.ndarray:  # noqa: E743
        return self.basis.l

    @property
    def one_m(self) -> bool:
        """Whether channels differ in l only, so that neighbors in l are neighboring rows."""
        return self.basis.m != "all"

    @property
    def cosine(self) -> np.ndarray:
        """⟨l m| cos θ |l′ m′⟩ between channels."""
        return self.basis.direction(2)[1]

    @property
    def bands(self) -> np.ndarray:
        if self.matrices is None:
            raise Unsupported("radial matrices need a Hamiltonian")
        return self.matrices

    def along_z(self, lmax: int) -> SphericalBasis:
        """The basis on the same radial functions with all l up to `lmax`, at m = 0."""
        from zitter.bases.spherical.basis import SphericalBasis  # which itself has channels

        return SphericalBasis(self.radial, lmax)

    def charge(self, radius: float | None = None) -> float:
        """−rV(r) at a radius, by default at the end of the box: −⟨B|V|B⟩/⟨B|1/r|B⟩ of the nearest
        spline. What short-range parts leave is no charge: whole numbers within 1e-3.
        """
        radial, l = self.radial, int(self.l[0])
        place = -1 if radius is None else int(np.argmin(np.abs(radial.centers - radius)))
        centrifugal = radial.matrix(lambda r: 0.5 * l * (l + 1) / r**2)
        free = 0.5 * radial.matrix(1.0, 1, 1) + centrifugal
        middle = radial.degree
        potential = np.asarray(self.bands[0] - free)[middle, place]
        found = -float(np.real(potential / radial.matrix(lambda r: 1 / r)[middle, place]))
        return float(round(found)) if abs(found - round(found)) < 1e-3 else found

    def states(self, count: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The lowest `count` (default: all) energies (channels, count) and states
        (channels, n, count) of each channel, with cᵀSc = 1 and P(r) > 0 near the origin.
        """
        n = self.radial.n
        count = n if count is None else checks.integer("count", count, 1, n)
        overlap = host_dense(self.radial.overlap)
        found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for rows in self._alike():
            found |= dict.fromkeys(rows, _lowest_of(self.bands[rows[0]], overlap, count))
        energies, states = zip(*(found[row] for row in sorted(found)), strict=True)
        return np.stack(energies), np.stack(states)

    def lowest(self, n: int) -> tuple[np.ndarray, Any]:
        """The n lowest states over all channels, as arrays of the basis' shape.

        A channel where H_l − ES is positive, E the highest of n energies at hand, has none of them:
        a banded Cholesky factorization tells, in a thousandth of the time of its eigenstates.
        """
        count = min(n, self.radial.n)
        energies = np.full((len(self.bands), count), np.inf)
        vectors: dict[int, np.ndarray] = {}
        overlap = host_dense(self.radial.overlap)
        for rows in self._alike():
            highest = np.sort(energies, axis=None)[min(n, energies.size) - 1]
            if self._all_above(rows[0], highest):
                continue
            energies[rows], states = _lowest_of(self.bands[rows[0]], overlap, count)
            vectors |= dict.fromkeys(rows, states)
        return self._selected(energies, vectors, np.argsort(energies, axis=None)[:n])

    def _alike(self) -> list[list[int]]:
        """Channels by their matrix, which those share that differ in m only."""
        found: dict[bytes, list[int]] = {}
        for row, bands in enumerate(self.bands):
            found.setdefault(bands.tobytes(), []).append(row)
        return list(found.values())

    def _all_above(self, row: int, energy: float) -> bool:
        """Whether all states of a channel lie above an energy, and not just within rounding."""
        if not np.isfinite(energy):
            return False
        shifted = self.bands[row] - (energy + 1e-9 * (1 + abs(energy))) * self.radial.overlap
        try:
            scipy.linalg.cholesky_banded(lapack_upper(shifted))
        except scipy.linalg.LinAlgError:
            return False
        return True

    def nearest(self, n: int, near: float) -> tuple[np.ndarray, Any]:
        """The n states nearest to an energy over all channels, by shift-invert in each."""
        overlap = sparse_bands(self.radial.overlap)
        found = [
            nearest(sparse_bands(bands), overlap, min(n, self.radial.n), near)
            for bands in self.bands
        ]
        energies = np.stack([energy for energy, _ in found])
        chosen = np.argsort(np.abs(energies - near), axis=None)[:n]
        chosen = chosen[np.argsort(energies.ravel()[chosen])]
        return self._selected(energies, [vectors for _, vectors in found], chosen)

    def _selected(self, energies, vectors, chosen: np.ndarray) -> tuple[np.ndarray, Any]:
        """`vectors` of a channel (n, count), by its number."""
        channel, index = np.unravel_index(chosen, energies.shape)
        states = np.zeros((len(chosen), *self.basis.shape))
        for state, row, column in zip(states, channel, index, strict=True):
            state[row] = vectors[row][:, column]
        return energies[channel, index], jnp.asarray(states)

    def eigenbasis(
        self,
        states: int | None,
        energy_max: float | str | None,
        valence: tuple[int, int] | None = None,
    ) -> EigenBasis:
        """The basis of the lowest `states` eigenstates of each l, or of all up to `energy_max`."""
        # A basis of eigenstates knows the one it comes from, so that is imported first.
        from zitter.bases.eigen.making import eigenbasis

        return eigenbasis(self, states, energy_max, valence)


def channels_of(basis: SphericalBasis, operator: Operator | None) -> Channels:
    if operator is None:
        return Channels(basis, None)
    if not isinstance(operator, RadialBlocks):
        raise Unsupported("radial channels need a Hamiltonian without light; use H.static")
    return Channels(basis, np.asarray(operator.bands))


def stationary(
    basis: SphericalBasis, operator: Operator, n: int, near: float | None
) -> tuple[np.ndarray, Any, str] | None:
    """One channel at a time, where none are coupled."""
    if not basis.finds_states(operator):
        return None
    channels = channels_of(basis, operator)
    if near is None:
        return *channels.lowest(n), "LAPACK, one channel at a time"
    return *channels.nearest(n, near), f"shift-invert near {near:g} hartree"


def named_state(
    basis: SphericalBasis, operator: Operator, l: int, below: int, m: int | None
) -> tuple[float, Any]:
    """By solving in its own channel only."""
    row = basis.row(l, m)
    if below >= basis.radial.n:
        raise checks.InputError("n", f"must be at most {l + basis.radial.n} on this basis")
    channels = channels_of(basis, operator)
    alone = dataclasses.replace(channels, matrices=channels.bands[row : row + 1])
    energies, vectors = alone.states(below + 1)
    psi = np.zeros(basis.shape)
    psi[row] = vectors[0, :, below]
    return float(energies[0, below]), jnp.asarray(psi)


def _lowest_of(bands: np.ndarray, overlap: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(energies, states (n, count)) of one matrix."""
    # LAPACK finds all states by divide and conquer faster than an eighth of them one by one.
    few = 8 * count < len(overlap)
    how: dict[str, Any] = {"subset_by_index": (0, count - 1)} if few else {"driver": "gvd"}
    matrix = host_dense(bands)
    matrix = 0.5 * (matrix + matrix.T)
    states = scipy.linalg.eigh(matrix, overlap, **how)[1][:, :count]
    return _refined(matrix, overlap, states)


def _refined(matrix: np.ndarray, overlap: np.ndarray, states: np.ndarray):
    """Rayleigh quotients: their error is the square of the states' error."""
    norms = np.einsum("in,in->n", states, overlap @ states)
    states = states / np.sqrt(norms)
    # The first coefficient that is not noise decides the sign.
    large = np.argmax(np.abs(states) > 1e-8 * np.abs(states).max(axis=0), axis=0)
    states = states * np.sign(states[large, np.arange(states.shape[1])])
    return np.einsum("in,in->n", states, matrix @ states), states
