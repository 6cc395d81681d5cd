"""Light and absorbers between field-free eigenstates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import jax
import jax.numpy as jnp

from zitter.bases.base import Refused
from zitter.bases.spherical.operators import require_along_z
from zitter.linalg.bands import banded_product
from zitter.linalg.base import Unsupported
from zitter.linalg.blocks import DipoleBlocks, RadialBlocks
from zitter.linalg.chain import Chain
from zitter.linalg.channel_matrices import ChannelMatrices

if TYPE_CHECKING:
    from zitter.bases.eigen.basis import EigenBasis


class Dipoles(Protocol):
    """Whoever has blocks ⟨l|z|l+1⟩ and ⟨l|∂_z|l+1⟩."""

    length: jax.Array | None
    velocity: jax.Array | None


def position(basis: Dipoles, unit: Any, layout: Chain | None = None) -> DipoleBlocks:
    """u·r, along z."""
    require_along_z(unit)
    if basis.length is None:
        raise Unsupported("this EigenBasis has no dipoles in length form; use VelocityGauge")
    return DipoleBlocks(basis.length, float(unit[2]), layout=layout)


def momentum(basis: Dipoles, unit: Any, layout: Chain | None = None) -> DipoleBlocks:
    """u·p = −i u·∇, along z."""
    require_along_z(unit)
    if basis.velocity is None:
        raise Unsupported("this EigenBasis has no dipoles in velocity form; use LengthGauge")
    return DipoleBlocks(basis.velocity, float(unit[2]), -1j, layout=layout)


def absorber(
    basis: EigenBasis, width: float, strength: Callable[[Any, float], Any]
) -> ChannelMatrices:
    """−i⟨li|W|lj⟩, from the states' radial functions."""
    if basis.parent is None or basis.vectors is None:
        raise Refused(basis, "an absorber", "the states were read without their radial functions")
    operator = basis.parent.absorber(width, strength)
    assert isinstance(operator, RadialBlocks)
    images = jax.vmap(lambda bands, rows: banded_product(bands, rows.T).T)(
        -jnp.imag(operator.bands), basis.vectors
    )
    return ChannelMatrices(jnp.einsum("lin,lim->lnm", basis.vectors, images), -1j)
