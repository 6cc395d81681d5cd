"""Whether box and lmax were large enough, judged from the numbers, said with the numbers."""

from __future__ import annotations

import math
import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zitter import checks, units
from zitter.bases.base import Basis
from zitter.bases.edges import ConvergenceWarning, LastL
from zitter.fields import Field
from zitter.hamiltonian import Hamiltonian
from zitter.keywords import caller
from zitter.linalg.bands import host_dense
from zitter.linalg.base import Unsupported


def check_lmax(basis: Basis, psi: Any, limit: float = 1e-8) -> float:
    """The population of the highest l, with a warning where it exceeds `limit`."""
    last = LastL(basis)
    population = float(last.population(psi))
    last.warn(population, limit)
    return population


def over_energies(density: np.ndarray, energies: np.ndarray) -> np.ndarray:
    """∫ dE of what has energies along its first axis, by trapezoids."""
    if len(energies) < 2 or not np.all(np.diff(energies) > 0):
        fault = "there is only one" if len(energies) == 1 else "they do not all rise"
        raise checks.InputError(
            "energies",
            "must be at least two, each above the one before it, to be integrated over, but "
            f"{fault if len(energies) else 'there are none'}",
        )
    return np.trapezoid(density, energies, axis=0)


def check_box(basis: Basis, pulse: Field, energy: float | str, after: float = 0.0) -> float:
    """How far an electron of `energy` gets while the pulse lasts (and `after` it), with a warning
    where that is beyond the box.
    """
    try:
        rmax = basis.channels_of().radial.rmax
    except Unsupported:
        raise checks.InputError("basis", "must know its box, but was read without one") from None
    value = float(checks.positive("energy", energy, "energy"))
    distance = math.sqrt(2 * value) * (float(pulse.duration) + after)
    if distance > rmax:
        warnings.warn(
            f"rmax = {rmax:g} bohr is too small: an electron of {units.to_ev(value):.3g} eV "
            f"travels {distance:.4g} bohr during the run",
            ConvergenceWarning,
            stacklevel=caller(),
        )
    return distance


def check_whole(H: Hamiltonian, psi: Any) -> None:
    """Refuse a state most of whose free part was absorbed, and warn where a part of it was: its
    spectrum is that of what is left. Where H has no absorber it may be that of another run, or ψ a
    part of a state: there is a warning where most is missing. Beyond the radius of exterior scaling
    the state counts as absorbed.
    """
    absorbs = H.absorber is not None or H.mask is not None or H.basis.complex_scaled
    channels = H.basis.channels_of(H.static.fixed)
    scaling = channels.radial.scaling
    within = None if scaling is None else H.basis.sphere(scaling.radius)

    def probability(state: Any) -> float:
        image = state if within is None else within.apply(jnp.asarray(state))
        found = H.basis.inner(state, image) if within is None else H.basis.braket(state, image)
        return float(np.real(found))

    psi = np.asarray(H.basis.checked(psi))
    if not np.all(np.isfinite(psi)):
        raise checks.InputError("psi", "must be finite, but holds infinity or NaN")
    left = probability(psi)
    if left <= 0:
        raise checks.InputError("psi", "must not vanish to have a spectrum, but is zero")
    lost = 1 - left
    if lost < (1e-10 if absorbs else 1e-3):
        return
    free = left - probability(bound_part(channels, psi))
    share = lost / (lost + max(free, 0.0))
    advice = "flux_spectrum counts what passes a sphere before it is absorbed"
    if share > 0.5 and absorbs:
        raise checks.InputError(
            "psi", f"must still be in the box, but {share:.0%} of its free part was absorbed: "
            f"{advice}"
        )  # fmt: skip
    if share > (1e-3 if absorbs else 0.5):
        warnings.warn(
            f"{share:.1%} of the free part of psi was absorbed, or is missing otherwise: {advice}",
            ConvergenceWarning,
            stacklevel=caller(),
        )


def bound_part(channels: Any, psi: np.ndarray) -> np.ndarray:
    """Σ_n φ_n⟨φ_n|ψ⟩ over the states of H₀ below threshold, in each channel."""
    overlap = host_dense(channels.radial.overlap)
    result = np.zeros(psi.shape, complex)
    for l in np.unique(channels.l):
        rows = np.nonzero(channels.l == l)[0]
        matrix = host_dense(channels.bands[rows[0]])
        if np.iscomplexobj(overlap):  # a turned coordinate: symmetric, and cᵀSc = 1
            energies, states = (np.asarray(x) for x in scipy.linalg.eig(matrix, overlap))
            states = states / np.sqrt(np.einsum("in,in->n", states, overlap @ states))
        else:
            energies, states = (np.asarray(x) for x in scipy.linalg.eigh(matrix, overlap))
        bound = states[:, (np.real(energies) < 0) & (np.abs(np.imag(energies)) < 1e-6)]
        result[rows] = (psi[rows] @ (overlap @ bound)) @ bound.T
    return result


def channels_of(atom: Hamiltonian) -> Any:
    """The radial matrices of an atom without light, channel by channel."""
    try:
        return atom.basis.channels_of(atom.static.fixed)
    except Unsupported:
        raise checks.InputError(
            "atom", "must be a field-free Hamiltonian on a SphericalBasis"
        ) from None
