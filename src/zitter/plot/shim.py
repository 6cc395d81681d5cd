"""Until bases say it themselves: density and density_axes of the bases at hand. To be deleted."""

from __future__ import annotations

from typing import Any

import numpy as np

from zitter.bases.base import Refused
from zitter.bases.eigen.basis import EigenBasis
from zitter.bases.grid.basis import Grid
from zitter.bases.spherical.basis import SphericalBasis
from zitter.bases.spinor.basis import SpinorBasis


def density(basis: Any, psi: Any) -> Any:
    r = density_axes(basis).get("r")
    match basis:
        case Grid():
            return np.abs(np.asarray(psi)) ** 2
        case SpinorBasis():
            upper, lower = basis.radial_values(psi, r)
            return np.sum(np.abs(upper) ** 2 + np.abs(lower) ** 2, axis=0)
        case SphericalBasis():
            return np.sum(np.abs(np.asarray(psi) @ basis.radial.evaluate(r).T) ** 2, axis=0)
        case EigenBasis():
            return density(basis.parent, basis.on_parent(psi))
    raise AssertionError


def density_axes(basis: Any) -> dict[str, Any]:
    match basis:
        case Grid():
            return basis.axes()
        case EigenBasis() if basis.parent is not None and basis.vectors is not None:
            return density_axes(basis.parent)
        case SpinorBasis() | SphericalBasis() if basis.radial.scaling is None:
            knots = np.unique(np.asarray(basis.radial.knots, float))
            place = np.linspace(0.0, len(knots) - 1.0, 600)
            return {"r": np.interp(place, np.arange(len(knots)), knots)[1:-1]}
    raise Refused(basis, "a density")
