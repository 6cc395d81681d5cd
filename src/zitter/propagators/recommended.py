"""Which propagator to take when the user names none."""

from __future__ import annotations

from zitter.bases.spherical.basis import SphericalBasis
from zitter.bases.spinor.basis import SpinorBasis
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported
from zitter.propagators.angular_split import AngularSplit
from zitter.propagators.base import Propagator
from zitter.propagators.crank_nicolson import CrankNicolson
from zitter.propagators.gauss_collocation import GaussCollocation
from zitter.propagators.lanczos import Lanczos


def recommended(H: Hamiltonian) -> Propagator:
    """Lanczos where the basis is orthonormal; on radial splines the implicit step that suits."""
    if isinstance(H.basis, SpinorBasis):
        return GaussCollocation()
    if not isinstance(H.basis, SphericalBasis):
        return Lanczos()
    try:
        AngularSplit().check(H, 0.0)
    except Unsupported:
        return CrankNicolson(tol=1e-10)
    return AngularSplit()
