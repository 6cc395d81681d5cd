"""Eigensolvers: one method per file."""

from zitter.eigensolvers.base import Eigensolver
from zitter.eigensolvers.direct import Direct

__all__ = ["Direct", "Eigensolver"]
