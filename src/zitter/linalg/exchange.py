"""Rows that lie in one way on the devices of a mesh axis, taken to another way.

    device i holds the rows source[i] of all and shall hold target[i]; each row is on one device

What i has for j is padded to B rows, the largest such part: one all-to-all of D·B rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Exchange(NamedTuple):
    """Where rows go and where they come from, for each device."""

    send: Any  # (D, D·B) → a row of the device, or their number where nothing is sent
    place: Any  # (D, rows) → among what has come, or D·B where the new row is empty


def exchange(source: np.ndarray, target: np.ndarray, none: int) -> Exchange:
    """From (D, rows) to (D, other rows), both with the names of rows, and `none` in padding."""
    devices = len(source)
    owner, row = np.full(none + 1, devices), np.zeros(none + 1, int)
    for d, names in enumerate(source):
        owner[names], row[names] = d, np.arange(len(names))
    owner[none] = devices
    wanted = [[names[owner[names] == i] for i in range(devices)] for names in target]
    largest = max(len(names) for parts in wanted for names in parts)
    send = np.full((devices, devices, largest), source.shape[1])
    place = np.full(target.shape, devices * largest)
    for j, parts in enumerate(wanted):
        came = np.full(none + 1, devices * largest)
        for i, names in enumerate(parts):
            send[i, j, : len(names)] = row[names]
            came[names] = i * largest + np.arange(len(names))
        place[j] = came[target[j]]
    return Exchange(send.reshape(devices, -1), place)


def exchanged(part: jax.Array, mine: Exchange, axis: str) -> jax.Array:
    """Inside a mapped function: the new rows of this device from its old ones."""
    sent = with_zero(part)[mine.send]
    return with_zero(jax.lax.all_to_all(sent, axis, 0, 0, tiled=True))[mine.place]


def with_zero(rows: jax.Array) -> jax.Array:
    """Rows with an empty one after the last, for places that hold nothing."""
    return jnp.concatenate([rows, jnp.zeros_like(rows[:1])])
