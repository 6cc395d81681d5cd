"""The same box with another spacing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zitter.bases.grid.basis import Grid


def scaled_grid(grid: Grid, factor: float) -> Grid:
    """The same box with about `factor` times the spacing along each axis."""
    edge = 0 if grid.boundary == "periodic" else 1
    shape = [max(5, round((n + edge) / factor) - edge) for n in grid.shape]
    spacing = [
        h * (n + edge) / (m + edge) for h, n, m in zip(grid.spacing, grid.shape, shape, strict=True)
    ]
    center = [
        c if edge else c + 0.5 * (wide - h)
        for c, wide, h in zip(grid.center, spacing, grid.spacing, strict=True)
    ]
    return type(grid)(shape, spacing, grid.boundary, center=center, particles=grid.particles)
