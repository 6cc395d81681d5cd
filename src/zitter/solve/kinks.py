"""Where pulses begin, end or turn on a ramp, and whether a run has a step there.

At such a moment a derivative of the field jumps. A step that begins there does not notice; one with
the moment inside errs by a part of Δt³ that depends on where it lies, whatever the method's order.
"""

from __future__ import annotations

import jax
import numpy as np

from zitter.fields import Field
from zitter.hamiltonian import Hamiltonian

NEAR = 1e-3  # of a step: a kink nearer to its end than that is no matter


def reliable_order(
    order: int, H: Hamiltonian, start: float, end: float, steps: tuple[float, ...]
) -> int:
    """The order by which errors of runs with these steps are compared. A part of Δt³ that depends
    on where the kink lies, in each run elsewhere, leaves their difference only its size."""
    return 1 if order > 2 and any(_within_a_step(H, start, end, dt) for dt in steps) else order


def _within_a_step(H: Hamiltonian, start: float, end: float, dt: float) -> bool:
    """Whether steps of dt from `start` to `end` have a kink inside."""
    parts = jax.tree.leaves(H.changing, is_leaf=lambda part: isinstance(part, Field))
    found = [np.ravel(kink) for part in parts if isinstance(part, Field) for kink in part.kinks]
    if not found:
        return False
    times = np.concatenate(found)
    steps = (times[(times > start) & (times < end)] - start) / dt
    return bool(np.any(np.abs(steps - np.round(steps)) > NEAR))
