"""Central potentials, r and ∇ between radial functions times harmonics.

    r·u = r ⊗ N_u        u·∇ = (d/dr) ⊗ N_u + (1/r) ⊗ K_u        on radial functions P(r) = rR(r)

with the angular matrices N and K of `unit_vector`. Each channel (l, m) couples to (l ± 1, m) by n_z
and to (l ± 1, m ± 1) by n_x and n_y, so that they are kept as lists of neighbors.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.bsplines import RadialBSplines
from zitter.bases.unit_vector import unit_vector
from zitter.linalg.angular_coupling import AngularCoupling
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.blocks import RadialBlocks
from zitter.linalg.chain import Chain
from zitter.linalg.sums import add

if TYPE_CHECKING:
    from zitter.bases.spherical.basis import SphericalBasis


class Angles(Protocol):
    """Radial functions times harmonics, on one device or on many."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def radial(self) -> RadialBSplines: ...

    @property
    def complex_scaled(self) -> bool: ...

    @property
    def channels(self) -> tuple[tuple[int, int], ...]:
        """(l, m) of each row, without padding."""
        ...

    @property
    def directions(self) -> tuple[int, ...]: ...


@functools.lru_cache(maxsize=64)
def radial_bands(radial: RadialBSplines, kind: str, edge: float = 0.0) -> np.ndarray:
    """Bands that are needed again and again: "r", "1/r", "d/dr", 1 within `edge`, 1 beyond it."""
    with jax.ensure_compile_time_eval():
        match kind:
            case "r":
                bands = radial.matrix(lambda r: r)
            case "1/r":
                bands = radial.matrix(lambda r: 1 / r)
            case "d/dr":
                bands = radial.matrix(1.0, 0, 1)
            case "within":
                bands = radial.matrix(1.0 * (radial.points < edge), hermitian=True)
            case _:
                bands = radial.matrix(1.0 * (radial.points > edge), hermitian=True)
        return np.asarray(bands)


def radial_blocks(
    basis: Angles, bands: Any, hermitian: bool = True, by_l: bool = False
) -> RadialBlocks:
    """The same radial matrix in each channel, or one for each, perhaps `by_l` only."""
    full = jnp.broadcast_to(bands, (basis.shape[0], *jnp.shape(bands)[-2:]))
    alike = tuple(l for l, _ in basis.channels) if by_l or np.ndim(bands) == 2 else None
    return RadialBlocks(full, hermitian and not basis.complex_scaled, alike)


def kinetic(basis: SphericalBasis, mass: Any) -> RadialBlocks:
    """(½ ∫ B′B′ dr + l(l+1)/2r²)/m in each channel."""
    radial, l = basis.radial, basis.l[:, None, None]
    centrifugal = radial.matrix(lambda r: 0.5 / r**2)
    bands = 0.5 * radial.matrix(1.0, 1, 1) + l * (l + 1) * centrifugal
    return radial_blocks(basis, bands / mass, by_l=True)


def multiply(basis: SphericalBasis, values: Any) -> RadialBlocks:
    """V(r) in every channel, or one row of values for each."""
    check_finite(values)
    matrix = basis.radial.matrix
    bands = matrix(values) if np.ndim(values) < 3 else jax.lax.map(matrix, jnp.asarray(values))
    return radial_blocks(basis, bands, not jnp.iscomplexobj(values))


def check_finite(values: Any) -> None:
    if not checks.is_traced(values) and not np.all(np.isfinite(np.asarray(values))):
        raise checks.InputError("potential", "must be finite for 0 < r ≤ rmax, but is not")


def position(basis: Angles, unit: Any, layout: Chain | None = None) -> Operator:
    """u·r."""
    return _coupling(basis, unit, 1.0, ("r",), layout)


def momentum(basis: Angles, unit: Any, layout: Chain | None = None) -> Operator:
    """u·p = −i u·∇."""
    if basis.radial.outer == "free":
        raise Unsupported('momentum needs splines that vanish at rmax: outer = "zero"')
    return _coupling(basis, unit, -1j, ("d/dr", "1/r"), layout)


def _coupling(
    basis: Angles, unit: Any, factor: complex, kinds: tuple[str, ...], layout: Chain | None
) -> Operator:
    """factor · Σ_c u_c (N_c ⊗ the first kind of bands + K_c ⊗ the second, if any)."""
    if basis.directions == (2,):
        require_along_z(unit)
    bands = jnp.stack([radial_bands(basis.radial, kind) for kind in kinds])
    parts = []
    for component, u in enumerate(np.asarray(unit, float)):
        if u != 0:
            neighbors, weights = unit_vector(basis.channels, component)
            weights = u * factor * weights[: len(kinds)]
            weights = weights if np.any(weights.imag) else weights.real
            hermitian, source = not basis.complex_scaled, (basis.radial, kinds)
            part = AngularCoupling(bands, weights, neighbors, hermitian, source)
            parts.append(part if layout is None else part.divided(layout))
    return add(parts)


def require_along_z(unit: Any) -> None:
    if np.any(np.asarray(unit)[:2]):
        raise Unsupported(
            'light off the z axis couples different m: use SphericalBasis(…, m="all"), '
            "or polarize along z"
        )


def sphere(basis: Angles, radius: float) -> RadialBlocks:
    """1 within a sphere; its radius is moved to the nearest knot."""
    bands = radial_bands(basis.radial, "within", nearest_knot(basis.radial, radius))
    return radial_blocks(basis, jnp.asarray(bands))


def nearest_knot(radial: RadialBSplines, radius: float) -> float:
    """That has something beyond it, where r is real."""
    radial.check_real(radius)
    knots = np.asarray(radial.knots)
    knots = knots[knots < radial.rmax]
    return float(knots[np.argmin(np.abs(knots - radius))])


def depth(basis: SphericalBasis, width: float, r: np.ndarray) -> np.ndarray:
    """0 up to rmax − width, rising to 1 at rmax."""
    rmax = basis.radial.rmax
    if width >= rmax or basis.complex_scaled:
        raise checks.InputError(
            "width", f"must be below rmax ({rmax:g}) on a real coordinate, but is {width:g}"
        )
    return np.clip((r - (rmax - width)) / width, 0.0, 1.0)
