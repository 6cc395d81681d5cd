"""Continuum functions at any energy, normalized per unit energy, with their phases.

    P_El(r) → √(2/πk) sin(kr − lπ/2 + (Z/k) ln 2kr + σ_l + δ_l),    ⟨P_E|P_E′⟩ = δ(E − E′)

σ_l = arg Γ(l + 1 − iZ/k) is the Coulomb phase of the residual charge Z, δ_l what the short-range
part of the potential adds. The radial equation is solved on the splines up to a radius near the end
of the box, and normalized there by the amplitude ζ^{-1/2} of the second-order WKB form
(Seaton & Peach, Proc. Phys. Soc. 79, 1296 (1962)), or by the Coulomb function where the centrifugal
barrier reaches that far.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.linalg
from scipy.special import loggamma

from zitter import checks
from zitter.bases.bsplines import RadialBSplines
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.bands import lapack_bands
from zitter.spectra.coulomb_waves import coulomb_waves
from zitter.spectra.quality import channels_of, check_whole

MOST_WAVES = 1e6  # radians to the edge of a box: far more than splines can follow


def coulomb_phase(l: Any, energy: Any, charge: float = 1.0) -> np.ndarray:
    """σ_l = arg Γ(l + 1 − iZ/k)."""
    energy, l = (checks.array(name, x) for name, x in (("energy", energy), ("l", l)))
    if np.any(energy <= 0):
        raise checks.InputError("energy", "must be positive, but is not at all of them")
    if np.any(l < 0):
        raise checks.InputError("l", "must not be negative, but is")
    k = np.sqrt(2 * np.asarray(energy, float))
    return np.imag(loggamma(np.asarray(l) + 1 - 1j * charge / k))


class Continuum:
    """Continuum functions of one channel: banded H_l − E with the last spline left free.

    The spline that does not vanish at rmax gets the coefficient 1; the equation against all others
    determines them. There the potential is taken as −Z/r.
    """

    def __init__(self, radial: RadialBSplines, bands: Any, l: int, charge: float = 1.0):
        self.radial, self.l, self.charge = radial, l, charge
        self.opened = radial.opened()
        p = radial.degree
        self.matrix, self.overlap = lapack_bands(bands), lapack_bands(radial.overlap)
        # The column that belongs to the free spline, from its p neighbours.
        energy = lapack_bands(_pure_coulomb(self.opened, l, charge))[:p, -1]
        self.column, self.column_overlap = energy, lapack_bands(self.opened.overlap)[:p, -1]
        self.edge = float(np.unique(radial.knots)[-2])
        self.values = [self.opened.evaluate(self.edge, d)[0] for d in (0, 1)]

    def at(
        self, energy: float, wave: tuple[float, float] | None = None
    ) -> tuple[np.ndarray, float]:
        """(coefficients of P_El, its full phase near rmax modulo 2π).

        Where the barrier of l reaches beyond the box, `wave` has the Coulomb function and its slope
        near rmax: no short-range potential is felt there, and its phase is left out.
        """
        p, n = self.radial.degree, self.radial.n
        source = np.zeros(n)
        source[-p:] = -(self.column - energy * self.column_overlap)
        c = scipy.linalg.solve_banded((p, p), self.matrix - energy * self.overlap, source)
        c = np.append(c, 1.0)
        # P > 0 up to its first zero; near the nucleus coefficients are rounding errors for l > 0.
        large = int(np.argmax(np.abs(c) > 1e-3 * np.abs(c).max()))
        c = c * np.sign(c[large])
        value, slope = (float(row @ c) for row in self.values)
        if wave is not None and not self.beyond_barrier(energy):
            scale = (wave[0] * value + wave[1] * slope) / (value**2 + slope**2)
            return c[:n] * scale, 0.0
        zeta, log_slope = wkb_wave_number(self.edge, self.l, energy, self.charge)
        sine = value * np.sqrt(zeta)
        cosine = (slope + 0.5 * value * log_slope) / np.sqrt(zeta)
        c = c * np.sqrt(2 / np.pi) / np.hypot(sine, cosine)
        return c[:n], float(np.arctan2(sine, cosine))

    def beyond_barrier(self, energy: float) -> bool:
        """Whether the WKB form holds near rmax: q ≫ |q′|^{2/3}, four widths of an Airy function."""
        r, l = self.edge, self.l
        q = 2 * energy + 2 * self.charge / r - l * (l + 1) / r**2
        slope = abs(2 * l * (l + 1) / r**3 - 2 * self.charge / r**2)
        return q > 4 * slope ** (2 / 3)


def wkb_wave_number(r: float, l: int, energy: float, charge: float) -> tuple[float, float]:
    """ζ(r) = φ′ and ζ′/ζ, with ζ² = q − q″/4q + 5q′²/16q², q = 2E + 2Z/r − l(l+1)/r²."""

    def square(r):
        q = 2 * energy + 2 * charge / r - l * (l + 1) / r**2
        dq = -2 * charge / r**2 + 2 * l * (l + 1) / r**3
        ddq = 4 * charge / r**3 - 6 * l * (l + 1) / r**4
        return q - ddq / (4 * q) + 5 * dq**2 / (16 * q**2)

    if not 2 * energy + 2 * charge / r - l * (l + 1) / r**2 > 0:
        raise checks.InputError(
            "energies",
            f"must let the electron reach r = {r:.4g} over the centrifugal barrier of l = {l}, "
            f"but {energy:.3g} hartree does not: take a larger box",
        )
    here, h = square(r), 1e-4 * r
    slope = (square(r + h) - square(r - h)) / (2 * h)
    return float(np.sqrt(here)), float(slope / (2 * here))


def amplitudes(
    atom: Hamiltonian, psi: Any, energies: Any, charge: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """a_l(E) = ⟨P_El|ψ⟩ (channels, energies), and the phases σ_l + δ_l of the scattering states.

    Without `charge` it is that of the atom's potential at rmax.
    """
    channels = channels_of(atom)
    radial = channels.radial
    energies = np.asarray(checks.array("energies", energies, (None,)), float)
    if np.any(energies <= 0):
        raise checks.InputError("energies", "must be positive, but are not all")
    edge = float(np.unique(radial.knots)[-2])
    most = 0.5 * (MOST_WAVES / edge) ** 2
    if np.any(energies > most):
        raise checks.InputError(
            "energies",
            f"must be at most {most:.3g} hartree in a box of {edge:.4g} bohr, but reach "
            f"{energies.max():.3g}",
        )
    check_whole(atom, psi)
    left: float = channels.charge() if charge is None else charge
    image = np.asarray(atom.basis.overlap(jnp.asarray(psi)))
    found = np.zeros((len(image), len(energies)), complex)
    phases = np.zeros((len(image), len(energies)))
    k = np.sqrt(2 * energies)
    F, slope = coulomb_waves(int(channels.l.max()), -max(left, 0.0) / k, k * edge)
    F, slope = np.sqrt(2 / (np.pi * k)) * F, np.sqrt(2 * k / np.pi) * slope
    for l in np.unique(channels.l):
        rows = np.nonzero(channels.l == l)[0]  # those that differ in m only share their functions
        channel = Continuum(radial, channels.bands[rows[0]], int(l), left)
        bare = Continuum(radial, _pure_coulomb(radial, int(l), left), int(l), left)
        for e, energy in enumerate(energies):
            wave = (float(F[l, e]), float(slope[l, e]))
            state, phase = channel.at(float(energy), wave)
            _, reference = bare.at(float(energy), wave)
            found[rows, e] = image[rows] @ state
            phases[rows, e] = phase - reference + coulomb_phase(l, energy, left)
    return found, phases


def _pure_coulomb(radial: RadialBSplines, l: int, charge: float):
    bands = 0.5 * radial.matrix(1.0, 1, 1)
    return bands + radial.matrix(lambda r: 0.5 * l * (l + 1) / r**2 - charge / r)
