"""Field-free eigenstates as a basis, and what belongs to it alone."""

from zitter.bases.eigen.basis import EigenBasis, read_eigenbasis

__all__ = ["EigenBasis", "read_eigenbasis"]
