"""Populations |⟨φ_n|ψ⟩|² of field-free and of instantaneous eigenstates, and of each κ."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.linalg.base import Unsupported
from zitter.observables.base import Observable, require
from zitter.results.stationary import Eigenstates


def _overlaps(H, states: jax.Array, psi: jax.Array) -> jax.Array:
    return jnp.abs(jax.vmap(lambda phi: H.basis.inner(phi, psi))(states)) ** 2


def _several(states: Any) -> jax.Array:
    """Coefficients of states; a result that holds some says where they are."""
    fault = checks.shown(states)
    if isinstance(states, Eigenstates):
        fault = "an Eigenstates: take its .states"
    elif not isinstance(states, str | dict):
        runtime.settings()  # before JAX is used: double precision, and the flags of its compiler
        try:
            return jnp.asarray(runtime.native(states))
        except (TypeError, ValueError):
            pass
    raise checks.InputError("states", f"must be an array of coefficients, but is {fault}")


class Populations(Observable):
    """|⟨φ_n|ψ⟩|² of given states, or of the lowest `n` eigenstates of H.static.

    H.static holds neither light nor anything that moves. While A(t) ≠ 0 the numbers in velocity
    gauge are not those in length gauge: only what is left after the pulse can be compared.
    """

    states: Any
    n: int = eqx.field(static=True)
    every: int = eqx.field(static=True)
    name: ClassVar[str] = "populations"
    long_name: ClassVar[str] = "populations of field-free eigenstates"
    units: ClassVar[str] = "1"
    of_probability: ClassVar[bool] = True

    def __init__(self, states: Any = None, n: int | None = None, every: int = 1):
        if (states is None) == (n is None):
            raise checks.InputError("n", "must be given instead of states, or states instead of n")
        self.states = None if states is None else _several(states)
        if self.states is not None and self.states.ndim < 2:
            raise checks.InputError(
                "states",
                "must be several states, or n = … for the lowest ones, but has shape "
                f"{self.states.shape}",
            )
        self.n = checks.integer("n", len(self.states) if self.states is not None else n, 1)
        self.every = checks.integer("every", every, 1)

    def prepare(self, H, eigenstates):
        states = self.states
        if states is None:
            states = eigenstates(H.static, self.n).states
        if states.shape[1:] != H.basis.shape:
            raise checks.InputError(
                "states", f"must have shape (n, *{H.basis.shape}), but has {states.shape}"
            )
        return Populations(states, every=self.every)

    def evaluate(self, H, psi, t):
        return _overlaps(H, self.states.astype(psi.dtype), psi)

    def dims(self, H):
        return (("state", np.arange(self.n)),)


class InstantaneousPopulations(Observable):
    """|⟨φ_n(t)|ψ⟩|² of the lowest `n` eigenstates of H(t), solved anew at each record it is due."""

    n: int = eqx.field(static=True)
    every: int = eqx.field(static=True)
    eigenstates: Any = eqx.field(static=True)
    name: ClassVar[str] = "instantaneous_populations"
    long_name: ClassVar[str] = "populations of the eigenstates of H(t)"
    units: ClassVar[str] = "1"
    of_probability: ClassVar[bool] = True

    def __init__(self, n: int = 3, every: int = 1):
        self.n = checks.integer("n", n, 1)
        self.every = checks.integer("every", every, 1)
        self.eigenstates = None

    @property
    def on_host(self) -> bool:
        return True

    @property
    def levels(self) -> int:
        return self.n

    def prepare(self, H, eigenstates):
        if H.changing and not H.fixed.bounded_below:
            raise Unsupported(
                "InstantaneousPopulations needs lowest states of H(t), but positrons lie below all "
                "electrons; use Populations"
            )
        if H.basis.complex_scaled or not H.fixed.hermitian:
            raise Unsupported(
                "InstantaneousPopulations needs a Hermitian H(t), which neither exterior scaling "
                "nor a complex potential leaves"
            )
        checks.integer("n", self.n, 1, H.basis.size)
        ready = InstantaneousPopulations(self.n, self.every)
        object.__setattr__(ready, "eigenstates", eigenstates)
        return ready

    def evaluate(self, H, psi, t):
        frozen = type(H)(H.basis, H.fixed, H.changing).at(t)
        with warnings.catch_warnings():
            # A field tilts the potential, so that states of H(t) may well reach the walls.
            warnings.simplefilter("ignore", UserWarning)
            states = self.eigenstates(frozen, self.n).states
        return _overlaps(H, states.astype(psi.dtype), psi)

    def dims(self, H):
        return (("state", np.arange(self.n)),)


class KappaPopulations(Observable):
    """The weight of each κ = −1, 1, −2, 2, … in ⟨ψ|ψ⟩, summed over μ.

    The last ones tell whether kappa_max was large enough.
    """

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "kappa_populations"
    long_name: ClassVar[str] = "weight of each kappa"
    units: ClassVar[str] = "1"
    of_probability: ClassVar[bool] = True

    def prepare(self, H, eigenstates):
        require(self, H, H.basis.kappa_weights)
        return self

    def evaluate(self, H, psi, t):
        return H.basis.kappa_weights(psi)[1]

    def dims(self, H):
        return (("kappa", H.basis.kappa_weights(jnp.zeros(H.basis.shape))[0]),)
