"""What lies between the points of a basis, and what it costs an energy.

A state on a grid is a sum of plane waves or sines, known everywhere. With −∇²/2m as it is, and with
V at points a part f of a spacing aside, its energy is

    E_f = ⟨ψ|T|ψ⟩ + Σ_i |ψ(x_i + f h)|² V(x_i + f h) / Σ_i |ψ(x_i + f h)|²

and the same for each f where the grid resolves what it holds. The mean over all f is ⟨ψ|H|ψ⟩, which
differs from the true level by the square of the state's error. Coarser grids need not show what
they do not resolve: a core narrower than their spacing lies upon a point of them all, or upon none.

Splines integrate: Gauss–Legendre points see a smooth V as it is, and of what jumps or is narrower
than their distance a part. More points between the same knots tell.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Operator
from zitter.linalg.sums import diagonal_of
from zitter.results import Eigenstates
from zitter.terms import Kinetic, Model, Term, discretize

NUMBERS = 2**20  # values of V that are looked at, but in no fewer and no more places of a cell
LEAST, MOST = 8, 64
LARGE = 200_000  # points, where each place takes seconds: one, in the middle
UNRESOLVED = 1 / 2  # of the kinetic energy: V is another one between the points
ROUNDING = 1e-12  # of energies and V


def changes(H: Hamiltonian, eig: Eigenstates) -> np.ndarray | None:
    """|⟨ψ|H|ψ⟩ − E| of each state; None where V is integrated, or H not Hermitian."""
    moved = [H.basis.moved(parts) for parts in _places(H.basis)]
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
        _require_resolved(potentials[-1], energies - means, rounding, "take a smaller spacing")
    return np.abs(kinetic + np.mean(potentials, axis=0))


def closer(
    H: Hamiltonian, eig: Eigenstates, on: Callable[[Hamiltonian], np.ndarray]
) -> np.ndarray | None:
    """What integrals over more points change the energies by, found by `on`; None where that is
    nothing, or V not integrated."""
    basis = H.basis.closer()
    if basis is None or not H.operator.hermitian:
        return None
    potentials = _integrated(H)
    if not potentials:
        return None
    before, after = (_means(H, Model(potentials), b, eig.states) for b in (H.basis, basis))
    energies = np.asarray(eig.energies)
    rounding = ROUNDING * (np.abs(energies).max() + np.abs(before).max())
    advice = "take shorter intervals there"
    _require_resolved(after - before, energies - before, rounding, advice)
    if np.abs(after - before).max() <= rounding:
        return None
    change = on(H.origin.remade(discretize(H.model, basis))) - energies
    _require_resolved(change, energies - before, rounding, advice)
    return np.abs(change)


def _integrated(H: Hamiltonian) -> list[Term]:
    """Terms that are integrals of a potential: neither motion nor light, nor what changes with time
    or absorbs."""
    still = [term for term in H.model.terms if not term.moves and term.light is None]
    return [
        term
        for term in still
        if any(isinstance(piece, Operator) for piece in term.discretize(H.basis))
    ]


def _places(basis: Basis) -> list[tuple[float, ...]]:
    """Parts of the spacings by which points are moved: multiples of powers of a root of
    φᵈ⁺¹ = φ + 1, which fill a cell evenly, however many they are."""
    d = len(basis.shape)
    if basis.size >= LARGE:
        return [(1 / 2,) * d]
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (d + 1))
    count = int(np.clip(NUMBERS // basis.size, LEAST, MOST))
    return [
        tuple(float((0.5 + k * root**-axis) % 1.0) for axis in range(1, d + 1))
        for k in range(count)
    ]


def _require_resolved(
    change: np.ndarray, kinetic: np.ndarray, rounding: float, advice: str
) -> None:
    excess = np.abs(change) - UNRESOLVED * np.maximum(kinetic, 0.0) - rounding
    worst = int(np.argmax(excess))
    if excess[worst] > 0:
        raise checks.RunError(
            "the basis does not resolve the potential, and the energies may be wrong by any "
            f"amount: between the points that of state {worst} would change by "
            f"{abs(change[worst]):.1e} hartree; {advice}"
        )


def _potential(H: Hamiltonian, basis: Basis) -> np.ndarray:
    other = H if basis is H.basis else H.origin.remade(discretize(H.model, basis))
    return np.broadcast_to(np.asarray(diagonal_of(other.operator)), basis.shape)


def _mean(potential: np.ndarray, psi: Any) -> float:
    density = np.abs(np.asarray(psi)) ** 2
    return float(np.sum(density * potential) / np.sum(density))


def _means(H: Hamiltonian, model: Model, basis: Basis, states: Any) -> np.ndarray:
    """⟨ψ|V|ψ⟩ of each state with the integrals of a basis."""
    V = H.origin.remade(discretize(model, basis)).operator
    brakets = [basis.braket(psi, V.apply(psi)) / basis.inner(psi, psi) for psi in states]
    return np.real(np.array(brakets))


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
