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
from zitter.bases.grid import Grid
from zitter.eigensolvers import Eigensolver
from zitter.eigensolvers.errors import BoxWarning
from zitter.solution import Eigenstates
from zitter.solve import eigenstates
from zitter.terms import Model, discretize


@dataclasses.dataclass(frozen=True)
class EnergyErrors:
    """Error estimates in hartree, one for each state; `total` is their sum."""

    solver: np.ndarray  # bounds from the residuals
    box: np.ndarray  # what the walls add
    grid: np.ndarray  # from a second, coarser grid
    coarse: np.ndarray  # the energies on that grid

    @property
    def total(self) -> np.ndarray:
        return self.solver + self.box + self.grid


def energy_errors(
    model: Model, grid: Grid, eig: Eigenstates, solver: Eigensolver | None = None
) -> EnergyErrors:
    """Solve again in the same box with 4/3 of the spacing and compare.

    The change is taken as it is: for any scheme of third order or better it exceeds the error of
    the finer grid, which is (4/3)^p − 1 times smaller. Since the change of one level may vanish by
    chance (the error depends on where a nucleus lies between grid points), no state is trusted
    beyond half of the largest change.
    """
    checks.instance("model", model, Model)
    checks.instance("grid", grid, Grid)
    n = len(eig.energies)
    with warnings.catch_warnings():  # the box has been judged with the states in hand
        warnings.simplefilter("ignore", BoxWarning)
        coarse = eigenstates(discretize(model, coarser_grid(grid)), n, solver)
    change = np.abs(np.asarray(eig.energies) - np.asarray(coarse.energies))
    info: dict[str, Any] = eig.info
    return EnergyErrors(
        np.asarray(info["error_bounds"]),
        np.asarray(info.get("box_errors", np.zeros(n))),
        np.maximum(change, 0.5 * change.max()),
        np.asarray(coarse.energies),
    )


def coarser_grid(grid: Grid) -> Grid:
    """The same box with three quarters of the points along each axis."""
    edge = 0 if grid.boundary == "periodic" else 1
    shape = [max(5, round(0.75 * (n + edge)) - edge) for n in grid.shape]
    spacing = [
        h * (n + edge) / (m + edge) for h, n, m in zip(grid.spacing, grid.shape, shape, strict=True)
    ]
    center = [
        c if edge else c + 0.5 * (wide - h)
        for c, wide, h in zip(grid.center, spacing, grid.spacing, strict=True)
    ]
    return Grid(shape, spacing, grid.boundary, center=center, particles=grid.particles)
