"""The classes that results may hold: every public one, and what those are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from zitter.stored import Rule, fields_of, with_fields


def rules() -> Iterator[Rule]:
    """Asked for when a basis or model is first saved or wanted from a file: it brings JAX along."""
    import equinox as eqx

    from zitter import public
    from zitter.expressions import Expression
    from zitter.fields.carrier import Carrier

    for name in public.__all__:
        cls = getattr(public, name)
        if isinstance(cls, type) and issubclass(cls, eqx.Module):
            yield Rule(cls)
    yield Rule(Carrier)
    yield Rule(Expression, _parts_of_expression, lambda parts: Expression(**parts))
    yield Rule(public.EigenBasis, _parts_of_eigenbasis, _eigenbasis)


def _parts_of_expression(expression: Any) -> dict[str, Any]:
    return {"text": expression.text, "variables": expression.variables}


def _parts_of_eigenbasis(basis: Any) -> dict[str, Any]:
    """Without dipoles that follow from the states: they are most of it.

    Whether they do is seen from a few random superpositions, in a fraction of the time.
    """
    parts = fields_of(basis)
    again = {}
    if basis.vectors is not None and basis.parent is not None:
        probe = np.random.default_rng(0).standard_normal((basis.vectors.shape[2], 3))
        expected = _dipoles(basis.parent, np.asarray(basis.vectors) @ probe)
        for name, blocks in expected.items():
            if parts[name] is not None and _same(probe.T @ np.asarray(parts[name]) @ probe, blocks):
                again[name] = str(parts.pop(name).dtype)
    return {**parts, "recomputed": again}


def _eigenbasis(parts: dict[str, Any]) -> Any:
    import jax.numpy as jnp

    from zitter.public import EigenBasis

    again = parts.pop("recomputed")
    if again:
        blocks = _dipoles(parts["parent"], parts["vectors"])
        parts |= {name: jnp.asarray(blocks[name], dtype) for name, dtype in again.items()}
    return with_fields(EigenBasis, parts)


def _dipoles(parent: Any, vectors: Any) -> dict[str, np.ndarray]:
    from zitter.eigensolvers.channels import dipole_blocks

    length, velocity = dipole_blocks(parent, np.asarray(vectors))
    return {"length": length, "velocity": velocity}


def _same(found: np.ndarray, expected: np.ndarray) -> bool:
    """Up to rounding. A user's own dipoles differ, and are kept."""
    size = float(np.max(np.abs(expected), initial=0.0))
    return bool(np.allclose(found, expected, rtol=0.0, atol=1e-6 * size))
