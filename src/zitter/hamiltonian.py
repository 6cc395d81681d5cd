"""The Hamiltonian: operators with time factors on one basis.

    H(t) = H_static + Σ_j c_j(t) O_j + Σ_k O_k(t) − i W

`at(t)` freezes time; `mix` gives the linear combinations Σ_n w_n H(t_n) that Magnus schemes need.
"""

from __future__ import annotations

import abc
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.bases.base import Basis
from zitter.keywords import caller
from zitter.linalg.base import Operator, Unsupported, cast_reals
from zitter.linalg.dense import Dense
from zitter.linalg.sums import add


class TimeDependent(eqx.Module):
    """A part of the Hamiltonian that changes with time."""

    @abc.abstractmethod
    def at(self, t: Any) -> Operator: ...

    @abc.abstractmethod
    def astype(self, real_dtype: Any) -> TimeDependent:
        """The same with operators of another precision; times and factors stay in float64."""

    def divided(self, basis: Basis) -> TimeDependent:
        """The same with operators of a divided basis."""
        raise Unsupported(f"{type(self).__name__} cannot be divided over many devices")

    def bounds(self, start: Any, end: Any) -> tuple[jax.Array, jax.Array]:
        """Numbers that enclose the spectrum at all times in between, as far as samples tell.

        The samples lie at multiples of the golden ratio: equal steps could meet an oscillation
        always in the same phase. What moves may go beyond them in between: 5 % of their range is
        added.
        """
        parts = np.concatenate([[0.0, 1.0], np.arange(1, 128) * (np.sqrt(5) - 1) / 2 % 1.0])
        times = jnp.float64(start) + parts * (jnp.float64(end) - jnp.float64(start))
        lows, highs = jax.lax.map(lambda t: self.at(t).bounds(), times)
        margin = 0.05 * (jnp.max(highs) - jnp.min(highs) + jnp.max(lows) - jnp.min(lows))
        return jnp.min(lows) - margin, jnp.max(highs) + margin


class Driven(TimeDependent):
    """c(t) O: light, or anything switched."""

    factor: Callable[[Any], Any]
    operator: Operator

    def at(self, t: Any) -> Operator:
        return self.operator.scaled(self.factor(t))

    def astype(self, real_dtype: Any) -> Driven:
        return Driven(self.factor, cast_reals(self.operator, real_dtype))

    def divided(self, basis: Basis) -> Driven:
        return Driven(self.factor, basis.divide_operator(self.operator))

    def bounds(self, start: Any, end: Any) -> tuple[jax.Array, jax.Array]:
        """Those of O times the range of c(t), which is sampled finely: a pulse has many cycles."""
        times = jnp.linspace(jnp.float64(start), jnp.float64(end), 8193)
        factors = jax.vmap(lambda t: jnp.asarray(self.factor(t)))(times)
        least, most = jnp.min(factors), jnp.max(factors)
        margin = 0.01 * (most - least)
        low, high = self.operator.bounds()
        corners = jnp.stack([c * e for c in (least - margin, most + margin) for e in (low, high)])
        return jnp.min(corners), jnp.max(corners)


class Moving(TimeDependent):
    """O(t) = build(t, dtype) made anew at each time: moving nuclei, any V(x, t)."""

    build: Callable[[Any, Any], Operator]
    dtype: Any = eqx.field(static=True, default=np.dtype(np.float64))

    def at(self, t: Any) -> Operator:
        return self.build(t, self.dtype)

    def astype(self, real_dtype: Any) -> Moving:
        return Moving(self.build, np.dtype(real_dtype))

    def divided(self, basis: Basis) -> Moving:
        return Moving(_DividedBuild(self.build, basis), self.dtype)


class _DividedBuild(eqx.Module):
    """What moves, made for the whole basis and cut: the compiler keeps only each device's part."""

    build: Callable[[Any, Any], Operator]
    basis: Basis

    def __call__(self, t: Any, dtype: Any) -> Operator:
        return self.basis.divide_operator(self.build(t, dtype))


class Absorbing(eqx.Module):
    """−iW, an absorbing potential: part of H(t), but not of `H.static`."""

    operator: Operator


class Mask(eqx.Module):
    """A factor M(x)^{Δt/τ} applied after each step, with 0 ≤ M ≤ 1."""

    log_rate: jax.Array  # ln(M)/τ ≤ 0

    def apply(self, psi: jax.Array, dt: Any) -> jax.Array:
        return psi * jnp.exp(self.log_rate * jnp.asarray(dt, self.log_rate.dtype))


Contribution = Operator | TimeDependent | Absorbing | Mask


@jax.tree_util.register_pytree_node_class
class Origin:
    """The model that an H was made from, for people and files.

    To JAX it is empty: nothing of it is traced, and no other model makes a program compile anew.
    What JAX takes apart and puts together again has lost it, since it may be another H.
    """

    def __init__(self, model: Any = None, steps: tuple[Callable[[Any], Any], ...] = ()):
        self.model = model
        self.steps = steps  # from the H of that model to this one: a moment, or no light

    def then(self, step: Callable[[Any], Any]) -> Origin:
        return Origin(self.model, (*self.steps, step))

    def remade(self, H: Hamiltonian) -> Hamiltonian:
        """The same steps from another H of that model, on another basis."""
        for step in self.steps:
            H = step(H)
        return H

    def tree_flatten(self) -> tuple[tuple[()], None]:
        return (), None

    @classmethod
    def tree_unflatten(cls, auxiliary: None, children: tuple[()]) -> Origin:
        return cls()


