"""Nuclei: point charges at fixed places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx

from zitter import checks


class Nucleus(eqx.Module):
    """A point charge `Z` at `position`, in bohr, the origin unless given."""

    Z: Any
    position: Any

    def __init__(self, Z: float, position: Sequence[float] = (0.0, 0.0, 0.0)):
        self.Z = checks.positive("Z", Z)
        self.position = checks.array("position", position, (None,))
