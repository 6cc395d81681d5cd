"""What an energy is worth: solver, box and grid spacing, each measured.

eig = zt.eigenstates(zt.discretize(model, grid), 2)
zt.energy_errors(model, grid, eig).total        how far each energy may be from exact
"""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.eigensolvers import Direct, Eigensolver
from zitter.eigensolvers.errors import BoxWarning
from zitter.hamiltonian import Hamiltonian
from zitter.results import Eigenstates
from zitter.solve import eigenstates
from zitter.terms import Model, Potential, discretize

COARSER = 4 / 3  # the ratio of the spacings that are compared
MOST_POINTS = 4_000_000  # of a finer grid


@dataclasses.dataclass(frozen=True)
class EnergyErrors:
    """Error estimates in hartree, one for each state; `total` is their sum."""

    solver: np.ndarray  # bounds from the residuals
    box: np.ndarray  # what the walls add
    grid: np.ndarray  # from a second grid, coarser where possible
    coarse: np.ndarray  # the energies on that grid

    @property
    def total(self) -> np.ndarray:
        return self.solver + self.box + self.grid


def energy_errors(
    model: Model, grid: Basis, eig: Eigenstates, solver: Eigensolver | None = None
) -> EnergyErrors:
    """Solve again in the same box with 4/3 of the spacing and compare.

    The error of the finer grid is the change divided by rᵖ − 1, with the ratio r of the spacings
    and the order p of the kinetic energy (1 where a pole is sampled as it is); of that and the
    change itself the larger is taken. Since the change of one level may vanish by chance (the error
    depends on where a nucleus lies between grid points), no state is trusted beyond half of the
    largest. Where the coarser grid would not resolve a nucleus, 3/4 of the spacing are compared
    instead.
    """
    checks.instance("model", model, Model)
    checks.instance("grid", grid, Basis)
    n = len(eig.energies)
    if solver is None and "near" in eig.info:  # not the lowest states, here as there
        solver = Direct(near=eig.info["near"])
    H = _on_another_grid(model, grid)
    with warnings.catch_warnings():  # the box has been judged with the states in hand
        warnings.simplefilter("ignore", BoxWarning)
        other = eigenstates(H, n, solver)
    change = np.abs(np.asarray(eig.energies) - np.asarray(other.energies))
    error = change * _error_per_change(model, grid, H.basis)
    info: dict[str, Any] = eig.info
    return EnergyErrors(
        np.asarray(info["error_bounds"]),
        np.asarray(info.get("box_errors", np.zeros(n))),
        np.maximum(error, 0.5 * error.max()),
        np.asarray(other.energies),
    )


def _on_another_grid(model: Model, grid: Basis) -> Hamiltonian:
    """H on a coarser grid, or on a finer one where the coarser does not resolve a nucleus."""
    for i, term in enumerate(model.terms):
        if isinstance(term, Potential) and term.values is not None:
            raise checks.InputError(
                f"model.terms[{i}]",
                "must be a function or an expression, so that it is known on a second grid to "
                f"compare with, but is given by its {term.source} on this grid only",
            )
    try:
        return discretize(model, grid.rescaled(COARSER))
    except checks.InputError as error:
        finer = grid.rescaled(1 / COARSER)
        if error.key != "spacing":
            raise
        if finer.size > MOST_POINTS:
            raise checks.InputError(
                "grid",
                "must leave room for a second grid to compare with, but a coarser one does not "
                f"resolve the nuclei and a finer one would have {finer.size} points",
            ) from None
        return discretize(model, finer)


def _error_per_change(model: Model, grid: Basis, other: Basis) -> float:
    """|E(h) − E(0)| over |E(h) − E(rh)|, at least 1, for an error that grows as hᵖ."""
    order = min(term.lattice_order(grid) for term in model.terms)
    ratios = [wide / h for wide, h in zip(other.lattice or (), grid.lattice or (), strict=True)]
    return max(1.0, *(1 / abs(ratio**order - 1) for ratio in ratios))
