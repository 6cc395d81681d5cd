"""What keeps a DMC run from going astray, counted, and told afterwards."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

TOO_MANY = 5.0  # per cent of local energies: a limited energy is a wrong one
STUCK = 50  # steps without one accepted move after which a walker is replaced


class Counts(eqx.Module):
    """How often a guard had to act, out of how many occasions."""

    steps: Any
    combs: Any
    limited: Any
    stuck: Any
    crossed: Any


def no_counts(like: Any) -> Counts:
    """Zeros of the shape of `like` (one for each twist); steps are common to all twists."""
    return Counts(jnp.zeros(()), *(jnp.zeros(jnp.shape(like)) for _ in range(4)))


def notes(counts: Counts, walkers: int, electrons: int, timestep: float) -> list[str]:
    """What the guards did, and what no error bar holds, as sentences."""
    runs = np.size(counts.combs)  # one for each twist
    combs, limited, stuck, crossed = (
        float(np.nansum(count))
        for count in (counts.combs, counts.limited, counts.stuck, counts.crossed)
    )
    steps = float(counts.steps) * runs
    each = steps * walkers
    crossings = crossed / (each * electrons)
    told = [
        f"walkers were drawn anew in {100 * combs / steps:.1f} % of the steps",
        f"moves refused because they cross a node: {100 * crossings:.3f} %",
    ]
    if limited:
        share = 100 * limited / each
        told.append(f"the local energy was limited in {share:.3g} % of all walker steps")
        if share > TOO_MANY:
            told.append("the time step is too large for this energy to be used")
    if stuck:
        told.append(
            f"{int(stuck)} walkers had not moved for {STUCK} steps and were replaced: "
            "a smaller time step avoids this"
        )
    told.append(
        f"error bars are statistical: the time step of {timestep:g} and the number of walkers, "
        f"{walkers}, add errors that are not in them; compare with {timestep / 2:g} (several "
        f"steps: zt.qmc.extrapolate) and with {2 * walkers} walkers"
    )
    return told
