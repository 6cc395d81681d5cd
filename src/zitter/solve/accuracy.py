"""What an energy is worth: solver, box and basis, each measured.

eig = zt.eigenstates(zt.discretize(model, grid), 2)
zt.energy_errors(model, grid, eig).total        how far each energy may be from exact
"""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.eigensolvers import Direct, Eigensolver
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported
from zitter.results import Eigenstates
from zitter.solve import between, jumps
from zitter.terms import Model, Potential, discretize

FINER = 3 / 4  # of the spacing, where a coarser grid does not resolve a nucleus
MOST_POINTS = 4_000_000  # of a finer grid
BOX_MARGIN = 1.5  # the slope at a wall is known from the first point before it
# A change of spacing says less than the error on grids too coarse for any power law, and where the
# potential has a kink: of |x| the error is 1.3 times what it says.
BASIS_MARGIN = 1.5
# Of the largest change of all levels. Differences may miss a level upwards or downwards; functions
# that are fewer miss all of them upwards, each by its own amount.
BY_CHANCE_ON_GRIDS, BY_CHANCE = 1 / 2, 1 / 20
DECAYING_MARGIN = 4 / 3  # on top: energies of decaying states obey no minimum principle
# Of an energy: where a poorer basis changes more, errors need not fall with each function yet.
UNSURE = 1e-3
ENOUGH = 1e-2  # of it, that a richer basis may change it by and be the last
SETTLED = 1 / 4  # of all that richer bases have gained may come from the last
ROUNDS = 4  # of richer bases
MOST_UNKNOWNS = 8192  # of a richer basis, if it is not one of twice the size


@dataclasses.dataclass(frozen=True)
class EnergyErrors:
    """Error estimates in hartree, one for each state; `total` is their sum."""

    solver: np.ndarray  # bounds from the residuals
    box: np.ndarray  # what the walls add
    grid: np.ndarray  # from other bases: the sum over all of `by`
    coarse: np.ndarray  # the energies on the poorest of them
    by: dict[str, np.ndarray]  # what was varied (spacing, splines, lmax, …) and what it says

    @property
    def total(self) -> np.ndarray:
        return self.solver + BOX_MARGIN * self.box + self.grid


Find = Callable[[Hamiltonian, int, Eigensolver | None], Eigenstates]


def checked_basis(H: Hamiltonian, eig: Eigenstates, find: Find, solver: Any) -> dict[str, Any]:
    """Entries of `info` about what a better basis would change, or why that is not known."""
    if H.model is None:
        return {"basis_check": "none: the Hamiltonian was not made by discretize"}
    try:
        decaying = np.iscomplexobj(eig.energies)
        found = compared(H, eig, find, solver if decaying else None)
    except (checks.InputError, checks.RunError, Unsupported) as reason:  # the states are found
        return {"basis_check": f"none: {reason}"}
    return {
        "basis_check": ", ".join(found.by),
        "basis_errors": found.grid.tolist(),
        "energy_errors": found.total.tolist(),
    }


def compared(
    H: Hamiltonian, eig: Eigenstates, find: Find, solver: Eigensolver | None
) -> EnergyErrors:
    """`find` is `eigenstates`."""
    _require_functions(H.model)
    n, energies = len(eig.energies), np.asarray(eig.energies)
    if solver is None and "near" in eig.info:  # not the lowest states, here as there
        solver = Direct(near=eig.info["near"])
    by: dict[str, np.ndarray] = {}
    coarse = energies
    least = BY_CHANCE if H.basis.lattice is None else BY_CHANCE_ON_GRIDS

    def on(other: Hamiltonian) -> np.ndarray:
        return _matched(energies, np.asarray(find(other, n, solver).energies))

    with warnings.catch_warnings():  # all has been said with the states in hand
        warnings.simplefilter("ignore", UserWarning)
        missed, hidden = between.changes(H, eig), between.closer(H, eig, on)
        for name, other in _others(H):
            coarse = on(other)
            change = np.abs(energies - coarse) * _error_per_change(H.model, H.basis, other.basis)
            by[name] = np.maximum(by.get(name, 0.0), _stated(change, least))
        if missed is not None:
            by["spacing"] = np.maximum(by.get("spacing", 0.0), _stated(missed, least))
        if hidden is not None:
            by["points"] = _stated(hidden, least)
        for name, error in by.items():
            if np.any(error > UNSURE * _scale(energies)):
                by[name] = np.maximum(error, _stated(_gained(H, name, energies, on), least))
        if np.iscomplexobj(energies):
            by = {name: DECAYING_MARGIN * error for name, error in by.items()}
        edges = jumps.shifts(H, eig.states)
        if edges is not None:
            by["jumps"] = _stated(edges, least)
    info: dict[str, Any] = eig.info
    return EnergyErrors(
        np.asarray(info.get("error_bounds", eig.residuals)),
        np.asarray(info.get("box_errors", np.zeros(n))),
        np.sum(list(by.values()), axis=0),
        coarse,
        by,
    )


