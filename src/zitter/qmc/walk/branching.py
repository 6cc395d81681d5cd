"""Walkers with weights: averages over them, and which survive when the weights have spread."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def weighted(values: dict[str, Any], weights: Any) -> dict[str, Any]:
    """Averages over walkers with these weights, and the variance of the energy."""
    shares = weights / jnp.sum(weights)
    record = {name: jnp.tensordot(shares, value, 1) for name, value in values.items()}
    record["variance"] = jnp.sum(shares * (values["energy"] - record["energy"]) ** 2)
    return record


def comb_indices(key: Any, weights: Any) -> Any:
    """Which walkers survive: each appears weight/mean times, rounded up or down at random.

    One uniform number places all teeth of the comb, which makes the least noise.
    """
    count = weights.shape[0]
    edges = jnp.cumsum(weights) / jnp.sum(weights)
    teeth = (jnp.arange(count) + jax.random.uniform(key, (), jnp.float64)) / count
    return jnp.minimum(jnp.searchsorted(edges, teeth), count - 1).astype(jnp.int32)