_hermitian: dict[Any, bool] = {}
_MOST_KINDS = 256


def _is_hermitian(changing: TimeDependent) -> bool:
    """A matter of types, not of values: guards ask often, and H(t) takes milliseconds to make."""
    leaves, form = jax.tree.flatten(changing)
    if not all(map(eqx.is_array_like, leaves)):  # what a function encloses is not seen
        return changing.at(0.0).hermitian
    kind = form, tuple(map(jnp.result_type, leaves))
    try:
        if kind in _hermitian:
            return _hermitian[kind]
    except TypeError:  # something in it cannot be a key
        return changing.at(0.0).hermitian
    if len(_hermitian) >= _MOST_KINDS:
        _hermitian.clear()
    _hermitian[kind] = found = changing.at(0.0).hermitian
    return found


class Hamiltonian(eqx.Module):
    """What `discretize` makes and the verbs take; `model` is what it was made from, or None."""

    basis: Basis
    fixed: Operator
    changing: tuple[TimeDependent, ...] = ()
    absorber: Operator | None = None
    mask: Mask | None = None
    origin: Origin = eqx.field(default_factory=Origin)

    @property
    def model(self) -> Any:
        """The model it was made from; None where that is not known."""
        return self.origin.model

    @property
    def time_dependent(self) -> bool:
        return bool(self.changing)

    @property
    def static(self) -> Hamiltonian:
        """What remains without light, absorbers and whatever moves or changes with time.

        The potential of moving nuclei is left out altogether: `H.at(t)` has them where they are.
        """
        moving = any(isinstance(c, Moving) for c in self.changing)
        if moving and self.basis.binding(self.fixed) is None:
            warnings.warn(
                "H.static holds no potential, since all of it moves or changes with time; "
                "H.at(t) freezes it at one time",
                stacklevel=caller(),
            )
        return Hamiltonian(self.basis, self.fixed, origin=self.origin.then(lambda H: H.static))

    def at(self, t: Any) -> Hamiltonian:
        """H frozen at one time."""
        t = checks.scalar("t", t, "time")
        origin = self.origin.then(lambda H: H.at(t))
        return Hamiltonian(self.basis, self.mix([1.0], [t]), origin=origin)

    def mix(self, weights: Sequence[Any], times: Sequence[Any]) -> Operator:
        """Σ_n w_n H(t_n) as one operator."""
        total = sum(weights)
        always = [self.fixed] if self.absorber is None else [self.fixed, self.absorber]
        if not (isinstance(total, float) and total == 1.0):
            always = [operator.scaled(total) for operator in always]
        pairs = zip(weights, times, strict=True)
        return add([*always, *(c.at(t).scaled(w) for w, t in pairs for c in self.changing)])

    def dense(self) -> Hamiltonian:
        """The same H with its unchanging part as a full matrix: no structure left to use."""
        matrix = Dense(self.fixed.as_matrix(), self.basis.shape, self.fixed.hermitian)
        return Hamiltonian(self.basis, matrix, self.changing, self.absorber, self.mask, self.origin)

    @property
    def operator(self) -> Operator:
        """The one operator of a Hamiltonian that does not change with time."""
        if any(not isinstance(c, Driven) for c in self.changing):
            raise Unsupported(
                "this Hamiltonian depends on time: use H.at(t) for one moment "
                "(H.static leaves out what moves)"
            )
        if self.time_dependent:
            raise Unsupported(
                "this Hamiltonian depends on time: use H.static for its time-independent part "
                "or H.at(t) for one moment"
            )
        return self.fixed if self.absorber is None else add([self.fixed, self.absorber])

    @property
    def hermitian(self) -> bool:
        """Whether H(t) is Hermitian at every time (a mask absorbs outside H)."""
        known = self.absorber is None and self.fixed.hermitian
        return known and all(_is_hermitian(changing) for changing in self.changing)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.basis.shape

    def apply(self, psi: jax.Array) -> jax.Array:
        """The state Hψ."""
        return self.basis.solve_overlap(self.operator.apply(psi))

    def as_matrix(self) -> jax.Array:
        return self.operator.as_matrix()

    def expectation(self, psi: jax.Array) -> jax.Array:
        """Re⟨ψ|H|ψ⟩/⟨ψ|ψ⟩."""
        return jnp.real(
            self.basis.braket(psi, self.operator.apply(psi)) / self.basis.inner(psi, psi)
        )

    def divided(self) -> Hamiltonian:
        """The same H with states and operators on the devices of the mesh; itself without one."""
        name = checks.with_article(type(self.basis).__name__)
        mesh = runtime.mesh_for(self.basis.mesh_axes, name)
        if mesh is None:
            return self
        basis = self.basis.divided(mesh)
        return Hamiltonian(
            basis,
            basis.divide_operator(self.fixed),
            tuple(c.divided(basis) for c in self.changing),
            None if self.absorber is None else basis.divide_operator(self.absorber),
            None if self.mask is None else Mask(basis.divide(self.mask.log_rate)),
            self.origin,
        )

    def astype(self, real_dtype: Any) -> Hamiltonian:
        """The operators in another precision; times and time factors stay in float64."""

        return Hamiltonian(
            self.basis,
            cast_reals(self.fixed, real_dtype),
            tuple(c.astype(real_dtype) for c in self.changing),
            cast_reals(self.absorber, real_dtype),
            cast_reals(self.mask, real_dtype),
            self.origin,
        )
