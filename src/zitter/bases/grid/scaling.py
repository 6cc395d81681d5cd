"""The same box with another spacing."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zitter.bases.grid.basis import Grid


COARSER = (1.15, 4 / 3)  # the spacings that levels are compared with


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
