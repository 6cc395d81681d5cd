"""Directions of light: e₁ (`polarization`) and the second axis e₂ of elliptic light.

e₂ = ẑ × e₁ where e₁ lies in the xy plane (light along z), else ŷ × e₁ normalized: z pairs with x.
Positive ellipticity turns E from e₁ towards e₂.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from zitter import checks

if TYPE_CHECKING:
    from zitter.fields.base import Field

_NAMED = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def checked(polarization: Sequence[float] | str | None) -> tuple[float, ...] | None:
    """A unit vector of one to three components; None is "along the only axis, or z"."""
    if polarization is None:
        return None
    if isinstance(polarization, str):
        return _NAMED[checks.choice("polarization", polarization, _NAMED)]
    vector = checks.array("polarization", polarization, (None,))
    if not 1 <= len(vector) <= 3:
        raise checks.InputError(
            "polarization", f"must have one to three components, but has {len(vector)}"
        )
    if np.iscomplexobj(vector):
        raise checks.InputError("polarization", "must be real (see ellipticity), but is complex")
    length = np.linalg.norm(vector)
    if length == 0:
        raise checks.InputError("polarization", "must have a direction, but is zero")
    return tuple(float(component) for component in vector / length)


def major_axis(polarization: tuple[float, ...] | None) -> np.ndarray:
    """e₁ in three dimensions."""
    if polarization is None:
        return np.array(_NAMED["z"])
    return np.array(polarization + (0.0,) * (3 - len(polarization)))


def minor_axis(polarization: tuple[float, ...] | None) -> np.ndarray:
    """e₂, orthogonal to e₁."""
    major = major_axis(polarization)
    helper = _NAMED["z"] if major[2] == 0 else _NAMED["y"]
    axis = np.cross(helper, major)
    return axis / np.linalg.norm(axis)


def require_along_x(field: Field) -> None:
    """Refuse light that travels along z and is not linear along x; no polarization means x here."""
    if not field.is_linear:
        raise checks.InputError("pulse", "must be linearly polarized, but is not")
    axis = field.polarization
    if axis is not None and not np.allclose(major_axis(axis), _NAMED["x"]):
        raise checks.InputError(
            "pulse.polarization", f"must be along x (light travels along z), but is {axis}"
        )
