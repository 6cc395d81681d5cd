"""Norm, energy, and expectation values of position and momentum."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx

from zitter.hamiltonian import Driven, Hamiltonian
from zitter.linalg.sums import add
from zitter.observables.base import Observable, require, vector_dims


class Norm(Observable):
    """‖ψ‖ = √⟨ψ|ψ⟩."""

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "norm"
    long_name: ClassVar[str] = "norm of the wave function"
    units: ClassVar[str] = "1"

    def evaluate(self, H, psi, t):
        return H.basis.norm(psi)


class Energy(Observable):
    """⟨ψ|H(t)|ψ⟩/⟨ψ|ψ⟩, the absorber left out."""

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "energy"
    long_name: ClassVar[str] = "expectation value of the Hamiltonian"
    units: ClassVar[str] = "hartree"

    def evaluate(self, H, psi, t):
        closed = Hamiltonian(H.basis, H.fixed, H.changing)
        return closed.at(t).expectation(psi)


class Position(Observable):
    """⟨ψ|r|ψ⟩, summed over the particles, not divided by a norm that may have been absorbed."""

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "position"
    long_name: ClassVar[str] = "expectation value of the position"
    units: ClassVar[str] = "bohr"

    def prepare(self, H, eigenstates):
        require(self, H, H.basis.mean_position)
        return self

    def evaluate(self, H, psi, t):
        return H.basis.mean_position(psi)

    def dims(self, H):
        return vector_dims(H.basis)


class Dipole(Observable):
    """d = −⟨r⟩, the dipole moment of electrons (charge −1)."""

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "dipole"
    long_name: ClassVar[str] = "electric dipole moment"
    units: ClassVar[str] = "e bohr"

    def prepare(self, H, eigenstates):
        require(self, H, H.basis.mean_position)
        return self

    def evaluate(self, H, psi, t):
        return -H.basis.mean_position(psi)

    def dims(self, H):
        return vector_dims(H.basis)


class Momentum(Observable):
    """⟨p⟩ = ⟨−i∇⟩, the canonical momentum (in velocity gauge the velocity is p + A)."""

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "momentum"
    long_name: ClassVar[str] = "expectation value of the canonical momentum"
    units: ClassVar[str] = "a.u."

    def prepare(self, H, eigenstates):
        require(self, H, H.basis.mean_momentum)
        return self

    def evaluate(self, H, psi, t):
        return H.basis.mean_momentum(psi)

    def dims(self, H):
        return vector_dims(H.basis)


class Acceleration(Observable):
    """−⟨∇V⟩ of the potentials, light excluded: the same number in every gauge.

    By Ehrenfest the electron's full acceleration is this minus E(t). It is evaluated as the
    commutator −2 Im⟨Vψ|pψ⟩, so no derivative of V is taken; where the basis does not know V apart
    from the kinetic energy, with both.
    """

    every: int = eqx.field(static=True, default=1)
    name: ClassVar[str] = "acceleration"
    long_name: ClassVar[str] = "acceleration of the electrons without the laser's force"
    units: ClassVar[str] = "a.u."

    def prepare(self, H, eigenstates):
        require(self, H, lambda psi: H.basis.force(H.fixed, psi))
        return self

    def evaluate(self, H, psi, t):
        undriven = [c.at(t) for c in H.changing if not isinstance(c, Driven)]
        return H.basis.force(add([H.fixed, *undriven]), psi)

    def dims(self, H):
        return vector_dims(H.basis)
