"""What files keep of a basis of eigenstates: not the dipoles, where they follow from the states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from zitter import stored

if TYPE_CHECKING:
    from zitter.bases.eigen.basis import EigenBasis
    from zitter.bases.spherical.basis import SphericalBasis


def kept(basis: EigenBasis) -> dict[str, Any]:
    """Without dipoles that are those of the states on their parent: they are most of it.

    Whether they are is seen from a few random superpositions, in a fraction of the time.
    """
    parts = stored.fields_of(basis)
    again = {}
    if basis.vectors is not None and basis.parent is not None:
        probe = np.random.default_rng(0).standard_normal((basis.vectors.shape[2], 3))
        expected = _dipoles(basis.parent, np.asarray(basis.vectors) @ probe)
        for name, blocks in expected.items():
            if parts[name] is not None and _same(probe.T @ np.asarray(parts[name]) @ probe, blocks):
                again[name] = str(parts.pop(name).dtype)
    return {**parts, "recomputed": again}


def restored(cls: type[EigenBasis], parts: dict[str, Any]) -> EigenBasis:
    again = parts.pop("recomputed")
    parts.setdefault("valence", None)  # files of version 0.1 and early 0.2 have none
    if again:
        blocks = _dipoles(parts["parent"], np.asarray(parts["vectors"]))
        parts |= {name: jnp.asarray(blocks[name], dtype) for name, dtype in again.items()}
    return stored.with_fields(cls, parts)


def _dipoles(parent: SphericalBasis, vectors: np.ndarray) -> dict[str, np.ndarray]:
    from zitter.bases.eigen.making import dipole_blocks  # which makes what this belongs to

    length, velocity = dipole_blocks(parent, vectors)
    return {"length": length, "velocity": velocity}


def _same(found: np.ndarray, expected: np.ndarray) -> bool:
    """Up to rounding. A user's own dipoles differ, and are kept."""
    size = float(np.max(np.abs(expected), initial=0.0))
    return bool(np.allclose(found, expected, rtol=0.0, atol=1e-6 * size))
