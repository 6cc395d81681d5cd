"""Spinor states among plane waves.

ψ̃(p) = √(2/π) Σ_κμ ((−i)^l P̃(p) X_κμ(p̂), i(−i)^l̄ Q̃(p) X_−κμ(p̂)),   P̃(p) = ∫ r P(r) j_l(pr) dr
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.special import spherical_jn

from zitter.bases import angular
from zitter.bases.angular import spinor_table
from zitter.bases.plane_waves import PlaneWaves
from zitter.bases.spinor.basis import SpinorBasis
from zitter.bases.spinor.kinetic_balance import doublets


class SpinorWaves(PlaneWaves):
    """ψ̃ of a state on a `SpinorBasis`."""

    def __init__(self, basis: SpinorBasis, psi: Any):
        self.basis, self.psi, self.c = basis, jnp.asarray(basis.checked(psi)), basis.c

    def at(self, q):
        """Each length |q| is transformed once."""
        q = np.asarray(q, float)
        flat = q.reshape(-1, 3)
        size = np.linalg.norm(flat, axis=-1)
        lengths, place = np.unique(size, return_inverse=True)
        occupied = np.any(np.asarray(self.psi) != 0, axis=1)
        cosine = np.divide(flat[:, 2], size, out=np.ones_like(size), where=size > 0)
        azimuth = np.arctan2(flat[:, 1], flat[:, 0])
        halves = []
        mus = self.basis.mus[occupied]
        for half, sign in zip(self.radial_transforms(lengths), (1, -1), strict=True):
            table = spinor_table(sign * self.basis.kappas[occupied], mus, cosine)
            for spin, shift in enumerate((-0.5, 0.5)):
                turn = np.exp(1j * (mus[:, None] + shift) * azimuth) / np.sqrt(2 * np.pi)
                halves.append(np.sum(half[occupied][:, place] * table[spin] * turn, axis=0))
        return np.stack(halves, axis=-1).reshape(*q.shape[:-1], 4)

    def on_spheres(self, momenta, cosines, azimuths):
        basis = self.basis
        m = np.arange(-round(basis.mu_max + 0.5), round(basis.mu_max + 0.5) + 1)
        waves = np.exp(1j * m[:, None] * azimuths) / np.sqrt(2 * np.pi)  # (m, φ)
        halves = []
        for radial, sign in zip(self.radial_transforms(momenta), (1, -1), strict=True):
            table = spinor_table(sign * basis.kappas, basis.mus, cosines)  # (spin, channel, θ)
            for spin, shift in enumerate((-0.5, 0.5)):
                orders = np.rint(basis.mus + shift).astype(int)
                sums = np.zeros((len(momenta), len(cosines), len(m)), complex)
                for i, order in enumerate(m):
                    rows = orders == order
                    sums[:, :, i] = radial[rows].T @ table[spin, rows]
                halves.append(sums @ waves)
        return np.stack(halves, axis=-1)

    def radial_transforms(self, momenta: Any) -> tuple[np.ndarray, np.ndarray]:
        """√(2/π)(−i)^l P̃ and √(2/π) i(−i)^l̄ Q̃ of every channel, (channels, momenta)."""
        basis, momenta = self.basis, np.asarray(momenta, float)
        widest = float(np.max(np.diff(basis.radial.knots)))
        # Enough points for the splines, and for half a wave of the fastest electron each.
        points = basis.radial.degree + 4 + int(np.ceil(widest * momenta.max() / 2))
        table = doublets(basis.radial, basis.c, points)
        r, weights = table.r.ravel(), table.weights.ravel()
        pairs = zip(
            basis.radial_values(self.psi, r), (basis.kappas, -basis.kappas), (1, 1j), strict=True
        )
        result = []
        for values, kappas, phase in pairs:
            values, l = np.asarray(values) * (weights * r), angular.orbital(kappas)
            out = np.zeros((len(l), len(momenta)), complex)
            for order in np.unique(l):
                waves = spherical_jn(order, r[:, None] * momenta)
                rows = l == order
                factor = np.sqrt(2 / np.pi) * phase * (-1j) ** int(order)
                out[rows] = factor * (values[rows] @ waves)
            result.append(out)
        return result[0], result[1]
