"""exp(−iτ(V + T)) by exponentials of V (diagonal on the grid) and T (diagonal in k)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Operator, Unsupported, real_like
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.spectral import Spectral
from zitter.linalg.sums import Sum, part_of_kind
from zitter.propagators.base import Exponential, require_orthonormal
from zitter.propagators.schemes import CommutatorFree4, Midpoint, TimeScheme

# Strang: V(½) T(1) V(½). Order 4: the six-stage symmetric splitting of
# Blanes & Moan, J. Comput. Appl. Math. 142, 313 (2002), whose error constant is far below that
# of Suzuki's or Yoshida's compositions. Pairs (a for V, b for T), ending with a V stage.
_STRANG = ((0.5, 0.5), (1.0,))
_A1, _A2, _A3 = 0.0792036964311957, 0.353172906049774, -0.0420650803577195
_B1, _B2 = 0.209515106613362, -0.143851773179818
_BLANES_MOAN = (
    (_A1, _A2, _A3, 1 - 2 * (_A1 + _A2 + _A3), _A3, _A2, _A1),
    (_B1, _B2, 0.5 - (_B1 + _B2), 0.5 - (_B1 + _B2), _B2, _B1),
)
_COEFFICIENTS = {2: _STRANG, 4: _BLANES_MOAN}


class SplitOperator(Exponential):
    """Split-operator steps of order 2 or 4, for H = V(x, t) + T(k, t).

    Needs `Kinetic(order="spectral")`; light in velocity gauge also needs a periodic grid, where p
    is diagonal in k. Order 4 takes its time dependence from `CommutatorFree4`.
    """

    order: int = eqx.field(static=True)
    scheme: TimeScheme

    def __init__(self, order: int = 2):
        self.order = checks.choice("order", order, (2, 4))
        self.scheme = Midpoint() if order == 2 else CommutatorFree4()

    def convergence_order(self, H: Hamiltonian) -> int:
        return self.order

    def prepare(self, H: Hamiltonian, t, dt):
        require_orthonormal("SplitOperator", H)
        moments = [c.at(t[0]) for c in H.changing]
        pieces = [H.fixed, *moments, *([H.absorber] if H.absorber is not None else [])]
        for piece in pieces:
            for part in piece.parts if isinstance(piece, Sum) else (piece,):
                if not isinstance(part, Diagonal | Spectral):
                    raise Unsupported(
                        "SplitOperator needs every term diagonal in x or in k, but has a "
                        f"{type(part).__name__}; use Kinetic(order='spectral') and, for light in "
                        "velocity gauge, a periodic grid, or choose Lanczos"
                    )
        kinds = {type(s.transform) for s in map(_spectral, pieces) if s is not None}
        if len(kinds) > 1:
            raise Unsupported("SplitOperator cannot mix sine and plane-wave operators")
        return self

    def init(self, H, psi, t, dt):
        """The k-space phases, once for all steps when the spectral part does not change."""
        changes = any(_spectral(c.at(t)) is not None for c in H.changing)
        spectral = _spectral(H.fixed)
        if changes or spectral is None:
            return None
        # Each stage of the time scheme carries Σ w of the static part.
        weight = sum(self.scheme.stages[0][0]) if H.time_dependent else 1.0
        return {
            b: spectral.scaled(weight).phases(b * dt) for b in set(_COEFFICIENTS[self.order][1])
        }

    def exponential(self, operator, psi, tau, state):
        a, b = _COEFFICIENTS[self.order]
        diagonal = part_of_kind(operator, Diagonal)
        spectral = _spectral(operator)
        values = None if diagonal is None else diagonal.values
        phases: dict[float, jax.Array] = {}
        for stage, weight in enumerate(a):
            if values is not None:
                if weight not in phases:
                    angle = real_like(weight * tau, psi)
                    phases[weight] = jnp.exp(-1j * angle * values).astype(psi.dtype)
                psi = phases[weight] * psi
            if stage < len(b) and spectral is not None:
                rows = spectral.phases(b[stage] * tau) if state is None else state[b[stage]]
                psi = spectral.apply_phases(rows, psi)
        return psi, state


def _spectral(operator: Operator) -> Spectral | None:
    return part_of_kind(operator, Spectral)
