"""How a run starts: a stationary state, a Gaussian packet, or what another run left."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, kinds, runtime
from zitter.bases.base import Basis
from zitter.eigensolvers import Eigensolver, recommended
from zitter.hamiltonian import Driven, Hamiltonian
from zitter.results import Eigenstates, Solution
from zitter.solve import eigenstates
from zitter.solve.needs import Needs, of_solver


class InitialState(eqx.Module):
    """ψ at the start of a run, with what is known about it."""

    @abc.abstractmethod
    def make(self, H: Hamiltonian, t: float) -> tuple[jax.Array, dict[str, Any]]:
        """(ψ, information for the solution) for a run under H that starts at time t."""

    def check(self, H: Hamiltonian) -> None:
        """Refuse what `make` would, as far as that is known without computing."""

    def needs(self, H: Hamiltonian, t: float) -> Needs:
        """What `make` takes beside ψ itself."""
        return Needs(0, 0.0)


class Eigenstate(InitialState):
    """The stationary state number `state` of H without light and absorbers, at the first moment."""

    state: int = eqx.field(static=True)
    solver: Eigensolver | None

    def __init__(self, state: int = 0, solver: Eigensolver | None = None):
        self.state = checks.integer("state", state, 0)
        self.solver = solver

    def make(self, H, t):
        found = eigenstates(without_light(H, t), self.state + 1, self.solver)
        information = {
            "initial_energy": float(found.energies[self.state]),
            "initial_residual": float(found.residuals[self.state]),
        }
        return _in_precision(found.states[self.state]), information

    def needs(self, H, t):
        still = without_light(H, t)
        return of_solver(still, self.state + 1, self.solver or recommended(still, self.state + 1))


class WavePacket(InitialState):
    """ψ ∝ exp(−Σ_a (x_a − c_a)²/(4σ_a²) + i k·x): a Gaussian of mean position c and momentum k.

    `width` is σ, the root-mean-square width of |ψ|². Each may be one number for all axes or one
    for each axis of the grid.
    """

    center: Any
    width: Any
    momentum: Any

    def __init__(
        self,
        center: float | str | Sequence[float] = 0.0,
        width: float | str | Sequence[float] = 1.0,
        momentum: float | Sequence[float] = 0.0,
    ):
        self.center = _numbers("center", center, checks.scalar, "length")
        self.width = _numbers("width", width, checks.positive, "length")
        self.momentum = _numbers("momentum", momentum, checks.scalar, None)

    def make(self, H, t):
        return _in_precision(self.on(H.basis)), {}

    def on(self, basis: Basis) -> jax.Array:
        """The normalized packet, on a basis that samples functions of the coordinates."""

        def packet(*x):
            keys = ("center", "width", "momentum")
            center, width, momentum = (_for_axes(k, getattr(self, k), len(x)) for k in keys)
            exponents = [
                -(((xa - c) / (2 * s)) ** 2) + 1j * k * xa
                for xa, c, s, k in zip(x, center, width, momentum, strict=True)
            ]
            return jnp.exp(sum(exponents[1:], exponents[0]))

        psi = basis.sample(packet)
        if not checks.is_traced(psi) and not float(basis.norm(psi)) > 0:
            raise checks.InputError("center", f"must lie on the grid, but is {self.center}")
        return basis.normalize(psi)


class Stored(InitialState):
    """The final state of an evolution, or stationary state number `state`, from a result file."""

    file: str = eqx.field(static=True)
    state: int = eqx.field(static=True)

    def __init__(self, file: str, state: int = 0):
        self.file = checks.instance("file", file, str)
        self.state = checks.integer("state", state, 0)

    def make(self, H, t):
        return _in_precision(self._found(H)), {"initial_file": self.file}

    def check(self, H):
        self._found(H)

    def _found(self, H: Hamiltonian) -> Any:
        result = kinds.load(self.file)
        match result:
            case Eigenstates():
                checks.integer("state", self.state, 0, len(result.energies) - 1)
                psi = result.states[self.state]
            case Solution():
                psi = result.final
            case _:
                raise checks.InputError(
                    "file", f'must hold a state, but "{self.file}" holds: {result.kind}'
                )
        if np.shape(psi) != H.basis.shape:
            raise checks.InputError(
                "file",
                f"must hold a state of the basis' shape {H.basis.shape}, but it has "
                f"{np.shape(psi)}",
            )
        if not np.all(np.isfinite(psi)) or not np.any(psi):
            fault = "vanishes" if not np.any(psi) else "is not finite"
            raise checks.InputError("file", f"must hold a state, but that of {self.file} {fault}")
        return psi


def without_light(H: Hamiltonian, t: float) -> Hamiltonian:
    """H at time t as a Hamiltonian that does not change, with light and absorbers left out."""
    moving = tuple(part for part in H.changing if not isinstance(part, Driven))
    if not moving:
        return H.static
    frozen = Hamiltonian(H.basis, H.fixed, moving).at(t)
    return Hamiltonian(H.basis, frozen.fixed, origin=H.origin.then(lambda H: without_light(H, t)))


def _in_precision(psi: Any) -> jax.Array:
    return jnp.asarray(psi).astype(runtime.settings().complex_dtype)


def _numbers(key: str, value: Any, check: Any, dimension: str | None) -> Any:
    if np.ndim(value) == 0:
        return check(key, value, dimension)
    return [check(key, v, dimension) for v in value]


def _for_axes(key: str, value: Any, ndim: int) -> list[Any]:
    values = value if isinstance(value, list) else [value] * ndim
    if len(values) != ndim:
        raise checks.InputError(key, f"must have 1 or {ndim} value(s), but has {len(values)}")
    return values
