"""Which propagator to take when the user names none."""

from __future__ import annotations

from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported
from zitter.propagators.angular_split import AngularSplit
from zitter.propagators.base import Propagator
from zitter.propagators.crank_nicolson import CrankNicolson
from zitter.propagators.gauss_collocation import GaussCollocation
from zitter.propagators.lanczos import Lanczos


def recommended(H: Hamiltonian) -> Propagator:
    """Lanczos; on stiff bases the implicit step that suits: among positrons collocation, where
    light is a phase the split, otherwise Crank–Nicolson."""
    if not H.basis.stiff:
        return Lanczos()
    if not H.fixed.bounded_below:
        return GaussCollocation()
    try:
        AngularSplit().check(H)
    except Unsupported:
        return CrankNicolson(tol=1e-10)
    return AngularSplit()
