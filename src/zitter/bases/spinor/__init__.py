"""The relativistic basis, and what belongs to it alone."""

from zitter.bases.spinor.basis import SpinorBasis

__all__ = ["SpinorBasis"]
