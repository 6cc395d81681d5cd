"""How a run starts: a stationary state, a Gaussian packet, or what another run left."""

from __future__ import annotations

import abc
import math
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, kinds, processes, runtime
from zitter.bases.base import Basis, check_norm
from zitter.eigensolvers import Eigensolver, recommended
from zitter.eigensolvers.base import residual_norms
from zitter.hamiltonian import Driven, Hamiltonian
from zitter.keywords import caller
from zitter.linalg.base import Unsupported
from zitter.results import Eigenstates, Solution
from zitter.solve import eigenstates
from zitter.solve.needs import Needs, of_solver
from zitter.terms import Model, discretize

LOST = 1e-6  # share of a packet's momenta beyond the lattice's own that is warned of
_SPREAD = ("width", "momentum")


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
    """A stationary state of H without light and absorbers, at the first moment.

        zt.Eigenstate()                   the valence shell where a term names one, else the lowest
        zt.Eigenstate("valence", m=1)     with another m, on a basis that has it
        zt.Eigenstate(n=2, l=1)           2p; without n the lowest of that l
        zt.Eigenstate(3)                  the fourth of all by energy

    `TongLin`, `GarveyJackmanGreen` and `Marinescu` name valence shells. Below those lie states of
    the core; a run that starts there says so. Without m it is the one that the basis has, or 0. On
    a `SpinorBasis` n and l mean j = l + 1/2, μ = 1/2.
    """

    state: int | str | None = eqx.field(static=True)
    n: int | None = eqx.field(static=True)
    l: int | None = eqx.field(static=True)
    m: int | None = eqx.field(static=True)
    solver: Eigensolver | None

    def __init__(
        self,
        state: int | Literal["valence"] | None = None,
        solver: Eigensolver | None = None,
        *,
        n: int | None = None,
        l: int | None = None,
        m: int | None = None,
    ):
        if isinstance(state, str) and state != "valence":
            raise checks.InputError("state", f'must be a number or "valence", but is "{state}"')
        if not isinstance(state, str) and state is not None:
            state = checks.integer("state", state, 0)
        quantum = {"n": n, "l": l} if state == "valence" else {"n": n, "l": l, "m": m}
        for key, value in quantum.items():
            if state is not None and value is not None:
                raise checks.InputError(key, f"must not be given with state = {state}, but is")
        self.state, self.solver = state, solver
        self.l = None if l is None else checks.integer("l", l, 0)
        self.n = None if n is None else checks.integer("n", n, (self.l or 0) + 1)
        self.m = None if m is None else checks.integer("m", m)

    def on(self, H: Hamiltonian, t: float = 0.0) -> jax.Array:
        """The state itself, for runs that begin at time t."""
        checks.instance("H", H, Hamiltonian)
        return self.make(H, checks.scalar("t", t, "time"))[0]

    def make(self, H, t):
        shell, still = _valence(H), without_light(H, t)
        named = self._named(shell)
        if named is None:
            place = int(self.state or 0)
            found = eigenstates(still, place + 1, self.solver)
            energy, psi = float(found.energies[place]), found.states[place]
            known: dict[str, Any] = {"initial_residual": float(found.residuals[place])}
        else:
            energy, psi = self._found(H, still, named)
            residual = residual_norms(still, [energy], psi[None])[0]
            label = _label(*named) + _told_m(H.basis, named[0], psi)
            known = {"initial_residual": float(residual), "initial_state": label}
        valence = None if shell in (None, named) else _valence_energy(H, still, shell, t)
        if shell is not None and valence is not None:
            known |= _told_of_core(valence, energy, shell)
        return _in_precision(psi, H.basis), {"initial_energy": energy, **known}

    def check(self, H):
        named = self._named(_valence(H))
        if named is not None:
            self._found(H, without_light(H, 0.0), named)

    def needs(self, H, t):
        if self._named(_valence(H)) is not None:  # one radial problem
            return Needs(0, 0.0)
        still, count = without_light(H, t), int(self.state or 0) + 1
        return of_solver(still, count, self.solver or recommended(still, count))

    def _found(
        self, H: Hamiltonian, still: Hamiltonian, named: tuple[int, int]
    ) -> tuple[float, Any]:
        """(energy, ψ) of a state by its name."""
        l, m = named[0], self.m
        if m is not None and abs(m) > l:
            raise checks.InputError("m", f"must be from {-l} to {l} for l = {l}, but is {m}")
        pairs = _pairs(H.basis)
        if m is not None and (l, m) not in pairs and l in {l for l, _ in pairs}:
            there = ", ".join(str(m) for k, m in pairs if k == l)
            raise checks.InputError("m", f"must be one that the basis has, {there}, but is {m}")
        return H.basis.named_state(still.operator, *named, m)

    def _named(self, shell: tuple[int, int] | None) -> tuple[int, int] | None:
        """(l, number of states of that l below), None where states are counted."""
        if self.n is not None or self.l is not None:
            l = self.l or 0
            return l, (self.n or l + 1) - l - 1
        if self.m is not None and shell is None and self.state is None:
            raise checks.InputError(
                "m",
                "must be given with n or l, as no term names a valence shell, but is "
                f"{self.m} alone",
            )
        if self.state == "valence" and shell is None:
            raise checks.InputError(
                "state",
                'must be a number, or n and l, as no term names a valence shell, but is "valence"',
            )
        return None if isinstance(self.state, int) else shell


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
        return _in_precision(self.on(H.basis), H.basis), {}

    def check(self, H):
        self._require_held(H.basis)

    def on(self, basis: Basis) -> jax.Array:
        """The normalized packet, on a basis that samples functions of the coordinates.

        A lattice of spacing h holds |k| < π/h; what lies beyond would come back from the other end.
        """
        beyond = self._require_held(checks.instance("basis", basis, Basis))
        if beyond > LOST:
            warnings.warn(
                f"{100 * beyond:.2g} % of the packet's momenta lie beyond what the spacing can "
                "hold (|k| < π/spacing) and will move another way: take a smaller spacing or a "
                "larger width",
                stacklevel=caller(),
            )

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

    def _require_held(self, basis: Basis) -> float:
        """The share of momenta beyond π/h, Σ_a P(|k_a| ≥ π/h_a): each axis has a Gaussian of mean
        k_a and width 1/2σ_a. A mean beyond is refused."""
        lattice = basis.lattice
        if lattice is None or checks.is_traced((self.width, self.momentum)):
            return 0.0
        beyond = 0.0
        width, momentum = (_for_axes(k, getattr(self, k), len(lattice)) for k in _SPREAD)
        for h, s, k in zip(lattice, width, momentum, strict=True):
            most = math.pi / h
            if abs(k) >= most:
                raise checks.InputError(
                    "momentum",
                    f"must be below π/spacing = {most:.4g}, which is all that a spacing of {h:.4g} "
                    f"holds, but is {checks.as_given(k)}: take a spacing below "
                    f"{math.pi / abs(k):.3g}",
                )
            tails = (math.erfc(math.sqrt(2) * s * (most + sign * k)) for sign in (1, -1))
            beyond += sum(tails) / 2
        return min(beyond, 1.0)


