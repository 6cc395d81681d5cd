"""What a finite cell leaves out: fluctuations longer than the cell.

A cell of the volume Ω sums over k ≠ 0 where the infinite system integrates. What is missing around
k = 0 follows from S(k) → αk² (Chiesa, Ceperley, Martin and Holzmann, Phys. Rev. Lett. 97, 076404):

    ΔV = (N/2Ω) lim 4πS(k)/k² = 2πnα             for the whole cell, n = N/Ω
    ΔT = (N/4Ω) lim k²u_k = (1/8)(1/α − 1/α₀),   2n u_k = 1/S(k) − 1/S₀(k)

S₀ = α₀k² is the structure factor of the determinant alone; in a metal it is linear in k, and 1/α₀
is 0. The gas has α = 1/2ω_p, and ΔV = ΔT = ω_p/4.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from zitter import checks
from zitter.qmc.samples import Samples
from zitter.qmc.statistics import with_error
from zitter.qmc.systems import System


@dataclasses.dataclass(frozen=True)
class FiniteSize:
    """An energy with its corrections for the size of the cell, all in the units of the run.

    `energy` includes `potential` = ΔV and `kinetic` = ΔT; `slope` is α in bohr². The errors hold
    the noise of the run and of S(k), not that S(k)/k² was extrapolated by a line.
    """

    energy: float
    error: float
    potential: float
    kinetic: float
    slope: float
    slope_error: float
    units: str
    metal: bool = True  # 1/α₀ was taken to be 0

    def __str__(self) -> str:
        return (
            f"{with_error(self.energy, self.error)} {self.units}, "
            f"with ΔV = {self.potential:.6f} and ΔT = {self.kinetic:.6f}"
            + (", 1/α₀ = 0 as in a metal" if self.metal else "")
        )


def finite_size(
    samples: Samples, system: System, stars: int = 3, bare: Samples | None = None
) -> FiniteSize:
    """The energy of `samples`, which measured a `StructureFactor`, without the error of its cell.

    In a crystal it must be that of fluctuations, `StructureFactor(subtract_mean=True)`. α is fitted
    to S(k)/k² = α + βk² on the shortest `stars`. `bare` is a run of the determinant
    alone that gives α₀ of an insulator; a gas and metals have none. Shell effects of the kinetic
    energy are not in it: average over twists.
    """
    cell = system.cell
    if cell is None or cell.dimension != 3:
        raise checks.InputError(
            "system", "must be periodic in three directions: S(k)/k² has no limit otherwise"
        )
    if samples.divisor is None:
        raise checks.InputError("samples", "must tell what energies are divided by, but do not")
    stars = checks.integer("stars", stars, 2)
    _check_fluctuations(system, samples, "samples")
    slope, slope_error = _slope(samples, stars, "samples")
    inverse0 = inverse0_error = 0.0
    if bare is not None:
        _check_fluctuations(system, bare, "bare")
        slope0, slope0_error = _slope(bare, stars, "bare")
        inverse0, inverse0_error = 1 / slope0, slope0_error / slope0**2
    density = system.electrons / float(cell.volume)
    potential = 2 * np.pi * density * slope
    kinetic = (1 / slope - inverse0) / 8
    # d(ΔV + ΔT)/dα and d/dα₀; ΔV and ΔT go against each other.
    noise = np.hypot((2 * np.pi * density - 1 / (8 * slope**2)) * slope_error, inverse0_error / 8)
    total = samples.total_energy + potential + kinetic
    divisor = samples.divisor
    return FiniteSize(
        float(total / divisor),
        float(np.hypot(samples.total_energy_error, noise) / divisor),
        float(potential / divisor),
        float(kinetic / divisor),
        slope,
        slope_error,
        samples.units,
        bare is None,
    )


def _check_fluctuations(system: System, samples: Samples, key: str) -> None:
    """Around nuclei the mean density has Bragg peaks, which are no fluctuation."""
    found = samples.estimators.get("structure_factor", {})
    if system.nuclei.count and "subtract_mean" not in found:
        raise checks.InputError(
            key, "must hold a StructureFactor(subtract_mean=True) where there are nuclei"
        )


def _slope(samples: Samples, stars: int, key: str) -> tuple[float, float]:
    """(α, its error) by a weighted fit of α + βk² to S(k)/k²."""
    if "structure_factor" not in samples.estimators:
        raise checks.InputError(key, "must hold a StructureFactor, but do not")
    found = samples.estimators["structure_factor"]
    if len(found["x"]) < stars:
        raise checks.InputError(
            "stars", f"must be at most the {len(found['x'])} that were measured, but is {stars}"
        )
    if np.sum(np.isfinite(found["error"][:stars])) < 2:
        raise checks.InputError(
            key, "must know S(k) with error bars at two stars or more, but the run has not "
            "forgotten its start: take more blocks"
        )  # fmt: skip
    k2 = found["x"][:stars] ** 2
    values, errors = found["mean"][:stars] / k2, found["error"][:stars] / k2
    errors = np.maximum(errors, 1e-12 * np.abs(values))
    matrix = np.stack([np.ones(stars), k2], axis=1) / errors[:, None]
    covariance = np.linalg.inv(matrix.T @ matrix)
    slope = float((covariance @ matrix.T @ (values / errors))[0])
    if slope <= 0:
        raise checks.InputError(
            key, f"must give a positive limit of S(k)/k², but it is {slope:.3g}: take more blocks"
        )
    return slope, float(np.sqrt(covariance[0, 0]))
