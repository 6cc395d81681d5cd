"""What lies between the points of a grid, and what it costs an energy.

A state on a grid is a sum of plane waves or sines, known everywhere. With −∇²/2m as it is, and with
V at points a part f of a spacing aside, its energy is

    E_f = ⟨ψ|T|ψ⟩ + Σ_i |ψ(x_i + f h)|² V(x_i + f h) / Σ_i |ψ(x_i + f h)|²

and the same for each f where the grid resolves what it holds. The mean over all f is ⟨ψ|H|ψ⟩, which
differs from the true level by the square of the state's error. Coarser grids need not show what
they do not resolve: a core narrower than their spacing lies upon a point of them all, or upon none.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.sums import diagonal_of
from zitter.results import Eigenstates
from zitter.terms import Kinetic, Model, Term, discretize

PARTS = (1 / 4, 1 / 2, 3 / 4)  # of a spacing
MIDDLE = (1 / 2,)  # of the spacings of large grids, where each part takes seconds
LARGE = 200_000  # points
UNRESOLVED = 1 / 2  # of the kinetic energy: V is another one between the points
ROUNDING = 1e-12  # of energies and V


def changes(H: Hamiltonian, eig: Eigenstates) -> np.ndarray | None:
    """|⟨ψ|H|ψ⟩ − E| of each state; None where V is integrated, or H not Hermitian."""
    moved = [H.basis.moved(part) for part in (PARTS if H.basis.size < LARGE else MIDDLE)]
    if None in moved or not H.operator.hermitian:
        return None
    energies = np.asarray(eig.energies)
    at_points = _potential(H, H.basis)
    kinetic = np.array([_kinetic_change(H, psi) for psi in eig.states])
    means = np.array([_mean(at_points, psi) for psi in eig.states])
    potentials = [np.zeros(len(energies))]  # f = 0
    rounding = ROUNDING * (np.abs(energies).max() + np.abs(at_points).max())
    for basis, there in (pair for pair in moved if pair is not None):
        try:
            potential = _potential(H, basis)
        except checks.InputError:  # a pole between the points, seen from both sides of it
            continue
        potentials.append([_mean(potential, there(psi)) for psi in eig.states] - means)
        _require_resolved(potentials[-1], energies - means, rounding)
    return np.abs(kinetic + np.mean(potentials, axis=0))


def _require_resolved(change: np.ndarray, kinetic: np.ndarray, rounding: float) -> None:
    excess = np.abs(change) - UNRESOLVED * np.maximum(kinetic, 0.0) - rounding
    worst = int(np.argmax(excess))
    if excess[worst] > 0:
        raise checks.RunError(
            "the spacing does not resolve the potential, and the energies may be wrong by any "
            f"amount: between the points that of state {worst} would change by "
            f"{abs(change[worst]):.1e} hartree; take a smaller spacing"
        )


def _potential(H: Hamiltonian, basis: Basis) -> np.ndarray:
    other = H if basis is H.basis else H.origin.remade(discretize(H.model, basis))
    return np.broadcast_to(np.asarray(diagonal_of(other.operator)), basis.shape)


def _mean(potential: np.ndarray, psi: Any) -> float:
    density = np.abs(np.asarray(psi)) ** 2
    return float(np.sum(density * potential) / np.sum(density))


def _kinetic_change(H: Hamiltonian, psi: Any) -> float:
    """⟨T⟩ of plane waves or sines less that of differences."""
    terms = [_as_waves(term) for term in H.model.terms]
    if all(new is old for new, old in zip(terms, H.model.terms, strict=True)):
        return 0.0
    waves = H.origin.remade(discretize(Model(terms), H.basis))
    image = waves.operator.apply(psi) - H.operator.apply(psi)
    return float(jnp.real(H.basis.inner(psi, image) / H.basis.inner(psi, psi)))


def _as_waves(term: Term) -> Term:
    if isinstance(term, Kinetic) and term.order != "spectral":
        return dataclasses.replace(term, order="spectral")
    return term
