"""Momentum distributions of states on a `SpinorBasis`, by projection on plane waves.

    ψ̃(p) = (2π)^{−3/2} ∫ e^{−ip·r} ψ d³r
         = √(2/π) Σ_κμ ((−i)^l P̃(p) X_κμ(p̂), i(−i)^l̄ Q̃(p) X_−κμ(p̂)),   P̃(p) = ∫ r P(r) j_l(pr) dr

d³P/dp³ = Σ_spin |u†ψ̃|² with the spinors u of free electrons. Bound states are to be left out
beforehand (`free_part`); what Coulomb's tail still does to the waves falls off with the flight.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.special import spherical_jn

from zitter import checks
from zitter.bases import angular
from zitter.bases.angular import spinor_table
from zitter.bases.spinor.basis import SpinorBasis
from zitter.bases.spinor.kinetic_balance import doublets
from zitter.spectra.momentum_distribution import MomentumDistribution, MomentumGrid
from zitter.spectra.relativistic_sfa import BoundState, plane_wave_components


def momentum_distribution(basis: SpinorBasis, psi: Any, grid: MomentumGrid) -> MomentumDistribution:
    """d³P/dp³ of ψ on the points of the grid, spins summed."""
    checks.instance("basis", basis, SpinorBasis)
    checks.instance("grid", grid, MomentumGrid)
    upper, lower = radial_transforms(basis, psi, grid.momenta)
    m = np.arange(-round(basis.mu_max + 0.5), round(basis.mu_max + 0.5) + 1)
    waves = np.exp(1j * m[:, None] * grid.azimuths) / np.sqrt(2 * np.pi)  # (m, φ)
    halves = []
    for radial, kappas in ((upper, basis.kappas), (lower, -basis.kappas)):
        table = spinor_table(kappas, basis.mus, grid.cosines)  # (spin, channel, θ)
        for spin, shift in enumerate((-0.5, 0.5)):
            orders = np.rint(basis.mus + shift).astype(int)
            sums = np.zeros((len(grid.momenta), len(grid.cosines), len(m)), complex)
            for i, order in enumerate(m):
                rows = orders == order
                sums[:, :, i] = radial[rows].T @ table[spin, rows]
            halves.append(sums @ waves)
    spinors = np.stack(halves, axis=-1)
    amplitudes = plane_wave_components(grid.vectors, spinors, basis.c)
    return MomentumDistribution(grid, np.sum(np.abs(amplitudes) ** 2, axis=-1))


def radial_transforms(basis: SpinorBasis, psi: Any, momenta: Any) -> tuple[np.ndarray, np.ndarray]:
    """√(2/π)(−i)^l P̃ and √(2/π) i(−i)^l̄ Q̃ of every channel, (channels, momenta)."""
    psi = jnp.asarray(psi)
    if psi.shape != basis.shape:
        raise checks.InputError(
            "psi", f"must have the shape of the basis {basis.shape}, but has {psi.shape}"
        )
    momenta = np.asarray(momenta, float)
    widest = float(np.max(np.diff(basis.radial.knots)))
    # Enough points for the splines, and for half a wave of the fastest electron each.
    points = basis.radial.degree + 4 + int(np.ceil(widest * momenta.max() / 2))
    table = doublets(basis.radial, basis.c, points)
    r, weights = table.r.ravel(), table.weights.ravel()
    result = []
    pairs = zip(basis.radial_values(psi, r), (basis.kappas, -basis.kappas), (1, 1j), strict=True)
    for values, kappas, phase in pairs:
        values, l = np.asarray(values) * (weights * r), angular.orbital(kappas)
        out = np.zeros((len(l), len(momenta)), complex)
        for order in np.unique(l):
            waves = spherical_jn(order, r[:, None] * momenta)
            rows = l == order
            out[rows] = np.sqrt(2 / np.pi) * phase * (-1j) ** int(order) * (values[rows] @ waves)
        result.append(out)
    return result[0], result[1]


class SplineState(BoundState):
    """A stationary state on a `SpinorBasis` as the start of the strong-field approximation."""

    def __init__(self, basis: SpinorBasis, psi: Any, energy: float):
        self.basis, self.psi = basis, psi
        self.energy, self.c = float(energy), basis.c

    def transformed(self, q: np.ndarray) -> np.ndarray:
        """φ̃(q), each length |q| transformed once."""
        q = np.asarray(q, float)
        flat = q.reshape(-1, 3)
        size = np.linalg.norm(flat, axis=-1)
        lengths, place = np.unique(size, return_inverse=True)
        occupied = np.any(np.asarray(self.psi) != 0, axis=1)
        cosine = np.divide(flat[:, 2], size, out=np.ones_like(size), where=size > 0)
        azimuth = np.arctan2(flat[:, 1], flat[:, 0])
        halves = []
        radial = radial_transforms(self.basis, self.psi, lengths)
        mus = self.basis.mus[occupied]
        for half, sign in zip(radial, (1, -1), strict=True):
            table = spinor_table(sign * self.basis.kappas[occupied], mus, cosine)
            for spin, shift in enumerate((-0.5, 0.5)):
                turn = np.exp(1j * (mus[:, None] + shift) * azimuth) / np.sqrt(2 * np.pi)
                halves.append(np.sum(half[occupied][:, place] * table[spin] * turn, axis=0))
        return np.stack(halves, axis=-1).reshape(*q.shape[:-1], 4)
