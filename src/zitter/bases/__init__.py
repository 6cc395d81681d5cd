"""What a state is expanded in."""

from zitter.bases.base import Basis
from zitter.bases.grid import Grid

__all__ = ["Basis", "Grid"]
