"""What runs inside a scan, which have no numbers while they are traced, tell it afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Told = tuple[Any, np.ndarray]  # who, and the numbers; with points of the scan as first axis

# What was told to the scans that are on, innermost last; empty outside of scans.
_scans: list[list[Told]] = []


@contextlib.contextmanager
def heard() -> Iterator[list[Told]]:
    """All that traced runs inside tell; complete after `jax.effects_barrier()`."""
    _scans.append([])
    try:
        yield _scans[-1]
    finally:
        _scans.pop()


def listening() -> bool:
    """Whether there is a scan around."""
    return bool(_scans)


def tell(who: Any, *values: Any) -> None:
    """The scan around, if any, hears `values` of `who`."""
    if _scans:
        row = jnp.stack([jnp.asarray(value, jnp.float64) for value in values], axis=-1)
        # What is told of a run is no part of its result: derivatives do not pass through it.
        _send(who, jax.lax.stop_gradient(row))


def _send(who: Any, row: jax.Array) -> None:
    """To the host; under `vmap` once, with an axis in front."""

    def keep(row: Any) -> None:
        if _scans:
            _scans[-1].append((who, np.asarray(row)))

    @jax.custom_batching.custom_vmap
    def send(row):
        jax.debug.callback(keep, row)
        return row

    @send.def_vmap
    def send_all(size, batched, rows):
        _send(who, rows)
        return rows, True

    send(row)