class Stored(InitialState):
    """The final state of an evolution, or stationary state number `state`, from a result file."""

    file: str = eqx.field(static=True)
    state: int = eqx.field(static=True)

    def __init__(self, file: str, state: int = 0):
        self.file = checks.instance("file", file, str)
        self.state = checks.integer("state", state, 0)

    def make(self, H, t):
        return _in_precision(self._found(H), H.basis), {"initial_file": self.file}

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
        check_norm("file", H.basis, _in_precision(psi, H.basis))
        ours, theirs = (" ".join(repr(basis).split()) for basis in (H.basis, result.basis))
        if result.basis is not None and ours != theirs:
            warnings.warn(
                f'the state of "{self.file}" belongs to another basis, {theirs}: its numbers are '
                f"taken as they are for {ours}",
                stacklevel=caller(),
            )
        return psi


def without_light(H: Hamiltonian, t: float) -> Hamiltonian:
    """H at time t as a Hamiltonian that does not change, with light and absorbers left out."""
    moving = tuple(part for part in H.changing if not isinstance(part, Driven))
    if not moving:
        return H.static
    frozen = Hamiltonian(H.basis, H.fixed, moving).at(t)
    return Hamiltonian(H.basis, frozen.fixed, origin=H.origin.then(lambda H: without_light(H, t)))


