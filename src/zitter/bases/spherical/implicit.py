"""S + zH₀ where H₀ is one banded matrix for each channel."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.bsplines import RadialBSplines
from zitter.linalg.bands import banded_product
from zitter.linalg.base import Operator, Solver, Unsupported
from zitter.linalg.blocks import RadialBlocks
from zitter.linalg.chain import Chain
from zitter.linalg.radial_solver import RadialSolver
from zitter.linalg.resolvents import Resolvents
from zitter.linalg.row_blocks import Groups, batches_here


class RadialResolvents(Resolvents):
    """Factors by `RadialSolver`, for all channels at once, one set for channels that are alike; on
    many devices each has those of its own channels."""

    bands: jax.Array
    radial: RadialBSplines = eqx.field(static=True)
    layout: Chain | None
    alike: tuple[int, ...] | None = eqx.field(static=True)  # where some are

    def __init__(self, operator: Operator, radial: RadialBSplines, layout: Chain | None = None):
        if not isinstance(operator, RadialBlocks):
            raise Unsupported(
                f"{type(operator).__name__} couples channels; only matrices within channels, such "
                "as Kinetic() gives, are factored"
            )
        self.bands = operator.bands
        self.radial = radial
        self.layout = layout
        alike = operator.alike if layout is None else None
        self.alike = alike if alike is not None and len(set(alike)) < len(alike) else None

    def each(self, rows: np.ndarray) -> RadialResolvents:
        """The family of some channels, each with factors of its own."""
        return RadialResolvents(RadialBlocks(self.bands[rows]), self.radial, self.layout)

    @property
    def renewable(self) -> bool:
        return True

    def at(self, z):
        overlap = jnp.asarray(self.radial.overlap)
        if self.alike is not None:
            return SharedFactors(self.bands, self.alike, overlap, z)
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


class SharedFactors(Solver):
    """Factors of one matrix for neighboring channels that are alike, which are solved together."""

    solvers: tuple[RadialSolver, ...]  # of each batch
    groups: Groups

    def __init__(self, bands: jax.Array, alike: tuple[int, ...], overlap: jax.Array, z: Any):
        _, first, counts = np.unique(alike, return_index=True, return_counts=True)
        self.groups = Groups(counts.tolist(), batches_here())
        ends = np.cumsum([shape[0] for shape in self.groups.shapes])[:-1]
        batches = np.split(first, ends)
        self.solvers = tuple(_factors(bands[rows], overlap, z) for rows in batches)

    def solve(self, image):
        pairs = zip(self.solvers, self.groups.filled(image), strict=True)
        return self.groups.joined([solver.solve_many(rows) for solver, rows in pairs])


def _factors(bands: jax.Array, overlap: jax.Array, z: Any) -> RadialSolver:
    return RadialSolver((overlap + z * bands).astype(jnp.result_type(z)))
