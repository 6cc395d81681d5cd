"""Wave functions the Monte Carlo tests share, so that compiled programs are shared as well."""

from __future__ import annotations

from typing import Any

import pytest
from walker_programs import scattered

from zitter.qmc import ElectronGas, H, P, SlaterJastrow, U

GASES = {
    "triangular 4": {"n": 4, "rs": 1.0, "dimension": 2, "lattice": "triangular"},
    "4 up 1 down": {"n": 5, "rs": 1.0, "polarization": 0.6},
    "twisted 2 up 1 down": {"n": 3, "rs": 1.0, "polarization": 1 / 3, "twist": (0.1, 0.2, 0.3)},
    "twisted fcc 3 up": {
        "n": 3,
        "polarization": 1.0,
        "rs": 1.0,
        "lattice": "fcc",
        "twist": (0.1, 0.2, 0.3),
    },
}


# Two and three dimensions, real and complex; the others take more of the same code.
FAST = "triangular 4", "twisted 2 up 1 down"
EACH = [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in GASES]


@pytest.fixture(scope="session", params=EACH)
def any_psi(request) -> Any:
    """u + p + H on gases of both dimensions, with equal, unequal and one kind of spins."""
    gas = ElectronGas(**GASES[request.param], allow_open_shell=True)
    return scattered(SlaterJastrow(gas, [U(order=3), P(stars=2), H(order=2)], delay=3))
