"""The energy that a pulse brings to an area."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from zitter import checks

if TYPE_CHECKING:
    from zitter.fields.base import Field

PANELS, POINTS = 1024, 8  # integrates eight oscillations of E² in each panel to rounding


def fluence(pulse: Field) -> Any:
    """∫|E|² dt in atomic units, for a pulse that ends; it can be differentiated.

    Times 1.698 (`units.FLUENCE_J_PER_CM2`) it is an energy in J/cm², ε₀c ∫|E|² dt.
    """
    from zitter.fields.base import Field  # which itself asks for it

    checks.instance("pulse", pulse, Field)
    end = pulse.duration
    if not checks.is_traced(end) and not np.isfinite(end):
        raise checks.InputError("pulse", "must end to have a fluence, but never does")
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    half = end / (2 * PANELS)
    middle = half * (2 * np.arange(PANELS) + 1)
    field = pulse.electric_field_xyz(middle[:, None] + half * nodes)
    return half * jnp.sum(jnp.sum(field**2, axis=-1) * weights)
