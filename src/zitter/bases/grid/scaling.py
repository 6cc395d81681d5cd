"""The same box with another spacing, or with points elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    from zitter.bases.grid.basis import Grid


COARSER = (1.15, 4 / 3)  # the spacings that levels are compared with
LARGE = 200_000  # points that the device transforms sooner than NumPy


def scaled_grid(grid: Grid, factor: float) -> Grid:
    """The same box with about `factor` times the spacing along each axis."""
    edge = 0 if grid.boundary == "periodic" else 1
    return in_same_box(grid, [max(5, round((n + edge) / factor) - edge) for n in grid.shape])


def in_same_box(grid: Grid, shape: Sequence[int]) -> Grid:
    """As many points as asked for between the walls, or in the period."""
    edge = 0 if grid.boundary == "periodic" else 1
    spacing = [
        h * (n + edge) / (m + edge) for h, n, m in zip(grid.spacing, grid.shape, shape, strict=True)
    ]
    center = [
        c if edge else c + 0.5 * (wide - h)
        for c, wide, h in zip(grid.center, spacing, grid.spacing, strict=True)
    ]
    return dataclasses.replace(
        grid, shape=tuple(shape), spacing=tuple(spacing), center=tuple(center)
    )


def moved(grid: Grid, parts: Sequence[float]) -> tuple[Grid, Callable[[Any], Any]]:
    """The points a part of the spacing further along each axis, between two walls one more of them,
    and the way of a state there: by the plane waves or sines that pass through its points."""
    edge = 0 if grid.boundary == "periodic" else 1
    shape = tuple(n + edge for n in grid.shape)
    steps = [(part - 0.5 * edge) * h for part, h in zip(parts, grid.spacing, strict=True)]
    center = tuple(c + step for c, step in zip(grid.center, steps, strict=True))

    def there(psi: Any) -> Any:
        # What is small would take longer to compile than to transform.
        xp: Any = np if grid.size < LARGE else jnp
        psi = xp.asarray(psi)
        for axis, part in enumerate(parts):
            psi = xp.swapaxes(_between(xp, xp.swapaxes(psi, 0, axis), part, bool(edge)), 0, axis)
        return psi

    return dataclasses.replace(grid, shape=shape, center=center), there


def _between(xp: Any, psi: Any, part: float, walls: bool) -> Any:
    """ψ along the first axis, `part` of a spacing further; between walls it goes on as −ψ."""
    if walls:
        wall = xp.zeros_like(psi[:1])
        psi = xp.concatenate([wall, psi, wall, -psi[::-1]])
    phases = np.exp(2j * np.pi * np.fft.fftfreq(len(psi)) * part)
    phases = xp.asarray(phases.reshape(-1, *[1] * (psi.ndim - 1)))
    moved = xp.fft.ifft(xp.fft.fft(psi, axis=0) * phases, axis=0)
    return moved[: len(psi) // 2] if walls else moved