def _valence(H: Hamiltonian) -> tuple[int, int] | None:
    """(l, number of states of that l below) by the terms of the model, or by the basis."""
    named = None if H.model is None else H.model.valence
    return H.basis.valence if named is None else named


def _valence_energy(
    H: Hamiltonian, still: Hamiltonian, shell: tuple[int, int], t: float
) -> float | None:
    """That of the shell, also where m or lmax of the basis leaves its l out; None where no more is
    known of it, as on states that were found without it."""
    try:
        return H.basis.named_state(still.operator, *shell, None)[0]
    except checks.InputError:
        if H.model is None or H.model.valence is None or not _pairs(H.basis):
            return None
    atom = Model([term for term in H.model.terms if term.light is None])
    beside = discretize(atom, H.basis.channels_of().along_z(shell[0]))
    return beside.basis.named_state(without_light(beside, t).operator, *shell, None)[0]


def _label(l: int, below: int) -> str:
    """2p, 3d, …; spectroscopy has no letters for large l."""
    letters = "spdfghiklmnoqrtuvwxyz"
    return f"{below + l + 1}{letters[l] if l < len(letters) else f'[l={l}]'}"


def _pairs(basis: Basis) -> tuple[tuple[int, int], ...]:
    """(l, m) of the channels; none where the basis has no such."""
    try:
        return basis.channels_of().pairs
    except Unsupported:
        return ()


def _told_m(basis: Basis, l: int, psi: Any) -> str:
    """ ", m = 0" of a state that could have another m, or has another one than 0."""
    ms = {m for k, m in _pairs(basis) if k == l}
    if l == 0 or not ms or ms == {0}:
        return ""
    m = ms.pop() if len(ms) == 1 else _pairs(basis)[int(np.argmax(np.any(psi, axis=1)))][1]
    return f", m = {m}"


def _told_of_core(valence: float, energy: float, shell: tuple[int, int]) -> dict[str, Any]:
    """What is to be known of a start below the valence shell, in whose states electrons are."""
    if energy > valence - 1e-6 * abs(valence):
        return {}
    text = (
        f"the run starts in the core, {valence - energy:.4g} hartree below the valence shell "
        f"{_label(*shell)}, in a state that other electrons fill"
    )
    warnings.warn(f'{text} (state = "valence" is the default)', stacklevel=caller())
    return {"initial_in_core": text}


def _in_precision(psi: Any, basis: Basis) -> jax.Array:
    """ψ in the precision of the run, and the same on all processes: a sign is free."""
    psi = runtime.native(psi)
    psi = psi if processes.count() == 1 else runtime.of_first(psi)
    return jnp.asarray(basis.cut_evenly(psi)).astype(runtime.settings().complex_dtype)


def _numbers(key: str, value: Any, check: Any, dimension: str | None) -> Any:
    if np.ndim(value) == 0:
        return check(key, value, dimension)
    return [check(key, v, dimension) for v in value]


def _for_axes(key: str, value: Any, ndim: int) -> list[Any]:
    given = value if isinstance(value, list) else [value]
    return checks.one_for_each(key, given, ndim, "one for each axis")
