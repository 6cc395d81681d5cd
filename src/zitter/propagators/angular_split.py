"""One step split by what is easy where: field-free motion by resolvents, light as a phase.

    ψ(t+τ) = e^{−iτ/2 E·r} C(τ) e^{−iτ/2 E·r} ψ(t),    E at t + τ/2

The second kick of a step and the first of the next are one, where nothing is recorded in between.
C(τ) is the diagonal Padé form of e^{−iτH₀}, a few solutions with S + zH₀. In length gauge the light
is diagonal: on B-splines in the eigenvectors of the radial matrix r and, in axes turned to it, of
cos θ; on grids and other bases of points by itself. So its exponential is exact and unitary.
"""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks
from zitter.bases.split import LightSplit
from zitter.hamiltonian import Driven, Hamiltonian
from zitter.linalg.base import Unsupported, real_like
from zitter.linalg.sums import add
from zitter.propagators.base import Propagator, repeated
from zitter.propagators.implicit import Separated, refuse_growing_light, separated

# e^z ≈ Π (1 + z/s)/(1 − z/s): s = 2 is Cayley's form, the pair that of the [2/2] Padé form.
_SHIFTS = {2: (2.0,), 4: (3 + 1j * math.sqrt(3), 3 - 1j * math.sqrt(3))}


class AngularSplit(Propagator):
    """The fast unitary step for light in length gauge, order 2.

    `radial_order` 4 makes the field-free motion exact to fourth order with a second solve: worth it
    where phases over long times matter more than the strength of the field.
    """

    radial_order: int = eqx.field(static=True)
    split: LightSplit | None
    separated: Separated | None

    def __init__(self, radial_order: int = 2):
        self.radial_order = checks.choice("radial_order", radial_order, tuple(_SHIFTS))
        self.split = self.separated = None

    def check(self, H: Hamiltonian) -> LightSplit:
        """The kicks of the light in H, or `Unsupported` with the reason."""
        refuse_growing_light(H)
        lights = [piece.operator for piece in H.changing if isinstance(piece, Driven)]
        if len(lights) < len(H.changing):
            raise Unsupported("AngularSplit needs a field-free part that does not change with time")
        atom = H.fixed if H.absorber is None else add([H.fixed, H.absorber])
        return H.basis.light_split(atom, lights)

    def prepare(self, H, t, dt):
        split = self.check(H).ready()
        found = separated("AngularSplit", Hamiltonian(H.basis, H.fixed, (), H.absorber), t)
        if found.iterates:
            raise Unsupported(
                "AngularSplit needs a field-free part that the basis inverts as a whole; use "
                "CrankNicolson"
            )
        return eqx.tree_at(
            lambda p: (p.split, p.separated), self.bare(), (split, found),
            is_leaf=lambda x: x is None,
        )  # fmt: skip

    @property
    def any_step(self):
        return True

    def convergence_order(self, H):
        return 2 if H.time_dependent else self.radial_order

    @property
    def narrows(self):
        return self.split is not None and self.split.narrows

    def starting(self, *psi):
        assert self.split is not None
        return eqx.tree_at(lambda p: p.split, self, self.split.narrowed(*psi))

    def bare(self):
        return AngularSplit(self.radial_order)

    def enter(self, psi):
        assert self.split is not None
        return self.split.enter(psi)

    def leave(self, psi):
        assert self.split is not None
        return self.split.leave(psi)

    def init(self, H, psi, t, dt):
        assert self.split is not None
        return self.split.factors(self._family(H), self._poles(dt, psi))

    def step(self, H, psi, t, dt, state):
        return self.march(H, psi, lambda k: t, dt, state, 1, repeated)

    def march(self, H, psi, time, dt, state, steps, repeat):
        """Kicks add up: the last of one step and the first of the next are one."""
        split, family, zs = self.split, self._family(H), self._poles(dt, psi)
        assert split is not None

        def stepped(now):
            k, psi, before = now
            after = self._half_kick(H, time(k), dt)
            psi = split.kick(psi, before + after)
            return k + 1, split.free(family, state, zs, psi), after

        first = jnp.zeros((), jnp.int32)
        begun = (first, psi, jnp.zeros_like(self._half_kick(H, time(first), dt)))
        _, psi, last = repeat(stepped, begun, steps, unroll=self.unroll(H))
        return split.kick(psi, last), state

    def _half_kick(self, H: Hamiltonian, t: Any, dt: Any) -> jax.Array:
        """τ/2 times the factor of each light in the middle of a step."""
        lights = [piece for piece in H.changing if isinstance(piece, Driven)]
        return jnp.asarray([0.5 * dt * light.factor(t + 0.5 * dt) for light in lights])

    def _family(self, H: Hamiltonian):
        assert self.separated is not None
        return self.separated.parts(Hamiltonian(H.basis, H.fixed, (), H.absorber), 0.0)[0]

    def _poles(self, dt: Any, psi: Any) -> list[Any]:
        return [real_like(dt, psi) * (1j / s) for s in _SHIFTS[self.radial_order]]
