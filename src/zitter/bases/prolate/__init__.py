"""Prolate spheroidal coordinates about two nuclei, and what belongs to them alone."""

from zitter.bases.prolate.basis import ProlateSpheroidal

__all__ = ["ProlateSpheroidal"]
