"""The free Dirac operator, H₀ = c α·p + (β − 1)c².

The rest energy c² is left out, as `Kinetic` leaves it out, so that bound electrons have the small
negative energies of the Schrödinger equation. Positrons lie below −2c².
"""

from __future__ import annotations

from zitter.bases.base import Basis
from zitter.hamiltonian import Contribution
from zitter.terms.base import Term


class Dirac(Term):
    """c α·p + (β − 1)c² for an electron on a `SpinorBasis`, with the basis' c."""

    def __init__(self):
        pass

    def discretize(self, basis: Basis) -> list[Contribution]:
        return [basis.dirac()]
