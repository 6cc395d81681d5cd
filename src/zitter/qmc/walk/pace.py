"""What DMC is asked for: time steps, the time to settle, and what becomes of nonlocal terms."""

from __future__ import annotations

import math
from typing import Any

from zitter import checks
from zitter.qmc.walk.localization import Localization, TMoves
from zitter.qmc.wavefunction import Wavefunction

LONGEST = 10000  # blocks of equilibration that nobody asked for


def usual_equilibration(psi: Wavefunction, timestep: float, steps: int) -> int:
    """Blocks in which electrons diffuse over the extent of the system."""
    needed = psi.system.extent**2 / (psi.system.dimension * timestep)
    if needed / steps > LONGEST:
        raise checks.InputError(
            "equilibration",
            f"must be given, since at timestep = {timestep:g} electrons diffuse over the system in "
            f"{needed / steps:.3g} blocks of {steps} ({psi.system.usual_timestep:.3g} is a usual "
            "time step), but is missing",
        )
    return max(math.ceil(needed / steps), 10)


def check_pace(psi: Wavefunction, timestep: Any, steps: Any, equilibration: Any) -> float:
    """The time step; refuse what `dmc` alone cannot use (no equilibration is its own choice).

    In the longest time step an electron diffuses as far as the next one is away.
    """
    checks.instance("psi", psi, Wavefunction)
    timestep = float(checks.positive("timestep", timestep, "time"))
    checks.integer("steps", steps, 1)
    if equilibration is not None:
        checks.integer("equilibration", equilibration, 1)
    length, dimension = psi.system.length, psi.system.dimension
    limit = length**2 / dimension
    if timestep > limit:
        raise checks.InputError(
            "timestep",
            f"must not exceed {limit:.3g}, in which an electron diffuses over the distance "
            f"{length:.3g} to its neighbours ({psi.system.usual_timestep:.3g} is usual), "
            f"but is {timestep:g}",
        )
    return timestep


def check_localization(psi: Wavefunction, localization: Any) -> Localization:
    """What becomes of nonlocal terms: T-moves unless another way is given."""
    localization = TMoves() if localization is None else localization
    checks.instance("localization", localization, Localization)
    localization.check(psi)
    return localization
