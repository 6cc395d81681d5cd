"""Where pulses begin, end or turn on a ramp, and whether a run has a step there.

At such a moment a derivative of the field jumps. A step that begins there does not notice; one with
the moment inside errs by a part of Δt³ that depends on where it lies, whatever the method's order.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from zitter.fields import Field
from zitter.hamiltonian import Hamiltonian

NEAR = 1e-3  # of a step: a kink nearer to its end than that is no matter


def within_a_step(H: Hamiltonian, start: Any, dt: float) -> bool:
    """Whether steps of dt from `start` on have a kink inside."""
    parts = jax.tree.leaves(H.changing, is_leaf=lambda part: isinstance(part, Field))
    found = [np.ravel(kink) for part in parts if isinstance(part, Field) for kink in part.kinks]
    if not found:
        return False
    steps = (np.concatenate(found) - float(start)) / dt
    steps = steps[np.isfinite(steps) & (steps > 0)]
    return bool(np.any(np.abs(steps - np.round(steps)) > NEAR))
