"""Uniform Cartesian grids, and what belongs to them alone."""

from zitter.bases.grid.basis import Grid

__all__ = ["Grid"]
