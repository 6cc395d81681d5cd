"""S + zH₀ where H₀ is one banded matrix for each channel."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.bases.bsplines import RadialBSplines
from zitter.linalg.bands import banded_product
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.blocks import RadialBlocks
from zitter.linalg.radial_solver import RadialSolver
from zitter.linalg.resolvents import Resolvents


class RadialResolvents(Resolvents):
    """Factors by `RadialSolver`, for all channels at once."""

    bands: jax.Array
    radial: RadialBSplines = eqx.field(static=True)

    def __init__(self, operator: Operator, radial: RadialBSplines):
        if not isinstance(operator, RadialBlocks):
            raise Unsupported(
                f"{type(operator).__name__} couples channels; only matrices within channels, such "
                "as Kinetic() gives, are factored"
            )
        self.bands = operator.bands
        self.radial = radial

    @property
    def renewable(self) -> bool:
        return True

    def at(self, z):
        overlap = jnp.asarray(self.radial.overlap)
        return RadialSolver((overlap + z * self.bands).astype(jnp.result_type(z)))

    def resolved(self, solver, z: Any, coefficients):
        """c − M⁻¹zH₀c, not M⁻¹Sc: the error of M⁻¹ then falls on the small change, which in single
        precision is worth two digits."""
        return coefficients - solver.solve(z * banded_product(self.bands, coefficients))
