"""How far answers of many devices are from those of one."""

from __future__ import annotations

from typing import Any

import numpy as np


def of_runs(one: Any, many: Any) -> float:
    """The largest difference of two runs, in the final state, records and edges."""
    pairs = [(one.final, many.final)]
    pairs += [(one.observables[k], many.observables[k]) for k in one.observables]
    pairs += [(one.info[k], many.info[k]) for k in one.info if k.endswith("population")]
    return max(float(np.max(np.abs(np.asarray(a) - np.asarray(b)))) for a, b in pairs)


def of_images(one: dict[str, Any], many: dict[str, Any], basis: Any) -> dict[str, float]:
    """By name, relative to the largest number; `basis` joins what lies on many devices."""
    return {
        name: float(np.max(np.abs(basis.join(image) - one[name])))
        / float(np.max(np.abs(one[name])))
        for name, image in many.items()
    }
