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
from zitter.linalg.chain import Chain
from zitter.linalg.radial_solver import RadialSolver
from zitter.linalg.resolvents import Resolvents


class RadialResolvents(Resolvents):
    """Factors by `RadialSolver`, for all channels at once; on many devices each has those of its
    own channels."""

    bands: jax.Array
    radial: RadialBSplines = eqx.field(static=True)
    layout: Chain | None

    def __init__(self, operator: Operator, radial: RadialBSplines, layout: Chain | None = None):
        if not isinstance(operator, RadialBlocks):
            raise Unsupported(
                f"{type(operator).__name__} couples channels; only matrices within channels, such "
                "as Kinetic() gives, are factored"
            )
        self.bands = operator.bands
        self.radial = radial
        self.layout = layout

    @property
    def renewable(self) -> bool:
        return True

    def at(self, z):
        overlap = jnp.asarray(self.radial.overlap)
        if self.layout is None:
            return _factors(self.bands, overlap, z)
        return self.layout.local(self._own_factors, self.bands, overlap, z)

    def _own_factors(self, bands, overlap, z):
        """Zero in the padding, so that a run can be continued on another number of devices."""
        assert self.layout is not None
        return jax.tree.map(self.layout.without_padding, _factors(bands, overlap, z))

    def resolved(self, solver, z: Any, coefficients):
        """c − M⁻¹zH₀c, not M⁻¹Sc: the error of M⁻¹ then falls on the small change, which in single
        precision is worth two digits."""
        return coefficients - solver.solve(z * banded_product(self.bands, coefficients))


def _factors(bands: jax.Array, overlap: jax.Array, z: Any) -> RadialSolver:
    return RadialSolver((overlap + z * bands).astype(jnp.result_type(z)))
