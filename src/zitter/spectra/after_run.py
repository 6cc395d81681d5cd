"""iSURF: the flux through a sphere from the end of a run to all times, without running on.

After the pulse H is constant, absorber included, and ∫_T^∞ e^{i(E−H)(t−T)}dt = i(E − H)⁻¹. With a
reference wave F of energy E (Coulomb or plane, δ(E − E′)) what passes R after T has the amplitude

    b_lm(E) = ½[F G′ − F′ G]_{r=R},    (E S − H_l) G = S P_lm(T)

(Morales, Bredtmann & Patchkovskii, J. Phys. B 49, 245001 (2016)). The functional of G at R does not
know m: one banded solve for each l and energy, y = (E S − H_l)⁻¹ w, serves all, b_lm = y·S P_lm.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zitter import checks
from zitter.bases.edges import ConvergenceWarning
from zitter.fields import Field
from zitter.hamiltonian import Driven, Hamiltonian
from zitter.keywords import caller
from zitter.linalg.bands import lapack_bands
from zitter.spectra.continuum import coulomb_phase
from zitter.spectra.coulomb_waves import coulomb_waves
from zitter.spectra.quality import bound_part, channels_of, check_whole

SHORT_RANGE = 0.01  # of a charge: what may be left of it at the surface
POINTS = 10  # of Gauss and Legendre between two knots

Waves = Literal["coulomb", "plane"]


def surface_amplitudes(
    H: Hamiltonian,
    psi: Any,
    radius: float | str,
    energies: Any,
    waves: Waves = "coulomb",
    charge: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """What `amplitudes` gives, from the flux that passes `radius` after the pulse (iSURF).

    H is that of the run, with a `ComplexAbsorber` or `ExteriorScaling` that begins beyond the
    radius; ψ, its state after the pulse, must not have been absorbed. The box may end there. The
    waves beyond are Coulomb waves of the residual `charge`, or plane waves: these leave out the
    charge, which costs about Z/k²R of the spectrum, and bound states are then taken out of ψ.
    """
    channels = channels_of(H)
    radius = checked_radius(H, channels, radius)
    energies = np.asarray(checks.array("energies", energies, (None,)), float)
    if not np.all(energies > 0):
        raise checks.InputError("energies", "must be positive, but are not all")
    check_whole(H, psi)
    left: float = channels.charge() if charge is None else charge
    seen = left if checks.choice("waves", waves, ("coulomb", "plane")) == "coulomb" else 0.0
    psi = np.asarray(psi)
    if seen != left:
        warn_of_plane_waves(left, energies, radius)
        psi = psi - bound_part(channels, psi)
    found = outflow(H, psi, radius, energies, seen)
    found = found + _outside(channels, psi, radius, energies, seen)
    phases = [coulomb_phase(channels.l, energy, seen) for energy in energies]
    return found, np.stack(phases, axis=1)


def outflow(
    H: Hamiltonian, psi: Any, radius: float, energies: np.ndarray, charge: float
) -> np.ndarray:
    """½[F G′ − F′ G] at the radius (channels, energies)."""
    channels = H.basis.channels_of(_after_light(H))
    radial = channels.radial
    image = np.asarray(H.basis.overlap(jnp.asarray(psi)))
    values, slopes = (radial.evaluate(radius, d)[0] for d in (0, 1))
    F, dF = _waves(int(channels.l.max()), charge, energies, np.asarray([radius]))
    overlap, half = lapack_bands(radial.overlap), radial.degree
    found = np.zeros((len(image), len(energies)), complex)
    for l in np.unique(channels.l):
        rows = np.nonzero(channels.l == l)[0]
        matrix = lapack_bands(channels.bands[rows[0]])
        for e, energy in enumerate(energies):
            source = 0.5 * (F[l, e, 0] * slopes - dF[l, e, 0] * values)
            shifted = energy * overlap - matrix
            found[rows, e] = image[rows] @ scipy.linalg.solve_banded((half, half), shifted, source)
    return found


def checked_radius(H: Hamiltonian, channels: Any, radius: float | str) -> float:
    """A surface outside the short-range part of the potential and inside the absorber."""
    radius = float(checks.positive("radius", radius, "length"))
    radial = channels.radial
    if H.mask is not None:
        raise checks.InputError(
            "H", "must absorb by ComplexAbsorber or ExteriorScaling to be inverted, but has a mask"
        )
    if H.absorber is None and radial.scaling is None:
        raise checks.InputError(
            "H", "must absorb what passes the surface (ComplexAbsorber or ExteriorScaling), but "
            "does not"
        )  # fmt: skip
    end = radial.rmax if H.absorber is None else _absorbing_from(H, radial)
    end = end if radial.scaling is None else min(end, radial.scaling.radius)
    if radius > end:
        raise checks.InputError(
            "radius", f"must lie before the absorber, which begins at {end:.4g} bohr, but is "
            f"{radius:g}"
        )  # fmt: skip
    check_range(radius, channels.charge(radius), channels.charge())
    return radius


def check_range(radius: float, here: float, charge: float) -> None:
    """Refuse a surface inside the range of the potential, where no waves are known."""
    if abs(here - charge) > SHORT_RANGE:
        raise checks.InputError(
            "radius",
            f"must lie outside the short-range part of the potential, but at {radius:g} bohr "
            f"−rV is still {here:.3g} instead of {charge:.3g}: take a larger one",
        )


def plane_wave_error(charge: float, energies: np.ndarray, radius: float) -> np.ndarray:
    """About Z/k²R of |b|², of either sign: what the local momentum √(k² + 2Z/R) is off by."""
    return np.abs(charge) / (2 * energies * radius)


def warn_of_plane_waves(charge: float, energies: np.ndarray, radius: float) -> None:
    error = plane_wave_error(charge, energies, radius)
    worst = int(np.argmax(error))
    if error[worst] > 0.01:
        warnings.warn(
            f"plane waves beyond {radius:g} bohr leave out the charge {charge:g}: at "
            f"{energies[worst]:.3g} hartree the spectrum is off by about {error[worst]:.0%} "
            "(Z/k²R); a larger radius, or Coulomb waves after the pulse, would do",
            ConvergenceWarning,
            stacklevel=caller(),
        )


def check_light_is_over(H: Hamiltonian, t: float) -> None:
    """Not at one moment only, which may lie between two pulses: no field of H may go on later."""
    for piece in H.changing:
        lasting = not isinstance(piece, Driven) or abs(float(piece.factor(t))) > 1e-12
        if lasting or not all(over_at(field, t) for field in _fields(piece)):
            raise checks.InputError(
                "finish", f"must be constant after the run, but H still changes at t = {t:.4g}: "
                "run on to the end of the pulse"
            )  # fmt: skip


def over_at(field: Field, t: float) -> bool:
    return float(field.duration) <= t * (1 + 1e-9)  # the last step may round to just before


def _fields(piece: Any) -> list[Field]:
    """Those of which a part of H is made."""
    leaves = jax.tree.leaves(piece, is_leaf=lambda node: isinstance(node, Field))
    return [leaf for leaf in leaves if isinstance(leaf, Field)]


def _after_light(H: Hamiltonian) -> Any:
    return Hamiltonian(H.basis, H.fixed, absorber=H.absorber).operator


def _absorbing_from(H: Hamiltonian, radial: Any) -> float:
    """To one interval of knots: the end of the first spline that is absorbed at all."""
    bands = np.asarray(H.basis.channels_of(H.absorber).bands[0])
    first = int(np.argmax(np.abs(bands[radial.degree]) > 0))
    return float(radial.knots[first + radial.degree + 2])


def _waves(
    lmax: int, charge: float, energies: np.ndarray, r: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """√(2/πk) F_l(−Z/k, kr) and d/dr of it, (l, energies, r)."""
    k = np.sqrt(2 * energies)[:, None]
    F, slope = coulomb_waves(lmax, -charge / k, k * r)
    return np.sqrt(2 / (np.pi * k)) * F, np.sqrt(2 * k / np.pi) * slope


def _outside(
    channels: Any, psi: np.ndarray, radius: float, energies: np.ndarray, charge: float
) -> np.ndarray:
    """∫_R^∞ F P dr (channels, energies): what has passed the surface already."""
    radial = channels.radial
    end = radial.rmax if radial.scaling is None else radial.scaling.radius
    knots = np.unique(np.asarray(radial.knots))
    breaks = np.concatenate([[radius], knots[(knots > radius) & (knots < end)], [end]])
    x, w = np.polynomial.legendre.leggauss(POINTS)
    half = 0.5 * np.diff(breaks)[:, None]
    r, weights = (0.5 * (breaks[1:] + breaks[:-1])[:, None] + half * x).ravel(), (half * w).ravel()
    functions = psi @ (radial.evaluate(r).T * weights)
    F, _ = _waves(int(channels.l.max()), charge, energies, r)
    return np.einsum("cr,cer->ce", functions, F[channels.l])
