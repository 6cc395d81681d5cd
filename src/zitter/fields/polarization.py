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
_ROUNDING = 1e-12  # components of a unit vector that are meant to be zero


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
    unit = np.where(np.abs(vector) < _ROUNDING * length, 0.0, vector / length)
    return tuple(float(component) for component in unit / np.linalg.norm(unit))


def major_axis(polarization: tuple[float, ...] | None) -> np.ndarray:
    """e₁ in three dimensions."""
    if polarization is None:
        return np.array(_NAMED["z"])
    return np.array(polarization + (0.0,) * (3 - len(polarization)))


def minor_axis(polarization: tuple[float, ...] | None) -> np.ndarray:
    """e₂, orthogonal to e₁."""
    major = major_axis(polarization)
    helper = _NAMED["z"] if abs(major[2]) < _ROUNDING else _NAMED["y"]
    axis = np.cross(helper, major)
    return axis / np.linalg.norm(axis)


def plane_of(vectors: np.ndarray) -> np.ndarray | None:
    """Unit vectors e₁, in the xy plane, and e₂, upwards of it, as rows: the plane of all `vectors`
    (n, 3). None where they lie on a line or in no plane.
    """
    _, lengths, axes = np.linalg.svd(np.asarray(vectors, float).reshape(-1, 3))
    lengths = np.append(lengths, np.zeros(3))[:3]
    if not (lengths[2] <= _ROUNDING * lengths[0] < lengths[1]):
        return None
    normal = axes[2]
    level = np.cross(_NAMED["z"], normal)
    if np.linalg.norm(level) <= _ROUNDING:
        return np.eye(3)[:2]
    level *= np.sign(level[np.argmax(np.abs(level) > _ROUNDING)]) / np.linalg.norm(level)
    plane = np.stack([level, np.cross(normal, level)])
    plane[1] *= np.sign(plane[1, 2])
    return np.where(np.abs(plane) < _ROUNDING, 0.0, plane)


def in_words(polarization: tuple[float, ...] | None) -> str:
    """Linear light: "linear along x"; which axis it takes without one is up to the basis."""
    where = "the default axis" if polarization is None else named(major_axis(polarization))
    return f"linear along {where}"


def plane_in_words(polarization: tuple[float, ...] | None) -> str:
    """The plane in which light turns: "x and y", e₁ before e₂."""
    return f"{named(major_axis(polarization))} and {named(minor_axis(polarization))}"


def turning_in_words(polarization: tuple[float, ...] | None, positive: bool) -> str:
    """ "turning from x to y, right-handed about z": E and its sense for a sign of ellipticity."""
    major, minor = major_axis(polarization), minor_axis(polarization)
    normal = named(np.cross(major, minor))
    to, hand = (minor, "right") if positive else (-minor, "left")
    return f"turning from {named(major)} to {named(to)}, {hand}-handed about {normal}"


def elliptic_in_words(polarization: tuple[float, ...] | None, ellipticity: str) -> str:
    """Elliptic light: "ellipticity 0.5, axes x and y", e₁ before e₂."""
    return f"ellipticity {ellipticity}, axes {plane_in_words(polarization)}"


def named(vector: np.ndarray) -> str:
    """ "x", "-y" or "(0, 0.7071, 0.7071)"."""
    for name, axis in _NAMED.items():
        if np.allclose(np.abs(vector), axis, rtol=0, atol=1e-12):
            return name if np.dot(vector, axis) > 0 else f"-{name}"
    return f"({', '.join(f'{component + 0.0:.4g}' for component in vector)})"


def require_along_x(field: Field) -> None:
    """Refuse light that travels along z and is not linear along x; no polarization means x here."""
    if not field.is_linear:
        raise checks.InputError("pulse", "must be linearly polarized, but is not")
    axis = field.polarization
    if axis is not None and not np.allclose(major_axis(axis), _NAMED["x"]):
        raise checks.InputError(
            "pulse.polarization", f"must be along x (light travels along z), but is {axis}"
        )