def _stated(change: np.ndarray, least: float) -> np.ndarray:
    """With a margin, and at `least` this part of the largest: that of one level may vanish by
    chance."""
    return BASIS_MARGIN * np.maximum(change, least * change.max())


def _scale(energies: np.ndarray) -> np.ndarray:
    size = np.abs(energies)
    return np.maximum(size, 1e-3 * size.max())


def _gained(
    H: Hamiltonian, name: str, energies: np.ndarray, on: Callable[[Hamiltonian], np.ndarray]
) -> np.ndarray:
    """What the energies change by on richer bases, once these hardly change them any more."""
    basis, last = H.basis, energies
    change = np.zeros(len(energies))
    for _ in range(ROUNDS):
        richer = basis.richer(name)
        if richer is None and basis is H.basis:  # what the poorer one says is all there is
            return change
        if richer is None or richer.size > max(MOST_UNKNOWNS, 2 * H.basis.size):
            break
        found = on(H.origin.remade(discretize(H.model, richer)))
        change, step = np.abs(found - energies), np.abs(found - last)
        enough = ENOUGH * _scale(found)
        if basis is not H.basis:
            enough = np.maximum(enough, SETTLED * change.max())
        if np.all(step <= enough):
            return change
        basis, last = richer, found
    raise checks.RunError(
        f"{name} are far too few: with more of them the energies change by {change.max():.1e} "
        "hartree, and no end of it was found"
    )


def others(H: Hamiltonian) -> Iterator[Hamiltonian]:
    """Those on which `checked_basis` would solve again; none where it would not."""
    if H.model is None:
        return
    with contextlib.suppress(checks.InputError, Unsupported):
        _require_functions(H.model)
        for _, other in _others(H):
            yield other


def _others(H: Hamiltonian) -> Iterator[tuple[str, Hamiltonian]]:
    """H on the bases to compare with, each with what is poorer in it."""

    def written(basis: Basis) -> Hamiltonian:
        return H.origin.remade(discretize(H.model, basis))

    unresolved = False
    for name, others in H.basis.poorer(H.operator).items():
        for other in others:
            try:
                yield name, written(other)
            except checks.InputError as error:
                if error.key not in ("spacing", "order"):  # of differences on few points
                    raise
                unresolved = True
    if unresolved:
        finer = H.basis.rescaled(FINER)
        if finer.size > MOST_POINTS:
            raise checks.InputError(
                "grid",
                "must leave room for a second grid to compare with, but a coarser one does not "
                f"resolve the nuclei and a finer one would have {finer.size} points",
            )
        yield "spacing", written(finer)


def _require_functions(model: Model) -> None:
    for i, term in enumerate(model.terms):
        if isinstance(term, Potential) and term.values is not None:
            raise checks.InputError(
                f"model.terms[{i}]",
                "must be a function or an expression, so that it is known on a second grid to "
                f"compare with, but is given by its {term.source} on this grid only",
            )


def _matched(energies: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Real levels come in order; decaying states are those next to each."""
    if not np.iscomplexobj(energies):
        return found
    return found[np.argmin(np.abs(energies[:, None] - found), axis=1)]


def _error_per_change(model: Model, basis: Basis, other: Basis) -> float:
    """|E(h) − E(0)| over |E(h) − E(rh)|, at least 1, for an error that grows as hᵖ.

    Splines gain more from each function than this asks for: the change itself is enough.
    """
    order = min(term.lattice_order(basis) for term in model.terms)
    ratios = [wide / h for wide, h in zip(other.lattice or (), basis.lattice or (), strict=True)]
    return max([1.0, *(1 / abs(ratio**order - 1) for ratio in ratios if ratio != 1)])
