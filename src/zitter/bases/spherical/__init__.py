"""Radial functions times spherical harmonics, and what belongs to them alone."""

from zitter.bases.spherical.basis import SphericalBasis

__all__ = ["SphericalBasis"]
