"""Energy spectra without eigenstates: the window operator.

    W(E) = γ^{2ⁿ} / ((H₀ − E)^{2ⁿ} + γ^{2ⁿ}),    dP/dE = ⟨ψ|W(E)|ψ⟩ / C,  C = γ π/2ⁿ⁻¹ / sin(π/2ⁿ)

W is a product of resolvents 1/(H₀ − E − γ e^{iθ}) at the 2ⁿ poles, each one banded solve (Schafer &
Kulander, Phys. Rev. A 42, 5794 (1990); Schafer, Comput. Phys. Commun. 63, 427 (1991)).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.linalg

from zitter import checks
from zitter.bases.bsplines import RadialBSplines
from zitter.bases.edges import ConvergenceWarning
from zitter.hamiltonian import Hamiltonian
from zitter.keywords import caller
from zitter.linalg.bands import host_product, lapack_bands
from zitter.spectra.photoelectron import PhotoelectronSpectrum
from zitter.spectra.quality import channels_of, check_lmax

RIPPLE = 0.02  # of the spectrum: what the box's levels may leave of themselves


def window_spectrum(
    atom: Hamiltonian, psi: Any, energies: Any, width: float | str, order: int = 3
) -> PhotoelectronSpectrum:
    """dP/dE per channel with resolution `width` γ; `order` n makes the window flatter.

    `atom` is the field-free Hamiltonian on the `SphericalBasis` of ψ. Warns where `width` does not
    blur the levels of the box.
    """
    channels = channels_of(atom)
    energies = checks.array("energies", energies, (None,))
    gamma = float(checks.positive("width", width, "energy"))
    poles = 2 ** checks.integer("order", order, 1, 6)
    check_lmax(atom.basis, psi)
    _check_width(channels.radial, float(np.max(energies)), gamma, poles)
    psi, image = np.asarray(psi), np.asarray(atom.basis.overlap(psi))
    metric = channels.radial.overlap
    overlap = lapack_bands(metric)
    # The upper half of the poles is enough: ⟨ψ|W|ψ⟩ = γ^{2ⁿ} ‖Π_upper (H₀ − E − p)⁻¹ ψ‖².
    shifts = gamma * np.exp(1j * np.pi * (2 * np.arange(poles // 2) + 1) / poles)
    area = 2 * gamma * (np.pi / poles) / np.sin(np.pi / poles)
    per_l = np.zeros((len(psi), len(energies)))
    half = channels.radial.degree
    for c, bands in enumerate(channels.bands):
        matrix = lapack_bands(bands)
        for e, energy in enumerate(energies):
            image_now, state = image[c].astype(complex), psi[c]
            for shift in shifts:
                shifted = matrix - (energy + shift) * overlap
                state = scipy.linalg.solve_banded((half, half), shifted, image_now)
                image_now = host_product(metric, state)
            per_l[c, e] = gamma**poles * np.real(np.vdot(state, image_now)) / area
    m = None if channels.one_m else np.asarray([m for _, m in channels.pairs])
    return PhotoelectronSpectrum(energies, per_l, channels.l, m)


def _check_width(radial: RadialBSplines, energy: float, gamma: float, poles: int) -> None:
    """ΔE Σ_i w(E − E_i) − 1 reaches 2p sin(π/2ⁿ) e^{−2π(γ/ΔE) sin(π/2ⁿ)}, p the number of poles
    nearest to the real axis; ΔE = πk/rmax is largest at the highest energy.
    """
    if energy <= 0 or radial.scaling is not None:
        return
    spacing = np.pi * np.sqrt(2 * energy) / radial.rmax
    sine, nearest = np.sin(np.pi / poles), min(2, poles // 2)
    needed = spacing * np.log(2 * nearest * sine / RIPPLE) / (2 * np.pi * sine)
    if gamma < needed:
        warnings.warn(
            f"width = {gamma:.3g} is too small: at {energy:.3g} hartree the levels of the box are "
            f"{spacing:.2g} apart; take {needed:.2g} or more, a larger box, or amplitudes()",
            ConvergenceWarning,
            stacklevel=caller(),
        )
